package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// events is a stream of these data lines; each has its type as its name.
func events(list ...string) string {
	var b strings.Builder
	for _, data := range list {
		var e struct{ Type string }
		_ = json.Unmarshal([]byte(data), &e) // broken events are part of some tests
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	}
	return b.String()
}

const (
	started = `{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}`
	stopped = `{"type":"message_stop"}`
)

func ended(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
}

// recording serves bodies in order and keeps the requests.
func recording(t testing.TB, bodies ...string) (url string, seen *[]string) {
	t.Helper()
	seen = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*seen = append(*seen, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, bodies[(len(*seen)-1)%len(bodies)])
	}))
	t.Cleanup(s.Close)
	return s.URL, seen
}

// ANTHROPIC-6: signed reasoning goes back in its place, to its own model, in
// its own conversation.
func TestCarry(t *testing.T) {
	signed := events(started,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"First é."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"One."}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"ZGF0YQ=="}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":"Twö."}}`,
		`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}}`,
		ended("tool_use"), stopped)
	url, seen := recording(t, signed)
	c := open(t, anthropic.Config{BaseURL: url})
	req := model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleSystem, Text: "S"}, {Role: model.RoleUser, Text: "U"}}}
	got, err := model.Collect("m", c.Stream(t.Context(), req))
	if err != nil || got.Text != "One.Twö." || got.Reasoning != "First é." {
		t.Fatalf("%+v, %v", got, err)
	}
	call := got.Done.Calls[0]
	call.ID = "c1" // the agent has ids of its own
	after := func(change func(*model.Request)) string {
		t.Helper()
		next := req
		next.Messages = append(append([]model.Message{}, req.Messages...),
			model.Message{Role: model.RoleAssistant, Text: got.Text, Calls: []model.Call{call}, Carry: got.Done.Carry},
			model.Message{Role: model.RoleTool, CallID: "c1", Text: "content"})
		change(&next)
		if _, err := model.Collect("m", c.Stream(t.Context(), next)); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Messages []struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal([]byte((*seen)[len(*seen)-1]), &sent); err != nil {
			t.Fatal(err)
		}
		return string(sent.Messages[1].Content)
	}
	const whole = `[{"signature":"c2ln","thinking":"First é.","type":"thinking"},{"text":"One.","type":"text"},{"data":"ZGF0YQ==","type":"redacted_thinking"},{"text":"Twö.","type":"text"},{"id":"c1","input":{"path":"a"},"name":"read","type":"tool_use"}]`
	const plain = `[{"text":"One.Twö.","type":"text"},{"id":"c1","input":{"path":"a"},"name":"read","type":"tool_use"}]`
	for _, x := range []struct {
		about, want string
		change      func(*model.Request)
	}{
		{"the same conversation", whole, func(*model.Request) {}},
		{"a breakpoint is no other conversation", whole, func(r *model.Request) { r.Messages[1].CacheBreak = true }},
		{"another model", plain, func(r *model.Request) { r.Model = "n" }},
		{"another conversation", plain, func(r *model.Request) { r.Messages[1].Text = "compacted" }},
		{"another system prompt", plain, func(r *model.Request) { r.Messages[0].Text = "T" }},
		{"a reply that was cut to fit", strings.Replace(plain, "One.Twö.", "One", 1), func(r *model.Request) { r.Messages[2].Text = "One" }},
		{"nonsense", plain, func(r *model.Request) { r.Messages[2].Carry = json.RawMessage(`[1]`) }},
	} {
		if got := after(x.change); !sameJSON(t, got, x.want) {
			t.Errorf("%s:\n got %s\nwant %s", x.about, got, x.want)
		}
	}
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatalf("%v: %s", err, a)
	}
	return cmp.Equal(x, y)
}

