package edits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Where a text was brought to.
const (
	whereEditor = "editor"
	whereDisk   = "disk"
)

// operation is one change of one or more files that is recorded as one event.
type operation struct {
	id    string
	label string // what the editor's undo list shows
	// plan computes a file's new state. It is called again with another state
	// when the person changed the file before the operation got there.
	plan func(f *file, pre review.File) (review.File, error)
	// event makes the record of all steps.
	event func(steps []cycle.FileStep) cycle.Event
	// final operations leave no way back by the editor's undo (accepting).
	final bool
}

// step is one file's part in an operation.
type step struct {
	f         *file
	pre, post review.File
	dirty     bool // the buffer had unsaved changes before
}

// run makes an operation on files that are taken and synced. Files whose plan
// changes nothing take no part. The first error is returned after the other
// files are done; done lists the files that were changed.
func (l *Ledger) run(ctx context.Context, op operation, files []*file) (done []step, err error) {
	var steps []*step
	var records []cycle.FileStep
	for _, f := range files {
		l.mu.Lock()
		pre := f.state
		l.mu.Unlock()
		post, err := op.plan(f, pre)
		if err != nil {
			return nil, err
		}
		if post.Equal(pre) {
			continue
		}
		if err := l.fits(f, pre, post); err != nil {
			return nil, err
		}
		rec, err := l.stepRecord(f, pre, post)
		if err != nil {
			return nil, err
		}
		steps = append(steps, &step{f: f, pre: pre, post: post})
		records = append(records, rec)
	}
	if len(steps) == 0 {
		return nil, nil
	}
	if err := l.record(ctx, op.event(records)); err != nil {
		return nil, err
	}
	for _, s := range steps {
		if e := l.bring(ctx, op, s); e != nil {
			if err == nil {
				err = e
			}
			continue
		}
		done = append(done, *s)
	}
	return done, err
}

// fits refuses what can't be written.
func (l *Ledger) fits(f *file, pre, post review.File) error {
	if post.Shown() == pre.Shown() && post.ShownExists() == pre.ShownExists() {
		return nil
	}
	switch doc, open := l.ws.Doc(f.place); {
	case f.disk != workspace.NoFile && f.mode&0o200 == 0:
		return &tools.PathError{Path: f.place.Path, Reason: workspace.ReasonReadOnly, Hint: "make it writable first"}
	case open && doc.Dirty() && !post.ShownExists():
		return &tools.PathError{Path: f.place.Path, Reason: "has unsaved changes in the editor", Hint: "save or close it before it is deleted"}
	}
	return nil
}

// stepRecord stores both states and names them.
func (l *Ledger) stepRecord(f *file, pre, post review.File) (cycle.FileStep, error) {
	rec := cycle.FileStep{Path: f.place.Path, PreShown: shownHash(pre), PostShown: shownHash(post), Mode: uint32(f.mode.Perm()), Form: formName(f.form)}
	_, rec.InBuffer = l.ws.Doc(f.place)
	var err error
	if rec.Pre, err = l.putState(pre); err == nil {
		rec.Post, err = l.putState(post)
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", ErrStore, err)
	}
	rec.Added, rec.Removed = text.CountChanged(pre.Shown(), text.Diff(pre.Shown(), post.Shown()))
	return rec, nil
}

// formNames are the forms as the log has them.
var formNames = map[workspace.Form]string{workspace.FormUTF8: "utf-8-bom", workspace.FormUTF16: "utf-16le", workspace.FormUTF16Big: "utf-16be"}

func formName(f workspace.Form) string { return formNames[f] }

func formNamed(name string) workspace.Form {
	for f, n := range formNames {
		if n == name {
			return f
		}
	}
	return ""
}

// shownHash names the text of a state; workspace.NoFile when there is none.
func shownHash(s review.File) string {
	if !s.ShownExists() {
		return workspace.NoFile
	}
	return text.Hash(s.Shown())
}

