package edits_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/tools"
)

// TestBytesSurvive: whatever a file is made of, an edit changes the bytes that
// it changes and no others, and rejecting it gives the very bytes back, with
// the mode.
func TestBytesSurvive(t *testing.T) {
	for _, c := range []struct {
		name, old, from, to string
		mode                os.FileMode
	}{
		{"plain", "a\nb\nc\n", "b", "B", 0o644},
		{"BOM", "\ufeffa\nb\n", "b", "B", 0o644},
		{"BOM, first line", "\ufeffa\nb\n", "a", "A", 0o644},
		{"CRLF", "a\r\nb\r\nc\r\n", "b\r\n", "B\r\nnew\r\n", 0o644},
		{"mixed line ends", "a\r\nb\nc\r\n", "b\n", "B\n", 0o644},
		{"old Mac line ends", "a\rb\rc\r", "b", "B", 0o644},
		{"no final newline", "a\nb", "b", "B", 0o644},
		{"final newline added", "a\nb", "b", "b\n", 0o644},
		{"final newline taken", "a\nb\n", "b\n", "b", 0o644},
		{"Latin-1", "caf\xe9\nb\n\xfc\n", "b", "B", 0o644},
		{"Latin-1, the line itself", "caf\xe9 b\n", "b", "B", 0o644},
		{"UTF-16", "\xff\xfea\x00\r\x00\n\x00b\x00\r\x00\n\x00", "b\x00", "B\x00\r\x00\n\x00c\x00", 0o644},
		{"UTF-16, big end first", "\xfe\xff\x00b\x00\n", "\x00b", "\x00B", 0o755},
		{"UTF-16 with pairs", "\xff\xfe\x35\xd8\xb3\xdcb\x00", "b\x00", "\x35\xd8\xb3\xdc", 0o644},
		{"executable", "#!/bin/sh\necho b\n", "b\n", "B\n", 0o755},
		{"private", "a\nb\n", "b", "B", 0o600},
		{"empty", "", "", "new\n", 0o644},
		{"emptied", "a\n", "a\n", "", 0o644},
		{"one long line", strings.Repeat("x", 1<<20) + "b", "b", "B", 0o644},
		{"astral", "𝒳\nb𝒳\n", "b", "B", 0o644},
		{"form feed and controls", "a\f\nb\x1b[0m\v\n", "b", "B", 0o644},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, mode := range []edits.Mode{edits.ModeReview, edits.ModeAsk} {
				for _, open := range []bool{false, true} {
					if open && strings.Contains(c.old, "\xe9") {
						continue // an editor shows it as other characters: see TestLatin1InTheEditor
					}
					r := newRig(t, map[string]string{"f": c.old})
					if err := os.Chmod(r.abs("f"), c.mode); err != nil {
						t.Fatal(err)
					}
					if open {
						r.editor.Open(r.abs("f"))
					}
					want := strings.Replace(c.old, c.from, c.to, 1)
					a := r.mustChange("t", mode, "f", c.from, c.to)
					if mode == edits.ModeAsk {
						r.eq("disk before it is accepted", r.disk("f"), c.old)
						r.resolve(edits.ResolveRequest{EditID: a.EditID, Decision: edits.Accept})
						r.save("f", open)
						r.eq("disk", r.disk("f"), want)
						continue
					}
					r.save("f", open)
					r.eq("disk", r.disk("f"), want)
					r.resolve(edits.ResolveRequest{EditID: a.EditID, Decision: edits.Reject})
					r.save("f", open)
					r.eq("disk after rejecting", r.disk("f"), c.old)
					if fi, err := os.Stat(r.abs("f")); err != nil || fi.Mode().Perm() != c.mode {
						t.Errorf("mode %v, %v", fi.Mode(), err)
					}
				}
			}
		})
	}
}

