package openai_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// conversation has everything that a request can hold.
func conversation() model.Request {
	zero, seed := 0.0, int64(7)
	const image = "data:image/png;base64,iVBORw0KGgo="
	return model.Request{
		Model: "m", MaxTokens: 500, Temperature: &zero, Seed: &seed,
		Tools: []model.Tool{{Name: "read", Description: "read a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}, {Name: "bare"}},
		Messages: []model.Message{
			{Role: model.RoleSystem, Text: "Be brief.", CacheBreak: true},
			{Role: model.RoleUser, Text: "What is <this>?", Images: []string{image}},
			{Role: model.RoleAssistant, Reasoning: "Hm.", Text: "I look.", Calls: []model.Call{
				{ID: "c1", Name: "read", Args: json.RawMessage(`{"path": "a"}`)},
				{ID: "c2", Name: "read", Args: json.RawMessage(`"{\"path\""`), Invalid: "the arguments are not valid JSON"},
			}},
			{Role: model.RoleTool, CallID: "c1", Text: "content"},
			{Role: model.RoleTool, CallID: "c2", Text: "no", IsError: true},
			{Role: model.RoleAssistant, Calls: []model.Call{{ID: "c3", Name: "bare"}}},
			{Role: model.RoleTool, CallID: "c3", Text: "ok"},
		},
	}
}

// What each provider is sent, as golden files.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		name, provider, model string
		caps                  model.Caps
	}{
		{"openai", openai.ProviderOpenAI, "gpt-4.1", model.Caps{Images: true}},
		{"openai-reasoning-model", openai.ProviderOpenAI, "gpt-5-mini", model.Caps{}},
		{"llamacpp", openai.ProviderLlamaCpp, "m", model.Caps{}},
		{"vllm", openai.ProviderVLLM, "m", model.Caps{Images: true}},
		{"ollama", openai.ProviderOllama, "qwen3:8b", model.Caps{Images: true, ContextWindow: 12000}},
		{"ollama-no-images", openai.ProviderOllama, "qwen3:8b", model.Caps{ContextWindow: 12000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, _ := readFixture(t, "testdata/replies/openai-usage.txtar")
			server := httptest.NewServer(f)
			defer server.Close()
			proxy, url := llmtest.NewProxy(t, server.URL)
			cl := client(t, url, func(config *openai.Config) {
				config.Provider = c.provider
				config.Caps = func(string) model.Caps { return c.caps }
			})
			req := conversation()
			req.Model = c.model
			_, _ = collect(t.Context(), cl, req) // the answer is another provider's at times
			var got bytes.Buffer
			if err := json.Indent(&got, proxy.Await(t, 1).Body, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("testdata", "requests", c.name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Without a configured window Ollama is asked, once, and never sent a request
// without num_ctx.
func TestOllamaWindowIsAsked(t *testing.T) {
	f, _ := readFixture(t, "testdata/replies/ollama-text.txtar")
	server := httptest.NewServer(f) // its /api/show says 8192
	defer server.Close()
	proxy, url := llmtest.NewProxy(t, server.URL)
	c := client(t, url, func(config *openai.Config) { config.Provider = openai.ProviderOllama })
	for range 2 {
		if _, err := collect(t.Context(), c, model.Request{Model: "qwen3:8b", Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range proxy.Requests() {
		if !strings.Contains(string(r.Body), `"num_ctx":8192`) || r.Path != "/api/chat" {
			t.Errorf("%s got %s", r.Path, r.Body)
		}
	}
}

func TestBaseURLs(t *testing.T) {
	f, _ := readFixture(t, "testdata/replies/no-done.txtar")
	for _, c := range []struct{ provider, suffix, path string }{
		{"other", "", "/v1/chat/completions"},
		{"other", "/", "/v1/chat/completions"},
		{"other", "/v1", "/v1/chat/completions"},
		{"other", "/v1/", "/v1/chat/completions"},
		{"other", "/openai/v1/chat/completions", "/openai/v1/chat/completions"},
		{"other", "/api/v3?x=1#y", "/api/v3/chat/completions"},
		{"ollama", "/v1", "/api/chat"},
		{"ollama", "/", "/api/chat"},
	} {
		server := httptest.NewServer(f)
		proxy, url := llmtest.NewProxy(t, server.URL)
		cl := client(t, url+c.suffix, func(config *openai.Config) { config.Provider = c.provider })
		_, _ = collect(t.Context(), cl, model.Request{Model: "m"}) // only the path matters
		if got := proxy.Await(t, 1).Path; got != c.path {
			t.Errorf("%s %q: asked for %s, want %s", c.provider, c.suffix, got, c.path)
		}
		server.Close()
	}
	for _, bad := range []string{"localhost:8080", "ftp://host/v1", "http://", "::", "\x00"} {
		if _, err := openai.New(openai.Config{Provider: "other", BaseURL: bad}); err == nil {
			t.Errorf("%q is taken for a base URL", bad)
		}
	}
	if _, err := openai.New(openai.Config{Provider: "unheard-of"}); err == nil {
		t.Error("an unknown provider needs no base URL")
	}
}

func TestOllamaURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "http://127.0.0.1:11434",
		"0.0.0.0":                  "http://127.0.0.1:11434",
		"0.0.0.0:8000":             "http://127.0.0.1:8000",
		":8000":                    "http://127.0.0.1:8000",
		"box":                      "http://box:11434",
		"box:8000":                 "http://box:8000",
		"http://box":               "http://box:80",
		"https://box":              "https://box:443",
		"http://box:8000/":         "http://box:8000",
		"https://box:8443/ollama/": "https://box:8443/ollama",
		"[::1]:8000":               "http://[::1]:8000",
		"[::]:8000":                "http://127.0.0.1:8000",
		"::1":                      "http://[::1]:11434",
	} {
		if got := openai.OllamaURL(host); got != want {
			t.Errorf("OllamaURL(%q) = %s, want %s", host, got, want)
		}
	}
}
