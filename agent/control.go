package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// controlsBranch is the workspace's log of RESULTs that belong to no run.
	controlsBranch = "controls"
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

// forget takes a request back that was not carried out.
func (d *desk) forget(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, id)
	d.order = slices.DeleteFunc(d.order, func(x string) bool { return x == id })
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
		if err := e.parts.Store.Append(e.base, workspaceLog, controlsBranch, cycle.ControlDone{RequestID: msg.RequestID, Result: result, Time: e.now()}); err != nil {
			e.logf("the RESULT of %s is not kept: %v", msg.RequestID, err)
		}
		e.desk.settle(msg.RequestID, result, e.now())
		from.Loop(topicControl, result)
		return
	}
	if fault := payloadFault(msg); fault != "" { // malformed: not remembered either
		e.desk.forget(msg.RequestID)
		from.Loop(topicControl, reply("RESULT", controlResult{Status: statusFailure, Code: string(CodeBadRequest), Message: fault}))
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
	// Field names count exactly, which structs would not see to.
	read := func(from map[string]json.RawMessage, path, name string, into any) {
		v, ok := from[name]
		switch {
		case fault != "" && !ok, !ok && name == "issue_id":
		case !ok:
			fault = "missing field " + path + name
		case json.Unmarshal(v, into) != nil && fault == "":
			fault = "field " + path + name + " has the wrong type"
		}
	}
	var target, payload map[string]json.RawMessage
	read(fields, "", "request_id", &m.RequestID)
	read(fields, "", "command", &m.Command)
	read(fields, "", "target", &target)
	if target != nil {
		read(target, "target.", "run_id", &m.Target.RunID)
		read(target, "target.", "issue_id", &m.Target.IssueID)
	}
	var schema float64
	read(fields, "", "type", &m.Type)
	read(fields, "", "schema", &schema)
	read(fields, "", "timestamp", &m.Timestamp)
	read(fields, "", "payload", &payload)
	if fault == "" {
		fault = m.fault(schema, string(fields["schema"]) == "null", payload != nil)
	}
	if fault == "" {
		m.Payload = fields["payload"]
	}
	return m, fault
}

// fault names the field that is of the right type and not what it must be.
func (m controlMessage) fault(schema float64, noSchema, payload bool) string {
	switch {
	case schema != controlSchema || noSchema:
		return "field schema must be 0"
	case m.Type != "REQUEST":
		return "field type must be REQUEST"
	case m.RequestID == "" || len(m.RequestID) > requestIDMax:
		return "field request_id must have 1 to 128 bytes"
	case m.Target.RunID == "":
		return "missing field target.run_id"
	case !payload:
		return "field payload must be an object"
	case !validTime(m.Timestamp):
		return "field timestamp must be an ISO 8601 time in UTC"
	}
	switch m.Command {
	case commandPause, commandResume, commandCancel, commandEscalate:
		return ""
	}
	return fmt.Sprintf("field command must be pause, resume, cancel or escalate, not %q", m.Command)
}

func validTime(s string) bool {
	at, err := time.Parse(time.RFC3339, s)
	_, offset := at.Zone()
	return err == nil && offset == 0
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
		if r.Code != string(CodeStoreUnavailable) { // a retry after a restart gets the same
			if err := t.record(e.base, cycle.ControlDone{RequestID: msg.RequestID, Result: result, Time: e.now()}); err != nil {
				e.logf("the RESULT of %s is not kept: %v", msg.RequestID, err)
			}
		}
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
	_, reason := escalatePayload(msg.Payload)
	return run.Escalate{At: now, RunID: id, Model: escalateTo, Reason: reason}, ok
}

// payloadFault names what is wrong with an escalate's payload. It is looked at
// once the run is known: of a run that is over the answer is not_found.
func payloadFault(msg controlMessage) string {
	if msg.Command != commandEscalate {
		return ""
	}
	var p map[string]json.RawMessage
	_ = json.Unmarshal(msg.Payload, &p) // parseControl saw that it is an object
	var model, reason string
	switch {
	case len(p["model"]) > 0 && json.Unmarshal(p["model"], &model) != nil:
		return "field payload.model has the wrong type"
	case model == "":
		return "missing field payload.model"
	case len(p["reason"]) > 0 && json.Unmarshal(p["reason"], &reason) != nil:
		return "field payload.reason has the wrong type"
	}
	return ""
}

// escalatePayload reads a payload that has no fault.
func escalatePayload(raw json.RawMessage) (model, reason string) {
	var p map[string]json.RawMessage
	_ = json.Unmarshal(raw, &p)
	_ = json.Unmarshal(p["model"], &model)
	_ = json.Unmarshal(p["reason"], &reason)
	return model, reason
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
	model, _ := escalatePayload(msg.Payload)
	m, err := e.parts.Models.Resolve(ctx, model)
	if err != nil {
		names := ""
		for _, x := range e.parts.Models.List(ctx) {
			names += ", " + x.Name
			if x.Alias != "" {
				names += " (" + x.Alias + ")"
			}
		}
		return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("field payload.model: unknown model %q; configured are%s", model, trimComma(names))}
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
	for _, t := range e.opened() {
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
