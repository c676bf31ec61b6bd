package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "__exec" { // the supervisor of a test's commands
		os.Exit(tools.ExecMain(os.Args[2:]))
	}
	// Bleve starts its workers when it is imported and never ends them.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// rig is a real engine over a real store and a real workspace; the model is a
// function of the test, and what is found is fixed.
type rig struct {
	t        *testing.T
	engine   *Engine
	dir      string
	store    *store.Store
	client   *recorder
	mu       sync.Mutex
	requests []model.Request
	state    string      // path of the store
	restart  func()      // ends the engine; open starts the next
	detach   func()      // takes the client away
	small    model.Model // the model called small; nil = there is none
	commands []UserCommand
	skills   []Skill
	window   int          // of the model, in tokens; 0 = 32,000
	tools    []tools.Tool // beside the usual ones
	server   model.Model  // a real one, instead of the function
	index    Retriever    // nil: fixedIndex
}

type reply func(n int, req model.Request) (text string, calls []model.Call)

func newRig(t *testing.T, r reply, prepare ...func(*rig)) *rig {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a\n\nfunc A() int { return 1 }\n", "b.go": "package a\n\nfunc B() int { return A() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := &rig{t: t, dir: dir, state: filepath.Join(t.TempDir(), "state.db")}
	for _, f := range prepare {
		f(g)
	}
	g.open(r)
	return g
}

// open starts an engine over the rig's store; after a close it is a restart.
func (g *rig) open(r reply) {
	g.t.Helper()
	ctx := context.Background()
	must := func(err error) {
		g.t.Helper()
		if err != nil {
			g.t.Fatal(err)
		}
	}
	space, err := workspace.Open([]string{g.dir})
	must(err)
	st, err := store.Open(ctx, g.state)
	must(err)
	var engine *Engine
	ledger := edits.New(edits.Config{Journal: NewJournal(st), Blobs: NewBlobs(st), Workspace: space, Changed: func(c edits.Changed) {
		if engine != nil {
			engine.EditsHappened(c)
		}
	}})
	events, err := JournalEvents(ctx, st)
	must(err)
	must(ledger.Load(ctx, events))
	if g.index == nil {
		g.index = fixedIndex{}
	}
	ids := 0
	var idMu sync.Mutex
	engine = New(Parts{
		Root: space.Roots()[0], Store: st, Index: g.index, Edits: ledger, Tools: tools.NewRegistry(append(tools.Builtin(), g.tools...)...),
		Models: oneModel{g.model(r), g}, Permissions: allRead{g.dir}, Version: "test", Now: time.Now,
		NewID: func(prefix string) string {
			idMu.Lock()
			defer idMu.Unlock()
			ids++
			return fmt.Sprintf("%s%d-%d", prefix, time.Now().UnixNano()%1e6, ids)
		},
		Log: func(f string, a ...any) { g.t.Logf(f, a...) },
		SourceText: func(p string) ([]byte, error) {
			if place, err := space.Resolve(p); err == nil {
				if doc, ok := space.Doc(place); ok {
					return []byte(doc.Text), nil
				}
			}
			return os.ReadFile(filepath.Join(g.dir, p))
		},
		Paths:        func(context.Context) []string { return []string{"a.go", "b.go"} },
		Instructions: func([]string) []Instruction { return nil },
		Commands:     func() ([]UserCommand, []string) { return g.commands, nil },
		Skills:       func() []Skill { return g.skills },
	})
	g.engine, g.store = engine, st
	g.client = &recorder{wake: make(chan struct{}, 1)}
	detach := engine.Attach(g.client)
	g.detach = detach
	closed := false
	stop := func() {
		if !closed {
			closed = true
			detach()
			engine.Close()
			st.Close()
			space.Close()
		}
	}
	g.t.Cleanup(stop)
	g.restart = stop
}

// write puts a file into the workspace.
func (g *rig) write(name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) model(r reply) model.Model {
	return model.Func(func(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
		g.mu.Lock()
		g.requests = append(g.requests, req)
		n := len(g.requests)
		g.mu.Unlock()
		return func(yield func(model.Delta, error) bool) {
			text, calls := r(n, req)
			if text, ok := strings.CutPrefix(text, "CUT "); ok { // the connection breaks after some words
				if yield(model.Delta{Text: text}, nil) {
					yield(model.Delta{}, &model.Error{Kind: model.CutOff, Model: "test/small", Message: "the stream ended without a finish", RetryAfter: time.Millisecond})
				}
				return
			}
			if ctx.Err() != nil {
				yield(model.Delta{}, ctx.Err())
				return
			}
			if text != "" && !yield(model.Delta{Text: text}, nil) {
				return
			}
			done := model.Done{Finish: model.FinishStop, Calls: calls, Usage: model.Usage{Input: promptTokens(req), Output: 5, Reported: true}}
			if len(calls) > 0 {
				done.Finish = model.FinishCalls
			}
			yield(model.Delta{Done: &done}, nil)
		}
	})
}

// promptTokens is the fake model's own count of a request.
func promptTokens(req model.Request) int {
	n := 0
	for _, m := range req.Messages {
		n += contextplan.EstimateTokens(contextplan.Code, m.Text) + messageOverheadTokens
		for _, c := range m.Calls {
			n += contextplan.EstimateTokens(contextplan.Code, c.Name+string(c.Args)) + messageOverheadTokens
		}
	}
	for _, t := range req.Tools {
		n += contextplan.EstimateTokens(contextplan.Code, t.Name+t.Description+string(t.Schema)) + messageOverheadTokens
	}
	return n
}

func (g *rig) submit(p SubmitParams) *SubmitResult {
	g.t.Helper()
	if p.Source == "" {
		p.Source = "test"
	}
	res, err := g.engine.Submit(context.Background(), &p)
	if err != nil {
		g.t.Fatal(err)
	}
	return res
}

// ended waits for a turn's result.
func (g *rig) ended(turnID string) StreamChunk {
	g.t.Helper()
	var out StreamChunk
	g.client.until(g.t, func(c *recorder) bool {
		for _, s := range c.stream {
			if s.TurnID == turnID && (s.Type == "result" || s.Type == "error") {
				out = s
				return true
			}
		}
		return false
	})
	return out
}

// recorder is a client that remembers.
type recorder struct {
	mu     sync.Mutex
	wake   chan struct{}
	cycles []CycleNotification
	stream []StreamChunk
	loops  []string // topic and message, in order
}

func (c *recorder) note(f func()) {
	c.mu.Lock()
	f()
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *recorder) until(t *testing.T, ok func(*recorder) bool) {
	t.Helper()
	limit := time.After(2 * time.Minute) // only of a test that hangs
	for {
		c.mu.Lock()
		done := ok(c)
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.wake:
		case <-limit:
			c.mu.Lock()
			defer c.mu.Unlock()
			t.Fatalf("it never came; last: %v", c.loops)
		}
	}
}

