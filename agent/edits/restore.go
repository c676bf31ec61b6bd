package edits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Reasons for leaving a file alone.
const (
	skipChanged = "it was changed after the agent's last edit"
	skipShared  = "another session has edited it since"
	skipBetween = "the same lines were changed by hand between the agent's edits"
	skipSame    = "it is already as it was"
)

// target is what a restore wants of one file: that its text goes from what was
// last written back to a state.
type target struct {
	path, state string
	want        string // hash of the text that it must hold now
	steps       []*cycle.FileStep
	turns       map[string]bool
	wrote       bool // something of these turns got into the text
	shared      bool // another session worked on it, too
}

// Checkpoints lists the turns that changed files, oldest first; "" is all
// sessions'. Turns of which nothing is left to restore are left out.
func (l *Ledger) Checkpoints(sessionID string) []Checkpoint {
	l.mu.Lock()
	var ids []turn
	for _, t := range l.history.turns {
		if sessionID == "" || t.sessionID == sessionID {
			ids = append(ids, *t)
		}
	}
	l.mu.Unlock()
	var out []Checkpoint
	for _, t := range ids {
		c := Checkpoint{TurnID: t.turnID, SessionID: t.sessionID, Time: t.time}
		r, err := l.PreviewRestore(t.turnID)
		if err == nil && !slices.ContainsFunc(append(r.Files, r.Skipped...), func(f FileChange) bool { return f.Skipped != skipSame }) {
			continue
		}
		c.Files = append(r.Files, r.Skipped...)
		out = append(out, c)
	}
	return out
}

// targets finds what restoring a turn means: each file that it or a later turn
// of its session touched goes back to how it stood before.
func (l *Ledger) targets(turnID string) ([]target, string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := slices.IndexFunc(l.history.turns, func(t *turn) bool { return t.turnID == turnID })
	if from < 0 {
		return nil, "", fmt.Errorf("the turn %q changed no files", turnID)
	}
	session := l.history.turns[from].sessionID
	var out []target
	for _, t := range l.history.turns[from:] {
		for _, f := range t.files {
			i := slices.IndexFunc(out, func(x target) bool { return x.path == f.path })
			if t.sessionID != session {
				if i >= 0 {
					out[i].shared = true
				}
				continue
			}
			if i < 0 {
				h := l.history.file(f.path)
				out = append(out, target{path: f.path, state: f.pre, want: h.written, steps: slices.Clone(h.steps[f.first:]), turns: map[string]bool{}})
				i = len(out) - 1
			}
			out[i].turns[t.turnID] = true
			out[i].wrote = out[i].wrote || f.wrote
		}
	}
	slices.SortFunc(out, func(a, b target) int {
		if a.path < b.path {
			return -1
		}
		return 1
	})
	return out, session, nil
}

// plan computes a file's restored state; skip says why it is left alone.
func (t target) plan(l *Ledger, pre review.File) (post review.File, skip string, err error) {
	if t.shared {
		return pre, skipShared, nil
	}
	if t.turns != nil && !t.wrote {
		// Nothing of these turns ever got into the text: it is enough to drop
		// what was held back.
		post, _ := pre.Reject(func(h *review.Hunk) bool {
			return slices.ContainsFunc(h.Refs, func(r review.Ref) bool { return t.turns[r.TurnID] })
		}, "restore")
		if post.Equal(pre) {
			return pre, skipSame, nil
		}
		return post, "", nil
	}
	if shownHash(pre) != t.want {
		return pre, skipChanged, nil
	}
	old, skip, err := t.before(l)
	if err == nil && skip == "" && old.Equal(pre) {
		skip = skipSame
	}
	if skip != "" {
		return pre, skip, err
	}
	return old, "", err
}

