package anthropic

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"slices"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

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

// params maps a request, and gives the print of its conversation, to which the
// reply's reasoning is bound. Equal conversations give equal bytes, so that the
// server can reuse the prefix.
func (c *Client) params(req model.Request) (p sdk.MessageNewParams, print string) {
	caps := c.caps(req.Model)
	p = sdk.MessageNewParams{Model: sdk.Model(req.Model), MaxTokens: int64(maxTokens(req, caps))}
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
				p.System = []sdk.TextBlockParam{{Text: m.Text, CacheControl: b.cache(m.CacheBreak)}}
			}
			continue
		}
		b.add(m)
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == sdk.MessageParamRoleAssistant {
		b.append(sdk.MessageParamRoleUser, sdk.NewTextBlock(goOn))
		b.note(model.Message{Role: model.RoleUser, Text: goOn})
	}
	p.Messages = b.out
	for _, t := range req.Tools {
		schema := t.Schema
		if len(schema) == 0 {
			schema = noSchema
		}
		tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if t.Description != "" {
			tool.Description = sdk.String(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &tool})
	}
	think(&p, req, caps)
	return p, b.print()
}

// think asks for reasoning in the way that the model knows. Models that reason
// refuse a temperature; a request that sets one is mechanical and wants none.
func think(p *sdk.MessageNewParams, req model.Request, caps model.Caps) {
	switch {
	case caps.Thinking == "":
		if req.Temperature != nil {
			p.Temperature = sdk.Float(*req.Temperature)
		}
		return
	case caps.Thinking == model.ThinkingAdaptive && req.Temperature != nil:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfDisabled: &sdk.ThinkingConfigDisabledParam{}}
	default:
		p.Thinking = sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}}
	}
	if p.Thinking.OfAdaptive != nil && req.MaxTokens > 0 {
		p.MaxTokens += thinkingRoom // the reasoning counts, and what was asked for is meant for the answer
	}
	if caps.Effort != "" {
		p.OutputConfig.Effort = sdk.OutputConfigEffort(caps.Effort)
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
	out   []sdk.MessageParam
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
func (b *builder) cache(wanted bool) sdk.CacheControlEphemeralParam {
	if !wanted {
		return sdk.CacheControlEphemeralParam{}
	}
	b.marks--
	if b.marks >= b.left {
		return sdk.CacheControlEphemeralParam{}
	}
	b.left--
	return sdk.NewCacheControlEphemeralParam()
}

func (b *builder) append(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(b.out); n > 0 && b.out[n-1].Role == role {
		b.out[n-1].Content = append(b.out[n-1].Content, blocks...)
		return
	}
	b.out = append(b.out, sdk.MessageParam{Role: role, Content: blocks})
}

func (b *builder) add(m model.Message) {
	role := sdk.MessageParamRoleUser
	var blocks []sdk.ContentBlockParamUnion
	switch m.Role {
	case model.RoleAssistant:
		role = sdk.MessageParamRoleAssistant
		if c, ok := restorable(m, b.model, b.print()); ok {
			blocks = c.restore(m)
		} else {
			m.Carry, blocks = nil, plainBlocks(m)
		}
	case model.RoleTool:
		result := sdk.ToolResultBlockParam{ToolUseID: m.CallID}
		if m.IsError {
			result.IsError = sdk.Bool(true)
		}
		if m.Text != "" {
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: m.Text}})
		}
		for _, image := range b.images(m.Images) {
			result.Content = append(result.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image.OfImage, OfText: image.OfText})
		}
		blocks = []sdk.ContentBlockParamUnion{{OfToolResult: &result}}
	default: // the person, and system messages after the first
		blocks = append(textBlocks(m.Text), b.images(m.Images)...)
	}
	b.note(m)
	if mark := b.cache(m.CacheBreak); mark.Type != "" {
		setMark(blocks, mark)
	}
	b.append(role, blocks...)
}

// setMark puts a breakpoint on the last block that can bear one.
func setMark(blocks []sdk.ContentBlockParamUnion, mark sdk.CacheControlEphemeralParam) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if at := blocks[i].GetCacheControl(); at != nil { // reasoning has none
			*at = mark
			return
		}
	}
}

// textBlocks is a text as content; the API refuses empty ones.
func textBlocks(s string) []sdk.ContentBlockParamUnion {
	if strings.TrimSpace(s) == "" {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(s)}
}

// images are data URLs as content, or words where the model takes none.
func (b *builder) images(urls []string) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, u := range urls {
		head, data, ok := strings.Cut(u, ",")
		kind, isBase64 := strings.CutSuffix(strings.TrimPrefix(head, "data:"), ";base64")
		if !b.caps.Images || !ok || !isBase64 {
			return append(out, sdk.NewTextBlock(noImages))
		}
		out = append(out, sdk.NewImageBlockBase64(kind, data))
	}
	return out
}

// callBlock is a call as it goes back: arguments that were no object as an
// empty one, because the API refuses others.
func callBlock(c model.Call) sdk.ContentBlockParamUnion {
	args := c.Args
	if c.Invalid != "" || len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return sdk.NewToolUseBlock(c.ID, args, c.Name)
}
