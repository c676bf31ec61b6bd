package workspace

import "github.com/agent-lsp/agent-lsp/internal/text"

// Change is one content change of an open document, as the editor protocol
// sends it: Range is nil when Text is the whole new content. The changes of a
// list refer to the text that the ones before them left.
type Change struct {
	Range *text.Range
	Text  string
}
