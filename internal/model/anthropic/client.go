package anthropic

import (
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

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// Provider is the name of Anthropic's own server.
const Provider = "anthropic"

const defaultBase = "https://api.anthropic.com"

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
	config Config
	server wire.Server
	sdk    sdk.MessageService // the SDK's whole client would bring all its services into the program: 10 MB
	own    *http.Transport    // nil when the transport was given
}

// New makes a client. It does not connect.
func New(config Config) (*Client, error) {
	config.Provider = cmp.Or(config.Provider, Provider)
	u, err := normalise(cmp.Or(config.BaseURL, defaultBase))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", config.Provider, err)
	}
	c := &Client{config: config, server: wire.Server{Provider: config.Provider, Host: u.Host, Shown: u.Redacted(), API: "messages",
		APIKey: cmp.Or(config.APIKey, config.Token), KeyName: config.KeyName, Limits: config.Limits.OrDefault()}}
	transport := config.Transport
	if transport == nil {
		c.own = c.server.Limits.Transport()
		transport = c.own
	}
	options := []option.RequestOption{
		option.WithoutOpenTelemetry(), option.WithMaxRetries(0),
		option.WithBaseURL(u.String()), option.WithHeader("User-Agent", "agent-lsp"),
		option.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: wire.NoRedirect}),
	}
	for _, k := range slices.Sorted(maps.Keys(config.Headers)) {
		options = append(options, option.WithHeader(k, config.Headers[k]))
	}
	if config.APIKey != "" {
		options = append(options, option.WithAPIKey(config.APIKey))
	} else if config.Token != "" {
		options = append(options, option.WithAuthToken(config.Token))
	}
	c.sdk = sdk.NewMessageService(options...)
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

var (
	errStopped      = errors.New("the consumer stopped")
	errEventTooLong = errors.New("an event is longer than the limit")
)

// call is one Stream.
type call struct {
	client *Client
	req    model.Request
	name   string // provider/model, for errors
	yield  func(model.Delta, error) bool
	watch  *wire.Watch
	print  string // of the conversation
	sent   int    // bytes of the request
	unread int    // bytes read since the last event
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
	var res *http.Response
	begun := c.sdk.NewStreaming(ctx, params, option.WithResponseInto(&res), option.WithMiddleware(k.check))
	if err := begun.Err(); err != nil {
		return k.failed(parent, ctx, err)
	}
	defer res.Body.Close()
	stream := ssestream.NewStream[event](ssestream.NewDecoder(res), nil)
	r := newReply(k, res.Header)
	for !r.stopped && stream.Next() {
		k.watch.Begin()
		k.unread = 0
		if err := r.take(stream.Current()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil && !r.stopped {
		return k.failed(parent, ctx, err)
	}
	done, err := r.done()
	if err != nil {
		return err
	}
	k.yield(model.Delta{Done: done}, nil)
	k.watch.Drain(res.Body)
	return nil
}

// check stands between the SDK and the server: it tells the failures by our
// own words, and puts the reply's body under the watch.
func (k *call) check(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	k.sent = int(max(req.ContentLength, 0))
	// A kept connection may have been closed by the server at the very moment
	// that it is used again; net/http then takes a new one by itself, if nothing
	// has been answered and the request counts as idempotent. An empty value
	// says so and is not sent.
	req.Header["X-Idempotency-Key"] = []string{}
	res, err := next(req)
	if err != nil {
		return res, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, err := io.ReadAll(io.LimitReader(res.Body, wire.ErrorBody))
		if err != nil && req.Context().Err() != nil {
			return nil, err
		}
		return nil, k.client.server.HTTPError(k.name, res.StatusCode, res.Header, text)
	}
	if kind := res.Header.Get("Content-Type"); kind != "" && !strings.HasPrefix(kind, "text/event-stream") {
		defer res.Body.Close()
		return nil, k.fail(model.NotFound, fmt.Sprintf("what answers is no stream but %q", kind), "is "+k.client.server.Shown+" the base URL of a messages API?")
	}
	res.Body = &body{ReadCloser: res.Body, patient: k.watch.Patient(res.Body), call: k}
	return res, nil
}

// body reads the reply under the watch, and no more of one event than the limit.
type body struct {
	io.ReadCloser
	patient io.Reader
	call    *call
}

func (b *body) Read(p []byte) (int, error) {
	limit := b.call.client.server.Limits.Event
	if b.call.unread > limit {
		return 0, fmt.Errorf("%w of %d bytes", errEventTooLong, limit)
	}
	n, err := b.patient.Read(p)
	b.call.unread += n
	return n, err
}

// failed says what an error of the SDK means.
func (k *call) failed(parent, ctx context.Context, err error) error {
	var ours *model.Error
	var said *sdk.Error
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case parent.Err() != nil:
		return parent.Err()
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &said):
		return k.client.server.StreamError(k.name, []byte(said.RawJSON()))
	case errors.Is(err, errEventTooLong):
		return k.fail(model.Server, err.Error(), "the server misbehaves")
	case errors.As(err, &syntax), errors.As(err, &kind):
		return k.fail(model.Server, "the server sent what is no reply: "+wire.Shown([]byte(err.Error()), wire.NonsenseShown), "is base_url that of a messages API?")
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
