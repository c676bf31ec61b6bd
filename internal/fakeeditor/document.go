package fakeeditor

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/agent"
)

// document is an open buffer.
type document struct {
	version int32
	text    string
	saved   string
}

// change replaces a range; in terms of the text left by the one before.
type change struct {
	Range agent.Range `json:"range"`
	Text  string      `json:"text"`
}

// Open opens a file as a person would, from the disk.
func (e *Editor) Open(ctx context.Context, path, language string) (uri string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	uri = URI(path)
	return uri, e.OpenText(ctx, uri, language, string(data))
}

// OpenText opens a document with this text.
func (e *Editor) OpenText(ctx context.Context, uri, language, text string) error {
	e.update(func() { e.docs[uri] = &document{version: 1, text: text, saved: text} })
	return e.Notify(ctx, "textDocument/didOpen", map[string]any{
		"textDocument": map[string]any{"uri": uri, "languageId": language, "version": 1, "text": text},
	})
}

// URI is a path's file URI.
func URI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// Path is a file URI's path.
func Path(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Path
}

// Text is a document's text and version; ok is false if it isn't open.
func (e *Editor) Text(uri string) (text string, version int32, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.docs[uri]
	if d == nil {
		return "", 0, false
	}
	return d.text, d.version, true
}

// Type replaces what stands at old by text, as a person who types; old must be
// there exactly once.
func (e *Editor) Type(ctx context.Context, uri, old, text string) error {
	e.editing.Lock()
	defer e.editing.Unlock()
	before, _, ok := e.Text(uri)
	if !ok || strings.Count(before, old) != 1 {
		return fmt.Errorf("%q is not exactly once in %s", old, uri)
	}
	at := strings.Index(before, old)
	r := agent.Range{Start: e.position(before, at), End: e.position(before, at+len(old))}
	return e.commit(ctx, "typing", map[string][]change{uri: {{r, text}}})
}

// Save writes a document to the disk.
func (e *Editor) Save(ctx context.Context, uri string) error {
	text, _, ok := e.Text(uri)
	if !ok {
		return fmt.Errorf("%s is not open", uri)
	}
	if err := os.WriteFile(Path(uri), []byte(text), 0o644); err != nil {
		return err
	}
	e.update(func() { e.docs[uri].saved = text })
	return e.Notify(ctx, "textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// CloseDocument closes a document without saving it.
func (e *Editor) CloseDocument(ctx context.Context, uri string) error {
	e.update(func() { delete(e.docs, uri) })
	return e.Notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": uri}})
}

// Dirty tells whether a document differs from what was saved.
func (e *Editor) Dirty(uri string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.docs[uri]
	return d != nil && d.text != d.saved
}

// offset is where a position is in text, in bytes. As LSP wants it, a column
// beyond the line's end is the line's end; a line beyond the last is an error.
func (e *Editor) offset(text string, p agent.Position) (int, error) {
	at := 0
	for range p.Line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, fmt.Errorf("line %d is beyond the document's end", p.Line)
		}
		at += i + 1
	}
	units := 0
	for at < len(text) && text[at] != '\n' && units < p.Character {
		r, size := utf8.DecodeRuneInString(text[at:])
		units += e.units(r, size)
		at += size
	}
	if units > p.Character {
		return 0, fmt.Errorf("column %d of line %d is inside a character", p.Character, p.Line)
	}
	return at, nil
}

// position is the inverse of offset.
func (e *Editor) position(text string, at int) agent.Position {
	line := strings.Count(text[:at], "\n")
	start := strings.LastIndexByte(text[:at], '\n') + 1
	units := 0
	for i := start; i < at; {
		r, size := utf8.DecodeRuneInString(text[i:])
		units += e.units(r, size)
		i += size
	}
	return agent.Position{Line: line, Character: units}
}

// units is how much of a column a character takes.
func (e *Editor) units(r rune, size int) int {
	switch {
	case e.encoding == "utf-8":
		return size
	case e.encoding == "utf-16" && r >= 0x10000:
		return 2
	}
	return 1
}
