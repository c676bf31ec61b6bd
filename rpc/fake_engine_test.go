package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// fakeEngine is an Engine without an agent: it remembers what it was told and
// gives simple, fixed answers. Methods that it lacks panic, which is a test of
// its own. Documents are ASCII, so that units don't matter.
type fakeEngine struct {
	protocol.Server
	say func(format string, args ...any) // what it was told

	mu      sync.Mutex
	docs    map[string]string
	clients []agent.Client
	hunks   []agent.Hunk
	cycles  []json.RawMessage
	runs    []agent.RunInfo
	fail    error // of Submit
	release chan struct{}
	submits []agent.SubmitParams
	closed  bool
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{say: func(string, ...any) {}, docs: map[string]string{}, release: make(chan struct{})}
}

func (f *fakeEngine) client() agent.Client {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.clients[0]
}

func (f *fakeEngine) Attach(c agent.Client) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clients = append(f.clients, c)
	return func() { f.say("detached") }
}

func (f *fakeEngine) SetRoots(paths []string)       { f.say("SetRoots %v", paths) }
func (f *fakeEngine) SetSettings(s json.RawMessage) { f.say("SetSettings %s", s) }
func (f *fakeEngine) DidSave(uri string)            { f.say("DidSave %s", uri) }
func (f *fakeEngine) DidChangeFiles(uris []string)  { f.say("DidChangeFiles %v", uris) }
func (f *fakeEngine) DidRename(old, now string)     { f.say("DidRename %s %s", old, now) }
func (f *fakeEngine) text(uri string) string        { f.mu.Lock(); defer f.mu.Unlock(); return f.docs[uri] }
func (f *fakeEngine) set(uri, text string)          { f.mu.Lock(); defer f.mu.Unlock(); f.docs[uri] = text }
func (f *fakeEngine) DidClose(uri string)           { f.say("DidClose %s", uri) }
func (f *fakeEngine) Close() error                  { f.closed = true; return nil }
func (f *fakeEngine) DidOpen(uri, l string, v int32, t string) {
	f.set(uri, t)
	f.say("DidOpen %s %s %d %q", uri, l, v, t)
}

func (f *fakeEngine) DidChange(uri string, version int32, changes []agent.ContentChange, encoding string) error {
	text := f.text(uri)
	for _, c := range changes {
		if c.Range == nil {
			text = c.Text
			continue
		}
		from, ok1 := offset(text, c.Range.Start)
		to, ok2 := offset(text, c.Range.End)
		if !ok1 || !ok2 || to < from {
			return fmt.Errorf("the range %v is not in the document", *c.Range)
		}
		text = text[:from] + c.Text + text[to:]
	}
	f.set(uri, text)
	f.say("DidChange %s %d %q", uri, version, text)
	return nil
}

func offset(text string, p agent.Position) (int, bool) {
	at := 0
	for range p.Line {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return 0, false
		}
		at += i + 1
	}
	return at + p.Character, at+p.Character <= len(text)
}

// Control acknowledges and obeys, and tells of the state that comes of it.
func (f *fakeEngine) Control(_ context.Context, from agent.Client, message json.RawMessage) {
	var m protocol.ControlMessage
	_ = json.Unmarshal(message, &m)
	f.say("Control %s %s", m.Command, m.Target.RunID)
	m.Timestamp = "2026-01-01T00:00:00Z"
	if m.Target.RunID != "run-1" {
		m.Type, m.Payload = protocol.ControlResult, protocol.ControlPayload{Status: "failure", Code: "not_found", Message: "Run " + m.Target.RunID + " is not active"}
		from.Loop(protocol.TopicControl, marshal(m))
		return
	}
	m.Type, m.Payload = protocol.ControlAck, protocol.ControlPayload{}
	from.Loop(protocol.TopicControl, marshal(m))
	m.Type, m.Payload = protocol.ControlResult, protocol.ControlPayload{Status: "success", Message: "done"}
	from.Loop(protocol.TopicControl, marshal(m))
	e := protocol.LoopEvent{Schema: 1, Event: protocol.LoopState, RunID: m.Target.RunID, Stack: []protocol.LoopFrame{{ID: "run-1", Mode: "prompt", Iter: 2, Max: 50, Model: "builtin", Paused: m.Command == "pause"}}}
	if m.Command == "cancel" {
		e = protocol.LoopEvent{Schema: 1, Event: protocol.LoopAbort, RunID: m.Target.RunID, Reason: "USER_CANCELLED", Stack: []protocol.LoopFrame{}}
	}
	f.client().Loop(protocol.TopicCurrent, marshal(e))
}

