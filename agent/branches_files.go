package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/tools"
)

// kindBranchEdit is an edit of a fork: kept in the store, in nobody's file.
const kindBranchEdit store.Kind = "branch-edit"

// branchEdit is one change of a fork's working copy. A hash is of a blob; ""
// means that there is no file.
type branchEdit struct {
	Turn string `json:"turn"`
	Path string `json:"path"`
	Base string `json:"base"`
	New  string `json:"new"`
}

// copied is a file of a working copy: as it was in the tree when the branch
// first changed it, and as the branch has it. nil: there is no file.
type copied struct {
	base, now []byte
	turn      string // of the last change
}

// workingCopy is what a fork has changed: an overlay over the person's tree.
// It is safe for concurrent use.
type workingCopy struct {
	e               *Engine
	session, branch string

	mu    sync.Mutex
	files map[string]*copied
	n     int // edits in the store
}

// openCopy folds a fork's edits, and of those that it inherits the ones of its
// own history. main has none, nor a conversation put back from there: they work
// in the person's tree.
func (t *timeline) openCopy(ctx context.Context) error {
	row, err := t.e.branchRow(ctx, t.session, t.branch)
	if err != nil {
		return err
	}
	if in, err := t.e.inTree(ctx, row); err != nil || in {
		return err
	}
	turns := map[string]bool{}
	for _, x := range t.script.turns {
		turns[x.id] = true
	}
	t.copy = &workingCopy{e: t.e, session: t.session, branch: t.branch, files: map[string]*copied{}}
	return t.copy.load(ctx, row, turns)
}

func (w *workingCopy) load(ctx context.Context, row store.Branch, turns map[string]bool) error {
	if row.Parent != "" {
		parent, err := w.e.branchRow(ctx, w.session, row.Parent)
		if err != nil {
			return err
		}
		if err := w.load(ctx, parent, turns); err != nil {
			return err
		}
	}
	list, err := w.e.parts.Store.OfTurn(ctx, w.session, kindBranchEdit, branchKey(row.ID))
	if err != nil {
		return storeError(err)
	}
	if row.ID == w.branch {
		w.n = len(list)
	}
	for _, a := range list {
		var x branchEdit
		if err := json.Unmarshal(a.Body, &x); err != nil {
			return err
		}
		if !turns[x.Turn] { // of the parent, after the fork
			continue
		}
		base, err := w.blob(ctx, x.Base)
		if err != nil {
			return err
		}
		now, err := w.blob(ctx, x.New)
		if err != nil {
			return err
		}
		w.put(x.Path, base, now, x.Turn)
	}
	return nil
}

// branchKey stands where artifacts have their turn: a branch's edits are found
// by it.
func branchKey(branch string) string { return "branch:" + branch }

func (w *workingCopy) blob(ctx context.Context, hash string) ([]byte, error) {
	if hash == "" {
		return nil, nil
	}
	data, err := w.e.parts.Store.Blob(ctx, hash)
	if data == nil && err == nil {
		data = []byte{}
	}
	return data, storeError(err)
}

func (w *workingCopy) put(name string, base, now []byte, turn string) {
	f := w.files[name]
	if f == nil {
		f = &copied{base: base}
		w.files[name] = f
	}
	f.now, f.turn = now, turn
}

