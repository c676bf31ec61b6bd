package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// commandArgs is a command's one argument. Plain strings are taken too, in the
// order that each command says. Without any, the last document is meant.
type commandArgs struct {
	Input       string             `json:"input,omitempty"`
	Focus       *agent.Focus       `json:"focus,omitempty"`
	Attachments []agent.Attachment `json:"attachments,omitempty"`
	Delivery    string             `json:"delivery,omitempty"`
	Mode        string             `json:"mode,omitempty"`

	SessionID string   `json:"sessionId,omitempty"`
	BranchID  string   `json:"branchId,omitempty"`
	HunkIDs   []string `json:"hunkIds,omitempty"`
	EditID    string   `json:"editId,omitempty"`
	TurnID    string   `json:"turnId,omitempty"`
	URI       string   `json:"uri,omitempty"`
	RunID     string   `json:"runId,omitempty"`
	PlanID    string   `json:"planId,omitempty"`
	Model     string   `json:"model,omitempty"`
	Reason    string   `json:"reason,omitempty"`
}

// command is one of workspace/executeCommand. show, if given, runs after the
// command was answered: an editor that waits for the answer takes no question.
type command struct {
	name    string
	strings func(a *commandArgs, texts []string) // takes arguments that are plain strings
	run     func(s *Server, ctx context.Context, e Engine, a *commandArgs) (result any, show func(), err error)
}

// commands is every verb of the agent, for clients that have no plugin.
var commands = []command{
	{"agent.submit", takeInput, (*Server).submitCommand},
	{"agent.edit", takeInput, (*Server).editCommand},
	{"agent.accept", takeHunks, resolveCommand("accept", hunkHere)},
	{"agent.reject", takeHunks, resolveCommand("reject", hunkHere)},
	{"agent.acceptFile", takeURI, resolveCommand("accept", fileHere)},
	{"agent.rejectFile", takeURI, resolveCommand("reject", fileHere)},
	{"agent.acceptAll", takeNone, resolveCommand("accept", allOfThem)},
	{"agent.rejectAll", takeNone, resolveCommand("reject", allOfThem)},
	{"agent.pause", takeRun, controlCommand(protocol.CommandPause)},
	{"agent.resume", takeRun, controlCommand(protocol.CommandResume)},
	{"agent.cancel", takeRun, controlCommand(protocol.CommandCancel)},
	{"agent.escalate", takeModel, controlCommand(protocol.CommandEscalate)},
	{"agent.showPlan", takePlan, (*Server).planCommand},
	{"agent.showTrace", takeNone, (*Server).traceCommand},
	{"agent.status", takeNone, (*Server).statusCommand},
	{"agent.model", takeModel, (*Server).modelCommand},
	{"agent.undoTurn", takeNone, (*Server).undoCommand},
	{"agent.undoReject", takeNone, (*Server).undoRejectCommand},
	{"agent.newSession", takeNone, (*Server).newSessionCommand},
}

func commandNames() []string {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return names
}

// How each command takes arguments that are plain strings.
func takeNone(*commandArgs, []string)      {}
func takeInput(a *commandArgs, t []string) { a.Input = t[0] }
func takeHunks(a *commandArgs, t []string) { a.HunkIDs = t }
func takeURI(a *commandArgs, t []string)   { a.URI = t[0] }
func takeRun(a *commandArgs, t []string)   { a.RunID = t[0] }
func takePlan(a *commandArgs, t []string)  { a.PlanID = t[0] }
func takeModel(a *commandArgs, t []string) { a.Model = t[0]; a.Reason = nth(t, 1) }
func nth(t []string, i int) (text string)  { return append(t, make([]string, i+1)...)[i] }
func badRequest(message, hint string) error {
	return &agent.Error{Code: agent.CodeBadRequest, Message: message, Hint: hint}
}
func (a *commandArgs) ref() agent.SessionRef {
	return agent.SessionRef{SessionID: a.SessionID, BranchID: a.BranchID}
}

// executeCommand serves workspace/executeCommand.
func (s *Server) executeCommand(ctx context.Context, p *lsp.ExecuteCommandParams) (any, error) {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == p.Command })
	if i < 0 {
		return nil, badRequest(fmt.Sprintf("%.100q is no command of this server", p.Command), "initialize lists the commands")
	}
	args, err := parseArgs(commands[i], p.Arguments)
	if err != nil {
		return nil, err
	}
	e, err := s.gate.wait(ctx)
	if err != nil {
		return nil, err
	}
	var show func()
	s.peer.prompts.hold()
	s.afterReply(ctx, func() {
		s.peer.prompts.release()
		if show != nil {
			s.background(show)
		}
	})
	result, after, err := commands[i].run(s, ctx, e, args)
	if err != nil {
		return nil, err
	}
	show = after
	return encode(result)
}

