package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Short names for LSP's message types.
const (
	messageError   = lsp.MessageTypeError
	messageWarning = lsp.MessageTypeWarning
	messageInfo    = lsp.MessageTypeInfo
)

// applyGrace is how long an editor may still answer workspace/applyEdit after
// it has sent the changed documents; some never answer.
const applyGrace = 2 * time.Second

// peer is the client as the engine sees it: an agent.Client over the connection.
// The notifying methods only queue. The asking ones must not be called on the
// read loop.
type peer struct {
	s        *Server
	caps     capabilities // set by initialize, before the engine opens
	speaks   atomic.Bool  // a plain client that used our methods all the same
	out      *outbox
	prompts  *prompts
	lenses   *refresher
	progress *progress
	answers  *answers
}

func newPeer(s *Server) *peer {
	p := &peer{s: s, out: newOutbox(), prompts: newPrompts()}
	p.lenses = &refresher{p: p}
	p.progress = newProgress(p)
	p.answers = newAnswers(p)
	return p
}

// custom tells whether the client speaks our protocol: it is sent our
// notifications, and shows answers itself.
func (p *peer) custom() bool { return !p.caps.Plain || p.speaks.Load() }

// Caps implements agent.Client.
func (p *peer) Caps() agent.ClientCaps { return p.caps.ClientCaps }

// Cycle implements agent.Client.
func (p *peer) Cycle(n agent.CycleNotification) {
	p.answers.changed()
	if !p.caps.Cycles || !p.custom() {
		return
	}
	params, err := encode(n)
	if err != nil { // arguments that are no JSON: the gap in rev makes the client ask
		p.s.log.Error("step-tree deltas can't be encoded", "session", n.SessionID, "rev", n.Rev, "error", err)
		return
	}
	p.out.put(&message{method: "agent/cycle", params: params, session: n.SessionID, bytes: len(params)})
}

// Stream implements agent.Client.
func (p *peer) Stream(c agent.StreamChunk) {
	p.progress.chunk(c)
	if !p.custom() {
		if c.Type == "error" {
			p.showMessage(messageError, nameOr(c.Content, c.Error))
		}
		return
	}
	// Telemetry goes out in its order too, a few lines a turn; only a client that
	// reads nothing loses some.
	p.out.put(&message{method: "agent/stream", params: c, kept: c.Type != "processing" || c.IsComplete})
}

// EditsChanged implements agent.Client.
func (p *peer) EditsChanged(e agent.EditsChanged) {
	p.lenses.refresh()
	if !p.custom() {
		return
	}
	p.out.put(&message{
		method: "agent/edits/changed", params: e, key: "edits/" + e.SessionID,
		merge: func(older any) any { return mergeEdits(older.(agent.EditsChanged), e) },
	})
}

// mergeEdits is what a newer message says together with an older one that
// wasn't sent: of each document the newest news.
func mergeEdits(older, newer agent.EditsChanged) agent.EditsChanged {
	out := newer
	out.URIs, out.Hunks = slices.Clone(newer.URIs), slices.Clone(newer.Hunks)
	for _, name := range older.URIs {
		if slices.Contains(newer.URIs, name) {
			continue
		}
		out.URIs = append(out.URIs, name)
		for _, h := range older.Hunks {
			if h.URI == name {
				out.Hunks = append(out.Hunks, h)
			}
		}
	}
	return out
}

// Index implements agent.Client.
func (p *peer) Index(st agent.IndexStatus) {
	p.progress.index(st)
	if p.custom() {
		p.out.put(&message{method: "agent/index", params: st, key: "index"})
	}
}

// Loop implements agent.Client.
func (p *peer) Loop(topic string, text json.RawMessage) {
	var event protocol.LoopEvent
	if topic == protocol.TopicCurrent {
		if err := json.Unmarshal(text, &event); err != nil {
			p.s.log.Error("a message of loop:current is malformed", "error", err)
			return
		}
		p.progress.loop(event)
	}
	if !p.custom() {
		return
	}
	m := &message{method: topic, params: jsonrpc2.RawMessage(text), kept: true}
	if event.Event == protocol.LoopState {
		m.kept, m.key = false, "state/"+event.RunID
	}
	p.out.put(m)
}

// Permission implements agent.Client. A client without the plugin is asked by
// a message with buttons.
func (p *peer) Permission(ctx context.Context, q agent.PermissionParams) (agent.PermissionResult, error) {
	if p.caps.Permission {
		return p.askPermission(ctx, q)
	}
	if err := p.prompts.wait(ctx); err != nil {
		return agent.PermissionResult{}, err
	}
	return p.askByButtons(ctx, q)
}

