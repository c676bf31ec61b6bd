package cycle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Limits of the codec.
const (
	LineBytesMax = 64 << 20      // a longer line is refused
	RoundMax     = 1_000_000_000 // a round's number lies within ± this
)

// LineError tells which line of a log is wrong. Lines count from 1, blank ones too.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// ParseLog reads a log of one event a line. At the first bad line it stops and returns the events before it
// with a *[LineError]. Blank lines and runtime events are passed over; lines may end in CR LF; a byte order
// mark at the beginning is ignored.
func ParseLog(data []byte) ([]Event, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var events []Event
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		e, err := ParseLine(line)
		if err != nil {
			return events, &LineError{Line: n, Err: err}
		}
		if e != nil {
			events = append(events, e)
		}
	}
	return events, nil
}

// ParseLine reads one event of the four kinds. A blank line and a runtime event give nil, nil.
//
// Field names are matched exactly, unknown fields are ignored and null is as good as absent. Absent text is
// "", absent delivery is auto, absent args are {}. An error says which field is wrong and what was expected.
func ParseLine(line []byte) (Event, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, nil
	}
	f, err := parseFields(line)
	if err != nil {
		return nil, err
	}
	typ := f.text("type")
	var e Event
	switch {
	case f.err != nil:
	case typ == TypeUserMessage:
		e = UserMessage{ID: f.text("id"), Text: f.text("text"), Delivery: Delivery(f.text("delivery")), Time: f.time("time")}
	case typ == TypeAgentOutput:
		e = AgentOutput{
			ID: f.text("id"), Output: OutputKind(f.text("output")), Text: f.text("text"), CallID: f.text("callId"),
			Tool: f.text("tool"), Args: f.raw("args"), Round: f.round("round"), Title: f.text("title"), Time: f.time("time"),
		}
	case typ == TypeToolResult:
		e = ToolResult{
			CallID: f.text("callId"), Status: ResultStatus(f.text("status")), Text: f.text("text"),
			MS: f.number("ms"), Ref: f.text("ref"), Detail: f.raw("detail"), Time: f.time("time"),
		}
	case typ == TypeRunStop:
		e = RunStop{Reason: StopReason(f.text("reason")), Message: f.text("message"), Time: f.time("time")}
	case strings.HasPrefix(typ, RuntimePrefix):
		return nil, nil
	case typ == "":
		return nil, errors.New(`"type" is missing or empty`)
	default:
		return nil, fmt.Errorf("unknown type %s: expected %s, %s, %s, %s or one that begins with %s",
			quote(typ), TypeUserMessage, TypeAgentOutput, TypeToolResult, TypeRunStop, RuntimePrefix)
	}
	if f.err != nil {
		if e == nil {
			return nil, f.err
		}
		return nil, fmt.Errorf("%s: %w", typ, f.err)
	}
	return normal(e)
}

// TypeOf tells the type of the event on a line, of whatever kind, without reading the rest of it.
func TypeOf(line []byte) (string, error) {
	f, err := parseFields(bytes.TrimSpace(line))
	if err != nil {
		return "", err
	}
	typ := f.text("type")
	if f.err == nil && typ == "" {
		f.err = errors.New(`"type" is missing or empty`)
	}
	return typ, f.err
}

// Encode writes any kind of event as one line of JSON without its line break. What ParseLine would refuse,
// Encode refuses. Of the kinds declared elsewhere it asks only that they marshal as an object.
func Encode(e Event) ([]byte, error) {
	if e == nil {
		return nil, errors.New("there is no event to encode")
	}
	if isSeed(e) {
		n, err := normal(e)
		if err != nil {
			return nil, err
		}
		e = n
	}
	body, err := marshal(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Type(), err)
	}
	if !bytes.HasPrefix(body, []byte("{")) {
		return nil, fmt.Errorf("%s: an event must be a JSON object", e.Type())
	}
	head, err := marshal(e.Type())
	if err != nil {
		return nil, err
	}
	line := append([]byte(`{"type":`), head...)
	if string(body) != "{}" {
		line = append(line, ',')
	}
	line = append(line, body[1:]...)
	if len(line) > LineBytesMax {
		return nil, fmt.Errorf("%s: the event is %d bytes long, %d are allowed", e.Type(), len(line), LineBytesMax)
	}
	return line, nil
}

// normal is a seed event as it is kept: defaults filled in, raw JSON compacted, checked.
func normal(e Event) (Event, error) {
	var err error
	switch x := e.(type) {
	case UserMessage:
		if x.Delivery == "" {
			x.Delivery = DeliveryAuto
		}
		e, err = x, cmp.Or(need("id", x.ID), oneOf("delivery", x.Delivery, DeliveryAuto, DeliverySteer, DeliveryFollowUp))
	case AgentOutput:
		if x.Output == OutputToolCall {
			x.Args = argsOf(x.Args)
			if err = cmp.Or(need("callId", x.CallID), need("tool", x.Tool)); err == nil {
				x.Args, err = object("args", x.Args)
			}
		} else {
			x.Args = nil
			err = cmp.Or(oneOf("output", x.Output, OutputAssistant, OutputReasoning, OutputToolCall), need("id", x.ID))
		}
		if x.Round != nil && (*x.Round > RoundMax || *x.Round < -RoundMax) {
			err = cmp.Or(err, fmt.Errorf(`"round" must be %s, not %d`, wantRound, *x.Round))
		}
		e = x
	case ToolResult:
		err = cmp.Or(need("callId", x.CallID), oneOf("status", x.Status, ResultOK, ResultError, ResultCancelled))
		if err == nil && len(x.Detail) > 0 {
			x.Detail, err = compact("detail", x.Detail)
		}
		e = x
	case RunStop:
		err = oneOf("reason", x.Reason, StopCompleted, StopInterrupted, StopError)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Type(), err)
	}
	return e, nil
}

func need(name, value string) error {
	if value == "" {
		return fmt.Errorf("%q is missing or empty", name)
	}
	return nil
}

func oneOf[T ~string](name string, value T, allowed ...T) error {
	list := make([]string, len(allowed))
	for i, a := range allowed {
		if value == a {
			return nil
		}
		list[i] = string(a)
	}
	if value == "" {
		return fmt.Errorf("%q is missing: it must be one of %s", name, strings.Join(list, ", "))
	}
	return fmt.Errorf("%q must be one of %s, not %s", name, strings.Join(list, ", "), quote(string(value)))
}

func object(name string, raw json.RawMessage) (json.RawMessage, error) {
	out, err := compact(name, raw)
	if err == nil && out[0] != '{' {
		return nil, fmt.Errorf("%q must be an object, not %s", name, clip(string(out)))
	}
	return out, err
}

func compact(name string, raw json.RawMessage) (json.RawMessage, error) {
	if json.Valid(raw) && !bytes.ContainsAny(raw, " \t\r\n") {
		return raw, nil
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		return nil, fmt.Errorf("%q is malformed JSON: %w", name, err)
	}
	return buf.Bytes(), nil
}

func quote(s string) string { return fmt.Sprintf("%q", clip(s)) }

// clip keeps an error message short whatever it quotes.
func clip(s string) string {
	const runesMax = 40
	n := 0
	for i := range s {
		if n == runesMax {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
