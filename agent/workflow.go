package agent

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

//go:embed prompts/workflow.md
var promptWorkflow string

// stepPrefix begins the ids of the lines that the engine itself puts into the
// step tree of a workflow.
const stepPrefix = "step:"

// planWorkflow extracts a turn's workflow and writes it down; in planning mode
// it is only proposed.
func (t *timeline) planWorkflow(ctx context.Context, r run.Run) error {
	x, ok := t.turnOf(r.TurnID, "")
	if !ok || x.workflow != nil {
		return nil
	}
	given := x.extra().Workflow
	if given == nil && (x.class == nil || x.class.Kind != "workflow" || x.route != nil && x.route.Route == cycle.RouteChat) {
		return nil
	}
	w, ok := cycle.Workflow{}, false
	if given != nil {
		w, ok = *given, len(given.Steps) > 0
	} else if w, ok = t.e.world.workflow(ctx, t, r, x); ctx.Err() != nil {
		return ctx.Err()
	}
	if !ok {
		return nil
	}
	now := t.e.now()
	if given == nil && t.planningTurn(r.TurnID) {
		w.Status = cycle.WorkflowProposed
		return t.record(ctx, cycle.WorkflowPlanned{TurnID: r.TurnID, Workflow: w, Time: now})
	}
	w.Status = cycle.WorkflowRunning
	first := slices.IndexFunc(w.Steps, func(s cycle.WorkflowStep) bool {
		return s.Status != cycle.StepDone && s.Status != cycle.StepSkipped
	})
	if first < 0 {
		return nil
	}
	return t.record(ctx,
		cycle.WorkflowPlanned{TurnID: r.TurnID, Workflow: w, Time: now},
		cycle.AgentOutput{ID: stepPrefix + r.ID + "." + strconv.Itoa(first+1), Output: cycle.OutputAssistant, Text: stepHead(w, first), Time: now},
		cycle.WorkflowStepped{TurnID: r.TurnID, Step: first + 1, Status: cycle.StepRunning, Try: 1, Iter: max(0, r.Iter-1), Time: now})
}

// extract makes a workflow of an input: by the small model where there is one,
// else by rules.
func (t *timeline) extract(ctx context.Context, r run.Run, x turn) (cycle.Workflow, bool) {
	input := x.prompt(x.input)
	if r.Model != builtinModel {
		if m, err := t.e.parts.Models.Resolve(ctx, routerAlias); err == nil && m.Name != builtinModel {
			wait, cancel := context.WithTimeout(ctx, routeWait)
			defer cancel()
			reply, err := t.e.ask(wait, t, r, m, "workflow", promptWorkflow, strings.ToValidUTF8(input[:min(len(input), routeInputMax)], ""))
			if w, ok := workflowOf(reply, input); ok && err == nil {
				return w, true
			}
		}
	}
	return workflowFrom(input)
}

func stepHead(w cycle.Workflow, i int) string {
	return fmt.Sprintf("**Step %d of %d: %s**\n", i+1, len(w.Steps), firstLine(w.Steps[i].Goal))
}

// checkWords say to the model when a step is done.
var checkWords = map[string]string{
	checkReplied: "you have answered", checkEdited: "the files are changed", checkCommand: "the command was run and succeeded"}

// stepOrder is what the model is told of the step that begins. The goal is a
// request of its own, so that a model that reads requests only finds it.
func stepOrder(w cycle.Workflow, i int) string {
	s := w.Steps[i]
	var b strings.Builder
	fmt.Fprintf(&b, "[WORKFLOW] Step %d of %d. Do only this step now; when it is done, answer in a sentence or two, without a tool call. It is done when %s.", i+1, len(w.Steps), cmp.Or(checkWords[s.Check], checkWords[checkReplied]))
	if s.Try > 1 {
		fmt.Fprintf(&b, " This is try %d; the one before failed: %s.", s.Try, strings.Join(strings.Fields(s.Note), " "))
	}
	fmt.Fprintf(&b, "\n\n[REQUEST] %s", s.Goal)
	return b.String()
}

