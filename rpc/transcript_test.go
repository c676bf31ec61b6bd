package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-lsp/agent-lsp/agent"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays testdata/transcripts/*.txtar: a client's side of a
// dialogue, and the server's, message by message. Lines of the file dialogue:
//
//	init plain|plugin [json]  the handshake; json is merged into initialize's params
//	open later                the engine opens at the line "open" only
//	-> json                   the client sends a message
//	raw "text"                the client sends these bytes
//	frame "text"              the client sends these bytes behind a right header
//	engine verb json          the engine does something to its client
//	wait duration             time passes
//	eof                       the client closes its side
//
// and, written by -update:
//
//	<- json   the server sent a message; answers first, then the rest in order
//	.. text   the engine was told something
//	!! text   something came back, or ended
//
// Time is synctest's, so nothing here waits.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "dialogue" })
			want := string(archive.Files[i].Data)
			got := play(t, want)
			if *update {
				archive.Files[i].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("the dialogue is another (rewrite with -update if that is right)\n%s", firstDifference(got, want))
			}
		})
	}
}

// firstDifference shows two texts where they part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d, after %.200s\n got %s\nwant %s", i+1, g[max(0, i-1)], g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(g), len(w))
}

// bubble runs f in a synctest bubble. jsonrpc2 pools values with channels in
// them, and a channel must not leave its bubble: two collections empty a pool.
func bubble(t *testing.T, f func(t *testing.T)) {
	runtime.GC()
	runtime.GC()
	synctest.Test(t, f)
	runtime.GC()
	runtime.GC()
}

// play runs a dialogue and returns it with what the server really said.
func play(t *testing.T, script string) (out string) {
	dir := t.TempDir()
	bubble(t, func(t *testing.T) {
		s := newPlaying(t, dir)
		for line := range strings.Lines(script) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "<- ") || strings.HasPrefix(line, ".. ") || strings.HasPrefix(line, "!! ") {
				continue
			}
			s.out.WriteString(line + "\n")
			s.line(line)
			synctest.Wait()
			s.flush()
		}
		s.end()
		out = s.out.String()
	})
	return out
}

// playing is a server, a fake engine behind it and a client's end in front.
type playing struct {
	t      *testing.T
	engine *fakeEngine
	client net.Conn
	server *Server
	open   chan struct{}
	openE  error
	done   chan error
	out    bytes.Buffer
	dir    string

	mu     sync.Mutex
	frames []string
	told   []string
	events []string
}

func newPlaying(t *testing.T, dir string) *playing {
	near, far := net.Pipe()
	s := &playing{t: t, engine: newFakeEngine(), client: near, open: make(chan struct{}), done: make(chan error, 1), dir: dir}
	close(s.open)
	s.engine.say = func(format string, args ...any) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, fmt.Sprintf(format, args...))
	}
	s.server = New(far, Options{Version: "test", CacheDir: dir, Log: slog.New(slog.DiscardHandler), Open: func(ctx context.Context, o InitOptions) (Engine, error) {
		select {
		case <-s.open:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		s.engine.say("Open %s", marshal(o))
		return s.engine, s.openE
	}})
	go func() { s.done <- s.server.Run(t.Context()) }()
	go s.read()
	return s
}

func (s *playing) read() {
	st := newStream(s.client)
	for {
		body, _, err := st.readFrame(context.Background())
		if err != nil {
			return
		}
		s.mu.Lock()
		s.frames = append(s.frames, string(body))
		s.mu.Unlock()
	}
}

func (s *playing) send(text string) {
	if _, err := fmt.Fprintf(s.client, "Content-Length: %d\r\n\r\n%s", len(text), text); err != nil {
		s.event("the message was not taken: %v", err)
	}
}

func (s *playing) event(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf(format, args...))
}

func (s *playing) line(line string) {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "", "#":
	case "init":
		s.init(rest)
	case "open":
		if rest == "later" {
			s.open = make(chan struct{})
			return
		}
		if rest != "" {
			s.openE = &agent.Error{Code: agent.CodeStoreUnavailable, Message: rest, Hint: "look at the disk"}
		}
		close(s.open)
	case "->":
		s.send(strings.Replace(rest, "{", `{"jsonrpc":"2.0",`, 1))
	case "raw", "frame":
		text, err := strconv.Unquote(rest)
		if err != nil {
			s.t.Fatalf("%s: %v", line, err)
		}
		if verb == "frame" {
			s.send(text)
			return
		}
		if _, err := s.client.Write([]byte(text)); err != nil {
			s.event("the bytes were not taken: %v", err)
		}
	case "wait":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d)
	case "eof":
		_ = s.client.Close()
	case "engine":
		s.act(rest)
	case "answers":
		s.listAnswers()
	default:
		s.t.Fatalf("unknown line %q", line)
	}
}

