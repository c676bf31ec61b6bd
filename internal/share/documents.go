package share

import (
	"encoding/json"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// documents mirrors what the editor has open, so that the next holder can be
// told. It is not safe for concurrent use.
type documents struct {
	enc  text.Encoding
	open map[string]*document
	// order is that of opening.
	order []string
}

type document struct {
	language    string
	version     int32
	text, saved string
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

func newDocuments() *documents { return &documents{enc: text.UTF16, open: map[string]*document{}} }

// docParams is the params of all notifications of document sync.
type docParams struct {
	TextDocument struct {
		URI        string `json:"uri"`
		LanguageID string `json:"languageId,omitempty"`
		Version    int32  `json:"version"`
		Text       string `json:"text"`
	} `json:"textDocument"`
	ContentChanges []docChange `json:"contentChanges,omitempty"`
}

type docChange struct {
	Range *struct {
		Start position `json:"start"`
		End   position `json:"end"`
	} `json:"range,omitempty"`
	Text string `json:"text"`
}

// note takes in a notification of the editor's.
func (d *documents) note(method string, body []byte) {
	switch method {
	case "textDocument/didOpen", "textDocument/didChange", "textDocument/didSave", "textDocument/didClose":
	default:
		return
	}
	var m struct{ Params docParams }
	if json.Unmarshal(body, &m) != nil {
		return
	}
	p := m.Params.TextDocument
	doc := d.open[p.URI]
	switch {
	case method == "textDocument/didOpen":
		if doc == nil {
			d.order = append(d.order, p.URI)
		}
		d.open[p.URI] = &document{language: p.LanguageID, version: p.Version, text: p.Text, saved: p.Text}
	case doc == nil:
	case method == "textDocument/didChange":
		doc.version = p.Version
		for _, c := range m.Params.ContentChanges {
			doc.change(c, d.enc)
		}
	case method == "textDocument/didSave":
		doc.saved = doc.text
	default:
		delete(d.open, p.URI)
		d.order = slices.DeleteFunc(d.order, func(u string) bool { return u == p.URI })
	}
}

func (d *document) change(c docChange, enc text.Encoding) {
	if c.Range == nil {
		d.text = c.Text
		return
	}
	span := text.NewIndex(d.text).Span(text.Range{
		Start: text.Position{Line: c.Range.Start.Line, Col: c.Range.Start.Character},
		End:   text.Position{Line: c.Range.End.Line, Col: c.Range.End.Character}}, enc)
	if next, err := text.Apply(d.text, []text.Edit{{Start: span.Start, End: span.End, New: c.Text}}); err == nil {
		d.text = next
	}
}

// replay is the notifications that open everything as it is now.
func (d *documents) replay() (out [][]byte) {
	for _, uri := range d.order {
		doc := d.open[uri]
		var p docParams
		p.TextDocument.URI, p.TextDocument.LanguageID, p.TextDocument.Version, p.TextDocument.Text = uri, doc.language, doc.version, doc.saved
		out = append(out, notification("textDocument/didOpen", p))
		if doc.text != doc.saved { // unsaved: the whole text once more, as a change
			p = docParams{ContentChanges: []docChange{{Text: doc.text}}}
			p.TextDocument.URI, p.TextDocument.Version = uri, doc.version
			out = append(out, notification("textDocument/didChange", p))
		}
	}
	return out
}

func notification(method string, params any) []byte {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return body
}
