package llmtest

import (
	"encoding/json"
	"strings"
	"testing"
)

// Chat is what every provider's request body has in common.
type Chat struct {
	Model    string
	System   string // Anthropic's; chat completions hold it in Messages
	Messages []ChatMessage
	Tools    []string // names
	Stream   bool
}

// ChatMessage is one message of a request. Text joins its text parts.
type ChatMessage struct {
	Role  string
	Text  string
	Calls []string // "name arguments" of each tool call
}

// Chat reads the request's body, of whichever provider.
func (r *Request) Chat(t testing.TB) Chat {
	t.Helper()
	type call struct {
		Name      string
		Arguments json.RawMessage
	}
	type part struct {
		Type, Text, Name string
		Input            json.RawMessage
		Content          json.RawMessage
	}
	var body struct {
		Model    string
		Stream   bool
		System   json.RawMessage
		Messages []struct {
			Role      string
			Content   json.RawMessage
			ToolCalls []struct{ Function call } `json:"tool_calls"`
		}
		Tools []struct {
			Name     string
			Function struct{ Name string }
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatalf("request to %s: %v: %s", r.Path, err, r.Body)
	}
	var text func(raw json.RawMessage) (string, []string)
	text = func(raw json.RawMessage) (string, []string) {
		var s string
		if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
			return s, nil
		}
		var parts []part
		if err := json.Unmarshal(raw, &parts); err != nil {
			t.Fatalf("content %s: %v", raw, err)
		}
		var out strings.Builder
		var calls []string
		for _, p := range parts {
			out.WriteString(p.Text)
			if p.Type == "tool_use" {
				calls = append(calls, p.Name+" "+string(p.Input))
			}
			if p.Type == "tool_result" {
				inner, _ := text(p.Content)
				out.WriteString(inner)
			}
		}
		return out.String(), calls
	}
	c := Chat{Model: body.Model, Stream: body.Stream}
	c.System, _ = text(body.System)
	for _, m := range body.Messages {
		content, calls := text(m.Content)
		for _, tc := range m.ToolCalls {
			var args string
			if json.Unmarshal(tc.Function.Arguments, &args) != nil {
				args = string(tc.Function.Arguments)
			}
			calls = append(calls, tc.Function.Name+" "+args)
		}
		c.Messages = append(c.Messages, ChatMessage{Role: m.Role, Text: content, Calls: calls})
	}
	for _, tool := range body.Tools {
		c.Tools = append(c.Tools, tool.Name+tool.Function.Name)
	}
	return c
}
