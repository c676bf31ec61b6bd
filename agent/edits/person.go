package edits

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/bug"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// isFile says whether a document has a place on this machine; others are none
// of the ledger's business.
func isFile(uri string) bool { return strings.HasPrefix(uri, "file:") || !strings.Contains(uri, ":") }

// DidOpen takes note of a buffer.
func (l *Ledger) DidOpen(uri string, version int32, s string) error {
	if !isFile(uri) {
		return nil
	}
	l.mu.Lock()
	doc, err := l.ws.OpenDoc(uri, version, s)
	if err != nil {
		l.mu.Unlock()
		return toolError(err)
	}
	f := l.files[doc.Place.Abs]
	if f != nil {
		f.reopened = true
	}
	l.mu.Unlock()
	l.touch(doc.Place)
	return nil
}

// DidChange takes in what the person typed. It costs one pass over the text
// and never waits.
func (l *Ledger) DidChange(uri string, version int32, changes []workspace.Change, enc text.Encoding) error {
	if !isFile(uri) {
		return nil
	}
	l.mu.Lock()
	before, after, edits, err := l.ws.ChangeDoc(uri, version, changes, enc)
	if err != nil {
		l.mu.Unlock()
		return toolError(err)
	}
	f := l.files[after.Place.Abs]
	if f == nil || !f.known {
		l.mu.Unlock()
		return nil
	}
	if f.busy {
		f.stale = true
		l.mu.Unlock()
		select {
		case f.poke <- struct{}{}:
		default:
		}
		return nil
	}
	had, sessions := f.state.Pending() > 0, f.sessionsOf()
	if f.state.ShownExists() && f.state.Shown() == before.Text {
		if state, err := f.line.User(f.state, edits); err == nil {
			f.state = state
		}
		if f.state.Shown() != after.Text {
			bug.Report("%s: after the person's edit the state shows another text than the buffer", f.place.Path)
			f.state = review.New(after.Text) // the hunks can be read in the log; their text is what counts
		}
	} else if !f.deletedUnder(after, false) {
		f.take(after.Text, true)
	}
	has := f.state.Pending() > 0
	l.mu.Unlock()
	if had || has {
		l.tell(sessions, f)
	}
	return nil
}

// DidSave takes note that a buffer is on disk, and records what the person did
// to a file with hunks, so that it is not left to guessing after a crash.
func (l *Ledger) DidSave(uri string) error {
	if !isFile(uri) {
		return nil
	}
	l.mu.Lock()
	doc, err := l.ws.SaveDoc(uri)
	l.mu.Unlock()
	if err != nil {
		return toolError(err)
	}
	l.touch(doc.Place)
	l.mu.Lock()
	f := l.files[doc.Place.Abs]
	if f != nil && f.busy {
		select {
		case f.poke <- struct{}{}:
		default:
		}
	}
	if f == nil || f.busy || !f.known {
		l.mu.Unlock()
		return nil
	}
	state := f.state
	last := l.history.file(f.place.Path).post
	l.mu.Unlock()
	if state.Plain() && last == "" {
		return nil
	}
	hash, err := l.putState(state)
	if err != nil || hash == last {
		return err
	}
	step := cycle.FileStep{Path: f.place.Path, Pre: last, Post: hash, PreShown: shownHash(state), PostShown: shownHash(state), InBuffer: true}
	return l.record(context.Background(), cycle.FileSynced{File: step, Time: l.now()})
}

// DidClose forgets a buffer: the file on disk counts again.
func (l *Ledger) DidClose(uri string) error {
	if !isFile(uri) {
		return nil
	}
	l.mu.Lock()
	doc, err := l.ws.CloseDoc(uri)
	if err != nil {
		l.mu.Unlock()
		return toolError(err)
	}
	if f := l.files[doc.Place.Abs]; f != nil {
		f.reopened = true
		select {
		case f.poke <- struct{}{}:
		default:
		}
	}
	l.mu.Unlock()
	l.touch(doc.Place)
	return nil
}

