package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
)

// settingsSections are the names under which an editor may keep our settings.
var settingsSections = []string{"agentLsp", "agent-lsp"}

// Document sync is decoded by types of our own: the client's URIs must come
// back to it exactly as it spelt them, and LSP's types spell them anew.
type (
	documentID struct {
		URI     string `json:"uri"`
		Version int32  `json:"version"`
	}
	didOpen struct {
		TextDocument struct {
			documentID
			LanguageID string `json:"languageId"`
			Text       string `json:"text"`
		} `json:"textDocument"`
	}
	didChange struct {
		TextDocument   documentID      `json:"textDocument"`
		ContentChanges []contentChange `json:"contentChanges"`
	}
	contentChange struct {
		Range *agent.Range `json:"range"`
		Text  string       `json:"text"`
	}
	onDocument struct {
		TextDocument documentID `json:"textDocument"`
	}
	didChangeFiles struct {
		Changes []struct {
			URI string `json:"uri"`
		} `json:"changes"`
	}
	didRenameFiles struct {
		Files []struct {
			OldURI string `json:"oldUri"`
			NewURI string `json:"newUri"`
		} `json:"files"`
	}
	didChangeFolders struct {
		Event struct {
			Added   []documentID `json:"added"`
			Removed []documentID `json:"removed"`
		} `json:"event"`
	}
)

var errNoURI = errors.New("textDocument.uri is missing")

func (s *Server) didOpen(ctx context.Context, p *didOpen) error {
	d := p.TextDocument
	if d.URI == "" {
		return errNoURI
	}
	s.docs.touch(d.URI, d.Version)
	s.gate.sync(ctx, len(d.Text), func(e Engine) { e.DidOpen(d.URI, d.LanguageID, d.Version, d.Text) })
	return nil
}

func (s *Server) didChange(ctx context.Context, p *didChange) error {
	changes, size := make([]agent.ContentChange, len(p.ContentChanges)), 0
	for i, c := range p.ContentChanges {
		changes[i] = agent.ContentChange{Range: c.Range, Text: c.Text}
		size += len(c.Text)
	}
	d := p.TextDocument
	if d.URI == "" {
		return errNoURI
	}
	s.gate.sync(ctx, size, func(e Engine) {
		if err := e.DidChange(d.URI, d.Version, changes, s.peer.caps.Encoding); err != nil {
			s.log.Warn("a change of a document does not fit", "uri", d.URI, "version", d.Version, "error", err)
			s.peer.logMessage(messageWarning, fmt.Sprintf("version %d of %s does not fit: %v", d.Version, d.URI, err))
		}
	})
	s.docs.touch(d.URI, d.Version)
	return nil
}

func (s *Server) didSave(ctx context.Context, p *onDocument) error {
	s.docs.focus(p.TextDocument.URI)
	s.gate.sync(ctx, 0, func(e Engine) { e.DidSave(p.TextDocument.URI) })
	s.promptSaved(p.TextDocument.URI)
	return nil
}

func (s *Server) didClose(ctx context.Context, p *onDocument) error {
	s.docs.closed(p.TextDocument.URI)
	s.gate.sync(ctx, 0, func(e Engine) { e.DidClose(p.TextDocument.URI) })
	return nil
}

func (s *Server) didChangeFiles(ctx context.Context, p *didChangeFiles) error {
	uris := make([]string, len(p.Changes))
	for i, c := range p.Changes {
		uris[i] = c.URI
	}
	s.gate.sync(ctx, 0, func(e Engine) { e.DidChangeFiles(uris) })
	return nil
}

// didRenameFiles moves what is under review along with what was renamed.
func (s *Server) didRenameFiles(ctx context.Context, p *didRenameFiles) error {
	s.gate.sync(ctx, 0, func(e Engine) {
		for _, f := range p.Files {
			e.DidRename(f.OldURI, f.NewURI)
		}
	})
	return nil
}

