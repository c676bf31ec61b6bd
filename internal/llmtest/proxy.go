package llmtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// FaultHeader on a request is a fault for it in the form of [ParseFault]; it
// comes before the queue.
const FaultHeader = "X-Fault"

// Proxy stands between a client and a model server. It records each model
// request (chat completions, messages, responses, Ollama's chat) and does to
// it what the queue says; everything else passes through. Safe for concurrent
// use.
type Proxy struct {
	target  *url.URL
	through *httputil.ReverseProxy
	client  *http.Transport

	mu       sync.Mutex
	queue    []Fault
	always   Fault
	requests []*Request
	changed  chan struct{} // closed and renewed whenever requests changes
}

// Request is one model request that the proxy saw.
type Request struct {
	Path       string
	Header     http.Header
	Body       []byte
	At         time.Time
	RemoteAddr string
	Fault      Fault

	done       chan struct{}
	clientGone bool
}

// Done is closed when the proxy has finished with the request.
func (r *Request) Done() <-chan struct{} { return r.done }

// ClientLeft waits until the request is finished and says whether the client
// closed the connection before its end.
func (r *Request) ClientLeft() bool {
	<-r.done
	return r.clientGone
}

// NewProxy starts a proxy before target (a server's URL) that lives as long as the test.
func NewProxy(t testing.TB, target string) (p *Proxy, address string) {
	t.Helper()
	p, err := Before(target)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(p)
	t.Cleanup(func() {
		s.CloseClientConnections() // a stalled request would hold Close up
		s.Close()
		p.client.CloseIdleConnections()
	})
	return p, s.URL
}

// Before is a proxy before target, to be served by the caller.
func Before(target string) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("proxy: %q is no URL of a server: %v", target, err)
	}
	p := &Proxy{target: u, client: &http.Transport{DisableCompression: true}, changed: make(chan struct{})}
	p.through = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		Transport:     p.client,
		FlushInterval: -1,
	}
	return p, nil
}

// Next queues faults: one for each of the next model requests, in order.
func (p *Proxy) Next(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, faults...)
}

// Always is the fault of requests for which none is queued.
func (p *Proxy) Always(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.always = f
}

// Requests is every model request so far, in order of arrival.
func (p *Proxy) Requests() []*Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Await waits until n model requests have arrived and returns the n-th.
func (p *Proxy) Await(t testing.TB, n int) *Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), awaitLimit)
	defer cancel()
	for {
		p.mu.Lock()
		seen, changed := p.requests, p.changed
		p.mu.Unlock()
		if len(seen) >= n {
			return seen[n-1]
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%d model requests came within %v, want %d", len(seen), awaitLimit, n)
		}
	}
}

const awaitLimit = 30 * time.Second

// Paths of a proxy served by [Proxy.Control].
const (
	controlFaults   = "/_faults"
	controlRequests = "/_requests"
)

// ServeHTTP passes a request on, or does what its fault says.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == controlFaults:
		p.control(w, r)
	case r.URL.Path == controlRequests:
		p.report(w)
	case r.Method == http.MethodPost && isModelPath(r.URL.Path):
		p.serveModel(w, r)
	default:
		p.through.ServeHTTP(w, r)
	}
}

func isModelPath(path string) bool {
	for _, end := range []string{"/chat/completions", "/messages", "/responses", "/api/chat"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// control lets another process queue faults: one a line, "always FAULT" for the default.
func (p *Proxy) control(w http.ResponseWriter, r *http.Request) {
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		text, always := strings.CutPrefix(lines.Text(), "always ")
		f, err := ParseFault(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if always {
			p.Always(f)
		} else {
			p.Next(f)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// report shows another process the bodies of all model requests, as a JSON list.
func (p *Proxy) report(w http.ResponseWriter) {
	bodies := []json.RawMessage{}
	for _, r := range p.Requests() {
		if json.Valid(r.Body) {
			bodies = append(bodies, r.Body)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(bodies) // fails only where the client has gone
}

func (p *Proxy) serveModel(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away while sending
	}
	rec, err := p.record(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer func() {
		rec.clientGone = r.Context().Err() != nil
		close(rec.done)
	}()
	f := rec.Fault
	if f.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		w.WriteHeader(f.Status)
		_, _ = io.WriteString(w, f.body(r.URL.Path)) // fails only where the client has gone
		return
	}
	if f.End != "" && f.After == 0 {
		end(w, r, f.End)
		return
	}
	p.forward(w, r, body, f)
}

// record stores the request and takes its fault.
func (p *Proxy) record(r *http.Request, body []byte) (*Request, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rec := &Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, At: time.Now(), RemoteAddr: r.RemoteAddr, Fault: p.always, done: make(chan struct{})}
	if text := r.Header.Get(FaultHeader); text != "" {
		f, err := ParseFault(text)
		if err != nil {
			return nil, err
		}
		rec.Fault = f
	} else if len(p.queue) > 0 {
		rec.Fault, p.queue = p.queue[0], p.queue[1:]
	}
	p.requests = append(p.requests, rec)
	close(p.changed)
	p.changed = make(chan struct{})
	return rec, nil
}

// forward asks the server and passes its answer on, event by event.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, body []byte, f Fault) {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.target.Scheme, p.target.Host, p.target.Host, ""
	out.URL.Path = strings.TrimSuffix(p.target.Path, "/") + r.URL.Path
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(body))
	// The server may close a kept connection just when it is used again; marked
	// so, net/http takes a new one.
	out.Header["X-Idempotency-Key"] = []string{}
	out.Header.Del(FaultHeader)
	res, err := p.client.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	for k, v := range res.Header {
		if k != "Content-Length" && k != "Connection" {
			w.Header()[k] = v
		}
	}
	w.WriteHeader(res.StatusCode)
	flush := http.NewResponseController(w)
	lines := bufio.NewReader(res.Body)
	for events := 1; ; events++ {
		event, err := readEvent(lines)
		if f.Delay > 0 && !pause(r.Context(), f.Delay) {
			return
		}
		write(w, flush, event, f.Bytes)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				panic(http.ErrAbortHandler) // the server broke off: so do we
			}
			return
		}
		if f.Ping > 0 && events%f.Ping == 0 {
			write(w, flush, []byte(pingEvent(r.URL.Path)), f.Bytes)
		}
		if f.End != "" && events == f.After {
			end(w, r, f.End)
			return
		}
	}
}

// readEvent reads up to and with the next empty line.
func readEvent(r *bufio.Reader) (event []byte, err error) {
	for {
		line, err := r.ReadBytes('\n')
		event = append(event, line...)
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return event, err
		}
	}
}

// write sends b in pieces of at most size bytes, each on its own; 0 = all at
// once. A client that has gone is noticed by the request's context.
func write(w io.Writer, flush *http.ResponseController, b []byte, size int) {
	if size == 0 {
		size = max(len(b), 1)
	}
	for piece := range slices.Chunk(b, size) {
		_, _ = w.Write(piece)
		_ = flush.Flush()
	}
}

func end(w http.ResponseWriter, r *http.Request, how End) {
	switch how {
	case Cut:
		panic(http.ErrAbortHandler) // net/http's way to reset the connection
	case ErrorEvent:
		w.Header().Set("Content-Type", "text/event-stream") // of no effect once the stream has begun
		_, _ = io.WriteString(w, errorEvent(r.URL.Path))
	case Stall:
		<-r.Context().Done()
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
