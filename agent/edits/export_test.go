package edits

import "github.com/agent-lsp/agent-lsp/cycle/review"

// State gives a file's review state to tests; ok is false when the ledger has
// nothing to say about it.
func (l *Ledger) State(path string) (review.File, bool) {
	p, err := l.ws.Resolve(path)
	if err != nil {
		return review.File{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.files[p.Abs]
	if f == nil || !f.known {
		return review.File{}, false
	}
	return f.state, true
}
