package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
)

// TestUnsavedStamp: the index sees by its stamp that something was typed into a
// buffer, and that the buffer is gone.
func TestUnsavedStamp(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "a.go")
	if err := os.WriteFile(name, []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	space, err := workspace.Open([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer space.Close()
	src, err := newSource(root, space)
	if err != nil {
		t.Fatal(err)
	}
	stamp := func() rag.File {
		list, err := src.Files(context.Background(), []string{"a.go"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		return list[0]
	}
	uri := workspace.PathURI(name)
	disk := stamp()
	if _, err := space.OpenDoc(uri, 1, "package a\n"); err != nil || stamp() != disk {
		t.Errorf("a buffer that is saved has another stamp: %v, %v", stamp(), err)
	}
	seen := map[rag.File]bool{disk: true}
	for version, s := range []string{"package a // one\n", "package a // two\n"} {
		if _, _, _, err := space.ChangeDoc(uri, int32(version+2), []workspace.Change{{Text: s}}, text.UTF16); err != nil {
			t.Fatal(err)
		}
		if seen[stamp()] {
			t.Errorf("%q has the stamp of another text", s)
		}
		seen[stamp()] = true
		if got, err := src.Read("a.go"); err != nil || string(got) != s {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if _, err := space.CloseDoc(uri); err != nil || stamp() != disk {
		t.Errorf("the buffer is gone: %v, %v", stamp(), err)
	}
}
