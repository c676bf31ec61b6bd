package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Parts are the concrete things that an engine is made of; cmd/agent-lsp puts
// them together. All but Log are needed.
type Parts struct {
	Root        string // absolute path of the workspace
	Store       *store.Store
	Index       Retriever
	Edits       *edits.Ledger
	Tools       *tools.Registry
	Models      Models
	Shell       tools.Shell
	Permissions Permissions
	Settings    Settings
	Version     string
	Now         func() time.Time
	NewID       func(prefix string) string
	Log         func(format string, args ...any)
	// SourceText reads the lines of a file as they are now, for evidence.
	SourceText func(path string) ([]byte, error)
	// Paths lists the workspace's files, in order.
	Paths func(ctx context.Context) []string
	// Touched tells the index that a file's text is another now.
	Touched func(path string)
	// Tips are three things to try that fit this repository.
	Tips func() []string
	// SettingSources says where each setting came from.
	SettingSources map[string]string
	// Instructions reads the instruction files that count for some
	// workspace-relative paths, the nearest last.
	Instructions func(paths []string) []Instruction
	// Commands and Skills read what else people wrote down for the agent; nil
	// where there is none. Problems name files that can't be read.
	Commands func() (list []UserCommand, problems []string)
	Skills   func() []Skill
	// Observer is an engine beside the one that runs the workspace: it shows
	// what is stored, closes nothing that a crash left open and begins nothing.
	Observer bool
	// world is what runs read of the world; nil: the world itself. A replay
	// puts a recording there.
	world world
}

// Retriever is the workspace's index.
type Retriever interface {
	Search(ctx context.Context, q rag.Query) (rag.Set, error)
	Symbols(query string, limit int) []rag.Symbol
	Definition(name string) ([]rag.Symbol, error)
	// References also tells whether the limit cut the list.
	References(ctx context.Context, name string, limit int) ([]rag.Location, bool, error)
	Status() rag.Status
}

// Models knows the models.
type Models interface {
	// Resolve finds a model by provider/name or alias; "" is the default.
	Resolve(ctx context.Context, name string) (ResolvedModel, error)
	List(ctx context.Context) []ModelInfo
}

// ResolvedModel is a model that can be called.
type ResolvedModel struct {
	Name  string // provider/name
	ID    string // the provider's own name
	Model model.Model
	Caps  model.Caps
}

// Permissions are the rules in force and the place for new ones.
type Permissions interface {
	Policy() tools.Policy
	// Save keeps what the person allowed for always, in this workspace.
	Save(ctx context.Context, rules []tools.Rule) error
}

// Engine is the agent of one workspace. It is safe for concurrent use; it
// implements what rpc asks of it.
type Engine struct {
	parts   Parts
	world   world
	base    context.Context
	stop    context.CancelFunc
	closing chan struct{}
	closed  sync.Once
	running sync.WaitGroup

	opening   sync.Mutex // held while a timeline is opened; taken before mu
	mu        sync.Mutex
	timelines map[string]*timeline // by session/branch
	sessions  map[string]*session
	clients   map[int]Client
	nextID    int
	slots     *run.Slots
	waiting   map[string]*timeline // runs that wait for a slot, by run id
	desk      *desk
	questions []*question // unanswered permissions, in the order in which they were asked
	estimator contextplan.Estimator
	verdicts  map[string]int // by session: the last verdict that its model was told
	roots     []string
	routes    map[string][]string // what the router said, by model and input
	memoryMu  sync.Mutex
	memory    memory               // the workspace's notes
	subtasks  map[string]subtaskOf // by the call that is being made
	fetch     tools.Tool           // for mentioned addresses, where the model has no such tool
	effective Settings
	sources   map[string]string // of the settings
}

// session is what clients share about a session.
type session struct {
	row store.Session
	rev int64
}

