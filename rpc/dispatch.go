package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strconv"
	"strings"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
)

// route is how a method is served. An inline method runs on the read loop, so
// that nothing that comes later overtakes it; it must not wait for the client.
// All others run at the same time as what comes later.
type route struct {
	inline bool
	call   func(ctx context.Context, params jsonrpc2.RawMessage) (any, error)
}

// handle serves one message. It is called on the read loop.
//
// jsonrpc2 recycles its request contexts: deriving a context from one in a
// handler that was not released crashes the process. Only Async and
// DetachContext may see rctx.
func (s *Server) handle(rctx context.Context, req *jsonrpc2.Request) (any, error) {
	ctx := agent.WithEncoding(jsonrpc2.DetachContext(rctx), s.peer.caps.Encoding)
	method := strings.Clone(req.Method())
	if !req.IsCall() {
		s.notified(ctx, method, req.Params())
		return nil, nil // an error here would end the connection
	}
	result, err := s.called(ctx, rctx, method, req)
	if err != nil {
		return nil, toWire(err)
	}
	return result, nil
}

// notified serves a notification. What is wrong with it is logged: there is
// nobody to answer.
func (s *Server) notified(ctx context.Context, method string, params jsonrpc2.RawMessage) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("panic", "method", method, "panic", r, "stack", string(debug.Stack()))
		}
	}()
	if s.at() == created && method != lsp.MethodExit {
		return // LSP: dropped before initialize
	}
	s.speak()
	r, ok := s.routes[method]
	if !ok {
		s.log.Debug("an unknown notification was passed over", "method", method)
		return
	}
	if _, err := r.call(ctx, params); err != nil && ctx.Err() == nil {
		s.log.Warn("a notification could not be used", "method", method, "error", err)
		s.peer.logMessage(messageWarning, method+": "+err.Error())
	}
}

// called serves a request.
func (s *Server) called(ctx, rctx context.Context, method string, req *jsonrpc2.Request) (result any, err error) {
	defer func() {
		if r := recover(); r != nil { // the connection would be closed
			s.log.Error("panic", "method", method, "panic", r, "stack", string(debug.Stack()))
			result, err = nil, fmt.Errorf("%s: internal error: %v", method, r)
		}
	}()
	if err := s.mayCall(method); err != nil {
		return nil, err
	}
	r, ok := s.routes[method]
	if !ok {
		return nil, jsonrpc2.Errorf(jsonrpc2.MethodNotFound, "%.200q is no method of this server", method)
	}
	if r.inline {
		return r.call(ctx, req.Params())
	}
	s.speak()
	id := idKey(req.ID())
	ctx, cancel := context.WithCancel(context.WithValue(ctx, requestKey{}, req.ID()))
	if !s.register(id, cancel) {
		cancel()
		return nil, errTooMany
	}
	defer s.unregister(id, cancel)
	turn, done := s.lanes.take(laneOf(method))
	defer done()
	jsonrpc2.Async(rctx) // from here on the read loop goes on without us
	if err := turn(ctx); err != nil {
		return nil, err
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer s.traced(method)()
	result, err = r.call(ctx, req.Params())
	if err != nil && ctx.Err() != nil && !errors.As(err, new(*jsonrpc2.Error)) {
		err = ctx.Err() // whatever the engine made of being cancelled
	}
	return result, err
}

// requestKey finds the request's id in its context.
type requestKey struct{}

// afterReply runs f once the request that ctx belongs to has been answered.
func (s *Server) afterReply(ctx context.Context, f func()) {
	if id, ok := ctx.Value(requestKey{}).(jsonrpc2.ID); ok {
		s.stream.afterReply(id, f)
	}
}

// mayCall tells whether a request may come at this time of the connection's life.
func (s *Server) mayCall(method string) error {
	switch at := s.at(); {
	case at == created && method != lsp.MethodInitialize:
		return errNotInitialized
	case at == initialized && method == lsp.MethodInitialize:
		return errInitialized
	case at == shutDown:
		return errShutDown
	}
	return nil
}

func (s *Server) at() stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stage
}

// speak lets notifications out: LSP allows none before initialize is answered,
// which it is when the next message is read.
func (s *Server) speak() {
	s.speaking.Do(func() {
		close(s.spoken)
		s.background(func() { s.peer.out.drain(s.ctx, s.conn, s.log) })
	})
}

func (s *Server) register(id string, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inflight) >= RequestsWaiting {
		return false
	}
	s.inflight[id] = cancel
	return true
}

func (s *Server) unregister(id string, cancel context.CancelFunc) {
	cancel()
	s.mu.Lock()
	delete(s.inflight, id)
	s.mu.Unlock()
}

// cancelRequest serves $/cancelRequest.
func (s *Server) cancelRequest(_ context.Context, params jsonrpc2.RawMessage) (any, error) {
	var p struct {
		ID json.RawMessage `json:"id"`
	}
	if err := decodeParams(params, &p); err != nil {
		return nil, err
	}
	key := string(p.ID)
	if strings.HasPrefix(key, `"`) { // spelt as idKey spells it
		var text string
		if err := json.Unmarshal(p.ID, &text); err != nil {
			return nil, err
		}
		key = idKey(jsonrpc2.NewStringID(text))
	}
	s.mu.Lock()
	cancel := s.inflight[key]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return nil, nil
}

// idKey is an id as its JSON.
func idKey(id jsonrpc2.ID) string {
	if n, ok := id.Number(); ok {
		return strconv.FormatInt(n, 10)
	}
	text, _ := id.StringValue()
	quoted, _ := json.Marshal(text) // a string always marshals
	return string(quoted)
}

// ours serves a method with our own types, encoded and decoded as such.
func ours[P, R any](method string, f func(context.Context, *P) (R, error)) route {
	return route{call: func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return nil, badParams(method, err)
		}
		result, err := f(ctx, p)
		if err != nil {
			return nil, err
		}
		return encode(result)
	}}
}

// decoded serves a method of LSP whose params are decoded by types of our own,
// so that the client's URIs stay as they are; see sync.go.
func decoded[P, R any](method string, f func(context.Context, *P) (R, error)) route {
	return route{call: func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return nil, badParams(method, err)
		}
		return f(ctx, p)
	}}
}

// standard serves a method of LSP with LSP's types.
func standard[P, R any](method string, f func(context.Context, *P) (R, error)) route {
	return route{call: func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		p := new(P)
		if len(params) > 0 {
			if err := lsp.Unmarshal(params, p); err != nil {
				return nil, badParams(method, err)
			}
		}
		return f(ctx, p)
	}}
}

// told serves a notification with our own types, on the read loop.
func told[P any](f func(context.Context, *P) error) route {
	return route{inline: true, call: func(ctx context.Context, params jsonrpc2.RawMessage) (any, error) {
		p := new(P)
		if err := decodeParams(params, p); err != nil {
			return nil, err
		}
		return nil, f(ctx, p)
	}}
}

func isFileClosed(err error) bool { return errors.Is(err, fs.ErrClosed) }
