// Package catalog knows which models there are, which can be used, and why not.
//
// # What it does
//
// Resolve turns a name (provider/name, an alias, or "" for the default) into a
// model that can be called. List shows every model known here with the reason
// why it is available or not.
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
//   - CATALOG-2 A local server that doesn't answer costs at most the named
//     probe time, once a while. TestProbeIsBounded.
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
	Aliases   map[string]string
	Providers map[string]Provider
	Models    map[string]model.Caps // zero fields leave what is known
}

// Provider is a server that speaks chat completions.
type Provider struct{ BaseURL, KeyEnv string }

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

	mu      sync.Mutex
	clients map[string]*openai.Client // by provider
	local   []openai.Local
	probed  time.Time
}

// New makes a catalog. Nothing is asked of any server yet.
func New(s Settings) *Catalog {
	c := &Catalog{settings: s, env: os.Getenv, clients: map[string]*openai.Client{}}
	c.detect = func(ctx context.Context) []openai.Local {
		return openai.Detect(ctx, openai.DetectOptions{
			OllamaHost:  cmp.Or(s.Providers[openai.ProviderOllama].BaseURL, c.env("OLLAMA_HOST")),
			LlamaCppURL: s.Providers[openai.ProviderLlamaCpp].BaseURL,
			LlamaCppKey: c.env(s.Providers[openai.ProviderLlamaCpp].KeyEnv),
		})
	}
	return c
}

// hosted are the providers that a key alone makes usable, in the order in
// which the default is looked for.
var hosted = []struct {
	provider, keyEnv, baseEnv, model string
}{
	{"openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-5.1"},
	{"groq", "GROQ_API_KEY", "GROQ_BASE_URL", "llama-3.3-70b-versatile"},
}

