package agent

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/contextplan"
)

// planFields is a Plan's fields without its methods.
type planFields contextplan.Plan

// MarshalJSON writes the plan's fields and ours side by side. Without it the
// embedded Plan's own MarshalJSON would stand for the whole, and ours be lost.
func (r PlanResult) MarshalJSON() ([]byte, error) {
	type ours struct {
		planFields
		SessionID      string              `json:"sessionId"`
		BranchID       string              `json:"branchId"`
		TurnID         string              `json:"turnId"`
		RunID          string              `json:"runId"`
		RetrievalSetID string              `json:"retrievalSetId,omitempty"`
		Model          string              `json:"model"`
		Call           int                 `json:"call"`
		Sections       []SectionSum        `json:"sections"`
		Labels         map[string]PlanItem `json:"labels"`
		Replay         string              `json:"replay,omitempty"`
	}
	p := planFields(r.Plan)
	p.Included = append([]contextplan.Item{}, p.Included...)
	p.Excluded = append([]contextplan.Item{}, p.Excluded...)
	p.Breakpoints = append([]int{}, p.Breakpoints...)
	labels := r.Labels
	if labels == nil {
		labels = map[string]PlanItem{}
	}
	return json.Marshal(ours{
		planFields: p, SessionID: r.SessionID, BranchID: r.BranchID, TurnID: r.TurnID, RunID: r.RunID,
		RetrievalSetID: r.RetrievalSetID, Model: r.Model, Call: r.Call,
		Sections: append([]SectionSum{}, r.Sections...), Labels: labels, Replay: r.Replay,
	})
}
