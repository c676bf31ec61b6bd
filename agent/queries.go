package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
)

// Cycles gives a branch's projection.
func (e *Engine) Cycles(ctx context.Context, p *CyclesParams) (*CyclesResult, error) {
	switch p.View {
	case "", "steps", "rounds", "all":
	default:
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown view %q", p.View), Hint: "steps, rounds or all"}
	}
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	return e.cyclesOf(t, p.View, p.After)
}

func (e *Engine) cyclesOf(t *timeline, view, after string) (*CyclesResult, error) {
	out := &CyclesResult{SessionID: t.session, BranchID: t.branch, Cycles: []json.RawMessage{}}
	var m cycle.Model
	t.view(func() {
		m = t.proj.Model()
		out.Queued, out.Meta = t.state.Queued(), t.meta.Meta()
		e.mu.Lock()
		if s := e.sessions[t.session]; s != nil {
			out.Rev = s.rev
		}
		e.mu.Unlock()
	})
	out.State, out.Anomalies = string(m.State), m.Anomalies
	list := m.Cycles
	if after != "" {
		i := slices.IndexFunc(list, func(c cycle.RequestCycle) bool { return c.ID == after })
		if i < 0 {
			return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no cycle %q on this branch", after)}
		}
		list = list[i+1:]
	}
	for _, c := range list {
		switch view {
		case "", "steps":
			c.Rounds = nil
		case "rounds":
			c.Steps = nil
		}
		body, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		out.Cycles = append(out.Cycles, body)
	}
	return out, nil
}

// Queue lists a branch's follow-ups.
func (e *Engine) Queue(ctx context.Context, p *SessionRef) (*QueueResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	out := &QueueResult{SessionID: t.session, BranchID: t.branch}
	t.view(func() { out.Queued, out.Paused = t.state.Queued(), t.state.Run.Paused && t.state.Run.Iter == 0 })
	return out, nil
}

// editQueue changes the queue on the loop, so that it can't have moved meanwhile.
func (e *Engine) editQueue(ctx context.Context, p *QueueEditParams, change func([]cycle.Queued, int) ([]cycle.Queued, error)) (*QueueResult, error) {
	if p.ID == "" {
		return nil, missing("id")
	}
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	_, err = t.send(ctx, request{with: func(s run.State) (run.Input, []cycle.Event, error) {
		q := s.Queued()
		i := slices.IndexFunc(q, func(x cycle.Queued) bool { return x.ID == p.ID })
		if i < 0 {
			return nil, nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("no follow-up %q is queued", p.ID), Hint: "it may have begun already"}
		}
		q, err := change(q, i)
		return run.EditQueue{At: e.now(), Queue: q}, nil, err
	}})
	if err != nil {
		return nil, err
	}
	return e.Queue(ctx, &p.SessionRef)
}

// QueueEdit replaces a follow-up's text.
func (e *Engine) QueueEdit(ctx context.Context, p *QueueEditParams) (*QueueResult, error) {
	if p.Input == "" {
		return nil, &Error{Code: CodeBadRequest, Message: "the new text is empty", Hint: "use agent/queue/remove to remove it"}
	}
	return e.editQueue(ctx, p, func(q []cycle.Queued, i int) ([]cycle.Queued, error) {
		q[i].Text = p.Input
		return q, nil
	})
}

// QueueRemove removes a follow-up.
func (e *Engine) QueueRemove(ctx context.Context, p *QueueEditParams) (*QueueResult, error) {
	return e.editQueue(ctx, p, func(q []cycle.Queued, i int) ([]cycle.Queued, error) { return slices.Delete(q, i, i+1), nil })
}

// QueueMove moves a follow-up.
func (e *Engine) QueueMove(ctx context.Context, p *QueueEditParams) (*QueueResult, error) {
	return e.editQueue(ctx, p, func(q []cycle.Queued, i int) ([]cycle.Queued, error) {
		if p.To < 0 || p.To >= len(q) {
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("there is no place %d in a queue of %d", p.To, len(q))}
		}
		x := q[i]
		return slices.Insert(slices.Delete(q, i, i+1), p.To, x), nil
	})
}

