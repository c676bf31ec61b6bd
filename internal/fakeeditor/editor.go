package fakeeditor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Options is what the editor is like. The zero value is a client with the
// plugin, that supports everything and allows nothing.
type Options struct {
	RootURI   string
	Plain     bool           // no plugin: standard LSP only
	Encodings []string       // general.positionEncodings; nil offers none
	EditorOps []string       // ops that Editor answers
	Settings  map[string]any // workspace/configuration, section agentLsp
	// Capabilities is merged over the default ones.
	Capabilities map[string]any

	// Permission is the person who is asked; nil rejects.
	Permission func(agent.PermissionParams) agent.PermissionResult
	// Button is the person who is asked by a message with buttons; "" closes it.
	Button func(message string, buttons []string) string
	// Editor answers agent/editor; nil has no answer.
	Editor func(agent.EditorParams) (any, error)
	// Mute makes workspace/applyEdit be applied and never answered.
	Mute bool
}

// Notification is something that the server told.
type Notification struct {
	Method string
	Params json.RawMessage
}

// Editor is a connected editor. Its methods may be called at the same time.
type Editor struct {
	rpc.Remote // asks by our own methods

	o        Options
	conn     jsonrpc2.Conn
	encoding string
	offer    *protocol.ServerOffer // nil: the server is no agent-lsp

	editing sync.Mutex // held while documents are changed and the server is told

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at every change of what is below
	docs     map[string]*document
	undo     []step
	told     []Notification
	asked    []Notification // requests of the server
	sessions map[string]*session
	hunks    map[string][]agent.Hunk // by URI
	shown    []string                // URIs, by window/showDocument
	faults   []string                // what a server must not do
}

// Connect does the handshake with the server at the other end of conn.
func Connect(ctx context.Context, conn io.ReadWriteCloser, o Options) (*Editor, error) {
	e := &Editor{
		o: o, conn: jsonrpc2.NewConn(jsonrpc2.NewStream(conn), jsonrpc2.WithCodec(rawCodec{})), encoding: "utf-16",
		changed: make(chan struct{}), docs: map[string]*document{}, sessions: map[string]*session{}, hunks: map[string][]agent.Hunk{},
	}
	e.Remote = rpc.Remote{Caller: e}
	e.conn.Go(context.Background(), e.handle)
	params := map[string]any{"processId": nil, "rootUri": nil, "clientInfo": map[string]string{"name": "fakeeditor"}, "capabilities": e.capabilities()}
	if o.RootURI != "" {
		params["rootUri"] = o.RootURI
		params["workspaceFolders"] = []map[string]string{{"uri": o.RootURI, "name": "root"}}
	}
	if !o.Plain {
		params["initializationOptions"] = map[string]any{"agentLsp": protocol.ClientOptions{
			Client: "fakeeditor", ProtocolVersion: protocol.Version, Permission: true, EditorOps: o.EditorOps,
		}}
	}
	var result struct {
		Capabilities struct {
			PositionEncoding string `json:"positionEncoding"`
			Experimental     struct {
				AgentLSP *protocol.ServerOffer `json:"agentLsp"`
			} `json:"experimental"`
		} `json:"capabilities"`
	}
	if err := e.Call(ctx, "initialize", params, &result); err != nil {
		return nil, fmt.Errorf("initialize: %w", err)
	}
	if enc := result.Capabilities.PositionEncoding; enc != "" {
		e.encoding = enc
	}
	e.offer = result.Capabilities.Experimental.AgentLSP
	return e, e.Notify(ctx, "initialized", map[string]any{})
}

// capabilities is what a good editor can do.
func (e *Editor) capabilities() map[string]any {
	c := map[string]any{
		"workspace": map[string]any{
			"applyEdit": true, "configuration": e.o.Settings != nil, "workspaceFolders": true,
			"workspaceEdit": map[string]any{"documentChanges": true, "changeAnnotationSupport": map[string]any{}},
			"codeLens":      map[string]any{"refreshSupport": true},
		},
		"textDocument": map[string]any{"codeAction": map[string]any{
			"codeActionLiteralSupport": map[string]any{"codeActionKind": map[string]any{"valueSet": []string{"quickfix", "refactor", "refactor.rewrite"}}},
		}},
		"window": map[string]any{"workDoneProgress": true, "showDocument": map[string]any{"support": true}},
	}
	if e.o.Encodings != nil {
		c["general"] = map[string]any{"positionEncodings": e.o.Encodings}
	}
	maps.Copy(c, e.o.Capabilities)
	return c
}

