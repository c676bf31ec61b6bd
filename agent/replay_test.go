package agent

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

// replays exports a run and drives it again from the bytes of the export.
func (g *rig) replays(runID string) *Replayed {
	g.t.Helper()
	ctx := context.Background()
	rec, err := g.engine.Record(ctx, runID)
	if err != nil {
		g.t.Fatal(err)
	}
	body, err := plainJSON(rec)
	if err != nil {
		g.t.Fatal(err)
	}
	if rec, err = ReadRecording(body); err != nil {
		g.t.Fatal(err)
	}
	out, err := Replay(ctx, rec)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

func (g *rig) identical(runID string) {
	g.t.Helper()
	out := g.replays(runID)
	if !out.Identical || out.Events == 0 {
		g.t.Errorf("%s", out.Text())
	}
	g.t.Log(strings.TrimSpace(out.Text()))
}

// A run with calls at once, an edit, and a question.
func TestReplayEdit(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		switch n {
		case 1:
			return "Looking & <seeing>.", []model.Call{call(1, "read", `{"path": "a.go"}`), call(2, "grep", `{"pattern": "A && <B>"}`), call(3, "nothing", `{}`)}
		case 2:
			return "", []model.Call{call(4, "edit", `{"path": "a.go", "edits": [{"oldText": "return 1", "newText": "return 2"}]}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "make A return 2", Focus: &Focus{URI: "b.go", Range: &Range{End: Position{Line: 2}}}})
	g.ended(res.TurnID)
	g.identical(res.RunID)
	if out, err := g.engine.EditsResolve(context.Background(), &ResolveParams{All: true, Decision: "reject", Reason: "one is right"}); err != nil || len(out.Results) != 1 {
		t.Fatal(out, err)
	}
	next := g.submit(SubmitParams{Input: "try again"})
	g.ended(next.TurnID)
	g.identical(next.RunID)
	g.identical(res.RunID)
}

var updateRuns = flag.Bool("update-runs", false, "make the events of testdata/runs anew")

// Recorded runs come out the same for ever. One that doesn't shows what a
// change does to people's runs; where that is meant, -update-runs.
func TestRecordedRuns(t *testing.T) {
	ctx := context.Background()
	for _, file := range recordedRuns(t) {
		t.Run(runName(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := ReadRecording(data)
			if err != nil {
				t.Fatal(err)
			}
			if *updateRuns {
				if err := rec.renew(ctx); err != nil {
					t.Fatal(err)
				}
				body, err := plainJSON(rec)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, append(body, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := Replay(ctx, rec)
			if err != nil {
				t.Fatal(err)
			}
			if !out.Identical || out.Events < 10 {
				t.Errorf("%s\nwhere this is meant: go test ./agent -run TestRecordedRuns -update-runs, and look at the difference", out.Text())
			}
		})
	}
}

func recordedRuns(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/runs/*.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d recorded runs: %v", len(files), err)
	}
	return files
}

func runName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".json") }

// Nothing secret is in an export, and it replays all the same.
func TestExportHasNoSecrets(t *testing.T) {
	const named, shaped, split = "canary-from-the-environment", "sk-canary0123456789abcdef", "canary \"in\" <quotes> & more"
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "The key is " + shaped + ".", []model.Call{call(1, "read", `{"path": "a.go"}`), call(2, "grep", `{"pattern": "canary-from-the-environment"}`)}
		}
		return "It says " + split, nil
	})
	g.write("a.go", "package a\n\nconst key = `"+named+"`\n// "+split+"\n// https://me:hunter2@example.com\n")
	res := g.submit(SubmitParams{Input: "what is " + named + "?"})
	g.ended(res.TurnID)
	rec, err := g.engine.Export(context.Background(), res.RunID, []string{named, split, "abc"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := plainJSON(rec)
	if err != nil {
		t.Fatal(err)
	}
	for _, canary := range []string{named, shaped, "<quotes>", "hunter2"} {
		if strings.Contains(string(body), canary) {
			t.Errorf("%s is in the export", canary)
		}
	}
	if rec.Redacted == 0 || !strings.Contains(string(body), "func") {
		t.Errorf("%d secrets taken out of %d bytes", rec.Redacted, len(body))
	}
	if rec, err = ReadRecording(body); err != nil {
		t.Fatal(err)
	}
	out, err := Replay(context.Background(), rec)
	if err != nil || !out.Identical {
		t.Errorf("%v %s", err, out.Text())
	}
	// A secret that the stream cut into pieces is found too.
	r := newRedactor([]string{named})
	list := r.joined([]cycle.Event{cycle.AgentOutput{ID: "o", Output: cycle.OutputAssistant, Text: "it is canary-from"},
		cycle.AgentOutput{ID: "o", Output: cycle.OutputAssistant, Text: "-the-environment, yes"}})
	if len(list) != 1 || list[0].(cycle.AgentOutput).Text != "it is "+Redacted+", yes" {
		t.Errorf("%+v", list)
	}
}

// gate holds a model's nth call until it is opened.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}), make(chan struct{})} }

func (g gate) pass() {
	close(g.reached)
	<-g.open
}

// control sends a REQUEST and waits for its RESULT.
func (g *rig) control(id, command, runID, payload string) {
	g.t.Helper()
	g.engine.Control(context.Background(), g.client, json.RawMessage(fmt.Sprintf(
		`{"schema":0,"type":"REQUEST","request_id":%q,"command":%q,"target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":%s}`, id, command, runID, payload)))
	g.client.until(g.t, func(c *recorder) bool {
		for _, m := range c.loops {
			if strings.Contains(m, `"type":"RESULT"`) && strings.Contains(m, `"request_id":"`+id+`"`) {
				if !strings.Contains(m, `"status":"success"`) {
					g.t.Fatalf("%s: %s", command, m)
				}
				return true
			}
		}
		return false
	})
}

// A steer while the model speaks, and a follow-up that runs after.
func TestReplaySteerAndFollowUp(t *testing.T) {
	first := newGate()
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			first.pass()
			return "Reading.", []model.Call{call(1, "read", `{"path": "a.go"}`), call(2, "read", `{"path": "b.go"}`)}
		}
		return fmt.Sprintf("answer %d", n), nil
	})
	res := g.submit(SubmitParams{Input: "what is A?"})
	<-first.reached
	g.submit(SubmitParams{Input: "and B?", Delivery: "steer"})
	next := g.submit(SubmitParams{Input: "now, who calls A?", Delivery: "followUp"})
	close(first.open)
	g.ended(res.TurnID)
	g.ended(next.TurnID)
	g.identical(res.RunID)
	g.identical(next.RunID)
}

// A cancel in the middle of a reply; the follow-up waits for the person.
func TestReplayCancel(t *testing.T) {
	first := newGate()
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 2 {
			first.pass()
		}
		if n <= 2 {
			return "Reading.", []model.Call{call(1, "read", fmt.Sprintf(`{"path": "a.go", "offset": %d}`, n))}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "look at a.go"})
	<-first.reached
	next := g.submit(SubmitParams{Input: "then look at b.go", Delivery: "followUp"})
	g.submit(SubmitParams{Input: "nobody reads this", Delivery: "steer"})
	g.control("c1", "cancel", res.RunID, `{}`)
	close(first.open)
	g.ended(res.TurnID)
	g.control("r1", "resume", next.RunID, `{}`)
	g.ended(next.TurnID)
	g.identical(res.RunID)
	g.identical(next.RunID)
}

// Pause, escalate and resume between a reply and its calls.
func TestReplayControls(t *testing.T) {
	first := newGate()
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			first.pass()
			return "Reading.", []model.Call{call(1, "read", `{"path": "a.go"}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "look at a.go"})
	<-first.reached
	g.control("p1", "pause", res.RunID, `{}`)
	close(first.open)
	g.control("e1", "escalate", res.RunID, `{"model":"test/big","reason":"it is stuck"}`)
	g.control("r1", "resume", res.RunID, `{}`)
	g.ended(res.TurnID)
	g.identical(res.RunID)
}

// A question that the person answers with no.
func TestReplayPermissionDenied(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "bash", `{"command": "make all"}`), call(2, "read", `{"path": "a.go"}`)}
		}
		return "I could not run it.", nil
	})
	res := g.submit(SubmitParams{Input: "build it"})
	g.ended(res.TurnID)
	g.identical(res.RunID)
}