// record reads a stored plan.
func (e *Engine) record(ctx context.Context, planID string) (planRecord, error) {
	var r planRecord
	a, err := e.parts.Store.Get(ctx, store.KindPlan, planID)
	if err != nil {
		return r, storeError(err)
	}
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return r, &Error{Code: CodeStoreUnavailable, Message: "plan " + planID + " can't be read: " + err.Error()}
	}
	return r, nil
}

// Plan gives a stored plan, by id, by call of the latest turn, or the latest.
func (e *Engine) Plan(ctx context.Context, p *PlanParams) (*PlanResult, error) {
	id := p.PlanID
	if id == "" {
		t, err := e.timeline(ctx, p.SessionID, p.BranchID)
		if err != nil {
			return nil, err
		}
		t.view(func() {
			for i := len(t.script.turns) - 1; i >= 0 && id == ""; i-- {
				if plans := t.script.turns[i].plans; len(plans) > 0 {
					at := len(plans) - 1
					if p.Call > 0 {
						at = min(p.Call, len(plans)) - 1
					}
					id = plans[at]
				}
			}
		})
		if id == "" {
			return nil, &Error{Code: CodeNotFound, Message: "no plan was made on this branch yet", Hint: "ask something first"}
		}
	}
	r, err := e.record(ctx, id)
	if err != nil {
		return nil, err
	}
	out, err := e.planResult(ctx, r)
	if err != nil {
		return nil, err
	}
	out.Replay = "differs"
	if same, _, err := r.again(); err == nil && same {
		out.Replay = "identical"
	}
	return out, nil
}

func (e *Engine) planResult(ctx context.Context, r planRecord) (*PlanResult, error) {
	out := &PlanResult{Plan: r.Plan, SessionID: r.SessionID, BranchID: r.BranchID, TurnID: r.TurnID, RunID: r.RunID,
		RetrievalSetID: r.RetrievalSetID, Model: r.Model, Call: r.Call, Sections: sections(r.Plan), Labels: map[string]PlanItem{}}
	for id, hash := range r.Pieces {
		p, err := e.pieceOf(ctx, hash)
		if err != nil {
			return nil, err
		}
		item := p.Item
		if item.URI != "" {
			item.URI = e.uri(item.URI)
		}
		out.Labels[id] = item
	}
	return out, nil
}

func (e *Engine) pieceOf(ctx context.Context, hash string) (piece, error) {
	var p piece
	body, err := e.parts.Store.Blob(ctx, hash)
	if err != nil {
		return p, storeError(err)
	}
	return p, json.Unmarshal(body, &p)
}

// PlanDiff compares two stored plans.
func (e *Engine) PlanDiff(ctx context.Context, p *PlanDiffParams) (*contextplan.PlanDiff, error) {
	if p.A == "" {
		return nil, missing("a")
	}
	if p.B == "" {
		return nil, missing("b")
	}
	a, err := e.record(ctx, p.A)
	if err != nil {
		return nil, err
	}
	b, err := e.record(ctx, p.B)
	if err != nil {
		return nil, err
	}
	d := contextplan.Diff(a.Plan, b.Plan)
	return &d, nil
}

// Replay rebuilds a plan from its stored inputs.
func (e *Engine) Replay(ctx context.Context, planID string) (identical bool, diff contextplan.PlanDiff, err error) {
	r, err := e.record(ctx, planID)
	if err != nil {
		return false, diff, err
	}
	return r.again()
}

// again builds a stored plan from its stored inputs.
func (r planRecord) again() (identical bool, diff contextplan.PlanDiff, err error) {
	again, err := contextplan.Build(r.Input)
	if err != nil {
		return false, diff, planError(err)
	}
	was, err := json.Marshal(r.Plan)
	if err != nil {
		return false, diff, err
	}
	is, err := json.Marshal(again)
	if err != nil {
		return false, diff, err
	}
	return string(was) == string(is), contextplan.Diff(r.Plan, again), nil
}

