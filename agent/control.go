package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

// Control messages, as they go over the topic loop:control.
const (
	topicControl    = "loop:control"
	controlSchema   = 0
	dedupWindow     = 5 * time.Minute
	dedupMax        = 10_000 // remembered requests; the oldest give way
	requestIDMax    = 128    // bytes
	statusSuccess   = "success"
	statusFailure   = "failure"
	codeDuplicate   = "duplicate"
	commandPause    = "pause"
	commandResume   = "resume"
	commandCancel   = "cancel"
	commandEscalate = "escalate"
)

// controlMessage is a REQUEST, ACK or RESULT.
type controlMessage struct {
	Schema    int             `json:"schema"`
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Command   string          `json:"command"`
	Target    controlTarget   `json:"target"`
	Timestamp string          `json:"timestamp"`
	Payload   json.RawMessage `json:"payload"`
}

type controlTarget struct {
	RunID   string `json:"run_id"`
	IssueID string `json:"issue_id,omitempty"`
}

type controlResult struct {
	Status        string `json:"status"`
	Code          string `json:"code,omitempty"`
	Message       string `json:"message,omitempty"`
	Iteration     int    `json:"iteration,omitempty"`
	PreviousModel string `json:"previous_model,omitempty"`
	NewModel      string `json:"new_model,omitempty"`
	RunID         string `json:"run_id,omitempty"` // resume of an interrupted run: the one that goes on
}

// desk remembers control requests: in flight, or with their RESULT.
type desk struct {
	mu    sync.Mutex
	seen  map[string]*deskEntry
	order []string
}

type deskEntry struct {
	at     time.Time
	result json.RawMessage // nil while in flight
}

func newDesk() *desk { return &desk{seen: map[string]*deskEntry{}} }

// admit tells what is known of a request: nothing (it is in flight from now
// on), that it is in flight, or its RESULT.
func (d *desk) admit(id string, now time.Time) (result json.RawMessage, inFlight bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.order) > 0 {
		oldest := d.order[0]
		e := d.seen[oldest]
		if e != nil && len(d.order) <= dedupMax && now.Sub(e.at) < dedupWindow {
			break
		}
		delete(d.seen, oldest)
		d.order = d.order[1:]
	}
	if e, ok := d.seen[id]; ok {
		return e.result, e.result == nil
	}
	d.put(id, &deskEntry{at: now})
	return nil, false
}

func (d *desk) put(id string, e *deskEntry) {
	d.seen[id] = e
	d.order = append(d.order, id)
}

func (d *desk) settle(id string, result json.RawMessage, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e, ok := d.seen[id]; ok {
		e.result, e.at = result, now
		return
	}
	d.put(id, &deskEntry{at: now, result: result})
}

// Control takes a REQUEST: ACK at once, then exactly one RESULT, which is in
// the store before it is sent.
func (e *Engine) Control(ctx context.Context, from Client, raw json.RawMessage) {
	msg, fault := parseControl(raw)
	reply := func(kind string, payload any) json.RawMessage {
		body, err := json.Marshal(payload)
		if err != nil {
			e.bug(err)
			return nil
		}
		out := msg
		out.Schema, out.Type, out.Timestamp, out.Payload = controlSchema, kind, e.now().UTC().Format(time.RFC3339), body
		b, err := json.Marshal(out)
		if err != nil {
			e.bug(err)
			return nil
		}
		return b
	}
	if fault != "" {
		from.Loop(topicControl, reply("RESULT", controlResult{Status: statusFailure, Code: string(CodeBadRequest), Message: fault}))
		return
	}
	cached, inFlight := e.desk.admit(msg.RequestID, e.now())
	switch {
	case cached != nil:
		from.Loop(topicControl, cached)
		return
	case inFlight:
		from.Loop(topicControl, reply("RESULT", controlResult{Status: statusFailure, Code: codeDuplicate, Message: "the request " + msg.RequestID + " is being carried out"}))
		return
	}
	t := e.timelineOfRun(msg.Target.RunID, msg.Command)
	if t == nil {
		result := reply("RESULT", controlResult{Status: statusFailure, Code: string(CodeNotFound), Message: fmt.Sprintf("Run %s is not active", msg.Target.RunID)})
		e.desk.settle(msg.RequestID, result, e.now())
		from.Loop(topicControl, result)
		return
	}
	from.Loop(topicControl, reply("ACK", struct{}{}))
	e.carryOut(ctx, t, msg, from, func(r controlResult) json.RawMessage { return reply("RESULT", r) })
}

// parseControl reads a REQUEST; the fault names the field that is wrong. What
// could be read is echoed in the answer.
func parseControl(raw json.RawMessage) (controlMessage, string) {
	var m controlMessage
	var fields map[string]json.RawMessage
	m.Payload = json.RawMessage("{}")
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return m, "the message must be a JSON object"
	}
	fault := ""
	read := func(name string, into any) {
		v, ok := fields[name]
		switch {
		case !ok && fault == "":
			fault = "missing field " + name
		case ok && json.Unmarshal(v, into) != nil && fault == "":
			fault = "field " + name + " has the wrong type"
		}
	}
	var schema json.Number
	read("request_id", &m.RequestID)
	read("command", &m.Command)
	var target *controlTarget
	read("target", &target)
	if target != nil {
		m.Target = *target
	}
	read("type", &m.Type)
	read("schema", &schema)
	read("timestamp", &m.Timestamp)
	var payload map[string]json.RawMessage
	read("payload", &payload)
	if fault != "" {
		return m, fault
	}
	m.Payload = fields["payload"]
	switch {
	case schema.String() != "0":
		fault = "field schema must be 0"
	case m.Type != "REQUEST":
		fault = "field type must be REQUEST"
	case m.RequestID == "" || len(m.RequestID) > requestIDMax:
		fault = "field request_id must have 1 to 128 bytes"
	case target == nil || m.Target.RunID == "":
		fault = "missing field target.run_id"
	case payload == nil:
		fault = "field payload must be an object"
	case !validTime(m.Timestamp):
		fault = "field timestamp must be an ISO 8601 time"
	}
	switch m.Command {
	case commandPause, commandResume, commandCancel, commandEscalate:
	default:
		if fault == "" {
			fault = fmt.Sprintf("field command must be pause, resume, cancel or escalate, not %q", m.Command)
		}
	}
	return m, fault
}

func validTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	return err == nil
}

// carryOut hands a control to the run's timeline. The RESULT is in the same
// transaction as what it tells of, and goes out before any event that it causes.
func (e *Engine) carryOut(ctx context.Context, t *timeline, msg controlMessage, from Client, reply func(controlResult) json.RawMessage) {
	var result json.RawMessage
	fail := func(err error) {
		r := controlResult{Status: statusFailure, Code: string(CodeInvalidState), Message: err.Error()}
		var ae *Error
		if asError(err, &ae) {
			r.Code, r.Message = string(ae.Code), ae.Message
		}
		result = reply(r)
		e.desk.settle(msg.RequestID, result, e.now())
		from.Loop(topicControl, result)
	}
	if msg.Command == commandResume && t.isInterrupted(msg.Target.RunID) {
		if err := e.goOn(ctx, t, msg, from, reply); err != nil {
			fail(err)
		}
		return
	}
	escalateTo, err := e.escalation(ctx, msg)
	if err != nil {
		fail(err)
		return
	}
	_, err = t.send(ctx, request{
		with: func(s run.State) (run.Input, []cycle.Event, error) {
			in, ok := controlInput(msg, escalateTo, e.now())
			ready, err := run.Step(s, in)
			if err != nil {
				return nil, nil, toError(err)
			}
			ok.Iteration = ready.Before
			if msg.Command == commandEscalate {
				ok.PreviousModel, ok.NewModel = s.Run.Model, escalateTo
			}
			ok.Message = controlWords(msg.Command, ok)
			result = reply(ok)
			return in, []cycle.Event{cycle.ControlDone{RequestID: msg.RequestID, Result: result, Time: e.now()}}, nil
		},
		answer: func(_ run.ReadyTo, err error) {
			if err == nil {
				e.desk.settle(msg.RequestID, result, e.now())
				from.Loop(topicControl, result)
			}
		},
	})
	if err != nil {
		fail(err)
	}
}

func controlInput(msg controlMessage, escalateTo string, now time.Time) (run.Input, controlResult) {
	id, ok := msg.Target.RunID, controlResult{Status: statusSuccess}
	switch msg.Command {
	case commandPause:
		return run.Pause{At: now, RunID: id}, ok
	case commandResume:
		return run.Resume{At: now, RunID: id}, ok
	case commandCancel:
		return run.Cancel{At: now, RunID: id}, ok
	}
	var p struct{ Model, Reason string }
	_ = json.Unmarshal(msg.Payload, &p) // its shape was checked by escalation
	return run.Escalate{At: now, RunID: id, Model: escalateTo, Reason: p.Reason}, ok
}

func controlWords(command string, r controlResult) string {
	switch command {
	case commandPause:
		return fmt.Sprintf("pauses before iteration %d", r.Iteration)
	case commandResume:
		return fmt.Sprintf("resumed before iteration %d", r.Iteration)
	case commandEscalate:
		return "the next model call goes to " + r.NewModel
	}
	return "cancelled"
}

// escalation resolves the model that an escalate names.
func (e *Engine) escalation(ctx context.Context, msg controlMessage) (string, error) {
	if msg.Command != commandEscalate {
		return "", nil
	}
	var p struct {
		Model  *string `json:"model"`
		Reason *string `json:"reason"`
	}
	if err := json.Unmarshal(msg.Payload, &p); err != nil {
		return "", &Error{Code: CodeBadRequest, Message: "field payload.model must be a string"}
	}
	if p.Model == nil || *p.Model == "" {
		return "", &Error{Code: CodeBadRequest, Message: "missing field payload.model"}
	}
	m, err := e.parts.Models.Resolve(ctx, *p.Model)
	if err != nil {
		names := ""
		for _, x := range e.parts.Models.List(ctx) {
			names += ", " + x.Name
			if x.Alias != "" {
				names += " (" + x.Alias + ")"
			}
		}
		return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown model %q; configured are%s", *p.Model, trimComma(names))}
	}
	return m.Name, nil
}

func trimComma(s string) string {
	if len(s) > 0 {
		return s[1:]
	}
	return " none"
}

// timelineOfRun finds the branch on which a run is active, or was until a crash
// when it is to be resumed.
func (e *Engine) timelineOfRun(runID, command string) *timeline {
	e.mu.Lock()
	list := make([]*timeline, 0, len(e.timelines))
	for _, t := range e.timelines {
		list = append(list, t)
	}
	e.mu.Unlock()
	for _, t := range list {
		found := false
		t.view(func() { found = t.state.Active() && t.state.Run.ID == runID })
		found = found || command == commandResume && t.isInterrupted(runID)
		if found {
			return t
		}
	}
	return nil
}

func (t *timeline) isInterrupted(runID string) (yes bool) {
	t.view(func() { yes = t.state.Interrupted == runID })
	return yes
}
