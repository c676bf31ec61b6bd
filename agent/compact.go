package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

// Compaction makes room in one go when a prompt can't hold the history any
// more: the oldest replies, results and evidence leave for the scratchpad, and
// a summary stands for them. Evidence of turns before needs none: it can be
// found again. This file decides when, and what leaves;
// compact_summary.go archives and summarises it.

// Shares of the prompt, as divisors.
const (
	runwayShare  = 4  // kept free, when room is short, for what a run will do
	targetShare  = 2  // what a prompt may hold after a compaction
	personShare  = 2  // what the person's own earlier words may take before anything else
	leastShare   = 20 // less than this is not worth a compaction
	summaryShare = 16 // the length of one summary
	summariesMax = 4  // summaries beside each other; then one is made anew from all their sources
	keepEpisodes = 2  // episodes of the current turn, which always stay
	summaryLeast = 120
	summaryLimit = 2000 // tokens, however large the window
)

// runway is how much of the prompt is kept free for the replies and results
// that a run will add. It shrinks as they come, so that what a run's first
// plan holds beside them stays in all its plans, until a compaction. Where
// everything fits anyway, it is 0.
func runway(list []piece, g gathered) int {
	covered := coveredBy(list)
	must := map[string]bool{}
	for _, p := range list {
		if p.Candidate.Required || p.Candidate.Pinned {
			must[unitOf(p)] = true
		}
	}
	own, needed, total := 0, 0, 0
	for _, p := range list {
		c := p.Candidate
		if must[unitOf(p)] {
			needed += c.Tokens
		}
		if expired(c) || covered[c.ID] {
			continue
		}
		total += c.Tokens
		if p.turn == g.now && (p.kind == entryReply || p.kind == entryNote || p.kind == entrySteer) {
			own += c.Tokens
		}
	}
	room := min(max(0, g.prompt/runwayShare-own), max(0, g.prompt-needed))
	if total <= g.prompt-room {
		return 0
	}
	return room
}

func expired(c contextplan.Candidate) bool { return c.TTL != nil && *c.TTL <= 0 }

// unitOf names what goes in or out together.
func unitOf(p piece) string {
	if p.Candidate.Group != "" {
		return p.Candidate.Group
	}
	return p.Candidate.ID
}

// coveredBy is every id that a summary stands for.
func coveredBy(list []piece) map[string]bool {
	out := map[string]bool{}
	for _, p := range list {
		if p.Candidate.Section == contextplan.Summary {
			for _, id := range p.Candidate.Supersedes {
				out[id] = true
			}
		}
	}
	return out
}

// keepWords puts what the person said, in whatever turn, before everything
// that the agent said or found: the newest first, up to a limit of tokens.
func keepWords(list []piece, limit int) {
	for i := len(list) - 1; i >= 0; i-- {
		c := &list[i].Candidate
		if !list[i].words || c.Required {
			continue
		}
		if limit -= c.Tokens; limit < 0 {
			return
		}
		c.Priority = prioPerson
	}
}

// leaving is what may leave as one: an episode with all its results, a reply,
// a note, or a piece of evidence.
type leaving struct {
	id      string
	pieces  []piece
	turn    int
	seq     int
	tokens  int
	out     bool // the trial plan could not hold it
	present bool // it is in the trial plan, or out for want of room only
}

func (l leaving) evidence() bool { return l.pieces[0].kind == entryEvidence }

// compressible lists what may leave, oldest first: never the system's part,
// pinned things, the person's own words, summaries, or what a summary stands
// for already.
func compressible(list []piece, trial contextplan.Plan) []leaving {
	covered := coveredBy(list)
	reason := map[string]contextplan.Reason{}
	for _, it := range trial.Excluded {
		reason[it.ID] = it.Reason
	}
	byUnit := map[string]*leaving{}
	barred := map[string]bool{}
	for _, p := range list {
		id, c := unitOf(p), p.Candidate
		if p.kind == "" || p.words || c.Required || c.Pinned || c.Section == contextplan.Focus || expired(c) || covered[c.ID] {
			barred[id] = true
		}
		u := byUnit[id]
		if u == nil {
			u = &leaving{id: id, turn: p.turn, seq: c.Seq}
			byUnit[id] = u
		}
		u.pieces = append(u.pieces, p)
		u.seq, u.tokens = min(u.seq, c.Seq), u.tokens+c.Tokens
		why, excluded := reason[c.ID]
		short := excluded && (why == contextplan.ReasonBudget || why == contextplan.ReasonDependency)
		u.out, u.present = u.out || short, u.present || short || !excluded
	}
	var out []leaving
	for id, u := range byUnit {
		if !barred[id] && u.present {
			slices.SortFunc(u.pieces, func(a, b piece) int { return cmp.Compare(a.Candidate.Seq, b.Candidate.Seq) })
			out = append(out, *u)
		}
	}
	slices.SortFunc(out, func(a, b leaving) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
	return out
}

// free lists what may be out for want of room without a compaction: evidence
// that never came in and, before a run's first call, evidence of the turns
// before, which would leave soon anyway and can be found again.
func free(list []piece, now, calls int) map[string]bool {
	out := map[string]bool{}
	for _, p := range list {
		out[p.Candidate.ID] = p.kind == entryEvidence && (!p.Candidate.Sent || calls == 0 && p.turn != now)
	}
	return out
}

// demand is what the prompt would hold if it had room for all that is
// eligible and not free to be out.
func demand(trial contextplan.Plan, free map[string]bool) int {
	n := trial.Budget.Estimated
	for _, it := range trial.Excluded {
		if !free[it.ID] && (it.Reason == contextplan.ReasonBudget || it.Reason == contextplan.ReasonDependency) {
			n += it.Tokens
		}
	}
	return n
}

// choose picks what leaves so that demand comes down to target: first older
// turns, oldest first; then the current turn's earlier episodes; last, where
// it would not fit otherwise, the evidence of the current turn.
func choose(list []leaving, now, demand, target, prompt int) []leaving {
	var older, episodes, evidence, out []leaving
	for _, u := range list {
		switch {
		case u.turn != now:
			older = append(older, u)
		case u.evidence():
			if u.pieces[0].Candidate.Sent {
				evidence = append(evidence, u)
			}
		default:
			episodes = append(episodes, u)
		}
	}
	take := func(from []leaving, until int) {
		for _, u := range from {
			if demand <= until {
				return
			}
			out = append(out, u)
			demand -= u.tokens
		}
	}
	take(older, target)
	take(episodes[:max(0, len(episodes)-keepEpisodes)], target)
	take(evidence, prompt)
	slices.SortFunc(out, func(a, b leaving) int { return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id)) })
	return out
}

