package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// client is a connection to a server.
type client interface {
	model.Model
	Close()
}

// client is the connection for a model, made once for each server.
func (c *Catalog) client(ctx context.Context, provider, name string) (client, error) {
	key := provider
	if c.settings.Models[name].Server.BaseURL != "" {
		key = name
	}
	c.mu.Lock()
	have, ok := c.clients[key]
	c.mu.Unlock()
	if ok {
		return have, nil
	}
	s, err := c.server(provider, name)
	if errors.Is(err, errNoProvider) {
		return nil, c.noModel(ctx, fmt.Sprintf("there is no provider %q", provider))
	}
	if err != nil {
		return nil, err
	}
	made, err := s.open(func(id string) model.Caps { return c.caps(context.Background(), provider+"/"+id) })
	if err != nil {
		return nil, &NoModelError{Message: err.Error(), Hint: "set base_url of the provider in the settings"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have, ok := c.clients[key]; ok { // somebody was quicker
		made.Close()
		return have, nil
	}
	c.clients[key] = made
	return made, nil
}

// server is where a model is, and how it is spoken to.
type server struct {
	provider, api, base string
	keyName, key, token string
}

func (s server) open(caps func(string) model.Caps) (client, error) {
	if s.api == APIAnthropic {
		return anthropic.New(anthropic.Config{Provider: s.provider, BaseURL: s.base, APIKey: s.key, Token: s.token, KeyName: s.keyName, Caps: caps})
	}
	return openai.New(openai.Config{Provider: s.provider, BaseURL: s.base, APIKey: s.key, KeyName: s.keyName, Caps: caps})
}

var errNoProvider = errors.New("no such provider")

// tokenEnv is Anthropic's other way to say who one is, for gateways.
const tokenEnv = "ANTHROPIC_AUTH_TOKEN"

// server finds a model's server. Over a provider's usual address and key come
// the environment's, over these the settings', over these the model's own.
func (c *Catalog) server(provider, name string) (server, error) {
	s := server{provider: provider, api: APIOpenAI}
	if provider == anthropic.Provider {
		s.api, s.token = APIAnthropic, c.env(tokenEnv)
	}
	for _, h := range hosted {
		if h.provider == provider {
			s.keyName, s.base = h.keyEnv, c.env(h.baseEnv)
		}
	}
	set, known := c.settings.Providers[provider]
	for _, p := range []Provider{set, c.settings.Models[name].Server} {
		s.base, s.keyName, s.api = cmp.Or(p.BaseURL, s.base), cmp.Or(p.KeyEnv, s.keyName), cmp.Or(p.API, s.api)
	}
	if provider == openai.ProviderOllama && s.base == "" {
		s.base = c.env("OLLAMA_HOST")
	}
	if s.keyName != "" {
		s.key = c.env(s.keyName)
	}
	switch provider {
	case anthropic.Provider, openai.ProviderOpenAI, openai.ProviderGroq:
		if s.key == "" && s.base == "" && s.token == "" {
			return s, &NoModelError{Message: provider + " has no key", Hint: "set " + s.keyName + ", or choose another model with /model"}
		}
	case openai.ProviderOllama, openai.ProviderLlamaCpp, openai.ProviderVLLM:
	default:
		if s.base == "" && known {
			return s, &NoModelError{Message: fmt.Sprintf("the provider %q has no address", provider), Hint: fmt.Sprintf("set it: [providers.%s] base_url = \"…\"", provider)}
		}
		if s.base == "" {
			return s, errNoProvider
		}
	}
	return s, nil
}

// said is what a server told of its models, and when.
type said struct {
	models []openai.Found
	at     time.Time
}

// saysAtMost bounds how long a server that is not on this machine may take to
// tell of its models.
const saysAtMost = 2 * time.Second

// askServer asks a server that speaks chat completions for its models.
func (c *Catalog) askServer(ctx context.Context, provider string) ([]openai.Found, error) {
	s, err := c.server(provider, "")
	if err != nil || s.api != APIOpenAI {
		return nil, err
	}
	cl, err := openai.New(openai.Config{Provider: s.provider, BaseURL: s.base, APIKey: s.key, KeyName: s.keyName})
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, saysAtMost)
	defer cancel()
	return cl.Models(ctx)
}

// saysOf is what a provider's server said of a model. A silent server is asked
// again after a while.
func (c *Catalog) saysOf(ctx context.Context, provider, id string) (model.Caps, bool) {
	c.mu.Lock()
	have, ok := c.said[provider]
	c.mu.Unlock()
	if !ok || len(have.models) == 0 && time.Since(have.at) > probeEvery {
		list, err := c.ask(ctx, provider)
		if err != nil {
			list = nil // its failure is told by the first request, in its own words
		}
		have = said{list, time.Now()}
		c.mu.Lock()
		c.said[provider] = have
		c.mu.Unlock()
	}
	for _, f := range have.models {
		if f.Name == id {
			return f.Caps, true
		}
	}
	return model.Caps{}, false
}