// bring carries a recorded step out, over what the person does meanwhile.
func (l *Ledger) bring(ctx context.Context, op operation, s *step) error {
	where, err := "", error(nil)
	for try := 0; ; try++ {
		if shownHash(s.pre) == shownHash(s.post) {
			break // nothing to be seen of it
		}
		if try == ApplyTriesMax {
			err = &tools.StaleError{Path: s.f.place.Path, What: fmt.Sprintf("it changed again each of the %d times that this was tried", ApplyTriesMax)}
			break
		}
		var moved bool
		where, moved, err = l.put(ctx, op, s)
		if err != nil || !moved {
			break
		}
		if err = l.replan(ctx, op, s); err != nil {
			break
		}
	}
	if err != nil {
		if e := l.record(ctx, cycle.EditWithdrawn{OpID: op.id, Path: s.f.place.Path, Why: err.Error(), Time: l.now()}); e != nil {
			return errors.Join(err, e)
		}
		return err
	}
	l.settle(s.f, op, s.pre, s.post)
	if where != "" {
		// If this can't be written down the text tells it all the same.
		_ = l.record(ctx, cycle.EditApplied{OpID: op.id, Path: s.f.place.Path, Where: where, Time: l.now()})
	}
	return nil
}

// settle makes a state the file's.
func (l *Ledger) settle(f *file, op operation, pre, post review.File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f.state, f.known = post, true
	switch {
	case op.final:
		f.line.Reset()
	case !post.Equal(pre):
		f.line.Op(pre, post)
	}
}

// replan computes the step again, over what the person did.
func (l *Ledger) replan(ctx context.Context, op operation, s *step) error {
	if err := l.sync(s.f); err != nil {
		return err
	}
	l.mu.Lock()
	s.pre = s.f.state
	l.mu.Unlock()
	post, err := op.plan(s.f, s.pre)
	if err == nil {
		err = l.fits(s.f, s.pre, post)
	}
	if err != nil {
		return err
	}
	s.post = post
	rec, err := l.stepRecord(s.f, s.pre, s.post)
	if err != nil {
		return err
	}
	return l.record(ctx, cycle.StepAmended{OpID: op.id, File: rec, Time: l.now()})
}

// put tries once to bring a step's text to where the person sees it. moved says
// that the text isn't what the step was computed from any more.
func (l *Ledger) put(ctx context.Context, op operation, s *step) (where string, moved bool, err error) {
	l.mu.Lock()
	doc, open := l.ws.Doc(s.f.place)
	editor := l.editor
	l.mu.Unlock()
	if open && s.f.deletedUnder(doc, s.f.disk != workspace.NoFile) {
		open = false
	}
	if open && s.post.ShownExists() {
		if editor == nil {
			if doc.Dirty() {
				return "", false, &tools.PathError{Path: s.f.place.Path, Reason: "has unsaved changes in an editor that takes no edits", Hint: "save it first"}
			}
			return l.putDisk(s)
		}
		moved, err = l.putEditor(ctx, editor, op.label, s, doc)
		return whereEditor, moved, err
	}
	return l.putDisk(s)
}

// putEditor has the editor apply the step to its buffer, as one undo step.
func (l *Ledger) putEditor(ctx context.Context, editor Editor, label string, s *step, doc workspace.Doc) (moved bool, err error) {
	if doc.Text != s.pre.Shown() {
		return true, nil
	}
	l.drain(s.f)
	edit := DocEdit{URI: doc.URI, Path: s.f.place.Path, Version: doc.Version}
	index := text.NewIndex(doc.Text)
	for _, e := range text.Diff(doc.Text, s.post.Shown()) {
		e = text.Trim(doc.Text, e)
		edit.Edits = append(edit.Edits, RangeEdit{index.Places(e.Span()), e.New})
	}
	applied, err := editor.ApplyEdit(ctx, label, []DocEdit{edit})
	if err != nil {
		return false, fmt.Errorf("%s: the editor did not take the edit: %w", s.f.place.Path, err)
	}
	if !applied {
		// Either the person was quicker, and their change is on its way, or the
		// editor doesn't want to.
		if l.await(ctx, s.f, StaleWait, func(now workspace.Doc, open bool) bool { return !open || now.Version != doc.Version }) {
			return true, nil
		}
		return false, &tools.PathError{Path: s.f.place.Path, Reason: "the editor refused the edit", Hint: "is the buffer read-only?"}
	}
	if !l.await(ctx, s.f, EchoWait, func(now workspace.Doc, open bool) bool { return !open || now.Version != doc.Version }) {
		return false, fmt.Errorf("%s: the editor says that it applied the edit, and never told of the change", s.f.place.Path)
	}
	if !doc.Dirty() {
		l.save(ctx, editor, s)
	}
	return false, nil
}