// init does the handshake without showing it.
func (s *playing) init(rest string) {
	kind, extra, _ := strings.Cut(rest, " ")
	params := map[string]any{"capabilities": map[string]any{}, "processId": nil, "rootUri": nil}
	if kind == "plugin" {
		params["initializationOptions"] = map[string]any{"agentLsp": map[string]any{"client": "test", "protocolVersion": 1, "permission": true, "editorOps": []string{"hover"}}}
	}
	if extra != "" {
		if err := json.Unmarshal([]byte(extra), &params); err != nil {
			s.t.Fatal(err)
		}
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	s.send(string(text))
	s.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	synctest.Wait()
	s.mu.Lock()
	s.frames = slices.DeleteFunc(s.frames, func(f string) bool { return strings.Contains(f, `"id":0`) && strings.Contains(f, "serverInfo") })
	s.mu.Unlock()
}

// act makes the engine do something to its client.
func (s *playing) act(rest string) {
	verb, data, _ := strings.Cut(rest, " ")
	read := func(v any) {
		if err := json.Unmarshal([]byte(data), v); err != nil {
			s.t.Fatalf("%s: %v", rest, err)
		}
	}
	ask := func(f func(agent.Client) (any, error)) {
		c := s.engine.client()
		go func() {
			result, err := f(c)
			s.event("%s gave %s, %v", verb, marshal(result), err)
		}()
	}
	ctx := s.t.Context()
	switch verb {
	case "hunks":
		read(&s.engine.hunks)
	case "runs":
		read(&s.engine.runs)
	case "cycles":
		read(&s.engine.cycles)
	case "index":
		var v agent.IndexStatus
		read(&v)
		s.engine.client().Index(v)
	case "cycle":
		var v agent.CycleNotification
		read(&v)
		s.engine.client().Cycle(v)
	case "stream":
		var v agent.StreamChunk
		read(&v)
		s.engine.client().Stream(v)
	case "edits":
		var v agent.EditsChanged
		read(&v)
		s.engine.client().EditsChanged(v)
	case "loop":
		topic, text, _ := strings.Cut(data, " ")
		s.engine.client().Loop(topic, json.RawMessage(text))
	case "permission":
		var v agent.PermissionParams
		read(&v)
		ask(func(c agent.Client) (any, error) { return c.Permission(ctx, v) })
	case "applyEdit":
		var v agent.WorkspaceEdit
		read(&v)
		ask(func(c agent.Client) (any, error) {
			applied, reason, err := c.ApplyEdit(ctx, v)
			return []any{applied, reason}, err
		})
	case "showDocument":
		ask(func(c agent.Client) (any, error) { return nil, c.ShowDocument(ctx, data, true) })
	case "editor":
		var v agent.EditorParams
		read(&v)
		ask(func(c agent.Client) (any, error) { return c.Editor(ctx, v) })
	case "release":
		close(s.engine.release)
	default:
		s.t.Fatalf("unknown act %q", rest)
	}
}

// listAnswers shows the documents that were written for a plain client.
func (s *playing) listAnswers() {
	names, _ := filepath.Glob(filepath.Join(s.dir, "*", "*.md"))
	for _, name := range names {
		data, err := os.ReadFile(name)
		info, _ := os.Stat(name)
		s.event("%s %s %q %v", filepath.Base(name), info.Mode(), data, err)
	}
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	prompt = regexp.MustCompile(`instruction-\d+\.md`)
)

// flush writes what has happened since the last line, in an order that
// doesn't depend on which goroutine was first.
func (s *playing) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	scrub := func(text string) string {
		text = strings.ReplaceAll(text, s.dir, "/cache")
		return prompt.ReplaceAllString(uuids.ReplaceAllString(text, "UUID"), "instruction-N.md")
	}
	select {
	case <-s.server.exited:
		s.frames = nil // answers may or may not come out before the end
	default:
	}
	rank := func(frame string) int {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.Unmarshal([]byte(frame), &m)
		switch {
		case m.Method == "":
			return 0
		case m.ID == nil:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(s.frames, func(a, b string) int { return rank(a) - rank(b) })
	for _, f := range s.frames {
		fmt.Fprintf(&s.out, "<- %s\n", scrub(f))
	}
	for _, e := range s.told {
		fmt.Fprintf(&s.out, ".. %s\n", scrub(e))
	}
	for _, e := range s.events {
		fmt.Fprintf(&s.out, "!! %s\n", scrub(e))
	}
	s.frames, s.told, s.events = nil, nil, nil
}

// end closes the client's side if the dialogue didn't, and tells how Run ended.
func (s *playing) end() {
	_ = s.client.Close()
	err := <-s.done
	synctest.Wait()
	s.told = slices.DeleteFunc(s.told, func(e string) bool { return e == "detached" })
	s.flush()
	fmt.Fprintf(&s.out, "!! the server ended: %v\n", err)
}
