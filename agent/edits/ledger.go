package edits

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Limits of the ledger.
const (
	ApplyTriesMax = 8               // of one operation on one file, when the person keeps typing
	EditBytesMax  = 8 << 20         // of a file that is edited
	EchoWait      = 5 * time.Second // for the editor's didChange after it said that it applied an edit
	StaleWait     = time.Second     // for the didChange that made an edit stale
	SaveWait      = 5 * time.Second // for the editor to save a buffer, and to tell of it
)

// ErrStore says that the log or the blobs could not be written. Nothing was
// changed then.
var ErrStore = errors.New("nothing was changed, because it could not be written down")

// Ledger is the only way in which the agent changes text.
type Ledger struct {
	journal Journal
	blobs   Blobs
	ws      *workspace.Workspace
	now     func() time.Time
	changed func(Changed)
	salt    string

	// recording keeps the log and history in the same order. It is taken
	// before mu, never after it.
	recording sync.Mutex

	// telling keeps reports of changes in order. It is taken before mu.
	telling sync.Mutex

	mu      sync.Mutex
	editor  Editor
	files   map[string]*file // by canonical path
	history history
}

var _ surface = (*Ledger)(nil)

// file is one file that the agent has touched. All fields are guarded by
// Ledger.mu; state changes only while busy, or in DidChange while not busy.
type file struct {
	place workspace.Place
	busy  bool          // an operation has the file
	free  chan struct{} // closed when the operation ends
	poke  chan struct{} // capacity 1: the buffer changed
	stale bool          // something happened while busy: look again before it ends

	known    bool // state was ever set
	state    review.File
	line     review.Timeline
	reopened bool // the buffer came or went since: the text may be older than the hunks

	// unsure is an operation that was recorded before the program ended, and of
	// which the disk doesn't tell whether it was carried out: the buffer will.
	unsure *fileHistory

	form workspace.Form // of the bytes on disk, or those that were last there
	disk string         // hash of the bytes on disk when last looked at; NoFile
	mode fs.FileMode    // on disk, or when it last was there
}

// New makes an empty ledger; Load fills it.
func New(c Config) *Ledger {
	l := &Ledger{
		journal: c.Journal, blobs: c.Blobs, ws: c.Workspace, now: c.Now, changed: c.Changed, salt: c.Salt,
		editor: c.Editor, files: map[string]*file{}, history: newHistory(),
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.salt == "" {
		var b [2]byte
		_, _ = rand.Read(b[:]) // never fails
		l.salt = hex.EncodeToString(b[:])
	}
	return l
}

// SetEditor sets the editor; nil where there is none any more.
func (l *Ledger) SetEditor(e Editor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.editor = e
}

// Permit lets a path through that would be refused.
func (l *Ledger) Permit(path string, a workspace.Access) error {
	return toolError(l.ws.Permit(path, a))
}

// OpenDocs gives the paths of the documents that are open in the editor, sorted.
func (l *Ledger) OpenDocs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, d := range l.ws.Docs() {
		out = append(out, d.Place.Path)
	}
	return out
}

// SetRoots replaces the workspace's folders. On an error nothing changes.
func (l *Ledger) SetRoots(dirs []string) error { return l.ws.SetRoots(dirs) }

// file gives the entry of a place, making it if need be. mu must be held.
func (l *Ledger) file(p workspace.Place) *file {
	f := l.files[p.Abs]
	if f == nil {
		f = &file{place: p, poke: make(chan struct{}, 1)}
		l.files[p.Abs] = f
	}
	return f
}

