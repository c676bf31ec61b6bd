package rpc

import (
	"bytes"
	"encoding/json"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// owed counts the requests that were read and not answered yet. The connection
// writes nothing more once reading has failed, so the end of the input is told
// to it only when all that was asked before is answered, or after a while.
type owed struct {
	mu      sync.Mutex
	answers int
	none    chan struct{} // closed when nothing is owed any more; nil while nobody waits
	over    bool          // nobody will wait any more
}

func (o *owed) asked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers++
}

func (o *owed) answered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.answers = max(o.answers-1, 0); o.answers == 0 {
		o.wake()
	}
}

// giveUp ends the waiting: the connection is closed.
func (o *owed) giveUp() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.wake()
}

// wake frees who waits. mu must be held.
func (o *owed) wake() {
	if o.none != nil {
		close(o.none)
		o.none = nil
	}
}

// settle waits until nothing is owed, but not longer than limit.
func (o *owed) settle(limit time.Duration) {
	o.mu.Lock()
	if o.answers == 0 || o.over || limit <= 0 {
		o.mu.Unlock()
		return
	}
	none := make(chan struct{})
	o.none = none
	o.mu.Unlock()
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-none:
	case <-late.C:
	}
}

// wantsAnswer tells whether a message will have one. What is no message has.
func wantsAnswer(m jsonrpc2.Message, err error) bool {
	switch m.(type) {
	case *jsonrpc2.Notification, *jsonrpc2.Response:
		return false
	}
	return m != nil || err != nil
}

// responseHead begins every response that the connection writes, and nothing else.
var responseHead = []byte(`{"jsonrpc":"2.0","id":`)

func isAnswer(data []byte) bool { return bytes.HasPrefix(data, responseHead) || isBatch(data) }

func isBatch(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("["))
}

// withErrorData gives the errors in the answers to a batch the data that every
// error carries: the connection makes those for members that are no messages.
func withErrorData(batch []byte) []byte {
	var list []map[string]json.RawMessage
	if json.Unmarshal(batch, &list) != nil {
		return batch
	}
	changed := false
	for _, answer := range list {
		var e struct {
			Code    jsonrpc2.Code   `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data,omitempty"`
		}
		if answer["error"] == nil || json.Unmarshal(answer["error"], &e) != nil || e.Data != nil {
			continue
		}
		if e.Code == jsonrpc2.ParseError { // the batch was JSON: what is in it is only no message
			e.Code, e.Message = jsonrpc2.InvalidRequest, noMessage
		}
		e.Data = json.RawMessage(errorData(nameOf(e.Code), "", false))
		if text, err := json.Marshal(e); err == nil {
			answer["error"], changed = text, true
		}
	}
	if out, err := json.Marshal(list); err == nil && changed {
		return out
	}
	return batch
}
