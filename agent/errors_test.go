package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// TestMissingFields: who leaves out what a request needs is told which field,
// not that something without a name was not found.
func TestMissingFields(t *testing.T) {
	e := newRig(t, func(int, model.Request) (string, []model.Call) { return "done", nil }).engine
	ctx := context.Background()
	if _, err := e.SessionNew(ctx, &SessionNewParams{}); err != nil {
		t.Fatal(err)
	}
	said := map[string]func() error{
		"a":              func() error { _, err := e.PlanDiff(ctx, &PlanDiffParams{B: "p"}); return err },
		"b":              func() error { _, err := e.PlanDiff(ctx, &PlanDiffParams{A: "p"}); return err },
		"retrievalSetId": func() error { _, err := e.Retrieval(ctx, &RetrievalParams{}); return err },
		"ref":            func() error { _, err := e.Scratchpad(ctx, &ScratchpadParams{}); return err },
		"id":             func() error { _, err := e.QueueRemove(ctx, &QueueEditParams{}); return err },
		"id ":            func() error { _, err := e.QueueMove(ctx, &QueueEditParams{To: 1}); return err },
		"id  ":           func() error { _, err := e.QueueEdit(ctx, &QueueEditParams{Input: "x"}); return err },
		"id   ":          func() error { _, err := e.MemoryForget(ctx, &MemoryForgetParams{}); return err },
		"model":          func() error { _, err := e.ModelSet(ctx, &ModelSetParams{}); return err },
		"sessionId":      func() error { _, err := e.SessionDelete(ctx, &SessionRef{}); return err },
		"branchId":       func() error { _, err := e.BranchSwitch(ctx, &SessionRef{}); return err },
	}
	for field, ask := range said {
		if err := ask(); !isCode(err, CodeBadRequest) || !strings.Contains(err.Error(), "field "+strings.TrimSpace(field)+" is missing") {
			t.Errorf("without %s: %v", field, err)
		}
	}
}
