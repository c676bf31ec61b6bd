package run

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// The simulation drives the machine as the driver would, without clock or I/O:
// a random schedule chooses which outcome comes next, what the person does,
// and where the process dies. After every step it checks the invariants. The
// seed is printed on failure: go test -run TestSimulation -sim.seed N.

type world struct {
	t       testing.TB
	rng     *rand.Rand
	seed    uint64
	state   State
	log     []cycle.Event
	effects []Effect // under way
	ids     int
	at      time.Time

	steers    map[string]int // acknowledged steer → model calls that read it
	followUps []string       // acknowledged, in order of their queue
	ran       []string       // roots in order
	removed   map[string]bool
	dying     int // steps until the process dies between the log and the effects; 0: it lives
}

func newWorld(t testing.TB, seed uint64) *world {
	return &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), state: State{Phase: Idle},
		steers: map[string]int{}, removed: map[string]bool{}, at: time.Unix(0, 0)}
}

func (w *world) id(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s%d", prefix, w.ids)
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for i, e := range w.log[max(0, len(w.log)-40):] {
		body, _ := json.Marshal(e)
		w.t.Logf("%d %s %s", i, e.Type(), body)
	}
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

// step gives the machine an input and does what it says, as the driver would.
func (w *world) step(in Input) error {
	before := w.state
	ready, err := Step(w.state, in)
	if !reflect.DeepEqual(before, w.state) {
		w.fail("Step changed its argument")
	}
	if err != nil {
		if len(ready.Events)+len(ready.Effects) > 0 {
			w.fail("a rejected %T has a consequence", in)
		}
		return err
	}
	for _, e := range ready.Events {
		w.log = append(w.log, e)
		w.state = w.state.Apply(e)
		w.watch(e)
	}
	if w.dying > 0 && len(ready.Events) > 0 {
		if w.dying--; w.dying == 0 { // durable, and nothing of it was done
			w.crash()
			return nil
		}
	}
	for _, fx := range ready.Effects {
		if w.state.Active() && w.state.Run.Paused {
			switch fx := fx.(type) {
			case CallModel, RunCalls:
				w.fail("%T begins while the run is paused", fx)
			}
		}
		if a, ok := fx.(Abandon); ok {
			w.effects = slices.DeleteFunc(w.effects, func(x Effect) bool { return epochOf(x) == a.Epoch })
			continue
		}
		w.effects = append(w.effects, fx)
	}
	w.check()
	return nil
}

// watch keeps the books that the invariants are about.
func (w *world) watch(e cycle.Event) {
	switch e := e.(type) {
	case cycle.IterationBegan:
		for _, id := range e.Steers {
			w.steers[id]++
		}
	case cycle.IterationDropped:
		for _, id := range e.Steers {
			w.steers[id]--
		}
	case cycle.RunQueued:
		w.ran = append(w.ran, e.CycleID)
	}
}

func (w *world) check() {
	replayed := State{Phase: Idle}
	model := cycle.NewState(cycle.Policy{})
	if len(w.log)%17 == 0 { // the whole log, now and then
		for _, e := range w.log {
			replayed = replayed.Apply(e)
			model.Apply(e)
		}
		if !reflect.DeepEqual(replayed, w.state) {
			w.fail("replay differs from the live state:\n%+v\n%+v", replayed, w.state)
		}
		if a := model.Model().Anomalies; len(a) > 0 {
			w.fail("the log has anomalies: %+v", a)
		}
		if model.Active() != w.state.Active() {
			w.fail("the projection is active=%v, the machine %v", model.Active(), w.state.Active())
		}
	}
	for id, n := range w.steers {
		if n > 1 {
			w.fail("steer %s was read by %d model calls", id, n)
		}
	}
}

func epochOf(fx Effect) int {
	switch fx := fx.(type) {
	case Prepare:
		return fx.Epoch
	case CallModel:
		return fx.Epoch
	case RunCalls:
		return fx.Epoch
	case Wait:
		return fx.Epoch
	}
	return -1
}

// outcome lets one effect that is under way come to something.
func (w *world) outcome() {
	if len(w.effects) == 0 {
		return
	}
	i := w.rng.IntN(len(w.effects))
	fx := w.effects[i]
	w.effects = slices.Delete(w.effects, i, i+1)
	switch fx := fx.(type) {
	case AcquireSlot:
		w.must(SlotGranted{At: w.at, RunID: fx.RunID})
	case Prepare:
		if w.rng.IntN(12) == 0 {
			w.must(Failed{Epoch: fx.Epoch, Kind: "no_model", Message: "none"})
			return
		}
		w.must(Prepared{Epoch: fx.Epoch, Plan: cycle.PlanMade{RunID: fx.Run.ID, TurnID: fx.Run.TurnID, PlanID: w.id("plan")}})
	case CallModel:
		w.reply(fx)
	case Wait:
		w.must(RetryDue{Epoch: fx.Epoch})
	case RunCalls:
		c := fx.Calls[w.rng.IntN(len(fx.Calls))]
		rest := slices.DeleteFunc(slices.Clone(fx.Calls), func(x Call) bool { return x.ID == c.ID })
		if len(rest) > 0 {
			w.effects = append(w.effects, RunCalls{Epoch: fx.Epoch, Run: fx.Run, Calls: rest})
		}
		w.must(ToolDone{Epoch: fx.Epoch, Result: cycle.ToolResult{CallID: c.ID, Status: cycle.ResultOK, Text: fmt.Sprint(w.rng.IntN(3))}})
	}
}

func (w *world) reply(fx CallModel) {
	for range w.rng.IntN(3) {
		w.must(Output{Epoch: fx.Epoch, ID: w.id("o"), Kind: cycle.OutputAssistant, Text: "x"})
	}
	switch w.rng.IntN(8) {
	case 0:
		w.must(Failed{Epoch: fx.Epoch, Kind: "cut_off", Message: "cut", Retry: true, RetryIn: time.Second})
	case 1, 2:
		w.must(Replied{Epoch: fx.Epoch, Finish: "stop"})
	default:
		in := Replied{Epoch: fx.Epoch, Finish: "calls"}
		for range 1 + w.rng.IntN(3) {
			c := NewCall{ID: w.id("c"), Tool: "read", Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, w.rng.IntN(2)))}
			if w.rng.IntN(6) == 0 {
				c.Refusal = "no such tool"
			}
			in.Calls = append(in.Calls, c)
		}
		w.must(in)
	}
}

