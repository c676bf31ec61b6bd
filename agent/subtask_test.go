package agent

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Two subtasks at once read the workspace, can't write, and come back with
// their summaries; they are in the stack, in the tree and in the costs, and
// the run replays.
func TestSubtasks(t *testing.T) {
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		own := strings.HasPrefix(req.Messages[0].Text, "You answer one question")
		switch {
		case own && len(req.Messages) < 4:
			for _, x := range req.Tools {
				if x.Name == "edit" || x.Name == "bash" || x.Name == "task" {
					t.Errorf("a subtask is offered %s", x.Name)
				}
			}
			return "", []model.Call{call(1, "read", `{"path":"b.go"}`), call(2, "edit", editOne), call(3, "task", `{"title":"x","prompt":"y"}`)}
		case own:
			if last := encodeJSON(t, req.Messages); !strings.Contains(last, "return A()") || strings.Count(last, "can only read and search") != 2 {
				t.Errorf("the subtask's calls: %s", last)
			}
			return "B calls A, b.go:3", nil
		case n == 1:
			return "", []model.Call{call(1, "task", `{"title":"what B does","prompt":"what does B do in b.go?"}`), call(2, "task", `{"title":"what A does","prompt":"what does A do?"}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "find out what A and B do in a.go and b.go"})
	c := g.ended(res.TurnID)
	if c.Content != "done" || len(g.requests) != 6 {
		t.Fatalf("%d requests, %q", len(g.requests), c.Content)
	}
	last := encodeJSON(t, g.requests[5].Messages)
	if strings.Count(last, "B calls A, b.go:3") < 2 || strings.Contains(last, "can only read and search") {
		t.Errorf("what came back: %s", last)
	}
	seen := false
	for _, l := range g.client.loops {
		seen = seen || strings.Contains(l, `"mode":"subtask"`)
	}
	if !seen {
		t.Error("no STATE has a subtask in its stack")
	}
	shown := false
	for _, n := range g.client.cycles {
		for _, m := range n.Meta {
			shown = shown || m.CallMeta != nil && m.CallMeta.Subtask != nil && len(m.CallMeta.Subtask.Calls) == 3
		}
	}
	if !shown {
		t.Error("the step tree does not show what a subtask did")
	}
	g.identical(res.RunID)
}
