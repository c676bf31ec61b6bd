package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

// A conductor drives a timeline in the order of a recording. The effects run as
// they always do and their outcomes come as inputs, but which input is next is
// what the recording says: the one that makes the next recorded event. What the
// person did is done again by the conductor. Since Step is pure, every input
// can be tried without carrying it out.
type conductor struct {
	w       *tape
	t       *timeline
	waiting []request // inputs whose turn has not come
	asked   int       // the place at which the person's message or control was sent again
	out     drive
}

// drive is what came of driving a run.
type drive struct {
	events  []cycle.Event
	differ  []Difference
	stopped string // why it did not come to the recording's end; "" if it did
}

// stallAfter is how long nothing that fits may come before a replay gives up:
// nobody tells that an outcome will never come.
const (
	stallAfter  = 20 * time.Second
	unlikeAfter = 3 * time.Second // when a recording is made anew: then what isn't in it counts too
)

func (w *tape) drive(t *timeline) {
	defer t.e.running.Done()
	defer close(t.done)
	c := &conductor{w: w, t: t, asked: -1}
	c.conduct()
	w.result = c.out
	close(w.drove)
	<-t.e.closing
	for _, ep := range t.epochs {
		ep.cancel()
	}
}

// conduct takes inputs until the recording's end.
func (c *conductor) conduct() {
	select {
	case req := <-c.t.inbox: // the first one takes stock of the log, as after every start
		c.t.handle(req)
	case <-c.t.e.closing:
		return
	}
	select {
	case <-c.w.known: // the engine finds the branch now
	case <-c.t.e.closing:
		return
	}
	patience := stallAfter
	if c.w.loose {
		patience = unlikeAfter
	}
	stall := time.NewTimer(patience)
	defer stall.Stop()
	for c.w.at < len(c.w.want) {
		if req, ok := c.turn(); ok {
			if !c.carryOut(req) {
				return
			}
			stall.Reset(patience)
			continue
		}
		select {
		case req := <-c.t.inbox:
			c.waiting = append(c.waiting, req)
		case <-c.t.e.closing:
			c.out.stopped = "it was cancelled"
			return
		case <-stall.C:
			if c.w.loose {
				c.unlike()
				stall.Reset(patience)
				continue
			}
			c.out.stopped = fmt.Sprintf("event %d, %s, did not come again%s", c.w.at+1, c.w.want[c.w.at].Type(), c.instead())
			return
		}
	}
}

// turn is the input whose turn it is, if it has come.
func (c *conductor) turn() (request, bool) {
	want := c.w.want[c.w.at]
	near := -1
	for i, req := range c.waiting {
		events, effects := c.try(req)
		switch {
		case len(events) == 0 && effects > 0: // it only lets others begin
			return c.take(i), true
		case len(events) == 0:
			continue
		case sameEvent(events[0], want):
			return c.take(i), true
		}
		if near < 0 && c.keyOf(events[0]) == c.keyOf(want) {
			near = i
		}
	}
	if req, ok := c.person(want); ok {
		return req, true
	}
	if near >= 0 {
		return c.take(near), true
	}
	return request{}, false
}

// instead says what came that the recording does not have there.
func (c *conductor) instead() string {
	out := ""
	for _, req := range c.waiting {
		if events, _ := c.try(req); len(events) > 0 {
			out += ", " + events[0].Type()
		}
	}
	if out == "" {
		return ""
	}
	return "; what came instead: " + out[2:]
}

func (c *conductor) take(i int) request {
	req := c.waiting[i]
	c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
	return req
}

// try is the events that an input would make, and how many effects.
func (c *conductor) try(req request) (events []cycle.Event, effects int) {
	in, extra := req.input, []cycle.Event(nil)
	if req.with != nil {
		var err error
		if in, extra, err = req.with(c.t.state); err != nil {
			return nil, 0
		}
	}
	if in == nil {
		return extra, 0
	}
	ready, err := run.Step(c.t.state, in)
	if err != nil {
		return nil, 0
	}
	return append(ready.Events, extra...), len(ready.Effects)
}