func parseArgs(c command, list []lsp.LSPAny) (*commandArgs, error) {
	a := &commandArgs{}
	if len(list) == 0 {
		return a, nil
	}
	if isObject(list[0]) {
		if err := decode(list[0], a); err != nil {
			return nil, badRequest(c.name+": the argument doesn't fit: "+err.Error(), "docs/protocol.md has every field")
		}
		return a, nil
	}
	var texts []string
	for _, v := range list {
		var text string
		if err := json.Unmarshal(v, &text); err != nil {
			return nil, badRequest(c.name+": an argument is neither an object nor text", "docs/protocol.md has every field")
		}
		texts = append(texts, text)
	}
	c.strings(a, texts)
	return a, nil
}

// submitCommand sends a message; without one it asks for it in a document.
func (s *Server) submitCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	if a.Input == "" {
		return s.editCommand(ctx, e, a)
	}
	last, at := s.docs.where()
	if a.Focus == nil && last != "" {
		a.Focus = &agent.Focus{URI: last, Range: &agent.Range{Start: at, End: at}}
	}
	r, err := s.submit(ctx, &agent.SubmitParams{
		Input: a.Input, SessionID: a.SessionID, BranchID: a.BranchID, Delivery: a.Delivery, Mode: a.Mode,
		Attachments: a.Attachments, Focus: a.Focus, Source: s.peer.caps.Client,
	})
	if err != nil {
		return nil, nil, err
	}
	return r, func() { s.peer.answers.response(r) }, nil
}

// submit serves agent/submit, and remembers whose the answer is.
func (s *Server) submit(ctx context.Context, p *agent.SubmitParams) (*agent.SubmitResult, error) {
	e, err := s.gate.wait(ctx)
	if err != nil {
		return nil, err
	}
	r, err := e.Submit(ctx, p)
	if err == nil && r != nil {
		s.peer.answers.own(r)
	}
	return r, err
}

// editCommand lets the person write an instruction in a document that is sent
// when it is saved, for LSP has no way to ask for text.
func (s *Server) editCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	if a.Input != "" {
		return s.submitCommand(ctx, e, a)
	}
	if !s.peer.caps.showDocument || s.opts.CacheDir == "" {
		return nil, nil, badRequest("there is nothing to do: the instruction is missing", `give it as the command's argument: {"input": "…"}`)
	}
	last, at := s.docs.where()
	if a.Focus == nil && last != "" {
		a.Focus = &agent.Focus{URI: last, Range: &agent.Range{Start: at, End: at}}
	}
	return nil, func() { s.peer.answers.prompt(a) }, nil
}

// which says what a decision is about; it fills a.
type which func(s *Server, ctx context.Context, e Engine, a *commandArgs, p *agent.ResolveParams) error

