package tools_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/tools"
)

// TestMain makes the test binary its own supervisor, as agent-lsp is.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "__exec":
		os.Exit(tools.ExecMain(os.Args[2:]))
	case len(os.Args) > 3 && os.Args[1] == "__agent":
		// An agent that runs one command, to be killed with it.
		s := tools.NewShell(tools.ShellOptions{Self: []string{os.Args[0], "__exec"}, Roots: []string{os.Args[2]}, CacheDir: os.Args[2]})
		_, _ = s.Run(context.Background(), tools.Command{Line: os.Args[3], Dir: os.Args[2]})
		os.Exit(0)
	}
	// With -race a process sleeps a second before it ends, supervisors too.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	goleak.VerifyTestMain(m)
}

func newShell(t *testing.T, change ...func(*tools.ShellOptions)) (tools.Shell, string) {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash on this machine")
	}
	root := t.TempDir()
	o := tools.ShellOptions{Self: []string{self(t), "__exec"}, Roots: []string{root}, CacheDir: filepath.Join(t.TempDir(), "cache")}
	for _, c := range change {
		c(&o)
	}
	return tools.NewShell(o), root
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func mustRun(t *testing.T, s tools.Shell, root, line string) tools.CommandResult {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	res, err := s.Run(ctx, tools.Command{Line: line, Dir: root})
	if err != nil {
		t.Fatalf("%s: %v (%+v)", line, err, res)
	}
	return res
}

func TestShellOutput(t *testing.T) {
	s, root := newShell(t)
	for _, tc := range []struct {
		line, out string
		code      int
	}{
		{"echo one; echo two >&2; echo three", "one\ntwo\nthree\n", 0},
		{"exit 7", "", 7},
		{"kill -9 $$", "", 137},
		{"cat; echo done", "done\n", 0}, // no input
		{"test -t 0 || test -t 1 || echo no terminal", "no terminal\n", 0},
		{"(exec </dev/tty) 2>/dev/null || echo no tty", "no tty\n", 0},
		{"pwd", root + "\n", 0},
		{"printf 'a\\xffb'", "a\xffb", 0},
		{"echo $GIT_TERMINAL_PROMPT$DEBIAN_FRONTEND", "0noninteractive\n", 0},
		{"ls /proc/self/fd | wc -l | tr -d ' '", "4\n", 0}, // 0 1 2 and ls's own
	} {
		res := mustRun(t, s, root, tc.line)
		if res.Output != tc.out || res.ExitCode != tc.code {
			t.Errorf("%s: got %q, exit %d; want %q, exit %d", tc.line, res.Output, res.ExitCode, tc.out, tc.code)
		}
	}
}

// TestShellStreams: output arrives while the command still runs.
func TestShellStreams(t *testing.T) {
	s, root := newShell(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	var got strings.Builder
	res, err := s.Run(ctx, tools.Command{Line: "echo first ä; while [ ! -e go ]; do sleep 0.01; done; echo second", Dir: root, Output: func(chunk string) {
		mu.Lock()
		defer mu.Unlock()
		got.WriteString(chunk)
		if strings.Contains(got.String(), "first ä\n") {
			if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o644); err != nil {
				t.Error(err)
			}
		}
	}})
	if err != nil || res.Output != "first ä\nsecond\n" || got.String() != res.Output {
		t.Errorf("got %+v, streamed %q, %v", res, got.String(), err)
	}
}

func TestShellOutputIsBounded(t *testing.T) {
	s, root := newShell(t)
	res := mustRun(t, s, root, "head -c 6000000 /dev/zero | tr '\\0' x; echo; echo end")
	if !res.Truncated || len(res.Output) > tools.ShellOutputMax+100 || res.ExitCode != 0 {
		t.Errorf("got %d bytes, truncated %v, exit %d", len(res.Output), res.Truncated, res.ExitCode)
	}
}

