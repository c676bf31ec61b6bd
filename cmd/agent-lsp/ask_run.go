package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// ask is one question under way. One goroutine, the one that calls run, owns
// all of it; others hand it work through post.
type ask struct {
	cmd      askCmd
	s        streams
	root     string
	question string
	pal      palette

	ctx    context.Context // of the calls to the server
	cancel context.CancelFunc
	child  *child
	client *rpc.Client

	mu   sync.Mutex
	mail []func()
	wake chan struct{} // capacity 1
	sigs chan os.Signal

	tty    *terminal // nil where nobody can be asked
	screen *screen   // nil where nothing is redrawn
	scroll scroll
	line   typing
	prompt *prompt // what the person is asked now
	ahead  []rune  // typed before the next question of a review came
	notice string  // the latest line of telemetry
	ticks  int

	index   agent.IndexStatus
	follow  followed
	asked   []*question
	refused []refusal

	interrupts int
	concluding bool // the run is over: an interrupt ends the review
	stop       *stopping
}

// Times of the loop.
const (
	tickEvery  = 200 * time.Millisecond // the clock in the last row
	frameEvery = 33 * time.Millisecond  // redraws, at most
	goodbye    = 3 * time.Second        // for the server's answer to shutdown
)

var errInterrupted = exitError(exitInterrupted)

// newAsk starts the server. close the ask, also when it could not be made whole.
func newAsk(c askCmd, s streams) (*ask, error) {
	dir, input, err := c.check(s.in)
	if err != nil {
		return nil, err
	}
	a := &ask{cmd: c, s: s, root: dir, question: input, wake: make(chan struct{}, 1), sigs: make(chan os.Signal, 4), follow: newFollowed()}
	a.pal = palette{on: !c.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(s.out), ascii: c.ASCII}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	if a.child, err = startChild(dir); err != nil {
		a.cancel()
		return nil, err
	}
	signal.Notify(a.sigs, os.Interrupt, syscall.SIGTERM)
	if !c.JSON {
		if a.tty = openTerminal(s.in, s.out); a.tty != nil {
			a.screen = &screen{out: s.out, size: a.tty.size, mark: a.pal.sign("…", "...")}
			go readKeys(s.in, func(k rune) { a.post(func() { a.key(k) }) })
		} else if c.Question != nil && terminalReader(s.in) {
			go readLines(s.in, func(l string) { a.post(func() { a.add(l) }) })
		}
	}
	a.client = rpc.Dial(a.child, rpc.Handlers{
		Cycle:      func(n agent.CycleNotification) { a.post(func() { a.cycle(n) }) },
		Stream:     func(c agent.StreamChunk) { a.post(func() { a.chunk(c) }) },
		Index:      func(s agent.IndexStatus) { a.post(func() { a.index = s }) },
		Control:    func(m protocol.ControlMessage) { a.post(func() { a.control(m) }) },
		Permission: a.permission,
	})
	return a, nil
}

// close ends the server and gives the terminal back.
func (a *ask) close() {
	signal.Stop(a.sigs)
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	err := a.client.Close(ctx) // a server that doesn't answer is ended by wait
	cancel()
	a.cancel()
	a.child.wait(err == nil)
	if a.tty != nil {
		a.tty.restore()
	}
}

// post hands work to the goroutine that owns the ask. It never blocks: what
// comes from the server is bounded there, what comes from the person by hand.
func (a *ask) post(f func()) {
	a.mu.Lock()
	a.mail = append(a.mail, f)
	a.mu.Unlock()
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// until works and draws until done says so, the server is gone, or the person
// wants out.
func (a *ask) until(done func() bool) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	var drawn time.Time
	var frame <-chan time.Time
	for {
		a.mu.Lock()
		mail := a.mail
		a.mail = nil
		a.mu.Unlock()
		for _, f := range mail {
			f()
		}
		if a.interrupts > 1 || a.interrupts > 0 && (a.concluding || a.follow.turn == "") {
			a.draw()
			return errInterrupted
		}
		if done() {
			a.draw()
			return nil
		}
		if wait := frameEvery - time.Since(drawn); wait > 0 {
			frame = time.After(wait)
		} else {
			a.draw()
			drawn, frame = time.Now(), nil
		}
		select {
		case <-a.wake:
		case <-frame:
		case <-tick.C:
			a.ticks++
			a.overdue(time.Now())
		case <-a.sigs:
			a.interrupt()
		case <-a.client.Done():
			return a.gone()
		}
	}
}

