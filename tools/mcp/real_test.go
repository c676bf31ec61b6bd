package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"context"

	"github.com/agent-lsp/agent-lsp/internal/testenv"
	"github.com/agent-lsp/agent-lsp/tools"
)

// reference is one of the reference servers from the npm registry.
func reference(t *testing.T, name string, args ...string) Server {
	t.Helper()
	return Server{Name: name, Command: "node", Args: append([]string{testenv.MCPServer(t, name)}, args...)}
}

// TestRealServers runs two reference servers over stdio.
func TestRealServers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hello.txt"), []byte("good morning\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := up(t, quick(), nil, reference(t, "everything"), reference(t, "filesystem", dir))
	f.settled(t)
	for _, s := range f.States() {
		if s.State != Ready || s.Tools == 0 {
			t.Fatalf("%+v", s)
		}
		t.Logf("%s: %d tools, %s, left out %v", s.Name, s.Tools, s.Says, s.LeftOut)
	}
	if r := f.run(t, "mcp__everything__echo", `{"message":"ping"}`); r.Status != tools.StatusOK || !strings.Contains(r.Text, "ping") {
		t.Errorf("echo: %+v", r)
	}
	args, _ := json.Marshal(map[string]string{"path": filepath.Join(dir, "hello.txt")})
	if r := f.run(t, "mcp__filesystem__read_text_file", string(args)); r.Status != tools.StatusOK || !strings.Contains(r.Text, "good morning") {
		t.Errorf("read: %+v", r)
	}
	if r := f.run(t, "mcp__filesystem__read_text_file", `{"path":"/etc/passwd"}`); r.Status != tools.StatusError || !strings.Contains(r.Text, "denied") {
		t.Errorf("outside: %+v", r)
	}
	if r := f.run(t, "mcp__everything__echo", `{"message":7}`); r.Status != tools.StatusError {
		t.Errorf("wrong arguments: %+v", r)
	}
}

// TestRealServerKilled kills one server in the middle of a call: that call
// fails, the other server's calls go on, and it comes back.
func TestRealServerKilled(t *testing.T) {
	dir := t.TempDir()
	f := up(t, quick(), nil, reference(t, "everything"), reference(t, "filesystem", dir))
	f.settled(t)
	long, found := f.registry.Get("mcp__everything__trigger-long-running-operation")
	if !found {
		t.Fatalf("the server has no operation that lasts: %v", f.names("mcp__everything__"))
	}
	s := long.(*tool).server
	done := make(chan tools.Result)
	go func() { done <- f.run(t, long.Spec().Name, `{"duration":25,"steps":5}`) }()
	for len(s.slots) == 0 { // the call takes its slot when it begins
		if len(done) > 0 {
			t.Fatal("the call ended by itself")
		}
		syscall.Nanosleep(&syscall.Timespec{Nsec: 1e6}, nil)
	}
	if err := syscall.Kill(s.pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if r := f.run(t, "mcp__filesystem__list_allowed_directories", `{}`); r.Status != tools.StatusOK {
		t.Errorf("the other server: %+v", r)
	}
	if r := <-done; r.Status != tools.StatusError || !strings.Contains(r.Text, "other tools are not affected") {
		t.Errorf("the call in flight: %+v", r)
	}
	f.until(t, "everything", func(s State) bool { return s.State == Ready && s.Restarts == 1 })
	if r := f.run(t, "mcp__everything__echo", `{"message":"again"}`); r.Status != tools.StatusOK {
		t.Errorf("after its restart: %+v", r)
	}
	if st := f.until(t, "filesystem", func(State) bool { return true }); st.Restarts != 0 || st.State != Ready {
		t.Errorf("the other server: %+v", st)
	}
}

// pid is the process of the session that is up.
func (s *server) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.cmd.Process.Pid
}

// TestHTTP has a server over HTTP that wants a token, one that redirects
// elsewhere, and one that sends without end.
func TestHTTP(t *testing.T) {
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "2"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(server, &sdk.Tool{Name: "say", Description: "says"}, func(_ context.Context, r *sdk.CallToolRequest, i in) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: i.Text + " " + r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	t.Cleanup(func() {
		for session := range server.Sessions() {
			session.Close()
		}
	})
	var mu sync.Mutex
	elsewhere := ""
	good := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tok-abcdef" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(good.Close)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		elsewhere = "reached with " + r.Header.Get("Authorization")
	}))
	t.Cleanup(thief.Close)
	redirects := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for {
			if _, err := w.Write([]byte(strings.Repeat(" ", 1<<16))); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	tm := quick()
	tm.restartsMax = 1
	f := up(t, tm, nil, Server{Name: "shop", URL: good.URL, Bearer: "tok-abcdef"}, Server{Name: "nobody", URL: good.URL},
		Server{Name: "redirects", URL: redirects.URL, Bearer: "tok-abcdef"}, Server{Name: "endless", URL: endless.URL},
		Server{Name: "plain", URL: "http://example.com/mcp", Bearer: "tok-abcdef"})
	f.until(t, "shop", func(s State) bool { return s.State == Ready })
	r := f.run(t, "mcp__shop__say", `{"text":"hello"}`)
	if r.Status != tools.StatusOK || !strings.HasSuffix(r.Text, "\nhello Bearer [removed]") {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"nobody", "redirects", "endless", "plain"} {
		s := f.until(t, name, func(s State) bool { return s.State == GivenUp })
		t.Logf("%s: %s", name, s.Says)
		if strings.Contains(s.Says, "tok-abcdef") {
			t.Errorf("the token is in %q", s.Says)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if elsewhere != "" {
		t.Errorf("another host was %s", elsewhere)
	}
	if r := f.run(t, "mcp__shop__say", `{"text":"still"}`); r.Status != tools.StatusOK {
		t.Errorf("%+v", r)
	}
}
