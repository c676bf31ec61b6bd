package openai

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
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// However a text with thoughts is cut into pieces, the split is the same.
func TestThinkSplitterAnyPieces(t *testing.T) {
	split := func(pieces []string) (text, reasoning string) {
		var s thinkSplitter
		for _, p := range pieces {
			a, b := s.split(p)
			text, reasoning = text+a, reasoning+b
		}
		a, b := s.flush()
		return text + a, reasoning + b
	}
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"<think>", "</think>", "<", "</", "think", ">", "a", "\n", " ", "é", "<thin", "ab c"})).Draw(t, "whole"), "")
		var pieces []string
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		wantText, wantReasoning := split([]string{whole})
		text, reasoning := split(pieces)
		// A line end right after the tag belongs to the tag; cut off from it, it is a thought's beginning.
		reasoning, wantReasoning = strings.ReplaceAll(reasoning, "\n", ""), strings.ReplaceAll(wantReasoning, "\n", "")
		if text != wantText || reasoning != wantReasoning {
			t.Fatalf("%q: text %q, reasoning %q; whole: %q, %q", pieces, text, reasoning, wantText, wantReasoning)
		}
	})
}

// fakeCall runs a reply without a connection.
func fakeCall(provider string, limits Limits, yield func(model.Delta, error) bool) *reply {
	c := &Client{config: Config{Provider: provider}, server: wire.Server{Provider: provider, Host: "test", Shown: "http://test", API: "chat-completions", Limits: limits.OrDefault()}}
	watch := c.server.Limits.NewWatch(func(error) {})
	watch.Stop()
	return newReply(&call{client: c, name: provider + "/m", yield: yield, sent: 100, watch: watch}, http.Header{})
}

// readAll reads a body as run does, and gives what was yielded.
func readAll(provider, contentType string, limits Limits, body io.Reader) (text, reasoning string, done *model.Done, err error) {
	r := fakeCall(provider, limits, func(d model.Delta, _ error) bool {
		text, reasoning = text+d.Text, reasoning+d.Reasoning
		return true
	})
	if err = r.read(contentType, body); err != nil && (r.finish == "" || isModelError(err)) {
		return text, reasoning, nil, err
	}
	done, err = r.done()
	return text, reasoning, done, err
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 5000)
	chunk := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("y", 100) + `"}}]}` + "\n\n"
	call := func(i int) string {
		return fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"t"}}]}}]}`+"\n\n", i, i)
	}
	var calls strings.Builder
	for i := range 10 {
		calls.WriteString(call(i))
	}
	limits := Limits{Event: 1000, Reply: 2000, Calls: 5}
	for name, c := range map[string]struct{ provider, contentType, body, says string }{
		"a long line":       {"other", "text/event-stream", "data: " + long, "longer than the limit of 1000 bytes"},
		"many short lines":  {"other", "text/event-stream", strings.Repeat("data: xxxxxxxx\n", 200), "longer than the limit of 1000 bytes"},
		"a long comment":    {"other", "text/event-stream", ":" + long, "longer than the limit of 1000 bytes"},
		"much text":         {"other", "text/event-stream", strings.Repeat(chunk, 40), "larger than 2000 bytes"},
		"many calls":        {"other", "text/event-stream", calls.String(), "more than 5 tool calls"},
		"a long whole":      {"other", "application/json", long, "larger than 2000 bytes"},
		"a long Ollama one": {ProviderOllama, "application/x-ndjson", long, "longer than the limit of 1000 bytes"},
	} {
		_, _, _, err := readAll(c.provider, c.contentType, limits, strings.NewReader(c.body))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Server || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.says)
		}
	}
}

func TestKeyNeverLeaks(t *testing.T) {
	const key = "very.unusual/key=of+this+test"
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, r.URL.String()+string(body))
		for name, values := range r.Header {
			if name != "Authorization" {
				seen = append(seen, values...)
			}
		}
		if got := r.Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("Authorization: %q", got)
		}
		switch r.Header.Get("Case") {
		case "status":
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error":{"message":"bad key %s; also Bearer abc.def and sk-ant-api03-abcdefgh","type":"%s"}}`, key, key)
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":\"bad key %s\"}}\n\n", key)
		case "nonsense":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\n", key)
		}
	}))
	defer server.Close()
	for _, name := range []string{"status", "event", "nonsense", "empty"} {
		c, err := New(Config{Provider: "other", BaseURL: server.URL, APIKey: key, Headers: map[string]string{"Case": name}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"}))
		c.Close()
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		for _, secret := range []string{key, "abc.def", "abcdefgh"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q is in %q", name, secret, err)
			}
		}
	}
	if strings.Contains(strings.Join(seen, "\n"), key) {
		t.Errorf("the key is sent outside of its header: %q", seen)
	}
}

