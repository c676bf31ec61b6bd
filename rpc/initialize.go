package rpc

import (
	"context"
	"encoding/json"
	"fmt"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// capabilities is what this client can do: what the engine is told, and what
// only the connection needs to know.
type capabilities struct {
	agent.ClientCaps
	showDocument       bool
	progress           bool
	lensRefresh        bool
	documentChanges    bool
	changeAnnotations  bool
	configuration      bool
	codeActionLiterals bool
}

// encodings are the units of positions that can be agreed on.
var encodings = map[lsp.PositionEncodingKind]bool{
	lsp.PositionEncodingKindUTF8:  true,
	lsp.PositionEncodingKindUTF16: true,
	lsp.PositionEncodingKindUTF32: true,
}

// initialize answers at once; the engine opens while the client goes on.
func (s *Server) initialize(_ context.Context, params jsonrpc2.RawMessage) (any, error) {
	p, err := s.initializeParams(params)
	if err != nil {
		return nil, err
	}
	var options struct {
		AgentLSP *protocol.ClientOptions `json:"agentLsp"`
		Settings json.RawMessage         `json:"settings"`
	}
	if err := decode(p.InitializationOptions, &options); err != nil {
		return nil, badParams("initialize: initializationOptions", err)
	}
	if o := options.AgentLSP; o != nil && o.ProtocolVersion > protocol.Version {
		e := wireError(jsonrpc2.InvalidParams,
			fmt.Sprintf("this agent-lsp speaks protocol version %d, and %s asks for version %d", protocol.Version, nameOr(o.Client, "the client"), o.ProtocolVersion),
			agent.CodeUnsupported, "update agent-lsp, or use an older plugin", false)
		return nil, e
	}
	s.peer.caps = capabilitiesOf(p, options.AgentLSP)
	s.roots = foldersOf(p)
	s.mu.Lock()
	s.stage = initialized
	s.mu.Unlock()
	s.open(InitOptions{Roots: paths(s.roots), Settings: options.Settings, Caps: s.peer.caps.ClientCaps})
	return s.initializeResult(), nil
}

// initializeParams reads the params. A client whose capabilities LSP's types
// don't take (an empty list for an empty object, say) is served as one that
// has none.
func (s *Server) initializeParams(params jsonrpc2.RawMessage) (*lsp.InitializeParams, error) {
	p := new(lsp.InitializeParams)
	err := lsp.Unmarshal(params, p)
	if err == nil {
		return p, nil
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil {
		return nil, badParams("initialize", err)
	}
	fields["capabilities"] = json.RawMessage("{}")
	data, jsonErr := json.Marshal(fields)
	if jsonErr != nil {
		return nil, badParams("initialize", err)
	}
	p = new(lsp.InitializeParams)
	if lsp.Unmarshal(data, p) != nil {
		return nil, badParams("initialize", err)
	}
	s.log.Warn("the client's capabilities can't be read and are taken as none", "error", err)
	return p, nil
}

// capabilitiesOf reads off what the client said.
func capabilitiesOf(p *lsp.InitializeParams, o *protocol.ClientOptions) capabilities {
	c := capabilities{ClientCaps: agent.ClientCaps{
		Client: nameOr(p.ClientInfo.Name, "lsp"), EditorOps: []string{}, Cycles: true,
		Plain: o == nil, Encoding: string(lsp.PositionEncodingKindUTF16),
	}}
	if o != nil {
		c.Client = nameOr(o.Client, c.Client)
		c.Protocol, c.Permission = o.ProtocolVersion, o.Permission
		c.EditorOps = append(c.EditorOps, o.EditorOps...)
		c.Cycles = o.Cycles == nil || *o.Cycles
	}
	if g := p.Capabilities.General; g != nil {
		for _, e := range g.PositionEncodings {
			if encodings[e] {
				c.Encoding = string(e) // the client names the one it likes best first
				break
			}
		}
	}
	if w := p.Capabilities.Workspace; w != nil {
		c.ApplyEdit = isTrue(w.ApplyEdit)
		c.configuration = isTrue(w.Configuration)
		c.lensRefresh = w.CodeLens != nil && isTrue(w.CodeLens.RefreshSupport)
		if e := w.WorkspaceEdit; e != nil {
			c.documentChanges = isTrue(e.DocumentChanges)
			c.changeAnnotations = c.documentChanges && e.ChangeAnnotationSupport != nil
		}
	}
	if w := p.Capabilities.Window; w != nil {
		c.progress = isTrue(w.WorkDoneProgress)
		c.showDocument = w.ShowDocument != nil && w.ShowDocument.Support
	}
	if t := p.Capabilities.TextDocument; t != nil && t.CodeAction != nil {
		c.codeActionLiterals = len(t.CodeAction.CodeActionLiteralSupport.CodeActionKind.ValueSet) > 0
	}
	return c
}

func (s *Server) initializeResult() *lsp.InitializeResult {
	yes, file := true, "file"
	incremental := lsp.TextDocumentSyncKindIncremental
	kinds := []lsp.CodeActionKind{lsp.CodeActionKindQuickFix, lsp.CodeActionKindRefactor, lsp.CodeActionKindRefactorRewrite}
	var version lsp.Optional[string]
	if s.opts.Version != "" {
		version = lsp.NewOptional(s.opts.Version)
	}
	return &lsp.InitializeResult{
		ServerInfo: lsp.ServerInfo{Name: "agent-lsp", Version: version},
		Capabilities: lsp.ServerCapabilities{
			PositionEncoding: lsp.PositionEncodingKind(s.peer.caps.Encoding),
			TextDocumentSync: &lsp.TextDocumentSyncOptions{OpenClose: &yes, Change: &incremental, Save: lsp.Boolean(true)},
			CodeLensProvider: &lsp.CodeLensOptions{},
			CodeActionProvider: &lsp.CodeActionOptions{
				CodeActionKinds: kinds,
			},
			ExecuteCommandProvider: lsp.ExecuteCommandOptions{Commands: commandNames()},
			Workspace: &lsp.WorkspaceOptions{WorkspaceFolders: &lsp.WorkspaceFoldersServerCapabilities{
				Supported: &yes, ChangeNotifications: lsp.Boolean(true),
			}, FileOperations: &lsp.FileOperationOptions{DidRename: lsp.FileOperationRegistrationOptions{
				Filters: []lsp.FileOperationFilter{{Scheme: &file, Pattern: lsp.FileOperationPattern{Glob: "**"}}},
			}}},
			Experimental: raw(map[string]any{"agentLsp": protocol.ServerOffer{
				ProtocolVersion: protocol.Version, Methods: methodNames, Notifications: notificationNames,
			}}),
		},
	}
}

// initialized asks for the editor's settings, if it can be asked.
func (s *Server) initialized(context.Context, *struct{}) error {
	s.pullSettings()
	return nil
}

func (s *Server) shutdown(context.Context, jsonrpc2.RawMessage) (any, error) {
	s.mu.Lock()
	s.stage = shutDown
	s.mu.Unlock()
	return nil, nil
}

func (s *Server) exit(context.Context, *struct{}) error {
	select {
	case <-s.exited:
	default:
		close(s.exited)
	}
	return nil
}

// folder is one of the workspace's folders, as the client names it.
type folder struct{ uri, path string }

// foldersOf finds the workspace's folders, from the newest way of saying it to the oldest.
func foldersOf(p *lsp.InitializeParams) []folder {
	if list, ok := p.WorkspaceFolders.Get(); ok && len(list) > 0 {
		var out []folder
		for _, f := range list {
			out = appendFolder(out, string(f.URI))
		}
		return out
	}
	if p.RootURI != nil && *p.RootURI != "" {
		return appendFolder(nil, string(*p.RootURI))
	}
	if path, ok := p.RootPath.Get(); ok && path != "" {
		return []folder{{uri: string(uri.File(path)), path: path}}
	}
	return nil
}

// appendFolder adds a folder that is on this machine and not there yet.
func appendFolder(list []folder, name string) []folder {
	u, err := uri.Parse(name)
	if err != nil || !u.IsFile() {
		return list
	}
	for _, f := range list {
		if f.uri == name {
			return list
		}
	}
	return append(list, folder{uri: name, path: u.FsPath()})
}

func paths(list []folder) []string {
	out := make([]string, len(list))
	for i, f := range list {
		out[i] = f.path
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }

func nameOr(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