// askPermission asks a client that knows the question.
func (p *peer) askPermission(ctx context.Context, q agent.PermissionParams) (answer agent.PermissionResult, err error) {
	params, err := encode(q)
	if err != nil {
		return answer, err
	}
	var raw jsonrpc2.RawMessage
	err = p.callUntil(ctx, "agent/permission", params, &raw, func(late jsonrpc2.RawMessage) {
		var answer agent.PermissionResult
		if decode(late, &answer) == nil {
			p.tooLate(ctx, q, func(o agent.PermissionOption) bool { return o.ID == answer.OptionID })
		}
	})
	if err != nil {
		return answer, unanswered(err)
	}
	return answer, decode(raw, &answer)
}

// unanswered tells a client that went away from one that answered with an error.
func unanswered(err error) error {
	var wire *jsonrpc2.Error
	var said *agent.Error
	if err == nil || errors.Is(err, agent.ErrUnsupported) || errors.As(err, &wire) || errors.As(err, &said) {
		return err
	}
	return fmt.Errorf("%w: %w", agent.ErrGone, err)
}

// askByButtons asks by a message with a button for each option.
func (p *peer) askByButtons(ctx context.Context, q agent.PermissionParams) (agent.PermissionResult, error) {
	kind := messageInfo
	if q.Destructive {
		kind = messageWarning
	}
	params := &lsp.ShowMessageRequestParams{Type: kind, Message: cut(q.Title+"\n"+q.Detail, promptBytes)}
	for _, o := range q.Options {
		params.Actions = append(params.Actions, lsp.MessageActionItem{Title: o.Name})
	}
	var item *lsp.MessageActionItem
	err := p.callUntil(ctx, lsp.MethodWindowShowMessageRequest, params, &item, func(late jsonrpc2.RawMessage) {
		var button *lsp.MessageActionItem
		if json.Unmarshal(late, &button) == nil && button != nil {
			p.tooLate(ctx, q, func(o agent.PermissionOption) bool { return o.Name == button.Title })
		}
	})
	if err != nil {
		return agent.PermissionResult{}, unanswered(err)
	}
	for _, o := range q.Options {
		if item != nil && o.Name == item.Title {
			return agent.PermissionResult{OptionID: o.ID}, nil
		}
	}
	for _, o := range q.Options { // closed without an answer
		if o.Kind == "reject_once" {
			return agent.PermissionResult{OptionID: o.ID, Reason: "the question was closed without an answer"}, nil
		}
	}
	return agent.PermissionResult{}, agent.ErrUnsupported
}

// tooLate tells a person whose answer nobody waits for any more what became of
// the question. An editor that only closes it gives none of its options.
func (p *peer) tooLate(ctx context.Context, q agent.PermissionParams, chosen func(agent.PermissionOption) bool) {
	if !slices.ContainsFunc(q.Options, chosen) {
		return
	}
	verdict := "the run is over"
	var w agent.Withdrawn
	if errors.As(context.Cause(ctx), &w) {
		verdict = w.Verdict
	}
	p.showMessage(messageInfo, fmt.Sprintf("Your answer came too late, %s: %s %s", verdict, q.Tool, q.Title))
}

// ApplyEdit implements agent.Client. An editor that never answers but sends
// the changed documents counts as having applied the edit, with a reason that
// says so; the text decides.
func (p *peer) ApplyEdit(ctx context.Context, e agent.WorkspaceEdit) (bool, string, error) {
	if !p.caps.ApplyEdit {
		return false, "", agent.ErrUnsupported
	}
	next := map[string]int32{}
	for _, d := range e.Docs {
		next[d.URI] = d.Version + 1
	}
	changed, stop := p.s.docs.await(next)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(applyGrace):
			cancel(errNoAnswer)
		case <-ctx.Done():
		}
	}()
	var result lsp.ApplyWorkspaceEditResult
	err := p.call(ctx, lsp.MethodWorkspaceApplyEdit, p.toEdit(e), &result)
	switch {
	case err != nil && context.Cause(ctx) == errNoAnswer:
		return true, errNoAnswer.Error(), nil
	case err != nil:
		return false, "", err
	case result.FailureReason != nil:
		return result.Applied, *result.FailureReason, nil
	}
	return result.Applied, "", nil
}

var errNoAnswer = errors.New("the editor did not answer, but its documents have changed")