// person does again what the person, or the process, did: an input that is
// there at once, or a call to the engine whose input comes by itself.
func (c *conductor) person(want cycle.Event) (request, bool) {
	e, t := c.t.e, c.t
	switch want := want.(type) {
	case cycle.Submitted:
		if want.Continues == "" {
			return request{input: c.message(want)}, true
		}
		if c.asked != c.w.at {
			c.asked = c.w.at
			c.goOn(want)
		}
		return request{}, false
	case cycle.FollowUpQueued:
		return request{input: run.Submit{At: e.now(), ID: want.ID, TurnID: want.TurnID, RunID: want.RunID, Text: want.Text, Delivery: cycle.DeliveryFollowUp, Submitted: want.Submitted}}, true
	case cycle.UsageReported: // of a call beside the conversation, whose answer is in the recording
		return fact(want), want.Call == 0 && want.PlanID == ""
	case cycle.SubtaskStepped, cycle.ControlDone, cycle.CommandAnswered, cycle.SettingChanged, cycle.PinChanged, cycle.BranchForked:
		return fact(want), true
	case cycle.TurnDone:
		return fact(want), want.RunID != c.w.rec.RunID
	case cycle.QueueChanged:
		return request{input: run.EditQueue{At: e.now(), Queue: want.Queue}}, true
	}
	id := t.state.Run.ID
	for _, in := range []run.Input{run.Pause{At: e.now(), RunID: id}, run.Resume{At: e.now(), RunID: id}, c.cancel(id), c.escalate(id), run.Recover{At: e.now()}} {
		events, _ := c.try(request{input: in})
		if len(events) == 0 || !c.wants(events) {
			continue
		}
		if done, ok := c.after(len(events)).(cycle.ControlDone); ok && c.asked != c.w.at {
			c.asked = c.w.at
			c.control(done, in)
			return request{}, false
		}
		if c.asked == c.w.at { // it comes by itself
			return request{}, false
		}
		if _, crash := in.(run.Recover); crash {
			c.crash()
		}
		return request{input: in}, true
	}
	return request{}, false
}

func fact(e cycle.Event) request {
	return request{with: func(run.State) (run.Input, []cycle.Event, error) { return nil, []cycle.Event{e}, nil }}
}

// after is the recorded event n places on, nil past the end.
func (c *conductor) after(n int) cycle.Event {
	if c.w.at+n >= len(c.w.want) {
		return nil
	}
	return c.w.want[c.w.at+n]
}

// wants tells whether the recording goes on with these events.
func (c *conductor) wants(events []cycle.Event) bool {
	for i, e := range events {
		want := c.after(i)
		if want == nil || !sameEvent(e, want) {
			return false
		}
	}
	return true
}

// cancel is a cancel with the message of the stop that comes next.
func (c *conductor) cancel(id string) run.Cancel {
	in := run.Cancel{At: c.t.e.now(), RunID: id}
	if s, ok := c.w.next(isStop).(cycle.RunStop); ok {
		in.Message = s.Message
	}
	return in
}

func isStop(e cycle.Event) bool { _, ok := e.(cycle.RunStop); return ok }

// escalate is an escalation to the model that the recording names.
func (c *conductor) escalate(id string) run.Escalate {
	in := run.Escalate{At: c.t.e.now(), RunID: id}
	if e, ok := c.after(0).(cycle.RunEscalated); ok {
		in.Model, in.Reason = e.New, e.Reason
	}
	return in
}

// crash forgets what a process forgets when it ends.
func (c *conductor) crash() {
	for n, ep := range c.t.epochs {
		ep.cancel()
		delete(c.t.epochs, n)
	}
	c.waiting = nil
	c.t.mu.Lock()
	c.t.prompts, c.t.sent = map[string][]model.Message{}, map[string]bool{}
	c.t.mu.Unlock()
}

// background calls the engine as a client does; the input comes by the inbox.
func (c *conductor) background(f func(context.Context)) {
	e := c.t.e
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		f(e.base)
	}()
}

// message is a recorded message as it came to the machine.
func (c *conductor) message(sub cycle.Submitted) run.Submit {
	in := run.Submit{At: c.t.e.now(), ID: sub.MessageID, TurnID: sub.TurnID, Submitted: sub, Model: c.w.rec.Model, Max: c.w.rec.Max, IssueID: sub.IssueID}
	for i := 1; i <= messageEvents; i++ {
		switch e := c.after(i).(type) {
		case cycle.Classified:
			in.Classified = &e
		case cycle.UserMessage:
			in.Text, in.Delivery = e.Text, e.Delivery
			if q, ok := c.after(i + 1).(cycle.RunQueued); ok {
				in.RunID, in.Model, in.Max = q.RunID, q.Model, q.Max
			}
			return in
		}
	}
	return in
}

// messageEvents is how many events at most a message is written down with.
const messageEvents = 4

// goOn takes an interrupted run up again, as the control did that the recording
// has next.
func (c *conductor) goOn(sub cycle.Submitted) {
	done, _ := c.w.next(func(e cycle.Event) bool { _, ok := e.(cycle.ControlDone); return ok }).(cycle.ControlDone)
	c.background(func(ctx context.Context) {
		c.t.e.Control(ctx, nobody{}, requestOf(done, commandResume, sub.Continues, nil))
	})
}