// Offer is what the server offered at initialize; nil if it is no agent-lsp.
func (e *Editor) Offer() *protocol.ServerOffer { return e.offer }

// Encoding is the unit of positions that was agreed on.
func (e *Editor) Encoding() string { return e.encoding }

// Call asks the server by any method. Errors are *jsonrpc2.Error.
func (e *Editor) Call(ctx context.Context, method string, params, result any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	var answer jsonrpc2.RawMessage
	if _, err := e.conn.Call(ctx, method, jsonrpc2.RawMessage(data), &answer); err != nil || result == nil {
		return err
	}
	return json.Unmarshal(answer, result)
}

// Notify tells the server.
func (e *Editor) Notify(ctx context.Context, method string, params any) error {
	data, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return e.conn.Notify(ctx, method, jsonrpc2.RawMessage(data))
}

// Barrier returns once the server has read everything that was sent before.
func (e *Editor) Barrier(ctx context.Context) error {
	err := e.Call(ctx, "fakeeditor/barrier", map[string]any{}, nil)
	if errors.Is(err, jsonrpc2.ErrMethodNotFound) {
		return nil
	}
	return err
}

// Command executes a command of the server.
func (e *Editor) Command(ctx context.Context, name string, args ...any) (json.RawMessage, error) {
	if args == nil {
		args = []any{}
	}
	var result json.RawMessage
	err := e.Call(ctx, "workspace/executeCommand", map[string]any{"command": name, "arguments": args}, &result)
	return result, err
}

// Control sends a REQUEST on loop:control.
func (e *Editor) Control(ctx context.Context, id string, command protocol.ControlCommand, run string, payload protocol.ControlPayload) error {
	return e.Notify(ctx, protocol.TopicControl, protocol.ControlMessage{
		Type: protocol.ControlRequest, RequestID: id, Command: command, Target: protocol.ControlTarget{RunID: run},
		Timestamp: "2026-01-01T00:00:00Z", Payload: payload,
	})
}

// Quit says goodbye in order and waits for the server to hang up.
func (e *Editor) Quit(ctx context.Context) error {
	if err := e.Call(ctx, "shutdown", nil, nil); err != nil {
		return err
	}
	if err := e.conn.Notify(ctx, "exit", nil); err != nil {
		return err
	}
	select {
	case <-e.conn.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Done is closed when the connection has ended.
func (e *Editor) Done() <-chan struct{} { return e.conn.Done() }

// Close breaks the connection off, as an editor that crashes does.
func (e *Editor) Close() error { return e.conn.Close() }

// Await waits until cond holds; it is asked again after everything that
// happens to the editor. cond may call the editor's methods.
func (e *Editor) Await(ctx context.Context, cond func() bool) error {
	for {
		e.mu.Lock()
		changed := e.changed
		e.mu.Unlock()
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-e.conn.Done():
			if cond() {
				return nil
			}
			return fmt.Errorf("the connection ended: %v", e.conn.Err())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// update changes what is under mu, and wakes who waits.
func (e *Editor) update(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

// Told is every notification with this method so far.
func (e *Editor) Told(method string) []json.RawMessage { return pick(e, &e.told, method) }

// Asked is the params of every request of the server with this method so far.
func (e *Editor) Asked(method string) []json.RawMessage { return pick(e, &e.asked, method) }

func pick(e *Editor, list *[]Notification, method string) (out []json.RawMessage) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, n := range *list {
		if n.Method == method {
			out = append(out, n.Params)
		}
	}
	return out
}

// Shown is the documents that the server opened, in order.
func (e *Editor) Shown() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.shown...)
}

// Hunks is what pends in a document, as agent/edits/changed told.
func (e *Editor) Hunks(uri string) []agent.Hunk {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]agent.Hunk{}, e.hunks[uri]...)
}

// Faults is what the server did that no server may do; tests want it empty.
func (e *Editor) Faults() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string{}, e.faults...)
}

// rawCodec passes JSON through.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	return json.Marshal(v)
}

func (rawCodec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return json.Unmarshal(data, v)
}
