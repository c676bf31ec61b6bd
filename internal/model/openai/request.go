package openai

import (
	"encoding/json"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// chatRequest is the body of POST /chat/completions. Field order is fixed, so
// that equal conversations give equal bytes and servers can reuse the prefix.
type chatRequest struct {
	Model         string        `json:"model"`
	Tools         []chatTool    `json:"tools,omitempty"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	MaxCompletion int           `json:"max_completion_tokens,omitempty"`
	Temperature   *float64      `json:"temperature,omitempty"`
	Seed          *int64        `json:"seed,omitempty"`
	Effort        string        `json:"reasoning_effort,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"` // string or []contentPart
	Reasoning  string     `json:"reasoning_content,omitempty"`
	ToolCalls  []sentCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type contentPart struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type sentCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function sentFunction `json:"function"`
}

type sentFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// noImages stands for images that a model cannot see.
const noImages = "[an image was attached here; this model cannot see images]"

// noSchema is the parameters of a tool that has none.
var noSchema = json.RawMessage(`{"type":"object","properties":{}}`)

func (c *Client) chatRequest(req model.Request) chatRequest {
	out := chatRequest{
		Model:         req.Model,
		Tools:         chatTools(req.Tools),
		Messages:      make([]chatMessage, 0, len(req.Messages)),
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
		Temperature:   req.Temperature,
		Seed:          req.Seed,
	}
	if c.config.Provider == ProviderOpenAI {
		out.MaxCompletion = req.MaxTokens
		if fixedTemperature(req.Model) {
			out.Temperature = nil
		}
	} else {
		out.MaxTokens = req.MaxTokens
	}
	caps := c.caps(req.Model)
	images := caps.Images
	out.Effort = caps.Effort
	for _, m := range req.Messages {
		sent := chatMessage{Role: string(m.Role), Content: m.Text, ToolCallID: m.CallID}
		if len(m.Images) > 0 {
			sent.Content = imageParts(m, images)
		}
		if m.Role == model.RoleAssistant {
			sent.ToolCalls = sentCalls(m.Calls)
			// Only llama.cpp is known to want its reasoning back; others ignore or refuse it.
			if c.config.Provider == ProviderLlamaCpp {
				sent.Reasoning = m.Reasoning
			}
		}
		out.Messages = append(out.Messages, sent)
	}
	return out
}

// fixedTemperature names OpenAI's reasoning models, which refuse a temperature.
func fixedTemperature(name string) bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func chatTools(tools []model.Tool) []chatTool {
	var out []chatTool
	for _, t := range tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = noSchema
		}
		out = append(out, chatTool{Type: "function", Function: chatFunction{Name: t.Name, Description: t.Description, Parameters: schema}})
	}
	return out
}

func imageParts(m model.Message, seen bool) any {
	if !seen {
		return strings.TrimPrefix(m.Text+"\n"+noImages, "\n")
	}
	var parts []contentPart
	if m.Text != "" {
		parts = append(parts, contentPart{Type: "text", Text: m.Text})
	}
	for _, url := range m.Images {
		parts = append(parts, contentPart{Type: "image_url", ImageURL: &imageURL{url}})
	}
	return parts
}

func sentCalls(calls []model.Call) []sentCall {
	var out []sentCall
	for _, c := range calls {
		out = append(out, sentCall{ID: c.ID, Type: "function", Function: sentFunction{Name: c.Name, Arguments: string(sentArguments(c))}})
	}
	return out
}

// sentArguments is a call's arguments as servers accept them: several parse
// them for their template and fail on what is no object.
func sentArguments(c model.Call) json.RawMessage {
	if c.Invalid != "" || len(c.Args) == 0 {
		return json.RawMessage("{}")
	}
	return c.Args
}
