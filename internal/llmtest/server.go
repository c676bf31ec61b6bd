package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/testenv"
)

// Limits of a server's start and end.
const (
	startLimit  = 60 * time.Second // until it answers /health
	healthPause = 5 * time.Millisecond
	stopLimit   = 10 * time.Second
	logKept     = 32 << 10 // bytes of its log, for a failure's message
)

// Options say what server to start. The zero value is the usual one.
type Options struct {
	Scripts Scripts  // nil = DefaultScripts()
	Context int      // tokens of context per slot; 0 = DefaultContext
	Slots   int      // requests that are served at once, others queue; 0 = DefaultSlots
	APIKey  string   // "" = none is asked for
	Model   string   // the name it lists; "" = ModelName. (It accepts any name.)
	Args    []string // further arguments of llama-server
}

// What Options leave out.
const (
	DefaultContext = 128 << 10
	DefaultSlots   = 3
	ModelName      = "scripted"
)

// Server is a running llama-server with the scripted model. Safe for concurrent use.
type Server struct {
	URL    string // http://127.0.0.1:PORT
	Model  string
	APIKey string

	process *os.Process
	exited  chan struct{} // closed when the process is gone
	log     *serverLog
}

// V1 is the base URL of its OpenAI chat completions.
func (s *Server) V1() string { return s.URL + "/v1" }

// Start starts a server for one test and stops it at the test's end.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Shared is the package's one server with default Options, started at first
// use. A test package's TestMain is [Main], or calls [StopShared] at its end.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = Launch(Options{})
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// StopShared stops the server of [Shared], if there is one.
func StopShared() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.Stop()
		shared.server = nil
	}
}

// Main is a TestMain that stops the shared server.
func Main(m *testing.M) {
	code := m.Run()
	StopShared()
	os.Exit(code)
}

// Launch starts a server and returns when it answers. The caller stops it; it
// dies with this process in any case (on Linux).
func Launch(o Options) (*Server, error) {
	program, err := testenv.FindLlamaServer()
	if err != nil {
		return nil, err
	}
	if o.Scripts == nil {
		o.Scripts = DefaultScripts()
	}
	if o.Context == 0 {
		o.Context = DefaultContext
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.Model == "" {
		o.Model = ModelName
	}
	dir, err := os.MkdirTemp("", "llmtest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) // the running server keeps the model mapped
	file := filepath.Join(dir, "scripted.gguf")
	if err := WriteModel(file, o.Scripts); err != nil {
		return nil, err
	}
	args := []string{"-m", file, "--alias", o.Model, "--host", "127.0.0.1", "--port", "0", "--no-ui",
		"-c", strconv.Itoa(o.Context * o.Slots), "-np", strconv.Itoa(o.Slots), "-t", "1", "-cram", "0"}
	if o.APIKey != "" {
		args = append(args, "--api-key", o.APIKey)
	}
	cmd := exec.Command(program, append(args, o.Args...)...)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	s := &Server{Model: o.Model, APIKey: o.APIKey, exited: make(chan struct{}), log: newServerLog()}
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := s.run(cmd); err != nil {
		return nil, fmt.Errorf("llama-server: %w", err)
	}
	if err := s.awaitReady(); err != nil {
		s.Stop()
		return nil, fmt.Errorf("llama-server does not get ready: %w; its log ends:\n%s", err, s.log)
	}
	return s, nil
}

// run starts the process from a thread that lives as long as the process does:
// the kernel kills the child of [dieWithParent] when the thread that started
// it ends, which with a thread of the runtime's pool could be at any time.
func (s *Server) run(cmd *exec.Cmd) error {
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.exited)
		err := cmd.Start()
		s.process = cmd.Process
		started <- err
		if err == nil {
			cmd.Wait() //nolint:errcheck // how it ended is in its log
		}
	}()
	return <-started
}

// awaitReady waits for the log's line with the port, then for /health.
func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	select {
	case s.URL = <-s.log.listening:
	case <-s.exited:
		return errors.New("it ended at once")
	case <-ctx.Done():
		return fmt.Errorf("it did not listen within %v", startLimit)
	}
	tick := time.NewTicker(healthPause)
	defer tick.Stop()
	for {
		var health struct{ Status string }
		if err := s.get(ctx, "/health", &health); err == nil && health.Status == "ok" {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("it did not answer /health within %v: %w", startLimit, err)
		}
		select {
		case <-tick.C:
		case <-s.exited:
			return errors.New("it ended")
		}
	}
}

// Stop ends the process and its group, and waits until it is gone.
func (s *Server) Stop() {
	killGroup(s.process)
	select {
	case <-s.exited:
	case <-time.After(stopLimit):
		panic("llmtest: llama-server is still there after SIGKILL: " + s.URL)
	}
}

// Busy says how many requests are being worked on now.
func (s *Server) Busy(t testing.TB) int {
	t.Helper()
	var slots []struct {
		Processing bool `json:"is_processing"`
	}
	if err := s.get(t.Context(), "/slots", &slots); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, slot := range slots {
		if slot.Processing {
			n++
		}
	}
	return n
}

// Tokens says how many tokens a text is.
func (s *Server) Tokens(t testing.TB, text string) int {
	t.Helper()
	body, err := json.Marshal(map[string]string{"content": text})
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Tokens []int }
	if err := s.do(t.Context(), http.MethodPost, "/tokenize", bytes.NewReader(body), &got); err != nil {
		t.Fatal(err)
	}
	return len(got.Tokens)
}

func (s *Server) get(ctx context.Context, path string, into any) error {
	return s.do(ctx, http.MethodGet, path, http.NoBody, into)
}

func (s *Server) do(ctx context.Context, method, path string, send io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, send)
	if err != nil {
		return err
	}
	if s.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+s.APIKey)
	}
	req.Close = true // no idle connection that a leak check would find
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, body)
	}
	return json.Unmarshal(body, into)
}

// serverLog keeps the end of what the server writes and finds its address.
type serverLog struct {
	mu        sync.Mutex
	kept      []byte
	found     bool
	listening chan string
}

func newServerLog() *serverLog { return &serverLog{listening: make(chan string, 1)} }

var listeningOn = regexp.MustCompile(`listening on (http://127\.0\.0\.1:[0-9]+)\s`)

func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, p...)
	if len(l.kept) > logKept {
		l.kept = append([]byte(nil), l.kept[len(l.kept)-logKept:]...)
	}
	if !l.found {
		if m := listeningOn.FindSubmatch(l.kept); m != nil {
			l.found = true
			l.listening <- string(m[1])
		}
	}
	return len(p), nil
}

func (l *serverLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.kept))
}
