package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/tools"
)

// timeline is one branch of a session while this process drives it: the only
// goroutine that changes its state. It contains no decision; cycle/run decides.
//
// For each input, in this order:
//
//  1. Step
//  2. append the events to the log (durable when it returns)
//  3. fold them: machine, projection, measurements, transcript
//  4. answer who asked (the RESULT of a control goes out here)
//  5. publish the change to every client
//  6. start the effects
type timeline struct {
	e       *Engine
	session string
	branch  string

	inbox chan request
	done  chan struct{}

	// mu guards the folds below: written by the loop only, read by anyone.
	mu     sync.RWMutex
	state  run.State
	proj   *cycle.State
	meta   *cycle.MetaState
	script *transcript
	pins   map[string]cycle.PinChanged
	logLen int
	checks checks // what edits broke; see verify.go
	shown  shownEvidence
	copy   *workingCopy // a fork's own; nil on main, which works in the person's tree
	// attachments are what messages brought along, by message id.
	attachments map[string][]attached
	subtasks    map[string]cycle.SubtaskStepped // under way, by their calls
	guided      map[string][]Instruction        // of the current turn, by its id
	seen        *tools.Seen                     // what the model has read, for telling it what changed since
	answers     int                             // turns that are over and whose answer was not told yet

	// Of the loop alone.
	epochs   map[int]*epoch
	prompts  map[string][]model.Message // by plan id, for the call that follows
	sent     map[string]bool            // what the run's previous plan held
	lastLoop string                     // the last STATE that was sent
}

// epoch is what is under way: cancelling it ends every effect that bears it.
type epoch struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// request is an input with the place for its answer.
type request struct {
	input run.Input
	// answer gets the outcome after it is durable and before it is published.
	// It runs on the loop and must not block.
	answer func(run.ReadyTo, error)
	// before may replace the input by looking at the state (on the loop).
	with func(run.State) (run.Input, []cycle.Event, error)
}

// inboxMax bounds the inputs that wait; senders wait with their context.
const inboxMax = 1024

// errClosed is given to inputs that come when the engine is closing.
var errClosed = &Error{Code: CodeInvalidState, Message: "the agent is shutting down", Retriable: true}

// openTimeline folds a branch's log and starts its loop.
func (e *Engine) openTimeline(ctx context.Context, session, branch string) (*timeline, error) {
	t := &timeline{e: e, session: session, branch: branch,
		inbox: make(chan request, inboxMax), done: make(chan struct{}),
		proj: cycle.NewState(cycle.Policy{Auto: e.settings().AutoDelivery}), meta: cycle.NewMetaState(), script: newTranscript(),
		pins: map[string]cycle.PinChanged{}, seen: tools.NewSeen(), epochs: map[int]*epoch{}, prompts: map[string][]model.Message{}, sent: map[string]bool{}, attachments: map[string][]attached{}, guided: map[string][]Instruction{}, subtasks: map[string]cycle.SubtaskStepped{},
	}
	t.state.Phase = run.Idle
	for stored, err := range e.history(ctx, session, branch) {
		if err != nil {
			return nil, &Error{Code: CodeStoreUnavailable, Message: err.Error(), Hint: "the session's log can't be read; other sessions work"}
		}
		t.fold(stored.Event)
	}
	if err := t.openCopy(ctx); err != nil {
		return nil, err
	}
	e.running.Add(1)
	go e.world.drive(t)
	if e.parts.Observer {
		return t, nil
	}
	// What a crash left open is closed before anyone looks.
	if _, err := t.send(ctx, request{input: run.Recover{At: e.now()}}); err != nil {
		e.logf("session %s: what was under way could not be closed: %v", session, err)
	}
	return t, nil
}

// loop is the only place that changes the timeline.
func (t *timeline) loop() {
	defer t.e.running.Done()
	defer close(t.done)
	for {
		select {
		case req := <-t.inbox:
			t.handle(req)
		case <-t.e.closing:
			for _, ep := range t.epochs {
				ep.cancel()
			}
			return
		}
	}
}

// send hands an input to the loop and waits until it is durable and folded.
func (t *timeline) send(ctx context.Context, req request) (run.ReadyTo, error) {
	type reply struct {
		ready run.ReadyTo
		err   error
	}
	got := make(chan reply, 1)
	inner := req.answer
	req.answer = func(r run.ReadyTo, err error) {
		if inner != nil {
			inner(r, err)
		}
		got <- reply{r, err}
	}
	select {
	case t.inbox <- req:
	case <-ctx.Done():
		return run.ReadyTo{}, ctx.Err()
	case <-t.done:
		return run.ReadyTo{}, errClosed
	}
	select {
	case r := <-got:
		return r.ready, r.err
	case <-t.done:
		return run.ReadyTo{}, errClosed
	}
}

// post hands an outcome to the loop; effects use it.
func (t *timeline) post(in run.Input) {
	select {
	case t.inbox <- request{input: in}:
	case <-t.done:
	}
}

