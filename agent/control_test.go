package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Every RESULT is remembered over a restart, refusals too: a retry gets the
// same bytes and nothing happens.
func TestResultsSurviveARestart(t *testing.T) {
	first := newGate()
	answer := func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			first.pass()
		}
		return "done", nil
	}
	g := newRig(t, answer)
	res := g.submit(SubmitParams{Input: "look at a.go"})
	<-first.reached
	requests := map[string]string{"held": "pause", "again": "pause", "nobody": "cancel", "on": "resume", "on-2": "resume"}
	send := func(id string) string {
		target := res.RunID
		if id == "nobody" {
			target = "no-such-run"
		}
		g.client.mu.Lock()
		from := len(g.client.loops)
		g.client.mu.Unlock()
		g.engine.Control(context.Background(), g.client, json.RawMessage(fmt.Sprintf(
			`{"schema":0,"type":"REQUEST","request_id":%q,"command":%q,"target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":{}}`, id, requests[id], target)))
		out := ""
		g.client.until(t, func(c *recorder) bool {
			for _, m := range c.loops[from:] {
				if strings.Contains(m, `"RESULT"`) && strings.Contains(m, `"request_id":"`+id+`"`) {
					out = m
				}
			}
			return out != ""
		})
		return out
	}
	was := map[string]string{}
	order := []string{"held", "again", "nobody", "on", "on-2"}
	for _, id := range order {
		was[id] = send(id)
	}
	for id, code := range map[string]string{"held": "success", "again": "invalid_state", "nobody": "not_found", "on-2": "invalid_state"} {
		if !strings.Contains(was[id], code) {
			t.Errorf("%s: %s, want %s", id, was[id], code)
		}
	}
	close(first.open)
	g.restart()
	g.open(answer)
	if err := g.engine.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, id := range order {
		if is := send(id); is != was[id] {
			t.Errorf("%s after a restart:\n%s\n%s", id, was[id], is)
		}
	}
}