// before is the file as it stood, with what the person did to it between the
// steps that are taken back. Only steps that changed the text count: what the
// person did and took back themselves in between is no change. skip is
// skipChanged when the text isn't what the last of them left.
func (t target) before(l *Ledger) (old review.File, skip string, err error) {
	if old, err = l.state(t.state); err != nil {
		return old, "", fmt.Errorf("%s: its earlier state can't be read: %w", t.path, err)
	}
	own := lineSet(old.Shown()) // lines that were there before, or that the person wrote since
	was, wasShown := t.state, shownHash(old)
	for _, s := range t.steps {
		if s.PreShown == s.PostShown {
			continue
		}
		if wasShown != s.PreShown {
			if old, skip, err = l.carry(old, was, s.Pre, own); skip != "" || err != nil {
				return old, skip, err
			}
		}
		was, wasShown = s.Post, s.PostShown
	}
	if len(t.steps) > 0 && wasShown != t.want {
		return old, skipChanged, nil
	}
	// A line of theirs may have come back by a decision, or in a text of the
	// agent's, after they had deleted another copy of it. Which of the two they
	// mean to keep can't be told: nothing is restored rather than lost.
	now, err := l.state(was)
	if err != nil {
		return old, "", err
	}
	kept := lineSet(old.Shown())
	for line := range lineSet(now.Shown()) {
		if own[line] && !kept[line] {
			return old, skipBetween, nil
		}
	}
	return old, "", nil
}

// lineSet is the lines of a text that say something.
func lineSet(s string) map[string]bool {
	out := map[string]bool{}
	for _, l := range text.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			out[l] = true
		}
	}
	return out
}

// carry makes what the person did between two stored states part of old, and
// adds the lines that they wrote to own.
func (l *Ledger) carry(old review.File, was, now string, own map[string]bool) (review.File, string, error) {
	a, err := l.state(was)
	if err != nil {
		return old, "", err
	}
	b, err := l.state(now)
	if err != nil {
		return old, "", err
	}
	if !a.ShownExists() || !b.ShownExists() || !old.ShownExists() {
		return old, skipBetween, nil
	}
	before := lineSet(a.Shown())
	for line := range lineSet(b.Shown()) {
		own[line] = own[line] || !before[line]
	}
	theirs, clash := text.Rebase(text.Diff(a.Shown(), old.Shown()), text.Diff(a.Shown(), b.Shown()))
	if clash != nil {
		return old, skipBetween, nil
	}
	old, err = old.User(theirs)
	return old, "", err
}

// PreviewRestore says what RestoreTurn would do now.
func (l *Ledger) PreviewRestore(turnID string) (Restored, error) {
	targets, _, err := l.targets(turnID)
	if err != nil {
		return Restored{}, err
	}
	out := Restored{TurnID: turnID}
	for _, t := range targets {
		p, err := l.ws.Resolve(t.path)
		if err != nil {
			return out, toolError(err)
		}
		f, err := l.acquire(context.Background(), p)
		if err != nil {
			return out, err
		}
		err = l.sync(f)
		l.mu.Lock()
		pre := f.state
		l.mu.Unlock()
		l.release(f)
		if err != nil {
			out.Skipped = append(out.Skipped, FileChange{Path: t.path, Skipped: toolError(err).Error()})
			continue
		}
		post, skip, err := t.plan(l, pre)
		if err != nil {
			return out, err
		}
		out.add(t.path, pre, post, skip)
	}
	return out, nil
}

func (r *Restored) add(path string, pre, post review.File, skip string) {
	c := FileChange{Path: path, Skipped: skip}
	if skip != "" {
		r.Skipped = append(r.Skipped, c)
		return
	}
	c.Added, c.Removed = text.CountChanged(pre.Shown(), text.Diff(pre.Shown(), post.Shown()))
	r.Files = append(r.Files, c)
}

// RestoreTurn puts the files that a turn, and later turns of its session,
// touched back as they stood before it. Files that no longer hold what was last
// written are left alone and named. It can be taken back by RedoRestore.
func (l *Ledger) RestoreTurn(ctx context.Context, turnID string) (Restored, error) {
	targets, session, err := l.targets(turnID)
	if err != nil {
		return Restored{}, err
	}
	return l.restore(ctx, targets, cycle.FilesRestored{TurnID: turnID, SessionID: session})
}

