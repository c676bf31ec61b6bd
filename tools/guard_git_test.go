package tools

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHarmlessGit: only remotes, branches and what init writes may be added.
func TestHarmlessGit(t *testing.T) {
	const plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	for _, tc := range []struct {
		name, was, is string
		want          bool
	}{
		{"new", "", plain, true},
		{"the same", plain, plain, true},
		{"a remote", plain, plain + "[remote \"origin\"]\n\turl = https://example.org/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", true},
		{"a branch", plain, plain + "[branch \"x\"]\n\tremote = origin\n\tmerge = refs/heads/x\n", true},
		{"something went", plain, "[core]\n\tbare = false\n", false},
		{"a monitor", plain, plain + "[core]\n\tfsmonitor = ./x\n", false},
		{"in capitals", plain, plain + "[CORE]\n\tFSMonitor = ./x\n", false},
		{"behind the section", plain, plain + "[core] fsmonitor = ./x\n", false},
		{"behind it, ending as one", plain, plain + "[core] fsmonitor = ./x ]\n", false},
		{"behind it, without a blank", plain, plain + "[core]fsmonitor=./x[]\n", false},
		{"hooks", plain, plain + "[core]\n\thooksPath = x\n", false},
		{"an include", plain, plain + "[include]\n\tpath = ../x\n", false},
		{"an alias", plain, plain + "[alias]\n\tst = !x\n", false},
		{"a program as a remote", plain, plain + "[remote \"o\"]\n\turl = ext::sh -c x\n", false},
		{"a line goes on", plain, plain + "[remote \"o\"]\n\turl = \\\n[core]\n", false},
		{"a quote in a name", plain, plain + "[branch \"x\\\"]\n\"]\n\tmerge = x\n", false},
		{"no newline at the end", plain, plain + "[core]\n\tfsmonitor", false},
	} {
		if got := harmlessGit([]byte(tc.was), []byte(tc.is)); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// FuzzHarmlessGit: what git itself reads beside the harmless keys is found.
func FuzzHarmlessGit(f *testing.F) {
	for _, s := range []string{"[core]\n\tbare = false\n", "[remote \"o\"]\n\turl = x\n", "[core] fsmonitor = x ]", "[user]name=a\\\n", "[a.b]c", "[core\n]\nx=y", "\ufeff[core]\nx=1\n"} {
		f.Add(s)
	}
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git on this machine")
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !harmlessGit(nil, []byte(s)) {
			return
		}
		git := exec.Command("git", "config", "--file", "-", "--list", "-z", "--no-includes")
		git.Stdin, git.Dir = strings.NewReader(s), t.TempDir()
		out, err := git.Output()
		if err != nil {
			return // git doesn't take it either
		}
		for entry := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			key, _, _ := strings.Cut(entry, "\n")
			if key == "" {
				continue
			}
			section, _, _ := strings.Cut(key, ".")
			if name := key[strings.LastIndexByte(key, '.')+1:]; !harmlessKeys[section+"."+name] {
				t.Errorf("%q is harmless, but git reads %q", s, key)
			}
		}
	})
}

// TestGitIndex: what git knows is found in its index, nothing else.
func TestGitIndex(t *testing.T) {
	root := t.TempDir()
	for _, line := range []string{"git init -q", "mkdir -p certs", "touch certs/server.key certs/other.key my-certs a", "git add certs/server.key a", "git worktree list"} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	index := gitIndex(root)
	for name, want := range map[string]bool{"certs/server.key": true, "a": true, "certs/other.key": false, "server.key": false, "certs": false, "": false} {
		if got := inGitIndex(index, name); got != want {
			t.Errorf("%q is in the index: %v", name, got)
		}
	}
	if gitIndex(filepath.Join(root, "certs")) != nil {
		t.Error("a folder without a repository has an index")
	}
}