// Requests as they are sent, in testdata/requests.
func TestRequests(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z"]}`)
	zero := 0.0
	long := []model.Message{{Role: model.RoleSystem, Text: "S", CacheBreak: true}}
	for i := range 5 {
		long = append(long, model.Message{Role: model.RoleUser, Text: fmt.Sprint("u", i), CacheBreak: true}, model.Message{Role: model.RoleAssistant, Text: fmt.Sprint("a", i)})
	}
	caps := map[string]model.Caps{
		"thinks": {ContextWindow: 1_000_000, OutputLimit: 128_000, Images: true, Thinking: model.ThinkingAdaptive},
		"always": {ContextWindow: 1_000_000, OutputLimit: 128_000, Thinking: model.ThinkingAlways, Effort: "low"},
		"small":  {ContextWindow: 4000, OutputLimit: 64_000},
		"plain":  {ContextWindow: 200_000, OutputLimit: 64_000},
	}
	for name, req := range map[string]model.Request{
		"tools": {Model: "thinks", Tools: []model.Tool{{Name: "read", Description: "reads", Schema: schema}, {Name: "now"}}, Messages: []model.Message{
			{Role: model.RoleSystem, Text: "You are <b>.", CacheBreak: true}, {Role: model.RoleUser, Text: "go"},
			{Role: model.RoleAssistant, Text: "", Calls: []model.Call{{ID: "c1", Name: "read", Args: json.RawMessage(`{"z": "1"}`)}, {ID: "c2", Name: "read", Args: json.RawMessage(`"bad"`), Invalid: "no object"}}},
			{Role: model.RoleTool, CallID: "c1", Text: "one", CacheBreak: true}, {Role: model.RoleTool, CallID: "c2", Text: "", IsError: true},
			{Role: model.RoleUser, Text: "steer"}}},
		"breakpoints":  {Model: "plain", Messages: long},
		"images":       {Model: "thinks", Messages: []model.Message{{Role: model.RoleUser, Text: "see", Images: []string{"data:image/png;base64,aGk="}}}},
		"no images":    {Model: "plain", Messages: []model.Message{{Role: model.RoleUser, Text: "see", Images: []string{"data:image/png;base64,aGk="}}}},
		"mechanical":   {Model: "thinks", Temperature: &zero, MaxTokens: 50, Messages: []model.Message{{Role: model.RoleUser, Text: "route"}}},
		"always":       {Model: "always", Temperature: &zero, Messages: []model.Message{{Role: model.RoleUser, Text: "route"}}},
		"temperature":  {Model: "plain", Temperature: &zero, Messages: []model.Message{{Role: model.RoleUser, Text: "route"}}},
		"small window": {Model: "small", Messages: []model.Message{{Role: model.RoleUser, Text: strings.Repeat("word ", 1800)}}},
		"cut off":      {Model: "plain", Messages: []model.Message{{Role: model.RoleUser, Text: "go"}, {Role: model.RoleAssistant, Text: "half "}}},
	} {
		url, seen := recording(t, events(started, ended("end_turn"), stopped))
		c := open(t, anthropic.Config{BaseURL: url, Caps: func(name string) model.Caps { return caps[name] }})
		for range 2 {
			if _, err := model.Collect("m", c.Stream(t.Context(), req)); err != nil {
				t.Fatal(err)
			}
		}
		if (*seen)[0] != (*seen)[1] {
			t.Errorf("%s: equal requests give other bytes", name)
		}
		got := strings.ReplaceAll((*seen)[0], strings.Repeat("word ", 1800), "word…")
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, []byte(got), "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		file := filepath.Join("testdata/requests", strings.ReplaceAll(name, " ", "-")+".json")
		if *update {
			if err := os.WriteFile(file, pretty.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// People write base URLs in many ways.
func TestBaseURL(t *testing.T) {
	var path string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { path = r.URL.Path }))
	defer s.Close()
	for suffix, want := range map[string]string{"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/v1/": "/v1/messages", "/v1/messages": "/v1/messages", "/gateway": "/gateway/v1/messages"} {
		_, _ = model.Collect("m", open(t, anthropic.Config{BaseURL: s.URL + suffix}).Stream(t.Context(), model.Request{Model: "m"})) // only the path matters
		if path != want {
			t.Errorf("%q: %s, want %s", suffix, path, want)
		}
	}
	for _, bad := range []string{"ftp://x", "localhost:80", "http://"} {
		if _, err := anthropic.New(anthropic.Config{BaseURL: bad}); err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// ANTHROPIC-3: whatever the server says, and wherever it says it.
func TestKeyNeverLeaks(t *testing.T) {
	const key = "very.unusual/key=of+this+test"
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment") // the catalog decides which key is used
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	var elsewhere []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		elsewhere = append(elsewhere, r.URL.String()+string(body))
		for name, values := range r.Header {
			if name != "X-Api-Key" {
				elsewhere = append(elsewhere, values...)
			}
		}
		if got := r.Header.Get("X-Api-Key"); got != key {
			t.Errorf("x-api-key: %q", got)
		}
		switch r.Header.Get("Case") {
		case "status":
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"type":"error","error":{"message":"bad key %s; also Bearer abc.def and sk-ant-api03-abcdefgh","type":"authentication_error"}}`, key)
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"bad key %s\"}}\n\n", key)
		case "nonsense":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: x\ndata: %s\n\n", key)
		}
	}))
	defer s.Close()
	for _, name := range []string{"status", "event", "nonsense", "empty"} {
		c := open(t, anthropic.Config{BaseURL: s.URL, APIKey: key, Headers: map[string]string{"Case": name}})
		_, err := model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"}))
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for _, secret := range []string{key, "abc.def", "abcdefgh"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is in %q", name, secret, err)
			}
		}
	}
	if all := strings.Join(elsewhere, "\n"); strings.Contains(all, key) || strings.Contains(all, "sk-of-the-environment") {
		t.Errorf("the key is in:\n%s", all)
	}
}

// ANTHROPIC-5: what a server sends without end ends the reply.
func TestLimits(t *testing.T) {
	open1 := `{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`
	piece := `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("y", 100) + `"}}`
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"t%d","name":"x"}}`, i, i))
	}
	for name, x := range map[string]struct{ body, says string }{
		"one endless line":  {"event: x\ndata: " + strings.Repeat("z", 3<<20), "longer than the limit"},
		"one endless event": {"event: x\n" + strings.Repeat("data: z\n", 1<<19), "longer than the limit"},
		"no end of pings":   {strings.Repeat("event: ping\ndata: {}\n\n", 1<<18), "longer than the limit"},
		"a reply too large": {events(append([]string{started, open1}, strings.Split(strings.Repeat(piece+"\n", 40), "\n")[:40]...)...), "larger than 2000 bytes"},
		"too many blocks":   {events(append([]string{started}, many...)...), "more than 5 blocks"},
	} {
		url, _ := recording(t, x.body)
		c := open(t, anthropic.Config{BaseURL: url, Limits: wire.Limits{Event: 1 << 20, Reply: 2000, Calls: 5}})
		_, err := model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"}))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Server || !strings.Contains(e.Message, x.says) {
			t.Errorf("%s: %v, want %q", name, err, x.says)
		}
	}
}

// bodies answers every request with one body, without a network.
type bodies func() io.Reader

func (b bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(b()), Request: r}, nil
}

// FuzzReply: whatever bytes come, in whatever pieces, a reply ends in exactly
// one way, and calls that come out of it can be trusted.
func FuzzReply(f *testing.F) {
	files, _ := filepath.Glob("testdata/replies/*.txtar")
	for _, file := range files {
		if a, err := txtar.ParseFile(file); err == nil {
			f.Add(a.Files[1].Data)
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		read := func(body io.Reader) (string, model.Reply) {
			c := open(t, anthropic.Config{Transport: bodies(func() io.Reader { return body }), Limits: wire.Limits{Event: 1 << 16, Reply: 1 << 18}})
			reply, err := model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"}))
			var e *model.Error
			if err != nil && (!errors.As(err, &e) || e.Kind == "" || e.Hint == "") {
				t.Fatalf("error %v", err)
			}
			if (err == nil) != (reply.Done.Finish != "") {
				t.Fatalf("%v and %+v", err, reply.Done)
			}
			for i := range reply.Done.Calls { // ids may be made
				reply.Done.Calls[i].ID = ""
			}
			return fmt.Sprint(err), reply
		}
		err, whole := read(bytes.NewReader(stream))
		if d := whole.Done; len(d.Calls) > 0 && d.Finish != model.FinishCalls || d.Finish == model.FinishCalls && len(d.Calls) == 0 {
			t.Fatalf("finish %s with %d calls", d.Finish, len(d.Calls))
		}
		for _, call := range whole.Done.Calls {
			var object map[string]json.RawMessage
			if call.Invalid == "" && (json.Unmarshal(call.Args, &object) != nil || object == nil) {
				t.Fatalf("call %+v", call)
			}
		}
		err2, pieces := read(iotest.OneByteReader(bytes.NewReader(stream)))
		if diff := cmp.Diff(whole, pieces); diff != "" || err != err2 {
			t.Fatalf("%s, %s\n%s", err, err2, diff)
		}
	})
}

// BenchmarkReply is what a streamed token costs.
func BenchmarkReply(b *testing.B) {
	const tokens = 2000
	piece := events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`)
	body := events(started, `{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`) + strings.Repeat(piece, tokens) + events(ended("end_turn"), stopped)
	c := open(b, anthropic.Config{Transport: bodies(func() io.Reader { return strings.NewReader(body) })})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := model.Collect("m", c.Stream(b.Context(), model.Request{Model: "m"})); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/token")
}
