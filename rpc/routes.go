package rpc

import (
	"context"
	"fmt"
	"time"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
)

// newRoutes is everything that this server answers: standard LSP here, our own
// methods from the generated table.
func (s *Server) newRoutes() map[string]route {
	routes := map[string]route{
		lsp.MethodInitialize:    {inline: true, call: s.initialize},
		lsp.MethodInitialized:   told(s.initialized),
		lsp.MethodShutdown:      {inline: true, call: s.shutdown},
		lsp.MethodExit:          told(s.exit),
		lsp.MethodCancelRequest: {inline: true, call: s.cancelRequest},
		lsp.MethodSetTrace:      told(s.setTrace),

		lsp.MethodTextDocumentDidOpen:   told(s.didOpen),
		lsp.MethodTextDocumentDidChange: told(s.didChange),
		lsp.MethodTextDocumentDidSave:   told(s.didSave),
		lsp.MethodTextDocumentDidClose:  told(s.didClose),

		lsp.MethodWorkspaceDidChangeWatchedFiles:     told(s.didChangeFiles),
		lsp.MethodWorkspaceDidRenameFiles:            told(s.didRenameFiles),
		lsp.MethodWorkspaceDidChangeConfiguration:    told(s.didChangeConfiguration),
		lsp.MethodWorkspaceDidChangeWorkspaceFolders: told(s.didChangeFolders),
		lsp.MethodWindowWorkDoneProgressCancel:       told(s.progressCancelled),
		"loop:control":                               {inline: true, call: s.control},

		lsp.MethodTextDocumentCodeLens:   decoded(lsp.MethodTextDocumentCodeLens, s.codeLens),
		lsp.MethodTextDocumentCodeAction: decoded(lsp.MethodTextDocumentCodeAction, s.codeAction),
		lsp.MethodWorkspaceExecuteCommand: standard(lsp.MethodWorkspaceExecuteCommand, func(ctx context.Context, p *lsp.ExecuteCommandParams) (any, error) {
			return s.executeCommand(ctx, p)
		}),
	}
	for _, m := range methods {
		routes[m.name] = s.own(m)
	}
	routes["agent/submit"] = s.speaker(ours("agent/submit", s.submit))
	return routes
}

// own serves one of our methods. Who uses one speaks our protocol, whatever it
// said at initialize, and is sent our notifications from then on.
func (s *Server) own(m method) route {
	return s.speaker(route{call: func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		e, err := s.gate.wait(ctx)
		if err != nil {
			return nil, err
		}
		return m.call(ctx, e, params)
	}})
}

// speaker notes that the client uses our protocol.
func (s *Server) speaker(r route) route {
	call := r.call
	r.call = func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		s.peer.speaks.Store(true)
		return call(ctx, params)
	}
	return r
}

// setTrace serves $/setTrace.
func (s *Server) setTrace(_ context.Context, p *struct {
	Value string `json:"value"`
}) error {
	s.tracing.Store(p.Value == "messages" || p.Value == "verbose")
	return nil
}

// traced tells a client that traces how long a request took.
func (s *Server) traced(method string) func() {
	if !s.tracing.Load() {
		return func() {}
	}
	begin := time.Now()
	return func() {
		s.peer.out.put(&message{method: lsp.MethodLogTrace, params: map[string]any{
			"message": fmt.Sprintf("%s took %s", method, time.Since(begin).Round(time.Microsecond)),
		}})
	}
}