// gone says why the server went away.
func (a *ask) gone() error {
	why := a.child.stderr.String()
	if why == "" && a.client.Err() != nil {
		why = a.client.Err().Error()
	}
	if why == "" {
		why = "it ended without a word"
	}
	return fmt.Errorf("the server is gone: %s\nwhat was done so far is kept; agent-lsp ask --continue goes on with it", why)
}

// await makes a call while everything else goes on.
func await[R any](a *ask, call func(context.Context) (R, error)) (R, error) {
	var result R
	var err error
	done := false
	go func() {
		r, e := call(a.ctx)
		a.post(func() { result, err, done = r, e, true })
	}()
	if e := a.until(func() bool { return done }); e != nil {
		return result, e
	}
	return result, explain(err)
}

// explain puts the server's hint behind its message.
func explain(err error) error {
	var e *agent.Error
	if errors.As(err, &e) && e.Hint != "" {
		return fmt.Errorf("%s\n%s", e.Message, e.Hint)
	}
	return err
}

// run is the whole of it.
func (a *ask) run() error {
	if err := a.greet(); err != nil {
		return err
	}
	if err := a.openSession(); err != nil {
		return err
	}
	if a.question == "" {
		return a.reviewPending()
	}
	answered, err := a.submit()
	if err != nil || answered {
		return err
	}
	if err := a.until(a.finished); err != nil {
		return err
	}
	return a.conclude()
}

// greet does the handshake and waits for the index.
func (a *ask) greet() error {
	hello := rpc.Hello{Name: "ask", Version: version, RootURI: string(uri.File(a.root)), Permission: true}
	if s := a.cmd.settings(); len(s) > 0 {
		hello.Settings = s
	}
	if _, err := await(a, func(ctx context.Context) (*protocol.ServerOffer, error) { return a.client.Hello(ctx, hello) }); err != nil {
		return err
	}
	status, err := await(a, func(ctx context.Context) (*agent.StatusResult, error) {
		return a.client.Status(ctx, &agent.SessionRef{})
	})
	if err != nil {
		return err
	}
	if a.index.State == "" {
		a.index = status.Index
	}
	begun, silent := time.Now(), a.screen == nil && !a.cmd.JSON
	err = a.until(func() bool {
		if silent && a.index.State == indexing && time.Since(begun) > patience {
			fmt.Fprintln(a.s.err, "indexing the folder; the first time takes longest")
			silent = false
		}
		return a.index.State != indexing
	})
	if err != nil {
		return err
	}
	if a.index.State == "degraded" {
		a.say("the index is incomplete: " + a.index.Message)
	}
	return nil
}

const indexing = "indexing"

// patience is how long a terminal without a screen of its own waits for the
// index before it is told why.
const patience = time.Second

// openSession finds or makes the session, and takes its present state.
func (a *ask) openSession() error {
	ref := agent.SessionRef{SessionID: a.cmd.Session}
	if a.cmd.Session == "" && !a.cmd.Continue {
		s, err := await(a, func(ctx context.Context) (*agent.SessionInfo, error) {
			return a.client.SessionNew(ctx, &agent.SessionNewParams{})
		})
		if err != nil {
			return err
		}
		ref.SessionID = s.SessionID
	}
	r, err := await(a, func(ctx context.Context) (*agent.CyclesResult, error) {
		return a.client.Cycles(ctx, &agent.CyclesParams{SessionRef: ref, View: "all"})
	})
	if err != nil {
		return err
	}
	return a.follow.begin(r)
}

// submit sends the question. answered is true when the answer came with it and
// nothing was begun by it.
func (a *ask) submit() (answered bool, err error) {
	p := a.message(a.question)
	a.follow.begun = time.Now()
	r, err := await(a, func(ctx context.Context) (*agent.SubmitResult, error) { return a.client.Submit(ctx, p) })
	if err != nil {
		return false, err
	}
	if r.Response == nil {
		a.follow.sent(r)
		return false, nil
	}
	if a.cmd.JSON {
		err = a.printReport(report{Response: r.Response, Edits: []fileEdits{}, PlanIDs: []string{}, RetrievalSetIDs: []string{}, Usage: usage{Calls: []agent.UsageReport{}}})
	} else {
		a.print(cleanRows(r.Response.Content)...)
	}
	if err == nil && !r.Response.Success {
		err = exitError(exitFailed)
	}
	if err != nil || a.cmd.JSON {
		return true, err
	}
	begun, err := a.begunByCommand()
	return !begun, err
}

