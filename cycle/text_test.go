package cycle

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// paperTime is when the story of a drawn tree happens.
var paperTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func after(ms int) time.Time { return paperTime.Add(time.Duration(ms) * time.Millisecond) }

// treeStory is a run with all that a tree can show of it, up to the pause.
func treeStory() []Event {
	call := func(id, tool, title string, ms int) Event {
		return AgentOutput{CallID: id, Output: OutputToolCall, Tool: tool, Title: title, Args: json.RawMessage(`{}`), Time: after(ms)}
	}
	result := func(id string, status ResultStatus, text, detail string, ms int) Event {
		return ToolResult{CallID: id, Status: status, Text: text, MS: int64(ms), Detail: json.RawMessage(detail)}
	}
	return []Event{
		UserMessage{ID: "m1", Text: "Fix the flaky reconnect test", Time: paperTime},
		RunQueued{RunID: "r1", TurnID: "t1", CycleID: "m1", Model: "builtin", Max: 40, Time: paperTime},
		RunStarted{RunID: "r1", Time: paperTime},
		IterationBegan{RunID: "r1", N: 1},
		PlanMade{RunID: "r1", TurnID: "t1", PlanID: "plan-1", Included: 14, Tokens: 6100, Budget: 28000},
		AgentOutput{ID: "o0", Output: OutputReasoning, Text: "The transport first.\nThen the test."},
		AgentOutput{ID: "o1", Output: OutputAssistant, Text: "I'll look at how the transport retries, then at the test, which may well sleep where it should wait:\n\n\tfunc (c *Client) reconnect() { time.Sleep(500 * time.Millisecond); return c.dial(context.Background(), c.address) }\n\n- net/transport.go:210 — a list item that is too long for one row has to go on in the next one"},
		call("c1", "read", "net/transport.go:210-268", 1000), call("c2", "read", "dial.go", 1000), call("c3", "grep", `"backoff" in net/`, 1010),
		result("c1", ResultOK, "…", `{"summary":"59 lines"}`, 100), result("c2", ResultOK, "…", `{}`, 80), result("c3", ResultOK, "…", `{"summary":"9 matches"}`, 7),
		UserMessage{ID: "m2", Text: "only the client side, please"},
		UsageReported{RunID: "r1", Input: 18000, Output: 200, CostUSD: 0.04},
		AgentOutput{ID: "o2", Output: OutputAssistant, Text: "The test sleeps instead of waiting."},
		call("c4", "edit", "reconnect_test.go", 2000), call("c5", "edit", "client.go", 2000),
		result("c4", ResultOK, "", `{"summary":"+6 −2"}`, 30), result("c5", ResultOK, "", `{"summary":"+1 −1"}`, 20),
		call("c6", "bash", "go test ./net -run Reconnect", 3000),
		result("c6", ResultError, "--- FAIL: TestReconnect\n  a\n  b\n  c\nFAIL\n", `{"summary":"exit 1"}`, 4200),
		call("c7", "bash", "rm -rf build", 8000),
		PermissionAsked{CallID: "c7", Tool: "bash", Title: "rm -rf build"},
		PermissionAnswered{CallID: "c7", Why: "the person said no: never"},
		result("c7", ResultError, "not permitted", `{"refused":"the person said no: never"}`, 900),
		ModelFailed{Call: 3, Attempt: 1, Message: "the provider is busy", RetryInMS: 1000},
		RunPaused{RunID: "r1", Before: 2},
	}
}

