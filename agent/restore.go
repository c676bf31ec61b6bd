package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

// What a restore puts back.
const (
	RestoreFiles        = "files"
	RestoreConversation = "conversation"
	RestoreBoth         = "both"
)

// CheckpointList lists a session's checkpoints, latest first.
func (e *Engine) CheckpointList(ctx context.Context, p *SessionRef) (*CheckpointList, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	out := &CheckpointList{Checkpoints: []Checkpoint{}}
	for _, c := range e.parts.Edits.Checkpoints(t.session) {
		x, _ := t.turnOf(c.TurnID, "")
		out.Checkpoints = append(out.Checkpoints, Checkpoint{TurnID: c.TurnID, Time: c.Time.UTC().Format(time.RFC3339), Title: firstLine(x.input), Files: toFiles(c.Files)})
	}
	slices.Reverse(out.Checkpoints)
	return out, nil
}

func toFiles(list []edits.FileChange) []CheckpointFile {
	out := []CheckpointFile{}
	for _, f := range list {
		out = append(out, CheckpointFile{Path: f.Path, Added: f.Added, Removed: f.Removed, Skipped: f.Skipped})
	}
	return out
}

// CheckpointRestore puts files, the conversation or both back as they stood
// before a turn, or takes such a restore back.
func (e *Engine) CheckpointRestore(ctx context.Context, p *RestoreParams) (*RestoreResult, error) {
	ctx = context.WithoutCancel(ctx)
	if p.Redo != "" {
		return e.redoRestore(ctx, p)
	}
	switch p.What {
	case "", RestoreFiles, RestoreConversation, RestoreBoth:
	default:
		return nil, &Error{Code: CodeBadRequest, Message: "field what must be files, conversation or both"}
	}
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, s.row.ID, p.BranchID)
	if err != nil {
		return nil, err
	}
	out := &RestoreResult{TurnID: p.TurnID, Restored: []CheckpointFile{}, Skipped: []CheckpointFile{}}
	if out.TurnID == "" {
		if out.TurnID, err = e.lastTurn(ctx, t, p.What); err != nil {
			return nil, err
		}
	}
	// The conversation first: it either can be done or changes nothing.
	var ids []string
	if p.What == RestoreConversation || p.What == RestoreBoth {
		back, err := e.rewind(ctx, s, t, out, p.DryRun)
		if err != nil {
			return nil, err
		}
		ids = append(ids, back...)
	}
	if p.What != RestoreConversation {
		r, err := e.restoreFiles(ctx, out.TurnID, p.DryRun)
		switch {
		case err == nil:
			out.Restored, out.Skipped = toFiles(r.Files), toFiles(r.Skipped)
			if len(r.Files) > 0 && r.OpID != "" {
				ids = append(ids, r.OpID)
			}
		case p.What != RestoreBoth: // a turn that changed no files has a conversation all the same
			return nil, editError(err)
		}
	}
	out.RestoreID = strings.Join(ids, "+")
	return out, nil
}

func (e *Engine) restoreFiles(ctx context.Context, turnID string, dry bool) (edits.Restored, error) {
	if dry {
		return e.parts.Edits.PreviewRestore(turnID)
	}
	return e.parts.Edits.RestoreTurn(ctx, turnID)
}

// lastTurn is the turn that a restore means when none is named.
func (e *Engine) lastTurn(ctx context.Context, t *timeline, what string) (string, error) {
	if what == RestoreConversation {
		id, _, err := t.forkPoint("")
		return id, err
	}
	list, err := e.CheckpointList(ctx, &SessionRef{SessionID: t.session, BranchID: t.branch})
	if err != nil {
		return "", err
	}
	if len(list.Checkpoints) > 0 {
		return list.Checkpoints[0].TurnID, nil
	}
	if what == RestoreBoth {
		id, _, err := t.forkPoint("")
		return id, err
	}
	return "", &Error{Code: CodeNotFound, Message: "no turn of this session changed a file"}
}

// rewindPrefix begins the ids of branches that a restored conversation goes on
// in. Unlike a fork, such a branch works where its parent works: in the
// person's tree, if the parent does.
const rewindPrefix = "w"

