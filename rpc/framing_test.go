package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// wires is a connection of which both directions are at hand.
type wires struct {
	io.Reader
	mu  sync.Mutex
	out bytes.Buffer
}

func (w *wires) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}
func (w *wires) Close() error { return nil }
func (w *wires) written() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestFraming(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":"big","method":"x","params":"` + strings.Repeat("a", 300) + `"}`
	for _, test := range []struct {
		name, in string
		bodies   int    // that are usable
		out      string // that was answered, in part
		cause    string // that ended the reading; "" is the clean end
	}{
		{"two", framed(ping) + framed(ping), 2, "", ""},
		{"bare newlines, other case, other fields", "CONTENT-length:40\nX-Y: z\n\n" + ping, 1, "", ""},
		{"the same length twice", "Content-Length: 40\r\nContent-Length: 40\r\n\r\n" + ping, 1, "", ""},
		{"two lengths", "Content-Length: 40\r\nContent-Length: 41\r\n\r\n" + ping, 0, "", "no length"},
		{"negative", "Content-Length: -1\r\n\r\n", 0, "", "no length"},
		{"huge", "Content-Length: 99999999999999999999\r\n\r\n", 0, "", "no length"},
		{"no length", "Content-Type: x\r\n\r\n" + ping, 0, "", "no Content-Length"},
		{"no field", ping, 0, "", "in the middle"},
		{"no field, but a line", ping + "\n", 0, "", "no header field"},
		{"endless header", strings.Repeat("X: y\r\n", 20000), 0, "", "longer than"},
		{"endless line", strings.Repeat("x", 200000), 0, "", "longer than"},
		{"cut header", "Content-Le", 0, "", "in the middle"},
		{"cut body", "Content-Length: 50\r\n\r\n{", 0, "", "in the middle"},
		{"too long, with an id", framed(long) + framed(ping), 1, `"id":"big","error":{"code":-32600`, ""},
		{"too long, then cut", "Content-Length: 1000\r\n\r\n{", 0, "", "in the middle"},
		{"at the limit", framed(ping + strings.Repeat(" ", 200-len(ping))), 1, "", ""},
		{"beyond the limit by one", framed(ping + strings.Repeat(" ", 201-len(ping))), 0, `"id":1,"error"`, ""},
		{"no JSON", framed("{]") + framed(ping), 1, `"id":null,"error":{"code":-32700`, ""},
		{"a response without a result", framed(`{"jsonrpc":"2.0","id":3}`), 1, "", ""},
		{"only spaces", framed("   ") + framed(ping), 1, "-32700", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &wires{Reader: strings.NewReader(test.in)}
			s := newStream(w)
			s.limit = 200
			bodies := 0
			var err error
			for {
				var body []byte
				if body, _, err = s.ReadFrame(t.Context()); err != nil {
					break
				}
				if _, e := jsonrpc2.DecodeMessage(body); e != nil {
					t.Errorf("body %s: %v", body, e)
				}
				bodies++
			}
			<-s.ended
			if bodies != test.bodies || !strings.Contains(w.written(), test.out) || test.out == "" && w.written() != "" {
				t.Errorf("%d usable, answered %q; want %d and %q", bodies, w.written(), test.bodies, test.out)
			}
			if test.cause == "" && err != io.EOF || !strings.Contains(err.Error(), test.cause) {
				t.Errorf("ended by %v, want %q", err, test.cause)
			}
		})
	}
}

// TestHeaderAllocatesNothing announces a message of 60 MiB and never sends it.
func TestHeaderAllocatesNothing(t *testing.T) {
	r, w := io.Pipe()
	s := newStream(&wires{Reader: r})
	done := make(chan error, 1)
	go func() { _, _, err := s.ReadFrame(t.Context()); done <- err }()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := fmt.Fprintf(w, "Content-Length: %d\r\n\r\n{", 60<<20); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	_ = w.Close()
	if err := <-done; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("ended by %v", err)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("the header alone made %d bytes be allocated", grown)
	}
}

// TestResultTooLong has the server answer with more than a message may have.
func TestResultTooLong(t *testing.T) {
	w := &wires{Reader: strings.NewReader("")}
	s := newStream(w)
	s.limit = 100
	long := jsonrpc2.RawMessage(`"` + strings.Repeat("a", 100) + `"`)
	if _, err := s.Write(t.Context(), jsonrpc2.NewResponse(jsonrpc2.NewNumberID(7), long, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), jsonrpc2.NewNotification("x", long)); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(w.written(), "\r\n\r\n")
	var m struct {
		ID    int
		Error struct{ Code int }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.ID != 7 || m.Error.Code != -32803 {
		t.Errorf("the answer is %s (%v)", body, err)
	}
}

// FuzzStream reads anything; whatever it is, reading ends and what is answered
// is well-formed.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		framed("{}"), "Content-Length: 99\r\n\r\n{", "content-length:40\n\n" + ping, "Content-Length: -1\r\n\r\n",
		"Content-Length: 4\r\nContent-Type: x\r\n\r\n[{}]", framed(`[{"jsonrpc":"2.0","id":1,"method":"a"},1,{"jsonrpc":"2.0"}]`),
		framed(ping) + framed("{bad") + framed(`{"jsonrpc":"2.0","method":"exit"}`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := &wires{Reader: bytes.NewReader(in)}
		serveAll(t, w)
		checkFrames(t, w.written())
	})
}

// FuzzMessage sends any body behind a right header to a server that was
// initialized.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		ping, `{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a","version":3},"contentChanges":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"x"}]}}`,
		`{"jsonrpc":"2.0","id":"a","method":"workspace/executeCommand","params":{"command":"agent.accept","arguments":[]}}`,
		`{"jsonrpc":"2.0","id":2,"method":"textDocument/codeAction","params":{"textDocument":{"uri":"x"},"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"context":{"diagnostics":[]}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"agent/cycles","params":{}}`, `{"jsonrpc":"2.0","id":4,"result":null}`,
		`{"jsonrpc":"2.0","method":"loop:control","params":{}}`, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\ud800"}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"textDocument/codeLens","params":{"textDocument":{"uri":"file:///x"}}},{"jsonrpc":"2.0","method":"exit"}]`,
	} {
		f.Add([]byte(seed))
	}
	hello := framed(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`)
	f.Fuzz(func(t *testing.T, body []byte) {
		w := &wires{Reader: io.MultiReader(strings.NewReader(hello), strings.NewReader(framed(string(body))))}
		serveAll(t, w)
		checkFrames(t, w.written())
	})
}

// serveAll runs a server until its input is used up.
func serveAll(t *testing.T, w *wires) {
	s := New(w, Options{Open: func(context.Context, InitOptions) (Engine, error) { return newFakeEngine(), nil }})
	done := make(chan struct{})
	go func() { _ = s.Run(t.Context()); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the server hangs")
	}
}

func checkFrames(t *testing.T, out string) {
	for out != "" {
		head, rest, ok := strings.Cut(out, "\r\n\r\n")
		var n int
		if _, err := fmt.Sscanf(head, "Content-Length: %d", &n); err != nil || !ok || n > len(rest) {
			t.Fatalf("bad frame %q", out)
		}
		if !json.Valid([]byte(rest[:n])) {
			t.Fatalf("no JSON: %q", rest[:n])
		}
		out = rest[n:]
	}
}