// acquire takes a file for an operation.
func (l *Ledger) acquire(ctx context.Context, p workspace.Place) (*file, error) {
	for {
		l.mu.Lock()
		f := l.file(p)
		if !f.busy {
			f.busy, f.free = true, make(chan struct{})
			l.mu.Unlock()
			return f, nil
		}
		free := f.free
		l.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// release ends an operation on a file. What happened meanwhile is taken in
// first.
func (l *Ledger) release(f *file) {
	for {
		l.mu.Lock()
		if !f.stale {
			f.busy = false
			close(f.free)
			if !f.worthKeeping() && l.files[f.place.Abs] == f {
				delete(l.files, f.place.Abs)
			}
			l.mu.Unlock()
			return
		}
		f.stale = false
		l.mu.Unlock()
		_ = l.sync(f) // what can't be read now is read by the next operation
	}
}

// worthKeeping says whether the file's state is more than its text.
func (f *file) worthKeeping() bool { return f.known && !(f.state.Plain() && f.line.Empty()) }

// sync takes in what the person did to a file that is taken: its buffer, or
// else the disk.
func (l *Ledger) sync(f *file) error {
	l.mu.Lock()
	doc, open := l.buffer(f.place)
	l.mu.Unlock()
	var disk workspace.DiskFile
	var err error
	exists := true
	if disk, err = l.ws.ReadDisk(f.place); err != nil {
		var pe *workspace.PathError
		if errors.As(err, &pe) && pe.Reason == workspace.ReasonNotFound {
			exists, err = false, nil
		}
		if err != nil && !open {
			return err
		}
	}
	now := ""
	l.mu.Lock()
	if exists && err == nil {
		f.disk, f.mode = disk.Hash, disk.Mode
		f.form, now = workspace.SplitForm(disk.Data)
	} else {
		f.disk = workspace.NoFile
	}
	if open && !f.deletedUnder(doc, exists) {
		now, exists = doc.Text, true
	}
	l.mu.Unlock()
	if f.unsure != nil {
		if err := l.makeSure(f, now, exists); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if again, still := l.buffer(f.place); still != open || again.Version != doc.Version || again.URI != doc.URI {
		f.stale = true // it moved meanwhile: the next round sees it
	}
	f.take(now, exists)
	return nil
}

// buffer is the open document of a place. One without unsaved changes, in an
// editor that takes no edits, doesn't count: what the agent writes is on disk,
// and the buffer is only what was there before. mu must be held.
func (l *Ledger) buffer(p workspace.Place) (workspace.Doc, bool) {
	doc, open := l.ws.Doc(p)
	return doc, open && (l.editor != nil || doc.Dirty())
}

// deletedUnder says that a buffer still shows what the agent has deleted from
// the disk: that is not the person making the file anew.
func (f *file) deletedUnder(doc workspace.Doc, onDisk bool) bool {
	return !onDisk && f.known && f.state.PersonExists() && !f.state.ShownExists() && doc.Text == f.state.Person()
}

// take makes a text that was found the state's shown text. mu must be held.
func (f *file) take(now string, exists bool) {
	reopened := f.reopened
	f.reopened = false
	switch {
	case !f.known && exists:
		f.state = review.New(now)
	case !f.known:
		f.state = review.File{}
	case exists && !f.state.ShownExists():
		f.state = f.line.UserCreate(f.state, now)
	case !exists && f.state.ShownExists():
		f.state = f.line.UserDelete(f.state)
	case now == f.state.Shown():
	default:
		if held := f.state.Withhold(); reopened && held.ShownExists() && held.Shown() == now {
			f.state = held
			f.line.Reset()
			break
		}
		state, err := f.line.User(f.state, text.Diff(f.state.Shown(), now))
		if err == nil {
			f.state = state
		}
	}
	f.known = true
}

// record writes an event down and folds it into the history.
func (l *Ledger) record(ctx context.Context, e cycle.Event) error {
	l.recording.Lock()
	defer l.recording.Unlock()
	// The person's work is not lost because a call was cancelled.
	if err := l.journal.Record(context.WithoutCancel(ctx), e); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.apply(e)
	return nil
}

// nextID makes the id of an operation.
func (l *Ledger) nextID(prefix string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history.ids++
	return fmt.Sprintf("%s%d-%s", prefix, l.history.ids, l.salt)
}

// toolError turns the workspace's refusals into those of the tools.
func toolError(err error) error {
	var pe *workspace.PathError
	if errors.As(err, &pe) {
		return &tools.PathError{Path: pe.Path, Reason: pe.Reason, Hint: pe.Hint}
	}
	return err
}