// The end of a stream often comes a moment after [DONE]. It is waited for, so
// that the connection serves the next request too.
func TestConnectionIsKeptAfterALateEnd(t *testing.T) {
	connections, mu := map[string]bool{}, sync.Mutex{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		connections[r.RemoteAddr] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(wire.DrainWait / 10) // the late end
	}))
	defer server.Close()
	const requests = 20
	askTimes(t, server.URL, requests)
	if len(connections) >= requests { // a busy machine may lose some, but whoever doesn't wait loses all
		t.Errorf("%d requests came over %d connections", requests, len(connections))
	}
}

// A kept connection that the server closes just when it is used again costs nothing.
func TestClosedKeptConnection(t *testing.T) {
	used, mu := map[string]bool{}, sync.Mutex{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if used[r.RemoteAddr] {
			panic(http.ErrAbortHandler)
		}
		used[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	askTimes(t, server.URL, 4)
	if len(used) != 4 {
		t.Errorf("%d connections, want one for each of 4 requests", len(used))
	}
}

func askTimes(t *testing.T, url string, n int) {
	t.Helper()
	c, err := New(Config{Provider: "other", BaseURL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range n {
		if _, err := model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"})); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
}

// A server that keeps the stream open after its finish reason does not keep
// the reply from being done.
func TestOpenTail(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	c, err := New(Config{Provider: "other", BaseURL: server.URL, Limits: Limits{Tail: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	reply, err := model.Collect("m", c.Stream(t.Context(), model.Request{Model: "m"})) // how long it waits: wire.TestWatch
	if err != nil || reply.Text != "a" || reply.Done.Finish != model.FinishStop {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestCost(t *testing.T) {
	r := fakeCall("other", Limits{}, func(model.Delta, error) bool { return true })
	r.call.client.config.Caps = func(string) model.Caps { return model.Caps{USDPerMIn: 2, USDPerMOut: 8, USDPerMCached: 0.5} }
	if err := r.take([]byte(`{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000,"completion_tokens":100000,"prompt_tokens_details":{"cached_tokens":400000}}}`)); err != nil {
		t.Fatal(err)
	}
	done, err := r.done()
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.6*2 + 0.4*0.5 + 0.1*8; done.Usage.CostUSD != want {
		t.Errorf("cost %v, want %v", done.Usage.CostUSD, want)
	}
}

// FuzzReply: whatever bytes come, in whatever pieces, a reply ends in exactly
// one way, and calls that come out of it can be trusted.
func FuzzReply(f *testing.F) {
	files, _ := filepath.Glob("testdata/replies/*.txtar")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(txtar.Parse(b).Files[1].Data, bytes.Contains(b, []byte("provider: ollama")))
	}
	limits := Limits{Event: 1 << 16, Reply: 1 << 18}
	f.Fuzz(func(t *testing.T, body []byte, ollama bool) {
		provider, contentType := "other", "text/event-stream"
		if ollama {
			provider, contentType = ProviderOllama, "application/x-ndjson"
		}
		text, reasoning, done, err := readAll(provider, contentType, limits, bytes.NewReader(body))
		if (done == nil) == (err == nil) {
			t.Fatalf("done %v and error %v", done, err)
		}
		var e *model.Error
		switch {
		case err != nil && !errors.As(err, &e) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Fatalf("error %v is of no known kind", err)
		case done != nil:
			if len(done.Calls) > 0 && done.Finish != model.FinishCalls {
				t.Fatalf("calls with finish %s", done.Finish)
			}
			for _, c := range done.Calls {
				var fields map[string]json.RawMessage
				if err := json.Unmarshal(c.Args, &fields); c.ID == "" || !json.Valid(c.Args) || c.Invalid == "" && (err != nil || fields == nil || c.Name == "") {
					t.Fatalf("call %+v with args %s", c, c.Args)
				}
			}
			if _, err := json.Marshal(done); err != nil {
				t.Fatal(err)
			}
		}
		again, thought, done2, err2 := readAll(provider, contentType, limits, iotest.OneByteReader(bytes.NewReader(body)))
		if again != text || thought != reasoning || fmt.Sprint(err) != fmt.Sprint(err2) || (done == nil) != (done2 == nil) {
			t.Fatalf("in pieces it is another reply: %q, %v; whole: %q, %v", again, err2, text, err)
		}
	})
}

// BenchmarkReply is what a streamed token costs.
func BenchmarkReply(b *testing.B) {
	const tokens = 2000
	var body bytes.Buffer
	for range tokens {
		body.WriteString(`data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" word"}}],"created":1795188644,"id":"chatcmpl-ARx5JQHVjbkvh9U2tTl40wptIuNvBU7i","model":"scripted-micro","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}` + "\n\n")
	}
	body.WriteString(`data: {"choices":[{"finish_reason":"stop","index":0,"delta":{}}]}` + "\n\ndata: [DONE]\n\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := readAll("other", "text/event-stream", Limits{}, bytes.NewReader(body.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/token")
}
