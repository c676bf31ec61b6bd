package rpc

import (
	"context"
	"sync"
)

// gateBytes bounds the document text that waits while the engine opens; when
// it is reached the reader waits too, and with it the client.
const gateBytes = 64 << 20

// gate holds back what is meant for the engine until it is open: requests
// wait, document sync is kept in order and replayed.
type gate struct {
	opened chan struct{} // closed once engine or err is set for good
	engine Engine        // read after opened
	err    error         // read after opened

	mu      sync.Mutex
	open    bool
	waiting []func(Engine)
	bytes   int
}

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// wait gives the engine once it is open.
func (g *gate) wait(ctx context.Context) (Engine, error) {
	select {
	case <-g.opened:
		return g.engine, g.err
	default:
	}
	select {
	case <-g.opened:
		return g.engine, g.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sync hands f the engine: at once when it is open, else in its turn. Calls
// come from the read loop only; size is what f holds on to.
func (g *gate) sync(ctx context.Context, size int, f func(Engine)) {
	g.mu.Lock()
	if !g.open && g.bytes+size <= gateBytes {
		g.waiting = append(g.waiting, f)
		g.bytes += size
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	if e, err := g.wait(ctx); err == nil {
		f(e)
	}
}

// openWith ends the waiting: what was held back is replayed, then requests go through.
func (g *gate) openWith(e Engine, err error) {
	g.engine, g.err = e, err
	for {
		g.mu.Lock()
		held := g.waiting
		g.waiting, g.bytes = nil, 0
		if len(held) == 0 {
			g.open = true
			close(g.opened)
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		if err != nil {
			continue
		}
		for _, f := range held {
			f(e)
		}
	}
}