// DidRename moves the review state of a file, or of all files of a folder,
// along.
func (l *Ledger) DidRename(oldURI, newURI string) error {
	from, err := l.ws.Resolve(oldURI)
	if err != nil {
		return toolError(err)
	}
	to, err := l.ws.Resolve(newURI)
	if err != nil {
		return toolError(err)
	}
	l.mu.Lock()
	var moved []workspace.Place
	for abs := range l.files {
		if abs == from.Abs || strings.HasPrefix(abs, from.Abs+string(filepath.Separator)) {
			moved = append(moved, l.files[abs].place)
		}
	}
	l.mu.Unlock()
	for _, p := range moved {
		q, err := l.ws.Resolve(to.Abs + strings.TrimPrefix(p.Abs, from.Abs))
		if err == nil {
			err = l.rename(p, q)
		}
		if err != nil {
			return toolError(err)
		}
	}
	return nil
}

// rename moves one file's state, unless the new place has its own.
func (l *Ledger) rename(from, to workspace.Place) error {
	l.mu.Lock()
	f := l.files[from.Abs]
	if f == nil || f.busy || f.state.Plain() {
		l.mu.Unlock()
		return nil
	}
	if g := l.files[to.Abs]; g != nil && (g.busy || !g.state.Plain()) {
		l.mu.Unlock()
		return nil
	}
	sessions := f.sessionsOf()
	delete(l.files, from.Abs)
	f.place = to
	l.files[to.Abs] = f
	l.mu.Unlock()
	err := l.record(context.Background(), cycle.FileRenamed{From: from.Path, To: to.Path, Time: l.now()})
	l.touch(to)
	l.tell(sessions, f)
	return err
}

// DiskChanged takes in what happened on disk: a tool, git, or another editor.
// A file that is gone while another with its content is new was renamed.
func (l *Ledger) DiskChanged(paths []string) {
	var places []workspace.Place
	for _, path := range paths {
		if p, err := l.ws.Resolve(path); err == nil {
			places = append(places, p)
		}
	}
	for _, p := range places {
		if q, ok := l.renamedTo(p, places); ok {
			_ = l.rename(p, q) // the state has moved; what isn't written down is found again by its text
		}
	}
	for _, p := range places {
		l.mu.Lock()
		_, tracked := l.files[p.Abs]
		_, open := l.ws.Doc(p)
		l.mu.Unlock()
		if tracked && !open {
			l.touch(p)
		}
	}
}

// renamedTo finds the new place of a file with hunks that is gone.
func (l *Ledger) renamedTo(p workspace.Place, among []workspace.Place) (workspace.Place, bool) {
	l.mu.Lock()
	f := l.files[p.Abs]
	if f == nil || !f.known || f.state.Pending() == 0 || !f.state.ShownExists() {
		l.mu.Unlock()
		return workspace.Place{}, false
	}
	want := text.Hash(f.bytes(f.state.Shown()))
	l.mu.Unlock()
	if _, err := l.ws.Stat(p); err == nil {
		return workspace.Place{}, false
	}
	for _, q := range among {
		if q.Abs == p.Abs {
			continue
		}
		if disk, err := l.ws.ReadDisk(q); err == nil && disk.Hash == want {
			return q, true
		}
	}
	return workspace.Place{}, false
}

// touch takes in what the person did to a file that the ledger knows, now or
// at the end of the operation that has it.
func (l *Ledger) touch(p workspace.Place) {
	l.mu.Lock()
	f := l.files[p.Abs]
	if f == nil || !f.known {
		l.mu.Unlock()
		return
	}
	if f.busy {
		f.stale = true
		l.mu.Unlock()
		return
	}
	f.busy, f.free = true, make(chan struct{})
	before, sessions := f.state, f.sessionsOf()
	l.mu.Unlock()
	_ = l.sync(f) // what can't be read now is read by the next operation
	l.mu.Lock()
	after := f.state
	l.mu.Unlock()
	l.release(f)
	if !after.Equal(before) {
		l.tell(sessions, f)
	}
}
