package mcp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	headersMax   = 64 << 10
	redirectsMax = 3
	dialMax      = 10 * time.Second
)

// client is an HTTP client for one server: its token goes to its host alone,
// bodies are bounded, and everything ends with ctx.
func (s Server) client(ctx context.Context, m *meter) *http.Client {
	dialer := &net.Dialer{Timeout: dialMax}
	t := &http.Transport{DialContext: dialer.DialContext, MaxResponseHeaderBytes: headersMax, TLSHandshakeTimeout: dialMax,
		ForceAttemptHTTP2: true, Proxy: http.ProxyFromEnvironment}
	return &http.Client{
		Transport: &bounded{next: t, token: s.Bearer, life: ctx, meter: m},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
				return errors.New("it redirects to another host")
			}
			if len(via) > redirectsMax {
				return errors.New("it redirects too often")
			}
			return nil
		},
	}
}

// bounded adds the token and bounds what comes back.
type bounded struct {
	next  *http.Transport
	token string
	life  context.Context
	meter *meter
}

// CloseIdleConnections serves http.Client's.
func (b *bounded) CloseIdleConnections() { b.next.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (b *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	unhook := context.AfterFunc(b.life, cancel)
	done := func() { unhook(); cancel() }
	req = req.Clone(ctx)
	if b.token != "" {
		req.Header.Set("Authorization", "Bearer "+b.token)
	}
	if req.Method == http.MethodPost {
		b.meter.asked()
	}
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		done()
		return nil, err
	}
	body := b.meter.reader(resp.Body)
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body = &atMost{r: body, left: messageMax}
	}
	resp.Body = &ending{Reader: body, body: resp.Body, done: done}
	return resp, nil
}

var errMessage = errors.New("its message is too large")

// atMost fails, where io.LimitReader would pretend that the end was reached.
type atMost struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (a *atMost) Read(p []byte) (int, error) {
	n, err := a.r.Read(p)
	if a.left -= n; a.left < 0 {
		return 0, errMessage
	}
	return n, err
}

// ending is a body that frees what its request held when it is closed.
type ending struct {
	io.Reader
	body io.Closer
	done func()
}

// Close implements io.Closer.
func (e *ending) Close() error {
	defer e.done()
	return e.body.Close()
}
