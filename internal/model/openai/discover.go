package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc/iter"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// Limits of the search for local servers.
const (
	DetectTimeout = 150 * time.Millisecond // for a server to answer at all
	listTimeout   = 3 * time.Second        // for it to describe its models then
	showAtMost    = 32                     // Ollama's models that are asked about, newest first
	showAtOnce    = 4
)

// Found is a model that a server has.
type Found struct {
	Name string
	Caps model.Caps // what the server says; zero fields are unknown
	// Chat is false for models that only embed or rank.
	Chat bool
}

// Local is a server on this machine, or why there is none.
type Local struct {
	Provider string // ProviderOllama or ProviderLlamaCpp
	BaseURL  string // for Config.BaseURL
	Models   []Found
	Err      error // why Models is empty: not running, wants a key, …
}

// Best is the server's first model that can call tools.
func (l Local) Best() (Found, bool) {
	i := slices.IndexFunc(l.Models, func(f Found) bool { return f.Chat && f.Caps.Tools })
	if i < 0 {
		return Found{}, false
	}
	return l.Models[i], true
}

// DetectOptions say where to look. Zero fields are the usual places.
type DetectOptions struct {
	OllamaHost  string // as in the environment variable OLLAMA_HOST
	LlamaCppURL string
	LlamaCppKey string
	Timeout     time.Duration // 0 = DetectTimeout
}

// Detect looks for Ollama and llama.cpp, both at once, and always returns both,
// in this order. It takes no longer than the timeout where nothing answers.
func Detect(ctx context.Context, o DetectOptions) []Local {
	places := []Config{
		{Provider: ProviderOllama, BaseURL: cmp.Or(o.OllamaHost, defaultBase[ProviderOllama])},
		{Provider: ProviderLlamaCpp, BaseURL: cmp.Or(o.LlamaCppURL, defaultBase[ProviderLlamaCpp]), APIKey: o.LlamaCppKey},
	}
	timeout := cmp.Or(o.Timeout, DetectTimeout)
	return iter.Map(places, func(config *Config) Local {
		config.Limits.Connect = timeout
		local := Local{Provider: config.Provider, BaseURL: config.BaseURL}
		c, err := New(*config)
		if err != nil {
			local.Err = err
			return local
		}
		defer c.Close()
		local.BaseURL = c.base
		if local.Err = c.alive(ctx, timeout); local.Err == nil {
			local.Models, local.Err = c.Models(ctx)
		}
		return local
	})
}

// alive asks what costs the server nothing.
func (c *Client) alive(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if c.config.Provider == ProviderOllama {
		var version struct {
			Version string `json:"version"`
		}
		if err := c.get(ctx, "", "/api/version", &version); err != nil {
			return err
		}
		if version.Version == "" {
			return c.notThat("Ollama")
		}
		return nil
	}
	var health struct {
		Status string `json:"status"`
	}
	if err := c.getRoot(ctx, "/health", &health); err != nil {
		return err
	}
	if health.Status == "" {
		return c.notThat("llama.cpp")
	}
	return nil
}

func (c *Client) notThat(what string) error {
	return &model.Error{Kind: model.NotFound, Model: c.config.Provider, Message: "what answers at " + c.server.Host + " is not " + what}
}

// Models lists what the server has and what it says of each: tools and context
// window where it tells them. The order is the server's.
func (c *Client) Models(ctx context.Context) ([]Found, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	switch c.config.Provider {
	case ProviderOllama:
		return c.ollamaModels(ctx)
	case ProviderLlamaCpp:
		return c.llamaModels(ctx)
	}
	var list modelList
	if err := c.get(ctx, "", "/models", &list); err != nil {
		return nil, err
	}
	return list.found(), nil
}

// modelList is GET /models: OpenAI's shape with what others add to it.
type modelList struct {
	Data []struct {
		ID            string `json:"id"`
		MaxModelLen   int    `json:"max_model_len"`         // vLLM
		ContextWindow int    `json:"context_window"`        // Groq
		ContextLength int    `json:"context_length"`        // OpenRouter and others
		MaxCompletion int    `json:"max_completion_tokens"` // Groq
		Meta          struct {
			Context int `json:"n_ctx"` // llama.cpp
		} `json:"meta"`
	} `json:"data"`
}

func (l modelList) found() []Found {
	var out []Found
	for _, m := range l.Data {
		out = append(out, Found{Name: m.ID, Chat: true, Caps: model.Caps{
			ContextWindow: max(cmp.Or(m.MaxModelLen, m.ContextWindow, m.ContextLength, m.Meta.Context), 0),
			OutputLimit:   max(m.MaxCompletion, 0),
		}})
	}
	return out
}

