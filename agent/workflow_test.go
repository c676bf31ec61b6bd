package agent

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Steps are read from a request by rules: goal, check, what a failure does.
func TestWorkflowFrom(t *testing.T) {
	tests := []struct{ in, want string }{
		{"fix the failing test in calc, run the tests, report", "fix the failing test in calc|edited|stop; run the tests|command-ok|stop; report|replied|stop"},
		{"fix bug in src/file.ts and run tests", "fix bug in src/file.ts|edited|stop; run tests|command-ok|stop"},
		{"analyze codebase and generate report", "analyze codebase|replied|stop; generate report|replied|stop"},
		{"analyze src/ directory and generate a code quality report", "analyze src/ directory|replied|stop; generate a code quality report|replied|stop"},
		{"refactor authentication system", ""},
		{"#code fix the bug and run the tests", "fix the bug|edited|stop; run the tests|command-ok|stop"},
		{"First, add a flag --json to list. Then update the docs; finally commit.", "add a flag --json to list|edited|stop; update the docs|edited|stop; commit|command-ok|stop"},
		{"1. rename Foo to Bar\n2. run the tests until they pass\n3. if possible, update CHANGELOG.md", "rename Foo to Bar|edited|stop; run the tests until they pass|command-ok|retry; if possible, update CHANGELOG.md|replied|skip"},
		{"update the code and test files", ""},
		{"replace \"a, then run\" with `b and test` in x.go", ""},
		{"fix the bug and run the tests, if they fail, skip", "fix the bug|edited|stop; run the tests|command-ok|skip"},
		{"please can you fix lint errors, then build it and then deploy", "fix lint errors|edited|stop; build it|command-ok|stop; deploy|command-ok|stop"},
		{"in calc.go, fix the overflow and run the tests", "in calc.go, fix the overflow|replied|stop; run the tests|command-ok|stop"},
		{"fix a [[script:one, two]], run b", "fix a [[script:one, two]]|edited|stop; run b|command-ok|stop"},
		{"", ""},
	}
	for _, x := range tests {
		w, ok := workflowFrom(x.in)
		var got []string
		for _, s := range w.Steps {
			got = append(got, s.Goal+"|"+s.Check+"|"+s.OnFail)
		}
		if is := strings.Join(got, "; "); ok != (x.want != "") || ok && is != x.want {
			t.Errorf("%q:\n got %v %s\nwant %s", x.in, ok, is, x.want)
		}
	}
}

func FuzzWorkflowFrom(f *testing.F) {
	f.Add("fix a, run b; if it fails, retry. 1. x\n2. y")
	f.Fuzz(func(t *testing.T, in string) {
		w, ok := workflowFrom(in)
		if ok && (len(w.Steps) < 2 || len(w.Steps) > workflowStepsMax) {
			t.Errorf("%d steps", len(w.Steps))
		}
		workflowOf(in, in)
	})
}

const editOne = `{"path":"a.go","edits":[{"oldText":"return 1","newText":"return 2"}]}`

// stepOf is the number of the step that a request is about.
func stepOf(req model.Request) (n int) {
	for _, m := range req.Messages {
		for i := 1; i <= workflowStepsMax; i++ {
			if strings.Contains(m.Text, fmt.Sprintf("[WORKFLOW] Step %d of ", i)) {
				n = i
			}
		}
	}
	return n
}

// Each step is a request of its own to the model; the steps are in the tree,
// ticked, and the requests only grow.
func TestWorkflowRuns(t *testing.T) {
	edited := false
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		if stepOf(req) == 1 && !edited {
			edited = true
			return "", []model.Call{call(1, "edit", editOne)}
		}
		return fmt.Sprintf("did step %d", stepOf(req)), nil
	})
	res := g.submit(SubmitParams{Input: "fix A in a.go, describe what changed and report"})
	c := g.ended(res.TurnID).Metadata.Response
	if !c.Success || c.Type != "workflow" || c.Metadata.Workflow == nil || c.Metadata.Workflow.Status != cycle.WorkflowDone {
		t.Fatalf("%+v", c)
	}
	want := "did step 3\n\n3 of 3 steps done:\n[x] 1. fix A in a.go\n[x] 2. describe what changed\n[x] 3. report"
	if c.Content != want {
		t.Errorf("answer:\n%s\nwant\n%s", c.Content, want)
	}
	if len(g.requests) != 4 {
		t.Fatalf("%d requests, want 4", len(g.requests))
	}
	for i := 1; i < len(g.requests); i++ {
		if !strings.HasPrefix(encode(t, g.requests[i]), encode(t, g.requests[i-1])) {
			t.Errorf("request %d does not begin with request %d", i+1, i)
		}
	}
	r, err := g.engine.Cycles(context.Background(), &CyclesParams{View: "all"})
	if err != nil || len(r.Anomalies) != 0 {
		t.Fatalf("%v %v", r.Anomalies, err)
	}
	tree := encodeJSON(t, r.Cycles)
	for i := 1; i <= 3; i++ {
		if !strings.Contains(tree, fmt.Sprintf("**Step %d of 3: ", i)) {
			t.Errorf("step %d is not in the tree", i)
		}
	}
	g.identical(res.RunID)
	if w := r.Meta.Cycles[res.CycleID].Workflow; w == nil || w.Status != cycle.WorkflowDone {
		t.Errorf("the live checklist: %+v", w)
	}
}

