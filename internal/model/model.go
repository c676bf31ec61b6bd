// Package model is the one small interface behind which every language model stands.
//
// # What it does
//
// It defines what a model is asked (Request), what streams back (Delta), what
// it cost (Usage) and how it fails (Error). Adapters live in sub-packages:
// builtin (the embedded offline engine), anthropic (the Messages API) and openai
// (every server that speaks chat completions); wire is what the last two share,
// and catalog chooses among them all.
//
// # What it doesn't do
//
// It does not retry, does not choose a model, does not decide what a prompt
// holds and does not run tools. Retrying is the agent's policy, because the
// person must see it; what is in a prompt is the ContextPlan's business.
//
// # Invariants
//
//   - MODEL-1 A stream that ends without a Done delta is a failure
//     (Error.Kind == CutOff): [Collect], TestCollectNeedsDone.
//   - MODEL-2 A cut reply never yields a call that can be run: each adapter's
//     own tests hold it.
package model

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Role is who speaks in a Message.
type Role string

// The roles, in the words of every provider's API.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the prompt. An assistant message may carry Calls; a
// tool message answers the call CallID.
type Message struct {
	Role      Role   `json:"role"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	Calls     []Call `json:"calls,omitempty"`
	CallID    string `json:"callId,omitempty"`
	IsError   bool   `json:"isError,omitempty"`
	// Images are data URLs; models without image input get a line of text instead.
	Images []string `json:"images,omitempty"`
	// CacheBreak asks a provider that bills cached prefixes to end a cached
	// prefix after this message.
	CacheBreak bool `json:"cacheBreak,omitempty"`
	// Carry is what an earlier reply's Done gave to be sent back unchanged with
	// it: signed reasoning, in the provider's own form. Others ignore it.
	Carry json.RawMessage `json:"carry,omitempty"`
}

// Call is one tool call that a model asks for. Args is a JSON object, or the
// model's raw text as a JSON string when Invalid says why it is none.
type Call struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Invalid string          `json:"invalid,omitempty"`
}

// Tool is what a model is told of a tool. Schema is a JSON Schema object.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// Request is one model call. Messages begin with the system message, if any.
type Request struct {
	Model       string    `json:"model"` // the provider's own name of the model
	Messages    []Message `json:"messages"`
	Tools       []Tool    `json:"tools,omitempty"`
	MaxTokens   int       `json:"maxTokens,omitempty"` // of output; 0 = the model's default
	Temperature *float64  `json:"temperature,omitempty"`
	Seed        *int64    `json:"seed,omitempty"`
}

// Finish is why a reply ended.
type Finish string

// The reasons. Every reply that was not cut off has exactly one.
const (
	FinishStop    Finish = "stop"    // the model had no more to say
	FinishCalls   Finish = "calls"   // it waits for its calls' results
	FinishLength  Finish = "length"  // the output limit cut it
	FinishFilter  Finish = "filter"  // the provider refused
	FinishUnknown Finish = "unknown" // the provider gave a reason that we don't know
)

// Delta is one piece of a streamed reply. Exactly one of its parts is set.
type Delta struct {
	Text      string     // assistant text to append
	Reasoning string     // reasoning text to append
	CallDelta *CallDelta // a tool call's name or a piece of its arguments
	Done      *Done      // the last delta of every complete reply
}

// CallDelta grows the call at Index of this reply. ID and Name come with the
// first piece; Args is appended.
type CallDelta struct {
	Index    int
	ID, Name string
	Args     string
}

// Done ends a reply. Calls holds the complete calls in order, each validated:
// none unless Finish is FinishCalls or FinishStop.
type Done struct {
	Finish Finish
	Calls  []Call
	Usage  Usage
	Carry  json.RawMessage // for Message.Carry; nil = nothing
}

// Usage is what one call cost, in the provider's own count. All counts are
// tokens; Input includes the cached ones.
type Usage struct {
	Input      int     `json:"input"`
	Output     int     `json:"output"`
	CacheRead  int     `json:"cacheRead"`
	CacheWrite int     `json:"cacheWrite"`
	CostUSD    float64 `json:"costUsd"`
	Reported   bool    `json:"reported"` // false: the provider gave no figures and these are estimates
	// Meta is whatever else the provider said (request id, system fingerprint).
	Meta map[string]string `json:"meta,omitempty"`
}

// Caps is what is known of a model. A zero ContextWindow means unknown, and the
// agent then refuses to guess: it asks for the setting. Prices are in US
// dollars per million tokens; zero = free, or not known.
type Caps struct {
	ContextWindow int     `json:"contextWindow"`
	OutputLimit   int     `json:"outputLimit"`
	Tools         bool    `json:"tools"`
	Images        bool    `json:"images"`
	Reasoning     bool    `json:"reasoning"`
	Cache         bool    `json:"cache"`
	USDPerMIn     float64 `json:"usdPerMIn"`
	USDPerMOut    float64 `json:"usdPerMOut"`
	USDPerMCached float64 `json:"usdPerMCached"` // of input read from a cache
	USDPerMWrite  float64 `json:"usdPerMWrite"`  // of input written to a cache; 0 = as other input
	// A prompt of more than LongPrompt tokens costs LongIn times as much, cached
	// or not, and its reply LongOut times. LongPrompt 0 = one price for all.
	LongPrompt      int     `json:"longPrompt,omitempty"`
	LongIn, LongOut float64 `json:"-"`
	// Thinking is how reasoning is asked for: "" not at all, "adaptive" where it
	// may be left out, "always" where the model refuses to do without.
	Thinking string `json:"thinking,omitempty"`
	// Effort is how much of it, in the provider's own words; "" = its default.
	Effort string `json:"effort,omitempty"`
	Local  bool   `json:"local"` // answers on this machine, costs nothing, needs no network
}

// The ways of Caps.Thinking.
const (
	ThinkingAdaptive = "adaptive"
	ThinkingAlways   = "always"
)

// Cost is what a call with this usage costs, in US dollars.
func (c Caps) Cost(u Usage) float64 {
	const million = 1e6
	in, out := 1.0, 1.0
	if c.LongPrompt > 0 && u.Input > c.LongPrompt {
		in, out = c.LongIn, c.LongOut
	}
	write := c.USDPerMWrite
	if write == 0 {
		write = c.USDPerMIn
	}
	fresh := max(0, u.Input-u.CacheRead-u.CacheWrite)
	input := float64(fresh)*c.USDPerMIn + float64(u.CacheRead)*c.USDPerMCached + float64(u.CacheWrite)*write
	return (input*in + float64(u.Output)*c.USDPerMOut*out) / million
}

// Model answers requests. It is safe for concurrent use. Stream yields deltas
// until Done or an error (always an *Error or the context's); breaking out of
// the loop or cancelling ctx closes the connection at once.
type Model interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// Func is a function that serves as a Model.
type Func func(ctx context.Context, req Request) iter.Seq2[Delta, error]

// Stream calls f.
func (f Func) Stream(ctx context.Context, req Request) iter.Seq2[Delta, error] { return f(ctx, req) }

// Kind classifies a failure by what can be done about it.
type Kind string

// The kinds of failure.
const (
	Auth        Kind = "auth"         // the key is missing or refused
	NotFound    Kind = "not_found"    // no such model or endpoint
	RateLimited Kind = "rate_limited" // wait RetryAfter
	Quota       Kind = "quota"        // no credit left: waiting does not help
	Overloaded  Kind = "overloaded"   // the server is busy
	Overflow    Kind = "overflow"     // the prompt does not fit the context window
	BadRequest  Kind = "bad_request"  // the server refused the request as malformed
	Network     Kind = "network"      // no connection, or it broke before the first byte
	CutOff      Kind = "cut_off"      // the stream broke or ended without a finish
	Stalled     Kind = "stalled"      // no byte within the time limit
	Server      Kind = "server"       // the server failed (5xx, error event)
)

// Error is how every adapter fails. Message says what happened, Hint what to
// do; neither ever holds a key.
type Error struct {
	Kind       Kind
	Model      string // provider/name
	Status     int    // HTTP status, 0 if none
	Message    string
	Hint       string
	RetryAfter time.Duration // 0 = not given
}

func (e *Error) Error() string {
	s := e.Model + ": " + e.Message
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// Retriable says whether the same request may succeed later.
func (e *Error) Retriable() bool {
	switch e.Kind {
	case RateLimited, Overloaded, Network, CutOff, Stalled, Server:
		return true
	}
	return false
}

// Reply is a whole answer, put together from its deltas.
type Reply struct {
	Text      string
	Reasoning string
	Done      Done
}

// Collect reads a stream to its end. A stream that ends without Done is an
// error of kind CutOff; the partial reply is returned with it.
func Collect(name string, stream iter.Seq2[Delta, error]) (Reply, error) {
	var r Reply
	for d, err := range stream {
		if err != nil {
			return r, err
		}
		r.Text += d.Text
		r.Reasoning += d.Reasoning
		if d.Done != nil {
			r.Done = *d.Done
			return r, nil
		}
	}
	return r, &Error{Kind: CutOff, Model: name, Message: "the stream ended without a finish", Hint: "it is tried again"}
}
