package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// chunk is one event of a streamed completion, or a whole completion where a
// server does not stream. Everything may be missing or null.
type chunk struct {
	Choices []struct {
		Index   int       `json:"index"`
		Delta   *received `json:"delta"`
		Message *received `json:"message"`
		Finish  string    `json:"finish_reason"`
	} `json:"choices"`
	Usage       *usage `json:"usage"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
	Timings     *struct {
		Cached int `json:"cache_n"`
	} `json:"timings"` // llama.cpp
	Groq *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	wire.Envelope
}

type received struct {
	Content          json.RawMessage `json:"content"` // string, null or a list of parts
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"` // llama.cpp, vLLM, DeepSeek
	Reasoning        json.RawMessage `json:"reasoning"`         // Groq, newer vLLM, OpenRouter
	ToolCalls        []receivedCall  `json:"tool_calls"`
}

type receivedCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string, mostly; an object, null
	} `json:"function"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutDetails *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// reply is the state of one reply as its pieces come in.
type reply struct {
	call   *call
	finish string
	think  thinkSplitter
	calls  []*growingCall
	size   int // bytes of text, reasoning and arguments
	usage  *usage
	cached int // llama.cpp's timings
	meta   map[string]string
}

func newReply(k *call, header http.Header) *reply {
	r := &reply{call: k, meta: map[string]string{}}
	if id := cmp.Or(header.Get("X-Request-Id"), header.Get("Request-Id")); id != "" {
		r.meta["requestId"] = id
	}
	return r
}

// read yields the deltas of a body of either kind. It returns nil at the end
// of the stream, whether or not there was a finish.
func (r *reply) read(contentType string, body io.Reader) error {
	switch {
	case r.call.client.config.Provider == ProviderOllama:
		return r.readLines(body)
	case strings.HasPrefix(contentType, "application/json"):
		return r.readWhole(body)
	case strings.HasPrefix(contentType, "text/html"):
		return r.call.fail(model.NotFound, "what answers is a web page", "is "+r.call.client.server.Shown+" the base URL of a chat-completions API?")
	}
	events := wire.NewEventReader(body, r.call.client.server.Limits.Event)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return r.tooLong(err)
		}
		r.call.watch.Begin()
		if bytes.Equal(bytes.TrimSpace(e.Data), wire.DoneMark) {
			return nil
		}
		if err := r.take(e.Data); err != nil {
			return err
		}
	}
}

// readWhole reads the reply of a server that was asked to stream and didn't.
func (r *reply) readWhole(body io.Reader) error {
	limit := r.call.client.server.Limits.Reply
	data, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if err != nil {
		return err
	}
	if len(data) > limit {
		return r.tooLarge()
	}
	r.call.watch.Begin()
	return r.take(data)
}

func (r *reply) tooLong(err error) error {
	if errors.Is(err, wire.ErrEventTooLong) {
		return r.call.fail(model.Server, err.Error(), "the server misbehaves")
	}
	return err
}

func (r *reply) tooLarge() error {
	return r.call.fail(model.Server, fmt.Sprintf("the reply is larger than %d bytes", r.call.client.server.Limits.Reply), "the model runs away; ask for less at once")
}

// take reads one event's data.
func (r *reply) take(data []byte) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return r.call.fail(model.Server, "the server sent what is no completion: "+wire.Shown(data, wire.NonsenseShown), "is base_url that of a chat-completions API?")
	}
	if c.Present() {
		return r.call.client.server.StreamError(r.call.name, data)
	}
	r.note(c)
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		for _, d := range []*received{choice.Delta, choice.Message} {
			if d == nil {
				continue
			}
			if err := r.grow(d); err != nil {
				return err
			}
		}
		if choice.Finish != "" {
			r.end(choice.Finish)
		}
	}
	return nil
}

func (r *reply) end(reason string) {
	r.finish = reason
	r.call.watch.Finish()
}

// note keeps what is said about the reply as a whole.
func (r *reply) note(c chunk) {
	if c.Usage != nil {
		r.usage = c.Usage
	} else if c.Groq != nil && c.Groq.Usage != nil {
		r.usage = c.Groq.Usage
	}
	if c.Timings != nil {
		r.cached = c.Timings.Cached
	}
	if c.Model != "" {
		r.meta["model"] = wire.Shown([]byte(c.Model), wire.NonsenseShown)
	}
	if c.Fingerprint != "" {
		r.meta["fingerprint"] = wire.Shown([]byte(c.Fingerprint), wire.NonsenseShown)
	}
}

func (r *reply) grow(d *received) error {
	content, thought := parts(d.Content)
	// The same reasoning may be there under both names.
	named, _ := parts(d.ReasoningContent)
	other, _ := parts(d.Reasoning)
	text, tagged := r.think.split(content)
	refusal, _ := parts(d.Refusal)
	if err := r.reasoning(cmp.Or(named, other, thought) + tagged); err != nil {
		return err
	}
	if err := r.text(text + refusal); err != nil {
		return err
	}
	for _, tc := range d.ToolCalls {
		if err := r.growCall(tc); err != nil {
			return err
		}
	}
	return nil
}

// parts reads content that is a string, null, or a list of parts with text or,
// as Mistral sends it, with thinking.
func parts(raw json.RawMessage) (text, thought string) {
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var list []struct {
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return "", ""
	}
	for _, p := range list {
		text += p.Text
		if len(p.Thinking) > 0 {
			inner, _ := parts(p.Thinking)
			thought += inner
		}
	}
	return text, thought
}

func (r *reply) text(s string) error {
	if s == "" {
		return nil
	}
	return r.emit(model.Delta{Text: s}, len(s))
}

func (r *reply) reasoning(s string) error {
	if s == "" {
		return nil
	}
	return r.emit(model.Delta{Reasoning: s}, len(s))
}

func (r *reply) emit(d model.Delta, size int) error {
	if r.size += size; r.size > r.call.client.server.Limits.Reply {
		return r.tooLarge()
	}
	if !r.call.yield(d, nil) {
		return errStopped
	}
	return nil
}

// finishes are the reasons in the words of the servers.
var finishes = map[string]model.Finish{
	"stop": model.FinishStop, "end_turn": model.FinishStop, "eos": model.FinishStop, "eos_token": model.FinishStop, "stop_sequence": model.FinishStop,
	"tool_calls": model.FinishCalls, "function_call": model.FinishCalls, "tool_use": model.FinishCalls,
	"length": model.FinishLength, "max_tokens": model.FinishLength, "model_length": model.FinishLength,
	"content_filter": model.FinishFilter, "refusal": model.FinishFilter,
}

// done ends the reply: an error unless it has a finish.
func (r *reply) done() (*model.Done, error) {
	text, reasoning := r.think.flush()
	if err := r.reasoning(reasoning); err != nil {
		return nil, err
	}
	if err := r.text(text); err != nil {
		return nil, err
	}
	switch r.finish {
	case "":
		return nil, r.call.fail(model.CutOff, "the reply ended without a finish reason", wire.KeptHint)
	case "error", "abort", "load", "unload":
		return nil, r.call.fail(model.Server, "the server broke the reply off: "+r.finish, wire.KeptHint)
	}
	d := &model.Done{Finish: finishes[r.finish], Usage: r.usageSoFar()}
	if d.Finish == "" {
		d.Finish = model.FinishUnknown
		d.Usage.Meta["finish"] = wire.Shown([]byte(r.finish), wire.NonsenseShown)
	}
	switch d.Finish {
	case model.FinishStop, model.FinishCalls:
		for _, g := range r.calls {
			d.Calls = append(d.Calls, g.call())
		}
		if len(d.Calls) > 0 {
			d.Finish = model.FinishCalls // some servers say stop
		} else if d.Finish == model.FinishCalls {
			return nil, r.call.fail(model.Server, "the server announced tool calls and sent none", "some versions of vLLM lose them: update the server, or try again")
		}
	}
	return d, nil
}

// usageSoFar is what the server reported, or else an estimate.
func (r *reply) usageSoFar() model.Usage {
	u := model.Usage{Meta: r.meta}
	if r.usage == nil {
		u.Input, u.Output = wire.Estimate(r.call.sent), wire.Estimate(r.size)
		return u
	}
	u.Reported = true
	u.Input, u.Output = r.usage.Prompt, r.usage.Completion
	u.CacheRead = max(r.usage.CacheHit, r.cached)
	if r.usage.Details != nil {
		u.CacheRead = max(u.CacheRead, r.usage.Details.Cached)
	}
	u.CacheRead = min(u.CacheRead, u.Input)
	if r.usage.OutDetails != nil && r.usage.OutDetails.Reasoning > 0 {
		r.meta["reasoningTokens"] = fmt.Sprint(r.usage.OutDetails.Reasoning)
	}
	u.CostUSD = r.call.client.caps(r.call.req.Model).Cost(u)
	return u
}
