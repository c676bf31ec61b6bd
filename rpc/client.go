package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Handlers is what a Client hears; nil ones are passed over. Notifications are
// handed over one after the other, in the order in which they came, on the
// reading goroutine: a handler must not wait for the server. Permission and
// Request run on goroutines of their own.
type Handlers struct {
	Cycle        func(agent.CycleNotification)
	Stream       func(agent.StreamChunk)
	EditsChanged func(agent.EditsChanged)
	Index        func(agent.IndexStatus)
	Control      func(protocol.ControlMessage)
	Current      func(protocol.LoopEvent)
	// Other hears every other notification: window/logMessage, $/progress, …
	Other func(method string, params json.RawMessage)

	// Permission answers agent/permission; without it, the client says that
	// it can't.
	Permission func(ctx context.Context, p agent.PermissionParams) (agent.PermissionResult, error)
	// Request answers every other request; agent.ErrUnsupported, or no
	// handler, is "no such method".
	Request func(ctx context.Context, method string, params json.RawMessage) (any, error)
}

// Client is the editor's side of the protocol, for terminals, scripts and
// tests. Its methods may be called at the same time. Errors of the server come
// back as *agent.Error.
type Client struct {
	Remote
	stream   *stream
	conn     jsonrpc2.Conn
	handlers Handlers
	ctx      context.Context
	cancel   context.CancelFunc
	once     sync.Once
}

// Hello is what a client says of itself.
type Hello struct {
	Name       string // of the program: ask, …
	Version    string
	RootURI    string // of the workspace's folder
	Permission bool   // Handlers.Permission is there
	Settings   any    // initializationOptions.settings; nil for none
	// Capabilities are LSP's, as JSON; nil for none.
	Capabilities json.RawMessage
}

// Dial makes a client that speaks over rwc, and begins to read. Say Hello next.
func Dial(rwc io.ReadWriteCloser, h Handlers) *Client {
	st := newStream(rwc)
	ctx, cancel := context.WithCancel(context.Background())
	c := &Client{stream: st, conn: jsonrpc2.NewConn(st, jsonrpc2.WithCodec(codec{})), handlers: h, ctx: ctx, cancel: cancel}
	c.Remote = Remote{c}
	c.conn.Go(ctx, c.handle)
	return c
}

// Hello does the handshake and gives what the server offers.
func (c *Client) Hello(ctx context.Context, h Hello) (*protocol.ServerOffer, error) {
	capabilities := h.Capabilities
	if capabilities == nil {
		capabilities = json.RawMessage("{}")
	}
	options := map[string]any{"agentLsp": protocol.ClientOptions{Client: h.Name, ProtocolVersion: protocol.Version, Permission: h.Permission}}
	if h.Settings != nil {
		options["settings"] = h.Settings
	}
	params := map[string]any{
		"processId": nil, "rootUri": nil, "capabilities": capabilities, "initializationOptions": options,
		"clientInfo": map[string]string{"name": h.Name, "version": h.Version},
	}
	if h.RootURI != "" {
		params["rootUri"] = h.RootURI
		params["workspaceFolders"] = []map[string]string{{"uri": h.RootURI, "name": h.RootURI}}
	}
	var result struct {
		Capabilities struct {
			Experimental struct {
				AgentLSP *protocol.ServerOffer `json:"agentLsp"`
			} `json:"experimental"`
		} `json:"capabilities"`
	}
	if err := c.Call(ctx, lsp.MethodInitialize, params, &result); err != nil {
		return nil, err
	}
	offer := result.Capabilities.Experimental.AgentLSP
	if offer == nil {
		return nil, fmt.Errorf("the server is no agent-lsp: it offers no agentLsp capability")
	}
	return offer, c.Notify(ctx, lsp.MethodInitialized, struct{}{})
}

// Call asks the server; when ctx ends first, the request is cancelled there.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	data, err := encode(params)
	if err != nil {
		return fmt.Errorf("%s: the params can't be encoded: %w", method, err)
	}
	var answer jsonrpc2.RawMessage
	if err := lsp.Call(ctx, c.conn, method, data, &answer); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fromWire(err)
	}
	if result == nil {
		return nil
	}
	return decode(answer, result)
}

// Notify tells the server.
func (c *Client) Notify(ctx context.Context, method string, params any) error {
	data, err := encode(params)
	if err != nil {
		return fmt.Errorf("%s: the params can't be encoded: %w", method, err)
	}
	return c.conn.Notify(ctx, method, data)
}

// Control sends a message on loop:control.
func (c *Client) Control(ctx context.Context, m protocol.ControlMessage) error {
	return c.Notify(ctx, protocol.TopicControl, m)
}

// Done is closed when the connection has ended; Err then says why, nil for a clean end.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Err says why the connection ended.
func (c *Client) Err() error { return c.conn.Err() }

// Close says goodbye, if it can within ctx, and ends the connection.
func (c *Client) Close(ctx context.Context) error {
	var err error
	c.once.Do(func() {
		if err = c.Call(ctx, lsp.MethodShutdown, nil, nil); err == nil {
			err = c.conn.Notify(ctx, lsp.MethodExit, nil)
		}
		c.cancel()
		_ = c.stream.Close()
		go c.conn.Close()
		select {
		case <-c.conn.Done():
		case <-ctx.Done(): // a handler that doesn't end keeps the connection
			err = errors.Join(err, ctx.Err())
		}
	})
	return err
}

// handle serves what comes from the server. As in Server, only Async and
// DetachContext may see rctx.
func (c *Client) handle(rctx context.Context, req *jsonrpc2.Request) (any, error) {
	ctx := jsonrpc2.DetachContext(rctx)
	if !req.IsCall() {
		c.notified(req.Method(), req.Params())
		return nil, nil
	}
	jsonrpc2.Async(rctx)
	result, err := c.asked(ctx, req.Method(), json.RawMessage(req.Params()))
	if err == agent.ErrUnsupported {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "this client has no %s", req.Method())
	}
	if err != nil {
		return nil, toWire(err)
	}
	return encode(result)
}

func (c *Client) asked(ctx context.Context, method string, params json.RawMessage) (any, error) {
	switch h := c.handlers; {
	case method == "agent/permission" && h.Permission != nil:
		var p agent.PermissionParams
		if err := decodeParams(params, &p); err != nil {
			return nil, badParams(method, err)
		}
		return h.Permission(ctx, p)
	case h.Request != nil:
		return h.Request(ctx, method, params)
	}
	return nil, agent.ErrUnsupported
}

func (c *Client) notified(method string, params jsonrpc2.RawMessage) {
	switch h := c.handlers; {
	case method == "agent/cycle" && h.Cycle != nil:
		hand(params, h.Cycle)
	case method == "agent/stream" && h.Stream != nil:
		hand(params, h.Stream)
	case method == "agent/edits/changed" && h.EditsChanged != nil:
		hand(params, h.EditsChanged)
	case method == "agent/index" && h.Index != nil:
		hand(params, h.Index)
	case method == protocol.TopicControl && h.Control != nil:
		hand(params, h.Control)
	case method == protocol.TopicCurrent && h.Current != nil:
		hand(params, h.Current)
	case h.Other != nil:
		h.Other(string([]byte(method)), append(json.RawMessage(nil), params...))
	}
}

// hand decodes a notification for its handler; one that doesn't fit is passed over.
func hand[P any](params jsonrpc2.RawMessage, handler func(P)) {
	var p P
	if decodeParams(params, &p) == nil {
		handler(p)
	}
}