func (c *recorder) Caps() ClientCaps {
	return ClientCaps{Client: "test", Cycles: true, Permission: true}
}
func (c *recorder) Cycle(n CycleNotification) { c.note(func() { c.cycles = append(c.cycles, n) }) }
func (c *recorder) Stream(s StreamChunk)      { c.note(func() { c.stream = append(c.stream, s) }) }
func (c *recorder) EditsChanged(EditsChanged) {}
func (c *recorder) Index(IndexStatus)         {}
func (c *recorder) Loop(topic string, m json.RawMessage) {
	c.note(func() { c.loops = append(c.loops, topic+" "+string(m)) })
}
func (c *recorder) Permission(context.Context, PermissionParams) (PermissionResult, error) {
	return PermissionResult{OptionID: optionNo, Reason: "not now"}, nil
}
func (c *recorder) ApplyEdit(context.Context, WorkspaceEdit) (bool, string, error) {
	return false, "", ErrUnsupported
}
func (c *recorder) ShowDocument(context.Context, string, bool) error { return ErrUnsupported }
func (c *recorder) Editor(context.Context, EditorParams) (json.RawMessage, error) {
	return nil, ErrUnsupported
}

type fixedIndex struct{}

func (fixedIndex) Search(_ context.Context, q rag.Query) (rag.Set, error) {
	return rag.Set{RetrievalSetID: "rs-" + hashOf(q.Text), Query: q.Text, Items: []rag.Item{
		{Path: "a.go", StartLine: 3, EndLine: 3, Score: 1, Why: []rag.Why{{Ranker: "bm25", Rank: 1, Score: 1}}, ContentHash: "h"}}}, nil
}
func (fixedIndex) Symbols(string, int) []rag.Symbol        { return nil }
func (fixedIndex) Definition(string) ([]rag.Symbol, error) { return nil, nil }
func (fixedIndex) References(context.Context, string, int) ([]rag.Location, bool, error) {
	return nil, false, nil
}
func (fixedIndex) Status() rag.Status { return rag.Status{State: rag.StateReady, Files: 2} }

