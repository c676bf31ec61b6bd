package rpc

import (
	"slices"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// lateMax bounds how many questions that were taken back are remembered; the
// oldest are forgotten.
const lateMax = 64

// lateAnswers are questions that were taken back from the client, and whom to
// tell when their answers come all the same: the connection itself drops what
// nobody waits for.
type lateAnswers struct {
	mu   sync.Mutex
	list []lateAnswer
}

type lateAnswer struct {
	id   jsonrpc2.ID
	tell func(result jsonrpc2.RawMessage)
}

// await has tell called with the answer to a question; on the read loop, so it
// must not wait for the client.
func (l *lateAnswers) await(id jsonrpc2.ID, tell func(result jsonrpc2.RawMessage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == lateMax {
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, lateAnswer{id, tell})
}

// heard takes in every response that is read.
func (l *lateAnswers) heard(r *jsonrpc2.Response) {
	l.mu.Lock()
	i := slices.IndexFunc(l.list, func(a lateAnswer) bool { return a.id == r.ID() })
	if i < 0 {
		l.mu.Unlock()
		return
	}
	tell := l.list[i].tell
	l.list = slices.Delete(l.list, i, i+1)
	l.mu.Unlock()
	if r.Err() == nil {
		tell(r.Result())
	}
}
