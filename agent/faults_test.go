package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
	"github.com/agent-lsp/agent-lsp/tools"
)

// tallyTool is a tool that can be seen to have run: each call adds a line to a file.
type tallyTool struct{ file string }

func (tallyTool) Spec() tools.Spec {
	return tools.Spec{Name: "tally", Description: "adds a line to the tally", Category: tools.CategoryRead, ReadOnly: true, OutputMax: 1000,
		Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
}

func (tallyTool) Title(args json.RawMessage) string { return string(args) }

func (c tallyTool) Run(_ context.Context, _ tools.Env, args json.RawMessage) tools.Result {
	var a struct{ N int }
	if err := json.Unmarshal(args, &a); err != nil {
		return tools.Result{Status: tools.StatusError, Text: err.Error()}
	}
	f, err := os.OpenFile(c.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return tools.Result{Status: tools.StatusError, Text: err.Error()}
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, a.N); err != nil {
		return tools.Result{Status: tools.StatusError, Text: err.Error()}
	}
	return tools.Result{Status: tools.StatusOK, Text: fmt.Sprint("tallied ", a.N)}
}

// AGENT-8: whatever breaks, and wherever, no call runs twice or half: what the
// tools did is counted on disk. The server is a real one, with both APIs.
func TestNoCallRunsTwice(t *testing.T) {
	server := llmtest.Start(t, llmtest.Options{Scripts: llmtest.Scripts{"tally": llmtest.Texts(
		"Two at once.\n"+llmtest.Call("tally", `{"n": 1}`)+"\n"+llmtest.Call("tally", `{"n": 2}`),
		"And one.\n"+llmtest.Call("tally", `{"n": 3}`),
		"All three are done.")}})
	apis := map[string]func(testing.TB, string, wire.Limits) model.Model{
		"chat completions": func(t testing.TB, url string, limits wire.Limits) model.Model {
			c, err := openai.New(openai.Config{Provider: "llamacpp", BaseURL: url, Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c
		},
		"messages": func(t testing.TB, url string, limits wire.Limits) model.Model {
			c, err := anthropic.New(anthropic.Config{BaseURL: url, Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			return c
		},
	}
	// The numbers are events: within the text, within the first call's arguments,
	// within the second's, after the last of them.
	faults := []string{"", "eof:0", "eof:4", "eof:14", "eof:24", "cut:0", "cut:14", "cut:24", "error:14", "error:24", "stall:0", "stall:14", "429:1", "529", "503", "500", "bytes:1"}
	for _, api := range []string{"chat completions", "messages"} {
		for at := range 2 { // the request that the fault meets
			for _, text := range faults {
				t.Run(fmt.Sprintf("%s/request %d/%s", api, at+1, text), func(t *testing.T) {
					t.Parallel()
					fault, err := llmtest.ParseFault(text)
					if err != nil {
						t.Fatal(err)
					}
					proxy, url := llmtest.NewProxy(t, server.URL)
					proxy.Next(append(make([]llmtest.Fault, at), fault)...)
					file := filepath.Join(t.TempDir(), "tally")
					client := apis[api](t, url, wire.Limits{})
					if strings.HasPrefix(text, "stall:") {
						client = nthBy(int32(at+1), apis[api](t, url, impatient), client)
					}
					g := newRig(t, nil, func(g *rig) { g.server, g.tools = client, []tools.Tool{tallyTool{file}} })
					res := g.submit(SubmitParams{Input: "read the code in a.go and count what it does [[script:tally]]"})
					end := g.ended(res.TurnID)
					if end.Type != "result" || !strings.Contains(end.Content, "All three are done.") {
						t.Errorf("it ended with %+v", end)
					}
					did, err := os.ReadFile(file)
					if err != nil {
						t.Error(err)
					}
					lines := strings.Fields(string(did))
					slices.Sort(lines)
					if got := strings.Join(lines, " "); got != "1 2 3" {
						t.Errorf("the calls that ran: %s, want each once", got)
					}
					failed := 0
					for _, e := range g.log() {
						if r, ok := e.(cycle.ToolResult); ok && r.Status != cycle.ResultOK {
							t.Errorf("a call failed: %+v", r)
						}
						if f, ok := e.(cycle.ModelFailed); ok {
							failed++
							if f.RetryInMS == 0 || f.Message == "" {
								t.Errorf("the failure is told as %+v", f)
							}
						}
					}
					// A fault behind a reply's last event breaks nothing; a kept connection
					// that is reset before an answer is replaced without a word.
					if requests := len(proxy.Requests()); requests != 3+failed && text != "cut:0" {
						t.Errorf("%d requests with %d failures", requests, failed)
					}
				})
			}
		}
	}
}

// impatient is for the one request that is known to stall: a busy machine may
// keep any other waiting for as long.
var impatient = wire.Limits{Idle: 700 * time.Millisecond, FirstToken: 700 * time.Millisecond}

// nthBy is a model whose nth request goes through one client and all others
// through another.
func nthBy(n int32, nth, others model.Model) model.Model {
	var asked atomic.Int32
	return model.Func(func(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
		if asked.Add(1) == n {
			return nth.Stream(ctx, req)
		}
		return others.Stream(ctx, req)
	})
}

// log is the branch's events.
func (g *rig) log() []cycle.Event {
	g.t.Helper()
	var out []cycle.Event
	for stored, err := range g.store.Events(context.Background(), g.session(), "main") {
		if err != nil {
			g.t.Fatal(err)
		}
		out = append(out, stored.Event)
	}
	return out
}

// What a model wants back with its reply, it gets back with that reply, in
// every later request and after a restart of the engine.
func TestCarryGoesBack(t *testing.T) {
	const signed = `{"signature":"c2ln"}`
	var requests []model.Request
	fake := model.Func(func(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
		requests = append(requests, req)
		n := len(requests)
		return func(yield func(model.Delta, error) bool) {
			done := &model.Done{Finish: model.FinishStop, Usage: model.Usage{Input: 10, Output: 5, Reported: true}}
			if n == 1 {
				done.Finish, done.Carry, done.Calls = model.FinishCalls, json.RawMessage(signed), []model.Call{call(1, "read", `{"path":"a.go"}`)}
			}
			_ = yield(model.Delta{Text: fmt.Sprint("reply ", n)}, nil) && yield(model.Delta{Done: done}, nil)
		}
	})
	g := newRig(t, nil, func(g *rig) { g.server = fake })
	g.ended(g.submit(SubmitParams{Input: "read the code in a.go"}).TurnID)
	g.restart()
	g.open(nil)
	g.ended(g.submit(SubmitParams{Input: "and the code in b.go"}).TurnID)
	if len(requests) != 3 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, req := range requests[1:] {
		var got []string
		for _, m := range req.Messages {
			if m.Role == model.RoleAssistant {
				got = append(got, m.Text+string(m.Carry))
			}
		}
		if want := []string{"reply 1" + signed, "reply 2"}[:i+1]; !slices.Equal(got, want) {
			t.Errorf("request %d: %q, want %q", i+2, got, want)
		}
	}
}