type oneModel struct {
	m model.Model
	g *rig
}

func (o oneModel) Resolve(_ context.Context, name string) (ResolvedModel, error) {
	if name == "nowhere" {
		return ResolvedModel{}, &Error{Code: CodeNoModel, Message: "no model nowhere"}
	}
	if name == "small" {
		if o.g.small == nil {
			return ResolvedModel{}, &Error{Code: CodeNoModel, Message: "no model small"}
		}
		return ResolvedModel{Name: "test/little", ID: "little", Model: o.g.small, Caps: model.Caps{ContextWindow: 32000}}, nil
	}
	if name == "" {
		name = "test/small"
	}
	window := 32000
	if o.g.window > 0 {
		window = o.g.window
	}
	if o.g.server != nil {
		return ResolvedModel{Name: name, ID: llmtest.ModelName, Model: o.g.server, Caps: model.Caps{ContextWindow: window, Tools: true}}, nil
	}
	return ResolvedModel{Name: name, ID: name, Model: o.m, Caps: model.Caps{ContextWindow: window, Tools: true}}, nil
}
func (oneModel) List(context.Context) []ModelInfo {
	return []ModelInfo{{Name: "test/small", Available: true}}
}

type allRead struct{ root string }

func (a allRead) Policy() tools.Policy {
	tally, err := tools.ParseRule("tally = allow", tools.SourceDefault) // see tallyTool
	if err != nil {
		panic(err)
	}
	return tools.Policy{Rules: append(tools.Defaults(), tally), Roots: []string{a.root}, Trusted: true}
}
func (allRead) Save(context.Context, []tools.Rule) error { return nil }

func call(n int, tool, args string) model.Call {
	return model.Call{ID: fmt.Sprint("x", n), Name: tool, Args: json.RawMessage(args)}
}

// AGENT-2: within a run each request begins with the whole previous one.
func TestRequestsOnlyGrow(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n > 20 {
			return "done", nil
		}
		return fmt.Sprintf("step %d", n), []model.Call{call(n, "read", fmt.Sprintf(`{"path":"a.go","offset":%d}`, n%3+1)), call(n+100, "grep", fmt.Sprintf(`{"pattern":"x%d"}`, n))}
	})
	res := g.submit(SubmitParams{Input: "look at everything"})
	g.ended(res.TurnID)
	if len(g.requests) != 21 {
		t.Fatalf("%d requests, want 21", len(g.requests))
	}
	for i := 1; i < len(g.requests); i++ {
		was, is := encode(t, g.requests[i-1]), encode(t, g.requests[i])
		if !strings.HasPrefix(is, was) {
			t.Fatalf("request %d does not begin with request %d", i+1, i)
		}
	}
	if len(g.requests[0].Tools) == 0 || encodeJSON(t, g.requests[0].Tools) != encodeJSON(t, g.requests[20].Tools) {
		t.Error("the tools differ between requests of one run")
	}
}