// Submit takes everything; "wait" takes until it is cancelled, "hold" until released.
func (f *fakeEngine) Submit(ctx context.Context, p *agent.SubmitParams) (*agent.SubmitResult, error) {
	f.mu.Lock()
	f.submits = append(f.submits, *p)
	n, fail := len(f.submits), f.fail
	f.mu.Unlock()
	f.say("Submit %s", marshal(p))
	switch p.Input {
	case "wait":
		<-ctx.Done()
		return nil, fmt.Errorf("cut short: %w", ctx.Err())
	case "hold":
		<-f.release
	case "/status":
		return &agent.SubmitResult{SessionID: "s1", BranchID: "main", TurnID: "t1", Kind: "direct", Response: &agent.Response{Content: "All is well.", Type: "command", Success: true}}, nil
	}
	if fail != nil {
		return nil, fail
	}
	return &agent.SubmitResult{SessionID: "s1", BranchID: "main", TurnID: fmt.Sprint("t", n), CycleID: fmt.Sprint("m", n), RunID: "run-1", Kind: "direct"}, nil
}

func (f *fakeEngine) Cycles(context.Context, *agent.CyclesParams) (*agent.CyclesResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &agent.CyclesResult{Rev: 7, SessionID: "s1", BranchID: "main", State: "idle", Cycles: f.cycles, Meta: cycle.Meta{
		Cycles: map[string]cycle.CycleMeta{"m1": {Model: "builtin", Tokens: 1200, ElapsedMS: 250, ContextItems: 3}},
	}}, nil
}

func (f *fakeEngine) Edits(_ context.Context, p *agent.EditsParams) (*agent.EditsResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := &agent.EditsResult{}
	for _, h := range f.hunks {
		if p.URI == "" || h.URI == p.URI {
			out.Hunks = append(out.Hunks, h)
		}
	}
	return out, nil
}

func (f *fakeEngine) EditsResolve(_ context.Context, p *agent.ResolveParams) (*agent.ResolveResult, error) {
	f.say("EditsResolve %s", marshal(p))
	out := &agent.ResolveResult{}
	for _, id := range p.HunkIDs {
		out.Results = append(out.Results, agent.Resolved{HunkID: id, Outcome: "resolved"})
	}
	return out, nil
}

func (f *fakeEngine) Status(context.Context, *agent.SessionRef) (*agent.StatusResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &agent.StatusResult{State: "idle", SessionID: "s1", Model: "builtin", Runs: f.runs, Pending: len(f.hunks), PendingFiles: 1, Index: agent.IndexStatus{State: "ready", Files: 12}}, nil
}

func (f *fakeEngine) Plan(context.Context, *agent.PlanParams) (*agent.PlanResult, error) {
	return &agent.PlanResult{
		Plan: contextplan.Plan{PlanID: "p1", Budget: contextplan.PlanBudget{Prompt: 100, Estimated: 60},
			Included: []contextplan.Item{{ID: "c1", Section: contextplan.Request, Tokens: 60, Reason: contextplan.ReasonRequired, Detail: "the question"}},
			Excluded: []contextplan.Item{{ID: "c2", Section: contextplan.Retrieval, Tokens: 90, Reason: contextplan.ReasonBudget, Detail: "needed 90, 40 left"}}},
		SessionID: "s1", Model: "builtin", Call: 1,
		Labels: map[string]agent.PlanItem{"c2": {Label: "a.go", StartLine: 3}},
	}, nil
}

func (f *fakeEngine) SessionList(context.Context, *agent.Empty) (*agent.SessionList, error) {
	return &agent.SessionList{}, nil // a nil list, as careless code gives
}

func (f *fakeEngine) Queue(context.Context, *agent.SessionRef) (*agent.QueueResult, error) {
	return nil, &agent.Error{Code: agent.CodeNotFound, Message: "there is no session", Hint: "submit something first", Retriable: true}
}

// Complete gives the text of a document, to see which version a request sees.
func (f *fakeEngine) Complete(_ context.Context, p *agent.CompleteParams) (*agent.CompleteResult, error) {
	return &agent.CompleteResult{Items: []agent.Completion{{Insert: f.text(p.Text)}}}, nil
}

func marshal(v any) json.RawMessage {
	data, err := encode(v)
	if err != nil {
		panic(err)
	}
	return json.RawMessage(data)
}
