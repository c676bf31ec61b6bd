// Package editstest has what tests of the ledger stand on: an editor whose
// buffers behave like real ones, and a log and a blob store in memory.
//
// # What it does
//
// [Editor] opens, edits, saves and closes buffers, refuses edits for stale
// versions, makes each applied edit one undo step, and tells the ledger of all
// that in order. [Store] is a journal that survives the ledger and can fail.
//
// # What it doesn't do
//
// It judges nothing; tests do.
package editstest

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Receiver is the ledger's side that an editor talks to.
type Receiver interface {
	DidOpen(uri string, version int32, s string) error
	DidChange(uri string, version int32, changes []workspace.Change, enc text.Encoding) error
	DidSave(uri string) error
	DidClose(uri string) error
}

// Editor is a person's editor with any number of buffers.
type Editor struct {
	// Late delivers the didChange of an applied edit only after ApplyEdit has
	// returned, from another goroutine.
	Late bool
	// Parts tells of an applied edit in one didChange for each of its places, the
	// first at once. Neovim does so when it was quiet before.
	Parts bool
	// Before is called at the beginning of each ApplyEdit, without locks held:
	// the person may type there.
	Before func(path string)
	// Refuse makes ApplyEdit fail with it.
	Refuse error
	// Deny makes ApplyEdit answer that it did not apply.
	Deny bool

	mu   sync.Mutex
	to   Receiver
	enc  text.Encoding
	bufs map[string]*buffer // by path
	late []func()           // notifications that were not sent yet
	wg   sync.WaitGroup
	errs []error
}

type buffer struct {
	uri, path  string
	version    int32
	text       string
	undo, redo []string
}

// NewEditor makes an editor without buffers, that counts columns in enc.
func NewEditor(enc text.Encoding) *Editor { return &Editor{enc: enc, bufs: map[string]*buffer{}} }

// Connect tells the receiver, a new server, of all open buffers.
func (e *Editor) Connect(to Receiver) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.to, e.late = to, nil
	for _, b := range e.bufs {
		e.failed(to.DidOpen(b.uri, b.version, b.text))
	}
}

func (e *Editor) failed(err error) {
	if err != nil {
		e.errs = append(e.errs, err)
	}
}

// Wait waits for late deliveries and gives the errors of all notifications.
func (e *Editor) Wait() []error {
	e.wg.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.errs
}

// Open opens the file at an absolute path, or an empty buffer when there is none.
func (e *Editor) Open(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.bufs[path] != nil {
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		data = nil
	}
	_, s := workspace.SplitForm(data)
	b := &buffer{uri: workspace.PathURI(path), path: path, version: 1, text: s}
	e.bufs[path] = b
	e.flush()
	e.failed(e.to.DidOpen(b.uri, b.version, b.text))
}

// Text is a buffer's text.
func (e *Editor) Text(path string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.bufs[path]; b != nil {
		return b.text, true
	}
	return "", false
}

// Edit is the person typing: edits of the buffer's text, one undo step.
func (e *Editor) Edit(path string, list []text.Edit) error {
	return e.Type(path, func(string) []text.Edit { return list })
}

// Type is Edit for edits that depend on what is in the buffer at the moment.
func (e *Editor) Type(path string, typing func(s string) []text.Edit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.bufs[path]
	if b == nil {
		return fmt.Errorf("%s is not open", path)
	}
	list := typing(b.text)
	now, err := text.Apply(b.text, list)
	if err != nil || now == b.text {
		return err
	}
	b.undo, b.redo = append(b.undo, b.text), nil
	e.set(b, now, changes(b.text, list, e.enc))
	return nil
}

// changes writes edits as an editor sends them: from the last to the first, so
// that each refers to the text as it was.
func changes(s string, list []text.Edit, enc text.Encoding) []workspace.Change {
	index := text.NewIndex(s)
	var out []workspace.Change
	for i := len(list) - 1; i >= 0; i-- {
		r := index.Range(list[i].Span(), enc)
		out = append(out, workspace.Change{Range: &r, Text: list[i].New})
	}
	return out
}