func (r *rig) save(name string, open bool) {
	r.t.Helper()
	if open {
		if err := r.editor.Save(r.abs(name)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// TestClearRefusals: what can't be done right is not done, and said so.
func TestRefusals(t *testing.T) {
	huge := strings.Repeat("0123456789abcdef0123456789abcde\n", 50<<20/32)
	r := newRig(t, map[string]string{"ro": abc, "huge": huge, "bin": "a\x00b\n", "wide": "\xff\xfea\x00\n", "gone": abc, ".env": "K=canary\n",
		".git/config": "x\n", ".vscode/settings.json": "{}\n"})
	if err := os.Chmod(r.abs("ro"), 0o444); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	fs := r.files("t", edits.ModeReview)
	for _, c := range []struct{ path, want string }{
		{"ro", "read-only"}, {"huge", "too large"}, {"bin", "binary"}, {"wide", "binary"},
		{".env", "secret"}, {".git/config", "inside .git"}, {".vscode/settings.json", "settings"}, {"../x", "outside"}, {"/etc/hosts", "outside"},
		{"sub/../.git/hooks/post-commit", "inside .git"}, {".", "folder"},
	} {
		before := ""
		if b, err := os.ReadFile(r.abs(c.path)); err == nil {
			before = string(b)
		}
		base := []byte(before)
		if f, err := fs.Read(ctx, c.path); err == nil {
			base = f.Data
		}
		_, err := fs.Change(ctx, tools.Change{Path: c.path, Base: base, New: append(bytes.Clone(base[:min(len(base), 100)]), "more\n"...)})
		var pe *tools.PathError
		if !errors.As(err, &pe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.200v, want a refusal that says %q", c.path, err, c.want)
		}
		if b, _ := os.ReadFile(r.abs(c.path)); string(b) != before {
			t.Errorf("%s was changed", c.path)
		}
	}
	if n, _ := r.l.Pending(); n != 0 || r.store.Len() != 0 {
		t.Errorf("%d hunks, %d events after refusals only", n, r.store.Len())
	}
	// A file of 50 MB can at least be read; deleting a binary file can be undone.
	if f, err := fs.Read(ctx, "huge"); err != nil || len(f.Data) != len(huge) {
		t.Errorf("reading 50 MB: %d bytes, %v", len(f.Data), err)
	}
	if _, err := fs.Change(ctx, tools.Change{Path: "bin", Base: []byte("a\x00b\n")}); err != nil {
		t.Error(err)
	}
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Reject})
	r.eq("bin", r.disk("bin"), "a\x00b\n")
	// Gone, made, or changed in between: said, with the place.
	f, err := fs.Read(ctx, "gone")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(r.abs("gone")); err != nil {
		t.Fatal(err)
	}
	var stale *tools.StaleError
	if _, err := fs.Change(ctx, tools.Change{Path: "gone", Base: f.Data, New: []byte("x")}); !errors.As(err, &stale) || stale.What != "it is gone" {
		t.Errorf("a deleted file: %v", err)
	}
	r.write("gone", "a\nb\nC by hand\nd\ne\nf\n")
	if _, err := fs.Change(ctx, tools.Change{Path: "gone", Base: f.Data, New: []byte("a\nb\nc agent\nd\ne\nf\n")}); !errors.As(err, &stale) || stale.What != "line 3" {
		t.Errorf("the same line: %v", err)
	}
	a, err := fs.Change(ctx, tools.Change{Path: "gone", Base: f.Data, New: []byte("a\nb\nc\nd\ne\nF\n")})
	if err != nil || !a.Rebased {
		t.Errorf("another line: %+v, %v", a, err)
	}
	r.eq("gone", r.disk("gone"), "a\nb\nC by hand\nd\ne\nF\n")
	if _, err := fs.Change(ctx, tools.Change{Path: "gone", New: []byte("x")}); !errors.As(err, &stale) {
		t.Errorf("made over a file: %v", err)
	}
}

// TestPermitted: what the person permits is done.
func TestPermitted(t *testing.T) {
	r := newRig(t, map[string]string{".vscode/settings.json": "{}\n"})
	if err := r.l.Permit(".vscode/settings.json", 1); err != nil {
		t.Fatal(err)
	}
	r.mustChange("t", edits.ModeReview, ".vscode/settings.json", "{}", "{\"a\":1}")
	r.eq("settings", r.disk(".vscode/settings.json"), "{\"a\":1}\n")
}

// TestDeletedMeanwhile: a file that the person deletes takes its hunks along;
// when it comes back as it was, so do they.
func TestDeletedMeanwhile(t *testing.T) {
	r := newRig(t, map[string]string{"a": abc})
	r.mustChange("t", edits.ModeReview, "a", "b\n", "B\n")
	now := r.disk("a")
	if err := os.Remove(r.abs("a")); err != nil {
		t.Fatal(err)
	}
	r.l.DiskChanged([]string{"a"})
	r.eq("hunks", r.hunks(), "")
	r.write("a", now)
	r.l.DiskChanged([]string{"a"})
	r.eq("hunks", r.hunks(), `a:1-2 "b\n"→"B\n" pending`)
}

// TestRenamedMeanwhile: hunks follow their file, told by the editor or seen on
// disk.
func TestRenamedMeanwhile(t *testing.T) {
	r := newRig(t, map[string]string{"dir/a": abc})
	r.mustChange("t", edits.ModeReview, "dir/a", "b\n", "B\n")
	if err := os.Rename(r.abs("dir/a"), r.abs("b")); err != nil {
		t.Fatal(err)
	}
	r.l.DiskChanged([]string{"dir/a", "b"})
	r.eq("hunks", r.hunks(), `b:1-2 "b\n"→"B\n" pending`)
	if err := os.MkdirAll(r.abs("new"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.abs("b"), r.abs("new/c")); err != nil {
		t.Fatal(err)
	}
	if err := r.l.DidRename("b", "new/c"); err != nil {
		t.Fatal(err)
	}
	r.eq("hunks", r.hunks(), `new/c:1-2 "b\n"→"B\n" pending`)
	r.start()
	r.eq("hunks after a restart", r.hunks(), `new/c:1-2 "b\n"→"B\n" pending`)
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Reject})
	r.eq("disk", r.disk("new/c"), abc)
}

