package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Limits of a message.
const (
	inputBytesMax   = 8 << 20 // longer input is refused
	inputTokensMax  = 4000    // longer input is archived, and its head and tail are sent
	attachmentsMax  = 64
	requestIDsMax   = 10_000 // remembered clientRequestIds
	titleWordsMax   = 8
	clientIDMaxByte = 128
	allowMax        = 64 // permission rules that come with one message
)

// Submit takes a message: validate, keep, and let the machine decide what it
// is. It returns as soon as the message is durable.
func (e *Engine) Submit(ctx context.Context, p *SubmitParams) (*SubmitResult, error) {
	return e.submit(ctx, p, nil)
}

// submit takes a message; workflow is what it carries out, when the person has
// approved one.
func (e *Engine) submit(ctx context.Context, p *SubmitParams, workflow *cycle.Workflow) (*SubmitResult, error) {
	if err := e.validate(ctx, p); err != nil {
		return nil, err
	}
	begun := e.now()
	s, err := e.sessionFor(ctx, p)
	if err != nil {
		return nil, err
	}
	t, err := e.timeline(ctx, s.row.ID, p.BranchID)
	if err != nil {
		return nil, err
	}
	what, once, pillModel, err := e.readPill(ctx, p.Input)
	if err != nil {
		return nil, err
	}
	if workflow != nil {
		what.approve()
	}
	if isCommand(p.Input) && what.Pill == "" {
		return e.command(ctx, s, t, p, begun)
	}
	if again, ok := t.already(p.ClientRequestID); ok {
		return again, nil
	}
	model := cmp.Or(p.Model, pillModel, s.row.Model, e.settings().Model)
	m, err := e.parts.Models.Resolve(ctx, model)
	if err != nil {
		return nil, noModel(err)
	}
	text, err := e.gatekeep(ctx, t, m.Name, p.Input)
	if err != nil {
		return nil, err
	}
	in, err := e.submitInput(p, what, once, workflow, text, m.Name, begun)
	if err != nil {
		return nil, err
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) {
		row.Used = begun
		if p.Mode != "" {
			row.Mode = p.Mode
		}
		if row.Title == "" {
			row.Title = titleOf(p.Input)
		}
	}); err != nil {
		return nil, err
	}
	var duplicate *SubmitResult
	ready, err := t.send(ctx, request{with: func(run.State) (run.Input, []cycle.Event, error) {
		if again, ok := t.already(p.ClientRequestID); ok { // two at once: the first is the message
			duplicate = again
			return nil, nil, nil
		}
		return in, nil, nil
	}})
	if err != nil {
		return nil, err
	}
	if duplicate != nil {
		return duplicate, nil
	}
	out := t.submitted(in.ID, ready.Kind)
	out.Chips = readExtra(in.Submitted.Extra).Asked.chips()
	return out, nil
}

// validate refuses a message that makes no sense, before anything is written down.
func (e *Engine) validate(ctx context.Context, p *SubmitParams) error {
	if err := validateSubmit(p); err != nil {
		return err
	}
	return e.checkAttachments(ctx, p.Attachments)
}

func validateSubmit(p *SubmitParams) error {
	bad := func(msg, hint string) error { return &Error{Code: CodeBadRequest, Message: msg, Hint: hint} }
	switch {
	case strings.TrimSpace(p.Input) == "":
		return bad("the input is empty", "say what you want, or /help")
	case len(p.Input) > inputBytesMax:
		return bad(fmt.Sprintf("the input has %d bytes, more than %d", len(p.Input), inputBytesMax), "put it into a file and name the file")
	case len(p.Attachments) > attachmentsMax:
		return bad(fmt.Sprintf("%d attachments, more than %d", len(p.Attachments), attachmentsMax), "attach a folder's most important files")
	case len(p.ClientRequestID) > clientIDMaxByte:
		return bad("clientRequestId is longer than 128 bytes", "send a UUID")
	}
	if len(p.Allow) > allowMax {
		return bad(fmt.Sprintf("%d rules, more than %d", len(p.Allow), allowMax), "put them into your settings")
	}
	if _, err := ownRules(p.Allow); err != nil {
		return bad("allow: "+err.Error(), `a rule looks like bash(go test *)`)
	}
	switch p.Delivery {
	case "", "auto", "steer", "followUp":
	default:
		return bad(fmt.Sprintf("unknown delivery %q", p.Delivery), "auto, steer or followUp")
	}
	switch p.Mode {
	case "", ModeExecuting, ModePlanning:
	default:
		return bad(fmt.Sprintf("unknown mode %q", p.Mode), "executing or planning")
	}
	switch p.Edits {
	case "", "review", "ask", "hold":
	default:
		return bad(fmt.Sprintf("unknown way for edits %q", p.Edits), "review, ask or hold")
	}
	for i, a := range p.Attachments {
		if a.URI == "" {
			return bad(fmt.Sprintf("attachment %d has no uri", i), "name a file")
		}
	}
	return nil
}

