package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Limits are how long and how much a client puts up with. A zero field means
// the one of [DefaultLimits].
type Limits struct {
	Connect    time.Duration // to reach the server, each for TCP and TLS
	FirstToken time.Duration // from the request to the first event of the reply
	Idle       time.Duration // between two bytes of the reply
	Tail       time.Duration // from the finish reason to the end of the stream
	RetryAfter time.Duration // the longest wait that a server may ask for
	Event      int           // bytes of one event
	Reply      int           // bytes of one reply's text, reasoning and arguments
	Calls      int           // tool calls of one reply
}

// DefaultLimits are generous where a model may be slow (a local one reads a
// long prompt for minutes) and strict where nothing useful can come any more.
func DefaultLimits() Limits {
	return Limits{
		Connect:    10 * time.Second,
		FirstToken: 5 * time.Minute,
		Idle:       90 * time.Second,
		Tail:       3 * time.Second,
		RetryAfter: 2 * time.Minute,
		Event:      8 << 20,
		Reply:      32 << 20,
		Calls:      128,
	}
}

// Limits that nobody has a reason to change.
const (
	ErrorBody      = 64 << 10             // bytes of an error's body that are read
	drainLimit     = 4 << 10              // bytes read after the end, to keep the connection
	DrainWait      = 5 * time.Millisecond // for as long
	keepIdleConns  = 4                    // connections kept to one server
	keepIdleFor    = 90 * time.Second     //
	NonsenseShown  = 120                  // bytes of nonsense shown in an error
	messageShown   = 600                  // bytes of a server's message shown in an error
	continueWithin = time.Second
)

// OrDefault fills the zero fields.
func (l Limits) OrDefault() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ have, otherwise *time.Duration }{
		{&l.Connect, &d.Connect}, {&l.FirstToken, &d.FirstToken}, {&l.Idle, &d.Idle}, {&l.Tail, &d.Tail}, {&l.RetryAfter, &d.RetryAfter},
	} {
		if *f.have <= 0 {
			*f.have = *f.otherwise
		}
	}
	for _, f := range []struct{ have, otherwise *int }{{&l.Event, &d.Event}, {&l.Reply, &d.Reply}, {&l.Calls, &d.Calls}} {
		if *f.have <= 0 {
			*f.have = *f.otherwise
		}
	}
	return l
}

// Transport is a client's own connections, with the usual proxy variables.
func (l Limits) Transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: l.Connect}).DialContext,
		TLSHandshakeTimeout:   l.Connect,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   keepIdleConns,
		IdleConnTimeout:       keepIdleFor,
		ExpectContinueTimeout: continueWithin,
	}
}

// NoRedirect keeps a client where it is: a redirected POST would lose its body
// or carry the key elsewhere.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ErrStalled is the cause with which a call's context ends when the server is
// silent for too long.
var ErrStalled = errors.New("no byte within the limit")

// Watch ends a call whose server is silent for too long. One goroutine uses it.
type Watch struct {
	limits   Limits
	timer    *time.Timer
	cancel   context.CancelCauseFunc
	start    time.Time
	begun    bool
	finished time.Time
}

// NewWatch watches a call from now on: the connection, the headers, then each
// read of a body from [Watch.Patient].
func (l Limits) NewWatch(cancel context.CancelCauseFunc) *Watch {
	w := &Watch{limits: l, cancel: cancel, start: time.Now()}
	w.timer = time.AfterFunc(l.FirstToken, func() { cancel(ErrStalled) })
	return w
}

// Stop ends the watch.
func (w *Watch) Stop() { w.timer.Stop() }

// Begin says that the first event of the reply has come.
func (w *Watch) Begin() { w.begun = true }

// Begun says whether it has.
func (w *Watch) Begun() bool { return w.begun }

// Finish says that the reply has its finish reason: only the tail is waited for.
func (w *Watch) Finish() { w.finished = time.Now() }

// Patient is body, read under the watch: time that the consumer takes between
// two reads does not count.
func (w *Watch) Patient(body io.Reader) io.Reader { return &patient{body, w} }

type patient struct {
	body io.Reader
	w    *Watch
}

func (p *patient) Read(b []byte) (int, error) {
	w, wait := p.w, time.Duration(0)
	switch {
	case !w.finished.IsZero():
		wait = w.limits.Tail - time.Since(w.finished)
	case w.begun:
		wait = w.limits.Idle
	default:
		wait = w.limits.FirstToken - time.Since(w.start)
	}
	w.timer.Reset(wait)
	defer w.timer.Stop()
	return p.body.Read(b)
}

// Drain reads the end of the body, if it is there already, so that the
// connection can serve the next request.
func (w *Watch) Drain(body io.Reader) {
	timer := time.AfterFunc(DrainWait, func() { w.cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainLimit) // best effort: a broken connection is simply not kept
}
