package workspace

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience bounds a wait for the system; nothing is measured by it.
const patience = 20 * time.Second

// expect takes batches until all the paths have been told.
func expect(t *testing.T, w *Watcher, want ...string) {
	t.Helper()
	left := slices.Clone(want)
	deadline := time.After(patience)
	for len(left) > 0 {
		select {
		case b := <-w.Changes():
			left = slices.DeleteFunc(left, func(p string) bool { return slices.Contains(b.Paths, p) })
		case <-deadline:
			t.Fatalf("never told of %v", left)
		}
	}
}

func watching(t *testing.T, dir string) *Watcher {
	t.Helper()
	w, err := open(t, dir).Watch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestWatchTellsOfChanges(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "1", "sub/b.go": "1", "ign/c.go": "1", ".gitignore": "ign/\n"})
	w := watching(t, dir)
	write(t, dir, map[string]string{"a.go": "2"})
	expect(t, w, "a.go")
	// An atomic save: written beside, then renamed over.
	write(t, dir, map[string]string{"sub/b.go.new": "2"})
	if err := os.Rename(filepath.Join(dir, "sub/b.go.new"), filepath.Join(dir, "sub/b.go")); err != nil {
		t.Fatal(err)
	}
	expect(t, w, "sub/b.go")
	// A second one, on the file that was put there by renaming.
	write(t, dir, map[string]string{"sub/b.go": "3"})
	expect(t, w, "sub/b.go")
	if err := os.Remove(filepath.Join(dir, "a.go")); err != nil {
		t.Fatal(err)
	}
	expect(t, w, "a.go")
}

func TestWatchFollowsNewFolders(t *testing.T) {
	dir := t.TempDir()
	w := watching(t, dir)
	write(t, dir, map[string]string{"new/deep/er/x.go": "1"})
	expect(t, w, "new")
	write(t, dir, map[string]string{"new/deep/er/y.go": "1"})
	expect(t, w, "new/deep/er/y.go")
}

func TestWatchFollowsMovedFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"old/in/x.go": "1"})
	w := watching(t, dir)
	if err := os.Rename(filepath.Join(dir, "old"), filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	expect(t, w, "old", "moved")
	write(t, dir, map[string]string{"moved/in/x.go": "2"})
	expect(t, w, "moved/in/x.go")
}

func TestWatchTellsOfTheCommit(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "1"})
	gitInit(t, dir)
	w := watching(t, dir)
	if out, err := exec.Command("git", "-C", dir, "symbolic-ref", "HEAD", "refs/heads/other").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	deadline := time.After(patience)
	for {
		select {
		case b := <-w.Changes():
			if b.HeadMoved {
				return
			}
		case <-deadline:
			t.Fatal("never told")
		}
	}
}

func TestIgnoreRulesChangeAsksForRescan(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "1"})
	w := watching(t, dir)
	write(t, dir, map[string]string{".gitignore": "a.go\n"})
	deadline := time.After(patience)
	for {
		select {
		case b := <-w.Changes():
			if b.Rescan {
				return
			}
		case <-deadline:
			t.Fatal("never asked")
		}
	}
}

// More paths than a batch holds, and nobody taking them, end as one rescan.
func TestOverflowAsksForRescan(t *testing.T) {
	w := &Watcher{seen: map[string]bool{}}
	for i := range maxBatch + 5 {
		w.changed(fmt.Sprintf("f%d", i))
	}
	b := w.take()
	if !b.Rescan || len(b.Paths) != 0 {
		t.Fatalf("rescan %v with %d paths", b.Rescan, len(b.Paths))
	}
}

func TestNoWatchesLeftFallsBackToPolling(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.go": "1", "sub/b.go": "1"})
	s := open(t, dir)
	refuse := func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }
	w, err := s.watch(context.Background(), refuse, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !strings.Contains(w.Note(), "max_user_watches") {
		t.Errorf("the note does not say what to do: %q", w.Note())
	}
	write(t, dir, map[string]string{"sub/b.go": "longer", "c.go": "1"})
	expect(t, w, "sub/b.go", "c.go")
	if err := os.Remove(filepath.Join(dir, "a.go")); err != nil {
		t.Fatal(err)
	}
	expect(t, w, "a.go")
}

func TestCloseWhileAbatchWaits(t *testing.T) {
	dir := t.TempDir()
	w := watching(t, dir)
	write(t, dir, map[string]string{"a.go": "1"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-w.Changes(); open {
		if _, open := <-w.Changes(); open {
			t.Fatal("changes after Close")
		}
	}
}