// Resolve finds a model. "" is the default.
func (c *Catalog) Resolve(ctx context.Context, name string) (Resolved, error) {
	if name == "" {
		name = c.defaultName(ctx)
	}
	if target, ok := c.settings.Aliases[name]; ok {
		name = target
	}
	if name == builtin.Name {
		return Resolved{Name: builtin.Name, ID: builtin.Name, Model: builtin.New(), Caps: builtin.Caps()}, nil
	}
	provider, id, ok := strings.Cut(name, "/")
	if !ok || id == "" {
		return Resolved{}, &NoModelError{Message: fmt.Sprintf("there is no model %q", name), Hint: "write provider/name, such as ollama/qwen3:8b; /model lists what is there"}
	}
	client, err := c.client(provider)
	if err != nil {
		return Resolved{}, err
	}
	return Resolved{Name: name, ID: id, Model: client, Caps: c.caps(ctx, name)}, nil
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

// client is the connection to a provider, made once.
func (c *Catalog) client(provider string) (*openai.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.clients[provider]; ok {
		return have, nil
	}
	cfg, err := c.config(provider)
	if err != nil {
		return nil, err
	}
	client, err := openai.New(cfg)
	if err != nil {
		return nil, &NoModelError{Message: err.Error(), Hint: "set base_url of the provider in the settings"}
	}
	c.clients[provider] = client
	return client, nil
}

func (c *Catalog) config(provider string) (openai.Config, error) {
	cfg := openai.Config{Provider: provider, Caps: func(name string) model.Caps { return c.caps(context.Background(), provider+"/"+name) }}
	for _, h := range hosted {
		if h.provider == provider {
			cfg.KeyName, cfg.BaseURL = h.keyEnv, c.env(h.baseEnv)
		}
	}
	set, known := c.settings.Providers[provider]
	if known {
		cfg.BaseURL, cfg.KeyName = cmp.Or(set.BaseURL, cfg.BaseURL), cmp.Or(set.KeyEnv, cfg.KeyName)
	}
	if provider == openai.ProviderOllama && cfg.BaseURL == "" {
		cfg.BaseURL = c.env("OLLAMA_HOST")
	}
	if cfg.KeyName != "" {
		cfg.APIKey = c.env(cfg.KeyName)
	}
	switch provider {
	case openai.ProviderOpenAI, openai.ProviderGroq:
		if cfg.APIKey == "" && cfg.BaseURL == "" {
			return cfg, &NoModelError{Message: provider + " has no key", Hint: "set " + cfg.KeyName}
		}
	case openai.ProviderOllama, openai.ProviderLlamaCpp, openai.ProviderVLLM:
	default:
		if !known || set.BaseURL == "" {
			return cfg, &NoModelError{Message: fmt.Sprintf("there is no provider %q", provider), Hint: fmt.Sprintf("configure it: [providers.%s] base_url = \"…\"", provider)}
		}
	}
	return cfg, nil
}

// caps is what is known of a model: the built-in table, corrected by what a
// local server said, overridden by the settings.
func (c *Catalog) caps(ctx context.Context, name string) model.Caps {
	k := known(name)
	for _, l := range c.localsIfKnown(ctx, name) {
		for _, f := range l.Models {
			if l.Provider+"/"+f.Name == name {
				k = f.Caps
				k.Local = true
			}
		}
	}
	o := c.settings.Models[name]
	k.ContextWindow = cmp.Or(o.ContextWindow, k.ContextWindow)
	k.OutputLimit = cmp.Or(o.OutputLimit, k.OutputLimit)
	k.USDPerMIn = cmp.Or(o.USDPerMIn, k.USDPerMIn)
	k.USDPerMOut = cmp.Or(o.USDPerMOut, k.USDPerMOut)
	return k
}

// localsIfKnown asks the local servers only about their own models.
func (c *Catalog) localsIfKnown(ctx context.Context, name string) []openai.Local {
	if strings.HasPrefix(name, openai.ProviderOllama+"/") || strings.HasPrefix(name, openai.ProviderLlamaCpp+"/") {
		return c.locals(ctx)
	}
	return nil
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

// List shows every model, the usable ones of each provider first.
func (c *Catalog) List(ctx context.Context) []Info {
	var out []Info
	aliases := map[string]string{}
	for alias, target := range c.settings.Aliases {
		if old, ok := aliases[target]; !ok || alias < old {
			aliases[target] = alias
		}
	}
	add := func(name string, available bool, why string) {
		out = append(out, Info{Name: name, Alias: aliases[name], Available: available, Why: why, Caps: c.caps(ctx, name)})
	}
	for _, h := range hosted {
		name := h.provider + "/" + h.model
		if c.env(h.keyEnv) != "" {
			add(name, true, h.keyEnv+" is set")
		} else {
			add(name, false, "set "+h.keyEnv)
		}
	}
	for _, l := range c.locals(ctx) {
		for _, f := range l.Models {
			switch {
			case !f.Chat:
			case f.Caps.Tools:
				add(l.Provider+"/"+f.Name, true, "served on this machine")
			default:
				add(l.Provider+"/"+f.Name, true, "served on this machine, without tools")
			}
		}
		if len(l.Models) == 0 {
			why := "no models"
			if l.Err != nil {
				why = l.Err.Error()
			}
			out = append(out, Info{Name: l.Provider + "/…", Why: why + "; " + howToStart[l.Provider]})
		}
	}
	for _, target := range c.settings.Aliases {
		if !slices.ContainsFunc(out, func(i Info) bool { return i.Name == target }) {
			_, err := c.Resolve(ctx, target)
			why := "configured"
			if err != nil {
				why = err.Error()
			}
			add(target, err == nil, why)
		}
	}
	slices.SortStableFunc(out, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return append(out, Info{Name: builtin.Name, Alias: aliases[builtin.Name], Available: true, Why: "offline and rule-based: finds, explains by quoting, edits mechanically", Caps: builtin.Caps()})
}

var howToStart = map[string]string{
	openai.ProviderOllama:   "start ollama, then: ollama pull qwen3:8b",
	openai.ProviderLlamaCpp: "start llama-server --jinja on port 8080",
}

// Close drops idle connections.
func (c *Catalog) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.clients {
		client.Close()
	}
}
