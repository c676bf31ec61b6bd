package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/frame"
	"github.com/agent-lsp/agent-lsp/internal/share"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rpc"
)

// One process runs a workspace's engine: the one that holds the claim. It
// serves its own editor directly and everybody else over a socket. A later
// server relays its editor's messages to that socket, and takes over when the
// holder is gone.

// shareAt is where a folder's servers find each other.
func shareAt(dir string) (share.Place, error) {
	space, err := workspace.Open([]string{dir})
	if err != nil {
		return share.Place{}, err
	}
	defer space.Close()
	p := placesOf(space.Roots()[0])
	return share.NewPlace(p.state, os.Getenv("XDG_RUNTIME_DIR"), p.cache), nil
}

// host is a workspace's engine with all who talk to it.
type host struct {
	claim *share.Claim
	log   *slog.Logger
	// adopted is set on a host that took over: its settings are whatever the
	// clients that are left say last.
	adopted bool

	opened chan struct{} // closed once house or err is set
	house  *house
	err    error
	seats  *seats

	ctx      context.Context // of the guests
	cancel   context.CancelFunc
	guests   sync.WaitGroup
	attached atomic.Int64 // guests that are connected
	once     sync.Once
}

// newHost lets guests in at once; they wait until the engine is open.
func newHost(claim *share.Claim, log *slog.Logger) *host {
	h := &host{claim: claim, log: log, opened: make(chan struct{}), seats: newSeats()}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if err := claim.Listen(); err != nil {
		log.Warn("other clients can't join", "error", err)
	}
	h.guests.Add(1)
	go h.accept()
	return h
}

// open opens the engine. It is called once.
func (h *host) open(ctx context.Context, dir string, settings json.RawMessage) error {
	h.house, h.err = open(ctx, options{dir: dir, settings: settings, runs: true, log: func(f string, a ...any) { h.log.Warn(fmt.Sprintf(f, a...)) }})
	if h.err == nil {
		h.seats.engine, h.seats.ledger, h.seats.space = h.house.engine, h.house.ledger, h.house.space
	}
	close(h.opened)
	return h.err
}

// accept serves guests until the claim is closed.
func (h *host) accept() {
	defer h.guests.Done()
	for {
		conn, err := h.claim.Accept()
		if err != nil {
			return
		}
		h.guests.Add(1)
		go func() {
			defer h.guests.Done()
			h.attached.Add(1)
			defer h.attached.Add(-1)
			h.serve(conn)
		}()
	}
}

// serve is one guest's connection.
func (h *host) serve(conn net.Conn) {
	server := rpc.New(conn, rpc.Options{Version: version, Log: h.log, CacheDir: placesOf("").cache,
		Open: func(ctx context.Context, _ rpc.InitOptions) (rpc.Engine, error) {
			select {
			case <-h.opened:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			if h.err != nil {
				return nil, h.err
			}
			return &guest{seat: h.seats.new(), host: h}, nil
		}})
	if err := server.Run(h.ctx); err != nil && h.ctx.Err() == nil && !errors.Is(err, rpc.ErrNoShutdown) {
		h.log.Warn("a client's connection broke", "error", err)
	}
}

// lingerEvery is how often a host whose own editor has left looks whether the
// others' runs are done.
const lingerEvery = 50 * time.Millisecond

// linger keeps the engine going after the holder's own editor has left, while
// others are connected and runs go on: what one window does must not end what
// another one waits for. The process has let go of its editor by then; being
// asked to end (SIGTERM) does not hurry it, being killed is as every kill.
func (h *host) linger() {
	tick := time.NewTicker(lingerEvery)
	defer tick.Stop()
	for h.attached.Load() > 0 && h.busy() {
		<-tick.C
	}
}

// busy tells whether a run would be cut off, or its last words. A paused one
// would not: who takes over finds it as it is.
func (h *host) busy() bool {
	select {
	case <-h.opened:
		return h.house != nil && h.house.engine.Busy(h.ctx)
	default:
		return false
	}
}

// close ends everything: first who talks to the engine, then the engine, then
// the claim, so that the next holder finds nothing half done.
func (h *host) close() { h.once.Do(h.end) }

func (h *host) end() {
	h.claim.Close()
	h.cancel()
	h.guests.Wait()
	select {
	case <-h.opened:
		if h.house != nil {
			h.house.close()
		}
	default:
	}
	h.claim.Release()
}

// guest is the engine as one of the further clients sees it.
type guest struct {
	*seat
	host *host
}

// SetRoots implements rpc.Engine: the workspace is the holder's.
func (g *guest) SetRoots([]string) {}

// SetSettings implements rpc.Engine: the settings are the holder's.
func (g *guest) SetSettings(settings json.RawMessage) {
	if g.host.adopted {
		g.host.house.reconfigure(settings)
	}
}

// Close implements rpc.Engine: the engine goes on.
func (g *guest) Close() error { return nil }

// hello is what serve reads off an editor's first message.
type hello struct {
	Method string `json:"method"`
	Params struct {
		RootURI          string `json:"rootUri"`
		RootPath         string `json:"rootPath"`
		WorkspaceFolders []struct {
			URI string `json:"uri"`
		} `json:"workspaceFolders"`
		InitializationOptions struct {
			Settings json.RawMessage `json:"settings"`
		} `json:"initializationOptions"`
	} `json:"params"`
}

// dir is the workspace's folder as the server will see it.
func (h hello) dir() (string, error) {
	var list []string
	for _, f := range h.Params.WorkspaceFolders {
		list = append(list, f.URI)
	}
	if len(list) == 0 && h.Params.RootURI != "" {
		list = []string{h.Params.RootURI}
	}
	for _, uri := range list {
		if path, err := workspace.URIPath(uri); err == nil {
			return path, nil
		}
	}
	if len(list) == 0 && h.Params.RootPath != "" {
		return h.Params.RootPath, nil
	}
	return workingDir()
}

// recorded remembers what was read until it is told to forget.
type recorded struct {
	io.Reader
	kept *bytes.Buffer // nil: nothing is remembered any more
}

// Read implements io.Reader.
func (r *recorded) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.kept != nil {
		r.kept.Write(p[:n])
	}
	return n, err
}