// llamaModels adds what llama.cpp's /props tells of the model that is loaded.
func (c *Client) llamaModels(ctx context.Context) ([]Found, error) {
	var list modelList
	if err := c.get(ctx, "", "/models", &list); err != nil {
		return nil, err
	}
	var props struct {
		Generation struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Template struct {
			Tools     bool `json:"supports_tools"`
			ToolCalls bool `json:"supports_tool_calls"`
		} `json:"chat_template_caps"`
		ChatTemplate string `json:"chat_template"`
		Modalities   struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
	}
	if err := c.getRoot(ctx, "/props", &props); err != nil {
		return nil, err
	}
	out := list.found()
	for i := range out {
		caps := &out[i].Caps
		// A slot's window, not the whole of the server's.
		caps.ContextWindow = cmp.Or(max(props.Generation.Context, 0), caps.ContextWindow)
		// Servers before chat_template_caps: a template that names tools knows them.
		caps.Tools = props.Template.Tools && props.Template.ToolCalls || strings.Contains(props.ChatTemplate, "tools")
		caps.Images, caps.Cache, caps.Local = props.Modalities.Vision, true, true
	}
	return out, nil
}

func (c *Client) ollamaModels(ctx context.Context) ([]Found, error) {
	var tags struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := c.get(ctx, "", "/api/tags", &tags); err != nil {
		return nil, err
	}
	if len(tags.Models) == 0 {
		return nil, &model.Error{Kind: model.NotFound, Model: ProviderOllama, Message: "Ollama runs but has no model",
			Hint: "run `ollama pull` with the name of a model that can call tools"}
	}
	names := make([]string, 0, showAtMost)
	for _, m := range tags.Models[:min(len(tags.Models), showAtMost)] {
		names = append(names, m.Name)
	}
	return iter.Mapper[string, Found]{MaxGoroutines: showAtOnce}.Map(names, func(name *string) Found {
		f, err := c.show(ctx, *name)
		if err != nil { // one model's trouble is not the others'
			f = Found{Name: *name}
		}
		return f
	}), nil
}

// numCtx finds the context window in a Modelfile's parameters.
var numCtx = regexp.MustCompile(`(?m)^num_ctx\s+(\d+)\s*$`)

// show asks Ollama about one model. The context window is the Modelfile's
// num_ctx where it has one, else the model's own but at most OllamaWindow.
func (c *Client) show(ctx context.Context, name string) (Found, error) {
	body, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return Found{}, err
	}
	var shown struct {
		Capabilities []string                   `json:"capabilities"`
		Parameters   string                     `json:"parameters"`
		Template     string                     `json:"template"`
		Info         map[string]json.RawMessage `json:"model_info"`
	}
	if err := c.exchange(ctx, name, http.MethodPost, c.base+"/api/show", body, &shown); err != nil {
		return Found{}, err
	}
	f := Found{Name: name, Chat: len(shown.Capabilities) == 0, Caps: model.Caps{Local: true, Cache: true}}
	for _, capability := range shown.Capabilities {
		switch capability {
		case "completion":
			f.Chat = true
		case "tools":
			f.Caps.Tools = true
		case "vision":
			f.Caps.Images = true
		case "thinking":
			f.Caps.Reasoning = true
		}
	}
	if len(shown.Capabilities) == 0 { // versions before 0.6 don't list them
		f.Caps.Tools = strings.Contains(shown.Template, ".Tools")
	}
	var own int
	architecture := wire.Text(shown.Info["general.architecture"])
	_ = json.Unmarshal(shown.Info[architecture+".context_length"], &own) // absent = unknown = 0
	if own > 0 {
		f.Caps.ContextWindow = min(own, OllamaWindow)
	}
	if m := numCtx.FindStringSubmatch(shown.Parameters); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n > 0 {
			f.Caps.ContextWindow = n
			if own > 0 {
				f.Caps.ContextWindow = min(n, own)
			}
		}
	}
	return f, nil
}

func (c *Client) get(ctx context.Context, name, path string, into any) error {
	return c.exchange(ctx, name, http.MethodGet, c.base+path, nil, into)
}

// getRoot asks for a path beside /v1.
func (c *Client) getRoot(ctx context.Context, path string, into any) error {
	return c.exchange(ctx, "", http.MethodGet, strings.TrimSuffix(c.base, "/v1")+path, nil, into)
}

// exchange is one small request with a JSON answer.
func (c *Client) exchange(ctx context.Context, name, method, url string, body []byte, into any) error {
	k := &call{client: c, name: strings.TrimSuffix(c.config.Provider+"/"+name, "/")}
	req, err := c.newRequest(ctx, method, url, body)
	if err != nil {
		return k.fail(model.BadRequest, err.Error(), "check base_url in the settings")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return c.server.Broken(k.name, context.WithoutCancel(ctx), ctx, err, false, false)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, listBodyLimit))
	if err != nil {
		return c.server.Broken(k.name, context.WithoutCancel(ctx), ctx, err, false, false)
	}
	if res.StatusCode != http.StatusOK {
		return c.server.HTTPError(k.name, res.StatusCode, res.Header, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return k.fail(model.NotFound, fmt.Sprintf("what answers at %s is no such server: %s", c.server.Host, wire.Shown(data, wire.NonsenseShown)), "check base_url in the settings")
	}
	return nil
}
