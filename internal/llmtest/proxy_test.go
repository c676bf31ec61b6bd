package llmtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stream makes one streamed request and returns all that came.
func stream(ctx context.Context, t testing.TB, url, script, fault string) (status int, header http.Header, body string, err error) {
	t.Helper()
	send := `{"model":"m","stream":true,"messages":[{"role":"user","content":"[[script:` + script + `]]"}]}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(send))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if fault != "" {
		req.Header.Set(FaultHeader, fault)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(b), err
}

// text is the content of a stream, as far as it goes, and how many events it has.
func text(t testing.TB, body string) (content string, events int, finished bool) {
	t.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		events++
		if strings.TrimSpace(data) == "[DONE]" {
			return content, events, true
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		for _, c := range chunk.Choices {
			content += c.Delta.Content
		}
	}
	return content, events, false
}

func TestProxyIsTransparent(t *testing.T) {
	s := Shared(t)
	p, url := NewProxy(t, s.URL)
	want := DefaultScripts()["hello"].Steps[0]
	for _, fault := range []string{"", "bytes:1", "ping:1", "delay:1ms", "ping:2+bytes:3"} {
		_, _, body, err := stream(t.Context(), t, url, "hello", fault)
		got, _, finished := text(t, body)
		if err != nil || got != want || !finished {
			t.Errorf("%q: %q, finished %v, %v", fault, got, finished, err)
		}
		if pings := strings.Count(body, ": keep-alive"); (pings > 0) != strings.Contains(fault, "ping") {
			t.Errorf("%q: %d pings", fault, pings)
		}
	}
	if n := len(p.Requests()); n != 5 {
		t.Errorf("%d requests recorded, want 5", n)
	}
	res, err := http.Get(url + "/health")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK || len(p.Requests()) != 5 {
		t.Errorf("/health through the proxy: %s, and %d requests recorded", res.Status, len(p.Requests()))
	}
}

func TestProxyEndsEarly(t *testing.T) {
	_, url := NewProxy(t, Shared(t).URL)
	for fault, wantErr := range map[string]bool{"cut:3": true, "eof:3": false, "error:3": false} {
		_, _, body, err := stream(t.Context(), t, url, "slow", fault)
		_, events, finished := text(t, strings.ReplaceAll(body, `data: {"error"`, `error: {"error"`))
		if (err != nil) != wantErr || events != 3 || finished {
			t.Errorf("%s: %d events, finished %v, error %v", fault, events, finished, err)
		}
		if has := strings.Contains(body, `"server_error"`); has != (fault == "error:3") {
			t.Errorf("%s: error event: %v", fault, has)
		}
	}
	if _, _, _, err := stream(t.Context(), t, url, "slow", "cut:0"); err == nil {
		t.Error("cut:0 gives an answer")
	}
}

func TestProxyAnswersWithStatus(t *testing.T) {
	p, url := NewProxy(t, Shared(t).URL)
	p.Next(RateLimit(7), Overload(), Fault{Status: 400, Body: `{"mine":1}`})
	status, header, body, err := stream(t.Context(), t, url, "hello", "")
	if err != nil || status != 429 || header.Get("Retry-After") != "7" || !strings.Contains(body, "rate_limit_exceeded") {
		t.Errorf("first: %d %v %s %v", status, header, body, err)
	}
	if status, _, body, _ := stream(t.Context(), t, url, "hello", ""); status != 529 {
		t.Errorf("second: %d %s", status, body)
	}
	if status, _, body, _ := stream(t.Context(), t, url, "hello", ""); status != 400 || body != `{"mine":1}` {
		t.Errorf("third: %d %s", status, body)
	}
	if status, _, _, _ := stream(t.Context(), t, url, "hello", ""); status != 200 {
		t.Errorf("an empty queue: %d", status)
	}
	p.Always(Fault{Status: 503})
	if status, _, _, _ := stream(t.Context(), t, url, "hello", ""); status != 503 {
		t.Errorf("always: %d", status)
	}
}

func TestProxySeesTheClientLeave(t *testing.T) {
	s := Shared(t)
	p, url := NewProxy(t, s.URL)
	p.Next(Fault{End: Stall, After: 2})
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, _, _, err := stream(ctx, t, url, "slow", "")
		left <- err
	}()
	r := p.Await(t, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client's error is %v", err)
	}
	if !r.ClientLeft() {
		t.Error("the proxy did not see the client leave")
	}
	// The server noticed too: its slot is free long before the text's end.
	for deadline := time.Now().Add(5 * time.Second); s.Busy(t) > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the server still works on the request")
		}
	}
}

func TestProxyIsControlledFromOutside(t *testing.T) {
	p, url := NewProxy(t, Shared(t).URL)
	post := func(body string) int {
		res, err := http.Post(url+controlFaults, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if got := post("429:1\nalways delay:1ms\n"); got != http.StatusNoContent {
		t.Errorf("status %d", got)
	}
	if got := post("what:1\n"); got != http.StatusBadRequest {
		t.Errorf("an unknown fault: status %d", got)
	}
	if diff := cmp.Diff([]Fault{RateLimit(1)}, p.queue); diff != "" {
		t.Error(diff)
	}
	stream(t.Context(), t, url, "hello", "")
	res, err := http.Get(url + controlRequests)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var bodies []map[string]any
	if err := json.NewDecoder(bufio.NewReader(res.Body)).Decode(&bodies); err != nil || len(bodies) != 1 || bodies[0]["model"] != "m" {
		t.Errorf("reported %v, %v", bodies, err)
	}
}

func TestParseFault(t *testing.T) {
	for text, want := range map[string]Fault{
		"":                {},
		"429:2":           {Status: 429, RetryAfter: "2"},
		"529":             {Status: 529},
		"cut:5":           {End: Cut, After: 5},
		"stall:0":         {End: Stall},
		"ping:1+bytes:2":  {Ping: 1, Bytes: 2},
		"delay:20ms":      {Delay: 20 * time.Millisecond},
		" eof:3+delay:1s": {End: EOF, After: 3, Delay: time.Second},
	} {
		got, err := ParseFault(text)
		if err != nil || got != want {
			t.Errorf("ParseFault(%q) = %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"cut", "cut:x", "200", "nope:1", "ping:-1", "delay:fast"} {
		if f, err := ParseFault(bad); err == nil {
			t.Errorf("ParseFault(%q) = %+v without an error", bad, f)
		}
	}
}

func TestChatReadsBothProviders(t *testing.T) {
	want := Chat{Model: "m", Messages: []ChatMessage{
		{Role: "user", Text: "hi"},
		{Role: "assistant", Text: "ok", Calls: []string{`read {"path":"a"}`}},
	}, Tools: []string{"read"}, Stream: true}
	openai := Request{Path: "/v1/chat/completions", Body: []byte(`{"model":"m","stream":true,"tools":[{"type":"function","function":{"name":"read"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},
		{"role":"assistant","content":"ok","tool_calls":[{"id":"1","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}]}`)}
	if diff := cmp.Diff(want, openai.Chat(t)); diff != "" {
		t.Error(diff)
	}
	anthropic := Request{Path: "/v1/messages", Body: []byte(`{"model":"m","stream":true,"system":[{"type":"text","text":"be"}],"tools":[{"name":"read"}],
		"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"1","name":"read","input":{"path":"a"}}]}]}`)}
	want.System = "be"
	if diff := cmp.Diff(want, anthropic.Chat(t)); diff != "" {
		t.Error(diff)
	}
}
