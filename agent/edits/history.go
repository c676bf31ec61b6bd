package edits

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// history is the fold of the recorded events: what was done, and what every
// file should hold. It is the same whether it grew live or was loaded.
type history struct {
	ids      int // the highest number in an id
	files    map[string]*fileHistory
	turns    []*turn
	verdicts []Verdict
	rejects  []reject // that were not undone, oldest first
	restores map[string]cycle.FilesRestored
	restored []string // of restores: those that were not taken back, oldest first
}

// fileHistory is the last operation on a file.
type fileHistory struct {
	opID      string
	kind      kind
	pre, post string
	preShown  string
	postShown string
	applied   bool        // known to be in the text
	inBuffer  bool        // the text is in a buffer: the disk may have another
	written   string      // hash of the text that the ledger last put there
	mode      fs.FileMode // permission bits, 0 = not known
	form      workspace.Form
	steps     []*cycle.FileStep
}

// kind tells operations apart by what a crash in the middle of them means.
type kind int

const (
	kindEdit    kind = iota // by the agent
	kindDecide              // by the person: accepts, rejects
	kindUndo                // of a reject
	kindRestore             // of files
)

// turn is what a turn did to files.
type turn struct {
	turnID, sessionID string
	time              time.Time
	files             []*turnFile
}

// turnFile is a file as it was before a turn, and as the turn's last edit left it.
type turnFile struct {
	path      string
	pre, post string
	first     int  // of the file's steps
	wrote     bool // something of it got into the text
	opIDs     []string
}

type reject struct {
	opID  string
	paths []string
	hunks []string
}

func newHistory() history {
	return history{files: map[string]*fileHistory{}, restores: map[string]cycle.FilesRestored{}}
}

// file gives the entry of a path, an empty one when there is none.
func (h *history) file(path string) fileHistory {
	if f := h.files[path]; f != nil {
		return *f
	}
	return fileHistory{}
}

// apply folds one event. Events that are not of edits change nothing.
func (h *history) apply(e cycle.Event) {
	switch e := e.(type) {
	case cycle.HunksProposed:
		h.seen(e.EditID)
		h.step(e.EditID, kindEdit, e.File)
		h.turnStep(e)
	case cycle.StepAmended:
		h.amend(e)
	case cycle.EditApplied:
		if f := h.files[e.Path]; f != nil && f.opID == e.OpID {
			f.applied, f.written = true, f.postShown
		}
	case cycle.EditWithdrawn:
		h.withdraw(e)
	case cycle.HunksDecided:
		h.seen(e.OpID)
		h.steps(e.OpID, kindDecide, e.Files)
		h.verdict(e.Hunks, e.Decision, e.Reason, e.Time)
		if e.Decision == string(Accept) {
			h.acceptedOf(e.Hunks)
		}
		if e.Decision == string(Reject) {
			r := reject{opID: e.OpID}
			for _, d := range e.Hunks {
				r.hunks = append(r.hunks, d.HunkID)
				r.paths = appendNew(r.paths, d.Path)
			}
			h.rejects = append(h.rejects, r)
		}
	case cycle.RejectUndone:
		h.seen(e.OpID)
		h.steps(e.OpID, kindUndo, e.Files)
		h.rejects = slices.DeleteFunc(h.rejects, func(r reject) bool { return r.opID == e.Undoes })
		h.verdict(e.Hunks, "undo-reject", "", e.Time)
	case cycle.FilesRestored:
		h.seen(e.OpID)
		h.steps(e.OpID, kindRestore, e.Files)
		h.restores[e.OpID] = e
		h.restored = slices.DeleteFunc(h.restored, func(id string) bool { return id == e.Undoes })
		if e.Undoes == "" {
			h.restored = append(h.restored, e.OpID)
		}
	case cycle.FileSynced:
		f := h.entry(e.File.Path)
		f.post, f.postShown, f.applied, f.inBuffer = e.File.Post, e.File.PostShown, true, e.File.InBuffer
	case cycle.FileRenamed:
		h.rename(e.From, e.To)
	}
}

func (h *history) entry(path string) *fileHistory {
	f := h.files[path]
	if f == nil {
		f = &fileHistory{}
		h.files[path] = f
	}
	return f
}

// seen keeps new ids apart from those of earlier processes.
func (h *history) seen(id string) {
	digits := strings.TrimLeft(id, "edur")
	if i := strings.IndexByte(digits, '-'); i >= 0 {
		digits = digits[:i]
	}
	if n, err := strconv.Atoi(digits); err == nil {
		h.ids = max(h.ids, n)
	}
}

func (h *history) steps(opID string, k kind, files []cycle.FileStep) {
	for _, s := range files {
		h.step(opID, k, s)
	}
}

func (h *history) step(opID string, k kind, s cycle.FileStep) {
	f := h.entry(s.Path)
	if f.opID == "" {
		f.written = s.PreShown
	}
	f.opID, f.kind = opID, k
	f.pre, f.post, f.preShown, f.postShown = s.Pre, s.Post, s.PreShown, s.PostShown
	f.applied, f.inBuffer = s.PreShown == s.PostShown, s.InBuffer
	f.mode, f.form = fs.FileMode(s.Mode), formNamed(s.Form)
	f.steps = append(f.steps, &s)
}

