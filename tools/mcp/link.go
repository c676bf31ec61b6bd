package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is a way to a server that is open.
type link struct {
	transport sdk.Transport
	meter     *meter
	process   *process // nil for HTTP
	client    *http.Client
	cut       context.CancelFunc // ends all requests of client
	once      sync.Once
}

// dial opens the way that the settings name.
func (s *server) dial() (*link, error) {
	l := &link{meter: &meter{}}
	if s.cfg.URL != "" {
		var life context.Context
		life, l.cut = context.WithCancel(context.Background())
		l.client = s.cfg.client(life, l.meter)
		l.transport = &sdk.StreamableClientTransport{Endpoint: s.cfg.URL, HTTPClient: l.client, MaxEventSize: messageMax}
		return l, nil
	}
	p, err := start(s.cfg.argv(), s.cfg.environment(s.o.Environ), s.o.Dir, s.times.grace)
	if err != nil {
		return nil, err
	}
	l.process = p
	l.transport = &sdk.IOTransport{Reader: readCloser{l.meter.reader(p.out), p.out}, Writer: p.in, MaxLineLength: messageMax}
	return l, nil
}

// end closes the way and, for a command, ends its process group.
func (l *link) end() {
	l.once.Do(func() {
		if l.process != nil {
			l.process.end()
		}
		if l.client != nil {
			l.cut()
			l.client.CloseIdleConnections()
		}
	})
}

// leave closes a session and its way. A server over HTTP is told; a command
// sees the end of its input. Neither can hold us up.
func (l *link) leave(session *sdk.ClientSession, longest time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	if l.process != nil {
		l.end()
	}
	_ = within(ctx, session.Close) // nothing can be done about a session that won't close
	l.end()
}

// lastWords is the end of what a command wrote to its standard error, once it
// is over or has had the time for it.
func (l *link) lastWords() string {
	if l.process == nil {
		return ""
	}
	timer := time.NewTimer(l.process.grace)
	defer timer.Stop()
	select {
	case <-l.process.gone:
	case <-timer.C:
	}
	lines := strings.Split(strings.TrimSpace(clean(l.process.tail.String())), "\n")
	return lines[len(lines)-1]
}

type readCloser struct {
	io.Reader
	io.Closer
}

var errTalks = errors.New("it sends without end and without being asked")

// meter ends a server that talks without being asked: what it sends between
// two of our requests is counted.
type meter struct{ n atomic.Int64 }

func (m *meter) asked() {
	if m != nil {
		m.n.Store(0)
	}
}

func (m *meter) reader(r io.Reader) io.Reader { return &metered{r, m} }

type metered struct {
	r io.Reader
	m *meter
}

// Read implements io.Reader.
func (r *metered) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if r.m.n.Add(int64(n)) > unaskedMax {
		return 0, errTalks
	}
	return n, err
}
