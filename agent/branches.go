package agent

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

// A branch is a named timeline of a session. A fork begins with its parent's
// log up to the end of one turn, read through and never copied, so that pins
// and TTLs are as they stood there; from then on its log is its own. Its edits
// are its own too (branches_files.go), until somebody adopts them.

const (
	mainBranch        = "main"
	branchesMax       = 64 // of one session
	branchNameMaxByte = 100
)

// history is a branch's log from its very beginning: what it inherits, then
// its own events.
func (e *Engine) history(ctx context.Context, session, branch string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		row, err := e.branchRow(ctx, session, branch)
		if err != nil {
			yield(store.Stored{}, err)
			return
		}
		if row.Parent != "" && row.Turn != "" { // a conversation put back to its beginning inherits nothing
			for s, err := range upTo(e.history(ctx, session, row.Parent), row.Turn) {
				if !yield(s, err) || err != nil {
					return
				}
			}
		}
		for s, err := range e.parts.Store.Events(ctx, session, branch) {
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// upTo is a log up to the end of a turn, its response included. What waits
// (queued follow-ups, an interrupted run that may be taken up) stays with the
// parent.
func upTo(log iter.Seq2[store.Stored, error], turnID string) iter.Seq2[store.Stored, error] {
	return func(yield func(store.Stored, error) bool) {
		active, promoted, over := "", false, false
		for s, err := range log {
			if err != nil {
				yield(s, err)
				return
			}
			pass := !over
			switch ev := s.Event.(type) {
			case cycle.FollowUpQueued, cycle.QueueChanged, cycle.RunCutOff:
				pass = false
			case cycle.FollowUpPromoted:
				promoted, pass = active == turnID, false
			case cycle.Submitted, cycle.UserMessage:
				pass = pass && !promoted
			case cycle.RunQueued:
				active = ev.TurnID
			case cycle.RunStop:
				over = over || active == turnID
				active, promoted = "", false
			case cycle.TurnDone:
				if over && ev.TurnID == turnID {
					yield(s, nil)
					return
				}
			}
			if pass && !yield(s, nil) {
				return
			}
		}
	}
}

func (e *Engine) branchRow(ctx context.Context, session, branch string) (store.Branch, error) {
	rows, err := e.parts.Store.Branches(ctx, session)
	if err != nil {
		return store.Branch{}, storeError(err)
	}
	for _, b := range rows {
		if b.ID == branch {
			return b, nil
		}
	}
	return store.Branch{}, &Error{Code: CodeNotFound, Message: fmt.Sprintf("session %s has no branch %q", session, branch), Hint: "agent/branch/list lists its branches"}
}

// branchID finds a branch by its id or its name; "" is the session's current one.
func (e *Engine) branchID(ctx context.Context, s *session, name string) (string, error) {
	if name == "" {
		return s.row.Branch, nil
	}
	rows, err := e.parts.Store.Branches(ctx, s.row.ID)
	if err != nil {
		return "", storeError(err)
	}
	for _, is := range []func(store.Branch) bool{
		func(b store.Branch) bool { return b.ID == name },
		func(b store.Branch) bool { return b.Name == name },
	} {
		if i := slices.IndexFunc(rows, is); i >= 0 {
			return rows[i].ID, nil
		}
	}
	return "", &Error{Code: CodeNotFound, Message: fmt.Sprintf("session %s has no branch %q", s.row.ID, name), Hint: "agent/branch/list lists its branches"}
}

// BranchFork begins a branch at the end of a turn. It does not switch to it.
func (e *Engine) BranchFork(ctx context.Context, p *BranchForkParams) (*BranchInfo, error) {
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	parent, err := e.branchID(ctx, s, p.BranchID)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, s.row.ID, parent)
	if err != nil {
		return nil, err
	}
	from, number, err := t.forkPoint(p.FromTurnID)
	if err != nil {
		return nil, err
	}
	rows, err := e.parts.Store.Branches(ctx, s.row.ID)
	if err != nil {
		return nil, storeError(err)
	}
	name := strings.TrimSpace(p.Name)
	if name == "" {
		name = fmt.Sprintf("%s-turn-%d-%d", t.branch, number, len(rows))
	}
	switch {
	case len(rows) >= branchesMax:
		return nil, &Error{Code: CodeInvalidState, Message: fmt.Sprintf("this session has %d branches already", len(rows)), Hint: "begin a new session"}
	case len(name) > branchNameMaxByte || strings.ContainsAny(name, "\n\r\t"):
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("the name must be one line of at most %d bytes", branchNameMaxByte)}
	case slices.ContainsFunc(rows, func(b store.Branch) bool { return b.Name == name || b.ID == name }):
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("there is a branch %q already", name), Hint: "choose another name"}
	}
	b := store.Branch{Session: s.row.ID, ID: e.parts.NewID("b"), Name: name, Parent: parent, Turn: from}
	if err := e.parts.Store.PutBranch(ctx, b); err != nil {
		return nil, storeError(err)
	}
	info, err := e.branchInfo(ctx, b)
	return &info, err
}

