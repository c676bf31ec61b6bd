package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
)

// sentBody is a request as the model's server received it, byte for byte.
type sentBody struct {
	Messages json.RawMessage
	Tools    json.RawMessage
}

func bodies(t *testing.T, list []*llmtest.Request) (out []sentBody) {
	t.Helper()
	for _, r := range list {
		var b sentBody
		if err := json.Unmarshal(r.Body, &b); err != nil {
			t.Fatal(err)
		}
		if len(b.Tools) > 0 { // the run's own; a title or a summary needs no tools
			out = append(out, b)
		}
	}
	return out
}

// In a run of twenty iterations each request that reaches the model's server
// holds the whole one before, byte for byte, and the same tools: what prompt
// caches live on.
func TestRequestsOnlyGrowOnTheWire(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, nil)
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	s := e.submit("go on [[script:reads]]", "")
	e.done(s.TurnID)
	e.bye()

	list := bodies(t, proxy.Requests())
	if len(list) != 21 {
		t.Fatalf("%d model calls, want 21", len(list))
	}
	for i := 1; i < len(list); i++ {
		was := bytes.TrimSuffix(bytes.TrimSpace(list[i-1].Messages), []byte("]"))
		if !bytes.HasPrefix(list[i].Messages, was) || len(list[i].Messages) <= len(was) {
			t.Errorf("call %d does not begin with call %d:\n%s\n%s", i+1, i, list[i-1].Messages, list[i].Messages)
		}
		if !bytes.Equal(list[i].Tools, list[0].Tools) {
			t.Errorf("call %d has other tools than the first", i+1)
		}
	}
}

// longTalkTurns under a window of longTalkWindow tokens, which the model's
// server enforces: it refuses every prompt that is longer. A hundred turns are agent.TestHundredTurns.
const (
	longTalkTurns  = 24
	longTalkWindow = 16 << 10
)

// A long talk with a small model never overflows its window, and what was
// pinned and what the person said in this turn is in every request.
func TestLongTalkOnTheWire(t *testing.T) {
	if testing.Short() {
		t.Skip("a long talk")
	}
	t.Parallel()
	scripts := llmtest.Scripts{
		"talk": llmtest.Texts(
			llmtest.Call("read", `{"path": "main.go", "offset": 1, "limit": 40}`),
			"It is so. "+strings.Repeat("The reason is in main.go, see line 3. ", 30)),
		"sum": {Steps: []string{"- things were read in main.go\n- it is so, see main.go:3"}, WhenSystem: "[SUMMARISE]"},
	}
	server := llmtest.Start(t, llmtest.Options{Scripts: llmtest.DefaultScripts().With(scripts), Context: longTalkWindow, Slots: 2})
	proxy, address := llmtest.NewProxy(t, server.URL)
	env := home(t)
	for i, v := range env {
		if strings.HasPrefix(v, "AGENT_LSP_MODEL=") {
			env[i] = "AGENT_LSP_MODEL=work/small"
		}
	}
	setting(t, env, fmt.Sprintf("[providers.work]\nbase_url = \"%s/v1\"\n[models.\"work/small\"]\ncontext_window = %d\n", address, longTalkWindow))
	dir := writeFiles(t, map[string]string{"main.go": numbered(60), "rule.txt": "THE PINNED RULE\n"})
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	for i := range longTalkTurns {
		s := e.submit(fmt.Sprintf("Question %d, of «part %d»? [[script:talk]]", i, i), "")
		if i == 0 {
			e.okay("agent/pin", fmt.Sprintf(`{"sessionId":%q,"uri":"rule.txt"}`, s.SessionID), nil)
		}
		var done struct {
			Type    string
			Content string
		}
		e.done(s.TurnID).into(t, &done)
		if done.Type != "result" {
			t.Fatalf("turn %d: %s %s", i, done.Type, done.Content)
		}
	}
	e.bye()

	list := bodies(t, proxy.Requests())
	longest := 0
	for i, b := range list {
		text := string(b.Messages)
		if turn := i / 2; !strings.Contains(text, fmt.Sprintf("Question %d, of", turn)) || turn > 0 && !strings.Contains(text, "THE PINNED RULE") {
			t.Errorf("call %d lacks the person's words or the pin", i)
		}
		longest = max(longest, server.Tokens(t, text))
	}
	summaries := len(proxy.Requests()) - len(list)
	t.Logf("%d calls, the longest of about %d tokens of %d; %d other calls (summaries)", len(list), longest, longTalkWindow, summaries)
	if len(list) != 2*longTalkTurns || summaries == 0 {
		t.Errorf("%d calls and %d others, want %d and some", len(list), summaries, 2*longTalkTurns)
	}
}