// PlanPreview says what would be sent for an input; no model is called and
// nothing is recorded but the RetrievalSet and the plan themselves.
func (e *Engine) PlanPreview(ctx context.Context, p *SubmitParams) (*PlanResult, error) {
	if err := e.validate(ctx, p); err != nil {
		return nil, err
	}
	s, err := e.sessionFor(ctx, p)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, s.row.ID, p.BranchID)
	if err != nil {
		return nil, err
	}
	what, once, model, err := e.readPill(ctx, p.Input)
	if err != nil {
		return nil, err
	}
	m, err := e.parts.Models.Resolve(ctx, cmp.Or(model, s.row.Model))
	if err != nil {
		return nil, noModel(err)
	}
	in, err := e.submitInput(p, what, once, nil, p.Input, m.Name, e.now())
	if err != nil {
		return nil, err
	}
	preview, err := e.previewTimeline(ctx, t, in)
	if err != nil {
		return nil, err
	}
	r := run.Run{ID: in.RunID, TurnID: in.TurnID, Model: m.Name, Max: in.Max}
	if x, ok := preview.turnOf(in.TurnID, ""); ok { // by rules alone: a preview asks no model
		routed, _ := e.routing(x, r).decide()
		routed.TurnID, routed.RunID, routed.Time = r.TurnID, r.ID, e.now()
		preview.fold(routed)
	}
	set, err := preview.retrieve(ctx, r)
	if err != nil {
		return nil, err
	}
	around, err := e.world.surroundings(ctx, preview, r)
	if err != nil {
		return nil, err
	}
	d, err := preview.draft(ctx, r, around, set, nil)
	if err != nil {
		return nil, err
	}
	record, _, err := preview.plan(ctx, around, d)
	if err != nil {
		return nil, err
	}
	return e.planResult(ctx, record)
}

// previewTimeline is a copy of a branch's folds with one more message; it has
// no loop and writes nothing.
func (e *Engine) previewTimeline(ctx context.Context, t *timeline, in run.Submit) (*timeline, error) {
	p := &timeline{e: e, session: t.session, branch: t.branch, proj: cycle.NewState(cycle.Policy{}), meta: cycle.NewMetaState(),
		script: newTranscript(), pins: map[string]cycle.PinChanged{}, sent: map[string]bool{}, attachments: map[string][]attached{}, guided: map[string][]Instruction{}, subtasks: map[string]cycle.SubtaskStepped{}}
	for stored, err := range e.history(ctx, t.session, t.branch) {
		if err != nil {
			return nil, storeError(err)
		}
		p.fold(stored.Event)
	}
	if p.state.Active() {
		p.fold(cycle.RunStop{Reason: cycle.StopCompleted, Time: e.now()})
	}
	ready, err := run.Step(p.state, in)
	if err != nil {
		return nil, toError(err)
	}
	for _, ev := range ready.Events {
		p.fold(ev)
	}
	return p, nil
}

// Retrieval gives a stored RetrievalSet.
func (e *Engine) Retrieval(ctx context.Context, p *RetrievalParams) (*rag.Set, error) {
	if p.RetrievalSetID == "" {
		return nil, missing("retrievalSetId")
	}
	a, err := e.parts.Store.Get(ctx, store.KindRetrieval, p.RetrievalSetID)
	if err != nil {
		return nil, storeError(err)
	}
	var set rag.Set
	return &set, json.Unmarshal(a.Body, &set)
}

// searchK is how many results a search gives when it does not say.
const searchK = 20

// Search asks the index and stores the answer.
func (e *Engine) Search(ctx context.Context, p *SearchParams) (*rag.Set, error) {
	if p.Query == "" {
		return nil, &Error{Code: CodeBadRequest, Message: "the query is empty", Hint: "say what to look for"}
	}
	k := p.K
	if k <= 0 {
		k = searchK
	}
	set, err := e.parts.Index.Search(ctx, rag.Query{Text: p.Query, K: k, Focus: rag.Focus{Scope: p.Scope}})
	if err != nil {
		return nil, indexError(ctx, err)
	}
	return &set, e.storeSet(ctx, nil, run.Run{}, set)
}

func indexError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &Error{Code: CodeIndexUnavailable, Message: err.Error(), Hint: "agent-lsp doctor says what is wrong with the index", Retriable: true}
}