// handle carries an input out and gives back what was written down of it.
func (t *timeline) handle(req request) []cycle.Event {
	before := t.state
	var extra []cycle.Event
	if req.with != nil {
		in, more, err := req.with(t.state)
		if err != nil {
			req.reply(run.ReadyTo{}, err)
			return nil
		}
		req.input, extra = in, more
	}
	ready := run.ReadyTo{}
	if req.input != nil {
		var err error
		if ready, err = run.Step(t.state, req.input); err != nil {
			req.reply(ready, toError(err))
			return nil
		}
	}
	ready.Events = append(ready.Events, extra...)
	if err := t.e.parts.Store.Append(t.e.base, t.session, t.branch, ready.Events...); err != nil {
		req.reply(run.ReadyTo{}, &Error{Code: CodeStoreUnavailable, Message: err.Error(), Hint: "free disk space or check the state folder; nothing was done", Retriable: true})
		t.storeFailed(req.input, err)
		return nil
	}
	change := t.foldAll(ready.Events)
	effects := t.queue(ready.Effects)
	req.reply(ready, nil)
	t.publish(before, change, ready.Events)
	for _, fx := range effects {
		t.start(fx)
	}
	return ready.Events
}

// queue puts a new run into the line for a slot, so that who asked is told its
// position; the other effects are left to be started.
func (t *timeline) queue(effects []run.Effect) (rest []run.Effect) {
	for _, fx := range effects {
		if a, ok := fx.(run.AcquireSlot); ok {
			t.e.acquire(t, a.RunID)
		} else {
			rest = append(rest, fx)
		}
	}
	return rest
}

func (r request) reply(ready run.ReadyTo, err error) {
	if r.answer != nil {
		r.answer(ready, err)
	}
}

// storeFailed ends what is under way when its outcome can't be written down:
// nothing may go on that the log does not know.
func (t *timeline) storeFailed(in run.Input, err error) {
	if in == nil || !t.state.Active() {
		return
	}
	t.e.logf("session %s: %v; its run is stopped", t.session, err)
	for n, ep := range t.epochs {
		ep.cancel()
		delete(t.epochs, n)
	}
}

// change is what a batch of events did to the views.
type change struct {
	ops   []cycle.Op
	meta  []cycle.MetaOp
	queue bool
	cycle string
}

func (t *timeline) foldAll(events []cycle.Event) change {
	t.mu.Lock()
	defer t.mu.Unlock()
	var c change
	for _, e := range events {
		d := t.fold(e)
		c.ops, c.meta, c.queue = append(c.ops, d.ops...), append(c.meta, d.meta...), c.queue || d.queue
	}
	c.cycle = t.proj.CurrentCycle()
	return c
}

// fold folds one event into every projection. The queue is the machine's: the
// log gets a follow-up's message only when it is promoted, so the projection's
// own queue ops are left out.
func (t *timeline) fold(e cycle.Event) change {
	var c change
	current := t.proj.CurrentCycle()
	t.state = t.state.Apply(e)
	for _, op := range t.proj.Apply(e) {
		if op.Op != cycle.OpPush && op.Op != cycle.OpPop {
			c.ops = append(c.ops, op)
		}
	}
	if _, stop := e.(cycle.RunStop); !stop { // a stop concerns the cycle that it closes
		current = t.proj.CurrentCycle()
	}
	if q, ok := e.(cycle.RunQueued); ok {
		current = q.CycleID
	}
	c.meta = t.meta.Apply(current, e)
	t.script.apply(e)
	t.logLen++
	switch e := e.(type) {
	case cycle.FollowUpQueued, cycle.FollowUpPromoted, cycle.QueueChanged:
		c.queue = true
	case cycle.PinChanged:
		t.pins[e.ID] = e
	case cycle.SubtaskStepped:
		t.subtasks[e.CallID] = e
		if e.Done {
			delete(t.subtasks, e.CallID)
		}
	case cycle.RunStop:
		clear(t.subtasks)
	}
	return c
}

// publish tells every client what changed: deltas of the step tree, then the
// state of the run.
func (t *timeline) publish(before run.State, c change, events []cycle.Event) {
	if c.queue {
		c.ops = append(c.ops, cycle.Op{Op: cycle.OpQueue, Queued: t.state.Queued()})
	}
	for _, n := range t.e.deltas(t, c) {
		t.e.each(func(cl Client) {
			if cl.Caps().Cycles {
				cl.Cycle(n)
			}
		})
	}
	for _, e := range events { // before any effect can tell what it does
		if c, ok := e.(cycle.Classified); ok {
			t.e.classification(t, c.TurnID, c)
		}
	}
	t.publishRun(before, events)
}

