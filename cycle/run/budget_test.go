package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// A run stops before the model call that would go over a budget: what was under
// way is whole, and the person is told which budget it was.
func TestBudget(t *testing.T) {
	begin := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		about  string
		budget cycle.Budget
		calls  int // rounds with a tool call that are let through
		says   string
	}{
		{"none", cycle.Budget{}, 6, ""},
		{"tokens", cycle.Budget{Tokens: 2500}, 3, "budget of 2500 tokens: 3000 so far"},
		{"tokens, exactly", cycle.Budget{Tokens: 2000}, 2, "2000 so far"},
		{"dollars", cycle.Budget{USD: 0.45}, 5, "budget of 0.45 US dollars: 0.5000 so far"},
		{"seconds, without the pause", cycle.Budget{Seconds: 35}, 4, "budget of 35 seconds: 40 so far"},
	} {
		t.Run(c.about, func(t *testing.T) {
			var s State
			at := begin
			step := func(in Input) ReadyTo {
				t.Helper()
				ready, err := Step(s, in)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range ready.Events {
					s = s.Apply(e)
				}
				return ready
			}
			step(Submit{At: at, ID: "m", TurnID: "t", RunID: "r", Text: "go", Max: 40, Budget: c.budget})
			step(SlotGranted{At: at, RunID: "r"})
			rounds := 0
			for s.Active() && rounds < 6 {
				if rounds == 1 { // an hour's pause costs nothing
					step(Pause{At: at, RunID: "r"})
					step(Prepared{At: at, Epoch: s.Epoch})
					at = at.Add(time.Hour)
					step(Resume{At: at, RunID: "r"})
				}
				step(Prepared{At: at, Epoch: s.Epoch, Plan: cycle.PlanMade{RunID: "r", PlanID: "p"}})
				at = at.Add(10 * time.Second)
				id := strings.Repeat("c", rounds+1)
				step(Replied{At: at, Epoch: s.Epoch, Finish: "calls", Calls: []NewCall{{ID: id, Tool: "read", Args: json.RawMessage(`{"n":"` + id + `"}`)}},
					Usage: cycle.UsageReported{Input: 900, Output: 100, CostUSD: 0.1}})
				rounds++
				ready := step(ToolDone{At: at, Epoch: s.Epoch, Result: cycle.ToolResult{CallID: id, Status: cycle.ResultOK, Text: id}})
				if s.Active() {
					continue
				}
				for _, e := range ready.Events {
					if stop, ok := e.(cycle.RunStop); ok && (stop.Reason != cycle.StopError || !strings.Contains(stop.Message, c.says) || !strings.Contains(stop.Message, "settings")) {
						t.Errorf("the run stopped with %+v, want %q", stop, c.says)
					}
				}
			}
			if rounds != c.calls || s.Active() != (c.says == "") {
				t.Errorf("%d rounds, want %d; active %v", rounds, c.calls, s.Active())
			}
		})
	}
}
