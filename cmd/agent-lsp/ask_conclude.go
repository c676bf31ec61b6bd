package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// report is what --json prints.
type report struct {
	Response        *agent.Response `json:"response"`
	Cycle           json.RawMessage `json:"cycle"` // with steps and rounds
	PlanIDs         []string        `json:"planIds"`
	RetrievalSetIDs []string        `json:"retrievalSetIds"`
	Edits           []fileEdits     `json:"edits"`
	Usage           usage           `json:"usage"`
}

// usage is what the question's model calls cost, in all and one by one.
type usage struct {
	Estimated  int                 `json:"estimated"`
	Input      int                 `json:"input"`
	Output     int                 `json:"output"`
	CacheRead  int                 `json:"cacheRead"`
	CacheWrite int                 `json:"cacheWrite"`
	MS         int64               `json:"ms"`
	CostUSD    float64             `json:"costUsd"`
	Calls      []agent.UsageReport `json:"calls"`
}

func totals(calls []agent.UsageReport) usage {
	u := usage{Calls: append([]agent.UsageReport{}, calls...)}
	for _, c := range calls {
		u.Estimated, u.Input, u.Output = u.Estimated+c.Estimated, u.Input+c.Input, u.Output+c.Output
		u.CacheRead, u.CacheWrite = u.CacheRead+c.CacheRead, u.CacheWrite+c.CacheWrite
		u.MS, u.CostUSD = u.MS+c.MS, u.CostUSD+c.CostUSD
	}
	return u
}

// printReport prints the one object.
func (a *ask) printReport(r report) error {
	if r.Cycle == nil {
		r.Cycle = json.RawMessage("null")
	}
	return printJSON(a.s.out, r)
}

// conclude shows what came of it, lets the person decide on hunks, and says
// how it ended.
func (a *ask) conclude() error {
	a.concluding = a.interrupts == 0
	c, meta, _ := a.follow.last()
	if !a.cmd.JSON {
		if f := cycle.Figures(meta, a.pal.ascii); c.Status == cycle.CycleCompleted {
			a.print(a.pal.dim("  " + f + a.pal.sign(" · ", ", ") + meta.Model + a.pal.sign(" · ", ", ") + "session " + a.follow.session))
		}
	}
	a.tellArchived(c.ID, meta)
	a.tellRefused()
	if a.cmd.Plan && !a.cmd.JSON {
		if err := a.showPlan(); err != nil {
			return err
		}
	}
	hunks, err := a.turnHunks()
	if err != nil {
		return err
	}
	fates, err := a.decide(hunks)
	if err != nil && !errors.Is(err, errInterrupted) {
		return err
	}
	if a.cmd.JSON {
		if err := a.report(hunks, fates); err != nil {
			return err
		}
	}
	if a.cmd.NoEdits && len(hunks) > 0 {
		if err := a.resolve(hunks, "reject", "the person only wanted to see the edits: --no-edits", decided{}); err != nil {
			return fmt.Errorf("nothing was written, but the proposed hunks could not be put away: %w", err)
		}
	}
	return a.verdict(c.Status, fates)
}

// verdict is the exit code.
func (a *ask) verdict(status cycle.CycleStatus, fates decided) error {
	switch {
	case a.interrupts > 0:
		return errInterrupted
	case status != cycle.CycleCompleted:
		return exitError(exitFailed)
	}
	for _, fate := range fates {
		if fate == fateConflict {
			return exitError(exitFailed)
		}
	}
	return nil
}

// tellArchived says how what left the context is got back.
func (a *ask) tellArchived(cycleID string, meta cycle.CycleMeta) {
	if a.cmd.JSON || cycleID == "" {
		return
	}
	for _, n := range meta.Notes {
		if n.Ref != "" {
			a.print(a.pal.dim("  all that left the context: agent-lsp trace --ref " + n.Ref))
		}
	}
}

// tellRefused says what nobody was there to permit, and how to permit it.
func (a *ask) tellRefused() {
	for _, r := range a.refused {
		message := fmt.Sprintf("%s was refused: %s: nobody could be asked", r.tool, r.what)
		if len(r.rules) > 0 {
			message += "; permit it by --allow '" + strings.Join(r.rules, "' --allow '") + "'"
		}
		a.say(message)
	}
}