// rewind lets the conversation go on from before a turn, in a branch of its
// own, so that nothing of the old one is lost.
func (e *Engine) rewind(ctx context.Context, s *session, t *timeline, out *RestoreResult, dry bool) (ids []string, err error) {
	before, active, total, number := "", false, 0, 0
	t.view(func() {
		active, total = t.state.Active(), len(t.script.turns)
		for i, x := range t.script.turns {
			if x.id == out.TurnID {
				number = i + 1
				if i > 0 {
					before = t.script.turns[i-1].id
				}
			}
		}
	})
	switch {
	case number == 0:
		return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("this branch has no turn %q", out.TurnID), Hint: "agent/cycles lists its turns"}
	case active && !dry:
		return nil, &Error{Code: CodeInvalidState, Message: "a run is going on", Hint: "cancel it first, or wait for its end"}
	}
	out.Turns = total - number + 1
	if dry {
		return nil, nil
	}
	rows, err := e.parts.Store.Branches(ctx, s.row.ID)
	if err != nil {
		return nil, storeError(err)
	}
	if len(rows) >= branchesMax {
		return nil, &Error{Code: CodeInvalidState, Message: fmt.Sprintf("this session has %d branches already", len(rows)), Hint: "begin a new session"}
	}
	b := store.Branch{Session: s.row.ID, ID: e.parts.NewID(rewindPrefix), Name: fmt.Sprintf("%s-before-turn-%d-%d", t.branch, number, len(rows)),
		Parent: t.branch, Turn: before}
	if err := e.parts.Store.PutBranch(ctx, b); err != nil {
		return nil, storeError(err)
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) { row.Branch = b.ID }); err != nil {
		return nil, err
	}
	out.BranchID = b.ID
	return []string{b.ID}, nil
}

// redoRestore takes a restore back: the files that still hold what it left, and
// the conversation to where it was.
func (e *Engine) redoRestore(ctx context.Context, p *RestoreParams) (*RestoreResult, error) {
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	out := &RestoreResult{Restored: []CheckpointFile{}, Skipped: []CheckpointFile{}}
	var ids []string
	for id := range strings.SplitSeq(p.Redo, "+") {
		if strings.HasPrefix(id, rewindPrefix) {
			row, err := e.branchRow(ctx, s.row.ID, id)
			if err != nil {
				return nil, err
			}
			if err := e.saveSession(ctx, s, func(r *store.Session) { r.Branch = row.Parent }); err != nil {
				return nil, err
			}
			out.BranchID = row.Parent
			continue
		}
		r, err := e.parts.Edits.RedoRestore(ctx, id)
		if err != nil {
			return nil, editError(err)
		}
		out.TurnID, out.Restored, out.Skipped = r.TurnID, toFiles(r.Files), toFiles(r.Skipped)
		if len(r.Files) > 0 {
			ids = append(ids, r.OpID)
		}
	}
	out.RestoreID = strings.Join(ids, "+")
	return out, nil
}

// inTree tells whether a branch's edits go to the person's tree: those of main
// do, and those of a conversation that was put back from there.
func (e *Engine) inTree(ctx context.Context, row store.Branch) (bool, error) {
	for strings.HasPrefix(row.ID, rewindPrefix) {
		parent, err := e.branchRow(ctx, row.Session, row.Parent)
		if err != nil {
			return false, err
		}
		row = parent
	}
	return row.Parent == "", nil
}

// cmdUndo is /undo: the last turn's files, or what its argument says.
func (e *Engine) cmdUndo(ctx context.Context, s *session, t *timeline, arg string) (string, error) {
	p := &RestoreParams{SessionRef: SessionRef{SessionID: s.row.ID, BranchID: t.branch}}
	switch arg {
	case "", RestoreFiles:
	case RestoreConversation, RestoreBoth:
		p.What = arg
	case "preview":
		p.What, p.DryRun = RestoreBoth, true
	case "redo":
		if p.Redo = e.parts.Edits.LastRestore(s.row.ID); p.Redo == "" {
			return "", &Error{Code: CodeInvalidState, Message: "no restore of files is left to take back", Hint: "/branch goes back to a conversation that was left"}
		}
	case "reject":
		r, err := e.EditsUndoReject(ctx, nil)
		if err != nil {
			return "", err
		}
		return undoneText(r), nil
	default:
		return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("/undo doesn't know %q", arg), Hint: "files, conversation, both, preview, reject or redo"}
	}
	r, err := e.CheckpointRestore(ctx, p)
	if err != nil {
		return "", err
	}
	return restoredText(r, p.DryRun), nil
}

func restoredText(r *RestoreResult, dry bool) string {
	var b strings.Builder
	verb := "restored"
	if dry {
		verb = "would restore"
	}
	for _, f := range r.Restored {
		fmt.Fprintf(&b, "%s %s (+%d −%d)\n", verb, f.Path, f.Added, f.Removed)
	}
	for _, f := range r.Skipped {
		fmt.Fprintf(&b, "left alone %s: %s\n", f.Path, f.Skipped)
	}
	switch {
	case r.Turns > 0 && dry:
		fmt.Fprintf(&b, "the conversation would go back over %s\n", counted(r.Turns, "turn"))
	case r.Turns > 0:
		fmt.Fprintf(&b, "the conversation goes on from before its last %s; /branch lists where it was\n", counted(r.Turns, "turn"))
	}
	if b.Len() == 0 {
		return "nothing to put back"
	}
	return strings.TrimRight(b.String(), "\n")
}

func undoneText(r *ResolveResult) string {
	back := 0
	var b strings.Builder
	for _, x := range r.Results {
		if x.Outcome == edits.OutcomeResolved {
			back++
		} else {
			fmt.Fprintf(&b, "\n%s: %s", x.HunkID, x.Detail)
		}
	}
	return counted(back, "rejected hunk") + " back for review" + b.String()
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
