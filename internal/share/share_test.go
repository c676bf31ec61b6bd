package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/frame"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func place(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "share") // sockets want short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return NewPlace(filepath.Join(dir, "state.db"), "", filepath.Join(dir, "cache"))
}

// SHARE-1: one holder at a time; whoever else comes is let in.
func TestClaim(t *testing.T) {
	p := place(t)
	if _, err := Dial(p); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody is there: %v", err)
	}
	first, err := Try(p)
	if first == nil || err != nil {
		t.Fatal(first, err)
	}
	if again, err := Try(p); again != nil || err != nil {
		t.Fatalf("a second claim: %v, %v", again, err)
	}
	if _, err := Dial(p); !errors.Is(err, ErrNobody) {
		t.Errorf("nobody listens yet: %v", err)
	}
	if err := first.Listen(); err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		conn, err := first.Accept()
		if err == nil {
			conn.Close()
		}
		accepted <- err
	}()
	claim, conn, err := TryOrDial(t.Context(), p)
	if claim != nil || conn == nil || err != nil {
		t.Fatalf("joining: %v, %v, %v", claim, conn, err)
	}
	conn.Close()
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	first.Release()
	next, conn, err := TryOrDial(t.Context(), p)
	if next == nil || conn != nil || err != nil {
		t.Fatalf("taking over: %v, %v, %v", next, conn, err)
	}
	if err := next.Listen(); err != nil { // over what a dead holder may have left
		t.Error(err)
	}
	next.Release()
}

// SHARE-2: only this user reaches the socket.
func TestSocketModes(t *testing.T) {
	p := place(t)
	c, err := Try(p)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if err := os.MkdirAll(p.Sockets, 0o755); err != nil { // too open: it is narrowed
		t.Fatal(err)
	}
	if err := c.Listen(); err != nil {
		t.Fatal(err)
	}
	socket := c.listener.Addr().String()
	for path, want := range map[string]os.FileMode{p.Sockets: 0o700, socket: 0o600, p.Lock: 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

// SHARE-4: the mirror's replay gives the text that the editor has.
func TestDocuments(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d, want, saved := newDocuments(), "", ""
		enc := []text.Encoding{text.UTF8, text.UTF16, text.UTF32}[rng.IntN(3)]
		d.enc = enc
		tell := func(method string, params any) { d.note(method, notification(method, params)) }
		tell("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "languageId": "go", "version": 1, "text": want}})
		version := 1
		for range rng.IntN(30) {
			if rng.IntN(6) == 0 {
				tell("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": "file:///a"}})
				saved = want
				continue
			}
			version++
			runes := []rune(want)
			a := rng.IntN(len(runes) + 1)
			b := a + rng.IntN(len(runes)-a+1)
			add := []string{"x", "ü\n", "𝄞", "\n", ""}[rng.IntN(5)]
			index := text.NewIndex(want)
			r := index.Range(text.Span{Start: len(string(runes[:a])), End: len(string(runes[:b]))}, enc)
			tell("textDocument/didChange", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": version}, "contentChanges": []any{map[string]any{
				"range": map[string]any{"start": map[string]int{"line": r.Start.Line, "character": r.Start.Col}, "end": map[string]int{"line": r.End.Line, "character": r.End.Col}}, "text": add}}})
			want = string(runes[:a]) + add + string(runes[b:])
		}
		again := newDocuments()
		for _, body := range d.replay() {
			var m struct{ Method string }
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			again.note(m.Method, body)
		}
		if got := again.open["file:///a"]; got.text != want || got.saved != saved || int(got.version) != version || got.language != "go" {
			t.Fatalf("the next holder has %+v, the editor %q (saved %q) at %d", got, want, saved, version)
		}
	}
}

// holder is the other end of a relay: it answers some requests, and dies.
func holder(conn net.Conn, lives int) {
	defer conn.Close()
	in, out := frame.NewReader(conn), &sink{w: conn}
	for n := 0; n < lives; n++ {
		body, err := ReadFrame(in, nil)
		if err != nil {
			return
		}
		m := parse(body)
		if m.isRequest() && (m.Method == "initialize" || lives == immortal || n%3 > 0) {
			_ = out.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"from":"holder"}}`, m.ID))
		}
		if n%4 == 2 { // and it asks the editor something
			_ = out.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"agent/permission","params":{}}`, n))
		}
	}
}

const immortal = 1 << 30

// pair is two ends of one socket.
func pair(t *testing.T) (a, b net.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "share")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("unix", filepath.Join(dir, "s")); err == nil {
		b, err = l.Accept()
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// SHARE-3: whichever holder dies when, each request has exactly one answer,
// and each question of a holder an id of its own.
func TestRelayAnswersOnce(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 3))
		editorIn, toRelay := io.Pipe()
		fromRelay, editorOut := io.Pipe()
		done := make(chan struct{}, 64)
		holders := 0
		connect := func(context.Context) (io.ReadWriteCloser, error) {
			ours, theirs := pair(t)
			lives := 1 + rng.IntN(9)
			if holders++; holders > 12 {
				lives = immortal
			}
			go func() {
				holder(theirs, lives)
				done <- struct{}{}
			}()
			return ours, nil
		}
		first, _ := connect(t.Context())
		r := NewRelay(frame.NewReader(editorIn), editorOut, []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`), connect, func(string, ...any) {})
		ended := make(chan error, 1)
		go func() {
			ended <- r.Run(t.Context(), first)
			editorOut.Close()
		}()
		const requests = 60
		answers, asked := map[string]int{}, map[string]int{}
		all, answered := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(all)
			in := frame.NewReader(fromRelay)
			for {
				body, err := ReadFrame(in, nil)
				if err != nil {
					return
				}
				switch m := parse(body); {
				case m.isAnswer():
					if answers[string(m.ID)]++; len(answers) == requests+1 {
						close(answered)
					}
				case m.isRequest():
					asked[string(m.ID)]++
				}
			}
		}()
		say := &sink{w: toRelay}
		for id := 1; id <= requests; id++ {
			_ = say.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"agent/status","params":{}}`, id))
		}
		for over := false; !over; { // holders die of what they read, so that there is always a next one
			select {
			case <-answered:
				over = true
			default:
				_ = say.send([]byte(`{"jsonrpc":"2.0","method":"$/noise"}`))
			}
		}
		_ = say.send([]byte(`{"jsonrpc":"2.0","id":999,"method":"shutdown"}`))
		_ = say.send([]byte(`{"jsonrpc":"2.0","method":"exit"}`))
		if err := <-ended; err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		<-all
		for id, n := range answers {
			if n != 1 {
				t.Errorf("seed %d: request %s has %d answers", seed, id, n)
			}
		}
		for id, n := range asked {
			if n != 1 {
				t.Errorf("seed %d: %d questions have the id %s", seed, n, id)
			}
		}
		for range holders {
			<-done
		}
	}
}
