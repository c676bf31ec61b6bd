// Package catalog knows which models there are, which can be used, and why not.
//
// # What it does
//
// Resolve turns a name (provider/name, an alias, or "" for the default) into a
// model that can be called. List shows every model known here with the reason
// why it is available or not. What is known of a model comes from a dated table
// (known.go), is corrected by what its server says, and overridden by the
// settings.
//
// # What it doesn't do
//
// It makes no model call and holds no key longer than a client needs it.
//
// # Invariants
//
//   - CATALOG-1 The default is deterministic: the first of the configured
//     name, ANTHROPIC_API_KEY, OPENAI_API_KEY, GROQ_API_KEY, a local server with
//     a tool-capable model, builtin. TestDefaultOrder.
//   - CATALOG-2 A server that doesn't answer costs at most the named probe time,
//     once a while. TestProbeIsBounded.
//   - CATALOG-3 A context window is known or zero, never assumed.
//     TestUnknownWindow.
//   - CATALOG-4 A provider's key goes only to that provider's address or to one
//     that the person's own settings or environment name. TestKeysStayHome.
//
// # Reading order
//
// catalog.go, clients.go, caps.go, list.go, known.go.
package catalog

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/builtin"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// Settings are what the person configured.
type Settings struct {
	Model     string // the configured one; "" = the default
	Aliases   map[string]string
	Providers map[string]Provider
	Models    map[string]Model
}

// Provider is a server of models.
type Provider struct {
	BaseURL, KeyEnv string
	API             string // APIOpenAI, APIAnthropic; "" = by the provider's name, else APIOpenAI
}

// The APIs that a provider may speak.
const (
	APIOpenAI    = "openai"
	APIAnthropic = "anthropic"
)

// Model is what the person says of a model; zero fields leave what is known.
type Model struct {
	model.Caps
	Tools, Images *bool    // over those of Caps
	Server        Provider // an address of its own, over its provider's
}

// Resolved is a model that can be called.
type Resolved struct {
	Name  string // provider/name
	ID    string // the provider's own name
	Model model.Model
	Caps  model.Caps
}

// Info is a row of the list of models.
type Info struct {
	Name, Alias string
	Available   bool
	Why         string
	Caps        model.Caps
}

// NoModelError says that a name can't be resolved, and what to do.
type NoModelError struct{ Message, Hint string }

func (e *NoModelError) Error() string { return e.Message + " (" + e.Hint + ")" }

// probeEvery is how long the answer of the local servers is believed.
const probeEvery = 30 * time.Second

// Catalog is safe for concurrent use.
type Catalog struct {
	settings Settings
	env      func(string) string
	detect   func(context.Context) []openai.Local
	ask      func(context.Context, string) ([]openai.Found, error) // a server, of its models

	mu      sync.Mutex
	clients map[string]client // by provider, or by model where it has an address of its own
	local   []openai.Local
	probed  time.Time
	said    map[string]said // by provider
}

// New makes a catalog. Nothing is asked of any server yet.
func New(s Settings) *Catalog {
	c := &Catalog{settings: s, env: os.Getenv, clients: map[string]client{}, said: map[string]said{}}
	c.detect = func(ctx context.Context) []openai.Local {
		return openai.Detect(ctx, openai.DetectOptions{
			OllamaHost:  cmp.Or(s.Providers[openai.ProviderOllama].BaseURL, c.env("OLLAMA_HOST")),
			LlamaCppURL: s.Providers[openai.ProviderLlamaCpp].BaseURL,
			LlamaCppKey: c.env(s.Providers[openai.ProviderLlamaCpp].KeyEnv),
		})
	}
	c.ask = c.askServer
	return c
}

// hosted are the providers that a key alone makes usable, in the order in
// which the default is looked for.
var hosted = []struct {
	provider, keyEnv, baseEnv, model string
}{
	{"anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude-sonnet-5-5"},
	{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-6-sol"},
	{"groq", "GROQ_API_KEY", "GROQ_BASE_URL", "llama-3.3-70b-versatile"},
}

// Resolve finds a model. "" is the default.
func (c *Catalog) Resolve(ctx context.Context, name string) (Resolved, error) {
	name = c.target(ctx, name)
	if name == builtin.Name {
		return Resolved{Name: builtin.Name, ID: builtin.Name, Model: builtin.New(), Caps: builtin.Caps()}, nil
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok || id == "" {
		return Resolved{}, c.noModel(ctx, fmt.Sprintf("there is no model %q", name))
	}
	m, err := c.client(ctx, provider, name)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Name: name, ID: id, Model: m, Caps: c.caps(ctx, name)}, nil
}

// aliasDepth is how often an alias may name another.
const aliasDepth = 4

// target is the model that a name stands for.
func (c *Catalog) target(ctx context.Context, name string) string {
	for range aliasDepth {
		switch to, ok := c.settings.Aliases[name]; {
		case name == "":
			name = c.defaultName(ctx)
		case ok:
			name = to
		case builtinAliases[name] != "":
			name = builtinAliases[name]
		case name == "small" || name == "large":
			name = c.sized(ctx, name)
		default:
			return name
		}
	}
	return name
}

// sized is the small or the large model beside the one in use: of the same
// provider; a server with one model has only that.
func (c *Catalog) sized(ctx context.Context, size string) string {
	base := c.settings.Model
	if base == "" || base == size {
		base = c.defaultName(ctx)
	}
	if to, ok := c.settings.Aliases[base]; ok && to != size {
		base = to
	}
	base = cmp.Or(builtinAliases[base], base)
	provider, _, _ := strings.Cut(base, "/")
	s := sizes[provider]
	if size == "small" {
		return cmp.Or(s.small, base)
	}
	return cmp.Or(s.large, base)
}

// defaultName is the first model that can be used.
func (c *Catalog) defaultName(ctx context.Context) string {
	for _, h := range hosted {
		if c.env(h.keyEnv) != "" {
			return h.provider + "/" + h.model
		}
	}
	for _, l := range c.locals(ctx) {
		if f, ok := l.Best(); ok {
			return l.Provider + "/" + f.Name
		}
	}
	return builtin.Name
}

// namedMax is how many models an error lists.
const namedMax = 8

// noModel is the error for a name that means nothing: it lists what there is.
func (c *Catalog) noModel(ctx context.Context, message string) error {
	var usable []string
	for _, m := range c.List(ctx) {
		if m.Available && len(usable) < namedMax {
			usable = append(usable, m.Name)
		}
	}
	return &NoModelError{Message: message, Hint: "there are " + strings.Join(usable, ", ") + "; any other as provider/name, such as ollama/qwen3:8b, or an alias of the settings; /model says what keeps the rest from being used"}
}

// locals are the models that servers on this machine offer now.
func (c *Catalog) locals(ctx context.Context) []openai.Local {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.probed) > probeEvery {
		c.local, c.probed = c.detect(ctx), time.Now()
	}
	return c.local
}

// Close drops idle connections.
func (c *Catalog) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.clients {
		client.Close()
	}
}

func isLocal(provider string) bool {
	return slices.Contains([]string{openai.ProviderOllama, openai.ProviderLlamaCpp}, provider)
}