// compaction makes room before a plan is made, if the plan could not hold the
// history, or would drop what the run has already sent. nil: there is room.
func (t *timeline) compaction(ctx context.Context, r run.Run, around surroundings, d draft) (*cycle.Compacted, error) {
	if d.unfit != nil {
		return nil, nil // what must be in does not fit; the plan itself says so
	}
	list, trial, now := d.list, d.record.Plan, t.turnIndex(r.TurnID)
	all, free := compressible(list, trial), free(list, now, r.Calls)
	dropsSent := false // the run's prompt would not begin with the one before
	bySent := map[string]bool{}
	for _, p := range list {
		bySent[p.Candidate.ID] = p.Candidate.Sent
	}
	for _, it := range trial.Excluded {
		dropsSent = dropsSent || bySent[it.ID] && !free[it.ID] && it.Reason == contextplan.ReasonBudget
	}
	short := slices.ContainsFunc(all, func(u leaving) bool { return u.out && !u.evidence() })
	if !short && !dropsSent {
		return nil, nil
	}
	prompt := around.prompt()
	chosen := choose(all, now, demand(trial, free), prompt/targetShare, prompt)
	if len(chosen) == 0 || !dropsSent && tokensOf(chosen) < prompt/leastShare {
		return nil, nil
	}
	return t.compact(ctx, r, list, chosen, prompt)
}

func tokensOf(list []leaving) (n int) {
	for _, u := range list {
		n += u.tokens
	}
	return n
}

// turnIndex is a turn's place on the branch.
func (t *timeline) turnIndex(id string) (at int) {
	t.view(func() {
		at = t.script.current()
		for i := range t.script.turns {
			if t.script.turns[i].id == id {
				at = i
			}
		}
	})
	return at
}

// reserveOf is what is kept of a window for the answer.
func reserveOf(m ResolvedModel) int {
	reserve := reserveOutputDefault
	if m.Caps.OutputLimit > 0 {
		reserve = min(reserve, m.Caps.OutputLimit)
	}
	return min(reserve, m.Caps.ContextWindow/reserveShareMax)
}

var errActive = &Error{Code: CodeInvalidState, Message: "a run is active", Hint: "it makes room by itself when it needs to; wait for its end, or cancel it"}

// compactNow makes room at once, however much there is: everything that may
// leave does, but for the newest episodes.
func (t *timeline) compactNow(ctx context.Context, modelName string) (*cycle.Compacted, error) {
	r := run.Run{Model: modelName}
	active := false
	t.view(func() {
		active = t.state.Active()
		if n := len(t.script.turns); n > 0 {
			r.TurnID, r.ID = t.script.turns[n-1].id, t.script.turns[n-1].run
		}
	})
	if active {
		return nil, errActive
	}
	around, err := t.e.world.surroundings(ctx, t, r)
	if err != nil {
		return nil, err
	}
	d, err := t.draft(ctx, r, around, nil, nil)
	if err != nil {
		return nil, err
	}
	if d.unfit != nil {
		return nil, planError(d.unfit)
	}
	prompt := around.prompt()
	now := t.turnIndex(r.TurnID)
	chosen := choose(compressible(d.list, d.record.Plan), now, demand(d.record.Plan, free(d.list, now, r.Calls)), 0, prompt)
	if len(chosen) == 0 {
		return nil, nil
	}
	c, err := t.compact(ctx, r, d.list, chosen, prompt)
	if err != nil {
		return nil, err
	}
	_, err = t.send(ctx, request{with: func(s run.State) (run.Input, []cycle.Event, error) {
		if s.Active() {
			return nil, nil, errActive
		}
		return nil, []cycle.Event{*c}, nil
	}})
	return c, err
}

// cmdCompact is /compact.
func (e *Engine) cmdCompact(ctx context.Context, s *session, t *timeline, _ string) (string, error) {
	name := s.row.Model
	if name == "" {
		name = e.settings().Model
	}
	c, err := t.compactNow(ctx, name)
	if err != nil {
		return "", err
	}
	if c == nil {
		return "Nothing to compact: what is there is recent, pinned or your own words.", nil
	}
	return fmt.Sprintf("%d items of %s tokens left the context; a summary of %s tokens stands for them.\nTheir whole text is archived at ref:%s.\n\n%s",
		len(c.Covers), contextplan.Thousands(c.TokensIn), contextplan.Thousands(c.Tokens), c.Ref, c.Summary), nil
}