// advance decides what a reply means for the workflow of its turn. drop says
// that the reply's calls are not made; again, that there is another step; then
// is what is written down; stop, that the run ends with this failure.
func (t *timeline) advance(r run.Run, text string, calls int) (then []cycle.Event, drop, again bool, stop string) {
	x, ok := t.turnOf(r.TurnID, "")
	if !ok || x.workflow == nil || x.workflow.Status != cycle.WorkflowRunning {
		return nil, false, false, ""
	}
	w := *x.workflow
	at := slices.IndexFunc(w.Steps, func(s cycle.WorkflowStep) bool { return s.Status == cycle.StepRunning })
	if at < 0 {
		return nil, false, false, ""
	}
	s := w.Steps[at]
	failure := ""
	switch {
	case r.Final:
		failure = "the run reached its step limit"
	case calls > 0 && r.Iter-s.Started < cmp.Or(s.Budget, stepBudgetDefault):
		return nil, false, false, ""
	case calls > 0:
		failure = fmt.Sprintf("its budget of %d iterations is used up", cmp.Or(s.Budget, stepBudgetDefault))
	default:
		failure = t.checkStep(x, s, text)
	}
	now := t.e.now()
	say := func(text string, round int) {
		out := cycle.AgentOutput{ID: fmt.Sprintf("%s%s.%d.%d", stepPrefix, r.ID, at+1, r.Iter), Output: cycle.OutputAssistant, Text: text, Time: now}
		if round > 0 {
			out.Round = &round
		}
		then = append(then, out)
	}
	step := func(n int, status, note string, try int) {
		e := cycle.WorkflowStepped{TurnID: r.TurnID, Step: n + 1, Status: status, Note: note, Try: try, Iter: r.Iter, Time: now}
		then, w = append(then, e), w.Apply(e)
	}
	label := fmt.Sprintf("Step %d of %d", at+1, len(w.Steps))
	switch {
	case failure == "":
		step(at, cycle.StepDone, "", 0)
	case s.OnFail == onFailRetry && s.Try < stepTriesMax && !r.Final:
		say(fmt.Sprintf("%s failed (%s), trying again.\n", label, failure), r.Calls+1)
		step(at, cycle.StepRunning, failure, s.Try+1)
		return then, true, true, ""
	case s.OnFail == onFailSkip && !r.Final:
		step(at, cycle.StepSkipped, failure, 0)
	default:
		step(at, cycle.StepFailed, failure, 0)
		stop = fmt.Sprintf("step %d of %d failed, and the workflow stopped there: %s", at+1, len(w.Steps), failure)
		say(label+" failed: "+failure+"\n", 0)
		return then, true, false, stop
	}
	next := at + 1
	if next >= len(w.Steps) {
		say(fmt.Sprintf("Workflow done: %s\n", w.Words()), 0)
		return then, true, false, ""
	}
	head := stepHead(w, next)
	if failure != "" {
		head = fmt.Sprintf("%s skipped: %s\n\n%s", label, failure, head)
	}
	say(head, r.Calls+1)
	step(next, cycle.StepRunning, "", 1)
	return then, true, true, ""
}

// workflowWords ends a turn's answer with its checklist.
func workflowWords(w cycle.Workflow) string {
	if w.Status == cycle.WorkflowProposed {
		return "Proposed steps, nothing is done yet. /workflow edit 2 …, /workflow drop 2, /workflow approve:\n" + checklist(w)
	}
	return w.Words() + ":\n" + checklist(w)
}

// checkStep judges by what the tools reported whether a step is done: "" or
// why not.
func (t *timeline) checkStep(x turn, s cycle.WorkflowStep, text string) (failure string) {
	tried, edited, ran := false, false, false
	last := ""
	t.view(func() {
		for i := range t.script.entries {
			e := &t.script.entries[i]
			if e.kind != entryReply || e.place < x.stepPlace || t.script.turns[e.turn].id != x.id {
				continue
			}
			for _, c := range e.calls {
				ok := c.result != nil && c.result.Status == cycle.ResultOK
				switch c.tool {
				case "write", "edit":
					tried, edited = true, edited || ok
				case "bash":
					ran = true
					if last = ""; !ok || exitCode(c.result) > 0 {
						last = "`" + firstLine(c.title) + "` failed"
						if c.result != nil {
							last += ": " + lastLine(c.result.Text)
						}
					}
				}
			}
		}
	})
	switch s.Check {
	case checkEdited:
		switch {
		case !tried:
			return "no file was changed"
		case !edited:
			return "every edit failed"
		}
	case checkCommand:
		if !ran {
			return "no command was run"
		}
		return last
	default:
		if strings.TrimSpace(text) == "" {
			return "there was no answer"
		}
	}
	return ""
}

// exitCode is a command's, 0 where there is none.
func exitCode(r *cycle.ToolResult) int {
	var d struct {
		ExitCode int `json:"exitCode"`
	}
	if r == nil || len(r.Detail) == 0 || json.Unmarshal(r.Detail, &d) != nil {
		return 0
	}
	return d.ExitCode
}

// lastLine is the last thing that a command said, our own remarks about it
// left out.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" && (!strings.HasPrefix(l, "[") || i == 0) {
			return firstLine(l)
		}
	}
	return ""
}

// latestWorkflow is the turn with the newest workflow, or the named turn.
func (t *timeline) latestWorkflow(turnID string) (turn, error) {
	var out turn
	t.view(func() {
		for i := len(t.script.turns) - 1; i >= 0; i-- {
			x := t.script.turns[i]
			if x.workflow != nil && (turnID == "" || x.id == turnID) {
				out = x
				return
			}
		}
	})
	if out.workflow == nil {
		return out, &Error{Code: CodeNotFound, Message: "there is no workflow on this branch", Hint: "ask for several steps: fix …, run the tests, report"}
	}
	return out, nil
}

// Workflow gives a turn's checklist.
func (e *Engine) Workflow(ctx context.Context, p *TurnParams) (*WorkflowResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	x, err := t.latestWorkflow(p.TurnID)
	if err != nil {
		return nil, err
	}
	return &WorkflowResult{SessionID: t.session, BranchID: t.branch, TurnID: x.id, Workflow: *x.workflow, Text: checklist(*x.workflow)}, nil
}