// TestLatin1InTheEditor: a buffer shows other bytes than the disk has. The edit
// goes through the buffer; nothing is lost on the way in or out.
func TestLatin1InTheEditor(t *testing.T) {
	r := newRig(t, map[string]string{"f": "caf\xe9\nb\nc\n"})
	uri := "file://" + r.abs("f")
	if err := r.l.DidOpen(uri, 1, "café\nb\nc\n"); err != nil { // decoded by the editor
		t.Fatal(err)
	}
	f, err := r.files("t", edits.ModeAsk).Read(context.Background(), "f")
	if err != nil {
		t.Fatal(err)
	}
	r.eq("the agent's view", string(f.Data), "café\nb\nc\n")
	r.mustChange("t", edits.ModeAsk, "f", "b\n", "B\n")
	if err := r.l.DidClose(uri); err != nil {
		t.Fatal(err)
	}
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("disk", r.disk("f"), "caf\xe9\nB\nc\n")
}

// TestFormSurvivesDeletion: a file that the agent deleted comes back with its
// bytes and mode when that is rejected, also after a restart.
func TestFormSurvivesDeletion(t *testing.T) {
	for name, old := range map[string]string{"plain": "a\n", "BOM": "\ufeffa\r\n", "UTF-16": "\xff\xfea\x00\n\x00", "Latin-1": "caf\xe9\n"} {
		for _, restart := range []bool{false, true} {
			r := newRig(t, map[string]string{"f": old})
			if err := os.Chmod(r.abs("f"), 0o755); err != nil {
				t.Fatal(err)
			}
			a, err := r.files("t", edits.ModeReview).Change(context.Background(), tools.Change{Path: "f", Base: []byte(old)})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(r.abs("f")); err == nil {
				t.Fatal("it is still there")
			}
			if restart {
				r.start()
			}
			r.resolve(edits.ResolveRequest{EditID: a.EditID, Decision: edits.Reject})
			r.eq(name+": disk after rejecting", r.disk("f"), old)
			if fi, err := os.Stat(r.abs("f")); err != nil || fi.Mode().Perm() != 0o755 {
				t.Errorf("%s, restarted %v: mode %v, %v", name, restart, fi.Mode(), err)
			}
		}
	}
}

// TestThroughADanglingLink: a file is made where a link leads.
func TestThroughADanglingLink(t *testing.T) {
	r := newRig(t, nil)
	if err := os.Symlink("sub/real", r.abs("link")); err != nil {
		t.Fatal(err)
	}
	fs := r.files("t", edits.ModeReview)
	if _, err := fs.Change(context.Background(), tools.Change{Path: "link", New: []byte("a\n")}); err != nil {
		t.Fatal(err)
	}
	r.eq("the file that it leads to", r.disk("sub/real"), "a\n")
	if fi, err := os.Lstat(r.abs("link")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", fi, err)
	}
	_, err := fs.Change(context.Background(), tools.Change{Path: "link/below", New: []byte("a\n")})
	var pe *tools.PathError
	if !errors.As(err, &pe) || pe.Reason != "below a file" {
		t.Errorf("below a file: %v", err)
	}
}