// A stream that is cut off and tried again.
func TestReplayRetry(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n <= 2 {
			return "CUT It is", nil
		}
		return "It is one.", nil
	})
	res := g.submit(SubmitParams{Input: "what does A return?"})
	g.ended(res.TurnID)
	g.identical(res.RunID)
}

// A run that a crash cut off, and the one that went on with it.
func TestReplayCrash(t *testing.T) {
	first := newGate()
	answer := func(n int, _ model.Request) (string, []model.Call) {
		switch n {
		case 1:
			return "Reading.", []model.Call{call(1, "read", `{"path": "a.go"}`)}
		case 2:
			first.pass()
		}
		return "done", nil
	}
	g := newRig(t, answer)
	res := g.submit(SubmitParams{Input: "look at a.go"})
	<-first.reached
	close(first.open)
	g.restart()
	g.open(answer)
	if err := g.engine.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	status, err := g.engine.Status(context.Background(), &SessionRef{})
	if err != nil {
		t.Fatal(err)
	}
	if len(status.Runs) == 1 && status.Runs[0].Resumable { // else it had ended before
		g.control("go-on", "resume", res.RunID, `{}`)
	}
	g.client.until(t, func(c *recorder) bool { return len(c.stream) > 0 && c.stream[len(c.stream)-1].IsComplete })
	g.identical(res.RunID)
	g.identical("")
}

