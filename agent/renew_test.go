package agent

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// A recording from before a change of the program is made anew in one pass,
// whether the program makes events now that it did not make then, or the other
// way round; where nothing changed, no byte does.
func TestRenewInOnePass(t *testing.T) {
	files := recordedRuns(t)
	ctx := context.Background()
	for name, change := range map[string]func(list []cycle.Event) []cycle.Event{
		"nothing changed": func(list []cycle.Event) []cycle.Event { return list },
		"there were no routes": func(list []cycle.Event) []cycle.Event {
			return slices.DeleteFunc(list, func(e cycle.Event) bool { _, ok := e.(cycle.Routed); return ok })
		},
		"the model was another for a while": func(list []cycle.Event) []cycle.Event {
			at := slices.IndexFunc(list, func(e cycle.Event) bool { _, ok := e.(cycle.PlanMade); return ok })
			return slices.Insert(list, at+1, cycle.Event(cycle.RunEscalated{RunID: "another", New: "x"}))
		},
	} {
		for _, file := range files {
			if name != "nothing changed" && !strings.Contains("question steer-and-follow-up cancel", runName(file)) {
				continue // each wait for what doesn't come takes seconds
			}
			t.Run(name+"/"+runName(file), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				rec, err := ReadRecording(data)
				if err != nil {
					t.Fatal(err)
				}
				was, err := decodeEvents(rec.Events)
				if err != nil {
					t.Fatal(err)
				}
				if rec.Events, err = encodeEvents(change(slices.Clone(was))); err != nil {
					t.Fatal(err)
				}
				if err := rec.renew(ctx); err != nil {
					t.Fatal(err)
				}
				if is, _ := decodeEvents(rec.Events); len(is) != len(was) {
					t.Errorf("%d events, were %d", len(is), len(was))
				}
				out, err := Replay(ctx, rec)
				if err != nil || !out.Identical {
					t.Errorf("%v %s", err, out.Text())
				}
				if name == "nothing changed" {
					if body, _ := plainJSON(rec); string(body)+"\n" != string(data) {
						t.Error("bytes changed")
					}
				}
			})
		}
	}
}
