package openai

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// growingCall is a tool call whose arguments are still coming.
type growingCall struct {
	index    *int // as the server numbers it
	id, name string
	args     strings.Builder
}

// growCall adds one piece to the call that it belongs to.
func (r *reply) growCall(tc receivedCall) error {
	args := arguments(tc.Function.Arguments)
	n := r.which(tc)
	if n == len(r.calls) {
		if limit := r.call.client.server.Limits.Calls; n == limit {
			return r.call.fail(model.Server, fmt.Sprintf("more than %d tool calls in one reply", limit), "the model runs away")
		}
		r.calls = append(r.calls, &growingCall{index: tc.Index})
	}
	g := r.calls[n]
	d := &model.CallDelta{Index: n, Args: args}
	if g.id == "" && (tc.ID != "" || tc.Function.Name != "") {
		g.id = cmp.Or(tc.ID, "call_"+rand.Text())
		d.ID = g.id
	}
	if g.name == "" { // servers that send the name with every piece repeat it
		g.name = tc.Function.Name
		d.Name = g.name
	}
	g.args.WriteString(args)
	if d.ID == "" && d.Name == "" && d.Args == "" {
		return nil
	}
	return r.emit(model.Delta{CallDelta: d}, len(args)+len(tc.Function.Name)+len(tc.ID))
}

// which is the place of the call that a piece belongs to; len(r.calls) = a new
// one. Servers number their calls, but some give every call the number 0 and
// some none at all: there a new id tells.
func (r *reply) which(tc receivedCall) int {
	for n := len(r.calls) - 1; n >= 0; n-- {
		g := r.calls[n]
		numbered := tc.Index != nil && g.index != nil
		if numbered && *tc.Index != *g.index {
			continue
		}
		begins := tc.Function.Name != "" && g.name != ""
		switch otherID := tc.ID != "" && g.id != "" && tc.ID != g.id; {
		case otherID && (begins || !numbered):
			continue
		case begins && !numbered && tc.ID == "":
			return len(r.calls) // neither number nor id: a name begins a call
		}
		return n
	}
	return len(r.calls)
}

// arguments is a piece of arguments as text, whether it came as a string or as JSON.
func arguments(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null gives ""
		return s
	}
	return string(raw)
}

// call is the finished call, with its arguments checked.
func (g *growingCall) call() model.Call {
	c := model.Call{ID: g.id, Name: g.name}
	c.Args, c.Invalid = wire.Object(g.args.String())
	if c.ID == "" {
		c.ID = "call_" + rand.Text()
	}
	if c.Name == "" {
		c.Invalid = "the call names no tool"
	}
	return c
}