func (w *world) must(in Input) {
	w.t.Helper()
	if err := w.step(in); err != nil {
		w.fail("%T was rejected: %v", in, err)
	}
}

// person does something at a random moment.
func (w *world) person() {
	run := w.state.Run.ID
	switch w.rng.IntN(11) {
	case 10:
		w.goOn()
	case 0, 1, 2, 3:
		w.submit()
	case 4:
		_ = w.step(Pause{At: w.at, RunID: run})
	case 5, 6:
		_ = w.step(Resume{At: w.at, RunID: run})
	case 7:
		_ = w.step(Cancel{At: w.at, RunID: run})
	case 8:
		_ = w.step(Escalate{At: w.at, RunID: run, Model: "opus"})
	case 9:
		q := w.state.Queued()
		w.rng.Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
		if len(q) > 0 && w.rng.IntN(2) == 0 {
			w.removed[q[0].ID] = true
			q = q[1:]
		}
		w.must(EditQueue{At: w.at, Queue: q})
	}
}

// goOn takes up the run that the last crash cut off, or one that can't be.
func (w *world) goOn() {
	w.dying = 0 // what is checked here is about the state right after
	was := w.state.Interrupted
	id, turn, next := w.id("m"), w.id("t"), w.id("r")
	in := Continue{At: w.at, RunID: was, ID: id, TurnID: turn, NewRunID: next, Text: "go on", Model: "small", Max: 6, Submitted: cycle.Submitted{TurnID: turn}}
	active := w.state.Active()
	switch err := w.step(in); {
	case (err == nil) != (was != "" && len(w.state.Queue) <= QueueMax):
		w.fail("going on with %q: %v", was, err)
	case err != nil:
		return
	case w.state.Interrupted != "":
		w.fail("run %s was taken up and is still offered", was)
	case active && w.state.Queue[0].ID != id:
		w.fail("the continuation is not the next in the queue")
	case active:
		w.followUps = append(w.followUps, id)
	}
	if w.step(in) == nil {
		w.fail("run %s was taken up twice", was)
	}
}

func (w *world) submit() {
	id := w.id("m")
	d := []cycle.Delivery{cycle.DeliveryAuto, cycle.DeliverySteer, cycle.DeliveryFollowUp}[w.rng.IntN(3)]
	turn := w.id("t")
	ready, err := Step(w.state, Submit{ID: id, TurnID: turn, RunID: w.id("r"), Text: id, Delivery: d, Max: 6, Model: "small",
		Submitted: cycle.Submitted{TurnID: turn}})
	if err != nil {
		return
	}
	w.must(Submit{ID: id, TurnID: turn, RunID: ready.firstRun(w), Text: id, Delivery: d, Max: 6, Model: "small", Submitted: cycle.Submitted{TurnID: turn}})
	switch ready.Kind {
	case "steer":
		w.steers[id] += 0
	case "followUp":
		w.followUps = append(w.followUps, id)
	}
}

// firstRun reuses the run id that the trial made.
func (r ReadyTo) firstRun(w *world) string {
	for _, e := range r.Events {
		switch e := e.(type) {
		case cycle.RunQueued:
			return e.RunID
		case cycle.FollowUpQueued:
			return e.RunID
		}
	}
	return w.id("r")
}

