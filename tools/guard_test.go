package tools_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/tools"
)

// guardedGround is a workspace with a repository, settings and secrets.
func guardedGround(t *testing.T, change ...func(*tools.ShellOptions)) (s tools.Shell, root, kept string) {
	t.Helper()
	kept = filepath.Join(t.TempDir(), "kept")
	s, root = newShell(t, append(change, func(o *tools.ShellOptions) { o.Kept = kept })...)
	for name, text := range map[string]string{".vscode/settings.json": "{}\n", ".env": "KEY=canary\n", "testdata/server.key": "a key of tests\n",
		"config/.env.local": "KEY=canary\n", "a.txt": "a\n", "sub/.idea/workspace.xml": "<x/>\n"} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "testdata", "a.txt", "config"}} {
		git := exec.Command("git", args...)
		git.Dir = root
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return s, root, kept
}

func guards(t *testing.T, s tools.Shell, root string) bool {
	return strings.Contains(mustRun(t, s, root, "true").Note, "secret files hidden")
}

// TestGuard: what a line doesn't name stays as it was, whichever way the guard
// holds, and the rest of the workspace is free.
func TestGuard(t *testing.T) {
	for _, mounts := range []bool{true, false} {
		s, root, kept := guardedGround(t, func(o *tools.ShellOptions) { o.NoMounts = !mounts })
		if mounts && !guards(t, s, root) {
			t.Log("this system has no mounts for us: " + mustRun(t, s, root, "true").Note)
			continue
		}
		for _, tc := range []struct{ name, line, file, holds, said string }{
			{"free", "echo b > a.txt; mkdir n; echo x > n/x", "n/x", "x\n", ""},
			{"git works", "git add n && git -c user.name=a -c user.email=a@b commit -qm m && git status --short", "a.txt", "b\n", ""},
			{"changed", "echo x > .vscode/settings.json", ".vscode/settings.json", "{}\n", ".vscode/settings.json was changed, and has been put back"},
			{"removed", "rm -rf .vscode", ".vscode/settings.json", "{}\n", ".vscode/settings.json was removed, and has been put back"},
			{"replaced", "rm -rf .vscode; echo x > .vscode", ".vscode/settings.json", "{}\n", ".vscode/settings.json was removed, and has been put back"},
			{"deeper", "mv sub s; mkdir -p sub/.idea; echo evil > sub/.idea/workspace.xml; rm -rf s", "sub/.idea/workspace.xml", "<x/>\n", "put back as it was; what was written is kept in"},
			{"moved", "mv sub elsewhere", "elsewhere/.idea/workspace.xml", "<x/>\n", ""},
			{"made", "echo evil > .nvim.lua", ".nvim.lua", "", ".nvim.lua was made, and has been taken away again"},
			{"made below", "mkdir -p n/.zed; echo evil > n/.zed/settings.json", "n/.zed", "", "n/.zed/settings.json was made"},
			{"hook", "echo evil > .git/hooks/pre-commit", ".git/hooks/pre-commit", "", ".git/hooks/pre-commit was made"},
			{"new repository", "git init -q other", "other/.git/HEAD", "ref:", ""},
			{"new repository that runs", "git init -q bad && git -C bad config core.fsmonitor ./x", "bad/.git/config", "", "bad/.git/config was made"},
			{"through a link", "ln -s ../../../../etc .zed; echo x > .idea", ".zed", "", ".zed was made"},
			{"a committed key", "cat testdata/server.key", "", "", ""},
		} {
			res := mustRun(t, s, root, tc.line+" 2>/dev/null")
			data, _ := os.ReadFile(filepath.Join(root, tc.file))
			if tc.file != "" && (!strings.HasPrefix(string(data), tc.holds) || tc.holds == "" && len(data) > 0) {
				t.Errorf("mounts %v, %s: %s holds %q; %+v", mounts, tc.name, tc.file, data, res)
			}
			said := strings.Join(res.PutBack, "\n")
			// With mounts what was there can't be touched at all.
			stopped := mounts && res.ExitCode != 0 && said == ""
			if !stopped && (tc.said == "") != (said == "") || !stopped && !strings.Contains(said, tc.said) {
				t.Errorf("mounts %v, %s: said %q; %+v", mounts, tc.name, said, res)
			}
		}
		if b, err := os.ReadFile(first(t, kept, ".nvim.lua")); err != nil || string(b) != "evil\n" {
			t.Errorf("what was written is not kept: %q, %v", b, err)
		}
		if info, err := os.Stat(filepath.Join(root, ".vscode/settings.json")); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("its mode is another: %v, %v", info, err)
		}
		if res := mustRun(t, s, root, "cat testdata/server.key"); !strings.Contains(res.Output, "a key of tests") {
			t.Errorf("a key that is committed is hidden: %+v", res)
		}
		res := mustRun(t, s, root, "cat .en* config/.en* 2>&1")
		if strings.Contains(res.Output, "canary") == mounts || mounts && strings.Join(res.Hidden, " ") != ".env config/.env.local" {
			t.Errorf("mounts %v: %+v", mounts, res)
		}
	}
}

