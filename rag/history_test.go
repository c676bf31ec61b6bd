package rag

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repo is a git repository in a folder, with the Source that goes with it.
type repo struct {
	t *testing.T
	*memory
}

func newRepo(t *testing.T) *repo {
	r := &repo{t, newMemory(nil)}
	r.root = t.TempDir()
	if out, err := exec.Command("git", "-C", r.root, "init", "-q", "-b", "main").CombinedOutput(); err != nil {
		t.Skipf("git does not run here: %v %s", err, out)
	}
	return r
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", append([]string{"-C", r.root, "-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	out, err := c.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, "" removing one, and commits them.
func (r *repo) commit(message string, files map[string]string) {
	r.t.Helper()
	for p, s := range files {
		full := filepath.Join(r.root, p)
		if s == "" {
			r.remove(p)
			if err := os.Remove(full); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		r.put(p, s)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(s), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A")
	r.git("commit", "-q", "-m", message)
}

func ranker(it Item, name string) bool {
	return slices.ContainsFunc(it.Why, func(w Why) bool { return w.Ranker == name })
}

func TestHistoryFindsWhatTheTextDoesNotSay(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"a.go": "package a\n", "b.go": "package a\n\nvar x = 1\n", "c.go": "package a\n"})
	r.commit("speed up the nightly reconciliation", map[string]string{"b.go": "package a\n\nvar x = 2\n"})
	x := indexed(t, r)
	s := search(t, x, "reconciliation is slow every night")
	if len(s.Items) == 0 || s.Items[0].Path != "b.go" || !ranker(s.Items[0], "history") {
		t.Fatalf("%+v", s.Items)
	}
	s, err := x.Search(context.Background(), Query{Text: "reconciliation is slow every night", Without: []string{"history", "expansion", "changes", "cochange"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range s.Items {
		if ranker(it, "history") {
			t.Error("a ranker that is off gave a reason")
		}
	}
}

func TestHistoryFollowsMoves(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"old/b.go": "package a\n\nvar x, y, z = 1, 2, 3\n", "c.go": "package a\n"})
	r.commit("teach the frobnicator to sing", map[string]string{"old/b.go": "package a\n\nvar x, y, z = 2, 2, 3\n"})
	r.commit("tidy", map[string]string{"old/b.go": "", "new/b.go": "package a\n\nvar x, y, z = 2, 2, 3\n"})
	x := indexed(t, r)
	if s := search(t, x, "frobnicator sings"); len(s.Items) == 0 || s.Items[0].Path != "new/b.go" {
		t.Fatalf("found %v", itemPaths(s))
	}
}

// Only what HEAD descends from counts: other branches are other people's present.
func TestHistoryIsOfHeadAlone(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"a.go": "package a\n", "b.go": "package a\n"})
	r.git("checkout", "-q", "-b", "future")
	r.commit("introduce the zorblax", map[string]string{"b.go": "package a\n\nvar x = 1\n"})
	src := r.memory
	x := indexed(t, src)
	if s := search(t, x, "zorblax"); len(s.Items) == 0 || s.Items[0].Path != "b.go" {
		t.Fatalf("found %v", itemPaths(s))
	}
	r.git("checkout", "-q", "main")
	src.put("b.go", "package a\n")
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, it := range search(t, x, "zorblax").Items {
		if ranker(it, "history") {
			t.Errorf("a commit of another branch is a reason for %s", it.Path)
		}
	}
}

// The cache saves reading git again and changes nothing.
func TestHistoryCache(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"a.go": "package a\n", "b.go": "package a\n"})
	r.commit("polish the quux", map[string]string{"b.go": "package a\n\nvar quux = 1\n", "a.go": "package a\n\nvar y = 1\n"})
	dir := t.TempDir()
	x := openIndex(t, dir, r)
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := search(t, x, "quux polish").RetrievalSetID
	x.Close()
	y := openIndex(t, dir, r)
	if n := len(y.hist.commits); n != 2 {
		t.Errorf("%d commits in the cache", n)
	}
	if err := y.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := search(t, y, "quux polish"); got.RetrievalSetID != want {
		t.Errorf("found %v", itemPaths(got))
	}
}

// A repository's configuration may name programs that git would start. None may run.
func TestHistoryRunsNothingOfTheRepository(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"a.txt": "one\n", ".gitattributes": "*.txt diff=evil\n"})
	r.commit("more", map[string]string{"a.txt": "two\n"})
	canary := filepath.Join(t.TempDir(), "ran")
	hook := filepath.Join(t.TempDir(), "evil.sh")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+canary+"\ncat \"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, kv := range [][2]string{{"diff.external", hook}, {"diff.evil.textconv", hook}, {"diff.evil.command", hook}, {"core.fsmonitor", hook},
		{"log.showSignature", "true"}, {"gpg.program", hook}, {"core.pager", hook}} {
		r.git("config", kv[0], kv[1])
	}
	x := indexed(t, r)
	if n := len(x.hist.commits); n != 2 {
		t.Errorf("%d commits read", n)
	}
	if _, err := os.Stat(canary); err == nil {
		t.Fatal("a program that the repository names was run")
	}
}

func FuzzParseLog(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("\x01" + id + "\x00123\x00subject\n\nbody\n\x02\n\ndiff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@ func F\n-old\n+new\n")
	f.Add("\x01" + id + "\x00123\x00s\x02\n\nM\ta.go\nR100\told\tnew\nA\tq\n")
	f.Fuzz(func(t *testing.T, log string) {
		h := openHistory("", "", false)
		var tc termCache
		var ids []string
		parseLog(strings.NewReader(log), func(c rawCommit) {
			if len(c.files) > maxCommitFiles+1 {
				t.Fatalf("%d files", len(c.files))
			}
			h.add(&tc, c)
			ids = append(ids, c.id)
		})
		v := h.makeView(ids)
		scoreHistory(v, parseQuery("subject body new old func F").terms)
		for _, c := range h.commits {
			d := &decoder{b: appendCommit(nil, c)}
			if got := d.commit(uint32(len(h.names))); d.bad || got.id != c.id || len(d.b) != 0 {
				t.Fatalf("a commit does not survive its encoding: %+v", c)
			}
		}
	})
}
