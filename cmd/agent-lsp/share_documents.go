package main

import (
	"context"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// seats are the clients of one engine, and who of them holds which document.
// The engine knows one buffer a file: that of the client which opened it first.
// The others' are kept aside until it closes or goes away.
type seats struct {
	engine *agent.Engine
	ledger *edits.Ledger
	space  *workspace.Workspace

	mu      sync.Mutex
	list    []*seat // in order of attachment
	holders map[string]*seat
}

func newSeats() *seats { return &seats{holders: map[string]*seat{}} }

// seat is one client's place at the engine.
type seat struct {
	*agent.Engine
	all    *seats
	client agent.Client
	aside  map[string]*aside // open here, held by another
}

// aside is a buffer that the engine doesn't know.
type aside struct {
	uri, language string
	version       int32
	text, saved   string
}

// docsAsideMax bounds the buffers of one client that are kept aside.
const docsAsideMax = 1000

func (s *seats) new() *seat {
	return &seat{Engine: s.engine, all: s, aside: map[string]*aside{}}
}

// Attach implements rpc.Engine.
func (s *seat) Attach(c agent.Client) (detach func()) {
	s.client = c
	s.all.mu.Lock()
	s.all.list = append(s.all.list, s)
	s.all.seatEditor()
	s.all.mu.Unlock()
	leave := s.Engine.Attach(withoutEdits{c})
	return func() {
		leave()
		s.all.leave(s)
	}
}

// withoutEdits hides from the engine that a client can apply edits: which
// client gets an edit is decided here.
type withoutEdits struct{ agent.Client }

// Caps implements agent.Client.
func (w withoutEdits) Caps() agent.ClientCaps {
	c := w.Client.Caps()
	c.ApplyEdit = false
	return c
}

// seatEditor tells the ledger whether there is an editor.
func (s *seats) seatEditor() {
	for _, x := range s.list {
		if x.client.Caps().ApplyEdit {
			s.ledger.SetEditor(s)
			return
		}
	}
	s.ledger.SetEditor(nil)
}

func (s *seats) leave(gone *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(x *seat) bool { return x == gone })
	for key, h := range s.holders {
		if h == gone {
			delete(s.holders, key)
			if doc, ok := s.doc(key); ok {
				s.engine.DidClose(doc.URI)
			}
			s.promote(key)
		}
	}
	s.seatEditor()
}

func (s *seats) doc(key string) (workspace.Doc, bool) {
	p, err := s.space.Resolve(key)
	if err != nil {
		return workspace.Doc{}, false
	}
	return s.space.Doc(p)
}

// promote gives a document that nobody holds to the next who has it open.
func (s *seats) promote(key string) {
	for _, x := range s.list {
		if a := x.aside[key]; a != nil {
			delete(x.aside, key)
			s.holders[key] = x
			s.engine.DidOpen(a.uri, a.language, a.version, a.saved)
			if a.text != a.saved {
				_ = s.engine.DidChange(a.uri, a.version, []agent.ContentChange{{Text: a.text}}, "") // it is open, and a whole text always fits
			}
			return
		}
	}
}

// keyOf is a document's path, so that two spellings of one URI are one.
func keyOf(uri string) string {
	if p, err := workspace.URIPath(uri); err == nil {
		return p
	}
	return uri
}

// DidOpen implements agent.Documents.
func (s *seat) DidOpen(uri, language string, version int32, content string) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	key := keyOf(uri)
	if h := s.all.holders[key]; h != nil && h != s {
		if len(s.aside) < docsAsideMax {
			s.aside[key] = &aside{uri, language, version, content, content}
		}
		return
	}
	s.all.holders[key] = s
	s.Engine.DidOpen(uri, language, version, content)
}

// DidChange implements agent.Documents.
func (s *seat) DidChange(uri string, version int32, changes []agent.ContentChange, encoding string) error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if a := s.aside[keyOf(uri)]; a != nil {
		a.version = version
		a.text = changed(a.text, changes, text.Encoding(encoding))
		return nil
	}
	return s.Engine.DidChange(uri, version, changes, encoding)
}

// changed is a text with a client's changes made.
func changed(content string, changes []agent.ContentChange, enc text.Encoding) string {
	for _, c := range changes {
		if c.Range == nil {
			content = c.Text
			continue
		}
		span := text.NewIndex(content).Span(toText(*c.Range), enc)
		content = content[:span.Start] + c.Text + content[span.End:]
	}
	return content
}

// DidSave implements agent.Documents.
func (s *seat) DidSave(uri string) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if a := s.aside[keyOf(uri)]; a != nil {
		a.saved = a.text
		return
	}
	s.Engine.DidSave(uri)
}

// DidClose implements agent.Documents.
func (s *seat) DidClose(uri string) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	key := keyOf(uri)
	if s.aside[key] != nil {
		delete(s.aside, key)
		return
	}
	delete(s.all.holders, key)
	s.Engine.DidClose(uri)
	s.all.promote(key)
}

// ApplyEdit implements edits.Editor: each document's edit goes to who holds it.
func (s *seats) ApplyEdit(ctx context.Context, label string, docs []edits.DocEdit) (bool, error) {
	var to *seat
	s.mu.Lock()
	for _, d := range docs {
		h := s.holders[keyOf(d.URI)]
		if h == nil || to != nil && h != to || !h.client.Caps().ApplyEdit {
			s.mu.Unlock()
			return false, nil
		}
		to = h
	}
	s.mu.Unlock()
	if to == nil {
		return false, nil
	}
	ok, _, err := to.client.ApplyEdit(ctx, agent.WorkspaceEditFor(to.client, label, docs))
	return ok, err
}

// SaveDoc implements edits.Saver: who holds the document saves it.
func (s *seats) SaveDoc(ctx context.Context, uri string, version int32) (bool, error) {
	s.mu.Lock()
	h := s.holders[keyOf(uri)]
	s.mu.Unlock()
	if h == nil {
		return false, nil
	}
	return agent.SaveBy(ctx, h.client, uri, version)
}

func toText(r agent.Range) text.Range {
	return text.Range{Start: text.Position{Line: r.Start.Line, Col: r.Start.Character}, End: text.Position{Line: r.End.Line, Col: r.End.Character}}
}