// control sends a recorded control again.
func (c *conductor) control(done cycle.ControlDone, in run.Input) {
	var command string
	payload := map[string]string{}
	switch in := in.(type) {
	case run.Pause:
		command = commandPause
	case run.Resume:
		command = commandResume
	case run.Cancel:
		command = commandCancel
	case run.Escalate:
		command = commandEscalate
		payload["model"] = in.Model
		if in.Reason != "" {
			payload["reason"] = in.Reason
		}
	}
	raw := requestOf(done, command, c.t.state.Run.ID, payload)
	c.background(func(ctx context.Context) { c.t.e.Control(ctx, nobody{}, raw) })
}

// requestOf is the REQUEST that a RESULT answers.
func requestOf(done cycle.ControlDone, command, runID string, payload map[string]string) json.RawMessage {
	var was controlMessage
	_ = json.Unmarshal(done.Result, &was) // our own message
	if payload == nil {
		payload = map[string]string{}
	}
	body, _ := json.Marshal(payload) // strings always can
	was.Type, was.RequestID, was.Command, was.Target.RunID, was.Payload = "REQUEST", done.RequestID, command, runID, body
	was.Timestamp = done.Time.UTC().Format(time.RFC3339)
	raw, _ := json.Marshal(was) // so can this
	return raw
}

// carryOut carries an input out and compares what it made. It is false when
// the replay can't go on from there.
func (c *conductor) carryOut(req request) bool {
	events := c.t.handle(req)
	if c.w.loose {
		c.renew(events)
		return true
	}
	for i, e := range events {
		want := c.after(i)
		if want == nil { // the recording ends within what was written at once
			break
		}
		c.out.events = append(c.out.events, e)
		if sameEvent(e, want) {
			continue
		}
		c.out.differ = append(c.out.differ, eventDifference(c.w.at+i+1, want, e))
		if e.Type() != want.Type() {
			c.out.stopped = fmt.Sprintf("event %d is %s, not %s", c.w.at+i+1, e.Type(), want.Type())
			return false
		}
	}
	c.w.mu.Lock()
	c.w.at += len(events)
	c.w.mu.Unlock()
	return true
}

// unlike goes on where the program does other things than when it was recorded:
// what waits and isn't in the rest of the recording is carried out, and where
// there is no such thing, the event that does not come is passed over.
func (c *conductor) unlike() {
	rest := c.w.want[c.w.at:]
	for i, req := range c.waiting {
		events, _ := c.try(req)
		if len(events) > 0 && !slices.ContainsFunc(rest, func(e cycle.Event) bool { return sameEvent(e, events[0]) }) {
			c.renew(c.t.handle(c.take(i)))
			return
		}
	}
	c.w.mu.Lock()
	c.w.at++
	c.w.mu.Unlock()
}

// renew takes events into a recording that is made anew.
func (c *conductor) renew(events []cycle.Event) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	for _, e := range events {
		if was := c.after(0); was != nil && was.Type() == e.Type() {
			c.w.at++
			if sameEvent(was, e) {
				e = was // with its times: where nothing changed, no byte does
			}
		}
		c.out.events = append(c.out.events, e)
	}
}

// keyOf tells which event of the recording another may be meant to be.
func (c *conductor) keyOf(e cycle.Event) string {
	key := e.Type()
	switch e := e.(type) {
	case cycle.ToolResult:
		key += e.CallID
	case cycle.PermissionAsked:
		key += e.CallID
	case cycle.PermissionAnswered:
		key += e.CallID
	case cycle.UsageReported:
		key += strconv.Itoa(e.Call)
		if e.Call == 0 && !c.w.loose { // of summaries, several of which may be under way
			key += e.PlanID
		}
	}
	return key
}

// timeless is an event as JSON without its times and durations.
func timeless(e cycle.Event) (map[string]any, error) {
	line, err := cycle.Encode(e)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(line, &m); err != nil {
		return nil, err
	}
	for _, f := range []string{"time", "ms", "firstMs"} {
		delete(m, f)
	}
	inside := func(name string, f func(map[string]any)) {
		if x, ok := m[name].(map[string]any); ok {
			x = maps.Clone(x)
			f(x)
			m[name] = x
		}
	}
	inside("submitted", func(x map[string]any) { delete(x, "time") })
	switch e.(type) {
	case cycle.ControlDone:
		inside("result", func(x map[string]any) { delete(x, "timestamp") })
	case cycle.TurnDone:
		inside("response", func(x map[string]any) {
			delete(x, "executionTime")
			if meta, ok := x["metadata"].(map[string]any); ok {
				delete(meta, "agentProcessingTime")
			}
		})
	}
	return m, nil
}

// sameEvent compares two events but for their times.
func sameEvent(a, b cycle.Event) bool {
	if a.Type() != b.Type() {
		return false
	}
	x, errX := timelessBytes(a)
	y, errY := timelessBytes(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func timelessBytes(e cycle.Event) ([]byte, error) {
	m, err := timeless(e)
	if err != nil {
		return nil, err
	}
	return json.Marshal(m)
}
