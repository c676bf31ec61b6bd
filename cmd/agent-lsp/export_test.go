package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportReplaysElsewhere: a run's export drives it again on a machine that
// has neither the folder nor the settings, and holds no secret.
func TestExportReplaysElsewhere(t *testing.T) {
	t.Parallel()
	canaries := []string{"canary-in-dotenv-1", "canary-in-the-environment-2", "sk-canary-shaped-like-a-key-3"}
	dir := writeFiles(t, map[string]string{"dial.go": "package a\n\nconst dialTimeout = 3 // " + canaries[0] + "\n",
		".env": "# keys\nSERVICE_KEY=\"" + canaries[0] + "\"\n", "notes.txt": canaries[1] + " " + canaries[2] + "\n"})
	env := append(home(t), "GROQ_API_KEY="+canaries[1], "OPENAI_API_KEY=")
	if got := runIn(t, env, dir, "ask", "--yes", "replace dialTimeout = 3 with dialTimeout = 5 in dial.go"); got.code != 0 {
		t.Fatalf("ask: exit %d: %s", got.code, got.stderr)
	}
	if got := runIn(t, env, dir, "ask", "--yes", "where is "+canaries[1]+"?"); got.code != 0 {
		t.Fatalf("ask: exit %d: %s", got.code, got.stderr)
	}
	file := filepath.Join(t.TempDir(), "run.json")
	if got := runIn(t, env, dir, "export", "-o", file); got.code != 0 {
		t.Fatalf("export: exit %d: %s", got.code, got.stderr)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range canaries {
		if strings.Contains(string(body), c) {
			t.Errorf("%s is in the export", c)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	elsewhere, other := t.TempDir(), home(t)
	got := runIn(t, other, elsewhere, "replay", "--run", file)
	if got.code != 0 || !strings.HasPrefix(got.stdout, "identical: run r") {
		t.Errorf("replay: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := runIn(t, other, elsewhere, "replay", "--json", "--run", file); got.code != 0 || !strings.Contains(got.stdout, `"identical":true`) {
		t.Errorf("replay --json: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if left, err := os.ReadDir(folderOf(other, "XDG_STATE_HOME")); err != nil || len(left) > 0 {
		t.Errorf("a replay leaves state behind: %v %v", left, err)
	}
	bent := strings.Replace(string(body), `"reason":"completed"`, `"reason":"error"`, -1)
	if err := os.WriteFile(file, []byte(bent), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runIn(t, other, elsewhere, "replay", "--run", file); got.code != 1 || !strings.Contains(got.stdout, `(run-stop), reason: recorded "error", replayed "completed"`) {
		t.Errorf("replay of a bent export: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	for _, args := range [][]string{{"replay"}, {"replay", "--run", "no-such-file.json"}, {"replay", "--run", "r0"}, {"export", "r0"}} {
		if got := runIn(t, other, elsewhere, args...); got.code == 0 || !strings.Contains(got.stderr, "agent-lsp: ") {
			t.Errorf("%q: exit %d: %s", args, got.code, got.stderr)
		}
	}
}