// encode is a request's messages as bytes without what closes the list.
func encode(t *testing.T, r model.Request) string {
	for i := range r.Messages {
		r.Messages[i].CacheBreak = false // a mark beside the text, not in it
	}
	return strings.TrimSuffix(encodeJSON(t, r.Messages), "]")
}

func encodeJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// AGENT-4: every request is attributable, and its plan replays identically.
func TestAttribution(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "read", `{"path":"b.go"}`)}
		}
		return "B calls A, see b.go:3", nil
	})
	res := g.submit(SubmitParams{Input: "what does B call?"})
	chunk := g.ended(res.TurnID)
	meta := chunk.Metadata.Response.Metadata
	if len(meta.PlanIDs) != 2 || len(meta.RetrievalSetIDs) != 1 {
		t.Fatalf("plans %v, sets %v", meta.PlanIDs, meta.RetrievalSetIDs)
	}
	ctx := context.Background()
	for i, id := range meta.PlanIDs {
		p, err := g.engine.Plan(ctx, &PlanParams{PlanID: id})
		if err != nil {
			t.Fatal(err)
		}
		if p.Replay != "identical" {
			t.Fatalf("plan %s built again: %q", id, p.Replay)
		}
		if p.TurnID != res.TurnID || p.RunID != res.RunID || p.BranchID != "main" || p.RetrievalSetID != meta.RetrievalSetIDs[0] || p.Call != i+1 {
			t.Errorf("plan %d is attributed to %+v", i, p)
		}
		same, _, err := g.engine.Replay(ctx, id)
		if err != nil || !same {
			t.Errorf("plan %s replays identically: %v, %v", id, same, err)
		}
	}
	if first := encodeJSON(t, g.requests[0].Messages); !strings.Contains(first, "a.go:1-3") { // all of a short file
		t.Errorf("the first request lacks the evidence that was found for it: %s", first)
	}
	tr, err := g.engine.Trace(ctx, &TraceParams{})
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Calls) != 1 || tr.Calls[0].Status != "ok" || len(tr.Usage) != 2 || len(tr.Rounds) != 2 {
		t.Errorf("trace: %d calls, %d usages, %d rounds", len(tr.Calls), len(tr.Usage), len(tr.Rounds))
	}
}

// A steer that comes while the model thinks is read by its next call, and the
// run does not complete before.
func TestSteerIsRead(t *testing.T) {
	var g *rig
	entered, steered := make(chan struct{}), make(chan struct{})
	g = newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			close(entered)
			<-steered
			return "I would be done", nil
		}
		return "now really", nil
	})
	res := g.submit(SubmitParams{Input: "do it"})
	<-entered
	s := g.submit(SubmitParams{Input: "only the client side, please", Delivery: "steer"})
	if s.Kind != "steer" || s.CycleID != res.CycleID {
		t.Fatalf("a message during a run is %+v", s)
	}
	close(steered)
	g.ended(res.TurnID)
	if len(g.requests) != 2 || !strings.Contains(encodeJSON(t, g.requests[1].Messages), "only the client side") {
		t.Fatalf("%d requests; the second must hold the steer", len(g.requests))
	}
	c, err := g.engine.Cycles(context.Background(), &CyclesParams{View: "all"})
	if err != nil || len(c.Cycles) != 1 || c.State != "idle" {
		t.Fatalf("cycles: %+v, %v", c, err)
	}
}