// start begins an effect. Everything that takes time runs on its own
// goroutine, under its epoch's context.
func (t *timeline) start(fx run.Effect) {
	switch fx := fx.(type) {
	case run.ReleaseSlot:
		t.e.release(fx.RunID)
	case run.Abandon:
		if ep := t.epochs[fx.Epoch]; ep != nil {
			ep.cancel()
			delete(t.epochs, fx.Epoch)
		}
		t.prompts, t.sent = map[string][]model.Message{}, map[string]bool{}
	case run.Prepare:
		t.spawn(fx.Epoch, func(ctx context.Context) { t.prepare(ctx, fx) })
	case run.CallModel:
		messages := t.prompts[fx.PlanID]
		delete(t.prompts, fx.PlanID)
		t.spawn(fx.Epoch, func(ctx context.Context) { t.callModel(ctx, fx, messages) })
	case run.RunCalls:
		t.spawn(fx.Epoch, func(ctx context.Context) { t.runCalls(ctx, fx) })
	case run.Wait:
		t.spawn(fx.Epoch, func(ctx context.Context) {
			if t.e.world.wait(ctx, fx.For) {
				t.post(run.RetryDue{At: t.e.now(), Epoch: fx.Epoch})
			}
		})
	case run.Finish:
		t.finish(fx)
	}
}

// spawn runs an effect under its epoch. A panic is the run's failure, not the
// server's.
func (t *timeline) spawn(n int, f func(context.Context)) {
	ep := t.epochs[n]
	if ep == nil {
		ctx, cancel := context.WithCancel(t.e.base)
		ep = &epoch{ctx, cancel}
		t.epochs[n] = ep
	}
	t.e.running.Add(1)
	go func() {
		defer t.e.running.Done()
		defer func() {
			if r := recover(); r != nil {
				t.e.bug(r)
				t.post(run.Failed{At: t.e.now(), Epoch: n, Kind: "internal", Message: fmt.Sprint("internal error: ", r)})
			}
		}()
		f(ep.ctx)
	}()
}

// record writes facts down that the machine does not decide about.
func (t *timeline) record(ctx context.Context, events ...cycle.Event) error {
	_, err := t.send(ctx, request{with: func(run.State) (run.Input, []cycle.Event, error) { return nil, events, nil }})
	return err
}

// view reads the folds.
func (t *timeline) view(f func()) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	f()
}

// toError gives a machine's refusal the protocol's form.
func toError(err error) error {
	var r *run.Rejected
	if errors.As(err, &r) {
		return &Error{Code: Code(r.Code), Message: r.Message, Hint: r.Hint}
	}
	return err
}

// loopStack is the stack of a STATE.
func (t *timeline) loopStack(s run.State) []stackEntry {
	if !s.Active() {
		return []stackEntry{}
	}
	mode := "chat"
	if x := t.script.turnByID(s.Run.TurnID); x != nil && x.workflow != nil && x.workflow.Status == cycle.WorkflowRunning {
		mode = "workflow"
	}
	if s.Run.IssueID != "" {
		mode = "issue"
	}
	out := []stackEntry{{ID: s.Run.ID, Mode: mode, Iter: s.Run.Iter, Max: s.Run.Max, Model: s.Run.Model,
		IssueID: s.Run.IssueID, Paused: s.Run.Paused, Escalation: s.Run.Escalation}}
	for _, c := range s.Run.Pending {
		if sub, ok := t.subtasks[c.ID]; ok && !c.Done {
			out = append(out, stackEntry{ID: sub.ID, Mode: "subtask", Iter: sub.N, Max: sub.Max, Model: sub.Model})
		}
	}
	return out
}

type stackEntry struct {
	ID         string `json:"id"`
	Mode       string `json:"mode"`
	Iter       int    `json:"iter"`
	Max        int    `json:"max"`
	Model      string `json:"model"`
	IssueID    string `json:"issue_id,omitempty"`
	Paused     bool   `json:"paused,omitempty"`
	Escalation string `json:"escalation_reason,omitempty"`
}

// publishRun sends STATE on every change of iteration, paused, model or stack,
// and ABORT or DONE when a run ends.
func (t *timeline) publishRun(before run.State, events []cycle.Event) {
	cutOff := false
	for _, e := range events {
		if _, ok := e.(cycle.RunCutOff); ok {
			cutOff = true
		}
		stop, ok := e.(cycle.RunStop)
		if !ok {
			continue
		}
		event, reason := "DONE", "COMPLETED"
		switch {
		case cutOff:
			event, reason = "ABORT", "INTERRUPTED"
		case stop.Reason == cycle.StopInterrupted && before.Run.ID != "":
			event, reason = "ABORT", "USER_CANCELLED"
		case stop.Reason == cycle.StopError:
			event, reason = "ABORT", "ERROR"
		}
		t.lastLoop = ""
		t.e.loop("loop:current", endMessage(before.Run.ID, event, reason))
	}
	if !t.state.Active() {
		return
	}
	t.e.loopIfNew(t)
}

// endMessage says that a run is over.
func endMessage(runID, event, reason string) map[string]any {
	return map[string]any{"schema": 1, "event": event, "reason": reason, "run_id": runID, "stack": []stackEntry{}}
}

// stateMessage is the present STATE, of an active run.
func (t *timeline) stateMessage() map[string]any {
	return map[string]any{"schema": 1, "event": "STATE", "run_id": t.state.Run.ID,
		"updated_at": t.e.now().UTC().Format(time.RFC3339), "stack": t.loopStack(t.state)}
}

func stackKey(s []stackEntry) string {
	b, _ := json.Marshal(s)
	return string(b)
}
