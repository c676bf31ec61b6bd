package rpc

import (
	"context"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// method is one row of the generated table of our own methods.
type method struct {
	name string
	call func(ctx context.Context, s protocol.Server, params jsonrpc2.RawMessage) (any, error)
}

// typed makes a row: f is a method expression of protocol.Server.
func typed[P, R any](name string, f func(protocol.Server, context.Context, *P) (*R, error)) method {
	return method{name, func(ctx context.Context, s protocol.Server, params jsonrpc2.RawMessage) (any, error) {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return nil, badParams(name, err)
		}
		r, err := f(s, ctx, p)
		if err != nil {
			return nil, err
		}
		return encode(r)
	}}
}

// remote calls a method of the other side.
func remote[R any](ctx context.Context, c Caller, name string, params any) (*R, error) {
	r := new(R)
	if err := c.Call(ctx, name, params, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Caller asks the other side of a connection.
type Caller interface {
	Call(ctx context.Context, method string, params, result any) error
}