// save has the editor save a buffer that it has just applied a step to, if
// nothing else is in it. What can't be saved stays in the buffer, where the
// person sees that it isn't.
func (l *Ledger) save(ctx context.Context, editor Editor, s *step) {
	saver, ok := editor.(Saver)
	if !ok {
		return
	}
	// an editor may tell of one edit in several changes: the first is no reason to leave it unsaved
	l.await(ctx, s.f, StaleWait, func(now workspace.Doc, open bool) bool { return !open || now.Text == s.post.Shown() })
	l.mu.Lock()
	doc, open := l.ws.Doc(s.f.place)
	l.mu.Unlock()
	if !open || doc.Text != s.post.Shown() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SaveWait)
	defer cancel()
	if saved, err := saver.SaveDoc(ctx, doc.URI, doc.Version); saved && err == nil {
		l.await(ctx, s.f, SaveWait, func(now workspace.Doc, open bool) bool { return !open || now.Version != doc.Version || !now.Dirty() })
	}
}

// drain forgets that the buffer changed earlier.
func (l *Ledger) drain(f *file) {
	select {
	case <-f.poke:
	default:
	}
}

// await waits until the buffer is as is wants, or for the time given. It goes
// on when ctx ends: an edit that the editor has taken is in the buffer, and its
// echo is on the way.
func (l *Ledger) await(ctx context.Context, f *file, d time.Duration, is func(workspace.Doc, bool) bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		l.mu.Lock()
		doc, open := l.ws.Doc(f.place)
		l.mu.Unlock()
		if is(doc, open) {
			return true
		}
		select {
		case <-f.poke:
		case <-timer.C:
			return false
		}
	}
}

// putDisk writes, makes or deletes the file, if it still is what it was.
func (l *Ledger) putDisk(s *step) (where string, moved bool, err error) {
	bytes := func(st review.File) []byte {
		return s.f.bytes(st.Shown())
	}
	expect := workspace.NoFile
	if s.pre.ShownExists() {
		expect = text.Hash(bytes(s.pre))
	}
	switch {
	case s.post.ShownExists():
		data := bytes(s.post)
		if err = l.ws.WriteDisk(s.f.place, data, expect, s.f.mode); err == nil {
			s.f.disk = text.Hash(data)
		}
	default:
		if err = l.ws.RemoveDisk(s.f.place, expect); err == nil {
			s.f.disk = workspace.NoFile
		}
	}
	var changed *workspace.ChangedError
	if errors.As(err, &changed) {
		return "", true, nil
	}
	return whereDisk, false, toolError(err)
}

// take acquires several files, always in the same order.
func (l *Ledger) take(ctx context.Context, places []workspace.Place) (files []*file, done func(), err error) {
	slices.SortFunc(places, func(a, b workspace.Place) int { return strings.Compare(a.Abs, b.Abs) })
	places = slices.CompactFunc(places, func(a, b workspace.Place) bool { return a.Abs == b.Abs })
	done = func() {
		for _, f := range files {
			l.release(f)
		}
	}
	for _, p := range places {
		f, err := l.acquire(ctx, p)
		if err != nil {
			done()
			return nil, nil, err
		}
		files = append(files, f)
	}
	return files, done, nil
}
