package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/llmtest"
)

// calcModule is a real Go module with a test that fails.
var calcModule = map[string]string{
	"go.mod":       "module example.com/calc\n\ngo 1.24\n",
	"calc.go":      "package calc\n\n// Add gives the sum.\nfunc Add(a, b int) int { return a - b }\n",
	"calc_test.go": "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif got := Add(2, 3); got != 5 {\n\t\tt.Errorf(\"Add(2, 3) = %d\", got)\n\t}\n}\n",
}

// allowTests lets the module's tests run without a question.
const allowTests = "[permissions]\nallow = [\"bash(go test *)\"]\n"

// response is a turn's answer, and what was streamed before it.
func (e *editor) response(turn string) (r agent.Response) {
	e.t.Helper()
	var c struct {
		Metadata struct{ Response agent.Response }
	}
	if err := json.Unmarshal(e.done(turn).Params, &c); err != nil {
		e.t.Fatal(err)
	}
	return c.Metadata.Response
}

// steps are the statuses of the live checklist, as the deltas told them.
func (e *editor) steps() []string {
	var out []string
	for _, w := range e.messages() {
		var n struct {
			Meta []cycle.MetaOp `json:"meta"`
		}
		if w.Method != "agent/cycle" || json.Unmarshal(w.Params, &n) != nil {
			continue
		}
		for _, m := range n.Meta {
			if m.CycleMeta == nil || m.CycleMeta.Workflow == nil {
				continue
			}
			line := ""
			for _, s := range m.CycleMeta.Workflow.Steps {
				line += s.Status[:1]
			}
			if len(out) == 0 || out[len(out)-1] != line {
				out = append(out, line)
			}
		}
	}
	return out
}

// TestWorkflowFixesAndTests: a real server follows scripts: a request of three
// steps is done step by step, the checklist is ticked live, and at the end the
// module's tests pass.
func TestWorkflowFixesAndTests(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, llmtest.Scripts{
		"wf-fix": llmtest.Texts(llmtest.Call("read", `{"path": "calc.go", "offset": 1, "limit": 20}`),
			llmtest.Call("edit", `{"path": "calc.go", "edits": [{"oldText": "return a - b", "newText": "return a + b"}]}`), "Add subtracted; now it adds."),
		"wf-run":    llmtest.Texts(llmtest.Call("bash", `{"command": "go test ./..."}`), "All tests pass."),
		"wf-report": llmtest.Texts("Add subtracted instead of adding, see calc.go:4. It is fixed, and the tests pass."),
	})
	env = warmGo(t, env)
	dir := writeFiles(t, calcModule)
	e := startEditor(t, env, dir)
	e.hello(dir)
	from := e.here()
	s := e.submit("fix the failing test in calc [[script:wf-fix]], run the tests [[script:wf-run]], report [[script:wf-report]]", "")
	e.permit(from, "allow_once") // the command
	r := e.response(s.TurnID)
	if !r.Success || r.Type != "workflow" || !strings.Contains(r.Content, "3 of 3 steps done") || !strings.Contains(r.Content, "see calc.go:4") {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(e.steps(), " "); got != "ppp rpp dpp drp ddp ddr ddd" && got != "ppp rpp drp ddr ddd" && got != "rpp drp ddr ddd" {
		t.Errorf("the checklist went %s", got)
	}
	if out, err := goTest(dir, env); err != nil {
		t.Errorf("the tests do not pass at the end: %v\n%s", err, out)
	}
	for i, w := range proxy.Requests() {
		if i > 0 && len(w.Body) < len(proxy.Requests()[i-1].Body) {
			t.Errorf("request %d is shorter than the one before", i+1)
		}
	}
	t.Logf("%d requests; the checklist: %s\n%s", len(proxy.Requests()), strings.Join(e.steps(), " "), r.Content)
	e.bye()
}

// TestWorkflowStopsAtAFailingStep: the fix is wrong, so the tests fail, so
// nothing is reported.
func TestWorkflowStopsAtAFailingStep(t *testing.T) {
	t.Parallel()
	env, _ := scripted(t, llmtest.Scripts{
		"wf-wrong": llmtest.Texts(llmtest.Call("edit", `{"path": "calc.go", "edits": [{"oldText": "return a - b", "newText": "return a * b"}]}`), "Changed."),
		"wf-run":   llmtest.Texts(llmtest.Call("bash", `{"command": "go test ./..."}`), "They fail."),
		"wf-never": llmtest.Texts("This must not be said."),
	})
	env = warmGo(t, env)
	dir := writeFiles(t, calcModule)
	e := startEditor(t, env, dir)
	e.hello(dir)
	from := e.here()
	s := e.submit("fix the failing test in calc [[script:wf-wrong]], run the tests [[script:wf-run]], report [[script:wf-never]]", "")
	e.permit(from, "allow_once")
	r := e.response(s.TurnID)
	if r.Success || r.Metadata.ErrorType != "workflow-step-failed" || !strings.HasPrefix(r.Metadata.FailedAt, "step 2: run the tests") ||
		!strings.Contains(r.Content, "[!] 2. run the tests") || !strings.Contains(r.Content, "[ ] 3. report") || strings.Contains(r.Content, "must not be said") {
		t.Errorf("%+v", r)
	}
	t.Logf("%s at %q: %s\n%s", r.Metadata.ErrorType, r.Metadata.FailedAt, r.Error, r.Content)
	e.bye()
}

// TestWorkflowOffline: the same with the embedded model, as far as it honestly
// goes: it changes what it is told to, runs the tests, and reports; what it
// can't do stops the workflow.
func TestWorkflowOffline(t *testing.T) {
	t.Parallel()
	env := home(t)
	setting(t, env, allowTests)
	env = warmGo(t, env)
	dir := writeFiles(t, calcModule)
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	r := e.response(e.submit("fix the failing test in calc, run the tests, report", "").TurnID)
	if r.Success || !strings.Contains(r.Content, "[!] 1. fix the failing test in calc: no file was changed") {
		t.Errorf("what it can't do: %+v", r)
	}
	t.Logf("what it can't do:\n%s", r.Content)
	r = e.response(e.submit("replace `return a - b` with `return a + b` in calc.go, run the tests, show calc.go", "").TurnID)
	if !r.Success || !strings.Contains(r.Content, "3 of 3 steps done") {
		t.Errorf("what it can: %+v", r)
	}
	t.Logf("what it can:\n%s", r.Content)
	if out, err := goTest(dir, env); err != nil {
		t.Errorf("the tests do not pass at the end: %v\n%s", err, out)
	}
	e.bye()
}

// warmGo is the environment with the machine's own build cache, filled with
// what the module's tests need, so that no wait is for a compiler.
func warmGo(t *testing.T, env []string) []string {
	t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal("no go command: ", err)
	}
	env = append(env, "GOCACHE="+strings.TrimSpace(string(cache)), "CGO_ENABLED=0")
	_, _ = goTest(writeFiles(t, calcModule), env) // it fails: the module is broken
	return env
}

func goTest(dir string, env []string) (string, error) {
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
