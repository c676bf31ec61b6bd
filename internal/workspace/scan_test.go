package workspace

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func gitInit(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("git", "-C", dir, "init", "-q").CombinedOutput(); err != nil {
		t.Skipf("git does not run here: %v %s", err, out)
	}
}

var tree = map[string]string{
	"main.go":                   "package main",
	"docs/guide.md":             "# Guide",
	"build/out.o.txt":           "x",
	"build/keep.txt":            "x",
	"a/b/c/deep.py":             "x = 1",
	"a/b/ignored.log":           "x",
	"a/b/important.log":         "x",
	"a/logs/x.txt":              "x",
	"logs/x.txt":                "x",
	"node_modules/p/index.js":   "x",
	"sub/node_modules/index.js": "x",
	"sub/only-here.tmp":         "x",
	"other/only-here.tmp":       "x",
	"weird [name].txt":          "x",
	"[ab].txt":                  "x",
	"a.txt":                     "x",
	"spa ce/übung.txt":          "x",
	".hidden/file.txt":          "x",
	".gitignore":                "*.log\n!important.log\n/logs/\nnode_modules/\nbuild/*\n!build/keep.txt\n\\[ab\\].txt\n# note\n",
	"sub/.gitignore":            "*.tmp\n",
}

func TestGitAndWalkAgree(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, tree)
	plain := open(t, dir)
	plain.git = false
	walked, err := plain.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	gitInit(t, dir)
	byGit, err := open(t, dir).Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(paths(byGit), paths(walked)); d != "" {
		t.Errorf("git (-) and the walk (+) disagree:\n%s", d)
	}
	want := []string{".gitignore", ".hidden/file.txt", "a.txt", "a/b/c/deep.py", "a/b/important.log", "a/logs/x.txt", "build/keep.txt",
		"docs/guide.md", "main.go", "other/only-here.tmp", "spa ce/übung.txt", "sub/.gitignore", "weird [name].txt"}
	if d := cmp.Diff(want, paths(byGit)); d != "" {
		t.Errorf("the list (-want +got):\n%s", d)
	}
}

func TestScanIsSorted(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewSource(1))
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("d%d/e%d/f%d.go", r.Intn(9), r.Intn(9), i)] = "package p"
	}
	write(t, dir, files)
	s := open(t, dir)
	first, err := s.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != len(files) || !slices.IsSorted(paths(first)) {
		t.Fatalf("%d files, sorted: %v", len(first), slices.IsSorted(paths(first)))
	}
	again, err := s.Scan(context.Background(), nil)
	if err != nil || !slices.Equal(first, again) {
		t.Fatalf("a second scan differs (%v)", err)
	}
}

func TestScanOfSomePaths(t *testing.T) {
	for _, git := range []bool{true, false} {
		dir := t.TempDir()
		write(t, dir, tree)
		if git {
			gitInit(t, dir)
		}
		s := open(t, dir)
		s.git = git
		got, err := s.Scan(context.Background(), []string{"sub", "a/b", "main.go", "gone.go", "logs"})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"a/b/c/deep.py", "a/b/important.log", "main.go", "sub/.gitignore"}
		if d := cmp.Diff(want, paths(got)); d != "" {
			t.Errorf("git=%v (-want +got):\n%s", git, d)
		}
		if _, err := s.Scan(context.Background(), []string{"../x"}); err == nil {
			t.Error("a path outside was accepted")
		}
	}
}

func TestOwnIgnoreFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "x", "gen/b.go": "x", "gen/keep.go": "x", "x/c.sql": "x",
		IgnoreFile: "gen/*\n!gen/keep.go\n", "x/" + IgnoreFile: "*.sql\n"})
	gitInit(t, dir)
	got, err := open(t, dir).Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{IgnoreFile, "a.go", "gen/keep.go", "x/" + IgnoreFile}, paths(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSecretsNeverListed(t *testing.T) {
	dir := t.TempDir()
	secrets := []string{".env", "app/.env.production", "key.pem", ".ssh/config", "id_rsa", "conf/credentials.json", ".aws/credentials", "x/.git/config"}
	files := map[string]string{"ok.go": "x", ".env.example": "x"}
	for _, s := range secrets {
		files[s] = "hush"
	}
	write(t, dir, files)
	s := open(t, dir)
	s.git = false
	got, err := s.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{".env.example", "ok.go"}, paths(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, p := range secrets {
		if b, err := s.Read(p); !errors.Is(err, ErrNotLookable) {
			t.Errorf("Read(%s) = %q, %v", p, b, err)
		}
	}
}

func TestLinksStayInside(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret.txt": "outside", "d/x.txt": "outside"})
	write(t, dir, map[string]string{"in.txt": "in"})
	for name, to := range map[string]string{"out.txt": filepath.Join(outside, "secret.txt"), "outdir": outside,
		"loop": dir, "self": "self", "inside": "in.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no symbolic links here")
		}
	}
	for _, git := range []bool{false, true} {
		if git {
			gitInit(t, dir)
		}
		s := open(t, dir)
		s.git = git
		got, err := s.Scan(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"in.txt"}, paths(got)); d != "" {
			t.Errorf("git=%v (-want +got):\n%s", git, d)
		}
		for _, p := range []string{"out.txt", "outdir/secret.txt", "../" + filepath.Base(outside) + "/secret.txt", "/etc/hostname"} {
			if b, err := s.Read(p); err == nil {
				t.Errorf("Read(%s) = %q", p, b)
			}
		}
	}
}

func TestScanSkipsWhatIsNoText(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "x", "logo.png": "x", "lib.SO": "x", "big.txt": strings.Repeat("x", MaxFileBytes+1), "edge.txt": strings.Repeat("x", MaxFileBytes)})
	s := open(t, dir)
	got, err := s.Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.go", "edge.txt"}, paths(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := s.Read("big.txt"); err == nil {
		t.Error("a huge file was read")
	}
	if b, err := s.Read("edge.txt"); err != nil || len(b) != MaxFileBytes {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestRepositoriesInside(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "x", "inner/b.go": "x", "inner/c.log": "x", "inner/.gitignore": "*.log\n"})
	gitInit(t, dir)
	gitInit(t, filepath.Join(dir, "inner"))
	got, err := open(t, dir).Scan(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a.go", "inner/.gitignore", "inner/b.go"}, paths(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A repository's own configuration may name programs. None of them may run.
func TestScanRunsNothingOfTheRepository(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "x"})
	gitInit(t, dir)
	canary := filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(t.TempDir(), "hook.sh")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+canary+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".git", "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "[core]\n\tfsmonitor = %s\n\tpager = %s\n", hook, hook)
	f.Close()
	if _, err := open(t, dir).Scan(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Fatal("the scan ran a program that the repository names")
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add([]byte("*.log\n!important.log\n/logs/\nbuild/**\n[a-z]?.txt\n\\!x\n"), "a/b/x.log")
	f.Add([]byte("[\n[!\n***\n/**/\n\\"), "[")
	f.Fuzz(func(t *testing.T, rules []byte, p string) {
		if len(rules) > 4096 || len(p) > 512 {
			return
		}
		if g := parseIgnore(rules, "/"); g != nil {
			ask(g, p, false)
			ask(g, p, true)
		}
		IsSecret(p)
		Lookable(p)
	})
}

// A folder that a repository around it ignores is a workspace like any other.
func TestScanInsideIgnoredFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{".gitignore": "cache/\n", "a.go": "1", "cache/copy/b.go": "1", "cache/copy/.gitignore": "c.go\n", "cache/copy/c.go": "1"})
	gitInit(t, dir)
	s, err := NewScanner(filepath.Join(dir, "cache", "copy"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.Scan(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Path)
	}
	if want := []string{".gitignore", "b.go"}; !slices.Equal(names, want) {
		t.Errorf("found %v, want %v", names, want)
	}
}
