package fakeeditor

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rpc"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

func TestMain(m *testing.M) {
	// The index library keeps four workers from its init to the end.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// engine is the least that a server needs behind it.
type engine struct {
	protocol.Server
	attached chan agent.Client

	mu    sync.Mutex
	state *cycle.State
	rev   int64
	texts map[string]string
}

func newEngine() *engine {
	return &engine{attached: make(chan agent.Client, 1), state: cycle.NewState(cycle.Policy{}), texts: map[string]string{}}
}

func (g *engine) Attach(c agent.Client) func()                           { g.attached <- c; return func() {} }
func (g *engine) Control(context.Context, agent.Client, json.RawMessage) {}
func (g *engine) SetRoots([]string)                                      {}
func (g *engine) SetSettings(json.RawMessage)                            {}
func (g *engine) Close() error                                           { return nil }
func (g *engine) DidSave(string)                                         {}
func (g *engine) DidClose(string)                                        {}
func (g *engine) DidChangeFiles([]string)                                {}
func (g *engine) DidRename(string, string)                               {}

func (g *engine) DidOpen(uri, _ string, _ int32, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.texts[uri] = text
}

// DidChange takes UTF-8 columns only.
func (g *engine) DidChange(uri string, _ int32, changes []agent.ContentChange, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := &Editor{encoding: "utf-8"}
	for _, c := range changes {
		if c.Range == nil {
			g.texts[uri] = c.Text
			continue
		}
		from, err := e.offset(g.texts[uri], c.Range.Start)
		if err != nil {
			return err
		}
		to, err := e.offset(g.texts[uri], c.Range.End)
		if err != nil {
			return err
		}
		g.texts[uri] = g.texts[uri][:from] + c.Text + g.texts[uri][to:]
	}
	return nil
}

func (g *engine) text(uri string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.texts[uri]
}

// apply folds an event; rev grows whether the client is told or not.
func (g *engine) apply(c agent.Client, e cycle.Event, tell bool) {
	g.mu.Lock()
	ops := g.state.Apply(e)
	g.rev++
	n := agent.CycleNotification{SessionID: "s", BranchID: "main", CycleID: g.state.CurrentCycle(), Rev: g.rev, Ops: ops}
	g.mu.Unlock()
	if tell {
		c.Cycle(n)
	}
}

func (g *engine) Cycles(_ context.Context, p *agent.CyclesParams) (*agent.CyclesResult, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.state.Model()
	out := &agent.CyclesResult{Rev: g.rev, SessionID: "s", BranchID: p.BranchID, State: string(m.State), Queued: m.Queued, Anomalies: m.Anomalies}
	for _, c := range m.Cycles {
		data, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		out.Cycles = append(out.Cycles, data)
	}
	return out, nil
}

// connect puts an editor in front of a server in front of an engine.
func connect(t *testing.T, o Options) (*Editor, *engine, agent.Client) {
	near, far := net.Pipe()
	g := newEngine()
	s := rpc.New(far, rpc.Options{CacheDir: t.TempDir(), Open: func(context.Context, rpc.InitOptions) (rpc.Engine, error) { return g, nil }})
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	e, err := Connect(t.Context(), near, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Quit(context.Background()); err != nil {
			t.Errorf("Quit: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("the server ended: %v", err)
		}
		if f := e.Faults(); len(f) > 0 {
			t.Errorf("faults: %q", f)
		}
	})
	return e, g, <-g.attached
}

// TestApplyEdit applies edits to two documents at once, refuses stale ones
// whole, and undoes in one step.
func TestApplyEdit(t *testing.T) {
	e, g, c := connect(t, Options{Encodings: []string{"utf-8"}})
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.go"), filepath.Join(dir, "b.go")
	for path, text := range map[string]string{a: "one\ntwo\n", b: "three\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	uri, err := e.Open(t.Context(), a, "go")
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Type(t.Context(), uri, "two", "2é"); err != nil {
		t.Fatal(err)
	}
	at := func(line, from, to int, text string) agent.TextEdit {
		return agent.TextEdit{Range: agent.Range{Start: agent.Position{Line: line, Character: from}, End: agent.Position{Line: line, Character: to}}, NewText: text}
	}
	edit := agent.WorkspaceEdit{Label: "Rename", Docs: []agent.DocumentEdit{
		{URI: uri, Version: 2, Edits: []agent.TextEdit{at(0, 0, 3, "ONE"), at(1, 1, 3, "!")}},
		{URI: URI(b), Edits: []agent.TextEdit{at(0, 0, 5, "THREE")}},
	}}
	if ok, why, err := c.ApplyEdit(t.Context(), edit); !ok || err != nil {
		t.Fatalf("applied %v, %q, %v", ok, why, err)
	}
	if text, version, _ := e.Text(uri); text != "ONE\n2!\n" || version != 3 || g.text(uri) != text || g.text(URI(b)) != "THREE\n" {
		t.Errorf("the editor has %q at %d, the engine %q and %q", text, version, g.text(uri), g.text(URI(b)))
	}
	if ok, why, err := c.ApplyEdit(t.Context(), edit); ok || err != nil || !strings.Contains(why, "at version 3, not 2") {
		t.Errorf("a stale edit: applied %v, %q, %v", ok, why, err)
	}
	if text, _, _ := e.Text(URI(b)); text != "THREE\n" {
		t.Errorf("half of a stale edit was applied: %q", text)
	}
	if label, err := e.Undo(t.Context()); label != "Rename" || err != nil {
		t.Errorf("undid %q, %v", label, err)
	}
	if err := e.Barrier(t.Context()); err != nil || g.text(uri) != "one\n2é\n" || g.text(URI(b)) != "three\n" {
		t.Errorf("after the undo the engine has %q and %q", g.text(uri), g.text(URI(b)))
	}
	if err := e.Save(t.Context(), uri); err != nil || e.Dirty(uri) {
		t.Errorf("saved: %v, dirty %v", err, e.Dirty(uri))
	}
}

// TestGap loses a delta: the editor asks again and has the server's tree.
func TestGap(t *testing.T) {
	e, g, c := connect(t, Options{})
	g.apply(c, cycle.UserMessage{ID: "m1", Text: "hi", Delivery: cycle.DeliveryAuto}, true)
	g.apply(c, cycle.AgentOutput{ID: "o1", Output: cycle.OutputAssistant, Text: "a"}, true)
	if err := e.Await(t.Context(), func() bool { _, rev, _ := e.Tree("s", "main"); return rev == 2 }); err != nil {
		t.Fatal(err)
	}
	g.apply(c, cycle.AgentOutput{ID: "o1", Output: cycle.OutputAssistant, Text: "b"}, false)
	for range 50 {
		g.apply(c, cycle.AgentOutput{ID: "o1", Output: cycle.OutputAssistant, Text: "c"}, true)
	}
	g.apply(c, cycle.RunStop{Reason: cycle.StopCompleted}, true)
	if err := e.Await(t.Context(), func() bool { _, rev, _ := e.Tree("s", "main"); return rev == 54 }); err != nil {
		t.Fatal(err)
	}
	m, _, gaps := e.Tree("s", "main")
	got, _ := json.Marshal(m)
	want, _ := json.Marshal(g.state.Model())
	if gaps == 0 || string(got) != string(want) {
		t.Errorf("%d gaps; the tree is\n%s, not\n%s", gaps, got, want)
	}
}

// TestPermission answers by script, with the plugin and without.
func TestPermission(t *testing.T) {
	question := agent.PermissionParams{Tool: "bash", Title: "Run", Options: []agent.PermissionOption{{ID: "y", Kind: "allow_once", Name: "Allow"}, {ID: "n", Kind: "reject_once", Name: "Reject"}}}
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"nobody": {Options{}, "n"},
		"allows": {Options{Permission: func(p agent.PermissionParams) agent.PermissionResult {
			return agent.PermissionResult{OptionID: Option(p, "allow_once")}
		}}, "y"},
		"plain":         {Options{Plain: true, Button: func(_ string, b []string) string { return b[0] }}, "y"},
		"plain, closed": {Options{Plain: true}, "n"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, c := connect(t, test.o)
			if r, err := c.Permission(t.Context(), question); err != nil || r.OptionID != test.want {
				t.Errorf("answered %+v, %v", r, err)
			}
		})
	}
}

