package cycle

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseLineRefuses(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, c := range []struct{ line, want string }{
		{`{"type":"user-message"`, `malformed JSON: unexpected end of JSON input`},
		{`{"type":"user-message","id":"m1"} {}`, `malformed JSON: invalid character '{' after top-level value`},
		{`user-message`, `malformed JSON: invalid character 'u' looking for beginning of value`},
		{`[]`, `an event must be a JSON object, not an array`},
		{`"x"`, `an event must be a JSON object, not a string`},
		{`7`, `an event must be a JSON object, not a number`},
		{`null`, `an event must be a JSON object, not null`},
		{`{}`, `"type" is missing or empty`},
		{`{"type":""}`, `"type" is missing or empty`},
		{`{"Type":"run-stop","reason":"error"}`, `"type" is missing or empty`},
		{`{"type":3}`, `"type" must be a string, not 3`},
		{`{"type":"agent-stop"}`, `unknown type "agent-stop": expected user-message, agent-output, tool-result, run-stop or one that begins with agent-lsp/`},
		{`{"type":"` + long + `"}`, `unknown type "` + long[:40] + `…": expected user-message, agent-output, tool-result, run-stop or one that begins with agent-lsp/`},
		{`{"type":"user-message","text":"x"}`, `user-message: "id" is missing or empty`},
		{`{"type":"user-message","ID":"m1"}`, `user-message: "id" is missing or empty`},
		{`{"type":"user-message","id":""}`, `user-message: "id" is missing or empty`},
		{`{"type":"user-message","id":null}`, `user-message: "id" is missing or empty`},
		{`{"type":"user-message","id":1}`, `user-message: "id" must be a string, not 1`},
		{`{"type":"user-message","id":"m1","text":["a"]}`, `user-message: "text" must be a string, not ["a"]`},
		{`{"type":"user-message","id":"m1","delivery":"followup"}`, `user-message: "delivery" must be one of auto, steer, followUp, not "followup"`},
		{`{"type":"user-message","id":"m1","time":"yesterday"}`, `user-message: "time" must be a time like 2006-01-02T15:04:05Z (RFC 3339), not "yesterday"`},
		{`{"type":"user-message","id":"m1","time":"9999-12-31T23:59:59-01:00"}`, `user-message: "time" must be a time like 2006-01-02T15:04:05Z (RFC 3339), not "9999-12-31T23:59:59-01:00"`},
		{`{"type":"user-message","id":"m1","time":1700000000}`, `user-message: "time" must be a string, not 1700000000`},
		{`{"type":"agent-output","id":"o1"}`, `agent-output: "output" is missing: it must be one of assistant, reasoning, tool-call`},
		{`{"type":"agent-output","id":"o1","output":"text"}`, `agent-output: "output" must be one of assistant, reasoning, tool-call, not "text"`},
		{`{"type":"agent-output","output":"assistant"}`, `agent-output: "id" is missing or empty`},
		{`{"type":"agent-output","output":"reasoning","callId":"c1"}`, `agent-output: "id" is missing or empty`},
		{`{"type":"agent-output","output":"tool-call","id":"c1","tool":"ls"}`, `agent-output: "callId" is missing or empty`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1"}`, `agent-output: "tool" is missing or empty`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","args":"{}"}`, `agent-output: "args" must be an object, not "{}"`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","args":[1, 2]}`, `agent-output: "args" must be an object, not [1,2]`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","round":"3"}`, `agent-output: "round" must be a whole number, not "3"`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","round":1.5}`, `agent-output: "round" must be a whole number, not 1.5`},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","round":2000000000}`, `agent-output: "round" must be a whole number within ±1000000000, not 2000000000`},
		{`{"type":"tool-result","status":"ok"}`, `tool-result: "callId" is missing or empty`},
		{`{"type":"tool-result","callId":"c1"}`, `tool-result: "status" is missing: it must be one of ok, error, cancelled`},
		{`{"type":"tool-result","callId":"c1","status":"failed"}`, `tool-result: "status" must be one of ok, error, cancelled, not "failed"`},
		{`{"type":"run-stop"}`, `run-stop: "reason" is missing: it must be one of completed, interrupted, error`},
		{`{"type":"run-stop","reason":"active"}`, `run-stop: "reason" must be one of completed, interrupted, error, not "active"`},
		{strings.Repeat("[", 20000), `malformed JSON: invalid character '[' exceeded max depth`},
	} {
		e, err := ParseLine([]byte(c.line))
		if err == nil || err.Error() != c.want || e != nil {
			t.Errorf("%s\n got %v, %v\nwant error %s", clip(c.line), e, err, c.want)
		}
	}
}