// crash forgets everything but the log, and starts again.
func (w *world) crash() {
	w.dying = 0
	s := State{Phase: Idle}
	for _, e := range w.log {
		s = s.Apply(e)
	}
	w.state, w.effects = s, nil
	w.must(Recover{At: w.at})
}

// settle lets the run and all that waits come to an end.
func (w *world) settle() {
	for range 4000 {
		if !w.state.Active() && len(w.effects) == 0 {
			return
		}
		if w.state.Run.Paused {
			_ = w.step(Resume{At: w.at, RunID: w.state.Run.ID})
		}
		if len(w.effects) == 0 && w.state.Active() {
			w.fail("stuck in phase %s with nothing under way: %+v", w.state.Phase, w.state.Run)
		}
		w.outcome()
	}
	w.fail("the run does not end")
}

// simulate runs one schedule to its end and checks what must hold then.
func simulate(t testing.TB, seed uint64, steps int) {
	w := newWorld(t, seed)
	for range steps {
		w.at = w.at.Add(time.Second)
		switch n := w.rng.IntN(100); {
		case n < 70:
			w.outcome()
		case n < 97:
			w.person()
		case n < 98:
			w.crash()
		default:
			w.dying = 1 + w.rng.IntN(8)
		}
	}
	w.dying = 0
	w.settle()
	if len(w.state.Queue) > 0 {
		w.fail("%d follow-ups never ran", len(w.state.Queue))
	}
	w.checkFollowUps()
	w.checkSteers()
	w.checkCalls()
}

// checkFollowUps: each follow-up that was not removed ran exactly once.
func (w *world) checkFollowUps() {
	for _, id := range w.followUps {
		n := 0
		for _, r := range w.ran {
			if r == id {
				n++
			}
		}
		if want := 1; w.removed[id] && n > 0 || !w.removed[id] && n != want {
			w.fail("follow-up %s (removed: %v) ran %d times", id, w.removed[id], n)
		}
	}
}

// checkSteers: a steer was read once, or its cycle was stopped before.
func (w *world) checkSteers() {
	cycleOf, current, stops := map[string]string{}, "", map[string]cycle.StopReason{}
	for _, e := range w.log {
		switch e := e.(type) {
		case cycle.RunQueued:
			current = e.CycleID
		case cycle.UserMessage:
			cycleOf[e.ID] = current
		case cycle.RunStop:
			stops[current] = e.Reason
		}
	}
	for id, n := range w.steers {
		if n == 0 && stops[cycleOf[id]] == cycle.StopCompleted {
			w.fail("steer %s was dropped by cycle %s, which completed", id, cycleOf[id])
		}
	}
}

// checkCalls: every call has exactly one result, before the next model call.
func (w *world) checkCalls() {
	open := map[string]bool{}
	for _, e := range w.log {
		switch e := e.(type) {
		case cycle.AgentOutput:
			if e.Output == cycle.OutputToolCall {
				open[e.CallID] = true
			}
		case cycle.ToolResult:
			if !open[e.CallID] {
				w.fail("result for %s, which is not open", e.CallID)
			}
			delete(open, e.CallID)
		case cycle.PlanMade, cycle.RunStop:
			if len(open) > 0 {
				w.fail("%s while calls are open: %v", e.Type(), open)
			}
		}
	}
}

// Invariants RUN-1 to RUN-7 over many schedules.
func TestSimulation(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 400
	}
	for seed := range uint64(n) {
		simulate(t, seed, 60)
	}
	t.Logf("%d schedules of 60 moments", n)
}

// RUN-5, exhaustively: a steer at every moment of a run, for many runs. It is
// read by one model call, or stays in its cycle when that did not complete.
func TestSteerAtEveryMoment(t *testing.T) {
	const runs, moments = 200, 40
	n := 0
	for seed := range uint64(runs) {
		for at := range moments {
			w := newWorld(t, seed)
			turn := w.id("t")
			w.must(Submit{ID: "root", TurnID: turn, RunID: "run", Max: 6, Model: "small", Submitted: cycle.Submitted{TurnID: turn}})
			for range at {
				w.outcome()
			}
			if w.state.Run.ID != "run" {
				break // it is over by then
			}
			w.must(Submit{ID: "steer", TurnID: w.id("t"), RunID: w.id("r"), Delivery: cycle.DeliverySteer, Max: 6, Model: "small"})
			w.steers["steer"] += 0
			w.settle()
			w.checkSteers()
			n++
		}
	}
	t.Logf("%d steers, each at a moment of its own", n)
}

func FuzzStep(f *testing.F) {
	f.Add(uint64(1), 40)
	f.Fuzz(func(t *testing.T, seed uint64, steps int) {
		if steps < 0 || steps > 300 {
			return
		}
		simulate(t, seed, steps)
	})
}
