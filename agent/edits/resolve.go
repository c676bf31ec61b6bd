package edits

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Resolve carries out the person's decision on hunks. The error is for a
// request that can't be understood; what becomes of each hunk is in the
// results, those of unknown ids included.
func (l *Ledger) Resolve(ctx context.Context, r ResolveRequest) ([]ResolveResult, error) {
	if r.Decision != Accept && r.Decision != Reject {
		return nil, fmt.Errorf("the decision %q is neither %q nor %q", r.Decision, Accept, Reject)
	}
	if !r.All && len(r.HunkIDs) == 0 && r.EditID == "" && r.Path == "" && r.TurnID == "" {
		return nil, errors.New("nothing says which hunks: give hunkIds, editId, uri, turnId or all")
	}
	want := Filter{SessionID: r.SessionID, Path: r.Path, EditID: r.EditID, TurnID: r.TurnID}
	if !r.All && len(r.HunkIDs) > 0 {
		want.HunkIDs = r.HunkIDs
	}
	if r.Path != "" {
		if _, err := l.ws.Resolve(r.Path); err != nil {
			return nil, toolError(err)
		}
	}
	ids, places := l.choose(want)
	files, release, err := l.take(ctx, places)
	if err != nil {
		return nil, err
	}
	sessions := map[string]bool{}
	for _, f := range files {
		_ = l.sync(f) // a file that can't be read fails below, on its own
		l.mu.Lock()
		for s := range f.sessionsOf() {
			sessions[s] = true
		}
		l.mu.Unlock()
	}
	results, err := l.decide(ctx, r, ids, files)
	release()
	l.tell(sessions, files...)
	if err != nil {
		return nil, err
	}
	for _, id := range r.HunkIDs {
		if !slices.ContainsFunc(results, func(x ResolveResult) bool { return x.HunkID == id }) {
			results = append(results, ResolveResult{id, OutcomeConflict, "there is no such hunk any more: it was decided, or the person's own edits made it vanish"})
		}
	}
	return results, nil
}

// choose finds the hunks that a filter wants, and their files.
func (l *Ledger) choose(want Filter) (ids map[string]bool, places []workspace.Place) {
	ids = map[string]bool{}
	for _, v := range l.Hunks(want) {
		ids[v.HunkID] = true
		if p, err := l.ws.Resolve(v.Path); err == nil {
			places = append(places, p)
		}
	}
	return ids, places
}

// decide makes the decision one operation over all files.
func (l *Ledger) decide(ctx context.Context, r ResolveRequest, ids map[string]bool, files []*file) ([]ResolveResult, error) {
	match := func(h *review.Hunk) bool {
		return ids[h.ID] || slices.ContainsFunc(h.Merged, func(id string) bool { return ids[id] })
	}
	op := operation{id: l.nextID("d"), final: r.Decision == Accept, label: "Agent: " + string(r.Decision)}
	decided := map[*file][]cycle.HunkDecided{}
	answers := map[string][]string{} // hunk → the ids that it answers to
	op.plan = func(f *file, pre review.File) (review.File, error) {
		var post review.File
		var done []review.Decided
		if r.Decision == Accept {
			post, done = pre.Accept(match)
		} else {
			post, done = pre.Reject(match, op.id)
		}
		index := text.NewIndex(post.Shown())
		decided[f] = nil
		for _, d := range done {
			v := review.View{Hunk: d.Hunk, Span: d.Span, OldText: d.Hunk.Base, NewText: d.Hunk.Agent}
			h := cycle.HunkDecided{HunkNote: noteOf(f.place.Path, index, v), Outcome: OutcomeResolved, Edited: d.Edited}
			if d.Conflict {
				h.Outcome = OutcomeConflict
				h.Detail = fmt.Sprintf("you had changed the same lines: both texts were kept, see %s:%d", f.place.Path, h.Line+1)
			}
			decided[f] = append(decided[f], h)
			answers[d.Hunk.ID] = append([]string{d.Hunk.ID}, d.Hunk.Merged...)
		}
		return post, nil
	}
	all := func() (out []cycle.HunkDecided) {
		for _, f := range files {
			out = append(out, decided[f]...)
		}
		return out
	}
	op.event = func(steps []cycle.FileStep) cycle.Event {
		return cycle.HunksDecided{OpID: op.id, SessionID: r.SessionID, Decision: string(r.Decision), Reason: r.Reason, Hunks: all(), Files: steps, Time: l.now()}
	}
	done, err := l.run(ctx, op, files)
	if len(done) == 0 && errors.Is(err, ErrStore) {
		return nil, err
	}
	var out []ResolveResult
	for _, f := range files {
		made := slices.ContainsFunc(done, func(s step) bool { return s.f == f })
		for _, h := range decided[f] {
			res := ResolveResult{h.HunkID, h.Outcome, h.Detail}
			if !made && err != nil {
				res = ResolveResult{h.HunkID, OutcomeConflict, "nothing was done: " + err.Error()}
			}
			out = append(out, res)
			for _, id := range answers[h.HunkID] {
				if id != h.HunkID && slices.Contains(r.HunkIDs, id) {
					out = append(out, ResolveResult{id, res.Outcome, res.Detail})
				}
			}
		}
	}
	return out, nil
}