func first(t *testing.T, dir, name string) (found string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
		if filepath.Base(p) == name && found == "" {
			found = p
		}
		return nil
	})
	return found
}

// TestGuardOpens: what a permitted line names, or a rule allows, is open.
func TestGuardOpens(t *testing.T) {
	s, root, _ := guardedGround(t)
	policy := tools.Policy{Rules: tools.Defaults(), Roots: []string{root}, Trusted: true, Resolve: tools.ResolveLinks}
	lenient := policy
	for _, r := range []string{"read(/config/.env.local) = allow", "write(/.vscode/**) = allow"} {
		rule, err := tools.ParseRule(r, tools.SourceUser)
		if err != nil {
			t.Fatal(err)
		}
		lenient = lenient.With(rule)
	}
	for _, tc := range []struct {
		name, line string
		policy     tools.Policy
		file       string
		write      bool
		want       bool
	}{
		{"named", "cat .env", policy, ".env", false, true},
		{"another named", "cat config/.env.local", policy, ".env", false, false},
		{"not named", "npm test", policy, ".env", false, false},
		{"by rule", "npm test", lenient, "config/.env.local", false, true},
		{"not by the rule for another", "npm test", lenient, ".env", false, false},
		{"everything is above it", "grep -r x .", policy, ".env", false, false},
		{"a reader doesn't write", "cat .vscode/settings.json", policy, ".vscode", true, false},
		{"redirected", "echo x > .vscode/settings.json", policy, ".vscode", true, true},
		{"copied", "cp a.txt .vscode/settings.json", policy, ".vscode", true, true},
		{"by rule", "make", lenient, ".vscode", true, true},
		{"the folder", "rm -rf .vscode", policy, ".vscode", true, true},
		{"the workspace", "rm -rf .", policy, ".vscode", true, false},
		{"behind cd", "cd .vscode && touch settings.json", policy, ".vscode", true, true},
		{"git's own", "git remote add o u", policy, ".git/config", true, true},
		{"git's own, hooks not", "git remote add o u", policy, ".git/hooks", true, false},
		{"git that reads", "git status", policy, ".git/config", true, false},
		{"hidden in a substitution", "cat $(echo .env)", policy, ".env", false, true}, // it stands there; the person was asked
		{"not known", `cat "$X"`, policy, ".env", false, false},
		{"a glob", "cat .e*", policy, ".env", false, false},
	} {
		opens := tc.policy.Opens(tc.line)
		if got := opens(filepath.Join(tools.ResolveLinks(root), tc.file), tc.write); got != tc.want {
			t.Errorf("%s: %q opens %s: %v", tc.name, tc.line, tc.file, got)
		}
	}
	run := func(line string, p tools.Policy) tools.CommandResult {
		res, err := s.Run(context.Background(), tools.Command{Line: line, Dir: root, Opens: p.Opens(line)})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := run("cat .env", policy); !strings.Contains(res.Output, "canary") {
		t.Errorf("a named secret is hidden: %+v", res)
	}
	if res := run("git remote add o https://example.org/x && git checkout -qb x && mkdir -p .idea && touch .idea/x", policy); res.ExitCode != 0 || len(res.PutBack) > 0 {
		t.Errorf("what it names is guarded: %+v", res)
	}
}

// TestGuardsBesideEachOther: a command doesn't put back what one that runs at the
// same time was permitted to change, nor what the person has open.
func TestGuardsBesideEachOther(t *testing.T) {
	s, root, _ := guardedGround(t, func(o *tools.ShellOptions) { o.NoMounts = true })
	policy := tools.Policy{Rules: tools.Defaults(), Roots: []string{root}, Trusted: true, Resolve: tools.ResolveLinks}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	slow := make(chan tools.CommandResult)
	began := make(chan struct{}, 1)
	go func() {
		res, err := s.Run(ctx, tools.Command{Line: "echo up; while [ ! -e go ]; do sleep 0.01; done", Dir: root, Output: func(string) { began <- struct{}{} },
			Edited: func(abs string) bool { return filepath.Base(abs) == ".exrc" }})
		if err != nil {
			t.Error(err)
		}
		slow <- res
	}()
	<-began
	line := "echo changed > .vscode/settings.json"
	if res, err := s.Run(ctx, tools.Command{Line: line, Dir: root, Opens: policy.Opens(line)}); err != nil || len(res.PutBack) > 0 {
		t.Errorf("%+v, %v", res, err)
	}
	for _, name := range []string{".exrc", "go"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("the person's\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if res := <-slow; len(res.PutBack) > 0 {
		t.Errorf("put back: %v", res.PutBack)
	}
	for name, want := range map[string]string{".vscode/settings.json": "changed\n", ".exrc": "the person's\n"} {
		if b, _ := os.ReadFile(filepath.Join(root, name)); string(b) != want {
			t.Errorf("%s holds %q", name, b)
		}
	}
}

// TestHiddenIsSaid: a command that failed for want of a hidden file says so.
func TestHiddenIsSaid(t *testing.T) {
	s, root, _ := guardedGround(t)
	if !guards(t, s, root) {
		t.Skip("NOT TRIED: this system has no mounts for us")
	}
	r := tools.NewRegistry(tools.Bash())
	for line, want := range map[string]bool{"cat .e*": true, "ls /none": false, "echo .env; false": true, "cat .e* || true": false} {
		args, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		res := r.Run(context.Background(), tools.Env{Root: root, Roots: []string{root}, Shell: s, Output: func(string) {}}, "bash", args)
		if got := strings.Contains(res.Text, "[it could not read .env, config/.env.local: secret-looking files are hidden"); got != want {
			t.Errorf("%s: %q", line, res.Text)
		}
	}
}

// TestPutBackIsAnError: the model and the person see what was put back.
func TestPutBackIsAnError(t *testing.T) {
	s, root, _ := guardedGround(t)
	r := tools.NewRegistry(tools.Bash())
	res := r.Run(context.Background(), tools.Env{Root: root, Roots: []string{root}, Shell: s, Output: func(string) {}}, "bash", []byte(`{"command":"sh -c 'echo x > .nvim.lua'"}`))
	if res.Status != tools.StatusError || !strings.Contains(res.Text, ".nvim.lua was made, and has been taken away again") ||
		!strings.Contains(res.Detail.Summary, "1 guarded file put back") || len(res.Detail.PutBack) != 1 || !strings.HasPrefix(res.Detail.Sandbox, "sandboxed") {
		t.Errorf("got %+v", res)
	}
}