// A step that fails stops, is tried again, or is skipped, as its spec says.
func TestWorkflowFailures(t *testing.T) {
	tests := []struct{ input, list, at string }{
		{"fix A, describe it", "0 of 2 steps done:\n[!] 1. fix A: no file was changed\n[ ] 2. describe it", "step 1: fix A"},
		{"optionally, describe A; fix it; if that fails, skip; report", "2 of 3 steps done, 1 skipped:\n[x] 1. optionally, describe A (if it fails: skip)\n[-] 2. fix it (if it fails: skip): no file was changed\n[x] 3. report", ""},
		{"fix A until they pass, report", "0 of 2 steps done:\n[!] 1. fix A until they pass (if it fails: retry): no file was changed\n[ ] 2. report", "step 1: fix A until they pass"},
	}
	for _, x := range tests {
		g := newRig(t, func(_ int, req model.Request) (string, []model.Call) { return fmt.Sprint("done ", stepOf(req)), nil })
		res := g.submit(SubmitParams{Input: x.input})
		c := g.ended(res.TurnID).Metadata.Response
		if !strings.HasSuffix(c.Content, x.list) || c.Success != (x.at == "") || c.Metadata.FailedAt != x.at {
			t.Errorf("%q: success %v, failed at %q, error %q\n%s", x.input, c.Success, c.Metadata.FailedAt, c.Error, c.Content)
		}
		if x.at != "" && (c.Metadata.ErrorType != "workflow-step-failed" || !strings.Contains(c.Error, "the workflow stopped there")) {
			t.Errorf("%q: %s, %s", x.input, c.Metadata.ErrorType, c.Error)
		}
		if want := 1 + strings.Count(x.input, "until"); x.at != "" && len(g.requests) != want {
			t.Errorf("%q: %d requests, want %d", x.input, len(g.requests), want)
		}
	}
}

// A step has a budget of its own.
func TestWorkflowBudget(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		return "", []model.Call{call(n, "grep", fmt.Sprintf(`{"pattern":"x%d"}`, n))}
	})
	res := g.submit(SubmitParams{Input: "fix A, report"})
	c := g.ended(res.TurnID).Metadata.Response
	if c.Success || !strings.Contains(c.Error, "budget of 12 iterations") || len(g.requests) != stepBudgetDefault {
		t.Errorf("%d requests, %+v", len(g.requests), c)
	}
}

// In planning mode the steps are proposed; the person edits and approves them.
func TestWorkflowIsProposedAndApproved(t *testing.T) {
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) { return fmt.Sprint("said ", stepOf(req)), nil })
	g.submit(SubmitParams{Input: "/mode planning"})
	res := g.submit(SubmitParams{Input: "update A and report"})
	c := g.ended(res.TurnID).Metadata.Response
	if !strings.Contains(c.Content, "Proposed steps") || c.Metadata.Workflow.Status != cycle.WorkflowProposed || len(g.requests) != 1 {
		t.Fatalf("%d requests, %+v", len(g.requests), c)
	}
	text := func(input string) string {
		return g.submit(SubmitParams{Input: input}).Response.Content
	}
	if got, want := text("/workflow edit 1 review B"), "[ ] 1. review B\n[ ] 2. report"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	text("/workflow add explain it")
	if got := text("/workflow drop 2"); got != "[ ] 1. review B\n[ ] 2. explain it" {
		t.Error(got)
	}
	ctx := context.Background()
	if _, err := g.engine.WorkflowEdit(ctx, &WorkflowEditParams{Steps: []WorkflowStepParams{{Goal: "x", Check: "magic"}}}); !isCode(err, CodeBadRequest) {
		t.Errorf("an unknown check: %v", err)
	}
	run, err := g.engine.WorkflowApprove(ctx, &TurnParams{})
	if err != nil {
		t.Fatal(err)
	}
	c = g.ended(run.TurnID).Metadata.Response
	if want := "said 2\n\n2 of 2 steps done:\n[x] 1. review B\n[x] 2. explain it"; c.Content != want || c.Metadata.Workflow.Method != "person" {
		t.Errorf("%s\nwant %s", c.Content, want)
	}
	if s, _ := g.engine.Status(ctx, &SessionRef{}); s.Mode != ModeExecuting {
		t.Errorf("mode %s after the approval", s.Mode)
	}
}

