package edits

import "github.com/agent-lsp/agent-lsp/cycle"

// Observe is Load for a ledger that only answers questions about the past,
// beside the one that runs the workspace: it changes neither files nor journal.
func (l *Ledger) Observe(events []cycle.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.history.apply(e)
	}
}
