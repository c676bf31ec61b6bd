package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// initializeWithin is far above what initialize takes, and far below what
// indexing would.
const initializeWithin = time.Second

// TestEditorAsks: initialize answers while the folder is indexed, the deltas
// are without gaps, and reducing them gives what agent/cycles gives.
func TestEditorAsks(t *testing.T) {
	t.Parallel()
	dir := netHTTP(t)
	e := startEditor(t, home(t), dir)
	begun := time.Now()
	offer := e.hello(dir)
	if took := time.Since(begun); took > initializeWithin {
		t.Errorf("initialize took %s", took)
	}
	for _, w := range e.messages() {
		if w.Method == "agent/index" && strings.Contains(string(w.Params), `"state":"ready"`) {
			t.Error("the index was ready before initialize was answered: it waited for it")
		}
	}
	for _, want := range []string{`"agentLsp":{`, `"protocolVersion":1`, `"agent/submit"`, `"loop:control"`} {
		if !strings.Contains(string(offer.Result), want) {
			t.Errorf("initialize offers no %s", want)
		}
	}
	s := e.submit("where are cookies parsed from a request header?", "")
	if s.Kind != "direct" || s.RunID == "" || s.CycleID == "" {
		t.Fatalf("submitted: %+v", s)
	}
	answer := e.done(s.TurnID)
	if !strings.Contains(string(answer.Params), `"success":true`) {
		t.Errorf("the answer: %s", answer.Params)
	}
	e.ready()
	checkDeltas(t, e, s.SessionID)
	e.bye()
}

// checkDeltas reduces all agent/cycle of a session and compares.
func checkDeltas(t *testing.T, e *editor, session string) {
	t.Helper()
	var now struct {
		Rev       int64
		State     cycle.Activity
		Cycles    []cycle.RequestCycle
		Queued    []cycle.Queued
		Anomalies []cycle.Anomaly
		Meta      cycle.Meta
	}
	e.okay("agent/cycles", `{"view":"all","sessionId":"`+session+`"}`, &now)
	model, rev := cycle.NewModel(), int64(0)
	meta := map[string]cycle.CycleMeta{}
	for _, w := range e.messages() {
		var n struct {
			SessionID string
			Rev       int64
			Ops       []cycle.Op
			Meta      []cycle.MetaOp
		}
		if w.Method != "agent/cycle" {
			continue
		}
		if w.into(t, &n); n.SessionID != session || n.Rev > now.Rev {
			continue
		}
		if n.Rev != rev+1 {
			t.Fatalf("rev %d follows rev %d", n.Rev, rev)
		}
		rev = n.Rev
		if err := cycle.Reduce(&model, n.Ops); err != nil {
			t.Fatalf("rev %d: %v", rev, err)
		}
		for _, m := range n.Meta {
			if m.CycleMeta != nil {
				meta[m.Cycle] = *m.CycleMeta
			}
		}
	}
	want := cycle.Model{State: now.State, Cycles: now.Cycles, Queued: now.Queued, Anomalies: now.Anomalies}
	if rev != now.Rev || jsonText(t, model) != jsonText(t, want) {
		t.Errorf("reducing the deltas up to rev %d gives another model than agent/cycles at rev %d:\n%s", rev, now.Rev, cmp.Diff(jsonText(t, want), jsonText(t, model)))
	}
	if d := cmp.Diff(now.Meta.Cycles, meta); d != "" {
		t.Errorf("what was measured is another (-agent/cycles +deltas):\n%s", d)
	}
}

