package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
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
	errorBodyLimit = 64 << 10             // bytes of an error's body that are read
	listBodyLimit  = 8 << 20              // bytes of a list of models
	drainLimit     = 4 << 10              // bytes read after the end, to keep the connection
	drainWait      = 5 * time.Millisecond // for as long
	bytesPerToken  = 4                    // of the estimate where a server reports no usage
	keepIdleConns  = 4                    // connections kept to one server
	keepIdleFor    = 90 * time.Second     //
	unmarshalShown = 120                  // bytes of nonsense shown in an error
	messageShown   = 600                  // bytes of a server's message shown in an error
)

// Provider names with habits of their own; any other name is a plain
// chat-completions server.
const (
	ProviderOpenAI   = "openai"
	ProviderGroq     = "groq"
	ProviderOllama   = "ollama"
	ProviderLlamaCpp = "llamacpp"
	ProviderVLLM     = "vllm"
)

// defaultBase is where a provider is when nothing else is configured.
var defaultBase = map[string]string{
	ProviderOpenAI:   "https://api.openai.com/v1",
	ProviderGroq:     "https://api.groq.com/openai/v1",
	ProviderOllama:   "http://127.0.0.1:11434",
	ProviderLlamaCpp: "http://127.0.0.1:8080/v1",
	ProviderVLLM:     "http://127.0.0.1:8000/v1",
}

// Config says which server a client talks to.
type Config struct {
	Provider string            // "openai", "groq", "ollama", "llamacpp", "vllm" or a name of the person's own
	BaseURL  string            // "" = the provider's usual one; for Ollama an OLLAMA_HOST will do
	APIKey   string            // "" = none is sent
	KeyName  string            // what the person sets to give a key, for hints: "OPENAI_API_KEY"
	Headers  map[string]string // sent with every request
	Limits   Limits
	// Caps says what is known of a model: whether it takes images, its prices,
	// and for Ollama its context window, which is sent as num_ctx. May be nil.
	Caps func(name string) model.Caps
	// Transport carries the requests; nil = one of the client's own.
	Transport http.RoundTripper
}

// Client is one server. It implements model.Model and is safe for concurrent use.
type Client struct {
	config  Config
	limits  Limits
	base    string // without a trailing slash; for Ollama without /v1
	host    string // of base, for messages
	shown   string // base for messages, without a password
	http    *http.Client
	own     *http.Transport // nil when the transport was given
	windows windows         // Ollama: the window of each model that was asked for
}

// New makes a client. It does not connect.
func New(config Config) (*Client, error) {
	base := config.BaseURL
	if base == "" {
		base = defaultBase[config.Provider]
	}
	u, err := normalise(config.Provider, base)
	if err != nil {
		return nil, err
	}
	c := &Client{config: config, limits: config.Limits.orDefault(), base: u.String(), host: u.Host, shown: u.Redacted()}
	transport := config.Transport
	if transport == nil {
		c.own = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: c.limits.Connect}).DialContext,
			TLSHandshakeTimeout:   c.limits.Connect,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   keepIdleConns,
			IdleConnTimeout:       keepIdleFor,
			ExpectContinueTimeout: time.Second,
		}
		transport = c.own
	}
	// A redirected POST would lose its body or carry the key elsewhere: it is shown as what it is.
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &http.Client{Transport: transport, CheckRedirect: noRedirect}
	return c, nil
}

// Close drops the idle connections. Requests that run are not touched.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

func (l Limits) orDefault() Limits {
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

// normalise makes a base URL of what people write: with or without scheme,
// /v1, trailing slash or the whole path of the endpoint.
func normalise(provider, raw string) (*url.URL, error) {
	text := strings.TrimSpace(raw)
	if provider == ProviderOllama {
		text = OllamaURL(text)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%s: the base URL %q is not an http or https URL: set base_url to one such as %s",
			provider, raw, defaultBase[ProviderLlamaCpp])
	}
	path := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	switch {
	case provider == ProviderOllama:
		path = strings.TrimSuffix(path, "/v1")
	case path == "":
		path = "/v1"
	}
	u.Path, u.RawPath, u.RawQuery, u.Fragment = path, "", "", ""
	return u, nil
}

// Stream asks the model. See model.Model.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Delta{}, err)
			return
		}
		call := &call{client: c, req: req, yield: yield, name: c.config.Provider + "/" + req.Model, start: time.Now()}
		if err := call.run(ctx); err != nil && !errors.Is(err, errStopped) {
			yield(model.Delta{}, err)
		}
	}
}