// workflowStory is a run of several steps that hands questions away, is routed by a tag, and makes room once.
func workflowStory() []Event {
	call := func(id, tool, title string, ms int) Event {
		return AgentOutput{CallID: id, Output: OutputToolCall, Tool: tool, Title: title, Args: json.RawMessage(`{}`), Time: after(ms)}
	}
	step := func(goal, onFail string) WorkflowStep {
		return WorkflowStep{Goal: goal, Check: "replied", OnFail: onFail, Budget: 12, Status: StepPending}
	}
	return []Event{
		UserMessage{ID: "m1", Text: "#code fix @dial.go, then tidy up, run the tests and report", Time: paperTime},
		RunQueued{RunID: "r1", TurnID: "t1", CycleID: "m1", Model: "sonnet", Max: 40, Time: paperTime},
		RunStarted{RunID: "r1", Time: paperTime},
		IterationBegan{RunID: "r1", N: 1},
		Routed{RunID: "r1", TurnID: "t1", Route: RouteTools, Categories: []string{"read", "search", "write"}, Method: "action", Reason: "#code named them",
			Chips: []Chip{{Kind: "tag", Text: "#code", Detail: "read, search and change files"}, {Kind: "mention", Text: "@dial.go", Detail: "path"}}},
		WorkflowPlanned{TurnID: "t1", Workflow: Workflow{Goal: "fix dial.go, then tidy up, run the tests and report", Status: WorkflowRunning, Method: "rules",
			Steps: []WorkflowStep{step("fix @dial.go", "stop"), step("tidy up", "skip"), step("run the tests", "retry"), step("report", "stop")}}},
		WorkflowStepped{TurnID: "t1", Step: 1, Status: StepRunning, Try: 1},
		PlanMade{RunID: "r1", TurnID: "t1", PlanID: "plan-1", Included: 14, Tokens: 6100, Budget: 28000},
		AgentOutput{ID: "o1", Output: OutputAssistant, Text: "Two questions first."},
		call("c1", "task", "who calls dial", 1000), call("c2", "task", "where are timeouts set", 1000),
		SubtaskStepped{RunID: "r1", CallID: "c1", ID: "sub-c1", N: 1, Max: 12, Model: "sonnet", Calls: []string{"grep dial", "read net/dial.go"}, Tokens: 4100, CostUSD: 0.012},
		SubtaskStepped{RunID: "r1", CallID: "c2", ID: "sub-c2", N: 1, Max: 12, Model: "sonnet", Calls: []string{"grep timeout"}, Tokens: 3900, CostUSD: 0.011},
		SubtaskStepped{RunID: "r1", CallID: "c1", ID: "sub-c1", N: 2, Max: 12, Model: "sonnet", Tokens: 4600, CostUSD: 0.013, Done: true},
		ToolResult{CallID: "c1", Status: ResultOK, Text: "three callers", MS: 2100, Detail: json.RawMessage(`{"summary":"3 lines"}`)},
		ToolResult{CallID: "c2", Status: ResultError, Text: "the subtask used up its 12 steps", MS: 9000, Detail: json.RawMessage(`{}`)},
		call("c3", "task", "what reads the config", 12000),
		SubtaskStepped{RunID: "r1", CallID: "c3", ID: "sub-c3", N: 1, Max: 12, Model: "sonnet", Calls: []string{"read config.go"}, Tokens: 3100, CostUSD: 0.002},
		IterationBegan{RunID: "r1", N: 3},
		Compacted{RunID: "r1", Ref: "history-1", Covers: []string{"a", "b", "c"}, TokensIn: 8120, Tokens: 340},
		WorkflowStepped{TurnID: "t1", Step: 1, Status: StepDone},
		WorkflowStepped{TurnID: "t1", Step: 2, Status: StepSkipped, Note: "no file was changed"},
		WorkflowStepped{TurnID: "t1", Step: 3, Status: StepRunning, Try: 2, Iter: 1},
		ToolResult{CallID: "c3", Status: ResultCancelled, MS: 0},
		WorkflowStepped{TurnID: "t1", Step: 3, Status: StepFailed, Note: "exit 1", Iter: 1},
	}
}

// fold is what an editor knows after these events.
func fold(events []Event) (Model, Meta) {
	state, meta := NewState(Policy{}), NewMetaState()
	for _, e := range events {
		current := state.CurrentCycle()
		state.Apply(e)
		if _, stop := e.(RunStop); !stop {
			current = state.CurrentCycle()
		}
		meta.Apply(current, e)
	}
	return state.Model(), meta.Meta()
}