func (h *history) turnStep(e cycle.HunksProposed) {
	i := slices.IndexFunc(h.turns, func(t *turn) bool { return t.turnID == e.TurnID && t.sessionID == e.SessionID })
	if i < 0 {
		h.turns = append(h.turns, &turn{turnID: e.TurnID, sessionID: e.SessionID, time: e.Time})
		i = len(h.turns) - 1
	}
	t := h.turns[i]
	j := slices.IndexFunc(t.files, func(f *turnFile) bool { return f.path == e.File.Path })
	if j < 0 {
		t.files = append(t.files, &turnFile{path: e.File.Path, pre: e.File.Pre, first: len(h.files[e.File.Path].steps) - 1})
		j = len(t.files) - 1
	}
	f := t.files[j]
	f.post = e.File.Post
	f.wrote = f.wrote || e.File.PreShown != e.File.PostShown
	f.opIDs = append(f.opIDs, e.EditID)
}

// acceptedOf notes of turns whose hunks were held back that they are in the
// text now.
func (h *history) acceptedOf(hunks []cycle.HunkDecided) {
	for _, d := range hunks {
		if _, f := h.turnFileOf(d.EditID, d.Path); f != nil {
			f.wrote = true
		}
	}
}

// turnFileOf finds what a turn did by an edit.
func (h *history) turnFileOf(opID, path string) (*turn, *turnFile) {
	for _, t := range h.turns {
		for _, f := range t.files {
			if f.path == path && slices.Contains(f.opIDs, opID) {
				return t, f
			}
		}
	}
	return nil, nil
}

func (h *history) amend(e cycle.StepAmended) {
	f := h.entry(e.File.Path)
	if f.opID != e.OpID {
		return
	}
	f.steps = f.steps[:len(f.steps)-1]
	h.step(e.OpID, f.kind, e.File)
	if _, tf := h.turnFileOf(e.OpID, e.File.Path); tf != nil {
		if len(tf.opIDs) == 1 {
			tf.pre = e.File.Pre
		}
		tf.post = e.File.Post
		tf.wrote = tf.wrote || e.File.PreShown != e.File.PostShown
	}
	if r, ok := h.restores[e.OpID]; ok {
		r.Files = slices.Clone(r.Files)
		for i := range r.Files {
			if r.Files[i].Path == e.File.Path {
				r.Files[i] = e.File
			}
		}
		h.restores[e.OpID] = r
	}
}

// withdraw takes one file's part in an operation back.
func (h *history) withdraw(e cycle.EditWithdrawn) {
	f := h.entry(e.Path)
	if f.opID != e.OpID {
		return
	}
	f.post, f.postShown, f.applied = f.pre, f.preShown, true
	*f.steps[len(f.steps)-1] = cycle.FileStep{Path: e.Path, Pre: f.pre, Post: f.pre, PreShown: f.preShown, PostShown: f.preShown}
	if t, tf := h.turnFileOf(e.OpID, e.Path); tf != nil {
		tf.opIDs = slices.DeleteFunc(tf.opIDs, func(id string) bool { return id == e.OpID })
		tf.post = f.pre
		if len(tf.opIDs) == 0 {
			t.files = slices.DeleteFunc(t.files, func(x *turnFile) bool { return x == tf })
		}
	}
	h.turns = slices.DeleteFunc(h.turns, func(t *turn) bool { return len(t.files) == 0 })
	if r, ok := h.restores[e.OpID]; ok {
		r.Files = slices.DeleteFunc(slices.Clone(r.Files), func(s cycle.FileStep) bool { return s.Path == e.Path })
		h.restores[e.OpID] = r
	}
}

func (h *history) verdict(hunks []cycle.HunkDecided, decision, reason string, at time.Time) {
	for _, d := range hunks {
		h.verdicts = append(h.verdicts, Verdict{
			Seq: len(h.verdicts) + 1, HunkID: d.HunkID, EditID: d.EditID, SessionID: d.SessionID, TurnID: d.TurnID, CallID: d.CallID,
			Path: d.Path, Line: d.Line, Decision: decision, Outcome: d.Outcome, Reason: reason, Edited: d.Edited, Time: at,
		})
	}
}

func (h *history) lastReject() (reject, bool) {
	if len(h.rejects) == 0 {
		return reject{}, false
	}
	return h.rejects[len(h.rejects)-1], true
}

func (h *history) rename(from, to string) {
	if f := h.files[from]; f != nil {
		h.files[to] = f
		delete(h.files, from)
	}
	for _, t := range h.turns {
		for _, f := range t.files {
			if f.path == from {
				f.path = to
			}
		}
	}
	for i := range h.rejects {
		for j, p := range h.rejects[i].paths {
			if p == from {
				h.rejects[i].paths[j] = to
			}
		}
	}
}