// toEdit is an edit as this client takes it.
func (p *peer) toEdit(e agent.WorkspaceEdit) *lsp.ApplyWorkspaceEditParams {
	const annotation = lsp.ChangeAnnotationIdentifier("agent-lsp")
	out := &lsp.ApplyWorkspaceEditParams{Label: &e.Label}
	for _, d := range e.Docs {
		if !p.caps.documentChanges {
			if out.Edit.Changes == nil {
				out.Edit.Changes = map[uri.URI][]lsp.TextEdit{}
			}
			for _, t := range d.Edits {
				out.Edit.Changes[uri.URI(d.URI)] = append(out.Edit.Changes[uri.URI(d.URI)], lsp.TextEdit{Range: toRange(t.Range), NewText: t.NewText})
			}
			continue
		}
		doc := &lsp.TextDocumentEdit{}
		doc.TextDocument.URI = uri.URI(d.URI)
		if d.Version != 0 { // 0 is "any version" to some clients
			doc.TextDocument.Version = &d.Version
		}
		for _, t := range d.Edits {
			plain := lsp.TextEdit{Range: toRange(t.Range), NewText: t.NewText}
			if p.caps.changeAnnotations {
				doc.Edits = append(doc.Edits, &lsp.AnnotatedTextEdit{TextEdit: plain, AnnotationID: annotation})
			} else {
				doc.Edits = append(doc.Edits, &plain)
			}
		}
		out.Edit.DocumentChanges = append(out.Edit.DocumentChanges, doc)
	}
	if p.caps.changeAnnotations {
		out.Edit.ChangeAnnotations = map[lsp.ChangeAnnotationIdentifier]lsp.ChangeAnnotation{
			annotation: {Label: nameOr(e.Label, "Agent edit")},
		}
	}
	return out
}

// ShowDocument implements agent.Client.
func (p *peer) ShowDocument(ctx context.Context, name string, takeFocus bool) error {
	if !p.caps.showDocument {
		return agent.ErrUnsupported
	}
	if err := p.prompts.wait(ctx); err != nil {
		return err
	}
	var result lsp.ShowDocumentResult
	if err := p.call(ctx, lsp.MethodWindowShowDocument, &lsp.ShowDocumentParams{URI: uri.URI(name), TakeFocus: &takeFocus}, &result); err != nil {
		return err
	}
	if !result.Success {
		return fmt.Errorf("the editor did not open %s", name)
	}
	return nil
}

// Editor implements agent.Client.
func (p *peer) Editor(ctx context.Context, q agent.EditorParams) (json.RawMessage, error) {
	if !slices.Contains(p.caps.EditorOps, q.Op) {
		return nil, agent.ErrUnsupported
	}
	var answer json.RawMessage
	err := p.ask(ctx, "agent/editor", q, &answer)
	return answer, err
}

// ask calls a method of our own.
func (p *peer) ask(ctx context.Context, method string, params, result any) error {
	data, err := encode(params)
	if err != nil {
		return err
	}
	var answer jsonrpc2.RawMessage
	if err := p.call(ctx, method, data, &answer); err != nil {
		return err
	}
	return decode(answer, result)
}

// call asks the client, once it may be asked; it ends with ctx and with the
// connection.
func (p *peer) call(ctx context.Context, method string, params, result any) error {
	return p.callUntil(ctx, method, params, result, nil)
}

// callUntil is call, where an answer that comes after ctx's end goes to late.
func (p *peer) callUntil(ctx context.Context, method string, params, result any, late func(result jsonrpc2.RawMessage)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.s.ctx, cancel)()
	select {
	case <-p.s.spoken:
	case <-ctx.Done():
		return ctx.Err()
	}
	id, err := p.s.conn.Call(ctx, method, params, result)
	if ctx.Err() != nil {
		p.takeBack(id, late)
	}
	return fromWire(err)
}

// takeBack tells the client that nobody waits for its answer any more.
func (p *peer) takeBack(id jsonrpc2.ID, late func(result jsonrpc2.RawMessage)) {
	n, ok := id.Number()
	if !ok {
		return // it was never sent
	}
	if late != nil {
		p.s.stream.late.await(id, late)
	}
	_ = p.s.conn.Notify(context.WithoutCancel(p.s.ctx), lsp.MethodCancelRequest, &lsp.CancelParams{ID: lsp.Integer(n)}) // a connection that ended needs none
}

// showMessage shows a line to the person.
func (p *peer) showMessage(kind lsp.MessageType, text string) {
	p.out.put(&message{method: lsp.MethodWindowShowMessage, params: map[string]any{"type": kind, "message": cut(text, promptBytes)}})
}

// logMessage writes a line to the editor's log.
func (p *peer) logMessage(kind lsp.MessageType, text string) {
	p.out.put(&message{method: lsp.MethodWindowLogMessage, params: map[string]any{"type": kind, "message": cut(text, promptBytes)}})
}

// promptBytes bounds a text that is shown in a message box.
const promptBytes = 4000

// cut shortens text to at most limit bytes, at a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit] + " …"
}