// UndoReject brings back the hunks of the last reject that was not undone.
func (l *Ledger) UndoReject(ctx context.Context) ([]ResolveResult, error) {
	l.mu.Lock()
	last, ok := l.history.lastReject()
	l.mu.Unlock()
	if !ok {
		return nil, errors.New("there is no reject to undo")
	}
	var places []workspace.Place
	for _, path := range last.paths {
		if p, err := l.ws.Resolve(path); err == nil {
			places = append(places, p)
		}
	}
	files, release, err := l.take(ctx, places)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		_ = l.sync(f) // a file that can't be read fails below, on its own
	}
	op := operation{id: l.nextID("u"), label: "Agent: undo reject"}
	back := map[*file][]cycle.HunkDecided{}
	op.plan = func(f *file, pre review.File) (review.File, error) {
		post, done := pre.UndoReject(last.opID)
		index := text.NewIndex(post.Shown())
		back[f] = nil
		for _, d := range done {
			v := review.View{Hunk: d.Hunk, Span: d.Span, OldText: d.Hunk.Base, NewText: d.Hunk.Agent}
			back[f] = append(back[f], cycle.HunkDecided{HunkNote: noteOf(f.place.Path, index, v), Outcome: OutcomeResolved})
		}
		return post, nil
	}
	event := func(steps []cycle.FileStep) cycle.Event {
		e := cycle.RejectUndone{OpID: op.id, Undoes: last.opID, Files: steps, Time: l.now()}
		for _, f := range files {
			e.Hunks = append(e.Hunks, back[f]...)
		}
		return e
	}
	op.event = event
	done, err := l.run(ctx, op, files)
	if err == nil && len(done) == 0 {
		err = l.record(ctx, event(nil)) // it can't be undone any more: don't try it again
	}
	release()
	l.tell(nil, files...)
	if err != nil {
		return nil, err
	}
	var out []ResolveResult
	for _, id := range last.hunks {
		res := ResolveResult{id, OutcomeConflict, "the lines have changed since; the agent's text is in the session's log"}
		for _, s := range done {
			if slices.ContainsFunc(back[s.f], func(h cycle.HunkDecided) bool { return h.HunkID == id }) {
				res = ResolveResult{id, OutcomeResolved, ""}
			}
		}
		out = append(out, res)
	}
	return out, nil
}

// Verdicts gives the decisions after one, oldest first.
func (l *Ledger) Verdicts(since int) []Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.history.verdicts, since+1, func(v Verdict, n int) int { return v.Seq - n })
	return slices.Clone(l.history.verdicts[i:])
}