func (s *Server) didChangeFolders(ctx context.Context, p *didChangeFolders) error {
	gone := map[string]bool{}
	for _, f := range p.Event.Removed {
		gone[f.URI] = true
	}
	var list []folder
	for _, f := range s.roots {
		if !gone[f.uri] {
			list = append(list, f)
		}
	}
	for _, f := range p.Event.Added {
		list = appendFolder(list, f.URI)
	}
	s.roots = list
	s.gate.sync(ctx, 0, func(e Engine) { e.SetRoots(paths(list)) })
	return nil
}

// didChangeConfiguration takes the settings if they came along, and asks for
// them if they didn't.
func (s *Server) didChangeConfiguration(ctx context.Context, p *struct {
	Settings json.RawMessage `json:"settings"`
}) error {
	var sections map[string]json.RawMessage
	if json.Unmarshal(p.Settings, &sections) == nil {
		for _, name := range settingsSections {
			if section := sections[name]; isObject(section) {
				s.gate.sync(ctx, len(section), func(e Engine) { e.SetSettings(section) })
				return nil
			}
		}
	}
	s.pullSettings()
	return nil
}

// pullSettings asks the editor for our settings, on a goroutine of its own.
func (s *Server) pullSettings() {
	if !s.peer.caps.configuration {
		return
	}
	s.background(func() {
		params := &lsp.ConfigurationParams{}
		for i := range settingsSections {
			params.Items = append(params.Items, lsp.ConfigurationItem{Section: &settingsSections[i]})
		}
		var answer []lsp.LSPAny
		if err := s.peer.call(s.ctx, lsp.MethodWorkspaceConfiguration, params, &answer); err != nil {
			s.log.Warn("the editor gave no settings", "error", err)
			return
		}
		for _, section := range answer {
			if !isObject(section) {
				continue
			}
			if e, err := s.gate.wait(s.ctx); err == nil {
				e.SetSettings(json.RawMessage(section))
			}
			return
		}
	})
}

func isObject(data []byte) bool { return len(data) > 0 && data[0] == '{' }

// documents is what the connection itself remembers of the open documents.
type documents struct {
	mu       sync.Mutex
	last     string         // the one that the person was in last
	at       agent.Position // where in it, as far as known
	versions map[string]int32
	waiting  []*versionWait
}

// versionWait is closed once every document is at its version or beyond.
type versionWait struct {
	versions map[string]int32
	reached  chan struct{}
}

// touch notes that the person is in a document that has this version now.
func (d *documents) touch(uri string, version int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.versions == nil {
		d.versions = map[string]int32{}
	}
	d.versions[uri] = version
	d.move(uri)
	keep := d.waiting[:0]
	for _, w := range d.waiting {
		if d.passed(w) {
			close(w.reached)
		} else {
			keep = append(keep, w)
		}
	}
	d.waiting = keep
}

func (d *documents) move(uri string) {
	if d.last != uri {
		d.last, d.at = uri, agent.Position{}
	}
}

// focus notes that the person is in a document.
func (d *documents) focus(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.move(uri)
}

// pointAt notes where in a document the person is.
func (d *documents) pointAt(uri string, at agent.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last, d.at = uri, at
}

func (d *documents) closed(uri string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.versions, uri)
}

// where is the last document and the place in it.
func (d *documents) where() (uri string, at agent.Position) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, d.at
}

func (d *documents) passed(w *versionWait) bool {
	for uri, v := range w.versions {
		if d.versions[uri] < v {
			return false
		}
	}
	return true
}

// await gives a channel that is closed once all documents are at these
// versions or beyond; stop must be called.
func (d *documents) await(versions map[string]int32) (reached <-chan struct{}, stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := &versionWait{versions: versions, reached: make(chan struct{})}
	if d.passed(w) {
		close(w.reached)
		return w.reached, func() {}
	}
	d.waiting = append(d.waiting, w)
	return w.reached, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for i, other := range d.waiting {
			if other == w {
				d.waiting = append(d.waiting[:i], d.waiting[i+1:]...)
				return
			}
		}
	}
}