func TestParseLineReads(t *testing.T) {
	three := 3
	for _, c := range []struct {
		line string
		want Event
	}{
		{"", nil},
		{" \t\r", nil},
		{`{"type":"agent-lsp/anything","id":7}`, nil},
		{`{"type":"user-message","id":"m1"}`, UserMessage{ID: "m1", Delivery: DeliveryAuto}},
		{`{"id":"m1","time":"2026-03-01T10:00:00.5+01:00","type":"user-message","delivery":"followUp","text":"x","more":1}` + "\r",
			UserMessage{ID: "m1", Text: "x", Delivery: DeliveryFollowUp, Time: time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC)}},
		{`{"type":"agent-output","id":"o1","output":"reasoning","text":"x","args":{"dropped":1}}`, AgentOutput{ID: "o1", Output: OutputReasoning, Text: "x"}},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","title":"List","round":3}`,
			AgentOutput{Output: OutputToolCall, CallID: "c1", Tool: "ls", Args: json.RawMessage("{}"), Title: "List", Round: &three}},
		{`{"type":"agent-output","output":"tool-call","callId":"c1","tool":"ls","args": { "z" : 1e400, "a" : "<" } }`,
			AgentOutput{Output: OutputToolCall, CallID: "c1", Tool: "ls", Args: json.RawMessage(`{"z":1e400,"a":"<"}`)}},
		{`{"type":"tool-result","callId":"c1","status":"error","ms":12,"ref":"run-1/2","detail":[ 1 ]}`,
			ToolResult{CallID: "c1", Status: ResultError, MS: 12, Ref: "run-1/2", Detail: json.RawMessage(`[1]`)}},
		{`{"type":"run-stop","reason":"error","reason":"completed"}`, RunStop{Reason: StopCompleted}}, // the last of two counts
		{`{"type":"run-stop","reason":"interrupted","message":"by the person"}`, RunStop{Reason: StopInterrupted, Message: "by the person"}},
		{"{\"type\":\"run-stop\",\"reason\":\"error\",\"message\":\"a\xffb\"}", RunStop{Reason: StopError, Message: "a\ufffdb"}},
	} {
		got, err := ParseLine([]byte(c.line))
		if err != nil || !cmp.Equal(c.want, got) {
			t.Errorf("%s\n got %#v, %v\nwant %#v", c.line, got, err, c.want)
		}
	}
}

func TestParseLog(t *testing.T) {
	stop := `{"type":"run-stop","reason":"error"}`
	events, err := ParseLog([]byte("\ufeff" + stop + "\r\n\r\n" + `{"type":"agent-lsp/x"}` + "\n" + stop + "\n{\n" + stop))
	var bad *LineError
	if !errors.As(err, &bad) || bad.Line != 5 || !strings.HasPrefix(err.Error(), "line 5: malformed JSON") {
		t.Errorf("error %v, want one that names line 5", err)
	}
	if want := []Event{RunStop{Reason: StopError}, RunStop{Reason: StopError}}; !cmp.Equal(want, events) {
		t.Errorf("events before the bad line: %v, want %v", events, want)
	}
	if events, err := ParseLog(nil); len(events) != 0 || err != nil {
		t.Errorf("empty log: %v, %v", events, err)
	}
}

func TestLongLines(t *testing.T) {
	big := UserMessage{ID: "m1", Text: strings.Repeat("x", LineBytesMax-100), Delivery: DeliveryAuto}
	line, err := Encode(big)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := ParseLine(line); err != nil || e.(UserMessage).Text != big.Text {
		t.Errorf("a line of %d bytes is refused: %v", len(line), err)
	}
	big.Text += strings.Repeat("x", 100)
	if _, err := Encode(big); err == nil {
		t.Error("Encode wrote a line that is too long")
	}
	if _, err := ParseLine([]byte(`{"type":"user-message","id":"m1","text":"` + big.Text + `"}`)); err == nil || !strings.Contains(err.Error(), "67108864 are allowed") {
		t.Errorf("a line that is too long gives %v", err)
	}
}

func TestTypeOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"agent-lsp/x","a":1}`: "agent-lsp/x",
		`{"type":"run-stop"}`:          "run-stop",
		`{"a":1}`:                      "",
		`{`:                            "",
	} {
		got, err := TypeOf([]byte(line))
		if got != want || (err == nil) != (want != "") {
			t.Errorf("TypeOf(%s) = %q, %v, want %q", line, got, err, want)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for want, e := range map[string]Event{
		`there is no event to encode`:                                               nil,
		`user-message: "id" is missing or empty`:                                    UserMessage{},
		`agent-output: "id" is missing or empty`:                                    AgentOutput{Output: OutputAssistant},
		`agent-output: "args" must be an object, not 1`:                             AgentOutput{Output: OutputToolCall, CallID: "c", Tool: "t", Args: json.RawMessage("1")},
		`tool-result: "detail" is malformed JSON: unexpected end of JSON input`:     ToolResult{CallID: "c", Status: ResultOK, Detail: json.RawMessage("{")},
		`run-stop: "reason" must be one of completed, interrupted, error, not "no"`: RunStop{Reason: "no"},
	} {
		if line, err := Encode(e); err == nil || err.Error() != want {
			t.Errorf("Encode(%#v) = %s, %v\nwant error %s", e, line, err, want)
		}
	}
}

func TestEncode(t *testing.T) {
	n := 0
	for want, e := range map[string]Event{
		`{"type":"user-message","id":"m1","text":"<a>","delivery":"auto"}`:                         UserMessage{ID: "m1", Text: "<a>"},
		`{"type":"agent-output","output":"tool-call","callId":"c","tool":"t","args":{},"round":0}`: AgentOutput{Output: OutputToolCall, CallID: "c", Tool: "t", Round: &n},
		`{"type":"tool-result","callId":"c","status":"ok","text":""}`:                              ToolResult{CallID: "c", Status: ResultOK},
		`{"type":"run-stop","reason":"error","time":"2026-03-01T09:00:00Z"}`:                       RunStop{Reason: StopError, Time: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)},
		`{"type":"agent-lsp/passed-over"}`:                                                         passedOver{},
		`{"type":"agent-lsp/followup-promoted","id":"m2"}`:                                         FollowUpPromoted{ID: "m2"},
	} {
		if line, err := Encode(e); err != nil || string(line) != want {
			t.Errorf("Encode(%#v) = %s, %v\nwant %s", e, line, err, want)
		}
	}
}

// TestRoundTrip: what Encode writes ParseLine reads as the same event.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := eventGen.Draw(t, "event")
		if m, ok := e.(UserMessage); ok {
			m.Text = rapid.String().Draw(t, "text")
			m.Time = time.Unix(rapid.Int64Range(-1e10, 1e11).Draw(t, "time"), 0).UTC()
			e = m
		}
		checkRoundTrip(t, e)
	})
}

func checkRoundTrip(t failer, e Event) {
	t.Helper()
	line, err := Encode(e)
	if err != nil {
		t.Fatalf("Encode(%#v): %v", e, err)
	}
	back, err := ParseLine(line)
	if !isSeed(e) {
		if back != nil || err != nil {
			t.Fatalf("%s is read as %#v, %v", line, back, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if want, err := normal(e); err != nil || !cmp.Equal(want, back) {
		t.Fatalf("%s\nwas  %#v\nread %#v, %v", line, want, back, err)
	}
}

// TestMembers: the members of an object are those that encoding/json finds.
func TestMembers(t *testing.T) {
	for _, line := range []string{
		`{}`, `{ }`, `{"a":1}`, `{"a":-1.5e3,"b":true,"c":null}`, ` {"a" : [ 1 , {"]":"}"} ] , "b" : { } } `,
		`{"a\u0062\"":"x\\","":"\"","ü":"ü,}"}`, `{"a":1,"a":2}`, `{"a":[[],[{}]],"b":"]"}`, "{\"a\"\t:\r1\n,\n\"b\":2}",
		`[]`, `1`, `{`, ``, `{"a"}`, "{\"a\":\"\xff\"}",
	} {
		checkMembers(t, []byte(strings.TrimSpace(line)))
	}
}

func checkMembers(t failer, line []byte) {
	t.Helper()
	var want map[string]json.RawMessage
	bad := json.Unmarshal(line, &want)
	f, err := parseFields(line)
	if (err != nil) != (bad != nil || want == nil) {
		t.Fatalf("%q: parseFields says %v, encoding/json %v", line, err, bad)
	}
	if err != nil {
		return
	}
	got := map[string]json.RawMessage{}
	for _, m := range f.members {
		got[m.name] = m.raw
	}
	if utf8.Valid(line) && !cmp.Equal(want, got, cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })) {
		t.Fatalf("%q: %s", line, cmp.Diff(want, got))
	}
}

// FuzzParseLog: no bytes panic; what can be read can be written and read again, and all projections of it agree.
func FuzzParseLog(f *testing.F) {
	f.Add([]byte(`{"type":"user-message","id":"m1","text":"x","delivery":"steer","time":"2026-03-01T09:00:00Z"}`))
	f.Add([]byte("{\"type\":\"user-message\",\"id\":\"m1\"}\r\n\n{\"type\":\"agent-output\",\"output\":\"tool-call\",\"callId\":\"c\",\"tool\":\"ls\",\"args\":{\"a\":[1]},\"round\":2}\n{\"type\":\"tool-result\",\"callId\":\"c\",\"status\":\"ok\",\"detail\":{}}\n{\"type\":\"run-stop\",\"reason\":\"error\"}"))
	f.Add([]byte("\ufeff{\"type\":\"agent-lsp/x\"}\n{\"type\":\"agent-output\",\"output\":\"reasoning\",\"id\":\"\\ud800\",\"text\":\"\xff\"}\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := ParseLog(data)
		var bad *LineError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1) {
			t.Fatalf("an error that names no line: %v", err)
		}
		for _, e := range events {
			checkRoundTrip(t, e)
		}
		for line := range bytes.Lines(data) {
			checkMembers(t, bytes.TrimSpace(line))
		}
		const eventsMax = 60
		checkAgreement(t, events[:min(len(events), eventsMax)], Policy{}, 3)
		for _, opts := range []LogOptions{{}, {Text: true, View: ViewAll}, {Text: true, ASCII: true}} {
			out, perr := ProjectLog(data, opts)
			if (perr == nil) != (err == nil) || len(out) == 0 || out[len(out)-1] != '\n' {
				t.Fatalf("ProjectLog(%+v) = %q, %v", opts, out, perr)
			}
			if opts.Text {
				checkSafe(t, string(out))
			}
		}
	})
}
