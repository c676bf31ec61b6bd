package anthropic

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// event is one event of a stream, of whatever kind; unknown kinds are ignored.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		JSON      string `json:"partial_json"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Stop      string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// UnmarshalJSON reads an event. One of a kind that is not known may have
// another shape: it is ignored.
func (e *event) UnmarshalJSON(data []byte) error {
	type fields event
	err := json.Unmarshal(data, (*fields)(e))
	if err == nil {
		return nil
	}
	var kind struct{ Type string }
	if json.Unmarshal(data, &kind) != nil || kind.Type == "" || slices.Contains(kinds, kind.Type) {
		return err
	}
	*e = event{Type: kind.Type}
	return nil
}

var kinds = []string{"message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}

// usage is what a call cost so far; all figures are cumulative, and a later
// event may leave some out.
type usage struct {
	Input  *int `json:"input_tokens"`
	Output *int `json:"output_tokens"`
	Read   *int `json:"cache_read_input_tokens"`
	Write  *int `json:"cache_creation_input_tokens"`
}

func (u *usage) update(v usage) {
	for _, f := range []struct {
		have **int
		got  *int
	}{{&u.Input, v.Input}, {&u.Output, v.Output}, {&u.Read, v.Read}, {&u.Write, v.Write}} {
		if f.got != nil && *f.got >= 0 {
			*f.have = f.got
		}
	}
}

// block is one content block as it grows. Servers send blocks interleaved, so
// each is found by its index.
type block struct {
	index     int
	kind      string
	text      strings.Builder // text, reasoning or arguments
	signature string
	data      string
	id, name  string
	call      int             // its number among the calls
	input     json.RawMessage // arguments that came whole
}

// reply is the state of one reply as its events come in.
type reply struct {
	call    *call
	blocks  []*block
	calls   int
	size    int // bytes of text, reasoning and arguments
	finish  string
	stopped bool // message_stop has come
	usage   usage
	meta    map[string]string
}

func newReply(k *call, header http.Header) *reply {
	r := &reply{call: k, meta: map[string]string{}}
	if id := header.Get("Request-Id"); id != "" {
		r.meta["requestId"] = wire.Shown([]byte(id), wire.NonsenseShown)
	}
	return r
}

// take reads one event.
func (r *reply) take(e event) error {
	switch e.Type {
	case "message_start":
		r.usage.update(e.Message.Usage)
		if e.Message.Model != "" {
			r.meta["model"] = wire.Shown([]byte(e.Message.Model), wire.NonsenseShown)
		}
	case "content_block_start":
		return r.open(e)
	case "content_block_delta":
		return r.grow(e)
	case "message_delta":
		r.usage.update(e.Usage)
		if e.Delta.Stop != "" {
			r.finish = e.Delta.Stop
			r.call.watch.Finish()
		}
	case "message_stop":
		r.stopped = true
	}
	return nil
}

// find is the block with this index, nil if there is none.
func (r *reply) find(index int) *block {
	for i := len(r.blocks) - 1; i >= 0; i-- {
		if r.blocks[i].index == index {
			return r.blocks[i]
		}
	}
	return nil
}

// open begins a block. What it holds already counts as its first piece.
func (r *reply) open(e event) error {
	b := &block{index: e.Index, kind: e.Block.Type, signature: e.Block.Signature, data: e.Block.Data}
	if limit := r.call.client.server.Limits.Calls; len(r.blocks) >= limit {
		return r.call.fail(model.Server, fmt.Sprintf("more than %d blocks in one reply", limit), "the model runs away")
	}
	r.blocks = append(r.blocks, b)
	switch b.kind {
	case blockText:
		return r.text(b, e.Block.Text)
	case blockThinking:
		return r.thinking(b, e.Block.Thinking)
	case blockRedacted:
		return r.count(len(b.data))
	case blockCall:
		b.id, b.name, b.call = cmp.Or(e.Block.ID, "toolu_"+rand.Text()), e.Block.Name, r.calls
		if s := string(e.Block.Input); s != "{}" && s != "null" {
			b.input = e.Block.Input
		}
		r.calls++
		return r.emit(model.Delta{CallDelta: &model.CallDelta{Index: b.call, ID: b.id, Name: b.name}}, len(b.id)+len(b.name)+len(b.input))
	}
	return nil
}

// grow adds a piece to the block that it belongs to. A piece of a block that
// was never opened opens it, if it says of what kind.
func (r *reply) grow(e event) error {
	b := r.find(e.Index)
	if b == nil {
		kind := map[string]string{"text_delta": blockText, "thinking_delta": blockThinking}[e.Delta.Type]
		if kind == "" {
			return nil
		}
		e.Block.Type = kind
		if err := r.open(e); err != nil {
			return err
		}
		b = r.find(e.Index)
	}
	switch {
	case e.Delta.Type == "text_delta" && b.kind == blockText:
		return r.text(b, e.Delta.Text)
	case e.Delta.Type == "thinking_delta" && b.kind == blockThinking:
		return r.thinking(b, e.Delta.Thinking)
	case e.Delta.Type == "signature_delta" && b.kind == blockThinking:
		b.signature += e.Delta.Signature
		return r.count(len(e.Delta.Signature))
	case e.Delta.Type == "input_json_delta" && b.kind == blockCall && e.Delta.JSON != "":
		b.text.WriteString(e.Delta.JSON)
		return r.emit(model.Delta{CallDelta: &model.CallDelta{Index: b.call, Args: e.Delta.JSON}}, len(e.Delta.JSON))
	}
	return nil
}

func (r *reply) text(b *block, s string) error {
	b.text.WriteString(s)
	if s == "" {
		return nil
	}
	return r.emit(model.Delta{Text: s}, len(s))
}

func (r *reply) thinking(b *block, s string) error {
	b.text.WriteString(s)
	if s == "" {
		return nil
	}
	return r.emit(model.Delta{Reasoning: s}, len(s))
}

// count keeps the reply within its bounds.
func (r *reply) count(size int) error {
	if limit := r.call.client.server.Limits.Reply; r.size+size > limit {
		return r.call.fail(model.Server, fmt.Sprintf("the reply is larger than %d bytes", limit), "the model runs away; ask for less at once")
	}
	r.size += size
	return nil
}

func (r *reply) emit(d model.Delta, size int) error {
	if err := r.count(size); err != nil {
		return err
	}
	if !r.call.yield(d, nil) {
		return errStopped
	}
	return nil
}

// finishes are the stop reasons. pause_turn belongs to tools of the server,
// which are not asked for.
var finishes = map[string]model.Finish{
	"end_turn": model.FinishStop, "stop_sequence": model.FinishStop, "tool_use": model.FinishCalls,
	"max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength, "refusal": model.FinishFilter,
}

// done ends the reply: an error unless it has a reason and its last event.
func (r *reply) done() (*model.Done, error) {
	if r.finish == "" {
		return nil, r.call.fail(model.CutOff, "the reply ended without a finish reason", wire.KeptHint)
	}
	if !r.stopped {
		return nil, r.call.fail(model.CutOff, "the reply ended without its last event", wire.KeptHint)
	}
	d := &model.Done{Finish: finishes[r.finish], Usage: r.usageSoFar()}
	if d.Finish == "" || r.finish == "model_context_window_exceeded" {
		d.Finish = cmp.Or(d.Finish, model.FinishUnknown)
		d.Usage.Meta["finish"] = wire.Shown([]byte(r.finish), wire.NonsenseShown)
	}
	if d.Finish != model.FinishStop && d.Finish != model.FinishCalls {
		return d, nil // cut or refused: no call of it may run
	}
	for _, b := range r.blocks {
		if b.kind == blockCall {
			d.Calls = append(d.Calls, b.toolCall())
		}
	}
	if len(d.Calls) > 0 {
		d.Finish = model.FinishCalls
	} else if d.Finish == model.FinishCalls {
		return nil, r.call.fail(model.Server, "the server announced tool calls and sent none", "try again")
	}
	d.Carry = carry(r.call.req.Model, r.call.print, r.blocks)
	return d, nil
}

// toolCall is the finished call, with its arguments checked.
func (b *block) toolCall() model.Call {
	c := model.Call{ID: b.id, Name: b.name}
	raw := b.text.String()
	if raw == "" {
		raw = string(b.input)
	}
	c.Args, c.Invalid = wire.Object(raw)
	if c.Name == "" {
		c.Invalid = "the call names no tool"
	}
	return c
}

// usageSoFar is what the server reported, or else an estimate. The API counts
// cached input apart; we count it in.
func (r *reply) usageSoFar() model.Usage {
	u := model.Usage{Meta: r.meta}
	if r.usage.Input == nil || r.usage.Output == nil {
		u.Input, u.Output = wire.Estimate(r.call.sent), wire.Estimate(r.size)
		return u
	}
	value := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	u.Reported = true
	u.CacheRead, u.CacheWrite, u.Output = value(r.usage.Read), value(r.usage.Write), value(r.usage.Output)
	u.Input = value(r.usage.Input) + u.CacheRead + u.CacheWrite
	u.CostUSD = r.call.client.caps(r.call.req.Model).Cost(u)
	return u
}
