package run

import (
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Of two calls that a crash cut off, the one that still waited for the
// person's answer was certainly not made.
func TestUnansweredCallWasNotMade(t *testing.T) {
	s := State{Phase: Idle}
	for _, e := range []cycle.Event{
		queued(), cycle.RunStarted{RunID: "r"}, cycle.IterationBegan{RunID: "r", N: 1}, cycle.PlanMade{RunID: "r", Call: 1},
		cycle.AgentOutput{Output: cycle.OutputToolCall, CallID: "asks", Tool: "bash"},
		cycle.AgentOutput{Output: cycle.OutputToolCall, CallID: "runs", Tool: "bash"},
		cycle.ModelReplied{RunID: "r", Call: 1, Calls: []string{"asks", "runs"}},
		cycle.CallsBegan{RunID: "r", Calls: []string{"asks", "runs"}},
		cycle.PermissionAsked{CallID: "asks"},
		cycle.PermissionAsked{CallID: "runs"}, cycle.PermissionAnswered{CallID: "runs", Allow: true},
	} {
		s = s.Apply(e)
	}
	for _, paused := range []bool{false, true} {
		cut := s
		if paused {
			cut = s.Apply(cycle.RunPaused{RunID: "r", Before: 2})
		}
		out, err := Step(cut, Recover{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range out.Events {
			if r, ok := e.(cycle.ToolResult); ok {
				got[r.CallID] = r.Text
			}
		}
		if got["asks"] != UnansweredText || got["runs"] != OrphanText {
			t.Errorf("paused %t: %q", paused, got)
		}
	}
}
