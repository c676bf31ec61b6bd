package agent

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Client is one attached editor, terminal or script, as the engine sees it.
// The notifying methods never block a run: an implementation queues, bounds
// and coalesces (rpc does). The asking methods block until the answer, ctx's
// end or the connection's; a client that can't do a thing returns ErrUnsupported,
// and Permission ErrGone where the connection ended before the answer.
type Client interface {
	// Caps says what the client can do; it is constant after Attach.
	Caps() ClientCaps

	Cycle(CycleNotification)
	Stream(StreamChunk)
	EditsChanged(EditsChanged)
	Index(IndexStatus)
	// Loop sends a message of the topic loop:control or loop:current.
	Loop(topic string, message json.RawMessage)

	Permission(ctx context.Context, p PermissionParams) (PermissionResult, error)
	// ApplyEdit puts text edits into open documents as one undo step; it
	// answers whether the editor applied them. A stale version is not applied.
	ApplyEdit(ctx context.Context, e WorkspaceEdit) (applied bool, reason string, err error)
	// ShowDocument opens a file for the person to read.
	ShowDocument(ctx context.Context, uri string, takeFocus bool) error
	// Editor asks the editor's own language servers.
	Editor(ctx context.Context, p EditorParams) (json.RawMessage, error)
}

// ClientCaps is what a client said of itself in initializationOptions.agentLsp;
// a client that said nothing is a plain LSP client.
type ClientCaps struct {
	Client     string   `json:"client"`
	Protocol   int      `json:"protocolVersion"`
	Permission bool     `json:"permission"`
	EditorOps  []string `json:"editorOps"`
	Cycles     bool     `json:"cycles"`
	// ApplyEdit is false for clients that hold no documents (terminal, scripts).
	ApplyEdit bool `json:"applyEdit"`
	Plain     bool `json:"plain"`
	// Encoding is the unit of every Position.Character on this connection:
	// utf-8 (bytes), utf-16 or utf-32. Clients of one engine may differ: each
	// is told, and each asks ([WithEncoding]), in its own.
	Encoding string `json:"encoding"`
}

// WithEncoding says in which unit the columns of a request and of its answer
// count; UTF-16 where nobody has said so.
func WithEncoding(ctx context.Context, encoding string) context.Context {
	return context.WithValue(ctx, encodingKey{}, text.Encoding(encoding))
}

type encodingKey struct{}

func encodingOf(ctx context.Context) text.Encoding {
	enc, _ := ctx.Value(encodingKey{}).(text.Encoding)
	return enc
}

// WorkspaceEdit is one undo step over open documents.
type WorkspaceEdit struct {
	Label string
	Docs  []DocumentEdit
}

// WorkspaceEditFor is edits in the units of one client.
func WorkspaceEditFor(c Client, label string, docs []edits.DocEdit) WorkspaceEdit {
	enc := text.Encoding(c.Caps().Encoding)
	w := WorkspaceEdit{Label: label}
	for _, d := range docs {
		e := DocumentEdit{URI: d.URI, Version: d.Version}
		for _, r := range d.Edits {
			e.Edits = append(e.Edits, TextEdit{Range: fromTextRange(r.At.In(enc)), NewText: r.New})
		}
		w.Docs = append(w.Docs, e)
	}
	return w
}

// DocumentEdit is the edits of one open document at one version, ascending and
// not overlapping, all in terms of the text before them.
type DocumentEdit struct {
	URI     string
	Version int32
	Edits   []TextEdit
}

// TextEdit replaces a range by text.
type TextEdit struct {
	Range   Range
	NewText string
}

// EditorParams is a question to the editor's own language servers. The op save
// has the editor write a document to the disk: the answer is true if it did.
type EditorParams struct {
	Op       string    `json:"op"` // definition, references, hover, symbols, diagnostics, rename, format, save
	URI      string    `json:"uri"`
	Position *Position `json:"position,omitempty"`
	Range    *Range    `json:"range,omitempty"`
	NewName  string    `json:"newName,omitempty"`
	Version  *int      `json:"version,omitempty"` // save: only while the document is at this version
}

// Documents is the engine's side of document sync. Calls for one document come
// in the order in which the editor sent them.
type Documents interface {
	DidOpen(uri, languageID string, version int32, text string)
	// DidChange applies changes in order, each in terms of the text left by
	// the one before; a nil Range replaces the whole text. Columns count in
	// encoding, which is the client's ([ClientCaps].Encoding).
	DidChange(uri string, version int32, changes []ContentChange, encoding string) error
	DidSave(uri string)
	DidClose(uri string)
	// DidChangeFiles tells of files that changed on disk.
	DidChangeFiles(uris []string)
	// DidRename tells of a file or folder that the person renamed in the editor.
	DidRename(oldURI, newURI string)
}

// ContentChange is one change of an open document.
type ContentChange struct {
	Range *Range
	Text  string
}