// call is one Stream.
type call struct {
	client *Client
	req    model.Request
	name   string // provider/model, for errors
	yield  func(model.Delta, error) bool
	sent   int // bytes of the request
	start  time.Time
	begun  bool // the first event of the reply has come
}

// The causes with which a call's own context ends.
var (
	errStopped = errors.New("the consumer stopped")
	errStalled = errors.New("no byte within the limit")
)

// run makes the request and yields its reply. It returns the parent's error
// when that was cancelled, errStopped when the consumer broke off.
func (k *call) run(parent context.Context) error {
	c := k.client
	path, body, err := k.encode(parent)
	if err != nil {
		return err
	}
	k.sent = len(body)
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	watch := time.AfterFunc(c.limits.FirstToken, func() { cancel(errStalled) })
	defer watch.Stop()

	httpReq, err := c.newRequest(ctx, http.MethodPost, c.base+path, body)
	if err != nil {
		return k.fail(model.BadRequest, err.Error(), "check base_url in the settings")
	}
	res, err := c.http.Do(httpReq)
	if err != nil {
		return k.broken(parent, ctx, err, false)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(res.Body, errorBodyLimit))
		if err != nil && parent.Err() != nil {
			return parent.Err()
		}
		return c.httpError(k.name, res.StatusCode, res.Header, text)
	}

	r := newReply(k, res.Header)
	err = r.read(res.Header.Get("Content-Type"), &patient{body: res.Body, watch: watch, reply: r})
	if errors.Is(err, errStopped) || isModelError(err) {
		return err
	}
	if parent.Err() != nil {
		return parent.Err()
	}
	if err != nil && r.finish == "" {
		return k.broken(parent, ctx, err, true)
	}
	// Once there is a finish reason nothing that fails afterwards matters.
	done, err := r.done()
	if err != nil {
		return err
	}
	k.yield(model.Delta{Done: done}, nil)
	drain(res.Body, cancel)
	return nil
}

// drain reads the end of the body, if it is there already, so that the
// connection can serve the next request.
func drain(body io.Reader, cancel context.CancelCauseFunc) {
	timer := time.AfterFunc(drainWait, func() { cancel(nil) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, body, drainLimit) // best effort: a broken connection is simply not kept
}

// patient reads a body and lets the watch run while it waits: a consumer that
// takes its time does not count as a silent server.
type patient struct {
	body  io.Reader
	watch *time.Timer
	reply *reply
}

func (p *patient) Read(b []byte) (int, error) {
	limits, wait := p.reply.call.client.limits, time.Duration(0)
	switch r := p.reply; {
	case r.finish != "":
		wait = limits.Tail - time.Since(r.finished)
	case r.call.begun:
		wait = limits.Idle
	default:
		wait = limits.FirstToken - time.Since(r.call.start)
	}
	p.watch.Reset(wait)
	defer p.watch.Stop()
	return p.body.Read(b)
}

// newRequest makes a request with all headers. The key goes nowhere else.
func (c *Client) newRequest(ctx context.Context, method, url string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Sorted(maps.Keys(c.config.Headers)) {
		req.Header.Set(k, c.config.Headers[k])
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "agent-lsp")
	// A kept connection may have been closed by the server at the very moment
	// that it is used again: llama-server does so. net/http then takes a new one
	// by itself, if nothing has been answered and the request counts as
	// idempotent; an empty value says so and is not sent.
	req.Header["X-Idempotency-Key"] = []string{}
	if c.config.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.config.APIKey)
	}
	return req, nil
}

// encode writes the request in the server's tongue.
func (k *call) encode(ctx context.Context) (path string, body []byte, err error) {
	if k.client.config.Provider == ProviderOllama {
		window, err := k.client.window(ctx, k.req.Model)
		if err != nil {
			return "", nil, err
		}
		body, err = k.marshal(k.client.ollamaRequest(k.req, window))
		return "/api/chat", body, err
	}
	body, err = k.marshal(k.client.chatRequest(k.req))
	return "/chat/completions", body, err
}

// marshal writes JSON without escaping <, > and &: code is full of them.
func (k *call) marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, k.fail(model.BadRequest, "the request cannot be written as JSON: "+err.Error(), "a tool's schema is broken")
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func (k *call) fail(kind model.Kind, message, hint string) *model.Error {
	return &model.Error{Kind: kind, Model: k.name, Message: k.client.redact(message), Hint: hint}
}

func isModelError(err error) bool {
	var e *model.Error
	return errors.As(err, &e)
}

func (c *Client) caps(name string) model.Caps {
	if c.config.Caps == nil {
		return model.Caps{Images: true}
	}
	return c.config.Caps(name)
}
