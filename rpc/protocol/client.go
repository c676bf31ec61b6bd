package protocol

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/agent"
)

// Notifications are what a client is told. The first line of each method's
// comment is its wire name.
type Notifications interface {
	// agent/cycle
	// Step-tree deltas. rev grows by one per message per session; who sees a
	// gap asks agent/cycles. Apply ops in order, and all of them.
	Cycle(agent.CycleNotification)
	// agent/stream
	// The request pipeline's chunks and the telemetry line.
	Stream(agent.StreamChunk)
	// agent/edits/changed
	// Hunks were added, rebased or resolved. hunks is what pends now in the
	// documents that uris names; other documents are as before.
	EditsChanged(agent.EditsChanged)
	// agent/index
	// The index's state and progress.
	Index(agent.IndexStatus)
	// loop:control
	// ACK and RESULT. The client sends REQUEST under the same name.
	LoopControl(ControlMessage)
	// loop:current
	// STATE, ABORT and DONE.
	LoopCurrent(LoopEvent)
}

// Requests are what a client may be asked, if it said in
// initializationOptions.agentLsp that it can be.
type Requests interface {
	// agent/permission
	// Asks the person whether a tool may run. No answer in the configured
	// time is a rejection. Asked of every client with permission: true, also
	// of one that comes while the question waits; plain clients get
	// window/showMessageRequest. The first answer counts. From the others the
	// question is taken back by $/cancelRequest: a client that then closes it
	// answers with an error or an empty optionId, and who chose an option all
	// the same is told by window/showMessage what became of the question.
	Permission(context.Context, *agent.PermissionParams) (*agent.PermissionResult, error)
	// agent/editor
	// Asks the editor's own language servers. The result is LSP's own for the
	// op, or null: for diagnostics a list of LSP's Diagnostic, null where no
	// language server is at work. Asked only for the ops in editorOps. The op save asks the
	// editor to write a buffer that the agent has edited, and that nobody else
	// has changed: true if it did, false or null if not.
	Editor(context.Context, *agent.EditorParams) (*json.RawMessage, error)
}

// ClientOptions is initializationOptions.agentLsp. A client that leaves it out
// is a plain LSP client: it is sent standard LSP only, until it uses a method
// of this protocol itself.
type ClientOptions struct {
	Client          string   `json:"client"`               // vscode, neovim, ask, …
	ProtocolVersion int      `json:"protocolVersion"`      // the newest that the client speaks
	Permission      bool     `json:"permission,omitempty"` // answers agent/permission
	EditorOps       []string `json:"editorOps,omitempty"`  // the ops of agent/editor that it answers
	Cycles          *bool    `json:"cycles,omitempty"`     // false: no agent/cycle; absent is true
}

// ServerOffer is capabilities.experimental.agentLsp of the answer to initialize.
type ServerOffer struct {
	ProtocolVersion int      `json:"protocolVersion"`
	Methods         []string `json:"methods"`
	Notifications   []string `json:"notifications"`
}

// ErrorData is data of every JSON-RPC error.
type ErrorData struct {
	Code      agent.Code `json:"code"`
	Hint      string     `json:"hint"`      // what to do; may be ""
	Retriable bool       `json:"retriable"` // the same request may succeed later
}

// Codes that only the connection gives; agent has the others.
const (
	CodeCancelled agent.Code = "cancelled"
	CodeInternal  agent.Code = "internal"
)