// forkPoint finds the turn to fork from: one that has ended, the latest unless
// it is named. Number counts from 1.
func (t *timeline) forkPoint(id string) (turnID string, number int, err error) {
	err = &Error{Code: CodeNotFound, Message: "there is no such turn on this branch", Hint: "agent/cycles lists its turns"}
	if id == "" {
		err = &Error{Code: CodeInvalidState, Message: "no turn of this branch has ended yet", Hint: "ask something first"}
	}
	t.view(func() {
		for i := len(t.script.turns) - 1; i >= 0; i-- {
			x := t.script.turns[i]
			if id == "" && x.stop == "" || id != "" && x.id != id {
				continue
			}
			if x.stop == "" {
				err = &Error{Code: CodeInvalidState, Message: "turn " + id + " has not ended", Hint: "wait for its end, or cancel it"}
				return
			}
			turnID, number, err = x.id, i+1, nil
			return
		}
	})
	return turnID, number, err
}

// branchInfo describes a branch; what it inherits counts among its turns.
func (e *Engine) branchInfo(ctx context.Context, b store.Branch) (BranchInfo, error) {
	info := BranchInfo{BranchID: b.ID, Name: b.Name, Parent: b.Parent, ForkTurn: b.Turn}
	if b.Parent != "" && b.Turn != "" {
		for s, err := range upTo(e.history(ctx, b.Session, b.Parent), b.Turn) {
			if err != nil {
				return info, storeError(err)
			}
			if _, ok := s.Event.(cycle.RunStop); ok {
				info.Turns++
			}
		}
	}
	own, err := e.parts.Store.Count(ctx, b.Session, b.ID, cycle.TypeRunStop)
	if err != nil {
		return info, storeError(err)
	}
	info.Turns += own
	e.mu.Lock()
	t := e.timelines[b.Session+"/"+b.ID]
	e.mu.Unlock()
	if t != nil {
		t.view(func() { info.Active = t.state.Active() })
	}
	return info, nil
}

// BranchList lists a session's branches, main first.
func (e *Engine) BranchList(ctx context.Context, p *SessionRef) (*BranchList, error) {
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	rows, err := e.parts.Store.Branches(ctx, s.row.ID)
	if err != nil {
		return nil, storeError(err)
	}
	out := &BranchList{SessionID: s.row.ID, Current: s.row.Branch, Branches: []BranchInfo{}}
	for _, b := range rows {
		info, err := e.branchInfo(ctx, b)
		if err != nil {
			return nil, err
		}
		if b.ID == mainBranch {
			out.Branches = slices.Insert(out.Branches, 0, info)
		} else {
			out.Branches = append(out.Branches, info)
		}
	}
	return out, nil
}

// BranchSwitch makes a branch the one that messages without a branchId go to.
// Runs on other branches go on.
func (e *Engine) BranchSwitch(ctx context.Context, p *SessionRef) (*BranchList, error) {
	if p.BranchID == "" {
		return nil, missing("branchId")
	}
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	id, err := e.branchID(ctx, s, p.BranchID)
	if err != nil {
		return nil, err
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) { row.Branch = id }); err != nil {
		return nil, err
	}
	return e.BranchList(ctx, &SessionRef{SessionID: s.row.ID})
}

// cmdBranch is /branch: it lists, switches to a branch, or forks one and
// switches to it.
func (e *Engine) cmdBranch(ctx context.Context, s *session, t *timeline, arg string) (string, error) {
	ref := SessionRef{SessionID: s.row.ID, BranchID: arg}
	if arg != "" {
		if _, err := e.branchID(ctx, s, arg); isCode(err, CodeNotFound) {
			made, err := e.BranchFork(ctx, &BranchForkParams{SessionRef: SessionRef{SessionID: s.row.ID, BranchID: t.branch}, Name: arg})
			if err != nil {
				return "", err
			}
			ref.BranchID = made.BranchID
		}
		if _, err := e.BranchSwitch(ctx, &ref); err != nil {
			return "", err
		}
	}
	list, err := e.BranchList(ctx, &SessionRef{SessionID: s.row.ID})
	if err != nil {
		return "", err
	}
	return BranchesText(list), nil
}

// BranchesText is a list of branches for a terminal.
func BranchesText(l *BranchList) string {
	var b strings.Builder
	for _, x := range l.Branches {
		mark := " "
		if x.BranchID == l.Current {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %-24s %3d turns", mark, x.Name, x.Turns)
		if x.Parent != "" {
			fmt.Fprintf(&b, "  from %s at %s", x.Parent, x.ForkTurn)
		}
		if x.BranchID != x.Name {
			fmt.Fprintf(&b, "  (%s)", x.BranchID)
		}
		if x.Active {
			b.WriteString("  running")
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
