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