// A steer that a cancel left unread stays where it was sent: later turns have it
// before their own message, in every call, and never as the last word.
func TestUnreadSteerKeepsItsPlace(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		switch n {
		case 1:
			close(entered)
			<-release
			return "too late", nil
		case 2:
			return "I look", []model.Call{call(2, "read", `{"path":"a.go"}`)}
		}
		return "done", nil
	})
	first := g.submit(SubmitParams{Input: "do it"})
	<-entered
	if s := g.submit(SubmitParams{Input: "only the client side, please"}); s.Kind != "steer" {
		t.Fatalf("a message during a run is %+v", s)
	}
	g.engine.Control(context.Background(), g.client, json.RawMessage(fmt.Sprintf(
		`{"schema":0,"type":"REQUEST","request_id":"c1","command":"cancel","target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":{}}`, first.RunID)))
	close(release)
	g.ended(first.TurnID)
	c, err := g.engine.Cycles(context.Background(), &CyclesParams{})
	if err != nil || len(c.Meta.Cycles[first.CycleID].Unread) != 1 {
		t.Fatalf("cycles: %+v, %v", c, err)
	}
	g.ended(g.submit(SubmitParams{Input: "another matter"}).TurnID)
	if len(g.requests) != 3 {
		t.Fatalf("%d requests, not 3", len(g.requests))
	}
	for i, r := range g.requests[1:] {
		sent := encodeJSON(t, r.Messages)
		steer, root := strings.Index(sent, "only the client side"), strings.Index(sent, "another matter")
		if steer < 0 || root < steer {
			t.Errorf("call %d of the later turn: the steer is at %d, its message at %d of\n%s", i+1, steer, root, sent)
		}
	}
}