// running counts processes whose command line holds the marker.
func alive(t *testing.T, marker string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(dirs) == 0 {
		t.Skip("no /proc on this machine")
	}
	for _, f := range dirs {
		b, err := os.ReadFile(f)
		if err == nil && strings.Contains(string(b), marker) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			if pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// hostile commands that try to stay: in the background, in their own session,
// deaf to SIGTERM, twice forked. %s is a number of seconds that is the marker.
var stayers = map[string]string{
	"plain":      "sleep %s",
	"background": "sleep %s & sleep %s",
	"session":    "setsid sleep %s & disown; sleep %s",
	"deaf":       "trap '' TERM INT HUP; sleep %s; sleep %s",
	"deaf child": "(trap '' TERM; exec sleep %s) & wait",
	"twice":      "( (setsid bash -c 'trap \"\" TERM; sleep %s' &) & ); sleep %s",
	"nohup":      "nohup setsid sleep %s >/dev/null 2>&1 & sleep %s",
	"stopped":    "sleep %s & kill -STOP $!; wait",
}

var markers struct {
	sync.Mutex
	n int
}

func mark(line string) (string, string) {
	markers.Lock()
	defer markers.Unlock()
	markers.n++
	m := fmt.Sprintf("1000.%d%d", os.Getpid(), markers.n)
	return strings.ReplaceAll(line, "%s", m), m
}

// TestShellCancelLeavesNothing: after a cancel nothing that the command
// started is left, however it tried to stay.
func TestShellCancelLeavesNothing(t *testing.T) {
	s, root := newShell(t)
	for name, line := range stayers {
		t.Run(name, func(t *testing.T) {
			line, marker := mark("echo up; " + line)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			res, err := s.Run(ctx, tools.Command{Line: line, Dir: root, Output: func(string) {
				go func() {
					waitFor(t, "the command to start", func() bool { return len(alive(t, marker)) > 0 })
					cancel()
				}()
			}})
			if err == nil || res.ExitCode != -1 {
				t.Errorf("got %+v, %v", res, err)
			}
			if left := alive(t, marker); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
}

func TestShellTimeout(t *testing.T) {
	s, root := newShell(t)
	line, marker := mark("echo before; sleep %s")
	res, err := s.Run(context.Background(), tools.Command{Line: line, Dir: root, Timeout: 200 * time.Millisecond})
	if err != nil || !res.TimedOut || res.Output != "before\n" || len(alive(t, marker)) > 0 {
		t.Errorf("got %+v, %v, left %v", res, err, alive(t, marker))
	}
}

// TestShellEndsBackground: what a command leaves running ends with it.
func TestShellEndsBackground(t *testing.T) {
	s, root := newShell(t)
	line, marker := mark("setsid sleep %s & sleep %s & echo left")
	res := mustRun(t, s, root, line)
	if len(alive(t, marker)) > 0 || !strings.Contains(res.Output, "2 processes still running in the background: ended") {
		t.Errorf("got %+v, left %v", res, alive(t, marker))
	}
}

// TestShellDiesWithAgent: kill -9 of the agent leaves nothing running.
func TestShellDiesWithAgent(t *testing.T) {
	newShell(t)
	for name, line := range stayers {
		t.Run(name, func(t *testing.T) {
			line, marker := mark(line)
			agent := exec.Command(self(t), "__agent", t.TempDir(), line)
			if err := agent.Start(); err != nil {
				t.Fatal(err)
			}
			sleeping := func() (n int) {
				for _, pid := range alive(t, marker) {
					if pid != agent.Process.Pid {
						n++
					}
				}
				return n
			}
			waitFor(t, "the command to start", func() bool { return sleeping() > 0 })
			if err := agent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = agent.Wait()
			waitFor(t, "everything to end", func() bool { return len(alive(t, marker)) == 0 })
		})
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Errorf("waited too long for %s", what)
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// TestShellSandbox: each line tries to leave; the check says whether it did.
func TestShellSandbox(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Landlock is Linux's")
	}
	home := t.TempDir() // stands for a home outside the temporary folder
	outside, err := os.MkdirTemp("/var", "agent-lsp-test")
	if err != nil { // not root: beside the sources
		if outside, err = os.MkdirTemp(".", "outside"); err == nil {
			outside, err = filepath.Abs(outside)
		}
	}
	if err != nil {
		t.Skipf("no folder outside the temporary one: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	secret := filepath.Join(outside, "keys")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	for f, text := range map[string]string{"keys/id_canary": "CANARY-KEY", "plain": "plain text"} {
		if err := os.WriteFile(filepath.Join(outside, f), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "REACHED")
			c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	t.Setenv("CANARY_API_KEY", "CANARY-ENV")
	s, root := newShell(t, func(o *tools.ShellOptions) { o.Hidden = []string{secret, filepath.Join(home, "nothing")} })
	if !mustRun(t, s, root, "true").Sandboxed {
		t.Skip("this kernel has no sandbox: " + mustRun(t, s, root, "true").Note)
	}
	for _, tc := range []struct{ name, line, bad, good string }{
		{"write inside", "echo ok > inside && cat inside", "", "ok"},
		{"write temp", "f=$(mktemp) && echo ok > $f && cat $f && rm $f", "", "ok"},
		{"write outside", "echo gone > " + outside + "/new && echo WROTE", "WROTE", ""},
		{"change outside", "echo x >> " + outside + "/plain && echo WROTE", "WROTE", ""},
		{"truncate outside", "truncate -s 0 " + outside + "/plain && echo WROTE", "WROTE", ""},
		{"delete outside", "rm -f " + outside + "/plain && echo WROTE", "WROTE", ""},
		{"rename outside", "touch m && mv m " + outside + "/m && echo WROTE", "WROTE", ""},
		{"link outside", "ln -s " + outside + " out; echo x > out/new && echo WROTE", "WROTE", ""},
		{"hard link", "ln " + outside + "/plain hard && echo x > hard && echo WROTE", "WROTE", ""},
		{"chdir outside", "cd " + outside + " && touch new && echo WROTE", "WROTE", ""},
		{"the workspace's neighbour", "touch ../neighbour && echo WROTE", "WROTE", ""},
		{"the shared temporary folder", "touch " + os.TempDir() + "/agent-lsp-neighbour && echo WROTE", "WROTE", ""},
		{"child shell", "bash -c 'bash -c \"touch " + outside + "/new && echo WROTE\"'", "WROTE", ""},
		{"read outside", "cat " + outside + "/plain", "", "plain text"},
		{"read hidden", "cat " + secret + "/id_canary", "CANARY-KEY", ""},
		{"list hidden", "ls " + secret, "id_canary", ""},
		{"hidden by link", "ln -s " + secret + " k; cat k/id_canary", "CANARY-KEY", ""},
		{"environment", "env; cat /proc/self/environ", "CANARY-ENV", ""},
		{"agent's environment", "cat /proc/" + strconv.Itoa(os.Getpid()) + "/environ", "CANARY-ENV", ""},
		{"supervisor's environment", "cat /proc/$PPID/environ", "CANARY", ""},
		{"kill the supervisor", "kill -9 $PPID; sleep 0.2; echo alive", "", "alive"},
		{"kill the agent", "kill -0 " + strconv.Itoa(os.Getpid()) + " && echo COULD", "COULD", ""},
		{"the agent's memory", "head -c 1 /proc/" + strconv.Itoa(os.Getpid()) + "/mem && echo COULD", "COULD", ""},
		{"tcp", "exec 3<>/dev/tcp/127.0.0.1/" + port + " && cat <&3", "REACHED", ""},
		{"mount", "mount -t tmpfs none /mnt && echo COULD", "COULD", ""},
		{"nsenter", "nsenter -t " + strconv.Itoa(os.Getpid()) + " -n bash -c 'exec 3<>/dev/tcp/127.0.0.1/" + port + " && cat <&3'", "REACHED", ""},
		{"devices", "echo x > /dev/null && head -c 2 /dev/urandom | wc -c", "", "2"},
		{"substitution", "cat <(echo ok)", "", "ok"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := mustRun(t, s, root, tc.line+" 2>&1")
			if tc.bad != "" && strings.Contains(res.Output, tc.bad) || !strings.Contains(res.Output, tc.good) {
				t.Errorf("%s: %+v", tc.line, res)
			}
		})
	}
	if b, err := os.ReadFile(filepath.Join(outside, "plain")); err != nil || string(b) != "plain text" {
		t.Errorf("outside was changed: %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(outside, "new")); err == nil {
		t.Error("a file was made outside")
	}
	// The same with the network permitted reaches the server.
	res, err := s.Run(context.Background(), tools.Command{Line: "exec 3<>/dev/tcp/127.0.0.1/" + port + " && cat <&3", Dir: root, Network: true})
	if err != nil || !strings.Contains(res.Output, "REACHED") || !strings.Contains(res.Note, "network permitted") {
		t.Errorf("network permitted: %+v, %v", res, err)
	}
}

func TestShellLoopback(t *testing.T) {
	s, root := newShell(t)
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on this machine")
	}
	res := mustRun(t, s, root, "true")
	if !strings.Contains(res.Note, "own loopback") {
		t.Skip("no network namespaces here: " + res.Note)
	}
	// A project's tests may talk to servers that they start themselves.
	res = mustRun(t, s, root, `python3 -c '
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: s.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(s.getsockname()).recv(5).decode())'`)
	if strings.TrimSpace(res.Output) != "hello" {
		t.Errorf("got %+v", res)
	}
}

func TestShellWithoutSandbox(t *testing.T) {
	s, root := newShell(t, func(o *tools.ShellOptions) { o.NoSandbox = true })
	res := mustRun(t, s, root, "echo hi")
	if res.Sandboxed || !strings.Contains(res.Note, "not sandboxed") || res.Output != "hi\n" {
		t.Errorf("got %+v", res)
	}
}

func TestShellBadStart(t *testing.T) {
	s, root := newShell(t)
	if _, err := s.Run(context.Background(), tools.Command{Line: "true", Dir: filepath.Join(root, "gone")}); err == nil {
		t.Error("a folder that doesn't exist gave no error")
	}
	bad := tools.NewShell(tools.ShellOptions{Self: []string{filepath.Join(root, "nothing")}, Roots: []string{root}, CacheDir: root})
	if _, err := bad.Run(context.Background(), tools.Command{Line: "true"}); err == nil {
		t.Error("a supervisor that doesn't exist gave no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Run(ctx, tools.Command{Line: "touch ran", Dir: root}); err == nil {
		t.Error("a cancelled run started")
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("a cancelled run ran")
	}
}

// TestShellFilesStayOpen: a hundred commands leave no descriptor behind.
func TestShellLeaksNoDescriptors(t *testing.T) {
	s, root := newShell(t)
	countFDs := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc on this machine")
		}
		return len(fds)
	}
	mustRun(t, s, root, "true")
	before := countFDs()
	for range 30 {
		mustRun(t, s, root, "true")
	}
	if after := countFDs(); after > before+2 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func BenchmarkShellTrue(b *testing.B) {
	exe, _ := os.Executable()
	root := b.TempDir()
	s := tools.NewShell(tools.ShellOptions{Self: []string{exe, "__exec"}, Roots: []string{root}, CacheDir: root})
	for b.Loop() {
		if _, err := s.Run(context.Background(), tools.Command{Line: "true", Dir: root}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestShellGoCache: the go command finds in the sandbox what the person has
// built outside, and can't write there.
func TestShellGoCache(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go on this machine")
	}
	users := filepath.Join(t.TempDir(), "users")
	s, root := newShell(t, func(o *tools.ShellOptions) { o.Environ = append(os.Environ(), "GOCACHE="+users, "GOFLAGS=") })
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n", "m.go": "package m\n\nconst M = 1\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	outside := exec.Command("go", "build", "./...")
	outside.Dir, outside.Env = root, append(os.Environ(), "GOCACHE="+users, "GOFLAGS=")
	if out, err := outside.CombinedOutput(); err != nil {
		t.Skipf("go can't build here: %v\n%s", err, out)
	}
	before := entries(t, users)
	// -x prints the compiler's command lines where something isn't cached.
	if res := mustRun(t, s, root, "go build -x ./... 2>&1"); res.ExitCode != 0 || strings.Contains(res.Output, "/compile ") {
		t.Errorf("built again: %+v", res)
	}
	if err := os.WriteFile(filepath.Join(root, "m.go"), []byte("package m\n\nconst M = 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if res := mustRun(t, s, root, "go build -x ./... 2>&1"); res.ExitCode != 0 || !strings.Contains(res.Output, "/compile ") {
		t.Errorf("not built: %+v", res)
	}
	if res := mustRun(t, s, root, "go build -x ./... 2>&1"); res.ExitCode != 0 || strings.Contains(res.Output, "/compile ") {
		t.Errorf("what the sandbox built is not kept: %+v", res)
	}
	if after := entries(t, users); after != before {
		t.Errorf("the person's cache had %d files, and has %d", before, after)
	}
}

func entries(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
