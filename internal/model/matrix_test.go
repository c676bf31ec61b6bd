package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

var update = flag.Bool("update", false, "write the matrix into docs/models.md")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	llmtest.StopShared()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// apis are the ways to speak to a server; llama-server speaks both.
var apis = []struct {
	name, provider string
	open           func(t testing.TB, url, key string, limits wire.Limits) model.Model
}{
	{"chat completions", "llamacpp", func(t testing.TB, url, key string, limits wire.Limits) model.Model {
		c, err := openai.New(openai.Config{Provider: "llamacpp", BaseURL: url, APIKey: key, KeyName: "TEST_API_KEY", Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}},
	{"messages", "anthropic", func(t testing.TB, url, key string, limits wire.Limits) model.Model {
		c, err := anthropic.New(anthropic.Config{BaseURL: url, APIKey: key, KeyName: "TEST_API_KEY", Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}},
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
func asPromised(t testing.TB, m model.Model, req model.Request) {
	t.Helper()
	type grown struct{ id, name, args string }
	var got []grown
	for d, err := range m.Stream(t.Context(), req) {
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

// cell is one row of the matrix: what the server and the network do, and what
// must come of it with either API.
type cell struct {
	name   string
	script string
	max    int
	fault  string
	server string        // "" the usual one, "small" a window of 2,048 tokens, "key" one that wants a key
	key    string        // sent
	cancel bool          // once the request is there
	text   string        // exact; "PREFIX…" = some beginning of PREFIX, not empty
	think  string        // as text
	calls  []model.Call  //
	finish model.Finish  //
	kind   model.Kind    // of the failure; "" = none
	says   string        // in the failure
	retry  time.Duration // that the failure asks for
}

const secret = "sk-secret-of-this-test"

func cells() []cell {
	scripts := llmtest.DefaultScripts()
	hello, slow := scripts["hello"].Steps[0], scripts["slow"].Steps[0]
	const cutText = "I will write it down.\n"
	return []cell{
		{name: "text", script: "hello", text: hello, finish: model.FinishStop},
		{name: "one call", script: "fix", text: "I will read the file first.\n", finish: model.FinishCalls,
			calls: []model.Call{{Name: "read", Args: json.RawMessage(`{"path": "main.go", "offset": 1, "limit": 20}`)}}},
		{name: "two calls", script: "two", text: "Both at once.\n", finish: model.FinishCalls, calls: []model.Call{read("a.go"), read("b.go")}},
		{name: "reasoning", script: "reasoning", text: "The answer is forty-two.", think: "Let me think about the question step by step.\n", finish: model.FinishStop},
		{name: "reasoning and call", script: "reasoning-call", think: "I need the file.\n", finish: model.FinishCalls, calls: []model.Call{read("think.go")}},
		{name: "truncated text", script: "slow", max: 10, text: slow + "…", finish: model.FinishLength},
		{name: "truncated call", script: "truncated", max: 40, text: cutText, finish: model.FinishLength},
		{name: "one byte per write", script: "hello", fault: "bytes:1", text: hello, finish: model.FinishStop},
		{name: "one byte per write, calls", script: "two", fault: "bytes:1", text: "Both at once.\n", finish: model.FinishCalls, calls: []model.Call{read("a.go"), read("b.go")}},
		{name: "ping", script: "hello", fault: "ping:1", text: hello, finish: model.FinishStop},
		{name: "slow model", script: "hello", fault: "delay:2ms", text: hello, finish: model.FinishStop},
		{name: "clean end without finish", script: "hello", fault: "eof:6", text: hello + "…", kind: model.CutOff, says: "without a finish"},
		{name: "clean end inside a call", script: "two", fault: "eof:12", text: "Both at once.\n", kind: model.CutOff},
		{name: "clean end before anything", script: "hello", fault: "eof:0", kind: model.CutOff},
		{name: "reset", script: "slow", fault: "cut:9", text: slow + "…", kind: model.CutOff, says: "in the middle"},
		{name: "reset before anything", script: "hello", fault: "cut:0", kind: model.Network, says: "cannot reach 127.0.0.1"},
		{name: "error event", script: "slow", fault: "error:5", text: slow + "…", kind: "server or overloaded", says: "broke the reply off"},
		{name: "stall", script: "slow", fault: "stall:5", text: slow + "…", kind: model.Stalled, says: "sent nothing for 3s"},
		{name: "stall before anything", script: "slow", fault: "stall:0", kind: model.Stalled, says: "sent nothing for 300ms"},
		{name: "overflow", script: "hello", server: "small", kind: model.Overflow, says: "/compact"},
		{name: "401 no key", script: "hello", server: "key", kind: model.Auth, says: "set TEST_API_KEY"},
		{name: "401 wrong key", script: "hello", server: "key", key: "sk-wrong-and-secret", kind: model.Auth, says: "the key is refused"},
		{name: "right key", script: "hello", server: "key", key: secret, text: hello, finish: model.FinishStop},
		{name: "403", script: "hello", fault: "403", kind: model.Auth, says: "set TEST_API_KEY"},
		{name: "404", script: "hello", fault: "404", kind: model.NotFound, says: "/model"},
		{name: "413", script: "hello", fault: "413", kind: model.Overflow, says: "/compact"},
		{name: "429 with retry-after", script: "hello", fault: "429:7", kind: model.RateLimited, retry: 7 * time.Second, says: "try again in 7s"},
		{name: "429 asking for an hour", script: "hello", fault: "429:3600", kind: model.RateLimited, retry: 2 * time.Minute},
		{name: "529", script: "hello", fault: "529", kind: model.Overloaded, says: "verloaded"},
		{name: "503", script: "hello", fault: "503:2", kind: model.Overloaded, retry: 2 * time.Second},
		{name: "500", script: "hello", fault: "500", kind: model.Server},
		{name: "cancel before the headers", script: "slow", fault: "stall:0", cancel: true},
		{name: "cancel in a silence", script: "slow", fault: "stall:4", cancel: true},
		{name: "cancel in the flow", script: "slow", fault: "delay:30ms", cancel: true},
	}
}

// TestMatrix: every kind of reply and of failure, from the real server through
// the proxy, with both APIs. The table of docs/models.md is what it saw.
func TestMatrix(t *testing.T) {
	servers := map[string]*llmtest.Server{"": llmtest.Shared(t),
		"small": llmtest.Start(t, llmtest.Options{Context: 2048, Slots: 1}),
		"key":   llmtest.Start(t, llmtest.Options{APIKey: secret, Slots: 1, Context: 4096})}
	var table strings.Builder
	table.WriteString("| cell | chat completions | messages |\n| --- | --- | --- |\n")
	for _, c := range cells() {
		t.Run(c.name, func(t *testing.T) {
			row := "| " + c.name
			for _, api := range apis {
				t.Run(api.name, func(t *testing.T) {
					proxy, url := llmtest.NewProxy(t, servers[c.server].URL)
					fault, err := llmtest.ParseFault(c.fault)
					if err != nil {
						t.Fatal(err)
					}
					proxy.Always(fault)
					limits := wire.Limits{}
					switch {
					case c.cancel:
					case c.fault == "stall:5":
						limits.Idle = 3 * time.Second // what is before the stall comes sooner on the busiest machine
					case strings.HasPrefix(c.fault, "stall"):
						limits.FirstToken = 300 * time.Millisecond
					}
					row += " | " + c.check(t, proxy, api.open(t, url, c.key, limits), api.provider)
				})
			}
			table.WriteString(row + " |\n")
		})
	}
	if !t.Failed() {
		inDocs(t, table.String())
	}
}

// check runs a cell and says in short what came of it.
func (c cell) check(t *testing.T, proxy *llmtest.Proxy, m model.Model, provider string) string {
	req := request(c.script)
	req.MaxTokens = c.max
	if c.server == "small" {
		req.Messages[0].Text = strings.Repeat("0123456789 and more words than fit. ", 500)
	}
	if c.cancel {
		return c.checkCancel(t, proxy, m, req)
	}
	got, err := model.Collect("test", m.Stream(t.Context(), req))
	if prefix, some := strings.CutSuffix(c.text, "…"); some {
		if got.Text == "" || !strings.HasPrefix(prefix, got.Text) {
			t.Errorf("text %q is no beginning of %q", got.Text, prefix)
		}
	} else if got.Text != c.text {
		t.Errorf("text %q, want %q", got.Text, c.text)
	}
	if strings.TrimSpace(got.Reasoning) != strings.TrimSpace(c.think) { // the APIs differ in the last line end
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
		return c.checkReply(t, m, req, got)
	}
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *model.Error", err)
	}
	if !strings.Contains(string(c.kind), string(e.Kind)) || e.RetryAfter != c.retry || !strings.Contains(e.Error(), c.says) || e.Model != provider+"/scripted" {
		t.Errorf("error %+v, want kind %s, retry after %v, saying %q", e, c.kind, c.retry, c.says)
	}
	if e.Hint == "" || strings.Contains(e.Error(), "secret") {
		t.Errorf("%v says not what to do, or too much", e)
	}
	out := "fails: " + string(e.Kind)
	if e.RetryAfter > 0 {
		out += fmt.Sprintf(", wait %v", e.RetryAfter)
	}
	if got.Text != "" {
		out += ", text kept"
	}
	return out
}

func (c cell) checkReply(t *testing.T, m model.Model, req model.Request, got model.Reply) string {
	if got.Done.Finish != c.finish {
		t.Errorf("finish %s, want %s", got.Done.Finish, c.finish)
	}
	u := got.Done.Usage
	if !u.Reported || u.Input == 0 || u.Output == 0 || u.CacheRead > u.Input {
		t.Errorf("usage %+v", u)
	}
	out := string(c.finish)
	if c.finish == model.FinishCalls {
		asPromised(t, m, req)
		out = fmt.Sprintf("%d calls", len(c.calls))
	}
	if c.finish == model.FinishLength {
		out += ", no call runs"
	}
	return out
}

func (c cell) checkCancel(t *testing.T, proxy *llmtest.Proxy, m model.Model, req model.Request) string {
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := model.Collect("test", m.Stream(ctx, req))
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
	return "connection closed"
}

// inDocs holds the table against the one in docs/models.md.
func inDocs(t *testing.T, table string) {
	const path, from, to = "../../docs/models.md", "<!-- matrix: made by TestMatrix -->\n", "<!-- end of the matrix -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), from)
	old, after, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the matrix", path)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+from+table+to+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(old, table); diff != "" {
		t.Errorf("the matrix of %s is another; -update writes it:\n%s", path, diff)
	}
}

// A whole run of several turns: what is sent back is what the server needs to
// go on, and the previous request is a prefix of the next.
func TestMatrixTurns(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			proxy, url := llmtest.NewProxy(t, llmtest.Shared(t).URL)
			m := api.open(t, url, "", wire.Limits{})
			req := request("fix")
			var replies []string
			for range 4 {
				got, err := model.Collect("test", m.Stream(t.Context(), req))
				if err != nil {
					t.Fatal(err)
				}
				replies = append(replies, got.Text)
				if got.Done.Finish == model.FinishStop {
					break
				}
				req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Text: got.Text, Reasoning: got.Reasoning, Calls: got.Done.Calls, Carry: got.Done.Carry})
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
				before := messages(t, seen[i-1].Body)
				if !strings.HasPrefix(messages(t, seen[i].Body), before) {
					t.Errorf("request %d does not begin with request %d:\n%s\n%s", i, i-1, before, seen[i].Body)
				}
			}
			chat := seen[2].Chat(t).Messages
			found := false
			for _, m := range chat {
				found = found || len(m.Calls) == 1 && strings.HasPrefix(m.Calls[0], `edit {"path":`)
			}
			if !found {
				t.Errorf("the edit was not sent back: %v", chat)
			}
		})
	}
}

