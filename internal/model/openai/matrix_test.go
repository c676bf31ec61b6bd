package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

func TestMain(m *testing.M) {
	code := m.Run()
	llmtest.StopShared()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// tools are those that the scripts call.
var tools = []model.Tool{
	{Name: "read", Description: "read a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"]}`)},
	{Name: "edit", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"]}}},"required":["path","edits"]}`)},
	{Name: "write", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)},
}

func request(script string, more ...model.Message) model.Request {
	return model.Request{Model: llmtest.ModelName, Tools: tools, Messages: append([]model.Message{
		{Role: model.RoleSystem, Text: "You are a test."},
		{Role: model.RoleUser, Text: "Go. [[script:" + script + "]]"},
	}, more...)}
}

func client(t testing.TB, url string, change ...func(*openai.Config)) *openai.Client {
	t.Helper()
	config := openai.Config{Provider: openai.ProviderLlamaCpp, BaseURL: url, KeyName: "TEST_API_KEY"}
	for _, f := range change {
		f(&config)
	}
	c, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func collect(ctx context.Context, c *openai.Client, req model.Request) (model.Reply, error) {
	return model.Collect("test", c.Stream(ctx, req))
}

func read(path string) model.Call {
	return model.Call{Name: "read", Args: json.RawMessage(`{"path": "` + path + `"}`)}
}

// withoutIDs is calls that can be compared.
func withoutIDs(t testing.TB, calls []model.Call) []model.Call {
	t.Helper()
	var out []model.Call
	seen := map[string]bool{}
	for _, c := range calls {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("call %s has the id %q, want one of its own", c.Name, c.ID)
		}
		seen[c.ID] = true
		c.ID = ""
		out = append(out, c)
	}
	return out
}

// asPromised checks that deltas and Done tell the same story.
func asPromised(t testing.TB, c *openai.Client, req model.Request) {
	t.Helper()
	type grown struct{ id, name, args string }
	var got []grown
	for d, err := range c.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if cd := d.CallDelta; cd != nil {
			if cd.Index == len(got) {
				got = append(got, grown{})
			}
			g := &got[cd.Index]
			g.id, g.name, g.args = g.id+cd.ID, g.name+cd.Name, g.args+cd.Args
		}
		if d.Done != nil {
			var want []grown
			for _, call := range d.Done.Calls {
				want = append(want, grown{call.ID, call.Name, string(call.Args)})
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(grown{})); diff != "" {
				t.Errorf("the deltas (+) give other calls than Done (-):\n%s", diff)
			}
		}
	}
}