// serveShared serves an editor: as the holder of the claim if it is free, else
// by relaying. What doesn't begin with initialize is left to the server, which
// has an answer to everything.
func serveShared(ctx context.Context, conn io.ReadWriteCloser, log *slog.Logger) error {
	tape := &recorded{conn, new(bytes.Buffer)}
	in := frame.NewReader(tape)
	body, _, err := in.Next(frame.Max)
	var first hello
	if err != nil || json.Unmarshal(body, &first) != nil || first.Method != "initialize" {
		return serveDirect(ctx, rewound(tape, conn), nil, log)
	}
	dir, err := first.dir()
	if err != nil {
		return err
	}
	place, err := shareAt(dir)
	if err != nil { // the server says so, in the protocol's own way
		return serveDirect(ctx, rewound(tape, conn), nil, log)
	}
	claim, joined, err := share.TryOrDial(ctx, place)
	if err != nil {
		log.Error("the folder can't be shared", "error", err)
		return serveDirect(ctx, rewound(tape, conn), nil, log)
	}
	if claim != nil {
		return serveDirect(ctx, rewound(tape, conn), claim, log)
	}
	tape.kept = nil
	return relay(ctx, in, conn, bytes.Clone(body), joined, func(ctx context.Context) (*share.Claim, net.Conn, error) { return share.TryOrDial(ctx, place) },
		func(claim *share.Claim) *host {
			h := newHost(claim, log)
			h.adopted = true
			h.guests.Add(1)
			go func() {
				defer h.guests.Done()
				if err := h.open(h.ctx, dir, first.Params.InitializationOptions.Settings); err != nil {
					log.Error("the engine did not open", "error", err)
				}
			}()
			return h
		}, func() (net.Conn, error) { return share.Dial(place) }, log)
}

// relay relays until the editor has gone, and hosts when it has to.
func relay(ctx context.Context, in *frame.Reader, conn io.ReadWriteCloser, first []byte, joined net.Conn,
	next func(context.Context) (*share.Claim, net.Conn, error), adopt func(*share.Claim) *host, dial func() (net.Conn, error), log *slog.Logger) error {
	var own *host
	defer func() {
		if own != nil {
			own.linger()
			own.close()
		}
	}()
	r := share.NewRelay(in, conn, first, func(ctx context.Context) (io.ReadWriteCloser, error) {
		claim, conn, err := next(ctx)
		if claim == nil {
			return conn, err
		}
		log.Info("this process serves the folder now")
		own = adopt(claim)
		return dial()
	}, func(f string, a ...any) { log.Warn(fmt.Sprintf(f, a...)) })
	err := r.Run(ctx, joined)
	if errors.Is(err, share.ErrNoShutdown) {
		err = rpc.ErrNoShutdown
	}
	return err
}

// rewound is a connection from its beginning.
func rewound(tape *recorded, conn io.ReadWriteCloser) io.ReadWriteCloser {
	kept := tape.kept
	tape.kept = nil
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{io.MultiReader(kept, conn), conn, conn}
}

// serveDirect serves an editor with an engine of this process's own. Without a
// claim it is taken when the workspace is known.
func serveDirect(ctx context.Context, conn io.ReadWriteCloser, claim *share.Claim, log *slog.Logger) error {
	var h *host
	if claim != nil {
		h = newHost(claim, log)
	}
	server := rpc.New(conn, rpc.Options{Version: version, Log: log, CacheDir: placesOf("").cache,
		Open: func(ctx context.Context, o rpc.InitOptions) (rpc.Engine, error) {
			dir := ""
			if len(o.Roots) > 0 {
				dir = o.Roots[0]
			}
			if h == nil {
				var err error
				if h, err = lateHost(dir, log); err != nil {
					return nil, err
				}
			}
			if err := h.open(ctx, dir, o.Settings); err != nil {
				return nil, err
			}
			return &served{seat: h.seats.new(), host: h}, nil
		},
	})
	err := server.Run(ctx)
	if h != nil {
		if ctx.Err() == nil {
			h.linger()
		}
		h.close()
	}
	return err
}

// lateHost takes the claim for a client whose first message said no folder.
func lateHost(dir string, log *slog.Logger) (*host, error) {
	if dir == "" {
		var err error
		if dir, err = workingDir(); err != nil {
			return nil, err
		}
	}
	place, err := shareAt(dir)
	if err != nil {
		return nil, err
	}
	claim, err := share.Try(place)
	if err != nil {
		return nil, err
	}
	if claim == nil {
		return nil, &agent.Error{Code: agent.CodeStoreUnavailable, Message: "another agent-lsp serves this folder", Hint: "connect again; the first message must be initialize", Retriable: true}
	}
	return newHost(claim, log), nil
}
