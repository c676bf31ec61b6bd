package fakeeditor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// session is what this editor knows of a session's step trees.
type session struct {
	rev      int64
	branches map[string]*cycle.Model
	gaps     int
	asking   bool                      // agent/cycles is under way
	waiting  []agent.CycleNotification // what came meanwhile
}

// grow applies deltas. After a gap it asks for the whole again; what comes
// meanwhile waits.
func (e *Editor) grow(ctx context.Context, n agent.CycleNotification) {
	e.update(func() {
		s := e.sessions[n.SessionID]
		if s == nil {
			s = &session{branches: map[string]*cycle.Model{}}
			e.sessions[n.SessionID] = s
		}
		if s.asking {
			s.waiting = append(s.waiting, n)
			return
		}
		e.take(ctx, s, n)
	})
}

// take applies one delta; mu is held.
func (e *Editor) take(ctx context.Context, s *session, n agent.CycleNotification) {
	if n.Rev <= s.rev {
		return // in what agent/cycles gave
	}
	m := s.branches[n.BranchID]
	if m == nil && s.rev == 0 && n.Rev == 1 {
		fresh := cycle.NewModel()
		m = &fresh
		s.branches[n.BranchID] = m
	}
	if m != nil && n.Rev == s.rev+1 {
		if err := cycle.Reduce(m, n.Ops); err == nil {
			s.rev = n.Rev
			return
		} else {
			e.faults = append(e.faults, fmt.Sprintf("rev %d of %s: %v", n.Rev, n.SessionID, err))
		}
	}
	if s.rev > 0 {
		s.gaps++
	}
	s.asking, s.waiting = true, append(s.waiting, n)
	go e.askAgain(ctx, s, n.SessionID, n.BranchID)
}

// askAgain fetches a branch and applies what came after it.
func (e *Editor) askAgain(ctx context.Context, s *session, sessionID, branchID string) {
	r, err := e.Cycles(ctx, &agent.CyclesParams{SessionRef: agent.SessionRef{SessionID: sessionID, BranchID: branchID}, View: "all"})
	e.update(func() {
		s.asking = false
		if err != nil {
			e.faults = append(e.faults, fmt.Sprintf("agent/cycles: %v", err))
			return
		}
		m, err := modelOf(r)
		if err != nil {
			e.faults = append(e.faults, fmt.Sprintf("agent/cycles: %v", err))
			return
		}
		s.branches[branchID] = &m
		s.rev = max(s.rev, r.Rev)
		waiting := s.waiting
		s.waiting = nil
		for i, n := range waiting {
			if s.asking {
				s.waiting = append(s.waiting, waiting[i:]...)
				return
			}
			e.take(ctx, s, n)
		}
	})
}

// modelOf reads the projection that agent/cycles gives.
func modelOf(r *agent.CyclesResult) (cycle.Model, error) {
	m := cycle.Model{State: cycle.Activity(r.State), Cycles: []cycle.RequestCycle{}, Queued: r.Queued, Anomalies: r.Anomalies}
	for _, data := range r.Cycles {
		var c cycle.RequestCycle
		if err := json.Unmarshal(data, &c); err != nil {
			return m, err
		}
		m.Cycles = append(m.Cycles, c)
	}
	return m, nil
}

// Tree is a copy of a branch's step trees as this editor has them, and how
// many gaps in rev there were.
func (e *Editor) Tree(sessionID, branchID string) (m cycle.Model, rev int64, gaps int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[sessionID]
	if s == nil || s.branches[branchID] == nil {
		return cycle.NewModel(), 0, 0
	}
	data, err := json.Marshal(s.branches[branchID])
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		e.faults = append(e.faults, err.Error())
	}
	return m, s.rev, s.gaps
}