// AGENT-3: ACK, then RESULT, then the event on loop:current that it causes.
func TestControlOrder(t *testing.T) {
	entered := make(chan struct{}, 10)
	release := make(chan struct{})
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		entered <- struct{}{}
		if n == 1 {
			<-release
			return "", []model.Call{call(1, "read", `{"path":"a.go"}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "go on"})
	<-entered
	control := func(id, command, payload string) {
		g.engine.Control(context.Background(), g.client, json.RawMessage(fmt.Sprintf(
			`{"schema":0,"type":"REQUEST","request_id":%q,"command":%q,"target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":%s}`, id, command, res.RunID, payload)))
	}
	g.client.mu.Lock()
	g.client.loops = nil
	g.client.mu.Unlock()
	control("p1", "pause", "{}")
	g.client.until(t, func(c *recorder) bool { return len(c.loops) >= 3 })
	want := []string{`"type":"ACK"`, `"type":"RESULT"`, `"event":"STATE"`}
	for i, w := range want {
		if !strings.Contains(g.client.loops[i], w) {
			t.Fatalf("message %d is %s, want %s", i, g.client.loops[i], w)
		}
	}
	if !strings.Contains(g.client.loops[2], `"paused":true`) {
		t.Errorf("the STATE does not say paused: %s", g.client.loops[2])
	}
	first := g.client.loops[1]
	control("p1", "pause", "{}") // the same again: the same bytes, no second effect
	g.client.until(t, func(c *recorder) bool { return len(c.loops) >= 4 })
	if g.client.loops[3] != first {
		t.Errorf("a retry gives\n%s\nwant\n%s", g.client.loops[3], first)
	}
	close(release) // the model's reply comes; nothing new may start
	g.client.until(t, func(c *recorder) bool {
		for _, n := range c.cycles {
			for _, op := range n.Ops {
				if op.Op == cycle.OpCall {
					return true
				}
			}
		}
		return false
	})
	control("r1", "resume", "{}")
	g.ended(res.TurnID)
	control("c1", "cancel", "{}")
	g.client.until(t, func(c *recorder) bool {
		return strings.Contains(c.loops[len(c.loops)-1], `"code":"not_found"`)
	})
	for i, l := range g.client.loops {
		if strings.Contains(l, `"request_id":"c1"`) && strings.Contains(l, "ACK") {
			t.Errorf("message %d: an unknown run is acknowledged", i)
		}
	}
}

// A refused permission is a result for the model, and the run goes on.
func TestPermissionRefused(t *testing.T) {
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "bash", `{"command":"rm -rf /"}`)}
		}
		return "I was not allowed to", nil
	})
	res := g.submit(SubmitParams{Input: "clean up"})
	g.ended(res.TurnID)
	last := encodeJSON(t, g.requests[1].Messages)
	if !strings.Contains(last, "not permitted") || !strings.Contains(last, "not now") {
		t.Errorf("the model is not told why: %s", last)
	}
}

// AGENT-1, seen from outside: what was shown is there after a restart.
func TestPersistBeforeActing(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "editing", []model.Call{call(1, "edit", `{"path":"a.go","edits":[{"oldText":"return 1","newText":"return 2"}]}`)}
		}
		return "done", nil
	})
	res := g.submit(SubmitParams{Input: "change it"})
	g.ended(res.TurnID)
	ctx := context.Background()
	before, err := g.engine.Cycles(ctx, &CyclesParams{View: "all"})
	if err != nil {
		t.Fatal(err)
	}
	hunks, _ := g.engine.Edits(ctx, &EditsParams{})
	if len(hunks.Hunks) != 1 {
		t.Fatalf("%d hunks pend, want 1", len(hunks.Hunks))
	}
	g.restart()
	g.open(func(int, model.Request) (string, []model.Call) { return "again", nil })
	after, err := g.engine.Cycles(ctx, &CyclesParams{View: "all"})
	if err != nil {
		t.Fatal(err)
	}
	if encodeJSON(t, before.Cycles) != encodeJSON(t, after.Cycles) {
		t.Errorf("the cycles differ after a restart")
	}
	again, _ := g.engine.Edits(ctx, &EditsParams{})
	if encodeJSON(t, again) != encodeJSON(t, hunks) {
		t.Errorf("the hunks differ after a restart:\n%s\n%s", encodeJSON(t, again), encodeJSON(t, hunks))
	}
	out, err := g.engine.EditsResolve(ctx, &ResolveParams{All: true, Decision: "reject", Reason: "one is right"})
	if err != nil || len(out.Results) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	next := g.submit(SubmitParams{Input: "try again"})
	g.ended(next.TurnID)
	if last := encodeJSON(t, g.requests[len(g.requests)-1].Messages); !strings.Contains(last, "one is right") {
		t.Errorf("the model is not told of the rejection: %s", last)
	}
}

// The same clientRequestId twice is the same message.
func TestSubmitTwice(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	a := g.submit(SubmitParams{Input: "hello there", ClientRequestID: "id-1"})
	b := g.submit(SubmitParams{Input: "hello there", ClientRequestID: "id-1"})
	if a.CycleID != b.CycleID || a.TurnID != b.TurnID {
		t.Errorf("%+v and %+v", a, b)
	}
	g.ended(a.TurnID)
}

// State commands answer at once, exactly by their first word.
func TestStateCommands(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	for _, c := range stateCommands() {
		if c.name == "/context" || c.name == "/undo" || c.name == "/workflow" {
			continue // they need a turn first, and say so
		}
		res := g.submit(SubmitParams{Input: c.name})
		if res.Response == nil || !res.Response.Success || res.Response.Content == "" {
			t.Errorf("%s: %+v", c.name, res.Response)
		}
	}
	_, err := g.engine.Submit(context.Background(), &SubmitParams{Input: "/modelx", Source: "test"})
	if !isCode(err, CodeBadRequest) || !strings.Contains(err.Error(), "/model") {
		t.Errorf("/modelx: %v", err)
	}
	if _, err := g.engine.Submit(context.Background(), &SubmitParams{Input: "  ", Source: "test"}); !isCode(err, CodeBadRequest) {
		t.Errorf("empty input: %v", err)
	}
}

// What /status and /cost count is what they say: requests, state commands
// included, and calls of models.
func TestCounts(t *testing.T) {
	g := newRig(t, func(n int, _ model.Request) (string, []model.Call) {
		if n == 1 {
			return "", []model.Call{call(1, "read", `{"path": "a.go"}`)}
		}
		return "done", nil
	})
	say := func(command string) string { return g.submit(SubmitParams{Input: command}).Response.Content }
	if got := say("/cost"); got != "0 tokens, $0.0000: 0 model calls in 0 requests" {
		t.Error(got)
	}
	g.ended(g.submit(SubmitParams{Input: "look at a.go"}).TurnID)
	if got := say("/cost"); !strings.HasSuffix(got, ": 2 model calls in 2 requests") {
		t.Error(got)
	}
	if got := say("/status"); !strings.Contains(got, "Requests Processed: 3\n") {
		t.Error(got)
	}
}
