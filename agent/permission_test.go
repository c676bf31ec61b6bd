package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// window is an editor whose person has not answered yet.
type window struct {
	*recorder
	asked  chan PermissionParams
	answer chan PermissionResult
	left   chan struct{}
}

func newWindow() *window {
	return &window{&recorder{wake: make(chan struct{}, 1)}, make(chan PermissionParams, 1), make(chan PermissionResult), make(chan struct{})}
}

func (w *window) Permission(ctx context.Context, p PermissionParams) (PermissionResult, error) {
	w.asked <- p
	select {
	case res := <-w.answer:
		return res, nil
	case <-w.left:
		return PermissionResult{}, ErrGone
	case <-ctx.Done():
		return PermissionResult{}, ctx.Err()
	}
}

// A window that goes answers nothing: who comes next is asked, and that answer
// counts.
func TestQuestionOutlivesWindow(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "bash", `{"command":"rm -rf /"}`)}
		}
		return "so be it", nil
	})
	g.detach()
	first, second := newWindow(), newWindow()
	detach := g.engine.Attach(first)
	res := g.submit(SubmitParams{Input: "clean up"})
	question := <-first.asked
	close(first.left)
	detach()
	defer g.engine.Attach(second)()
	if again := <-second.asked; again.ToolCallID != question.ToolCallID {
		t.Errorf("asked about %s, want %s", again.ToolCallID, question.ToolCallID)
	}
	second.answer <- PermissionResult{OptionID: optionNo, Reason: "it is mine"}
	g.client = second.recorder
	g.ended(res.TurnID)
	if last := encodeJSON(t, g.requests[1].Messages); !strings.Contains(last, "it is mine") {
		t.Errorf("the model is not told what the second window said: %s", last)
	}
}