// RedoRestore takes a restore back, in the files that still hold what it left.
func (l *Ledger) RedoRestore(ctx context.Context, opID string) (Restored, error) {
	l.mu.Lock()
	e, ok := l.history.restores[opID]
	l.mu.Unlock()
	if !ok {
		return Restored{}, fmt.Errorf("there is no restore %q", opID)
	}
	var targets []target
	for _, s := range e.Files {
		targets = append(targets, target{path: s.Path, state: s.Pre, want: s.PostShown})
	}
	return l.restore(ctx, targets, cycle.FilesRestored{TurnID: e.TurnID, SessionID: e.SessionID, Undoes: opID})
}

// LastRestore names the last restore of a session that was not taken back, ""
// when there is none.
func (l *Ledger) LastRestore(sessionID string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.history.restored) - 1; i >= 0; i-- {
		id := l.history.restored[i]
		if e := l.history.restores[id]; e.SessionID == sessionID && len(e.Files) > 0 {
			return id
		}
	}
	return ""
}

func (l *Ledger) restore(ctx context.Context, targets []target, e cycle.FilesRestored) (Restored, error) {
	by := map[string]target{}
	var places []workspace.Place
	for _, t := range targets {
		p, err := l.ws.Resolve(t.path)
		if err != nil {
			return Restored{}, toolError(err)
		}
		by[p.Abs] = t
		places = append(places, p)
	}
	files, release, err := l.take(ctx, places)
	if err != nil {
		return Restored{}, err
	}
	op := operation{id: l.nextID("r"), label: "Agent: restore files"}
	out := Restored{OpID: op.id, TurnID: e.TurnID}
	skipped := map[*file]string{}
	sessions := map[string]bool{}
	var able []*file
	for _, f := range files {
		if err := l.sync(f); err != nil {
			out.Skipped = append(out.Skipped, FileChange{Path: f.place.Path, Skipped: toolError(err).Error()})
			continue
		}
		l.mu.Lock()
		for s := range f.sessionsOf() {
			sessions[s] = true
		}
		l.mu.Unlock()
		able = append(able, f)
	}
	op.plan = func(f *file, pre review.File) (review.File, error) {
		post, skip, err := by[f.place.Abs].plan(l, pre)
		skipped[f] = skip
		return post, err
	}
	op.event = func(steps []cycle.FileStep) cycle.Event {
		e.OpID, e.Files, e.Time = op.id, steps, l.now()
		for _, f := range able {
			if s := skipped[f]; s != "" && s != skipSame {
				e.Skipped = append(e.Skipped, f.place.Path)
			}
		}
		return e
	}
	done, err := l.run(ctx, op, able)
	release()
	l.tell(sessions, files...)
	if err != nil && len(done) == 0 {
		return out, err
	}
	for _, f := range able {
		i := slices.IndexFunc(done, func(s step) bool { return s.f == f })
		switch {
		case i >= 0:
			out.add(f.place.Path, done[i].pre, done[i].post, "")
		case skipped[f] != "":
			out.add(f.place.Path, review.File{}, review.File{}, skipped[f])
		case err != nil:
			out.add(f.place.Path, review.File{}, review.File{}, err.Error())
		}
	}
	if len(out.Files) == 0 && len(out.Skipped) == 0 {
		return out, errors.New("there is nothing to restore")
	}
	return out, nil
}

// TurnDiff is the unified diff of what a turn's edits did to each file, by
// path, whatever was decided since.
func (l *Ledger) TurnDiff(turnID string) map[string]string {
	l.mu.Lock()
	var files []turnFile
	for _, t := range l.history.turns {
		if t.turnID == turnID {
			for _, f := range t.files {
				files = append(files, *f)
			}
		}
	}
	l.mu.Unlock()
	out := map[string]string{}
	for _, f := range files {
		pre, err1 := l.state(f.pre)
		post, err2 := l.state(f.post)
		if err1 != nil || err2 != nil {
			continue
		}
		oldName, newName := f.path, f.path
		if !pre.AgentExists() {
			oldName = ""
		}
		if !post.AgentExists() {
			newName = ""
		}
		out[f.path], _, _ = text.Unified(oldName, newName, pre.Current(), post.Current())
	}
	return out
}