func jsonText(t *testing.T, m cycle.Model) string {
	t.Helper()
	data, err := cycle.JSON(m, cycle.ViewAll)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEditorDecides: hunks are listed, accepted and rejected one by one, and
// what is wrong with a request has a documented code.
func TestEditorDecides(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.txt": "one hello\n2\n3\n4\n5\n6\n7\n8\n9\nten hello\n"})
	e := startEditor(t, home(t), dir)
	e.hello(dir)
	e.ready()
	s := e.submit(`replace "hello" with "goodbye" in a.txt`, "")
	e.done(s.TurnID)
	var edits struct {
		Hunks []struct{ HunkID, Path, BaseText, NewText, Status string }
	}
	e.okay("agent/edits", `{"sessionId":"`+s.SessionID+`"}`, &edits)
	if len(edits.Hunks) != 2 || edits.Hunks[0].BaseText != "one hello\n" || edits.Hunks[1].NewText != "ten goodbye\n" || edits.Hunks[0].Status != "pending" {
		t.Fatalf("hunks: %+v", edits.Hunks)
	}
	resolve := func(id, decision string) string {
		var r struct {
			Results []struct{ HunkID, Outcome string }
		}
		e.okay("agent/edits/resolve", fmt.Sprintf(`{"hunkIds":[%q],"decision":%q}`, id, decision), &r)
		if len(r.Results) != 1 {
			t.Fatalf("results: %+v", r)
		}
		return r.Results[0].Outcome
	}
	if got := resolve(edits.Hunks[0].HunkID, "accept"); got != "resolved" {
		t.Errorf("accept: %s", got)
	}
	if got := resolve(edits.Hunks[1].HunkID, "reject"); got != "resolved" {
		t.Errorf("reject: %s", got)
	}
	if got, want := readFile(t, filepath.Join(dir, "a.txt")), "one goodbye\n2\n3\n4\n5\n6\n7\n8\n9\nten hello\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	var outcome struct {
		Decisions []struct{ Decision string }
		Edits     []struct{ Path, Status string }
	}
	e.okay("agent/outcome", `{"sessionId":"`+s.SessionID+`","turnId":"`+s.TurnID+`"}`, &outcome)
	if len(outcome.Decisions) != 2 || len(outcome.Edits) != 1 || outcome.Edits[0].Status != "mixed" {
		t.Errorf("outcome: %+v", outcome)
	}
	for _, bad := range []struct{ method, params, code string }{
		{"agent/edits/resolve", `{"decision":"accept"}`, "bad_request"},
		{"agent/edits/resolve", `{"all":true,"decision":"maybe"}`, "bad_request"},
		{"agent/submit", `{"source":"test","input":" "}`, "bad_request"},
		{"agent/submit", `{"source":"test","input":"x","sessionId":"nosuch"}`, "not_found"},
		{"agent/plan", `{"planId":"nosuch"}`, "not_found"},
		{"agent/retrieval", `{"retrievalSetId":"nosuch"}`, "not_found"},
		{"agent/cycles", `{"view":"nosuch"}`, "bad_request"},
	} {
		if w := e.ask(bad.method, bad.params); w.Error == nil || w.Error.Data.Code != bad.code || w.Error.Message == "" {
			t.Errorf("%s %s: %s, want the code %s", bad.method, bad.params, w.raw, bad.code)
		}
	}
	var same submitted
	again := `,"clientRequestId":"6f2c","sessionId":"` + s.SessionID + `"`
	first := e.submit("where is hello?", again)
	if same = e.submit("where is hello?", again); same.TurnID != first.TurnID {
		t.Errorf("the same clientRequestId made turns %s and %s", first.TurnID, same.TurnID)
	}
	e.done(first.TurnID)
	e.bye()
}

// control sends a REQUEST on loop:control.
func (e *editor) control(id, command, run string) {
	e.t.Helper()
	e.tell("loop:control", fmt.Sprintf(`{"schema":0,"type":"REQUEST","request_id":%q,"command":%q,"target":{"run_id":%q},"timestamp":%q,"payload":{}}`,
		id, command, run, time.Now().UTC().Format(time.RFC3339)))
}

// loop is a message of either topic.
type loop struct {
	topic string
	raw   string

	Type      string
	RequestID string `json:"request_id"`
	Event     string
	RunID     string `json:"run_id"`
	Reason    string
	Stack     []struct{ Paused bool }
	Payload   struct{ Status, Code, Message string }
}

// String is a message in short, as the tests compare it.
func (l loop) String() string {
	switch {
	case l.Event == "STATE" && len(l.Stack) > 0 && l.Stack[0].Paused:
		return "STATE paused"
	case l.Event != "":
		return strings.TrimSpace(l.Event + " " + l.Reason)
	}
	return strings.TrimSpace(l.Type + " " + l.RequestID + " " + l.Payload.Status + " " + l.Payload.Code)
}

// loops are the messages of both topics from one place up to another.
func (e *editor) loops(from, to int) []loop {
	var out []loop
	for _, w := range e.messages()[from:to] {
		if w.Method == "loop:control" || w.Method == "loop:current" {
			l := loop{topic: w.Method, raw: string(w.Params)}
			w.into(e.t, &l)
			out = append(out, l)
		}
	}
	return out
}