func resolveCommand(decision string, about which) func(*Server, context.Context, Engine, *commandArgs) (any, func(), error) {
	return func(s *Server, ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
		p := &agent.ResolveParams{SessionID: a.SessionID, Decision: decision, Reason: a.Reason}
		if err := about(s, ctx, e, a, p); err != nil {
			return nil, nil, err
		}
		r, err := e.EditsResolve(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		return r, func() { s.tellConflicts(r) }, nil
	}
}

// tellConflicts shows what could not be decided to a person without a panel.
func (s *Server) tellConflicts(r *agent.ResolveResult) {
	for _, one := range r.Results {
		if one.Outcome == "conflict" && !s.peer.custom() {
			s.peer.showMessage(messageWarning, "A change could not be decided: "+nameOr(one.Detail, "the text was changed since"))
			return
		}
	}
}

// hunkHere means the hunks that were named, or the one where the person is.
func hunkHere(s *Server, ctx context.Context, e Engine, a *commandArgs, p *agent.ResolveParams) error {
	p.HunkIDs, p.EditID, p.TurnID = a.HunkIDs, a.EditID, a.TurnID
	if len(p.HunkIDs) > 0 || p.EditID != "" || p.TurnID != "" {
		return nil
	}
	uri, at := s.docs.where()
	if a.URI != "" && a.URI != uri {
		uri, at = a.URI, agent.Position{}
	}
	if uri == "" {
		return badRequest("no document is open, so no change can be meant", `name it: {"hunkIds": ["…"]}`)
	}
	edits, err := e.Edits(ctx, &agent.EditsParams{SessionID: a.SessionID, URI: uri})
	if err != nil {
		return err
	}
	if len(edits.Hunks) == 0 {
		return &agent.Error{Code: agent.CodeNotFound, Message: "no change is pending in " + uri}
	}
	here := edits.Hunks[0]
	for _, h := range edits.Hunks { // the one at the cursor, else the next one, else the first
		if !before(h.Range.End, at) {
			here = h
			break
		}
	}
	p.HunkIDs = []string{here.HunkID}
	return nil
}

// fileHere means the document that was named, or the one where the person is.
func fileHere(s *Server, _ context.Context, _ Engine, a *commandArgs, p *agent.ResolveParams) error {
	if p.URI = a.URI; p.URI == "" {
		p.URI, _ = s.docs.where()
	}
	if p.URI == "" {
		return badRequest("no document is open, so no file can be meant", `name it: {"uri": "file:///…"}`)
	}
	return nil
}

func allOfThem(_ *Server, _ context.Context, _ Engine, _ *commandArgs, p *agent.ResolveParams) error {
	p.All = true
	return nil
}

// controlCommand intervenes in a run, in the one that was named or the one
// that is meant by its state.
func controlCommand(c protocol.ControlCommand) func(*Server, context.Context, Engine, *commandArgs) (any, func(), error) {
	return func(s *Server, ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
		run := a.RunID
		if run == "" {
			status, err := e.Status(ctx, &agent.SessionRef{SessionID: a.SessionID, BranchID: a.BranchID})
			if err != nil {
				return nil, nil, err
			}
			if run = meantBy(c, status.Runs); run == "" {
				return nil, nil, &agent.Error{Code: agent.CodeNotFound, Message: fmt.Sprintf("there is no run to %s", c)}
			}
		}
		tap := &resultTap{Client: s.peer}
		e.Control(ctx, tap, s.controlRequest(c, run, protocol.ControlPayload{Model: a.Model, Reason: a.Reason}))
		r := tap.result.Payload
		if r.Status == "failure" {
			return nil, nil, &agent.Error{Code: agent.Code(r.Code), Message: r.Message}
		}
		return r, nil, nil
	}
}

// meantBy picks the latest run that a command fits.
func meantBy(c protocol.ControlCommand, runs []agent.RunInfo) string {
	for _, r := range slices.Backward(runs) {
		switch {
		case r.Resumable && c != protocol.CommandResume:
		case c == protocol.CommandPause && r.State == "paused", c == protocol.CommandResume && r.State != "paused" && !r.Resumable:
		default:
			return r.RunID
		}
	}
	return ""
}

// resultTap keeps the RESULT of one REQUEST, which nobody on the wire waits for.
type resultTap struct {
	agent.Client
	result protocol.ControlMessage
}

// Loop implements agent.Client.
func (t *resultTap) Loop(topic string, message json.RawMessage) {
	if topic != protocol.TopicControl {
		t.Client.Loop(topic, message)
		return
	}
	var m protocol.ControlMessage
	if json.Unmarshal(message, &m) == nil && m.Type == protocol.ControlResult {
		t.result = m
	}
}

func (s *Server) planCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	r, err := e.Plan(ctx, &agent.PlanParams{SessionRef: a.ref(), PlanID: a.PlanID})
	if err != nil {
		return nil, nil, err
	}
	return r, func() { s.peer.answers.show("plan", planText(r)) }, nil
}

func (s *Server) traceCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	r, err := e.Trace(ctx, &agent.TraceParams{SessionRef: a.ref(), TurnID: a.TurnID, RunID: a.RunID})
	if err != nil {
		return nil, nil, err
	}
	return r, func() { s.peer.answers.show("trace", traceText(r)) }, nil
}

func (s *Server) statusCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	ref := a.ref()
	r, err := e.Status(ctx, &ref)
	if err != nil {
		return nil, nil, err
	}
	return r, func() {
		if !s.peer.custom() {
			s.peer.showMessage(messageInfo, statusText(r))
		}
	}, nil
}

func (s *Server) modelCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	if a.Model == "" {
		r, err := e.Models(ctx, &agent.Empty{})
		return r, nil, err
	}
	r, err := e.ModelSet(ctx, &agent.ModelSetParams{SessionRef: a.ref(), Model: a.Model})
	return r, nil, err
}

func (s *Server) undoCommand(ctx context.Context, e Engine, a *commandArgs) (any, func(), error) {
	r, err := e.CheckpointRestore(ctx, &agent.RestoreParams{SessionRef: a.ref(), TurnID: a.TurnID})
	return r, nil, err
}

func (s *Server) undoRejectCommand(ctx context.Context, e Engine, _ *commandArgs) (any, func(), error) {
	r, err := e.EditsUndoReject(ctx, &agent.Empty{})
	return r, nil, err
}

func (s *Server) newSessionCommand(ctx context.Context, e Engine, _ *commandArgs) (any, func(), error) {
	r, err := e.SessionNew(ctx, &agent.SessionNewParams{})
	return r, nil, err
}
