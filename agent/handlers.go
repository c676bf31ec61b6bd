package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

// handled answers what needs no model: a handler that is switched off, and
// commands that were asked for in plain words. ok is false for all else.
func (t *timeline) handled(ctx context.Context, r run.Run) (text, failure string, ok bool, err error) {
	x, found := t.turnOf(r.TurnID, "")
	if !found {
		return "", "", false, nil
	}
	class := Classification{Type: "prompt"}
	if x.class != nil {
		class = Classification{Type: x.class.Kind, Method: x.class.Method}
	}
	if off := t.e.settings().disabled(class.Type); off != "" {
		return off, off, true, nil
	}
	if class.Type != "command" || x.extra().Asked.Pill != "" {
		return "", "", false, nil
	}
	s, err := t.e.session(ctx, t.session)
	if err != nil {
		return "", "", false, err
	}
	text, err = t.e.plainCommand(ctx, s, t, x.input)
	if err != nil {
		return err.Error(), err.Error(), true, nil
	}
	return text, "", true, nil
}

// plainCommand answers a command that was asked for without a slash.
func (e *Engine) plainCommand(ctx context.Context, s *session, t *timeline, input string) (string, error) {
	low := oneLower(input)
	switch {
	case strings.Contains(low, "tools"):
		return e.cmdTools(ctx, s, t, "")
	case strings.Contains(low, "models"):
		return e.cmdModel(ctx, s, t, "")
	case strings.Contains(low, "sessions"):
		list, err := e.SessionList(ctx, nil)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		b.WriteString("Sessions:\n")
		for _, x := range list.Sessions {
			fmt.Fprintf(&b, "  %s  %s  (%d turns)\n", shortID(x.SessionID), x.Title, x.Turns)
		}
		return strings.TrimRight(b.String(), "\n"), nil
	}
	return e.cmdHelp(ctx, s, t, "")
}

// disabled is what is answered when a handler is switched off, "" when it is not.
func (s Settings) disabled(kind string) string {
	switch {
	case kind == "command" && !on(s.EnableCommands):
		return "Command processing is disabled"
	case kind == "prompt" && !on(s.EnablePrompts):
		return "Prompt processing is disabled"
	case kind == "workflow" && !on(s.EnableWorkflows):
		return "Workflow processing is disabled"
	}
	return ""
}

// ensureClassified classifies a turn that was promoted from the queue: its
// text could change until then.
func (t *timeline) ensureClassified(ctx context.Context, r run.Run) error {
	x, ok := t.turnOf(r.TurnID, "")
	if !ok || x.class != nil {
		return nil
	}
	class := classifyAsked(x.extra().Asked, x.input)
	return t.record(ctx, cycle.Classified{TurnID: r.TurnID, Kind: class.Type, Confidence: class.Confidence, Method: class.Method, Time: t.e.now()})
}

// failedAt names the stage of the pipeline at which a turn failed.
func failedAt(x turn, reason cycle.StopReason) (errorType, stage string) {
	switch {
	case reason == cycle.StopInterrupted:
		errorType = "interrupted"
	case x.failure != "":
		errorType = x.failure
	default:
		errorType = "agent-processing-error"
	}
	switch {
	case x.workflow != nil && x.workflow.Status == cycle.WorkflowFailed:
		for i, s := range x.workflow.Steps {
			if s.Status == cycle.StepFailed {
				return "workflow-step-failed", fmt.Sprintf("step %d: %s", i+1, s.Goal)
			}
		}
	case len(x.plans) > 0:
		return errorType, "model-call"
	case x.route != nil:
		return errorType, "context-planning"
	}
	return errorType, "request-processing"
}