// The matrix: every kind of reply and of failure, from the real server through
// the proxy.
func TestMatrix(t *testing.T) {
	server := llmtest.Shared(t)
	scripts := llmtest.DefaultScripts()
	const cutText = "I will write it down.\n"
	for _, c := range []struct {
		name   string
		script string
		max    int
		fault  string
		text   string // exact; "PREFIX…" = some beginning of PREFIX, not empty
		think  string
		calls  []model.Call
		finish model.Finish
		kind   model.Kind // of the failure; "" = none
		says   string     // in the failure
		retry  time.Duration
	}{
		{name: "text", script: "hello", text: scripts["hello"].Steps[0], finish: model.FinishStop},
		{name: "tools", script: "fix", text: "I will read the file first.\n", finish: model.FinishCalls,
			calls: []model.Call{{Name: "read", Args: json.RawMessage(`{"path": "main.go", "offset": 1, "limit": 20}`)}}},
		{name: "two calls", script: "two", text: "Both at once.\n", finish: model.FinishCalls, calls: []model.Call{read("a.go"), read("b.go")}},
		{name: "reasoning", script: "reasoning", text: "The answer is forty-two.", think: "Let me think about the question step by step.\n", finish: model.FinishStop},
		{name: "reasoning and call", script: "reasoning-call", think: "I need the file.\n", finish: model.FinishCalls, calls: []model.Call{read("think.go")}},
		{name: "truncated text", script: "slow", max: 10, text: scripts["slow"].Steps[0] + "…", finish: model.FinishLength},
		{name: "truncated call", script: "truncated", max: 40, text: cutText, finish: model.FinishLength},
		{name: "one byte per write", script: "hello", fault: "bytes:1", text: scripts["hello"].Steps[0], finish: model.FinishStop},
		{name: "one byte per write, calls", script: "two", fault: "bytes:1", text: "Both at once.\n", finish: model.FinishCalls, calls: []model.Call{read("a.go"), read("b.go")}},
		{name: "ping", script: "hello", fault: "ping:1", text: scripts["hello"].Steps[0], finish: model.FinishStop},
		{name: "slow model", script: "hello", fault: "delay:2ms", text: scripts["hello"].Steps[0], finish: model.FinishStop},
		{name: "eof without finish", script: "hello", fault: "eof:6", text: scripts["hello"].Steps[0] + "…", kind: model.CutOff, says: "without a finish"},
		{name: "eof inside a call", script: "two", fault: "eof:8", text: "Both at once.\n", kind: model.CutOff},
		{name: "eof before anything", script: "hello", fault: "eof:0", kind: model.CutOff},
		{name: "cut", script: "slow", fault: "cut:9", text: scripts["slow"].Steps[0] + "…", kind: model.CutOff, says: "in the middle"},
		{name: "cut before anything", script: "hello", fault: "cut:0", kind: model.Network, says: "cannot reach 127.0.0.1"},
		{name: "error event", script: "slow", fault: "error:5", text: scripts["slow"].Steps[0] + "…", kind: model.Server, says: "had an error"},
		{name: "stall", script: "slow", fault: "stall:5", text: scripts["slow"].Steps[0] + "…", kind: model.Stalled, says: "sent nothing for 1s"},
		{name: "stall before anything", script: "slow", fault: "stall:0", kind: model.Stalled, says: "sent nothing for 300ms"},
		{name: "401", script: "hello", fault: "401", kind: model.Auth, says: "set TEST_API_KEY"},
		{name: "403", script: "hello", fault: "403", kind: model.Auth, says: "set TEST_API_KEY"},
		{name: "404", script: "hello", fault: "404", kind: model.NotFound, says: "/model"},
		{name: "429 with retry-after", script: "hello", fault: "429:7", kind: model.RateLimited, retry: 7 * time.Second, says: "try again in 7s"},
		{name: "429 asking for an hour", script: "hello", fault: "429:3600", kind: model.RateLimited, retry: 2 * time.Minute},
		{name: "529", script: "hello", fault: "529", kind: model.Overloaded, says: "overloaded"},
		{name: "503", script: "hello", fault: "503:2", kind: model.Overloaded, retry: 2 * time.Second},
		{name: "500", script: "hello", fault: "500", kind: model.Server},
	} {
		t.Run(c.name, func(t *testing.T) {
			proxy, url := llmtest.NewProxy(t, server.URL)
			fault, err := llmtest.ParseFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			proxy.Always(fault)
			cl := client(t, url, func(config *openai.Config) {
				if strings.HasPrefix(c.fault, "stall") {
					config.Limits.Idle, config.Limits.FirstToken = time.Second, 300*time.Millisecond
				}
				if c.fault == "stall:5" {
					config.Limits.FirstToken = 0 // the model's first token must not be what is waited for
				}
			})
			req := request(c.script)
			req.MaxTokens = c.max
			got, err := collect(t.Context(), cl, req)
			if prefix, some := strings.CutSuffix(c.text, "…"); some {
				if got.Text == "" || !strings.HasPrefix(prefix, got.Text) {
					t.Errorf("text %q is no beginning of %q", got.Text, prefix)
				}
			} else if got.Text != c.text {
				t.Errorf("text %q, want %q", got.Text, c.text)
			}
			if got.Reasoning != c.think {
				t.Errorf("reasoning %q, want %q", got.Reasoning, c.think)
			}
			if diff := cmp.Diff(c.calls, withoutIDs(t, got.Done.Calls)); diff != "" {
				t.Error(diff)
			}
			if n := len(proxy.Requests()); n != 1 {
				t.Errorf("%d requests: a client does not retry", n)
			}
			if c.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				if got.Done.Finish != c.finish {
					t.Errorf("finish %s, want %s", got.Done.Finish, c.finish)
				}
				u := got.Done.Usage
				if !u.Reported || u.Input == 0 || u.Output == 0 || u.CacheRead > u.Input {
					t.Errorf("usage %+v", u)
				}
				if c.finish == model.FinishCalls {
					asPromised(t, cl, req)
				}
				return
			}
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v is no *model.Error", err)
			}
			if e.Kind != c.kind || e.RetryAfter != c.retry || !strings.Contains(e.Error(), c.says) || e.Model != "llamacpp/scripted" {
				t.Errorf("error %+v, want kind %s, retry after %v, saying %q", e, c.kind, c.retry, c.says)
			}
			if e.Hint == "" {
				t.Errorf("%v says not what to do", e)
			}
		})
	}
}