// list is the files that the branch has changed, by path.
func (w *workingCopy) list() (names []string, files map[string]copied) {
	w.mu.Lock()
	defer w.mu.Unlock()
	files = map[string]copied{}
	for name, f := range w.files {
		if !same(f.base, f.now) {
			names = append(names, name)
			files[name] = *f
		}
	}
	slices.Sort(names)
	return names, files
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// changed tells whether the branch has changes of its own; main never has.
func (w *workingCopy) changed() bool {
	if w == nil {
		return false
	}
	names, _ := w.list()
	return len(names) > 0
}

// branchFiles is the workspace as the tools of a turn on a fork see it: the
// tree, and over it the branch's own changes.
type branchFiles struct {
	tools.Files
	w    *workingCopy
	turn string
}

func (b branchFiles) name(p string) string {
	if r := b.w.e.relative(p); r != "" {
		return path.Clean(r)
	}
	return p
}

func (b branchFiles) over(p string) (copied, bool) {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	f := b.w.files[b.name(p)]
	if f == nil {
		return copied{}, false
	}
	return *f, true
}

// notFound must have this reason: tools create a file by it.
func notFound(p string) error {
	return &tools.PathError{Path: p, Reason: "not found", Hint: "this branch deleted it"}
}

// Read implements tools.Files.
func (b branchFiles) Read(ctx context.Context, p string) (tools.File, error) {
	f, ok := b.over(p)
	if !ok {
		return b.Files.Read(ctx, p)
	}
	if f.now == nil {
		return tools.File{}, notFound(p)
	}
	return tools.File{Path: b.name(p), Data: f.now, Hash: text.Hash(f.now), Pending: 1}, nil
}

// Stat implements tools.Files.
func (b branchFiles) Stat(ctx context.Context, p string) (tools.Info, error) {
	f, ok := b.over(p)
	if !ok {
		info, err := b.Files.Stat(ctx, p)
		if err != nil && b.below(b.name(p)) {
			return tools.Info{Path: b.name(p), Dir: true}, nil
		}
		return info, err
	}
	if f.now == nil {
		return tools.Info{}, notFound(p)
	}
	return tools.Info{Path: b.name(p), Size: int64(len(f.now))}, nil
}

// below tells whether the branch has a file in a folder.
func (b branchFiles) below(dir string) bool {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	for name, f := range b.w.files {
		if f.now != nil && (dir == "." || strings.HasPrefix(name, dir+"/")) {
			return true
		}
	}
	return false
}

// List implements tools.Files.
func (b branchFiles) List(ctx context.Context, dir string) ([]tools.Info, error) {
	list, err := b.Files.List(ctx, dir)
	dir = b.name(dir)
	if err != nil && !b.below(dir) {
		return nil, err
	}
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	for name, f := range b.w.files {
		rest, in := strings.CutPrefix(name, dir+"/")
		if dir == "." {
			rest, in = name, true
		}
		if !in {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		at := path.Join(dir, first)
		i := slices.IndexFunc(list, func(x tools.Info) bool { return x.Path == at })
		switch {
		case f.now == nil && !deeper && i >= 0:
			list = slices.Delete(list, i, i+1)
		case f.now != nil && i >= 0 && !deeper:
			list[i].Size = int64(len(f.now))
		case f.now != nil && i < 0:
			x := tools.Info{Path: at, Dir: deeper}
			if !deeper {
				x.Size = int64(len(f.now))
			}
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b tools.Info) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// Walk implements tools.Files.
func (b branchFiles) Walk(ctx context.Context, dir string, fn func(tools.Info) bool) error {
	var all []tools.Info
	seen := map[string]bool{}
	err := b.Files.Walk(ctx, dir, func(i tools.Info) bool {
		seen[i.Path] = true
		if f, ok := b.over(i.Path); ok {
			if f.now == nil {
				return true
			}
			i.Size = int64(len(f.now))
		}
		all = append(all, i)
		return true
	})
	dir = b.name(dir)
	if err != nil && !b.below(dir) {
		return err
	}
	b.w.mu.Lock()
	for name, f := range b.w.files {
		if f.now != nil && !seen[name] && (dir == "." || strings.HasPrefix(name, dir+"/")) {
			all = append(all, tools.Info{Path: name, Size: int64(len(f.now))})
		}
	}
	b.w.mu.Unlock()
	slices.SortFunc(all, func(a, b tools.Info) int { return strings.Compare(a.Path, b.Path) })
	for _, i := range all {
		if !fn(i) {
			break
		}
	}
	return nil
}

// Change implements tools.Files: the change is kept with the branch, durable
// before it is answered; no file and no buffer is touched.
func (b branchFiles) Change(ctx context.Context, c tools.Change) (tools.Applied, error) {
	var current []byte
	f, err := b.Read(ctx, c.Path)
	var no *tools.PathError
	switch {
	case err == nil:
		current = f.Data
		if current == nil {
			current = []byte{}
		}
	case errors.As(err, &no) && no.Reason == "not found":
	default:
		return tools.Applied{}, err
	}
	if !same(current, c.Base) {
		return tools.Applied{}, &tools.StaleError{Path: c.Path, What: "it is another on this branch by now"}
	}
	name := b.name(c.Path)
	added, removed := counts(c.Base, c.New)
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	if was := b.w.files[name]; was != nil && !same(was.now, c.Base) {
		return tools.Applied{}, &tools.StaleError{Path: c.Path, What: "it was changed at the same time"}
	}
	id, err := b.w.keep(ctx, branchEdit{Turn: b.turn, Path: name}, c)
	if err != nil {
		return tools.Applied{}, err
	}
	b.w.put(name, c.Base, c.New, b.turn)
	return tools.Applied{EditID: id, HunkIDs: []string{}, Added: added, Removed: removed,
		Note: "kept in this branch's own working copy; the person's files stay as they are until they adopt the branch"}, nil
}

func counts(was, is []byte) (added, removed int) {
	for _, x := range text.Diff(string(was), string(is)) {
		added += text.CountLines(x.New)
		removed += text.CountLines(string(was[x.Start:x.End]))
	}
	return added, removed
}

// keep stores an edit. mu must be held.
func (w *workingCopy) keep(ctx context.Context, x branchEdit, c tools.Change) (id string, err error) {
	hash := func(data []byte) string {
		if data == nil || err != nil {
			return ""
		}
		var h string
		h, err = w.e.parts.Store.PutBlob(ctx, data)
		return h
	}
	x.Base, x.New = hash(c.Base), hash(c.New)
	if err != nil {
		return "", storeError(err)
	}
	body, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	id = fmt.Sprintf("%s/%s/%06d", w.session, w.branch, w.n+1)
	if err := w.e.parts.Store.Put(ctx, store.Artifact{Kind: kindBranchEdit, ID: id, Session: w.session, Branch: w.branch, Turn: branchKey(w.branch), Body: body}); err != nil {
		return "", storeError(err)
	}
	w.n++
	return id, nil
}

// diffs is what the branch has changed, as unified diffs by path.
func (w *workingCopy) diffs() []BranchDiff {
	out := []BranchDiff{}
	if w == nil {
		return out
	}
	names, files := w.list()
	for _, name := range names {
		f := files[name]
		oldName, newName := name, name
		if f.base == nil {
			oldName = ""
		}
		if f.now == nil {
			newName = ""
		}
		d := BranchDiff{Path: name}
		d.Diff, d.Added, d.Removed = text.Unified(oldName, newName, string(f.base), string(f.now))
		out = append(out, d)
	}
	return out
}

// BranchAdopt lands what a fork has changed in the person's tree as pending
// hunks, moved over what changed there since. A file where that isn't possible
// is left alone, and it is said why.
func (e *Engine) BranchAdopt(ctx context.Context, p *SessionRef) (*BranchAdopted, error) {
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	id, err := e.branchID(ctx, s, p.BranchID)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, s.row.ID, id)
	if err != nil {
		return nil, err
	}
	if t.copy == nil {
		return nil, &Error{Code: CodeBadRequest, Message: "branch " + id + " works in your own files already", Hint: "name the branch whose changes you want"}
	}
	if r, ok := t.runInfo(); ok {
		return nil, &Error{Code: CodeInvalidState, Message: "run " + r.RunID + " of this branch is active", Hint: "wait for its end, or cancel it"}
	}
	out := &BranchAdopted{SessionID: s.row.ID, BranchID: id, Files: []AdoptedFile{}}
	names, files := t.copy.list()
	for _, name := range names {
		f := files[name]
		into := e.parts.Edits.Files(edits.Scope{SessionID: s.row.ID, BranchID: mainBranch, TurnID: f.turn, Mode: edits.Mode(e.settings().Edits)})
		got := AdoptedFile{Path: name}
		a, err := into.Change(context.WithoutCancel(ctx), tools.Change{Path: name, CallID: "adopt-" + id, Base: f.base, New: f.now})
		if err != nil {
			got.Skipped = err.Error()
		} else {
			got.EditID, got.Hunks, got.Added, got.Removed, got.Rebased = a.EditID, len(a.HunkIDs), a.Added, a.Removed, a.Rebased
		}
		out.Files = append(out.Files, got)
	}
	return out, nil
}

// ownCopyOnly refuses what could reach past a fork's working copy: commands and
// other programs' tools see, and change, the person's files.
func (t *timeline) ownCopyOnly(spec tools.Spec) (tools.Result, bool) {
	if t.copy == nil || spec.ReadOnly || spec.Category == tools.CategoryWrite || spec.Category == tools.CategoryMeta {
		return tools.Result{}, true
	}
	return tools.Result{Status: tools.StatusError, Detail: tools.Detail{Blocked: true}, Text: "refused: " + spec.Name + " would work in the person's own files, and this branch has a working copy of its own. " +
		"Read, search and edit here; what must be run can be run once the branch is adopted."}, false
}