// showPlan draws the context of the latest model call in full.
func (a *ask) showPlan() error {
	p, err := await(a, func(ctx context.Context) (*agent.PlanResult, error) {
		return a.client.Plan(ctx, &agent.PlanParams{SessionRef: a.ref()})
	})
	if err != nil {
		return err
	}
	a.print("")
	for _, row := range cleanRows(agent.PlanText(p)) {
		a.print(a.pal.plain(row))
	}
	return nil
}

// turnHunks are the hunks that the question's turns left.
func (a *ask) turnHunks() ([]agent.Hunk, error) {
	all, err := a.pending()
	return slices.DeleteFunc(all, func(h agent.Hunk) bool { return !slices.Contains(a.follow.turns, h.TurnID) }), err
}

// pending are the session's hunks.
func (a *ask) pending() ([]agent.Hunk, error) {
	r, err := await(a, func(ctx context.Context) (*agent.EditsResult, error) {
		return a.client.Edits(ctx, &agent.EditsParams{SessionID: a.follow.session})
	})
	if err != nil {
		return nil, err
	}
	return r.Hunks, nil
}

// reviewPending decides on what pends in a session, without a question.
func (a *ask) reviewPending() error {
	a.concluding = true
	hunks, err := a.pending()
	if err != nil {
		return err
	}
	if len(hunks) == 0 && !a.cmd.JSON {
		a.print("nothing pends in session " + a.follow.session)
	}
	fates, err := a.decide(hunks)
	if err != nil {
		return err
	}
	if a.cmd.JSON {
		err = a.printReport(report{Edits: byFile(hunks, fates), PlanIDs: []string{}, RetrievalSetIDs: []string{}, Usage: totals(nil)})
		if err != nil {
			return err
		}
	}
	return a.verdict(cycle.CycleCompleted, fates)
}

// report prints the object of a question.
func (a *ask) report(hunks []agent.Hunk, fates decided) error {
	out := report{PlanIDs: []string{}, RetrievalSetIDs: []string{}, Edits: byFile(hunks, fates)}
	r, err := a.response()
	if err != nil {
		return err
	}
	if r != nil {
		out.Response, out.PlanIDs, out.RetrievalSetIDs = r, append(out.PlanIDs, r.Metadata.PlanIDs...), append(out.RetrievalSetIDs, r.Metadata.RetrievalSetIDs...)
	}
	all, err := await(a, func(ctx context.Context) (*agent.CyclesResult, error) {
		return a.client.Cycles(ctx, &agent.CyclesParams{SessionRef: a.ref(), View: "all"})
	})
	if err != nil {
		return err
	}
	for _, raw := range all.Cycles {
		var c struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &c) == nil && c.ID == a.follow.cycleID {
			out.Cycle = raw
		}
	}
	trace, err := await(a, func(ctx context.Context) (*agent.TraceResult, error) {
		return a.client.Trace(ctx, &agent.TraceParams{SessionRef: a.ref(), TurnID: a.follow.turn})
	})
	if err != nil {
		return err
	}
	out.Usage = totals(trace.Usage)
	return a.printReport(out)
}

// decide lets the person, or --yes, decide on hunks.
func (a *ask) decide(hunks []agent.Hunk) (decided, error) {
	fates := decided{}
	if len(hunks) == 0 {
		return fates, nil
	}
	switch {
	case a.cmd.Yes:
		a.showDiffs(hunks)
		err := a.resolve(hunks, "accept", "", fates)
		if err == nil && !a.cmd.JSON {
			a.print("", a.pal.good(a.pal.plain("✓ "+countFates(hunks, fates))))
		}
		return fates, err
	case a.tty != nil && !a.cmd.NoEdits && a.interrupts == 0:
		return fates, a.review(hunks, fates)
	case a.cmd.JSON:
		return fates, nil
	}
	a.showDiffs(hunks)
	what := countHunks(hunks)
	if hunks[0].Held {
		a.print("", a.pal.wait(a.pal.plain("⧗ "+what+" proposed; nothing was written")))
	} else {
		a.print("", a.pal.wait(a.pal.plain("⧗ "+what+" to review: written, and waiting for your decision")),
			a.pal.dim("  accept or reject in the editor, or: agent-lsp ask --session "+a.follow.session+"   (with --yes: accepts all)"))
	}
	return fates, nil
}

