package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// Bounds of a request.
const (
	breakpointsMax = 4      // cache_control marks that the API takes
	outputMax      = 32_000 // tokens of output that are asked for, reasoning included, where nothing else is said
	outputMin      = 1024
	printBytes     = 16
	thinkingRoom   = 4096
	windowMargin   = 5 // the estimate of the prompt may be off by a fifth
)

const (
	noImages = "[an image was left out: this model takes none]"
	goOn     = "[The reply above was cut off before its end. Go on from there.]"
)

// noSchema is the schema of a tool that takes nothing.
var noSchema = json.RawMessage(`{"type":"object","properties":{}}`)

// params is the body of POST /v1/messages. The order of fields is fixed, so that equal
// conversations give equal bytes.
type params struct {
	MaxTokens   int           `json:"max_tokens"`
	Messages    []message     `json:"messages"`
	Model       string        `json:"model"`
	System      []content     `json:"system,omitempty"`
	Temperature *float64      `json:"temperature,omitempty"`
	Output      *outputConfig `json:"output_config,omitempty"`
	Thinking    *thinking     `json:"thinking,omitempty"`
	Tools       []tool        `json:"tools,omitempty"`
	Stream      bool          `json:"stream"`
}

type message struct {
	Content []content `json:"content"`
	Role    string    `json:"role"`
}

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// content is one block of content, of any kind.
type content struct {
	ToolUseID string          `json:"tool_use_id,omitempty"` // of a result
	IsError   bool            `json:"is_error,omitempty"`
	ID        string          `json:"id,omitempty"` // of a call
	Input     json.RawMessage `json:"input,omitempty"`
	Name      string          `json:"name,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"` // may be empty beside a signature
	Data      string          `json:"data,omitempty"`
	Text      string          `json:"text,omitempty"`
	Source    *source         `json:"source,omitempty"` // of an image
	Cache     *cacheControl   `json:"cache_control,omitempty"`
	Content   []content       `json:"content,omitempty"` // of a result
	Type      string          `json:"type"`
}

type source struct {
	Data      string `json:"data"`
	MediaType string `json:"media_type"`
	Type      string `json:"type"`
}

type cacheControl struct {
	Type string `json:"type"`
}

type thinking struct {
	Display string `json:"display,omitempty"`
	Type    string `json:"type"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

type tool struct {
	InputSchema json.RawMessage `json:"input_schema"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
}

// params maps a request, and gives the print of its conversation, to which the
// reply's reasoning is bound. Equal conversations give equal bytes, so that the
// server can reuse the prefix.
func (c *Client) params(req model.Request) (p params, print string) {
	caps := c.caps(req.Model)
	p = params{Model: req.Model, MaxTokens: maxTokens(req, caps), Stream: true}
	b := &builder{caps: caps, model: req.Model, left: breakpointsMax, said: sha256.New()}
	for _, m := range req.Messages {
		if m.CacheBreak {
			b.marks++
		}
	}
	// The plan marks what stays; what is new in this request is what the next one
	// of the same run begins with, and is worth remembering too.
	last := len(req.Messages) - 1
	if b.marks > 0 && last > 0 && !req.Messages[last].CacheBreak {
		req.Messages = slices.Clone(req.Messages)
		req.Messages[last].CacheBreak = true
		b.marks++
	}
	for i, m := range req.Messages {
		if m.Role == model.RoleSystem && i == 0 {
			b.note(m)
			if m.Text != "" {
				p.System = []content{{Type: blockText, Text: m.Text, Cache: b.cache(m.CacheBreak)}}
			}
			continue
		}
		b.add(m)
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == roleAssistant {
		b.append(roleUser, content{Type: blockText, Text: goOn})
		b.note(model.Message{Role: model.RoleUser, Text: goOn})
	}
	p.Messages = b.out
	for _, t := range req.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = noSchema
		}
		p.Tools = append(p.Tools, tool{InputSchema: schema, Name: t.Name, Description: t.Description})
	}
	think(&p, req, caps)
	return p, b.print()
}

// think asks for reasoning in the way that the model knows. Models that reason
// refuse a temperature; a request that sets one is mechanical and wants none.
func think(p *params, req model.Request, caps model.Caps) {
	switch {
	case caps.Thinking == "":
		p.Temperature = req.Temperature
		return
	case caps.Thinking == model.ThinkingAdaptive && req.Temperature != nil:
		p.Thinking = &thinking{Type: "disabled"}
	default:
		p.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		if req.MaxTokens > 0 {
			p.MaxTokens += thinkingRoom // the reasoning counts, and what was asked for is meant for the answer
		}
	}
	if caps.Effort != "" {
		p.Output = &outputConfig{caps.Effort}
	}
}

