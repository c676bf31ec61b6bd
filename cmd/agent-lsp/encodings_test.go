package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/fakeeditor"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

// wideLine has characters of one to four bytes, and ends without a line's end:
// a hunk over it ends in another column for everybody.
const wideLine = "é 漢字 😀👩‍👩‍👧 hello 字😀"

// TestEncodings: windows on one folder that count columns in different units
// each type, are edited and are told where hunks are in their own.
func TestEncodings(t *testing.T) {
	t.Parallel()
	units := []string{"utf-16", "utf-8", "utf-32"}
	files := map[string]string{"shared.txt": wideLine}
	for _, u := range units {
		files[u+".txt"] = "# head\n" + wideLine
	}
	dir, env := writeFiles(t, files), home(t)
	ctx, cancel := context.WithTimeout(context.Background(), commandWait)
	defer cancel()
	var windows []*fakeeditor.Editor
	for _, u := range units {
		w := window(ctx, t, env, dir, fakeeditor.Options{Encodings: []string{u}})
		if w.Encoding() != u {
			t.Fatalf("%s was offered, %s agreed on", u, w.Encoding())
		}
		windows = append(windows, w)
	}
	for i, w := range windows {
		uri := openIn(ctx, t, w, filepath.Join(dir, units[i]+".txt"))
		if err := w.Type(ctx, uri, "字😀", "字🎉 typed"); err != nil {
			t.Fatal(err)
		}
		if err := w.Type(ctx, uri, "👩‍👩‍👧", "👩‍👧"); err != nil { // before what was typed first
			t.Fatal(err)
		}
		if err := w.Barrier(ctx); err != nil { // the server has read it
			t.Fatal(err)
		}
	}
	for i, w := range windows {
		path := filepath.Join(dir, units[i]+".txt")
		agentEdits(ctx, t, windows[(i+1)%len(windows)], fmt.Sprintf("replace hello with goodbye in %s.txt", units[i]))
		want := "# head\né 漢字 😀👩‍👧 goodbye 字🎉 typed"
		if got, _, _ := w.Text(fakeeditor.URI(path)); got != want {
			t.Errorf("the %s window has %q, want %q", units[i], got, want)
		}
	}
	for i, w := range windows {
		for j := range windows {
			uri := fakeeditor.URI(filepath.Join(dir, units[j]+".txt"))
			content, _, _ := windows[j].Text(uri)
			checkPlaces(ctx, t, w, units[i], uri, content)
		}
	}

	// A document that all have open is read from who opened it first. What the
	// others type meanwhile counts once that one has closed it.
	shared := filepath.Join(dir, "shared.txt")
	uri := fakeeditor.URI(shared)
	for _, w := range windows {
		openIn(ctx, t, w, shared)
	}
	if err := windows[1].Type(ctx, uri, "😀👩‍👩‍👧 ", "👩‍👩‍👧😀 my "); err != nil {
		t.Fatal(err)
	}
	if err := windows[1].Barrier(ctx); err != nil {
		t.Fatal(err)
	}
	if err := windows[0].CloseDocument(ctx, uri); err != nil {
		t.Fatal(err)
	}
	if err := windows[0].Barrier(ctx); err != nil {
		t.Fatal(err)
	}
	agentEdits(ctx, t, windows[2], "replace hello with goodbye in shared.txt")
	want := "é 漢字 👩‍👩‍👧😀 my goodbye 字😀"
	if got, _, _ := windows[1].Text(uri); got != want {
		t.Errorf("the second window has %q, want %q", got, want)
	}
	for i, w := range windows {
		checkPlaces(ctx, t, w, units[i], uri, want)
		for _, fault := range w.Faults() {
			t.Errorf("%s: %s", units[i], fault)
		}
	}
}

// window starts a server with an editor that keeps documents.
func window(ctx context.Context, t *testing.T, env []string, dir string, o fakeeditor.Options) *fakeeditor.Editor {
	t.Helper()
	cmd := exec.Command(binary, "--stdio")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o.RootURI = fakeeditor.URI(dir)
	w, err := fakeeditor.Connect(ctx, struct {
		io.Reader
		io.WriteCloser
	}{out, in}, o)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the server ends with its input
		<-w.Done()
		_ = w.Close()
		_ = cmd.Wait()
	})
	if _, err := w.Status(ctx, &agent.SessionRef{}); err != nil { // it has its place among the others
		t.Fatal(err)
	}
	return w
}

func openIn(ctx context.Context, t *testing.T, w *fakeeditor.Editor, path string) string {
	t.Helper()
	uri, err := w.Open(ctx, path, "plaintext")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Barrier(ctx); err != nil {
		t.Fatal(err)
	}
	return uri
}

// agentEdits asks for an edit and waits until its turn is done.
func agentEdits(ctx context.Context, t *testing.T, w *fakeeditor.Editor, input string) {
	t.Helper()
	s, err := w.Submit(ctx, &agent.SubmitParams{Input: input, Source: "test"})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Await(ctx, func() bool {
		o, err := w.Outcome(ctx, &agent.TurnParams{TurnID: s.TurnID})
		return err == nil && o.Response != nil
	})
	if err != nil {
		t.Fatalf("%s: %v", input, err)
	}
}

// checkPlaces wants a document's one hunk to be where its text is, in the
// window's unit, however the window hears of it.
func checkPlaces(ctx context.Context, t *testing.T, w *fakeeditor.Editor, unit, uri, content string) {
	t.Helper()
	listed, err := w.Edits(ctx, &agent.EditsParams{URI: uri})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := w.SessionLoad(ctx, &agent.SessionRef{})
	if err != nil {
		t.Fatal(err)
	}
	var ofLoaded []agent.Hunk
	for _, h := range loaded.Edits.Hunks {
		if h.URI == uri {
			ofLoaded = append(ofLoaded, h)
		}
	}
	if err := w.Await(ctx, func() bool { return len(w.Hunks(uri)) > 0 }); err != nil {
		t.Fatal(err)
	}
	index := text.NewIndex(content)
	for from, list := range map[string][]agent.Hunk{"agent/edits": listed.Hunks, "agent/session/load": ofLoaded, "agent/edits/changed": w.Hunks(uri)} {
		if len(list) != 1 {
			t.Errorf("%s of %s gives %d hunks: %+v", from, uri, len(list), list)
			continue
		}
		span := index.Span(toText(list[0].Range), text.Encoding(unit))
		if got := content[span.Start:span.End]; got != list[0].NewText {
			t.Errorf("%s tells a %s window %v in %s, which is %q, not %q", from, unit, list[0].Range, uri, got, list[0].NewText)
		}
		if at := index.Position(len(content), text.Encoding(unit)); list[0].Range.End.Character != at.Col {
			t.Errorf("%s tells a %s window that %s ends at column %d, not %d", from, unit, uri, list[0].Range.End.Character, at.Col)
		}
	}
}
