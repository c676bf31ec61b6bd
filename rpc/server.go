package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// Limits of a connection.
const (
	RequestsRunning = 64   // requests that are worked on at a time; more wait
	RequestsWaiting = 4096 // requests that may wait; more are refused
	ControlsWaiting = 1024 // loop:control messages that may wait; then the reader does

	drainWait = 2 * time.Second // how long requests may finish after the input's end, and notifications may go out at ours
	forceWait = 1 * time.Second // after which a connection that doesn't close is broken off
	closeWait = 5 * time.Second // how long the connection and the engine may take to close
)

// ErrNoShutdown is Run's error when exit came without shutdown, which LSP
// wants to be exit code 1.
var ErrNoShutdown = errors.New("exit came without shutdown")

// Options is what a Server is made with. Open is required.
type Options struct {
	Open    Open
	Version string // of the program, for serverInfo
	// CacheDir is where answers are kept as documents for clients that have
	// no panel. Without it they get messages.
	CacheDir string
	Log      *slog.Logger // never to the connection's own output; nil: nowhere
}

// Server is one connection of one client. Make it with New, call Run once.
type Server struct {
	opts   Options
	log    *slog.Logger
	stream *stream
	conn   jsonrpc2.Conn
	routes map[string]route
	gate   *gate
	peer   *peer

	ctx      context.Context // of the connection; set by Run before anything is read
	slots    chan struct{}
	controls chan json.RawMessage
	speaking sync.Once     // starts the outbox
	spoken   chan struct{} // closed when initialize has been answered
	exited   chan struct{} // closed by exit
	lanes    lanes         // read loop only
	docs     documents
	tracing  atomic.Bool // $/setTrace

	mu       sync.Mutex
	stage    stage
	inflight map[string]context.CancelFunc // by idKey
	detach   func()
	roots    []folder
	closing  bool
	tasks    sync.WaitGroup // goroutines that end with ctx
}

// stage is where in its life a connection is.
type stage int

const (
	created     stage = iota // initialize has not come
	initialized              // initialize was answered
	shutDown                 // shutdown was answered
)

func (s stage) String() string {
	return [...]string{"created", "initialized", "shut down"}[s]
}

// New makes a server that speaks over conn.
func New(conn io.ReadWriteCloser, o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	st := newStream(conn)
	st.settleFor = drainWait
	s := &Server{
		opts: o, log: o.Log, stream: st,
		conn:     jsonrpc2.NewConn(st, jsonrpc2.WithCodec(codec{})),
		gate:     newGate(),
		slots:    make(chan struct{}, RequestsRunning),
		controls: make(chan json.RawMessage, ControlsWaiting),
		exited:   make(chan struct{}),
		spoken:   make(chan struct{}),
		lanes:    lanes{},
		inflight: map[string]context.CancelFunc{},
	}
	s.peer = newPeer(s)
	s.routes = s.newRoutes()
	return s
}

// Run serves until exit, the input's end, or ctx's. It returns nil when that
// was a clean end: exit after shutdown, or the input's end between messages.
// When ctx ends, the client still gets what it was told before.
func (s *Server) Run(ctx context.Context) error {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.ctx = serving
	s.background(s.serveControls)
	s.conn.Go(serving, s.handle)
	select {
	case <-s.exited:
	case <-ctx.Done():
		s.flush()
	case <-s.stream.ended:
		// Answers that are on their way still go out.
		select {
		case <-s.exited:
		case <-s.conn.Done():
		case <-time.After(drainWait):
		}
	case <-s.conn.Done():
	}
	cancel()
	s.stream.owed.giveUp()
	s.close()
	return s.verdict()
}

// flush sends what the client was told already, if it reads.
func (s *Server) flush() {
	select {
	case <-s.spoken:
		s.peer.out.flush(drainWait)
	default: // initialize was not answered: nothing may be sent
	}
}

// background runs f on a goroutine that Run waits for; not at all once the
// connection is closing.
func (s *Server) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return
	}
	s.tasks.Add(1)
	go func() {
		defer s.tasks.Done()
		f()
	}()
}

// close ends everything that the connection began. Each step may be held up by
// a client or an engine that doesn't answer, so all have the same limited time.
func (s *Server) close() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.conn.Close()
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		s.tasks.Wait()
		s.mu.Lock()
		detach := s.detach
		s.mu.Unlock()
		if detach == nil {
			return
		}
		detach()
		if err := s.gate.engine.Close(); err != nil {
			s.log.Error("the engine did not close cleanly", "error", err)
		}
	}()
	force := time.AfterFunc(forceWait, func() { _ = s.stream.Close() }) // frees who writes to a client that doesn't read
	defer force.Stop()
	select {
	case <-done:
	case <-time.After(closeWait):
		s.log.Error("closing took too long", "limit", closeWait)
	}
}

// verdict is how the connection ended.
func (s *Server) verdict() error {
	s.mu.Lock()
	clean := s.stage == shutDown
	s.mu.Unlock()
	select {
	case <-s.exited:
		if !clean {
			return ErrNoShutdown
		}
		return nil
	default:
	}
	select {
	case <-s.stream.ended:
		if cause := s.stream.cause; !errors.Is(cause, io.EOF) && !isClosed(cause) {
			return cause
		}
		return nil
	default:
		return s.conn.Err()
	}
}

// isClosed tells the errors that are only our own closing.
func isClosed(err error) bool {
	return errors.Is(err, io.ErrClosedPipe) || errors.Is(err, context.Canceled) || isFileClosed(err)
}

// open makes the engine while the client goes on talking.
func (s *Server) open(o InitOptions) {
	s.background(func() {
		engine, err := s.safeOpen(o)
		if err != nil {
			if s.ctx.Err() == nil {
				s.log.Error("the engine did not open", "error", err)
				s.peer.showMessage(messageError, "agent-lsp could not start: "+err.Error())
			}
			s.gate.openWith(nil, err)
			return
		}
		detach := engine.Attach(s.peer)
		s.mu.Lock()
		s.detach = detach
		s.mu.Unlock()
		s.gate.openWith(engine, nil)
	})
}

func (s *Server) safeOpen(o InitOptions) (e Engine, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, err = nil, fmt.Errorf("opening the engine panicked: %v", r)
		}
	}()
	return s.opts.Open(s.ctx, o)
}

// serveControls hands loop:control messages to the engine, one after the other.
func (s *Server) serveControls() {
	for {
		select {
		case <-s.ctx.Done():
			return
		case m := <-s.controls:
			if e, err := s.gate.wait(s.ctx); err == nil {
				e.Control(s.ctx, s.peer, m)
			}
		}
	}
}
