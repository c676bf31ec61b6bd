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
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// Limits are how long and how much a client puts up with.
type Limits = wire.Limits

const listBodyLimit = 8 << 20 // bytes of a list of models

// Provider names with habits of their own; any other name is a plain
// chat-completions server.
const (
	ProviderOpenAI   = "openai"
	ProviderGroq     = "groq"
	ProviderOllama   = wire.Ollama
	ProviderLlamaCpp = wire.LlamaCpp
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
	server  wire.Server
	base    string // without a trailing slash; for Ollama without /v1
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
	c := &Client{config: config, base: u.String(), server: wire.Server{Provider: config.Provider, Host: u.Host, Shown: u.Redacted(),
		API: "chat-completions", APIKey: config.APIKey, KeyName: config.KeyName, Limits: config.Limits.OrDefault()}}
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
		call := &call{client: c, req: req, yield: yield, name: c.config.Provider + "/" + req.Model}
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
	watch  *wire.Watch
}

var errStopped = errors.New("the consumer stopped")

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
	k.watch = c.server.Limits.NewWatch(cancel)
	defer k.watch.Stop()

	httpReq, err := c.newRequest(ctx, http.MethodPost, c.base+path, body)
	if err != nil {
		return k.fail(model.BadRequest, err.Error(), "check base_url in the settings")
	}
	res, err := c.http.Do(httpReq)
	if err != nil {
		return c.server.Broken(k.name, parent, ctx, err, false, false)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(res.Body, wire.ErrorBody))
		if err != nil && parent.Err() != nil {
			return parent.Err()
		}
		return c.server.HTTPError(k.name, res.StatusCode, res.Header, text)
	}

	r := newReply(k, res.Header)
	err = r.read(res.Header.Get("Content-Type"), k.watch.Patient(res.Body))
	if errors.Is(err, errStopped) || isModelError(err) {
		return err
	}
	if parent.Err() != nil {
		return parent.Err()
	}
	if err != nil && r.finish == "" {
		return c.server.Broken(k.name, parent, ctx, err, true, k.watch.Begun())
	}
	// Once there is a finish reason nothing that fails afterwards matters.
	done, err := r.done()
	if err != nil {
		return err
	}
	k.yield(model.Delta{Done: done}, nil)
	k.watch.Drain(res.Body)
	return nil
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
	return k.client.server.Fail(k.name, kind, message, hint)
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