// A whole run of several turns: what is sent back is what the server needs to
// go on, and the previous request is a prefix of the next.
func TestMatrixTurns(t *testing.T) {
	proxy, url := llmtest.NewProxy(t, llmtest.Shared(t).URL)
	c := client(t, url)
	req := request("fix")
	var replies []string
	for range 4 {
		got, err := collect(t.Context(), c, req)
		if err != nil {
			t.Fatal(err)
		}
		replies = append(replies, got.Text)
		if got.Done.Finish == model.FinishStop {
			break
		}
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Text: got.Text, Reasoning: got.Reasoning, Calls: got.Done.Calls})
		for _, call := range got.Done.Calls {
			req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, CallID: call.ID, Text: "ok"})
		}
	}
	want := []string{"I will read the file first.\n", "Line 6 has a typo.\n", "Fixed the typo in main.go: Printn is now Println."}
	if diff := cmp.Diff(want, replies); diff != "" {
		t.Error(diff)
	}
	seen := proxy.Requests()
	for i := 1; i < len(seen); i++ {
		// Up to the end of the messages, which is the last thing before the options.
		before, _, _ := strings.Cut(string(seen[i-1].Body), `],"stream":`)
		if !strings.HasPrefix(string(seen[i].Body), before) {
			t.Errorf("request %d does not begin with request %d:\n%s\n%s", i, i-1, before, seen[i].Body)
		}
	}
	calls := seen[2].Chat(t).Messages[4].Calls
	if len(calls) != 1 || !strings.HasPrefix(calls[0], `edit {"path":`) {
		t.Errorf("the edit was sent back as %v", calls)
	}
}

func TestMatrixOverflow(t *testing.T) {
	server := llmtest.Start(t, llmtest.Options{Context: 2048, Slots: 1})
	c := client(t, server.URL)
	req := request("hello")
	req.Messages[0].Text = strings.Repeat("0123456789 and more words than fit. ", 500)
	_, err := collect(t.Context(), c, req)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.Overflow || !strings.Contains(e.Hint, "/compact") || e.Retriable() {
		t.Errorf("error %+v, want an overflow that says what to do", err)
	}
	found, err := c.Models(t.Context())
	if err != nil || len(found) != 1 || found[0].Caps.ContextWindow != 2048 || !found[0].Caps.Tools {
		t.Errorf("the server says %+v, %v; want a window of 2048 and tools", found, err)
	}
}

func TestMatrixKey(t *testing.T) {
	const key = "sk-secret-of-this-test"
	server := llmtest.Start(t, llmtest.Options{APIKey: key, Slots: 1, Context: 4096})
	withKey := client(t, server.URL, func(c *openai.Config) { c.APIKey = key })
	if _, err := collect(t.Context(), withKey, request("hello")); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]string{"no key": "", "a wrong key": "sk-wrong-and-secret"} {
		c := client(t, server.URL, func(c *openai.Config) { c.APIKey = wrong })
		_, err := collect(t.Context(), c, request("hello"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Auth || e.Status != 401 || e.Retriable() || !strings.Contains(e.Hint, "TEST_API_KEY") {
			t.Errorf("%s: %+v", name, err)
		} else if strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: the key is in %q", name, e)
		}
	}
}

func TestMatrixCancel(t *testing.T) {
	server := llmtest.Shared(t)
	for _, fault := range []string{"stall:0", "stall:4", "delay:30ms"} {
		t.Run(fault, func(t *testing.T) {
			proxy, url := llmtest.NewProxy(t, server.URL)
			f, err := llmtest.ParseFault(fault)
			if err != nil {
				t.Fatal(err)
			}
			proxy.Always(f)
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error)
			go func() {
				_, err := collect(ctx, client(t, url), request("slow"))
				failed <- err
			}()
			seen := proxy.Await(t, 1)
			start := time.Now()
			cancel()
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("cancelling took %v", took)
			}
			if !seen.ClientLeft() {
				t.Error("the connection was not closed")
			}
		})
	}
}

// Breaking out of the loop closes the connection too, without an error.
func TestMatrixBreak(t *testing.T) {
	proxy, url := llmtest.NewProxy(t, llmtest.Shared(t).URL)
	proxy.Always(llmtest.Fault{Delay: 30 * time.Millisecond})
	for _, err := range client(t, url).Stream(t.Context(), request("slow")) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if !proxy.Await(t, 1).ClientLeft() {
		t.Error("the connection was not closed")
	}
}

func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	for provider, hint := range map[string]string{openai.ProviderOllama: "ollama serve", openai.ProviderLlamaCpp: "llama-server", "own": "base_url"} {
		c := client(t, "http://"+address, func(c *openai.Config) { c.Provider = provider })
		_, err := collect(t.Context(), c, request("hello"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Network || !strings.Contains(e.Message, "connection refused") || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := collect(ctx, client(t, "http://127.0.0.1:1"), request("hello")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// The connection is used again for the next request.
func TestConnectionIsKept(t *testing.T) {
	server := llmtest.Shared(t)
	proxy, url := llmtest.NewProxy(t, server.URL)
	c := client(t, url)
	for range 3 {
		if _, err := collect(t.Context(), c, request("hello")); err != nil {
			t.Fatal(err)
		}
	}
	ports := map[string]bool{}
	for _, r := range proxy.Requests() {
		ports[r.RemoteAddr] = true
	}
	if len(ports) != 1 {
		t.Errorf("3 requests came over %d connections", len(ports))
	}
}