// countFates says what became of hunks.
func countFates(hunks []agent.Hunk, fates decided) string {
	n := map[string]int{}
	for _, h := range hunks {
		n[fates.of(h)]++
	}
	var parts []string
	for _, fate := range []string{fateAccepted, fateRejected, fateConflict, fatePending} {
		if n[fate] > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", plural(n[fate], "hunk"), fate))
		}
	}
	return strings.Join(parts, ", ")
}

// showDiffs prints every file's diff.
func (a *ask) showDiffs(hunks []agent.Hunk) {
	if a.cmd.JSON {
		return
	}
	for _, f := range byFile(hunks, nil) {
		a.print("")
		a.print(a.pal.diff(fileDiff(onDisk(a.root, f.Path), f.Hunks))...)
	}
}

// resolve decides on hunks and notes what became of them.
func (a *ask) resolve(hunks []agent.Hunk, decision, reason string, fates decided) error {
	ids := make([]string, len(hunks))
	for i, h := range hunks {
		ids[i] = h.HunkID
	}
	r, err := await(a, func(ctx context.Context) (*agent.ResolveResult, error) {
		return a.client.EditsResolve(ctx, &agent.ResolveParams{SessionID: a.follow.session, HunkIDs: ids, Decision: decision, Reason: reason})
	})
	if err != nil {
		return err
	}
	for _, x := range r.Results {
		fates[x.HunkID] = decision + "ed"
		if x.Outcome == fateConflict {
			fates[x.HunkID] = fateConflict
			h, _ := oneOf(hunks, x.HunkID)
			a.say(fmt.Sprintf("%s could not be %sed: %s", place(h), decision, x.Detail))
		}
	}
	return nil
}

// reviewHelp explains the keys of a review.
const reviewHelp = "y accept, n reject, N reject and say why, a accept all that are left, d reject all that are left, s leave for later, q leave all for later"

// review shows hunk after hunk and does what the person says.
func (a *ask) review(hunks []agent.Hunk, fates decided) error {
	path, done := "", false
	for i := 0; i < len(hunks) && !done; i++ {
		now, err := a.pending() // an earlier decision may have moved it
		if err != nil {
			return err
		}
		h, there := oneOf(now, hunks[i].HunkID)
		if !there {
			continue
		}
		rows := a.pal.diff(fileDiff(onDisk(a.root, h.Path), []agent.Hunk{h}))
		if h.Path == path && len(rows) > 2 {
			rows = rows[2:] // the names are above
		}
		path = h.Path
		a.print("")
		a.print(rows...)
		if done, err = a.decideOne(hunks, i, h, fates); err != nil {
			return err
		}
	}
	a.print(a.pal.dim("  " + a.pal.plain(countFates(hunks, fates))))
	return nil
}

// decideOne asks about the hunk at i, which stands as h now.
func (a *ask) decideOne(hunks []agent.Hunk, i int, h agent.Hunk, fates decided) (done bool, err error) {
	for {
		a.print(a.pal.dim(fmt.Sprintf("hunk %d of %d  %s", i+1, len(hunks), cycle.Clean(place(h)))))
		key, reason, err := a.choose("[y] accept  [n] reject  [N] reject, because…  [a] accept all  [d] reject all  [s] later  [q] leave  [?]", "ynadsq?", "N")
		if err != nil {
			return true, err
		}
		if key != '?' {
			return a.carryOut(key, reason, hunks[i:], fates)
		}
		a.print(a.pal.dim(reviewHelp))
	}
}

// carryOut does what a key of the review says about the first of left.
func (a *ask) carryOut(key rune, reason string, left []agent.Hunk, fates decided) (done bool, err error) {
	switch key {
	case 'y':
		return false, a.resolve(left[:1], "accept", "", fates)
	case 'n', 'N':
		return false, a.resolve(left[:1], "reject", reason, fates)
	case 'a':
		return true, a.resolve(left, "accept", "", fates)
	case 'd':
		return true, a.resolve(left, "reject", "", fates)
	case 'q':
		return true, nil
	}
	return false, nil
}