// What a tag asked to be only planned is carried out once it is approved.
func TestApprovalOutweighsTheTag(t *testing.T) {
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) { return "done", nil })
	c := g.ended(g.submit(SubmitParams{Input: "#planning review A and report"}).TurnID).Metadata.Response
	if c.Metadata.Workflow == nil || c.Metadata.Workflow.Status != cycle.WorkflowProposed {
		t.Fatalf("%+v", c)
	}
	run, err := g.engine.WorkflowApprove(context.Background(), &TurnParams{})
	if err != nil {
		t.Fatal(err)
	}
	c = g.ended(run.TurnID).Metadata.Response
	if c.Metadata.Workflow.Status != cycle.WorkflowDone || len(run.Chips) != 0 {
		t.Errorf("%+v, chips %v", c.Metadata.Workflow, run.Chips)
	}
	if tl, err := g.engine.timeline(context.Background(), run.SessionID, run.BranchID); err != nil || tl.planningTurn(run.TurnID) {
		t.Errorf("the approved turn is a planning turn, %v", err)
	}
}

// A handler that is switched off answers so, as a failed turn.
func TestDisabledHandlers(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	off := false
	for _, x := range []struct {
		input, kind, want string
		s                 Settings
	}{
		{"show available tools", "command", "Command processing is disabled", Settings{EnableCommands: &off}},
		{"hi", "prompt", "Prompt processing is disabled", Settings{EnablePrompts: &off}},
		{"fix A and run tests", "workflow", "Workflow processing is disabled", Settings{EnableWorkflows: &off}},
	} {
		g.engine.Reconfigure(x.s, nil)
		c := g.ended(g.submit(SubmitParams{Input: x.input}).TurnID)
		r := c.Metadata.Response
		if c.Type != "error" || r.Success || r.Type != x.kind || r.Content != x.want || r.Error != x.want || r.Metadata.ErrorType == "" || r.Metadata.FailedAt == "" {
			t.Errorf("%q: %+v", x.input, r)
		}
	}
	if len(g.requests) != 0 {
		t.Errorf("%d requests", len(g.requests))
	}
	g.engine.Reconfigure(Settings{}, nil)
	res := g.submit(SubmitParams{Input: "show available tools"})
	c := g.ended(res.TurnID).Metadata.Response
	g.identical(res.RunID)
	if !c.Success || c.Type != "command" || !strings.Contains(c.Content, "grep") || len(g.requests) != 0 {
		t.Errorf("%+v", c)
	}
}

// The chunks of a turn come in the seed's order, the telemetry with counts.
func TestChunks(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "B calls A", nil })
	res := g.submit(SubmitParams{Input: "what does B call in b.go?"})
	g.ended(res.TurnID)
	var got []string
	for _, c := range g.client.stream {
		got = append(got, c.Type+" "+c.Content)
	}
	want := []string{"classification Classifying input...", "classification Classified as: prompt (90.0% confidence)", "processing Processing prompt...",
		"processing Analyzing the request: 6 words", "processing Routing to ALL tools: ", "processing Searching 2 files", "processing Synthesizing from ", "result B calls A"}
	for i, w := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], w) {
			t.Fatalf("chunk %d is not %q: %q", i, w, got)
		}
	}
	fail := newRig(t, func(int, model.Request) (string, []model.Call) { panic("no") })
	r := fail.ended(fail.submit(SubmitParams{Input: "what does B call in b.go?"}).TurnID).Metadata.Response
	if r.Success || r.Error == "" || r.Metadata.ErrorType == "" || r.Metadata.FailedAt != "model-call" {
		t.Errorf("%+v", r)
	}
}
