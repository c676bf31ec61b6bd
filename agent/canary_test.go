package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/tools"
)

// envAllowed is allRead that also allows the command env.
type envAllowed struct{ allRead }

func (p envAllowed) Policy() tools.Policy {
	r, err := tools.ParseRule("bash(env) = allow", tools.SourceUser)
	if err != nil {
		panic(err)
	}
	return p.allRead.Policy().With(r)
}

// TestCanaries: a key in the environment and one in .env are in no byte that is
// stored, sent to the model or told to an editor, although the model tries to
// get at them by every tool that it has.
func TestCanaries(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal("no bash on this machine: install it")
	}
	const key, dotenv = "sk-canary-4f1d8e7a", "canary-dotenv-93b2c6"
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		if n > 1 {
			return "done", nil
		}
		return "", []model.Call{
			call(1, "read", `{"path":".env"}`), call(2, "grep", `{"pattern":"canary-"}`), call(3, "grep", `{"pattern":"canary-","path":".env"}`),
			call(4, "bash", `{"command":"env"}`), call(5, "bash", `{"command":"cat .env"}`), call(6, "ls", `{"path":"keys"}`),
			call(7, "read", `{"path":"keys/server.pem"}`), call(8, "edit", `{"path":".env","edits":[{"oldText":"KEY","newText":"KEY2"}]}`),
			call(9, "read", `{"path":"/proc/self/environ"}`), call(10, "write", `{"path":"new.go","content":"package a\n"}`),
		}
	})
	for name, text := range map[string]string{".env": "SECRET_KEY=" + dotenv + "\n", "keys/server.pem": "-----BEGIN PRIVATE KEY-----\n" + dotenv + "\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(g.dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		g.write(name, text)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY", key)
	g.engine.parts.Permissions = envAllowed{allRead{g.dir}}
	g.engine.parts.Shell = tools.NewShell(tools.ShellOptions{Self: []string{self, "__exec"}, Roots: []string{g.dir}, CacheDir: t.TempDir(),
		Environ: append(os.Environ(), "OPENAI_API_KEY="+key, "MY_SERVICE_TOKEN="+key, "HARMLESS="+key), Secrets: []string{key}})
	res := g.turn("", "what is the secret key?")

	clean := func(where string, data []byte) {
		t.Helper()
		for _, secret := range []string{key, dotenv} {
			if at := bytes.Index(data, []byte(secret)); at >= 0 {
				t.Errorf("%s holds %s: …%q…", where, secret, data[max(0, at-80):min(len(data), at+40)])
			}
		}
	}
	as := func(where string, v any) {
		t.Helper()
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		clean(where, data)
	}
	as("a request to the model", g.requests)
	if p := g.lastPrompt(); !bytes.Contains([]byte(p), []byte("PATH=")) || !bytes.Contains([]byte(p), []byte("not permitted")) {
		t.Errorf("the command did not run, or nothing was refused:\n%s", p)
	}
	g.client.note(func() {
		as("a delta", g.client.cycles)
		as("the stream", g.client.stream)
		as("loop:current", g.client.loops)
	})
	ctx := context.Background()
	trace, err := g.engine.Trace(ctx, &TraceParams{TurnID: res.TurnID})
	if err != nil || len(trace.Calls) != 10 {
		t.Fatalf("trace: %+v, %v", trace, err)
	}
	as("the trace", trace)
	plan, err := g.engine.Plan(ctx, &PlanParams{})
	if err != nil {
		t.Fatal(err)
	}
	as("the plan", plan)
	g.restart() // closes the store: all is in its files
	files, err := filepath.Glob(g.state + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no store: %v", err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 {
			clean(f, data)
		}
	}
}
