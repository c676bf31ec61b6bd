package workspace

import (
	"fmt"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

func TestOverlay(t *testing.T) {
	w, in, _ := ground(t)
	uri := PathURI(in + "/a.txt")
	put(t, in+"/a.txt", "one\r\n𝒳two\r\n")
	d, err := w.OpenDoc(uri, 1, "one\r\n𝒳two\r\n")
	if err != nil || d.Place.Path != "a.txt" || d.Dirty() {
		t.Fatalf("%+v, %v", d, err)
	}
	at := func(l1, c1, l2, c2 int) *text.Range {
		return &text.Range{Start: text.Position{Line: l1, Col: c1}, End: text.Position{Line: l2, Col: c2}}
	}
	before, after, edits, err := w.ChangeDoc(uri, 2, []Change{{at(1, 2, 1, 2), "-"}, {at(0, 0, 0, 1), "O"}, {at(0, 3, 1, 0), " "}}, text.UTF16)
	if err != nil {
		t.Fatal(err)
	}
	if after.Text != "One 𝒳-two\r\n" || !after.Dirty() || after.Version != 2 || before.Text != "one\r\n𝒳two\r\n" {
		t.Errorf("%q, %+v", after.Text, after)
	}
	if got, err := text.Apply(before.Text, edits); err != nil || got != after.Text {
		t.Errorf("the edits %+v give %q, %v", edits, got, err)
	}
	if d, err = w.SaveDoc(uri); err != nil || d.Dirty() {
		t.Errorf("saved: %+v, %v", d, err)
	}
	if _, after, _, err = w.ChangeDoc(uri, 3, []Change{{nil, "whole\n"}}, text.UTF16); err != nil || after.Text != "whole\n" {
		t.Errorf("%+v, %v", after, err)
	}
	if got, ok := w.Doc(place(t, w, "a.txt")); !ok || got.Text != "whole\n" {
		t.Errorf("%+v, %v", got, ok)
	}
	if len(w.Docs()) != 1 {
		t.Error("docs", w.Docs())
	}
	if d, err = w.CloseDoc(uri); err != nil || d.Text != "whole\n" {
		t.Errorf("%+v, %v", d, err)
	}
	for what, err := range map[string]error{
		"change": second(w.ChangeDoc(uri, 4, nil, text.UTF16)), "save": first(w.SaveDoc(uri)), "close": first(w.CloseDoc(uri)),
	} {
		if err == nil {
			t.Errorf("%s of a closed document", what)
		}
	}
}

func first(_ Doc, err error) error                    { return err }
func second(_, _ Doc, _ []text.Edit, err error) error { return err }

// TestOverlayFollowsTheEditor: changes in any encoding lead to the editor's text.
func TestOverlayFollowsTheEditor(t *testing.T) {
	w, in, _ := ground(t)
	uri := PathURI(in + "/x.txt")
	rapid.Check(t, func(t *rapid.T) {
		enc := rapid.SampledFrom([]text.Encoding{text.UTF8, text.UTF16, text.UTF32}).Draw(t, "encoding")
		s := rapid.SampledFrom([]string{"", "a\nb\n", "é𝒳\r\nz"}).Draw(t, "text")
		if _, err := w.OpenDoc(uri, 0, s); err != nil {
			t.Fatal(err)
		}
		for v := range 8 {
			runes := []rune(s)
			i := rapid.IntRange(0, len(runes)).Draw(t, "from")
			j := rapid.IntRange(i, min(i+3, len(runes))).Draw(t, "to")
			now := rapid.SampledFrom([]string{"", "x", "𝒳\n", "\n"}).Draw(t, "new")
			from, to := len(string(runes[:i])), len(string(runes[:j]))
			if inEnd(s, from) || inEnd(s, to) {
				continue
			}
			r := text.NewIndex(s).Range(text.Span{Start: from, End: to}, enc)
			s = s[:from] + now + s[to:]
			_, after, _, err := w.ChangeDoc(uri, int32(v+1), []Change{{&r, now}}, enc)
			if err != nil || after.Text != s {
				t.Fatalf("%q, want %q (%v)", after.Text, s, err)
			}
		}
	})
}

// inEnd says whether an offset is between the two characters of a line's end,
// where no editor's cursor can be.
func inEnd(s string, i int) bool { return i > 0 && i < len(s) && s[i-1] == '\r' && s[i] == '\n' }

// TestOpenedUnsaved: a buffer that is opened with another text than the file's is
// unsaved; line ends and encodings of an editor's own are no other text.
func TestOpenedUnsaved(t *testing.T) {
	w, in, _ := ground(t)
	for _, c := range []struct {
		name, disk, opened string
		dirty              bool
	}{
		{"same", "a\nb\n", "a\nb\n", false},
		{"brought back", "a\nb\n", "a\nunsaved\n", true},
		{"emptied", "a\n", "", true},
		{"a mark", "\ufeffa\n", "a\n", false},
		{"UTF-16", "\xff\xfea\x00\n\x00", "a\n", false},
		{"UTF-16, changed", "\xff\xfea\x00\n\x00", "b\n", true},
		{"Latin-1", "caf\xe9\n", "café\n", false},
		{"line ends", "a\r\nb\nc\r", "a\nb\nc\n", false},
	} {
		name := filepath.Join(in, c.name)
		put(t, name, c.disk)
		d, err := w.OpenDoc(PathURI(name), 1, c.opened)
		if err != nil || d.Dirty() != c.dirty {
			t.Errorf("%s: dirty %v, %v", c.name, d.Dirty(), err)
		}
	}
	if d, err := w.OpenDoc(PathURI(filepath.Join(in, "new")), 1, "x"); err != nil || d.Dirty() {
		t.Errorf("a file that isn't there: dirty %v, %v", d.Dirty(), err)
	}
}

func TestEncoding(t *testing.T) {
	for s, want := range map[string]string{
		"plain": "utf-8", "": "utf-8", "\ufeffbom": "utf-8 with BOM", "caf\xe9": "unknown 8-bit", "\x00\x01": "binary", "\xff\xfea\x00": "utf-16",
	} {
		if got := Encoding([]byte(s)); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
	}
}

func TestWorkspaceWalk(t *testing.T) {
	w, in, out := ground(t)
	put(t, in+"/.gitignore", "ignored/\n")
	put(t, in+"/ignored/x.txt", "x")
	if err := w.SetRoots([]string{in, out}); err != nil {
		t.Fatal(err)
	}
	walk := func(dir string, max int) string {
		var got []string
		if err := w.Walk(t.Context(), place(t, w, dir), func(i Info) bool {
			got = append(got, i.Path)
			return len(got) < max
		}); err != nil {
			t.Error(err)
		}
		return fmt.Sprint(got)
	}
	if got := walk(".", 99); got != "[.gitignore .vscode/tasks.json a.txt sub/b.txt]" {
		t.Error(got)
	}
	if got := walk(".", 2); got != "[.gitignore .vscode/tasks.json]" {
		t.Error(got)
	}
	if got := walk("sub", 99) + walk("a.txt", 99) + walk(out, 99); got != "[sub/b.txt][a.txt]["+out+"/canary.txt]" {
		t.Error(got)
	}
	entries, more, err := w.ListDir(place(t, w, "sub"))
	if err != nil || more || len(entries) != 1 || entries[0].Path != "sub/b.txt" || entries[0].Size != 2 {
		t.Errorf("%+v, %v", entries, err)
	}
	if _, _, err := w.ListDir(place(t, w, "a.txt")); reasonOf(err) != "not a folder" {
		t.Error(err)
	}
}