// result waits for the RESULT of a request from a place on, and gives what
// came on both topics up to then, in short.
func (e *editor) result(from int, id string) []string {
	e.t.Helper()
	at, _ := e.waitFrom(from, "the RESULT of "+id, func(w wire) bool {
		return w.Method == "loop:control" && strings.Contains(string(w.Params), `"RESULT"`) && strings.Contains(string(w.Params), `"request_id":"`+id+`"`)
	})
	var out []string
	for _, l := range e.loops(from, at+1) {
		out = append(out, l.String())
	}
	return out
}

// state waits for a STATE.
func (e *editor) state(from int, paused bool) {
	e.t.Helper()
	e.waitFrom(from, "STATE", func(w wire) bool {
		return w.Method == "loop:current" && strings.Contains(string(w.Params), `"STATE"`) && strings.Contains(string(w.Params), `"paused":true`) == paused
	})
}

// here is the place of the next message.
func (e *editor) here() int { return len(e.messages()) }

// TestEditorControls: pause, resume and cancel are acknowledged before they are
// carried out, answered before the event that they cause, answered again from
// memory when they come again, and refused with a reason.
func TestEditorControls(t *testing.T) {
	t.Parallel()
	dir, nap := writeFiles(t, map[string]string{"a.txt": "hello\n"}), longNap(t)
	e := startEditor(t, home(t), dir)
	e.hello(dir)
	e.ready()
	s := e.submit(`run "sleep `+nap+`"`, "")
	e.permit(0, "allow_once")

	expect := func(id, command string, want ...string) {
		t.Helper()
		from := e.here()
		e.control(id, command, s.RunID)
		if d := cmp.Diff(want, e.result(from, id)); d != "" {
			t.Errorf("%s (-want +got):\n%s", command, d)
		}
	}
	expect("r1", "pause", "ACK r1", "RESULT r1 success")
	e.state(0, true)
	expect("r2", "pause", "ACK r2", "RESULT r2 failure invalid_state")
	expect("r1", "pause", "RESULT r1 success")
	from := e.here()
	expect("r3", "resume", "ACK r3", "RESULT r3 success")
	e.state(from, false)
	expect("r4", "resume", "ACK r4", "RESULT r4 failure invalid_state")
	expect("r5", "dance", "RESULT r5 failure bad_request")
	from = e.here()
	e.control("r6", "cancel", "nosuchrun")
	if got := e.result(from, "r6"); cmp.Diff([]string{"RESULT r6 failure not_found"}, got) != "" {
		t.Errorf("an unknown run: %q", got)
	}
	from = e.here()
	e.tell("loop:control", `{"schema":0,"type":"REQUEST","request_id":"r7","command":"pause","timestamp":"2026-01-01T00:00:00Z","payload":{}}`)
	if got := e.result(from, "r7"); cmp.Diff([]string{"RESULT r7 failure bad_request"}, got) != "" || !strings.Contains(e.loops(from, e.here())[0].raw, "target") {
		t.Errorf("a request without target: %q", got)
	}

	from = e.here()
	e.control("r8", "cancel", s.RunID)
	e.waitFrom(from, "ABORT", func(w wire) bool {
		return w.Method == "loop:current" && strings.Contains(string(w.Params), `"ABORT"`)
	})
	var got []string
	for _, l := range e.loops(from, e.here()) {
		got = append(got, l.String())
	}
	if d := cmp.Diff([]string{"ACK r8", "RESULT r8 success", "ABORT USER_CANCELLED"}, got); d != "" {
		t.Errorf("cancel (-want +got):\n%s", d)
	}
	var first, second []string
	for _, l := range e.loops(from, e.here()) {
		if l.Type == "RESULT" {
			first = append(first, l.raw)
		}
	}
	from = e.here()
	e.control("r8", "cancel", s.RunID)
	e.result(from, "r8")
	for _, l := range e.loops(from, e.here()) {
		second = append(second, l.raw)
	}
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("a request that came again was not answered from memory, byte for byte (-first +second):\n%s", d)
	}
	e.done(s.TurnID)
	var now struct{ Cycles []cycle.RequestCycle }
	e.okay("agent/cycles", `{"view":"all","sessionId":"`+s.SessionID+`"}`, &now)
	if len(now.Cycles) != 1 || now.Cycles[0].Status != cycle.CycleInterrupted {
		t.Errorf("the cycle: %s", mustJSON(t, now.Cycles))
	}
	checkGone(t, nap)
	e.bye()
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
