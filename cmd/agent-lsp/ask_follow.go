package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// followed is the client's copy of a branch: a model and its measurements, kept
// by deltas, and what of it belongs to the question.
type followed struct {
	session, branch string
	rev             int64
	model           cycle.Model
	meta            cycle.Meta
	before          int // cycles that were there already
	syncing         bool
	late            []agent.CycleNotification // came while syncing

	begun     time.Time
	turn, run string   // of the question
	cycleID   string   // of the question
	turns     []string // all that the person has sent, in order
	waits     []string // those of turns that have no answer yet
	responses map[string]*agent.Response
	closed    time.Time // when nothing was active any more though an answer is missing

	plans   map[string]*agent.PlanResult // by cycle: of the first model call
	context map[string][]string          // rows below the context row
	hunks   map[string]int               // pending, by call
}

func newFollowed() followed {
	return followed{model: cycle.NewModel(), meta: cycle.Meta{Cycles: map[string]cycle.CycleMeta{}, Calls: map[string]cycle.CallMeta{}},
		responses: map[string]*agent.Response{}, plans: map[string]*agent.PlanResult{}, context: map[string][]string{}, hunks: map[string]int{}}
}

// begin takes the state before the question.
func (f *followed) begin(r *agent.CyclesResult) error {
	f.session, f.branch = r.SessionID, r.BranchID
	if err := f.take(r); err != nil {
		return err
	}
	f.before = len(f.model.Cycles)
	return nil
}

// take replaces the whole copy.
func (f *followed) take(r *agent.CyclesResult) error {
	m := cycle.Model{State: cycle.Activity(r.State), Queued: r.Queued, Anomalies: r.Anomalies, Cycles: make([]cycle.RequestCycle, len(r.Cycles))}
	for i, raw := range r.Cycles {
		if err := json.Unmarshal(raw, &m.Cycles[i]); err != nil {
			return fmt.Errorf("a cycle of the server can't be read: %w", err)
		}
	}
	f.model, f.meta, f.rev = m, r.Meta, r.Rev
	if f.meta.Cycles == nil {
		f.meta.Cycles = map[string]cycle.CycleMeta{}
	}
	if f.meta.Calls == nil {
		f.meta.Calls = map[string]cycle.CallMeta{}
	}
	return nil
}

// sent notes a message of the person's.
func (f *followed) sent(r *agent.SubmitResult) {
	if f.turn == "" {
		f.turn, f.run, f.cycleID = r.TurnID, r.RunID, r.CycleID
		if i := slices.IndexFunc(f.model.Cycles, func(c cycle.RequestCycle) bool { return c.ID == r.CycleID }); i >= 0 {
			f.before = min(f.before, i) // it steers what is under way
		}
	}
	if r.TurnID != "" && !slices.Contains(f.turns, r.TurnID) {
		f.turns = append(f.turns, r.TurnID)
		if _, ok := f.responses[r.TurnID]; !ok {
			f.waits = append(f.waits, r.TurnID)
		}
	}
}

// onlyCurrent waits no more for what has not begun.
func (f *followed) onlyCurrent() {
	if len(f.waits) > 1 {
		f.waits = f.waits[:1]
	}
}

// answer notes a finished turn.
func (f *followed) answer(turn string, r *agent.Response) {
	f.responses[turn] = r
	f.waits = slices.DeleteFunc(f.waits, func(t string) bool { return t == turn })
}

// ours are the cycles to show, with what was measured.
func (f *followed) ours(now time.Time) (cycle.Model, cycle.Meta) {
	m := f.model
	m.Cycles = m.Cycles[min(f.before, len(m.Cycles)):]
	m.Anomalies = nil
	meta := cycle.Meta{Cycles: map[string]cycle.CycleMeta{}, Calls: f.meta.Calls}
	for _, c := range m.Cycles {
		x, ok := f.meta.Cycles[c.ID]
		if !ok {
			continue
		}
		if x.Ended == "" && !f.begun.IsZero() {
			x.ElapsedMS = now.Sub(f.begun).Milliseconds()
		}
		if p := f.plans[c.ID]; p != nil {
			x.ContextItems, x.ContextTokens, x.ContextBudget = len(p.Included), p.Budget.Estimated, p.Budget.Prompt
		}
		meta.Cycles[c.ID] = x
	}
	return m, meta
}

// last is the cycle to look at now.
func (f *followed) last() (cycle.RequestCycle, cycle.CycleMeta, bool) {
	if len(f.model.Cycles) <= f.before {
		return cycle.RequestCycle{}, cycle.CycleMeta{}, false
	}
	c := f.model.Cycles[len(f.model.Cycles)-1]
	return c, f.meta.Cycles[c.ID], true
}

// cycle takes a delta. Who misses one asks for the whole.
func (a *ask) cycle(n agent.CycleNotification) {
	f := &a.follow
	if f.session == "" || n.SessionID != f.session {
		return
	}
	if f.syncing {
		f.late = append(f.late, n)
		return
	}
	if n.Rev <= f.rev {
		return
	}
	gap := n.Rev != f.rev+1
	f.rev = n.Rev
	if n.BranchID != f.branch {
		return
	}
	if gap || cycle.Reduce(&f.model, n.Ops) != nil {
		a.sync()
		return
	}
	for _, op := range n.Meta {
		if op.CycleMeta != nil {
			f.meta.Cycles[op.Cycle] = *op.CycleMeta
		}
		if op.CallMeta != nil {
			f.meta.Calls[op.Call] = *op.CallMeta
			a.countHunks(op.Call, *op.CallMeta)
		}
	}
	a.fetchPlans()
	a.dropQuestions()
}