// TestDrawnTree holds the look of a tree with all that was measured: live on a terminal, settled rows marked, and whole
// in a plain list. testdata/tree is rewritten by -update-stories.
func TestDrawnTree(t *testing.T) {
	story := treeStory()
	hunks := map[string]int{"c4": 2, "c5": 1}
	var b strings.Builder
	draw := func(title string, events []Event, opts TextOptions) {
		model, meta := fold(events)
		opts.Meta, opts.Hunks = &meta, hunks
		fmt.Fprintf(&b, "-- %s --\n", title)
		for _, l := range Lines(model, opts) {
			mark := "  "
			if l.Settled {
				mark = "= "
			}
			b.WriteString(strings.TrimRight(mark+l.Text, " ") + "\n")
		}
	}
	live := TextOptions{Width: 80, Whole: true, Growing: true, Context: map[string][]string{"m1": {"in   retrieval  net/transport.go:210-268  612"}}}
	asking := len(story) - 4
	draw("reading, 80 columns", story[:11], live)
	draw("asking, 80 columns", story[:asking], live)
	draw("paused, 80 columns", story, live)
	stopped := append(story, RunStop{Reason: StopInterrupted, Message: "stopped by the person", Time: after(12400)})
	draw("stopped, a list", stopped, TextOptions{})
	draw("stopped, ASCII in 50 columns", stopped, TextOptions{Width: 50, ASCII: true, Whole: true})
	marked := live
	marked.Paint = func(ink Ink, s string) string { return fmt.Sprintf("<%d>%s</>", ink, s) }
	draw("inks", story[:asking], marked)
	work := workflowStory()
	draw("subtasks, 80 columns", work[:14], live)
	draw("a workflow's third step, 80 columns", work[:len(work)-2], live)
	failed := append(work, RunStop{Reason: StopError, Message: "step 3 failed: exit 1", Time: after(30000)})
	draw("a workflow that failed, a list", failed, TextOptions{})
	draw("a workflow that failed, ASCII in 60 columns", failed, TextOptions{Width: 60, ASCII: true})
	draw("a workflow that was cut off", append(work[:len(work)-2:len(work)-2], RunStop{Reason: StopInterrupted, Message: "stopped by the person", Time: after(12400)}), TextOptions{Width: 80})
	proposed := work[5].(WorkflowPlanned)
	proposed.Workflow.Status = WorkflowProposed
	draw("a proposed workflow, 80 columns", append(work[:4:4], proposed, RunStop{Reason: StopCompleted, Time: after(900)}), live)
	draw("a command without a sandbox", append(story[:8:8], AgentOutput{CallID: "c9", Output: OutputToolCall, Tool: "bash", Title: "make", Args: json.RawMessage(`{}`), Time: after(1000)},
		ToolResult{CallID: "c9", Status: ResultOK, Text: "done\n", MS: 90, Detail: json.RawMessage(`{"summary":"exit 0, not sandboxed","sandboxed":false}`)}), live)
	const file = "testdata/tree/drawn.txt"
	if *updateStories {
		write(t, file, []byte(b.String()))
		return
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, file, was, []byte(b.String()))
}

// TestSettledRowsComeFirst: a client can let settled rows go, for no row that changes comes before them, no two rows
// have one name, and a row that is settled keeps its text unless an item of an earlier step goes on.
func TestSettledRowsComeFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(eventGen, 0, 40).Draw(t, "events")
		seen := map[string]bool{}
		state := NewState(Policy{})
		opts := TextOptions{Width: 60, Whole: rapid.Bool().Draw(t, "whole"), Growing: true}
		for _, e := range events {
			ops := state.Apply(e)
			grown := false
			for _, op := range ops {
				grown = grown || op.Op == OpText
			}
			names := map[string]bool{}
			settled := true
			for _, l := range Lines(state.Model(), opts) {
				if names[l.Key] {
					t.Fatalf("two rows are %s", l.Key)
				}
				names[l.Key] = true
				if l.Settled && !settled {
					t.Fatalf("row %s is settled behind one that isn't", l.Key)
				}
				settled = l.Settled
				if name := l.Key + "=" + l.Text; l.Settled && !grown {
					seen[name] = true
				}
			}
			for name := range seen {
				key, _, _ := strings.Cut(name, "=")
				if !names[key] {
					t.Fatalf("the settled row %s is gone", key)
				}
			}
		}
	})
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"short", []string{"short"}},
		{"one two three four", []string{"one two", "three four"}},
		{"- one two three", []string{"- one two", "  three"}},
		{"unbreakableword next", []string{"unbreakableword", "next"}},
		{"", []string{""}},
	} {
		if d := cmp.Diff(c.want, wrap(c.in, 10)); d != "" {
			t.Errorf("%q: %s", c.in, d)
		}
	}
}
