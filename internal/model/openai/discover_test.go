package openai_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// shows is what an Ollama says of its models, in the form of its API.
var shows = map[string]string{
	"qwen3:8b":         `{"capabilities":["completion","tools","thinking"],"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960}}`,
	"small:1b":         `{"capabilities":["completion"],"model_info":{"general.architecture":"llama","llama.context_length":2048}}`,
	"tuned":            `{"capabilities":["completion","tools","vision"],"parameters":"temperature 1\nnum_ctx                        32768\nstop \"x\"","model_info":{"general.architecture":"g","g.context_length":131072}}`,
	"overtuned":        `{"capabilities":["completion"],"parameters":"num_ctx 99999","model_info":{"general.architecture":"g","g.context_length":4096}}`,
	"nomic-embed-text": `{"capabilities":["embedding"],"model_info":{"general.architecture":"bert","bert.context_length":2048}}`,
	"old":              `{"template":"{{ if .Tools }}x{{ end }}","model_info":{}}`,
}

var ollamaOrder = []string{"small:1b", "nomic-embed-text", "qwen3:8b", "tuned", "overtuned", "old", "broken"}

func ollama(t testing.TB) string {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"version":"0.17.4"}`) })
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		var models []string
		for _, name := range ollamaOrder {
			models = append(models, fmt.Sprintf(`{"name":%q,"model":%q}`, name, name))
		}
		fmt.Fprintf(w, `{"models":[%s]}`, strings.Join(models, ","))
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		var ask struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&ask)
		if shows[ask.Model] == "" {
			http.Error(w, `{"error":"unexpected end of file"}`, http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, shows[ask.Model])
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestDetect(t *testing.T) {
	server := llmtest.Shared(t)
	found := openai.Detect(t.Context(), openai.DetectOptions{OllamaHost: ollama(t), LlamaCppURL: server.URL, Timeout: 5 * time.Second})
	if len(found) != 2 || found[0].Err != nil || found[1].Err != nil {
		t.Fatalf("found %+v", found)
	}
	local := func(c model.Caps) model.Caps { c.Local, c.Cache = true, true; return c }
	want := []openai.Found{
		{Name: "small:1b", Chat: true, Caps: local(model.Caps{ContextWindow: 2048})},
		{Name: "nomic-embed-text", Caps: local(model.Caps{ContextWindow: 2048})},
		{Name: "qwen3:8b", Chat: true, Caps: local(model.Caps{ContextWindow: openai.OllamaWindow, Tools: true, Reasoning: true})},
		{Name: "tuned", Chat: true, Caps: local(model.Caps{ContextWindow: 32768, Tools: true, Images: true})},
		{Name: "overtuned", Chat: true, Caps: local(model.Caps{ContextWindow: 4096})},
		{Name: "old", Chat: true, Caps: local(model.Caps{Tools: true})},
		{Name: "broken"},
	}
	if diff := cmp.Diff(want, found[0].Models); diff != "" {
		t.Error(diff)
	}
	if best, ok := found[0].Best(); !ok || best.Name != "qwen3:8b" {
		t.Errorf("best of Ollama: %+v", best)
	}
	want = []openai.Found{{Name: llmtest.ModelName, Chat: true, Caps: local(model.Caps{ContextWindow: llmtest.DefaultContext, Tools: true})}}
	if diff := cmp.Diff(want, found[1].Models); diff != "" {
		t.Error(diff)
	}
}

// Nothing there, something else there, something that never answers: each is
// said, quickly.
func TestDetectNothing(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	json := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"hello":"world"}`) }))
	defer json.Close()
	closed := "127.0.0.1:1"
	for name, url := range map[string]string{"silent": "http://" + silent.Addr().String(), "a web server": other.URL, "another API": json.URL, "nobody": "http://" + closed} {
		start := time.Now()
		found := openai.Detect(t.Context(), openai.DetectOptions{OllamaHost: url, LlamaCppURL: url})
		if took := time.Since(start); took > openai.DetectTimeout+time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		for _, local := range found {
			if local.Err == nil || len(local.Models) > 0 || !strings.Contains(local.Err.Error(), local.Provider) {
				t.Errorf("%s: %+v", name, local)
			}
		}
	}
}

func TestDetectWantsAKey(t *testing.T) {
	server := llmtest.Start(t, llmtest.Options{APIKey: "sk-local", Slots: 1, Context: 2048})
	options := openai.DetectOptions{OllamaHost: "127.0.0.1:1", LlamaCppURL: server.URL, Timeout: 5 * time.Second}
	if err := openai.Detect(t.Context(), options)[1].Err; err == nil || !strings.Contains(err.Error(), "no key is set") {
		t.Errorf("without a key: %v", err)
	}
	options.LlamaCppKey = "sk-local"
	if found := openai.Detect(t.Context(), options)[1]; found.Err != nil || len(found.Models) != 1 {
		t.Errorf("with the key: %+v", found)
	}
}

func TestModelsOfHostedServers(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []openai.Found
	}{
		"openai": {`{"object":"list","data":[{"id":"gpt-4.1","object":"model"}]}`, []openai.Found{{Name: "gpt-4.1", Chat: true}}},
		"vllm":   {`{"data":[{"id":"m","max_model_len":32768}]}`, []openai.Found{{Name: "m", Chat: true, Caps: model.Caps{ContextWindow: 32768}}}},
		"groq": {`{"data":[{"id":"g","context_window":131072,"max_completion_tokens":32768}]}`,
			[]openai.Found{{Name: "g", Chat: true, Caps: model.Caps{ContextWindow: 131072, OutputLimit: 32768}}}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				t.Errorf("asked for %s", r.URL.Path)
			}
			fmt.Fprint(w, c.body)
		}))
		got, err := client(t, server.URL, func(config *openai.Config) { config.Provider = name }).Models(t.Context())
		server.Close()
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Servers of llama.cpp from before chat_template_caps, and templates without tools.
func TestLlamaCppTools(t *testing.T) {
	for name, c := range map[string]struct {
		props string
		tools bool
	}{
		"told":          {`{"chat_template_caps":{"supports_tools":true,"supports_tool_calls":true}}`, true},
		"told not":      {`{"chat_template_caps":{"supports_tools":false,"supports_tool_calls":false},"chat_template":"{{ messages }}"}`, false},
		"from template": {`{"chat_template":"{% if tools %}{% endif %}"}`, true},
		"nothing":       {`{}`, false},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /props", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.props) })
		mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"data":[{"id":"m","meta":{"n_ctx":4096}}]}`)
		})
		server := httptest.NewServer(mux)
		found, err := client(t, server.URL).Models(t.Context())
		server.Close()
		if err != nil || len(found) != 1 || found[0].Caps.Tools != c.tools || found[0].Caps.ContextWindow != 4096 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}
