package agent

import (
	"context"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/store"
)

// BranchCompare puts the latest turns of two branches side by side.
func (e *Engine) BranchCompare(ctx context.Context, p *BranchCompareParams) (*BranchComparison, error) {
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.A == "" && p.B == "" {
		return nil, &Error{Code: CodeBadRequest, Message: "nothing says which branches", Hint: "give a, and b unless it is the current branch"}
	}
	out := &BranchComparison{SessionID: s.row.ID, Shared: []string{}, OnlyA: []string{}, OnlyB: []string{}}
	for _, side := range []struct {
		name string
		to   *BranchSide
	}{{p.A, &out.A}, {p.B, &out.B}} {
		id, err := e.branchID(ctx, s, side.name)
		if err != nil {
			return nil, err
		}
		row, err := e.branchRow(ctx, s.row.ID, id)
		if err != nil {
			return nil, err
		}
		if *side.to, err = e.branchSide(ctx, row); err != nil {
			return nil, err
		}
	}
	inB := map[string]bool{}
	for _, x := range out.B.Evidence {
		inB[x] = true
	}
	inA := map[string]bool{}
	for _, x := range out.A.Evidence {
		inA[x] = true
		if inB[x] {
			out.Shared = append(out.Shared, x)
		} else {
			out.OnlyA = append(out.OnlyA, x)
		}
	}
	for _, x := range out.B.Evidence {
		if !inA[x] {
			out.OnlyB = append(out.OnlyB, x)
		}
	}
	if out.A.PlanID != "" && out.B.PlanID != "" {
		out.Plans, err = e.PlanDiff(ctx, &PlanDiffParams{A: out.A.PlanID, B: out.B.PlanID})
	}
	return out, err
}

// branchSide is a branch's latest turn: what was found, planned, done, used,
// said and changed.
func (e *Engine) branchSide(ctx context.Context, row store.Branch) (BranchSide, error) {
	out := BranchSide{Evidence: []string{}, Calls: []TraceCall{}, Usage: []UsageReport{}, Diffs: []BranchDiff{}}
	var err error
	if out.Branch, err = e.branchInfo(ctx, row); err != nil {
		return out, err
	}
	t, err := e.timeline(ctx, row.Session, row.ID)
	if err != nil {
		return out, err
	}
	x, ok := t.turnOf("", "")
	if !ok {
		return out, nil
	}
	ref := SessionRef{SessionID: row.Session, BranchID: row.ID}
	out.TurnID, out.Input, out.RetrievalSetID = x.id, x.input, x.retrieval
	if n := len(x.plans); n > 0 {
		out.PlanID = x.plans[n-1]
	}
	if x.retrieval != "" {
		set, err := e.Retrieval(ctx, &RetrievalParams{RetrievalSetID: x.retrieval})
		if err != nil {
			return out, err
		}
		for _, it := range set.Items {
			out.Evidence = append(out.Evidence, spanLabel(it.Path, it.StartLine, it.EndLine))
		}
	}
	trace, err := e.Trace(ctx, &TraceParams{SessionRef: ref, TurnID: x.id})
	if err != nil {
		return out, err
	}
	out.Calls, out.Usage = trace.Calls, trace.Usage
	if out.Outcome, err = e.Outcome(ctx, &TurnParams{SessionRef: ref, TurnID: x.id}); err != nil {
		return out, err
	}
	if t.copy != nil {
		out.Diffs = t.copy.diffs()
		return out, nil
	}
	for _, f := range out.Outcome.Edits {
		added, removed := diffCounts(f.Diff)
		out.Diffs = append(out.Diffs, BranchDiff{Path: f.Path, Diff: f.Diff, Added: added, Removed: removed})
	}
	return out, nil
}

func spanLabel(path string, start, end int) string {
	return path + ":" + strconv.Itoa(start) + "-" + strconv.Itoa(end)
}

// diffCounts counts the lines that a unified diff adds and removes. What
// stands before its first hunk is the files' names.
func diffCounts(diff string) (added, removed int) {
	_, hunks, _ := strings.Cut(diff, "\n@@")
	for line := range strings.Lines(hunks) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}