// New makes an engine. Close it.
func New(p Parts) *Engine {
	if p.Log == nil {
		p.Log = func(string, ...any) {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Engine{
		parts: p, base: ctx, stop: cancel, closing: make(chan struct{}),
		timelines: map[string]*timeline{}, sessions: map[string]*session{}, clients: map[int]Client{},
		slots: run.NewSlots(p.Settings.runsMax()), effective: p.Settings, sources: p.SettingSources, waiting: map[string]*timeline{}, desk: newDesk(),
		verdicts: map[string]int{}, roots: []string{p.Root},
		estimator: learnt(ctx, p.Store), world: p.world, fetch: tools.Fetch(tools.FetchOptions{}), routes: map[string][]string{}, subtasks: map[string]subtaskOf{},
	}
	if e.world == nil {
		e.world = live{e}
	}
	e.addTools()
	e.loadMemory(ctx)
	return e
}

// addTools puts the engine's own tools beside the others. A registry that has
// a tool of that name already keeps its own.
func (e *Engine) addTools() {
	for _, t := range []tools.Tool{skillTool(e), tools.Task(e)} {
		if _, ok := e.parts.Tools.Get(t.Spec().Name); ok {
			continue
		}
		if err := e.parts.Tools.Add(t); err != nil {
			e.logf("%v", err)
		}
	}
}

// Close ends everything that is under way and waits for it. Runs that were
// active are closed as interrupted when the log is next opened.
func (e *Engine) Close() error {
	e.closed.Do(func() {
		e.stop()
		close(e.closing)
	})
	e.running.Wait()
	return nil
}

// settings are the ones in force now.
func (e *Engine) settings() Settings {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.effective
}

// Reconfigure replaces the settings; what is under way keeps the old ones.
func (e *Engine) Reconfigure(s Settings, sources map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.effective, e.sources = s, sources
}

func (e *Engine) now() time.Time { return e.parts.Now() }

func (e *Engine) logf(format string, args ...any) { e.parts.Log(format, args...) }

// bug reports a panic that was caught: the run ends, the server lives.
func (e *Engine) bug(r any) { e.logf("internal error: %v\n%s", r, debug.Stack()) }

// Attach adds a client; what it should know at once is sent before it returns.
func (e *Engine) Attach(c Client) (detach func()) {
	e.mu.Lock()
	id := e.nextID
	e.nextID++
	e.clients[id] = c
	for _, q := range e.questions {
		e.askClient(q, c)
	}
	list := make([]*timeline, 0, len(e.timelines))
	for _, t := range e.timelines {
		list = append(list, t)
	}
	e.mu.Unlock()
	if c.Caps().ApplyEdit {
		e.parts.Edits.SetEditor(editorOf(c))
	}
	c.Index(e.indexStatus())
	if hunks := e.parts.Edits.Hunks(edits.Filter{}); len(hunks) > 0 {
		c.EditsChanged(editsChangedFor(c, edits.Changed{Hunks: hunks, Pending: len(hunks)}))
	}
	for _, t := range list {
		t.tellState(c)
	}
	return func() {
		e.mu.Lock()
		delete(e.clients, id)
		e.mu.Unlock()
	}
}

// each calls f for every client in order of attachment.
func (e *Engine) each(f func(Client)) {
	e.mu.Lock()
	list := make([]Client, 0, len(e.clients))
	for id := 0; id < e.nextID; id++ {
		if c, ok := e.clients[id]; ok {
			list = append(list, c)
		}
	}
	e.mu.Unlock()
	for _, c := range list {
		f(c)
	}
}

// loop sends a message of a topic to every client.
func (e *Engine) loop(topic string, message any) {
	raw, err := json.Marshal(message)
	if err != nil {
		e.bug(err)
		return
	}
	e.each(func(c Client) { c.Loop(topic, raw) })
}

// loopIfNew sends a STATE when it says something new.
func (e *Engine) loopIfNew(t *timeline) {
	var msg map[string]any
	t.mu.Lock()
	if t.stateWorthTelling() {
		if key := stackKey(t.loopStack(t.state)); key != t.lastLoop {
			t.lastLoop = key
			msg = t.stateMessage()
		}
	}
	t.mu.Unlock()
	if msg != nil {
		e.loop("loop:current", msg)
	}
}

// stateWorthTelling tells whether a run has begun, or was paused or given
// another model while it waits for a slot.
func (t *timeline) stateWorthTelling() bool {
	r := t.state.Run
	return t.state.Active() && (t.state.Phase != run.Waiting || r.Paused || r.Escalation != "")
}

// tellState tells one client, who has just come, what state the run is in; a
// client whose server has died may still think that a run goes on.
func (t *timeline) tellState(c Client) {
	var msg map[string]any
	t.view(func() {
		switch {
		case t.stateWorthTelling():
			msg = t.stateMessage()
		case !t.state.Active() && t.state.Interrupted != "":
			msg = endMessage(t.state.Interrupted, "ABORT", "INTERRUPTED")
		}
	})
	if msg == nil {
		return
	}
	raw, err := json.Marshal(msg)
	if err != nil {
		t.e.bug(err)
		return
	}
	c.Loop("loop:current", raw)
}

// deltas gives a change its revision: one for each cycle that it is about.
func (e *Engine) deltas(t *timeline, c change) []CycleNotification {
	if len(c.ops) == 0 && len(c.meta) == 0 {
		return nil
	}
	var out []CycleNotification
	open := func(cycleID string) *CycleNotification {
		if n := len(out); n > 0 && (out[n-1].CycleID == cycleID || cycleID == "") {
			return &out[n-1]
		}
		if cycleID == "" {
			cycleID = c.cycle
		}
		out = append(out, CycleNotification{SessionID: t.session, BranchID: t.branch, CycleID: cycleID, Ops: []cycle.Op{}})
		return &out[len(out)-1]
	}
	for _, op := range cycle.Coalesce(c.ops) {
		n := open(op.Cycle)
		n.Ops = append(n.Ops, op)
	}
	for _, op := range lastOfEach(c.meta) {
		n := open(op.Cycle)
		n.Meta = append(n.Meta, op)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[t.session]
	for i := range out {
		if s != nil {
			s.rev++
			out[i].Rev = s.rev
		}
	}
	return out
}

// lastOfEach leaves out what a later op replaces anyway.
func lastOfEach(ops []cycle.MetaOp) []cycle.MetaOp {
	seen := map[string]bool{}
	var out []cycle.MetaOp
	for i := len(ops) - 1; i >= 0; i-- {
		if key := ops[i].Cycle + "/" + ops[i].Call; !seen[key] {
			seen[key] = true
			out = append(out, ops[i])
		}
	}
	slices.Reverse(out)
	return out
}

// acquire asks for a place for a run; the grant may come later.
func (e *Engine) acquire(t *timeline, runID string) {
	e.mu.Lock()
	position := e.slots.Acquire(runID)
	if position > 0 {
		e.waiting[runID] = t
	}
	e.mu.Unlock()
	if position == 0 {
		e.grant(t, runID)
	}
}

func (e *Engine) release(runID string) {
	e.mu.Lock()
	granted := e.slots.Release(runID)
	delete(e.waiting, runID)
	next := make([]*timeline, len(granted))
	for i, id := range granted {
		next[i] = e.waiting[id]
		delete(e.waiting, id)
	}
	e.mu.Unlock()
	for i, id := range granted {
		if next[i] != nil {
			e.grant(next[i], id)
		}
	}
}

// grant tells a timeline that its run may begin. It may be called from that
// timeline's own loop, so it never waits for it.
func (e *Engine) grant(t *timeline, runID string) {
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		t.post(run.SlotGranted{At: e.now(), RunID: runID})
	}()
}

// timeline finds or opens a branch of a session.
func (e *Engine) timeline(ctx context.Context, sessionID, branchID string) (*timeline, error) {
	s, err := e.session(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	if branchID, err = e.branchID(ctx, s, branchID); err != nil {
		return nil, err
	}
	key := s.row.ID + "/" + branchID
	e.opening.Lock() // a branch is opened once
	defer e.opening.Unlock()
	e.mu.Lock()
	t, ok := e.timelines[key]
	e.mu.Unlock()
	if ok {
		return t, nil
	}
	if t, err = e.openTimeline(ctx, s.row.ID, branchID); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.timelines[key] = t
	e.mu.Unlock()
	return t, nil
}

// session finds a session; "" is the latest one.
func (e *Engine) session(ctx context.Context, id string) (*session, error) {
	if id == "" {
		rows, err := e.parts.Store.Sessions(ctx)
		if err != nil {
			return nil, storeError(err)
		}
		if len(rows) == 0 {
			return nil, &Error{Code: CodeNotFound, Message: "there is no session yet", Hint: "agent/submit makes one"}
		}
		id = rows[0].ID
	}
	e.mu.Lock()
	s, ok := e.sessions[id]
	e.mu.Unlock()
	if ok {
		return s, nil
	}
	row, err := e.parts.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no session %q", id), Hint: "agent/session/list lists them"}
	}
	if err != nil {
		return nil, storeError(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s, ok := e.sessions[id]; ok {
		return s, nil
	}
	s = &session{row: row}
	e.sessions[id] = s
	return s, nil
}

// newSession makes a session with one branch, main.
func (e *Engine) newSession(ctx context.Context, title, mode string) (*session, error) {
	if mode == "" {
		mode = ModeExecuting
	}
	row := store.Session{ID: e.parts.NewID("s"), Title: title, Branch: "main", Mode: mode, Created: e.now(), Used: e.now()}
	if err := e.parts.Store.PutSession(ctx, row); err != nil {
		return nil, storeError(err)
	}
	if err := e.parts.Store.PutBranch(ctx, store.Branch{Session: row.ID, ID: "main", Name: "main"}); err != nil {
		return nil, storeError(err)
	}
	s := &session{row: row}
	e.mu.Lock()
	e.sessions[row.ID] = s
	e.mu.Unlock()
	return s, nil
}

// saveSession changes a session's row.
func (e *Engine) saveSession(ctx context.Context, s *session, change func(*store.Session)) error {
	e.mu.Lock()
	change(&s.row)
	row := s.row
	e.mu.Unlock()
	if err := e.parts.Store.PutSession(ctx, row); err != nil {
		return storeError(err)
	}
	return nil
}

// The modes of a session.
const (
	ModeExecuting = "executing"
	ModePlanning  = "planning"
)

func storeError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return &Error{Code: CodeNotFound, Message: err.Error()}
	}
	return &Error{Code: CodeStoreUnavailable, Message: err.Error(), Hint: "check the state folder and the disk's free space", Retriable: true}
}
