package edits

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Load rebuilds the ledger from the workspace's recorded events, and brings it
// in step with the disk as the package comment says. It is called once, before
// anything else. A file that can't be read is left out and named in the error;
// the rest is loaded all the same.
func (l *Ledger) Load(ctx context.Context, events []cycle.Event) error {
	l.mu.Lock()
	for _, e := range events {
		l.history.apply(e)
	}
	var paths []string
	for path := range l.history.files {
		paths = append(paths, path)
	}
	l.mu.Unlock()
	sort.Strings(paths)
	var errs []error
	for _, path := range paths {
		if err := l.loadFile(ctx, path); err != nil {
			errs = append(errs, fmt.Errorf("the pending edits of %s could not be taken up: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Ledger) loadFile(ctx context.Context, path string) error {
	l.mu.Lock()
	h := l.history.file(path)
	l.mu.Unlock()
	post, err := l.state(h.post)
	if err != nil {
		return err
	}
	if post.Plain() && h.applied {
		return nil
	}
	p, err := l.ws.Resolve(path)
	if err != nil {
		return err
	}
	pre, err := l.state(h.pre)
	if err != nil {
		return err
	}
	l.ws.SweepTemp(p)
	f, err := l.acquire(ctx, p)
	if err != nil {
		return err
	}
	defer l.release(f)
	l.mu.Lock()
	f.known, f.state, f.reopened = true, post, true
	f.mode, f.form = h.mode, h.form
	l.mu.Unlock()
	now, err := l.onDisk(p)
	if err != nil {
		return err
	}
	switch {
	case h.applied || now.hash == h.postShown:
	case now.hash == h.preShown && !(h.kind == kindEdit && h.inBuffer):
		return l.unfinished(ctx, f, h, pre, post)
	default:
		f.unsure = &h
	}
	if h.inBuffer {
		// The buffer may live on, with more in it than the disk has: whatever
		// comes first, the buffer or an operation, decides.
		return nil
	}
	return l.sync(f)
}

// shown is a text that was found on disk.
type shown struct {
	hash, text string // NoFile when there is none
}

func (l *Ledger) onDisk(p workspace.Place) (shown, error) {
	disk, err := l.ws.ReadDisk(p)
	var pe *workspace.PathError
	if errors.As(err, &pe) && pe.Reason == workspace.ReasonNotFound {
		return shown{}, nil
	}
	if err != nil {
		return shown{}, err
	}
	_, s := workspace.SplitForm(disk.Data)
	return shown{text.Hash(s), s}, nil
}

// unfinished takes up an operation that was recorded and not carried out.
func (l *Ledger) unfinished(ctx context.Context, f *file, h fileHistory, pre, post review.File) error {
	l.mu.Lock()
	f.state = pre
	l.mu.Unlock()
	if h.kind == kindEdit {
		return l.record(ctx, l.withdrawn(f, h))
	}
	if err := l.sync(f); err != nil {
		return err
	}
	op := operation{id: h.opID, label: "Agent: finish", plan: func(_ *file, p review.File) (review.File, error) {
		if !p.Equal(pre) {
			return p, errors.New("it was changed meanwhile")
		}
		return post, nil
	}}
	return l.bring(ctx, op, &step{f: f, pre: pre, post: post})
}

func (l *Ledger) withdrawn(f *file, h fileHistory) cycle.EditWithdrawn {
	return cycle.EditWithdrawn{OpID: h.opID, Path: f.place.Path, Why: "the program ended before it was carried out", Time: l.now()}
}

// makeSure decides by the text that was found whether an operation had been
// carried out. Where the person has been there since, nothing is redone, and of
// two states that may be right the one is taken that knows more of what the
// person wrote: an agent's deletion must not pass for theirs. Hunks that then
// turn out not to be in the text vanish by themselves.
func (l *Ledger) makeSure(f *file, now string, exists bool) error {
	h := *f.unsure
	f.unsure = nil
	pre, err := l.state(h.pre)
	if err != nil {
		return err
	}
	post, err := l.state(h.post)
	if err != nil {
		return err
	}
	hash := workspace.NoFile
	if exists {
		hash = text.Hash(now)
	}
	switch {
	case hash == h.postShown:
		return nil
	case hash == h.preShown:
	case h.kind == kindEdit || h.kind == kindUndo:
		return nil
	case h.kind == kindRestore && !nearer(pre, post, now):
		return nil
	}
	l.mu.Lock()
	f.state = pre
	l.mu.Unlock()
	return l.record(context.Background(), l.withdrawn(f, h))
}

// nearer says whether a text is nearer to pre than to post, by changed lines.
func nearer(pre, post review.File, s string) bool {
	lines := func(from string) int {
		a, d := text.CountChanged(from, text.Diff(from, s))
		return a + d
	}
	return lines(pre.Shown()) < lines(post.Shown())
}