// maxTokens is how much output is asked for; the API wants a number. Prompt and
// output together must fit the window.
func maxTokens(req model.Request, caps model.Caps) int {
	n := outputMax
	if caps.OutputLimit > 0 {
		n = min(n, caps.OutputLimit)
	}
	if req.MaxTokens > 0 {
		return req.MaxTokens
	}
	if caps.ContextWindow > 0 {
		size := 0
		for _, m := range req.Messages {
			size += len(m.Text) + len(m.Carry)
			for _, call := range m.Calls {
				size += len(call.Args)
			}
		}
		for _, t := range req.Tools {
			size += len(t.Description) + len(t.Schema)
		}
		prompt := wire.Estimate(size)
		n = min(n, caps.ContextWindow-prompt-prompt/windowMargin)
	}
	return max(n, outputMin)
}

// builder puts messages together: the API has no tool role, and wants results
// first in a user's message.
type builder struct {
	caps  model.Caps
	model string
	out   []message
	marks int // breakpoints that are still to come
	left  int // of them, how many may be set: the last ones count most
	said  hash.Hash
}

// note adds a message to the conversation's print.
func (b *builder) note(m model.Message) {
	m.CacheBreak = false
	_ = json.NewEncoder(b.said).Encode(m) // a hash takes everything; args that are no JSON were refused before
}

// print tells this conversation so far from any other.
func (b *builder) print() string { return hex.EncodeToString(b.said.Sum(nil)[:printBytes]) }

// cache is the mark of a breakpoint, if there is to be one.
func (b *builder) cache(wanted bool) *cacheControl {
	if !wanted {
		return nil
	}
	b.marks--
	if b.marks >= b.left {
		return nil
	}
	b.left--
	return &cacheControl{Type: "ephemeral"}
}

func (b *builder) append(role string, blocks ...content) {
	if len(blocks) == 0 {
		return
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == role {
		b.out[n-1].Content = append(b.out[n-1].Content, blocks...)
		return
	}
	b.out = append(b.out, message{Role: role, Content: blocks})
}

func (b *builder) add(m model.Message) {
	role := roleUser
	var blocks []content
	switch m.Role {
	case model.RoleAssistant:
		role = roleAssistant
		if c, ok := restorable(m, b.model, b.print()); ok {
			blocks = c.restore(m)
		} else {
			m.Carry, blocks = nil, plainBlocks(m)
		}
	case model.RoleTool:
		result := content{Type: blockResult, ToolUseID: m.CallID, IsError: m.IsError}
		if m.Text != "" {
			result.Content = append(result.Content, content{Type: blockText, Text: m.Text})
		}
		result.Content = append(result.Content, b.images(m.Images)...)
		blocks = []content{result}
	default: // the person, and system messages after the first
		blocks = append(textBlocks(m.Text), b.images(m.Images)...)
	}
	b.note(m)
	if mark := b.cache(m.CacheBreak); mark != nil {
		setMark(blocks, mark)
	}
	b.append(role, blocks...)
}

// setMark puts a breakpoint on the last block that can bear one.
func setMark(blocks []content, mark *cacheControl) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if kind := blocks[i].Type; kind != blockThinking && kind != blockRedacted {
			blocks[i].Cache = mark
			return
		}
	}
}

// textBlocks is a text as content; the API refuses empty ones.
func textBlocks(s string) []content {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []content{{Type: blockText, Text: s}}
}

// images are data URLs as content, or words where the model takes none.
func (b *builder) images(urls []string) []content {
	var out []content
	for _, u := range urls {
		head, data, ok := strings.Cut(u, ",")
		kind, isBase64 := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
		if !b.caps.Images || !ok || !isBase64 {
			return append(out, content{Type: blockText, Text: noImages})
		}
		out = append(out, content{Type: blockImage, Source: &source{Type: "base64", MediaType: kind, Data: data}})
	}
	return out
}

// callBlock is a call as it goes back: arguments that were no object as an
// empty one, because the API refuses others.
func callBlock(c model.Call) content {
	args := c.Args
	if c.Invalid != "" || len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return content{Type: blockCall, ID: c.ID, Name: c.Name, Input: args}
}