// Runs whose history is summarised, by a model and by rule.
func TestReplayCompaction(t *testing.T) {
	for _, broken := range []bool{false, true} {
		c, g := newConversation(t, 12_000)
		c.broken = broken
		c.talk(g, 0, 14)
		n := 0
		rows, err := g.store.Sessions(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for s, err := range g.store.Events(context.Background(), rows[0].ID, "main") {
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := s.Event.(cycle.Compacted); ok {
				n++
				g.identical(e.RunID)
			}
		}
		if n == 0 {
			t.Error("nothing was compacted")
		}
	}
}

// Whatever is different is told, and nothing passes for identical.
func TestReplayTellsWhatDiffers(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "read", `{"path":"a.go"}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "what is in a.go?"})
	g.ended(res.TurnID)
	ctx := context.Background()
	for name, bend := range map[string]func(*Recording){
		"another plan": func(r *Recording) { r.Plans[0].Surroundings.System += " Be brief." },
		"another result in the prompt": func(r *Recording) {
			r.Rounds[1].Request.Messages[0].Text += "x"
		},
		"another end": func(r *Recording) {
			for i, e := range r.Events {
				r.Events[i] = json.RawMessage(strings.Replace(string(e), `"reason":"completed"`, `"reason":"error"`, 1))
			}
		},
		"an answer of other words": func(r *Recording) {
			last := len(r.Events) - 1
			r.Events[last] = json.RawMessage(strings.Replace(string(r.Events[last]), `"content":"done"`, `"content":"undone"`, 1))
		},
	} {
		rec, err := g.engine.Record(ctx, res.RunID)
		if err != nil {
			t.Fatal(err)
		}
		bend(rec)
		out, err := Replay(ctx, rec)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out.Identical || len(out.Differences) == 0 {
			t.Errorf("%s passes for identical: %s", name, out.Text())
		}
		t.Logf("%s: %s", name, out.Text())
	}
}
