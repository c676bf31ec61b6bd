package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// Provider is the name of Anthropic's own server.
const Provider = "anthropic"

const (
	defaultBase = "https://api.anthropic.com"
	apiVersion  = "2023-06-01" // of the Messages API that is spoken here
	emptyPing   = len("event: ping\ndata: \n\n")
)

// Config says which server a client talks to.
type Config struct {
	Provider string // "anthropic" or a name of the person's own; "" = Provider
	BaseURL  string // "" = Anthropic's
	APIKey   string // sent as x-api-key; "" = none is sent
	Token    string // sent as a bearer token, for gateways; "" = none
	KeyName  string // what the person sets to give a key, for hints: "ANTHROPIC_API_KEY"
	Headers  map[string]string
	Limits   wire.Limits
	// Caps says what is known of a model: its output limit, how it reasons, its
	// prices. May be nil.
	Caps func(name string) model.Caps
	// Transport carries the requests; nil = one of the client's own.
	Transport http.RoundTripper
}

// Client is one server. It implements model.Model and is safe for concurrent use.
type Client struct {
	config   Config
	server   wire.Server
	endpoint string
	http     *http.Client
	own      *http.Transport // nil when the transport was given
}

// New makes a client. It does not connect.
func New(config Config) (*Client, error) {
	config.Provider = cmp.Or(config.Provider, Provider)
	u, err := normalise(cmp.Or(config.BaseURL, defaultBase))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Provider, err)
	}
	c := &Client{config: config, endpoint: u.String() + "v1/messages", server: wire.Server{Provider: config.Provider, Host: u.Host, Shown: u.Redacted(), API: "messages",
		APIKey: cmp.Or(config.APIKey, config.Token), KeyName: config.KeyName, Limits: config.Limits.OrDefault()}}
	transport := config.Transport
	if transport == nil {
		c.own = c.server.Limits.Transport()
		transport = c.own
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: wire.NoRedirect}
	return c, nil
}

// Close drops the idle connections. Requests that run are not touched.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// normalise makes a base URL of what people write: with or without scheme,
// /v1, trailing slash or the whole path of the endpoint.
func normalise(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("the base URL %q is not an http or https URL: set base_url to one such as %s", raw, defaultBase)
	}
	path := strings.TrimRight(u.Path, "/")
	for _, end := range []string{"/messages", "/v1"} {
		path = strings.TrimRight(strings.TrimSuffix(path, end), "/")
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path+"/", "", "", ""
	return u, nil
}

// Stream asks the model. See model.Model.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Delta{}, err)
			return
		}
		k := &call{client: c, req: req, yield: yield, name: c.config.Provider + "/" + req.Model}
		if err := k.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(model.Delta{}, err)
		}
	}
}

var errStopped = errors.New("the consumer stopped")

// call is one Stream.
type call struct {
	client *Client
	req    model.Request
	name   string // provider/model, for errors
	yield  func(model.Delta, error) bool
	watch  *wire.Watch
	print  string // of the conversation
	sent   int    // bytes of the request
}

// run makes the request and yields its reply. It returns the parent's error
// when that was cancelled, errStopped when the consumer broke off.
func (k *call) run(parent context.Context) error {
	c := k.client
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	k.watch = c.server.Limits.NewWatch(cancel)
	defer k.watch.Stop()

	params, print := c.params(k.req)
	k.print = print
	httpReq, err := c.newRequest(ctx, params)
	if err != nil {
		return k.fail(model.BadRequest, "the request cannot be written: "+err.Error(), "a tool's schema or the base_url is broken")
	}
	k.sent = int(httpReq.ContentLength)
	res, err := c.http.Do(httpReq)
	if err != nil {
		return k.broken(parent, ctx, err)
	}
	defer res.Body.Close()
	if err := k.check(parent, res); err != nil {
		return err
	}
	r := newReply(k, res.Header)
	if err := k.read(r, k.watch.Patient(res.Body)); err != nil {
		return k.broken(parent, ctx, err)
	}
	done, err := r.done()
	if err != nil {
		return err
	}
	k.yield(model.Delta{Done: done}, nil)
	k.watch.Drain(res.Body)
	return nil
}

// newRequest makes a request with all headers. The key goes nowhere else.
func (c *Client) newRequest(ctx context.Context, p params) (*http.Request, error) {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // code is full of <, > and &
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	body.Truncate(body.Len() - 1) // the encoder ends with a line feed
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, &body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Anthropic-Version", apiVersion)
	req.Header.Set("User-Agent", "agent-lsp")
	for _, k := range slices.Sorted(maps.Keys(c.config.Headers)) {
		req.Header.Set(k, c.config.Headers[k])
	}
	if c.config.APIKey != "" {
		req.Header.Set("X-Api-Key", c.config.APIKey)
	} else if c.config.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	// A kept connection may have been closed by the server at the very moment
	// that it is used again; net/http then takes a new one by itself, if nothing
	// has been answered and the request counts as idempotent. An empty value
	// says so and is not sent.
	req.Header["X-Idempotency-Key"] = []string{}
	return req, nil
}

// check tells what an answer that is no stream means.
func (k *call) check(parent context.Context, res *http.Response) error {
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(res.Body, wire.ErrorBody))
		if err != nil && parent.Err() != nil {
			return parent.Err()
		}
		return k.client.server.HTTPError(k.name, res.StatusCode, res.Header, text)
	}
	if kind := res.Header.Get("Content-Type"); kind != "" && !strings.HasPrefix(kind, "text/event-stream") {
		return k.fail(model.NotFound, fmt.Sprintf("what answers is no stream but %q", kind), "is "+k.client.server.Shown+" the base URL of a messages API?")
	}
	return nil
}

// read takes events until the last one of the reply, or the stream's end.
func (k *call) read(r *reply, body io.Reader) error {
	limit := k.client.server.Limits.Event
	events := wire.NewEventReader(body, limit)
	idle := 0 // bytes since an event that says anything
	for !r.stopped {
		e, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e.Name == "ping":
			if idle += emptyPing + len(e.Data); idle > limit {
				return fmt.Errorf("%w of %d bytes", wire.ErrEventTooLong, limit)
			}
			continue
		}
		idle = 0
		var said event
		switch err := json.Unmarshal(e.Data, &said); {
		case e.Name == "error" || said.Type == "error":
			return k.client.server.StreamError(k.name, e.Data)
		case err != nil:
			return k.fail(model.Server, "the server sent what is no reply: "+wire.Shown(e.Data, wire.NonsenseShown), "is base_url that of a messages API?")
		}
		k.watch.Begin()
		if err := r.take(said); err != nil {
			return err
		}
	}
	return nil
}

// broken says what an error means that ended a reply.
func (k *call) broken(parent, ctx context.Context, err error) error {
	var ours *model.Error
	switch {
	case errors.Is(err, errStopped):
		return err
	case parent.Err() != nil:
		return parent.Err()
	case errors.As(err, &ours):
		return ours
	case errors.Is(err, wire.ErrEventTooLong):
		return k.fail(model.Server, err.Error(), "the server misbehaves")
	}
	return k.client.server.Broken(k.name, parent, ctx, err, k.watch.Begun(), k.watch.Begun())
}

func (k *call) fail(kind model.Kind, message, hint string) *model.Error {
	return k.client.server.Fail(k.name, kind, message, hint)
}

func (c *Client) caps(name string) model.Caps {
	if c.config.Caps == nil {
		return model.Caps{Images: true}
	}
	return c.config.Caps(name)
}