// TestEditorOps asks the editor's own language servers.
func TestEditorOps(t *testing.T) {
	_, _, c := connect(t, Options{EditorOps: []string{"hover"}, Editor: func(p agent.EditorParams) (any, error) { return map[string]string{"contents": p.URI}, nil }})
	if r, err := c.Editor(t.Context(), agent.EditorParams{Op: "hover", URI: "file:///a"}); err != nil || string(r) != `{"contents":"file:///a"}` {
		t.Errorf("gave %s, %v", r, err)
	}
}

// TestOffsets holds that offset and position are inverse in all units, and
// that the units differ where they should.
func TestOffsets(t *testing.T) {
	for enc, want := range map[string]int{"utf-8": 7, "utf-16": 4, "utf-32": 3} {
		e := &Editor{encoding: enc}
		if p := e.position("x\né😀a", len("x\né😀a")); p.Line != 1 || p.Character != want {
			t.Errorf("%s: %+v, want column %d", enc, p, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		e := &Editor{encoding: rapid.SampledFrom([]string{"utf-8", "utf-16", "utf-32"}).Draw(t, "encoding")}
		runes := rapid.SliceOf(rapid.SampledFrom([]rune("a\né😀"))).Draw(t, "text")
		text := string(runes)
		at := len(string(runes[:rapid.IntRange(0, len(runes)).Draw(t, "at")]))
		if back, err := e.offset(text, e.position(text, at)); err != nil || back != at {
			t.Fatalf("%q at %d: %+v is %d (%v)", text, at, e.position(text, at), back, err)
		}
	})
}

// TestRecords shows what a test can look up.
func TestRecords(t *testing.T) {
	e, _, c := connect(t, Options{})
	c.EditsChanged(agent.EditsChanged{SessionID: "s", URIs: []string{"file:///a"}, Hunks: []agent.Hunk{{HunkID: "h", URI: "file:///a"}}, Pending: 1})
	if err := e.Await(t.Context(), func() bool { return len(e.Hunks("file:///a")) == 1 && len(e.Asked("workspace/codeLens/refresh")) == 1 }); err != nil {
		t.Fatal(err)
	}
	if err := c.ShowDocument(t.Context(), "file:///x", true); err != nil || !slices.Equal(e.Shown(), []string{"file:///x"}) {
		t.Errorf("shown %q, %v", e.Shown(), err)
	}
	if n := len(e.Told("agent/edits/changed")); n != 1 {
		t.Errorf("told %d times", n)
	}
	if e.Offer() == nil || !slices.Contains(e.Offer().Methods, "agent/submit") {
		t.Errorf("the offer is %+v", e.Offer())
	}
}
