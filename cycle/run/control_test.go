package run

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/control.md's table anew")

const (
	tableBegin = "<!-- begin: printed from cycle/run -->\n"
	tableEnd   = "<!-- end -->\n"
)

// TestControlTable holds the table in docs/control.md against the one that the
// machine obeys.
func TestControlTable(t *testing.T) {
	var b strings.Builder
	b.WriteString("| a run that is | pause | resume | cancel | escalate |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range Controls {
		fmt.Fprintf(&b, "| %s |", row.Condition)
		for _, command := range []string{"pause", "resume", "cancel", "escalate"} {
			what, ok := row.Allowed[command]
			if !ok {
				what = "`invalid_state`"
			}
			fmt.Fprintf(&b, " %s |", what)
		}
		b.WriteString("\n")
	}
	b.WriteString("| cut off by a crash | `not_found` | a new cycle goes on from its log | `not_found` | `not_found` |\n")
	b.WriteString("| finished, or unknown | `not_found` | `not_found` | `not_found` | `not_found` |\n")
	const path = "../../docs/control.md"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(data), tableBegin)
	_, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok1 || !ok2 {
		t.Fatal("docs/control.md has lost its marks")
	}
	want := head + tableBegin + b.String() + tableEnd + tail
	if want == string(data) {
		return
	}
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("docs/control.md is stale: go test ./cycle/run -run TestControlTable -update-docs")
}

// TestControlsObeyTheTable drives a run into each condition and tries every
// control there.
func TestControlsObeyTheTable(t *testing.T) {
	at := map[string][]cycle.Event{
		"waiting": {queued()},
		"running": {queued(), cycle.RunStarted{RunID: "r"}, cycle.IterationBegan{RunID: "r", N: 1}},
		"paused":  {queued(), cycle.RunStarted{RunID: "r"}, cycle.RunPaused{RunID: "r", Before: 1}},
	}
	inputs := map[string]Input{"pause": Pause{RunID: "r"}, "resume": Resume{RunID: "r"}, "cancel": Cancel{RunID: "r"}, "escalate": Escalate{RunID: "r", Model: "opus"}}
	names := make([]string, 0, len(inputs))
	for name := range inputs {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, row := range Controls {
		s := State{Phase: Idle}
		for _, e := range at[row.Condition] {
			s = s.Apply(e)
		}
		if s.condition() != row.Condition {
			t.Fatalf("the events for %s lead to %s", row.Condition, s.condition())
		}
		for _, name := range names {
			_, want := row.Allowed[name]
			ready, err := Step(s, inputs[name])
			if (err == nil) != want {
				t.Errorf("%s of a %s run: error %v, want allowed=%v", name, row.Condition, err, want)
			}
			if err == nil && len(ready.Events) == 0 {
				t.Errorf("%s of a %s run leaves no trace", name, row.Condition)
			}
		}
	}
	for _, name := range names {
		_, err := Step(State{Phase: Idle}, inputs[name])
		if r, ok := err.(*Rejected); !ok || r.Code != "not_found" {
			t.Errorf("%s with no run: %v, want not_found", name, err)
		}
	}
}

func queued() cycle.Event {
	return cycle.RunQueued{RunID: "r", TurnID: "t", CycleID: "m", Model: "small", Max: 5}
}

// TestSlots is first come, first served, ten at a time.
func TestSlots(t *testing.T) {
	s := NewSlots(SlotsDefault)
	for i := range 13 {
		want := max(0, i-SlotsDefault+1)
		if got := s.Acquire(fmt.Sprint("r", i)); got != want {
			t.Errorf("run %d: position %d, want %d", i, got, want)
		}
	}
	if got := s.Acquire("r11"); got != 2 {
		t.Errorf("asking twice moves a run to %d", got)
	}
	if got := s.Release("r3"); len(got) != 1 || got[0] != "r10" {
		t.Errorf("after one release %v begin", got)
	}
	if got := s.Release("r11"); len(got) != 0 {
		t.Errorf("a run that waited leaves and %v begin", got)
	}
	if got := s.Position("r12"); got != 1 {
		t.Errorf("the last one is at %d, want 1", got)
	}
}