// messages is the conversation of a request as it was sent, open at its end.
func messages(t *testing.T, body []byte) string {
	var b struct{ Messages json.RawMessage }
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b.Messages), "]")
}

// Breaking out of the loop closes the connection too, without an error.
func TestMatrixBreak(t *testing.T) {
	for _, api := range apis {
		proxy, url := llmtest.NewProxy(t, llmtest.Shared(t).URL)
		proxy.Always(llmtest.Fault{Delay: 30 * time.Millisecond})
		for _, err := range api.open(t, url, "", wire.Limits{}).Stream(t.Context(), request("slow")) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if !proxy.Await(t, 1).ClientLeft() {
			t.Errorf("%s: the connection was not closed", api.name)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, api := range apis {
		_, err := model.Collect("test", api.open(t, "http://127.0.0.1:1", "", wire.Limits{}).Stream(ctx, request("hello")))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v", api.name, err)
		}
	}
}

// The connection is used again for the next request.
func TestConnectionIsKept(t *testing.T) {
	for _, api := range apis {
		proxy, url := llmtest.NewProxy(t, llmtest.Shared(t).URL)
		m := api.open(t, url, "", wire.Limits{})
		for range 3 {
			if _, err := model.Collect("test", m.Stream(t.Context(), request("hello"))); err != nil {
				t.Fatal(err)
			}
		}
		ports := map[string]bool{}
		for _, r := range proxy.Requests() {
			ports[r.RemoteAddr] = true
		}
		if len(ports) != 1 {
			t.Errorf("%s: 3 requests came over %d connections", api.name, len(ports))
		}
	}
}