// proposedWorkflow is a turn whose workflow waits for the person's word; done
// says what was to be done with it.
func (t *timeline) proposedWorkflow(turnID, done string) (turn, error) {
	x, err := t.latestWorkflow(turnID)
	if err == nil && x.workflow.Status != cycle.WorkflowProposed {
		err = &Error{Code: CodeInvalidState, Message: "the workflow is " + x.workflow.Status, Hint: "only a proposed one can be " + done}
	}
	return x, err
}

// WorkflowEdit replaces the steps of a proposed workflow.
func (e *Engine) WorkflowEdit(ctx context.Context, p *WorkflowEditParams) (*WorkflowResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	x, err := t.proposedWorkflow(p.TurnID, "edited")
	if err != nil {
		return nil, err
	}
	if len(p.Steps) == 0 || len(p.Steps) > workflowStepsMax {
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("%d steps; a workflow has 1 to %d", len(p.Steps), workflowStepsMax)}
	}
	w := *x.workflow
	w.Method, w.Steps = "person", []cycle.WorkflowStep{}
	for i, s := range p.Steps {
		step := newStep(s.Goal)
		step.Check, step.OnFail, step.Budget = cmp.Or(s.Check, step.Check), cmp.Or(s.OnFail, step.OnFail), cmp.Or(s.Budget, step.Budget)
		switch {
		case step.Goal == "":
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("step %d has no goal", i+1)}
		case checkWords[step.Check] == "":
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("step %d: unknown check %q", i+1, step.Check), Hint: "replied, edited or command-ok"}
		case !slices.Contains([]string{onFailStop, onFailRetry, onFailSkip}, step.OnFail):
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("step %d: unknown onFail %q", i+1, step.OnFail), Hint: "stop, retry or skip"}
		case step.Budget < 1 || step.Budget > stepBudgetMax:
			return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("step %d: a budget has 1 to %d iterations", i+1, stepBudgetMax)}
		}
		w.Steps = append(w.Steps, step)
	}
	if err := t.record(ctx, cycle.WorkflowPlanned{TurnID: x.id, Workflow: w, Time: e.now()}); err != nil {
		return nil, err
	}
	return e.Workflow(ctx, &TurnParams{SessionRef: SessionRef{SessionID: t.session, BranchID: t.branch}, TurnID: x.id})
}

// WorkflowApprove carries a proposed workflow out, as a new turn, in executing
// mode: that is what approving means.
func (e *Engine) WorkflowApprove(ctx context.Context, p *TurnParams) (*SubmitResult, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	x, err := t.proposedWorkflow(p.TurnID, "approved")
	if err != nil {
		return nil, err
	}
	return e.submit(ctx, &SubmitParams{Input: x.input, SessionID: t.session, BranchID: t.branch, Mode: ModeExecuting, Delivery: string(cycle.DeliveryFollowUp),
		Source: x.submitted.Source, ClientRequestID: "approve-" + x.id}, x.workflow)
}

// cmdWorkflow shows the checklist, edits a line of it, or approves it.
func (e *Engine) cmdWorkflow(ctx context.Context, s *session, t *timeline, arg string) (string, error) {
	ref := SessionRef{SessionID: s.row.ID, BranchID: t.branch}
	x, err := t.latestWorkflow("")
	if err != nil {
		return "", err
	}
	verb, rest, _ := strings.Cut(arg, " ")
	steps := []WorkflowStepParams{}
	for _, w := range x.workflow.Steps {
		steps = append(steps, WorkflowStepParams{Goal: w.Goal, Check: w.Check, OnFail: w.OnFail, Budget: w.Budget})
	}
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, bad := strconv.Atoi(number)
	inside := bad == nil && n >= 1 && n <= len(steps)
	switch verb {
	case "":
		return "Workflow (" + x.workflow.Status + "): " + x.workflow.Goal + "\n" + checklist(*x.workflow), nil
	case "approve":
		r, err := e.WorkflowApprove(ctx, &TurnParams{SessionRef: ref, TurnID: x.id})
		if err != nil {
			return "", err
		}
		return "✅ Approved: it is carried out as turn " + r.TurnID, nil
	case "add":
		steps = append(steps, WorkflowStepParams{Goal: rest})
	case "edit", "drop":
		if !inside {
			return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("there is no step %q", number), Hint: fmt.Sprintf("1 to %d", len(steps))}
		}
		steps = slices.Delete(steps, n-1, n)
		if verb == "edit" {
			steps = slices.Insert(steps, n-1, WorkflowStepParams{Goal: text})
		}
	default:
		return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown word %q", verb), Hint: "/workflow, /workflow edit 2 text, /workflow add text, /workflow drop 2, /workflow approve"}
	}
	r, err := e.WorkflowEdit(ctx, &WorkflowEditParams{SessionRef: ref, TurnID: x.id, Steps: steps})
	if err != nil {
		return "", err
	}
	return r.Text, nil
}
