package edits

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"strings"
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

	mu      sync.Mutex
	editor  Editor
	enc     text.Encoding
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

	bom  bool
	disk string      // hash of the bytes on disk when last looked at; NoFile
	mode fs.FileMode // on disk
}

// New makes an empty ledger; Load fills it.
func New(c Config) *Ledger {
	l := &Ledger{
		journal: c.Journal, blobs: c.Blobs, ws: c.Workspace, now: c.Now, changed: c.Changed, salt: c.Salt,
		editor: c.Editor, enc: c.Encoding, files: map[string]*file{}, history: newHistory(),
	}
	if l.now == nil {
		l.now = time.Now
	}
	if l.enc == "" {
		l.enc = text.UTF16
	}
	if l.salt == "" {
		var b [2]byte
		_, _ = rand.Read(b[:]) // never fails
		l.salt = hex.EncodeToString(b[:])
	}
	return l
}

// SetEditor sets the editor and the unit of its columns.
func (l *Ledger) SetEditor(e Editor, enc text.Encoding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.editor = e
	if enc != "" {
		l.enc = enc
	}
}

// Permit lets a path through that would be refused.
func (l *Ledger) Permit(path string, a workspace.Access) error {
	return toolError(l.ws.Permit(path, a))
}

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
	doc, open := l.ws.Doc(f.place)
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
		f.bom, now = workspace.SplitBOM(string(disk.Data))
	} else {
		f.disk, f.mode = workspace.NoFile, 0
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
	if again, still := l.ws.Doc(f.place); still != open || again.Version != doc.Version || again.URI != doc.URI {
		f.stale = true // it moved meanwhile: the next round sees it
	}
	f.take(now, exists)
	return nil
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

// Hunks lists the hunks that wait.
func (l *Ledger) Hunks(f Filter) []HunkView {
	abs := ""
	if f.Path != "" {
		p, err := l.ws.Resolve(f.Path)
		if err != nil {
			return nil
		}
		abs = p.Abs
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []HunkView
	for _, file := range l.sorted() {
		if abs == "" || file.place.Abs == abs {
			for _, v := range l.views(file) {
				if f.wants(v) {
					out = append(out, v.HunkView)
				}
			}
		}
	}
	return out
}

// Pending counts the hunks that wait, and the files that they are in.
func (l *Ledger) Pending() (hunks, files int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		if n := f.state.Pending(); n > 0 {
			hunks += n
			files++
		}
	}
	return hunks, files
}

// sorted gives the files in path order. mu must be held.
func (l *Ledger) sorted() []*file {
	out := make([]*file, 0, len(l.files))
	for _, f := range l.files {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].place.Path < out[j].place.Path })
	return out
}

// view is a HunkView with what filters go by.
type view struct {
	HunkView
	refs []review.Ref
	ids  []string
}

// views draws a file's hunks. mu must be held.
func (l *Ledger) views(f *file) []view {
	hunks := f.state.Hunks()
	if len(hunks) == 0 {
		return nil
	}
	index := text.NewIndex(f.state.Shown())
	uri := workspace.PathURI(f.place.Abs)
	var version *int32
	if doc, ok := l.ws.Doc(f.place); ok {
		uri, version = doc.URI, &doc.Version
	}
	out := make([]view, 0, len(hunks))
	for _, h := range hunks {
		last := h.Refs[len(h.Refs)-1]
		v := HunkView{
			HunkID: h.ID, EditID: last.EditID, SessionID: last.SessionID, TurnID: last.TurnID, CallID: last.CallID,
			URI: uri, Path: f.place.Path, Range: index.Range(h.Span, l.enc), BaseText: h.OldText, NewText: h.NewText,
			Status: StatusPending, Held: h.Held, File: string(h.Kind), Version: version,
		}
		for _, r := range h.Refs {
			v.EditIDs = appendNew(v.EditIDs, r.EditID)
			v.TurnIDs = appendNew(v.TurnIDs, r.TurnID)
		}
		if h.Conflict {
			v.Status = StatusConflict
		}
		out = append(out, view{v, h.Refs, append([]string{h.ID}, h.Merged...)})
	}
	return out
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (f Filter) wants(v view) bool {
	any := func(is func(review.Ref) bool) bool { return slices.ContainsFunc(v.refs, is) }
	return (f.SessionID == "" || any(func(r review.Ref) bool { return r.SessionID == f.SessionID })) &&
		(f.EditID == "" || any(func(r review.Ref) bool { return r.EditID == f.EditID })) &&
		(f.TurnID == "" || any(func(r review.Ref) bool { return r.TurnID == f.TurnID })) &&
		(f.HunkIDs == nil || slices.ContainsFunc(f.HunkIDs, func(id string) bool { return slices.Contains(v.ids, id) }))
}

// tell reports that the hunks of files changed; before holds the sessions that
// had hunks in them. No locks may be held.
func (l *Ledger) tell(before map[string]bool, files ...*file) {
	if l.changed == nil || len(files) == 0 {
		return
	}
	var c Changed
	sessions := map[string]bool{}
	for s := range before {
		sessions[s] = true
	}
	l.mu.Lock()
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.place.Path, b.place.Path) })
	for _, f := range files {
		uri := workspace.PathURI(f.place.Abs)
		if doc, ok := l.ws.Doc(f.place); ok {
			uri = doc.URI
		}
		c.Paths, c.URIs = append(c.Paths, f.place.Path), append(c.URIs, uri)
		for _, v := range l.views(f) {
			c.Hunks = append(c.Hunks, v.HunkView)
			sessions[v.SessionID] = true
		}
	}
	for _, f := range l.files {
		c.Pending += f.state.Pending()
	}
	l.mu.Unlock()
	for s := range sessions {
		c.SessionIDs = append(c.SessionIDs, s)
	}
	slices.Sort(c.SessionIDs)
	l.changed(c)
}

// sessionsOf gives the sessions that have hunks in a file. mu must be held.
func (f *file) sessionsOf() map[string]bool {
	out := map[string]bool{}
	for _, h := range f.state.Hunks() {
		for _, r := range h.Refs {
			out[r.SessionID] = true
		}
	}
	return out
}

// toolError turns the workspace's refusals into those of the tools.
func toolError(err error) error {
	var pe *workspace.PathError
	if errors.As(err, &pe) {
		return &tools.PathError{Path: pe.Path, Reason: pe.Reason, Hint: pe.Hint}
	}
	return err
}
