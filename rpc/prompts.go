package rpc

import (
	"context"
	"sync"
	"time"

	lsp "go.lsp.dev/protocol"
)

// prompts holds questions to the person back while a command waits for its
// answer: an editor that waits for the answer throws the question away.
type prompts struct {
	mu   sync.Mutex
	busy int
	free chan struct{} // closed when busy is 0
}

func newPrompts() *prompts {
	free := make(chan struct{})
	close(free)
	return &prompts{free: free}
}

// hold is called when a command comes; release when it is answered.
func (p *prompts) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy++; p.busy == 1 {
		p.free = make(chan struct{})
	}
}

func (p *prompts) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.busy == 0 {
		close(p.free)
	}
}

func (p *prompts) wait(ctx context.Context) error {
	for {
		p.mu.Lock()
		busy, free := p.busy, p.free
		p.mu.Unlock()
		if busy == 0 {
			return nil
		}
		select {
		case <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Limits of code lens refreshes.
const (
	lensEvery = 200 * time.Millisecond // at most one in this time
	lensWait  = 10 * time.Second       // for the client's answer
)

// refresher asks the client to ask for code lenses again, one request at a
// time, when pending hunks have changed.
type refresher struct {
	p *peer

	mu      sync.Mutex
	running bool
	dirty   bool
}

func (r *refresher) refresh() {
	if !r.p.caps.lensRefresh {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dirty = true
	if !r.running {
		r.running = true
		r.p.s.background(r.run)
	}
}

func (r *refresher) run() {
	ctx := r.p.s.ctx
	for {
		r.mu.Lock()
		if !r.dirty || ctx.Err() != nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.dirty = false
		r.mu.Unlock()
		call, cancel := context.WithTimeout(ctx, lensWait)
		if err := r.p.call(call, lsp.MethodWorkspaceCodeLensRefresh, nil, nil); err != nil && ctx.Err() == nil {
			r.p.s.log.Debug("the client did not refresh its code lenses", "error", err)
		}
		cancel()
		select {
		case <-time.After(lensEvery):
		case <-ctx.Done():
		}
	}
}
