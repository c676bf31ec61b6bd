package rpc

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Engine is what answers: all that a connection asks of the agent.
//
// Positions and ranges, in either direction, are in the units of the client at
// this connection: the engine has the text, so it converts. It hears the unit
// from agent.Client.Caps, with DidChange, and in the contexts of requests
// (agent.WithEncoding).
// All methods may be called at the same time, but for those of
// agent.Documents and SetRoots, which come one after the other in the order in
// which the editor sent them and must return without waiting for the client.
type Engine interface {
	protocol.Server
	agent.Documents

	// Attach makes c hear of everything from now on; what it should know at
	// once (the index, pending hunks, paused runs) is sent before Attach
	// returns. After detach nothing is sent to c.
	Attach(c agent.Client) (detach func())
	// Control takes a REQUEST of the topic loop:control. ACK and RESULT go to
	// from by Loop, in order; Control returns after the RESULT.
	Control(ctx context.Context, from agent.Client, message json.RawMessage)
	// SetRoots replaces the workspace's folders; absolute paths, the first is
	// the main one.
	SetRoots(paths []string)
	// SetSettings replaces the editor's settings, a JSON object.
	SetSettings(settings json.RawMessage)
	// Close ends what this connection began and doesn't outlive it.
	Close() error
}

// InitOptions is what a client said at initialize.
type InitOptions struct {
	Roots    []string        // absolute paths of the workspace's folders; may be empty
	Settings json.RawMessage // initializationOptions.settings; nil if there were none
	Caps     agent.ClientCaps
}

// Open makes the engine for one connection. It runs while the client already
// talks to the server: document sync waits in order, requests wait with their
// contexts. ctx ends with the connection.
type Open func(ctx context.Context, o InitOptions) (Engine, error)