// set changes a buffer and tells of it. mu must be held.
func (e *Editor) set(b *buffer, now string, c []workspace.Change) {
	b.text = now
	b.version++
	e.flush()
	e.failed(e.to.DidChange(b.uri, b.version, c, e.enc))
}

// flush sends what is late: notifications never overtake each other. mu must
// be held.
func (e *Editor) flush() {
	for _, tell := range e.late {
		tell()
	}
	e.late = nil
}

// Undo takes the buffer's last step back; false when there is none.
func (e *Editor) Undo(path string) bool { return e.jump(path, false) }

// Redo makes the last undone step again.
func (e *Editor) Redo(path string) bool { return e.jump(path, true) }

func (e *Editor) jump(path string, redo bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.bufs[path]
	if b == nil {
		return false
	}
	from, to := &b.undo, &b.redo
	if redo {
		from, to = to, from
	}
	if len(*from) == 0 {
		return false
	}
	now := (*from)[len(*from)-1]
	*from = (*from)[:len(*from)-1]
	*to = append(*to, b.text)
	e.set(b, now, changes(b.text, text.Diff(b.text, now), e.enc))
	return true
}

// Save writes the buffer to disk, as an editor does.
func (e *Editor) Save(path string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.save(path)
}

func (e *Editor) save(path string) error {
	b := e.bufs[path]
	if b == nil {
		return fmt.Errorf("%s is not open", path)
	}
	var form workspace.Form
	if old, err := os.ReadFile(path); err == nil {
		form, _ = workspace.SplitForm(old)
	}
	if err := os.WriteFile(path, form.Join(b.text), 0o644); err != nil {
		return err
	}
	e.flush()
	e.failed(e.to.DidSave(b.uri))
	return nil
}

// Close closes a buffer without saving it.
func (e *Editor) Close(path string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.bufs[path]; b != nil {
		delete(e.bufs, path)
		e.flush()
		e.failed(e.to.DidClose(b.uri))
	}
}

// Crash loses all buffers without a word.
func (e *Editor) Crash() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bufs, e.late = map[string]*buffer{}, nil
}

// ApplyEdit is the server's workspace/applyEdit.
func (e *Editor) ApplyEdit(_ context.Context, _ string, docs []edits.DocEdit) (bool, error) {
	for _, d := range docs {
		if e.Before != nil {
			e.Before(d.Path)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.Refuse != nil {
		return false, e.Refuse
	}
	for _, d := range docs {
		b := e.byURI(d.URI)
		if e.Deny || b == nil || b.version != d.Version {
			return false, nil
		}
	}
	for _, d := range docs {
		b := e.byURI(d.URI)
		index := text.NewIndex(b.text)
		var list []text.Edit
		for _, r := range d.Edits {
			s := index.Span(r.At.In(e.enc), e.enc)
			list = append(list, text.Edit{Start: s.Start, End: s.End, New: r.New})
		}
		now, err := text.Apply(b.text, list)
		if err != nil {
			return false, err
		}
		b.undo, b.redo = append(b.undo, b.text), nil
		c := changes(b.text, list, e.enc)
		b.text = now
		parts := [][]workspace.Change{c}
		if e.Parts {
			parts = parts[:0]
			for i := range c {
				parts = append(parts, c[i:i+1])
			}
		}
		for _, part := range parts {
			b.version++
			uri, version := b.uri, b.version
			e.late = append(e.late, func() { e.failed(e.to.DidChange(uri, version, part, e.enc)) })
		}
	}
	if e.Parts {
		e.late[0]()
		e.late = e.late[1:]
	}
	if !e.Late {
		e.flush()
		return true, nil
	}
	e.wg.Add(1)
	go func() {
		defer e.wg.Done()
		e.mu.Lock()
		defer e.mu.Unlock()
		e.flush()
	}()
	return true, nil
}

func (e *Editor) byURI(uri string) *buffer {
	for _, b := range e.bufs {
		if b.uri == uri {
			return b
		}
	}
	return nil
}

// SaveDoc is the server asking for a save.
func (e *Editor) SaveDoc(_ context.Context, uri string, version int32) (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.byURI(uri)
	if b == nil || b.version != version {
		return false, nil
	}
	return true, e.save(b.path)
}