// countHunks reads off a call's result which hunks it made.
func (a *ask) countHunks(call string, meta cycle.CallMeta) {
	var d struct {
		HunkIDs []string `json:"hunkIds"`
	}
	if len(meta.Detail) > 0 && json.Unmarshal(meta.Detail, &d) == nil && len(d.HunkIDs) > 0 {
		a.follow.hunks[call] = len(d.HunkIDs)
	}
}

// sync asks for the whole projection.
func (a *ask) sync() {
	f := &a.follow
	f.syncing = true
	ref := agent.SessionRef{SessionID: f.session, BranchID: f.branch}
	go func() {
		r, err := a.client.Cycles(a.ctx, &agent.CyclesParams{SessionRef: ref, View: "all"})
		a.post(func() {
			if err == nil {
				err = f.take(r)
			}
			if err != nil {
				f.syncing, f.late = false, nil
				a.say("the step tree can't be kept up to date: " + err.Error())
				return
			}
			a.caughtUp()
		})
	}()
}

// caughtUp applies the deltas that came while the whole projection was fetched.
func (a *ask) caughtUp() {
	f := &a.follow
	late := f.late
	f.syncing, f.late = false, nil
	for _, n := range late {
		a.cycle(n)
	}
	a.fetchPlans()
}

// fetchPlans asks for the context of each cycle's first model call, to show
// why the model sees what it sees before it says anything.
func (a *ask) fetchPlans() {
	f := &a.follow
	for _, c := range f.model.Cycles[min(f.before, len(f.model.Cycles)):] {
		meta := f.meta.Cycles[c.ID]
		if _, asked := f.context[c.ID]; asked || meta.PlanID == "" || len(meta.Plans) == 0 {
			continue
		}
		if _, asked := f.plans[c.ID]; asked {
			continue
		}
		f.plans[c.ID] = nil
		p := &agent.PlanParams{SessionRef: agent.SessionRef{SessionID: f.session, BranchID: f.branch}, PlanID: meta.Plans[0]}
		go func() {
			plan, err := a.client.Plan(a.ctx, p)
			a.post(func() {
				f.context[c.ID] = []string{}
				if err == nil {
					f.plans[c.ID] = plan
					f.context[c.ID] = a.topItems(plan)
				}
			})
		}()
	}
}

// chunk takes a chunk of the pipeline: telemetry, or a turn's end.
func (a *ask) chunk(c agent.StreamChunk) {
	f := &a.follow
	if f.session == "" || c.SessionID != f.session {
		return
	}
	switch c.Type {
	case "processing":
		a.notice = firstRow(c.Content)
	case "result", "error":
		if c.IsComplete && c.Metadata != nil && c.Metadata.Response != nil {
			f.answer(c.TurnID, c.Metadata.Response)
		}
	}
}

// finished tells whether everything that the person asked for is answered and
// the step tree shows it.
func (a *ask) finished() bool {
	f := &a.follow
	if f.turn == "" || len(f.waits) > 0 || f.syncing {
		return false
	}
	for _, c := range f.model.Cycles[min(f.before, len(f.model.Cycles)):] {
		if _, told := f.context[c.ID]; !told && f.meta.Cycles[c.ID].PlanID != "" {
			return false
		}
		if c.Status == cycle.CycleActive && slices.Contains(f.turns, f.meta.Cycles[c.ID].TurnID) {
			return false
		}
	}
	return len(f.model.Cycles) > f.before
}

// answerWait is how long the answer may come after the cycle's end.
const answerWait = 2 * time.Second

// closeLate asks for an answer that didn't come though its cycle is closed.
func (f *followed) closeLate(now time.Time, a *ask) {
	if f.turn == "" || len(f.waits) == 0 || f.model.State == cycle.StateActive {
		f.closed = time.Time{}
		return
	}
	if f.closed.IsZero() {
		f.closed = now
	}
	if now.Sub(f.closed) < answerWait {
		return
	}
	f.closed = now
	turn := f.waits[0]
	ref := agent.SessionRef{SessionID: f.session, BranchID: f.branch}
	go func() {
		o, err := a.client.Outcome(a.ctx, &agent.TurnParams{SessionRef: ref, TurnID: turn})
		a.post(func() {
			if err == nil && o.Response != nil {
				f.answer(turn, o.Response)
			}
		})
	}()
}

// ref is the question's branch.
func (a *ask) ref() agent.SessionRef {
	return agent.SessionRef{SessionID: a.follow.session, BranchID: a.follow.branch}
}

// response is the answer of the question's own turn.
func (a *ask) response() (*agent.Response, error) {
	if r := a.follow.responses[a.follow.turn]; r != nil {
		return r, nil
	}
	o, err := await(a, func(ctx context.Context) (*agent.OutcomeResult, error) {
		return a.client.Outcome(ctx, &agent.TurnParams{SessionRef: a.ref(), TurnID: a.follow.turn})
	})
	if err != nil {
		return nil, err
	}
	return o.Response, nil
}
