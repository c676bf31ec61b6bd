package edits

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Change makes an edit by the agent.
func (fs *Files) Change(ctx context.Context, c tools.Change) (tools.Applied, error) {
	p, err := fs.place(c.Path, workspace.AccessWrite)
	if err != nil {
		return tools.Applied{}, err
	}
	if err := changeable(p, c); err != nil {
		return tools.Applied{}, err
	}
	f, err := fs.l.acquire(ctx, p)
	if err != nil {
		return tools.Applied{}, err
	}
	out, err := fs.change(ctx, f, c)
	fs.l.release(f)
	if err == nil && out.EditID != "" {
		fs.l.tell(nil, f)
	}
	return out, toolError(err)
}

// change makes an edit to a file that is taken.
func (fs *Files) change(ctx context.Context, f *file, c tools.Change) (tools.Applied, error) {
	if err := fs.l.sync(f); err != nil {
		return tools.Applied{}, err
	}
	if f.disk == workspace.NoFile {
		f.mode = modeOf(c)
		f.form, _ = workspace.SplitForm(c.New)
	}
	ch := &change{scope: fs.scope, Change: c, editID: fs.l.nextID("e")}
	done, err := fs.l.run(ctx, operation{
		id: ch.editID, label: "Agent edit: " + f.place.Path, plan: ch.plan,
		event: func(steps []cycle.FileStep) cycle.Event {
			return cycle.HunksProposed{
				EditID: ch.editID, SessionID: fs.scope.SessionID, BranchID: fs.scope.BranchID, TurnID: fs.scope.TurnID,
				CallID: c.CallID, Mode: string(fs.scope.Mode), Rebased: ch.rebased, Hunks: ch.notes, File: steps[0], Time: fs.l.now(),
			}
		},
	}, []*file{f})
	if err != nil {
		return tools.Applied{}, err
	}
	if len(done) == 0 {
		return tools.Applied{Written: true, Note: "the file already has this content"}, nil
	}
	return fs.l.applied(ch, done[0]), nil
}

func modeOf(c tools.Change) fs.FileMode { return fs.FileMode(c.Mode).Perm() }

// changeable refuses what no edit should be made of.
func changeable(p workspace.Place, c tools.Change) error {
	if len(c.New) > EditBytesMax || len(c.Base) > EditBytesMax {
		return &tools.PathError{Path: p.Path, Reason: workspace.ReasonTooLarge,
			Hint: fmt.Sprintf("%d MB, files up to %d MB can be edited", (max(len(c.New), len(c.Base))+1<<20-1)>>20, EditBytesMax>>20)}
	}
	if c.New == nil {
		return nil // whatever it is, deleting it brings back the same bytes
	}
	for _, data := range [][]byte{c.Base, c.New} {
		if form, s := workspace.SplitForm(data); workspace.IsBinary([]byte(s)) || form == "" && workspace.Encoding(data) == "utf-16" {
			return &tools.PathError{Path: p.Path, Reason: workspace.ReasonBinary, Hint: "only text can be edited; it can be deleted and made anew"}
		}
	}
	return nil
}

// change is one tools.Change on its way.
type change struct {
	tools.Change
	scope   Scope
	editID  string
	hunks   int
	rebased bool
	notes   []cycle.HunkNote
	pre     review.File
}

func (ch *change) newID() string {
	ch.hunks++
	return fmt.Sprintf("%s.%d", ch.editID, ch.hunks)
}

