package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the real program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "agent-lsp-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "agent-lsp")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "the program can't be built: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	if code == 0 {
		// bleve starts its workers with the program and keeps them.
		if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// home is a person's folders of their own, so that a test meets nobody's
// settings, state or index, and no model but the built-in one.
func home(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{"TERM=xterm-256color"}
	for name, sub := range map[string]string{"XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "XDG_CONFIG_HOME": "config", "HOME": "home"} {
		path := filepath.Join(dir, sub)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+path)
	}
	for _, name := range []string{"PATH", "TMPDIR", "GOROOT", "GOFLAGS"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, "AGENT_LSP_MODEL=builtin")
}

// commandWait bounds one run of the program.
const commandWait = 90 * time.Second

// outcome is how the program ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// runIn runs the program in a folder.
func runIn(t *testing.T, env []string, dir string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr tailless
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok || ctx.Err() != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr)
	}
	return outcome{string(stdout), string(stderr), cmd.ProcessState.ExitCode()}
}

// tailless keeps all that is written.
type tailless []byte

// Write implements io.Writer.
func (b *tailless) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

// netHTTP is a copy of the standard library's net/http, as a workspace.
func netHTTP(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "http")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(runtime.GOROOT(), "src", "net", "http"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeFiles makes a workspace.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