// turnOf finds a turn by its id, or by its run's, or the latest.
func (t *timeline) turnOf(turnID, runID string) (turn, bool) {
	var out turn
	found := false
	t.view(func() {
		for i := len(t.script.turns) - 1; i >= 0; i-- {
			x := t.script.turns[i]
			if turnID == "" && runID == "" || turnID != "" && x.id == turnID || runID != "" && x.run == runID {
				out, found = x, true
				return
			}
		}
	})
	return out, found
}

// Trace gives what ran in a turn.
func (e *Engine) Trace(ctx context.Context, p *TraceParams) (*TraceResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	x, ok := t.turnOf(p.TurnID, p.RunID)
	if !ok {
		return nil, &Error{Code: CodeNotFound, Message: "there is no such turn on this branch", Hint: "agent/cycles lists them"}
	}
	out := &TraceResult{TurnID: x.id, RunID: x.run, Calls: []TraceCall{}, Usage: []UsageReport{}, Rounds: []TraceRound{}, Routes: traceRoutes(x.routes)}
	t.view(func() {
		round := 0
		for i := range t.script.entries {
			en := &t.script.entries[i]
			if en.kind != entryReply || t.script.turns[en.turn].id != x.id {
				continue
			}
			round++
			for _, c := range en.calls {
				tc := TraceCall{CallID: c.id, Tool: c.tool, Title: c.title, Args: c.args, Round: round, Status: "running"}
				if c.result != nil {
					tc.Status, tc.Text, tc.Ref, tc.MS = string(c.result.Status), c.result.Text, c.result.Ref, c.result.MS
				}
				out.Calls = append(out.Calls, tc)
			}
		}
	})
	for _, u := range x.usage {
		out.Usage = append(out.Usage, UsageReport{Round: u.Call, PlanID: u.PlanID, Model: u.Model, Estimated: u.Estimated, Input: u.Input, Output: u.Output,
			CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, MS: u.MS, FirstMS: u.FirstMS, CostUSD: u.CostUSD, Reported: u.Reported})
	}
	rounds, err := e.parts.Store.OfTurn(ctx, t.session, store.KindRound, x.id)
	if err != nil {
		return nil, storeError(err)
	}
	for _, a := range rounds {
		var r TraceRound
		if err := json.Unmarshal(a.Body, &r); err != nil {
			return nil, err
		}
		out.Rounds = append(out.Rounds, r)
	}
	return out, nil
}

// Outcome gives what came of a turn.
func (e *Engine) Outcome(ctx context.Context, p *TurnParams) (*OutcomeResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	x, ok := t.turnOf(p.TurnID, "")
	if !ok {
		return nil, &Error{Code: CodeNotFound, Message: "there is no such turn on this branch"}
	}
	out := &OutcomeResult{TurnID: x.id, BranchID: t.branch, Decisions: []Decision{}, Edits: e.fileOutcomes(x.id)}
	if len(x.response) > 0 {
		out.Response = &Response{}
		if err := json.Unmarshal(x.response, out.Response); err != nil {
			return nil, err
		}
	}
	for _, v := range e.parts.Edits.Verdicts(0) {
		if v.TurnID == x.id {
			out.Decisions = append(out.Decisions, Decision{HunkID: v.HunkID, Path: v.Path, Decision: v.Decision, Reason: v.Reason, Time: v.Time.UTC().Format(time.RFC3339)})
		}
	}
	return out, nil
}

// Scratchpad reads archived content in pages.
func (e *Engine) Scratchpad(ctx context.Context, p *ScratchpadParams) (*ScratchpadResult, error) {
	const pageDefault = 32 << 10
	if p.Ref == "" {
		return nil, missing("ref")
	}
	if p.Offset < 0 || p.Limit < 0 {
		return nil, &Error{Code: CodeBadRequest, Message: "offset and limit must not be negative"}
	}
	limit := p.Limit
	if limit == 0 {
		limit = pageDefault
	}
	all, total, err := archive{e}.Get(ctx, p.Ref, 0, 0)
	if err != nil {
		return nil, storeError(err)
	}
	from := min(p.Offset, total)
	to := min(from+limit, total)
	lines := 0
	for _, b := range all {
		if b == '\n' {
			lines++
		}
	}
	return &ScratchpadResult{Ref: p.Ref, Text: string(all[from:to]), Offset: from, Total: total, Lines: lines}, nil
}