// ownRules are permission rules that came with a message.
func ownRules(list []string) ([]tools.Rule, error) {
	var out []tools.Rule
	for _, s := range list {
		r, err := tools.NewRule(s, string(tools.Allow), tools.SourceUser)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// sessionFor finds the message's session, or makes the workspace's first.
func (e *Engine) sessionFor(ctx context.Context, p *SubmitParams) (*session, error) {
	s, err := e.session(ctx, p.SessionID)
	if p.SessionID == "" && isCode(err, CodeNotFound) {
		return e.newSession(ctx, "", p.Mode)
	}
	return s, err
}

// gatekeep archives an input that is too long for a prompt and gives back its
// head, its tail and where the rest is. Nothing is cut without that.
func (e *Engine) gatekeep(ctx context.Context, t *timeline, modelName, input string) (string, error) {
	n := e.counter(modelName)(input)
	if n <= inputTokensMax {
		return input, nil
	}
	ref := e.parts.NewID("in")
	if err := e.parts.Store.Archive(ctx, t.session, ref, []byte(input)); err != nil {
		return "", storeError(err)
	}
	keep := len(input) * inputTokensMax / 2 / n
	return sandwich(input, keep, ref), nil
}

func (e *Engine) submitInput(p *SubmitParams, what asked, once bool, workflow *cycle.Workflow, text, model string, at time.Time) (run.Submit, error) {
	extra, err := json.Marshal(submitExtra{Attachments: p.Attachments, Focus: p.Focus, Environment: p.Environment, Asked: what, Workflow: workflow, Allow: p.Allow})
	if err != nil {
		return run.Submit{}, err
	}
	id, turnID := e.parts.NewID("m"), e.parts.NewID("t")
	class := classifyAsked(what, p.Input)
	limit := e.settings().stepsMax()
	if class.Type == "workflow" { // each step has a budget of its own
		if w, ok := workflowFrom(p.Input); ok && workflow == nil {
			workflow = &w
		}
	}
	if workflow != nil {
		sum := 0
		for _, s := range workflow.Steps {
			sum += s.Budget * stepTriesMax
		}
		limit = max(limit, sum)
	}
	return run.Submit{
		At: at, ID: id, TurnID: turnID, RunID: e.parts.NewID("r"), Text: text, Delivery: cycle.Delivery(p.Delivery),
		AutoIsFollowUp: e.settings().AutoDelivery == cycle.DeliveryFollowUp,
		Submitted: cycle.Submitted{MessageID: id, TurnID: turnID, ClientRequestID: p.ClientRequestID, Source: p.Source, Mode: p.Mode,
			Edits: p.Edits, IssueID: p.IssueID, OneOff: p.Durable != nil && !*p.Durable || once, Extra: extra},
		Classified: &cycle.Classified{TurnID: turnID, Kind: class.Type, Confidence: class.Confidence, Method: class.Method, Time: at},
		Model:      model, Max: limit, Budget: e.settings().Budget, IssueID: p.IssueID,
	}, nil
}

// already finds the message that a clientRequestId made.
func (t *timeline) already(clientID string) (*SubmitResult, bool) {
	if clientID == "" {
		return nil, false
	}
	id := ""
	t.view(func() { id = t.script.requestIDs[clientID] })
	if id == "" {
		return nil, false
	}
	return t.submitted(id, ""), true
}

// submitted says where a message is now.
func (t *timeline) submitted(id, kind string) *SubmitResult {
	out := &SubmitResult{SessionID: t.session, BranchID: t.branch, Kind: kind}
	t.view(func() {
		for i, f := range t.state.Queue {
			if f.ID == id {
				out.Kind, out.TurnID, out.CycleID, out.RunID, out.QueuePosition = "followUp", f.TurnID, f.ID, f.RunID, i+1
				return
			}
		}
		for i := range t.script.turns {
			if x := t.script.turns[i]; x.cycle == id {
				out.TurnID, out.CycleID, out.RunID = x.id, id, x.run
				if out.Kind == "" {
					out.Kind = "direct"
				}
				return
			}
		}
		out.Kind = "steer"
		if x := t.script.turnOfMessage(id); x != nil { // its run may be over by now
			out.TurnID, out.CycleID, out.RunID = x.id, x.cycle, x.run
		}
	})
	if out.Kind == "direct" {
		out.QueuePosition = t.e.position(out.RunID)
	}
	return out
}

func (e *Engine) position(runID string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.slots.Position(runID)
}

// titleOf makes a session's first title from its first message.
func titleOf(input string) string {
	words := strings.Fields(input)
	if len(words) > titleWordsMax {
		words = append(words[:titleWordsMax:titleWordsMax], "…")
	}
	return firstLine(strings.Join(words, " "))
}

// finish answers the person once a run is over.
func (t *timeline) finish(fx run.Finish) {
	e := t.e
	var x turn
	var reply string
	t.view(func() {
		if found := t.script.turnByID(fx.Run.TurnID); found != nil {
			x = *found
		}
		reply = t.script.lastReply(fx.Run.TurnID)
	})
	res := &Response{Content: reply, Type: "prompt", Success: fx.Reason == cycle.StopCompleted,
		ExecutionTime: e.now().Sub(x.begun).Milliseconds(),
		Metadata:      ResponseMetadata{SessionID: t.session, TurnID: x.id, Source: x.submitted.Source, PlanIDs: append([]string{}, x.plans...), RetrievalSetIDs: []string{}}}
	if x.retrieval != "" {
		res.Metadata.RetrievalSetIDs = append(res.Metadata.RetrievalSetIDs, x.retrieval)
	}
	if x.class != nil {
		res.Type, res.Confidence = x.class.Kind, x.class.Confidence
		res.Metadata.Classification = &Classification{Type: x.class.Kind, Confidence: x.class.Confidence, Method: x.class.Method}
	}
	if w := x.workflow; w != nil {
		res.Metadata.Workflow = w
		res.Content = strings.TrimSpace(res.Content + "\n\n" + workflowWords(*w))
	}
	if !res.Success {
		res.Error = fx.Why
		res.Metadata.ErrorType, res.Metadata.FailedAt = failedAt(x, fx.Reason)
		if res.Content == "" && fx.Reason == cycle.StopError {
			res.Content = "Agent processing failed: " + fx.Why
		} else if res.Content == "" {
			res.Content = fx.Why
		}
	}
	res.Metadata.AgentProcessingTime = res.ExecutionTime
	res.Metadata.RequestCount = e.requests(t) + 1
	body, err := json.Marshal(res)
	if err != nil {
		e.bug(err)
		return
	}
	t.answering(+1)
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		if err := t.record(e.base, cycle.TurnDone{TurnID: x.id, RunID: fx.Run.ID, Response: body, Time: e.now()}); err != nil {
			e.logf("the response of turn %s could not be recorded: %v", x.id, err)
		}
		chunk := StreamChunk{SessionID: t.session, BranchID: t.branch, TurnID: x.id, Type: "result", Content: res.Content, IsComplete: true,
			Metadata: &StreamMetadata{Response: res, ElapsedMS: res.ExecutionTime}}
		if !res.Success {
			chunk.Type, chunk.Error = "error", res.Error
		}
		e.each(func(c Client) { c.Stream(chunk) })
		t.answering(-1)
		if res.Success { // derived things, behind the answer; Close waits for them
			t.ingest(context.WithoutCancel(e.base), x)
			t.nameSession(e.base, fx.Run, x)
		}
	}()
}

func (e *Engine) requests(t *timeline) (n int) {
	t.view(func() { n = t.script.sums.requests })
	return n
}

// classification tells what kind of input a message was taken for.
func (e *Engine) classification(t *timeline, turnID string, c cycle.Classified) {
	class := &Classification{Type: c.Kind, Confidence: c.Confidence, Method: c.Method}
	e.each(func(cl Client) {
		cl.Stream(StreamChunk{SessionID: t.session, BranchID: t.branch, TurnID: turnID, Type: "classification", Content: "Classifying input..."})
		cl.Stream(StreamChunk{SessionID: t.session, BranchID: t.branch, TurnID: turnID, Type: "classification", IsComplete: true,
			Content:  fmt.Sprintf("Classified as: %s (%.1f%% confidence)", c.Kind, c.Confidence*100),
			Metadata: &StreamMetadata{Classification: class}})
		cl.Stream(StreamChunk{SessionID: t.session, BranchID: t.branch, TurnID: turnID, Type: "processing", Content: "Processing " + c.Kind + "..."})
	})
	x, ok := t.turnOf(turnID, "")
	if !ok {
		return
	}
	extra := x.extra()
	line := "Analyzing the request: " + counted(len(strings.Fields(x.input)), "word")
	if n := len(extra.Attachments) + len(extra.Asked.Mentions); n > 0 {
		line += ", " + counted(n, "attachment")
	}
	e.telemetry(t, turnID, line)
}

// telemetry tells what is going on, in one line.
func (e *Engine) telemetry(t *timeline, turnID, line string) {
	var meta *StreamMetadata
	if x, ok := t.turnOf(turnID, ""); ok && t.inbox != nil {
		meta = &StreamMetadata{ElapsedMS: max(0, e.now().Sub(x.begun).Milliseconds())}
	}
	e.each(func(c Client) {
		c.Stream(StreamChunk{SessionID: t.session, BranchID: t.branch, TurnID: turnID, Type: "processing", Content: line, Metadata: meta})
	})
}
