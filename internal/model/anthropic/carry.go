package anthropic

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// carried is what a reply with reasoning needs to be sent back as it was: its
// blocks in their order. Texts and calls are in the message itself; here is
// only where they stood.
//
// The newer models refuse reasoning that another model signed, or that stood in
// another conversation: after a compaction, an undo or a switch of models it is
// left out, and the models go on without.
type carried struct {
	Model  string         `json:"model"`
	Print  string         `json:"print"` // of the conversation before the reply
	Blocks []carriedBlock `json:"blocks"`
}

// carriedBlock is one block: reasoning in full, a text by its length in bytes,
// a call by being the next one.
type carriedBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"` // of redacted reasoning
	Length    int    `json:"length,omitempty"`
}

// Kinds of blocks.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockCall     = "tool_use"
	blockResult   = "tool_result"
	blockImage    = "image"
)

// restorable says whether an earlier reply can be sent back as it was.
func restorable(m model.Message, name, print string) (c carried, ok bool) {
	if len(m.Carry) == 0 || json.Unmarshal(m.Carry, &c) != nil {
		return c, false
	}
	return c, c.Model == name && c.Print == print && c.fits(m)
}

// plainBlocks is an earlier reply without its reasoning.
func plainBlocks(m model.Message) []content {
	out := textBlocks(m.Text)
	for _, call := range m.Calls {
		out = append(out, callBlock(call))
	}
	return out
}

// fits says whether the message is still the one that the blocks were noted
// of: its text may have been cut to fit a window.
func (c carried) fits(m model.Message) bool {
	length, calls := 0, 0
	for _, b := range c.Blocks {
		if b.Length < 0 {
			return false
		}
		length += b.Length
		if b.Type == blockCall {
			calls++
		}
	}
	return length == len(m.Text) && calls == len(m.Calls)
}

func (c carried) restore(m model.Message) []content {
	var out []content
	text, calls := m.Text, m.Calls
	for _, b := range c.Blocks {
		switch b.Type {
		case blockThinking:
			out = append(out, content{Type: blockThinking, Signature: b.Signature, Thinking: &b.Thinking})
		case blockRedacted:
			out = append(out, content{Type: blockRedacted, Data: b.Data})
		case blockText:
			out = append(out, textBlocks(text[:b.Length])...)
			text = text[b.Length:]
		case blockCall:
			out = append(out, callBlock(calls[0]))
			calls = calls[1:]
		}
	}
	return out
}

// carry notes a reply's blocks; nil where no reasoning was signed.
func carry(name, print string, blocks []*block) json.RawMessage {
	c := carried{Model: name, Print: print}
	signed := false
	for _, b := range blocks {
		switch b.kind {
		case blockText:
			if b.text.Len() > 0 {
				c.Blocks = append(c.Blocks, carriedBlock{Type: blockText, Length: b.text.Len()})
			}
		case blockCall:
			c.Blocks = append(c.Blocks, carriedBlock{Type: blockCall})
		case blockThinking:
			if b.signature != "" { // unsigned reasoning, of other servers, is refused
				c.Blocks = append(c.Blocks, carriedBlock{Type: blockThinking, Thinking: b.text.String(), Signature: b.signature})
				signed = true
			}
		case blockRedacted:
			c.Blocks = append(c.Blocks, carriedBlock{Type: blockRedacted, Data: b.data})
			signed = true
		}
	}
	if !signed {
		return nil
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil // strings and numbers always marshal
	}
	return raw
}