// plan computes the file with the change.
func (ch *change) plan(f *file, pre review.File) (post review.File, err error) {
	ch.hunks, ch.pre, ch.rebased = 0, pre, false
	ref := review.Ref{EditID: ch.editID, SessionID: ch.scope.SessionID, TurnID: ch.scope.TurnID, CallID: ch.CallID}
	held := ch.scope.Mode != ModeReview
	_, base := workspace.SplitForm(ch.Base)
	_, now := workspace.SplitForm(ch.New)
	switch {
	case ch.Base == nil && pre.AgentExists():
		return pre, &tools.StaleError{Path: f.place.Path, What: "it is there already"}
	case ch.Base == nil:
		post, err = pre.Create(now, ref, held, ch.newID)
	case !pre.AgentExists():
		return pre, &tools.StaleError{Path: f.place.Path, What: "it is gone"}
	case ch.New == nil && pre.Current() != base:
		return pre, &tools.StaleError{Path: f.place.Path, What: whatChanged(base, pre.Current())}
	case ch.New == nil:
		post, err = pre.Delete(ref, held, ch.newID)
	default:
		current := pre.Current()
		if current != base {
			merged, _, ok := text.Merge(base, current, now)
			if !ok {
				return pre, &tools.StaleError{Path: f.place.Path, What: whatChanged(base, current)}
			}
			now, ch.rebased = merged, true
		}
		post, err = pre.Agent(now, ref, held, ch.newID)
	}
	if err != nil {
		return pre, &tools.PathError{Path: f.place.Path, Reason: err.Error(), Hint: "ask the person to decide"}
	}
	ch.notes = ch.hunkNotes(f.place.Path, post)
	return post, nil
}

// hunkNotes lists the hunks that the edit has a part in.
func (ch *change) hunkNotes(path string, post review.File) []cycle.HunkNote {
	var out []cycle.HunkNote
	index := text.NewIndex(post.Shown())
	for _, h := range post.Hunks() {
		if slices.ContainsFunc(h.Refs, func(r review.Ref) bool { return r.EditID == ch.editID }) {
			out = append(out, noteOf(path, index, h))
		}
	}
	return out
}

func noteOf(path string, index *text.Index, h review.View) cycle.HunkNote {
	last := h.Refs[len(h.Refs)-1]
	return cycle.HunkNote{
		HunkID: h.ID, EditID: last.EditID, SessionID: last.SessionID, TurnID: last.TurnID, CallID: last.CallID, Path: path,
		Line: index.Position(h.Span.Start, text.UTF8).Line, Added: text.CountLines(h.NewText), Removed: text.CountLines(h.OldText),
	}
}

// whatChangedMax is how many changed places are named.
const whatChangedMax = 3

// whatChanged names the lines of now that are not as they were.
func whatChanged(was, now string) string {
	edits := text.Diff(was, now)
	var places []string
	shift := 0
	index := text.NewIndex(now)
	for i, e := range edits {
		if i == whatChangedMax {
			places = append(places, fmt.Sprintf("and %d more places", len(edits)-i))
			break
		}
		start := index.Position(e.Start+shift, text.UTF8).Line + 1
		n := text.CountLines(e.New)
		switch n {
		case 0:
			places = append(places, fmt.Sprintf("lines were deleted before line %d", start))
		case 1:
			places = append(places, fmt.Sprintf("line %d", start))
		default:
			places = append(places, fmt.Sprintf("lines %d-%d", start, start+n-1))
		}
		shift += e.Delta()
	}
	return strings.Join(places, ", ")
}

// applied describes a change that was made.
func (l *Ledger) applied(ch *change, s step) tools.Applied {
	out := tools.Applied{EditID: ch.editID, Rebased: ch.rebased, Written: shownHash(s.pre) != shownHash(s.post)}
	out.Added, out.Removed = text.CountChanged(ch.pre.Current(), text.Diff(ch.pre.Current(), s.post.Current()))
	conflicts := 0
	for _, h := range s.post.Hunks() {
		if slices.ContainsFunc(h.Refs, func(r review.Ref) bool { return r.EditID == ch.editID }) {
			out.HunkIDs = append(out.HunkIDs, h.ID)
			if h.Conflict {
				conflicts++
			}
		}
	}
	var notes []string
	switch n := s.post.Pending(); {
	case n == 0:
	case !out.Written:
		notes = append(notes, fmt.Sprintf("not written yet: %s for the person to accept; your own tools already see the new text", hunksWait(n)))
	default:
		notes = append(notes, hunksWait(n)+" for review")
	}
	if ch.rebased {
		notes = append(notes, "the file had changed since it was read, the edit was moved over that")
	}
	if doc, open := l.ws.Doc(s.f.place); open && out.Written && doc.Dirty() {
		notes = append(notes, "the file has unsaved changes in the editor: commands see the version on disk")
	}
	out.Note = strings.Join(notes, "; ")
	return out
}

func hunksWait(n int) string {
	if n == 1 {
		return "1 hunk waits"
	}
	return fmt.Sprintf("%d hunks wait", n)
}
