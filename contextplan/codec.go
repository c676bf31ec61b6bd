package contextplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxInputBytes bounds what ParseInput reads.
const MaxInputBytes = 256 << 20

// ParseInput reads an Input as JSON: strict about types and about what follows it, tolerant about unknown fields. Every
// error is an *InputError. What the values mean is checked by Build.
func ParseInput(data []byte) (Input, error) {
	if len(data) > MaxInputBytes {
		return Input{}, &InputError{"", "input", fmt.Sprintf("has %d bytes; at most %d are read", len(data), MaxInputBytes)}
	}
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 {
		return Input{}, &InputError{"", "input", "is empty; it must be a JSON object with budget and candidates"}
	}
	if data[0] != '{' {
		return Input{}, &InputError{"", "input", "must be a JSON object with budget and candidates"}
	}
	var in Input
	if err := json.Unmarshal(data, &in); err != nil {
		return Input{}, whichCandidate(data, err)
	}
	return in, nil
}

// whichCandidate reads again, piece by piece, to say where the error is.
func whichCandidate(data []byte, err error) error {
	var loose struct {
		Candidates []json.RawMessage `json:"candidates"`
	}
	var wrongType *json.UnmarshalTypeError
	if !errors.As(err, &wrongType) || json.Unmarshal(data, &loose) != nil {
		return problem("", err)
	}
	for n, raw := range loose.Candidates {
		var c Candidate
		if err := json.Unmarshal(raw, &c); err != nil {
			var id struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(raw, &id) != nil || id.ID == "" {
				id.ID = fmt.Sprintf("#%d", n+1)
			}
			return problem(id.ID, err)
		}
	}
	return problem("", err)
}

func problem(candidate string, err error) *InputError {
	var wrongType *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrongType):
		field := wrongType.Field
		if field == "" {
			field = "value"
		}
		return &InputError{candidate, field, fmt.Sprintf("is %s, which is not a %s that fits", wrongType.Value, jsonKind(wrongType.Type.Kind().String()))}
	case errors.As(err, &syntax):
		return &InputError{candidate, "input", fmt.Sprintf("is not JSON at byte %d: %v", syntax.Offset, err)}
	}
	return &InputError{candidate, "input", err.Error()}
}

// jsonKind says a Go kind in JSON's words.
func jsonKind(kind string) string {
	switch kind {
	case "int":
		return "whole number"
	case "float64":
		return "number"
	case "bool":
		return "boolean"
	case "slice":
		return "list"
	case "struct", "ptr":
		return "object"
	}
	return kind
}

// ParsePlan reads what MarshalJSON wrote. Absent lists become empty, so that writing it again gives the same bytes.
func ParsePlan(data []byte) (Plan, error) {
	var p Plan
	if err := json.Unmarshal(data, &p); err != nil {
		return Plan{}, fmt.Errorf("plan: %w", err)
	}
	if p.Included == nil {
		p.Included = []Item{}
	}
	if p.Excluded == nil {
		p.Excluded = []Item{}
	}
	if p.Breakpoints == nil {
		p.Breakpoints = []int{}
	}
	return p, nil
}

// Run is the command `plan --stdin`: an Input as JSON in, the plan out, as JSON or as text, with a line's end. Where it
// fails and asJSON is set, out holds the error as JSON, and err is the same error.
func Run(stdin []byte, asJSON bool) (out []byte, err error) {
	in, err := ParseInput(stdin)
	if err == nil {
		var p Plan
		if p, err = Build(in); err == nil {
			if asJSON {
				return append(p.AppendJSON(nil), '\n'), nil
			}
			return []byte(Text(p, nil)), nil
		}
	}
	if asJSON {
		out = append(ErrorJSON(err), '\n')
	}
	return out, err
}

// ErrorJSON gives an error of this package as {"error":{"code","message",…}} with what it names.
func ErrorJSON(err error) []byte {
	type body struct {
		Code      string `json:"code"`
		Message   string `json:"message"`
		Candidate string `json:"candidate,omitempty"`
		Field     string `json:"field,omitempty"`
		Prompt    *int   `json:"prompt,omitempty"`
		Needed    *int   `json:"needed,omitempty"`
		Required  []Item `json:"required,omitempty"`
	}
	b := body{Code: CodeBadRequest, Message: err.Error()}
	var input *InputError
	var overflow *OverflowError
	switch {
	case errors.As(err, &input):
		b.Candidate, b.Field = input.Candidate, input.Field
	case errors.As(err, &overflow):
		b.Code, b.Prompt, b.Needed, b.Required = CodeBudgetOverflow, &overflow.Prompt, &overflow.Needed, overflow.Required
	}
	out, err := json.Marshal(map[string]body{"error": b})
	if err != nil { // unreachable: the body has nothing but strings and numbers
		return []byte(`{"error":{"code":"` + CodeBadRequest + `"}}`)
	}
	return out
}