// begunByCommand tells whether a state command began a turn, as the approval of
// a workflow does; then that is the turn to follow.
func (a *ask) begunByCommand() (bool, error) {
	f := &a.follow
	f.syncing = true // deltas wait until the whole is there
	r, err := await(a, func(ctx context.Context) (*agent.CyclesResult, error) {
		return a.client.Cycles(ctx, &agent.CyclesParams{SessionRef: a.ref(), View: "all"})
	})
	if err == nil {
		err = f.take(r)
	}
	if err != nil {
		return false, err
	}
	a.caughtUp()
	c, meta, ok := f.last()
	if !ok || meta.TurnID == "" {
		return false, nil
	}
	f.sent(&agent.SubmitResult{TurnID: meta.TurnID, RunID: meta.RunID, CycleID: c.ID})
	return true, nil
}

// message is what the person says, as the server takes it.
func (a *ask) message(input string) *agent.SubmitParams {
	p := &agent.SubmitParams{Input: input, SessionID: a.follow.session, BranchID: a.follow.branch, Source: "ask", ClientRequestID: uuid.NewString(), Model: a.cmd.Model, Allow: a.cmd.allow()}
	if a.cmd.NoEdits {
		p.Edits = "hold"
	}
	if len(a.cmd.Scope) > 0 {
		p.Focus = &agent.Focus{Scope: a.cmd.Scope}
	}
	return p
}

// add sends what the person typed while a run goes on.
func (a *ask) add(line string) {
	if line == "" || a.follow.turn == "" {
		return
	}
	p := a.message(line)
	p.Delivery = "steer"
	if a.cmd.FollowUp {
		p.Delivery = "followUp"
	}
	go func() {
		r, err := a.client.Submit(a.ctx, p)
		a.post(func() {
			switch {
			case err != nil:
				a.say("not sent: " + explain(err).Error())
			case r.Response != nil:
				a.print(cleanRows(r.Response.Content)...)
			default:
				a.follow.sent(r)
			}
		})
	}()
}

// key takes a key of the person's terminal.
func (a *ask) key(k rune) {
	switch {
	case k == keyInterrupt:
		a.interrupt()
	case a.prompt != nil:
		a.prompt.key(k)
	case a.concluding:
		a.ahead = append(a.ahead, k)
	default:
		if line, whole := a.line.key(k); whole {
			a.add(line)
		}
	}
}

// stopping is a cancel request that was sent.
type stopping struct {
	message protocol.ControlMessage
	sent    time.Time
	again   bool
	heard   bool
}

// controlWait is how long a control waits for its ACK; then it is sent once more.
const controlWait = 30 * time.Second

// interrupt is Ctrl-C: the first one cancels the run, the second one leaves.
func (a *ask) interrupt() {
	if a.interrupts++; a.interrupts > 1 {
		a.child.kill()
	}
	if a.interrupts > 1 || a.concluding || a.follow.run == "" {
		return
	}
	a.follow.onlyCurrent()
	a.stop = &stopping{sent: time.Now(), message: protocol.ControlMessage{
		Type: protocol.ControlRequest, RequestID: uuid.NewString(), Command: protocol.CommandCancel,
		Target: protocol.ControlTarget{RunID: a.follow.run}, Timestamp: time.Now().UTC().Format(time.RFC3339),
	}}
	a.sendStop()
}

func (a *ask) sendStop() {
	m := a.stop.message
	go func() { _ = a.client.Control(a.ctx, m) }() // a lost one is sent again, a lost server is noticed
}

// overdue sends a cancel again that nobody has heard, and says so when that
// doesn't help.
func (a *ask) overdue(now time.Time) {
	a.follow.closeLate(now, a)
	s := a.stop
	if s == nil || s.heard || now.Sub(s.sent) < controlWait {
		return
	}
	if s.again {
		s.heard = true
		a.say("the server doesn't react to the cancel; Ctrl-C once more ends it")
		return
	}
	s.again, s.sent = true, now
	a.sendStop()
}

// control takes an answer on loop:control.
func (a *ask) control(m protocol.ControlMessage) {
	if a.stop == nil || m.RequestID != a.stop.message.RequestID {
		return
	}
	a.stop.heard = true
	if m.Type == protocol.ControlResult && m.Payload.Status == "failure" && m.Payload.Code != "not_found" {
		a.say("the run could not be cancelled: " + m.Payload.Message)
	}
}
