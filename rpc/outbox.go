package rpc

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// Limits of what waits for one slow client.
const (
	OutboxDeltas   = 4096    // agent/cycle messages; beyond it each session keeps its newest only
	OutboxBytes    = 8 << 20 // of agent/cycle messages; likewise
	OutboxMessages = 4096    // other messages; beyond it the oldest that may be lost is
)

// outbox is the notifications that wait to be sent to one client.
//
// Delivery, by kind:
//
//   - deltas (agent/cycle) go out in order. When too many wait, each session's
//     are thrown away but for the newest: its rev shows the client a gap, and
//     the client asks agent/cycles.
//   - kept messages (ACK, RESULT, ABORT, DONE, results, errors) go out in order.
//   - telemetry goes out in order, and is lost where too many messages wait.
//   - latest messages (index, edits, STATE) have a key: a newer one takes the
//     older one's news and goes to the end of the queue.
//
// put never blocks and never waits for the client.
type outbox struct {
	mu     sync.Mutex
	head   *message // a list in the order of sending
	tail   *message
	latest map[string]*message // by key
	deltas int
	bytes  int
	others int
	wake   chan struct{} // capacity 1
}

// message is one notification. Params are encoded when it is sent, unless
// they are encoded already.
type message struct {
	method  string
	params  any
	session string // of a delta
	key     string // of a latest message
	kept    bool
	// merge, on a latest message, takes what an older one with the same key
	// still had to say.
	merge func(older any) any

	// sent, on a mark, is closed when all that was queued before is sent; a mark
	// says nothing itself.
	sent chan struct{}

	bytes      int
	prev, next *message
}

func newOutbox() *outbox {
	return &outbox{latest: map[string]*message{}, wake: make(chan struct{}, 1)}
}

// put queues a message.
func (o *outbox) put(m *message) {
	o.mu.Lock()
	if m.key != "" {
		if older := o.latest[m.key]; older != nil {
			if m.merge != nil {
				m.params = m.merge(older.params)
			}
			o.unlink(older)
		}
		o.latest[m.key] = m
	}
	o.link(m)
	if m.session != "" && (o.deltas > OutboxDeltas || o.bytes > OutboxBytes) {
		o.dropDeltas()
	}
	if o.others > OutboxMessages {
		o.dropOther()
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) link(m *message) {
	if m.prev = o.tail; m.prev == nil {
		o.head = m
	} else {
		m.prev.next = m
	}
	o.tail = m
	o.count(m, 1)
}

func (o *outbox) unlink(m *message) {
	if m.prev == nil {
		o.head = m.next
	} else {
		m.prev.next = m.next
	}
	if m.next == nil {
		o.tail = m.prev
	} else {
		m.next.prev = m.prev
	}
	m.prev, m.next = nil, nil
	o.count(m, -1)
	if m.key != "" && o.latest[m.key] == m {
		delete(o.latest, m.key)
	}
}

func (o *outbox) count(m *message, sign int) {
	if m.session == "" {
		o.others += sign
		return
	}
	o.deltas += sign
	o.bytes += sign * m.bytes
}

// dropDeltas leaves each session its newest delta.
func (o *outbox) dropDeltas() {
	seen := map[string]bool{}
	for m := o.tail; m != nil; {
		older := m.prev
		if m.session != "" {
			if seen[m.session] {
				o.unlink(m)
			}
			seen[m.session] = true
		}
		m = older
	}
}

// dropOther makes room for one message: the oldest that may be lost, and when
// none may, the oldest.
func (o *outbox) dropOther() {
	var oldest *message
	for m := o.head; m != nil; m = m.next {
		if m.session != "" {
			continue
		}
		if !m.kept {
			o.unlink(m)
			return
		}
		if oldest == nil {
			oldest = m
		}
	}
	if oldest != nil {
		o.unlink(oldest)
	}
}

// next takes the first message, or nil.
func (o *outbox) next() *message {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.head
	if m != nil {
		o.unlink(m)
	}
	return m
}

// drain sends messages as they come until ctx ends or a write fails; then it
// sends nothing more.
func (o *outbox) drain(ctx context.Context, conn jsonrpc2.Conn, log *slog.Logger) {
	for ctx.Err() == nil {
		m := o.next()
		if m == nil {
			select {
			case <-o.wake:
			case <-ctx.Done():
			}
			continue
		}
		if m.sent != nil {
			close(m.sent)
			continue
		}
		if err := send(ctx, conn, m); err != nil && ctx.Err() == nil {
			log.Warn("a notification was not sent", "method", m.method, "error", err)
			if conn.Err() != nil {
				return
			}
		}
	}
}

// flush waits until what is queued now is sent, but not longer than limit.
func (o *outbox) flush(limit time.Duration) {
	mark := &message{kept: true, sent: make(chan struct{})}
	o.put(mark)
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-mark.sent:
	case <-late.C:
	}
}

func send(ctx context.Context, conn jsonrpc2.Conn, m *message) error {
	params, ok := m.params.(jsonrpc2.RawMessage)
	if !ok {
		var err error
		if params, err = encode(m.params); err != nil {
			return err
		}
	}
	return conn.Notify(ctx, m.method, params)
}
