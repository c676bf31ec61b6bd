package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/conc/panics"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// legacyVersion is the protocol whose handshake every server knows. A server
// that is silent at the newer one gets it at the next attempt.
const legacyVersion = "2025-11-25"

// server is one server and its tools.
type server struct {
	cfg   Server
	o     Options
	times times
	share int      // tools that it may have
	hide  []string // values that must not come back

	settled chan struct{} // closed when it has answered or failed once
	relist  chan struct{} // its list of tools changed
	suspect chan struct{} // a call took too long
	slots   chan struct{} // calls in flight

	mu      sync.Mutex
	state   State
	session *sdk.ClientSession // nil while it is not up
	count   *meter
	process *process // of the session that is up; nil over HTTP
	tools   []*tool  // in the registry, by name
	once    sync.Once
}

func newServer(cfg Server, o Options, t times, share int) *server {
	s := &server{cfg: cfg, o: o, times: t, share: share, settled: make(chan struct{}), relist: make(chan struct{}, 1),
		suspect: make(chan struct{}, 1), slots: make(chan struct{}, callsMax), state: State{Name: cfg.Name, State: Starting}}
	s.hide = cfg.secrets(o.Environ)
	return s
}

func (s *server) look() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.state
	out.LeftOut = slices.Clone(out.LeftOut)
	return out
}

func (s *server) become(state, says string) {
	s.mu.Lock()
	s.state.State, s.state.Says = state, oneLine(s.redact(says), saysMax)
	says = s.state.Says
	s.mu.Unlock()
	s.o.Log("MCP server %s is %s: %s", s.cfg.Name, state, says)
}

// live keeps the server up until ctx ends or its restarts are used up.
func (s *server) live(ctx context.Context) {
	defer s.settle()
	wait, failures := s.times.backoff, 0
	for attempt := 0; ; attempt++ {
		up := time.Duration(0)
		err := s.serve(ctx, attempt%2 == 1, &up)
		s.leave()
		if ctx.Err() != nil {
			s.publish(nil, nil)
			return
		}
		if up > s.times.stable {
			wait, failures = s.times.backoff, 0
		}
		if failures++; failures > s.times.restartsMax {
			s.publish(nil, nil)
			s.become(GivenUp, fmt.Sprintf("%v; not started again after %d attempts", err, failures))
			return
		}
		s.become(Down, err.Error())
		s.settle()
		if !pause(ctx, wait) {
			s.publish(nil, nil)
			return
		}
		wait = min(2*wait, s.times.backoffMax)
		s.mu.Lock()
		s.state.Restarts++
		s.mu.Unlock()
	}
}

func (s *server) settle() { s.once.Do(func() { close(s.settled) }) }

// leave ends the time in which calls have a session.
func (s *server) leave() {
	s.mu.Lock()
	s.session, s.count, s.process = nil, nil, nil
	s.mu.Unlock()
}

// serve is one life: connect, list, then wait for what ends it.
func (s *server) serve(ctx context.Context, legacy bool, up *time.Duration) error {
	link, err := s.dial()
	if err != nil {
		return err
	}
	defer link.end()
	starting, cancel := context.WithTimeout(ctx, s.times.start)
	defer cancel()
	session, err := s.connect(starting, link, legacy)
	if err != nil {
		return s.why(starting, link, fmt.Errorf("it can't be connected to: %w", err))
	}
	closed := make(chan error, 1)
	go func() { closed <- session.Wait() }()
	defer link.leave(session, s.times.grace)
	if err := s.list(starting, session); err != nil {
		return s.why(starting, link, fmt.Errorf("its tools can't be listed: %w", err))
	}
	began := time.Now()
	defer func() { *up = time.Since(began) }()
	s.mu.Lock()
	s.session, s.count, s.process = session, link.meter, link.process
	s.mu.Unlock()
	s.become(Ready, s.calledItself(session))
	s.settle()
	return s.watch(ctx, link, session, closed)
}

// watch returns when the session is over, with why.
func (s *server) watch(ctx context.Context, link *link, session *sdk.ClientSession, closed <-chan error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-closed:
			return s.why(ctx, link, cmp.Or(err, errors.New("it ended the connection")))
		case <-s.suspect:
			asked, cancel := context.WithTimeout(ctx, s.times.ping)
			err := within(asked, func() error { return session.Ping(asked, nil) })
			cancel()
			if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("it hangs: no answer within %s", s.times.ping)
			}
		case <-s.relist:
			asked, cancel := context.WithTimeout(ctx, s.times.start)
			err := s.list(asked, session)
			cancel()
			if err != nil && ctx.Err() == nil {
				return s.why(ctx, link, fmt.Errorf("its tools can't be listed: %w", err))
			}
			if !pause(ctx, s.times.relistEvery) {
				return ctx.Err()
			}
		}
	}
}

// connect shakes hands. The client offers nothing that a server could use.
func (s *server) connect(ctx context.Context, link *link, legacy bool) (session *sdk.ClientSession, err error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "agent-lsp", Version: s.o.Version}, &sdk.ClientOptions{
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case s.relist <- struct{}{}:
			default:
			}
		},
	})
	var o *sdk.ClientSessionOptions
	if legacy {
		o = &sdk.ClientSessionOptions{ProtocolVersion: legacyVersion}
	}
	got := make(chan *sdk.ClientSession, 1)
	err = within(ctx, func() error {
		made, err := client.Connect(ctx, link.transport, o)
		if err == nil {
			got <- made
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-got, nil
}

// why adds what the server itself said last, which mostly is the reason.
func (s *server) why(ctx context.Context, link *link, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", s.times.start)
	}
	if said := link.lastWords(); said != "" {
		return fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

func (s *server) calledItself(session *sdk.ClientSession) string {
	res := session.InitializeResult()
	if res == nil || res.ServerInfo == nil {
		return "ready"
	}
	return clean(strings.TrimSpace(res.ServerInfo.Name + " " + res.ServerInfo.Version))
}

// redact takes the credentials that a server was given out of what it says.
func (s *server) redact(text string) string {
	for _, h := range s.hide {
		text = strings.ReplaceAll(text, h, "[removed]")
	}
	return text
}

// within runs f, but returns when ctx ends. f must end soon after the link is
// closed, which follows.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("a fault in the client")
		if p := panics.Try(func() { err = f() }); p != nil {
			err = p.AsError()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pause waits; it says no when ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
