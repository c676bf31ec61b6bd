package catalog

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// with makes a catalog in an environment and beside local servers of the test's.
func with(env map[string]string, local ...openai.Local) *Catalog {
	c := New(Settings{Aliases: map[string]string{"small": "ollama/tiny"}, Models: map[string]Model{"ollama/tiny": {Caps: model.Caps{ContextWindow: 9}}}})
	c.env = func(name string) string { return env[name] }
	c.ask = func(context.Context, string) ([]openai.Found, error) { return nil, nil }
	c.detect = func(context.Context) []openai.Local { return local }
	return c
}

var ollama = openai.Local{Provider: openai.ProviderOllama, Models: []openai.Found{
	{Name: "embed", Chat: false}, {Name: "plain", Chat: true}, {Name: "tiny", Chat: true, Caps: model.Caps{Tools: true, ContextWindow: 4096}}}}

// CATALOG-1: the default is the first that can be used.
func TestDefaultOrder(t *testing.T) {
	for _, x := range []struct {
		about string
		c     *Catalog
		want  string
	}{
		{"nothing at all", with(nil), "builtin"},
		{"a local server without tools", with(nil, openai.Local{Provider: openai.ProviderOllama, Models: ollama.Models[:2]}), "builtin"},
		{"a local server", with(nil, ollama), "ollama/tiny"},
		{"a key beats it", with(map[string]string{"GROQ_API_KEY": "k"}, ollama), "groq/llama-3.3-70b-versatile"},
		{"two keys", with(map[string]string{"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}), "openai/gpt-6-sol"},
		{"Anthropic's comes first", with(map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, ollama), "anthropic/claude-sonnet-5-5"},
		{"a base URL alone is no choice", with(map[string]string{"ANTHROPIC_BASE_URL": "http://x"}), "builtin"},
	} {
		r, err := x.c.Resolve(t.Context(), "")
		if err != nil || r.Name != x.want {
			t.Errorf("%s: %s, %v; want %s", x.about, r.Name, err, x.want)
		}
	}
}

// What is known of a model: the server's word, over it the person's.
func TestCaps(t *testing.T) {
	r, err := with(nil, ollama).Resolve(t.Context(), "small")
	if err != nil || r.Name != "ollama/tiny" || r.Caps.ContextWindow != 9 || !r.Caps.Tools || !r.Caps.Local {
		t.Errorf("%+v, %v", r, err)
	}
}

// A name that can't be resolved says what to do.
func TestUnknown(t *testing.T) {
	for _, name := range []string{"nonsense", "nowhere/x", "openai/gpt-6-sol", "anthropic/claude-opus-5-5", "sonnet"} {
		_, err := with(nil).Resolve(t.Context(), name)
		var no *NoModelError
		if !errors.As(err, &no) || no.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CATALOG-2: local servers are asked once a while, not with every look.
func TestProbeIsBounded(t *testing.T) {
	asked := 0
	c := with(nil)
	c.detect = func(context.Context) []openai.Local { asked++; return nil }
	for range 5 {
		c.List(t.Context())
		if _, err := c.Resolve(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("the local servers were asked %d times", asked)
	}
	c.probed = c.probed.Add(-2 * probeEvery)
	c.List(t.Context())
	if asked != 2 || openai.DetectTimeout > time.Second {
		t.Errorf("asked %d times, each for up to %s", asked, openai.DetectTimeout)
	}
}

// Names that people say, and what they stand for beside the model in use.
func TestAliases(t *testing.T) {
	keys := map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k", "GROQ_API_KEY": "k"}
	for _, x := range []struct{ model, alias, want string }{
		{"", "haiku", "anthropic/claude-haiku-5-5"},
		{"", "opus", "anthropic/claude-opus-5-5"},
		{"", "sonnet", "anthropic/claude-sonnet-5-5"},
		{"", "small", "anthropic/claude-haiku-5-5"},
		{"", "large", "anthropic/claude-opus-5-5"},
		{"openai/gpt-6-sol", "small", "openai/gpt-6-luna"},
		{"groq/llama-3.3-70b-versatile", "large", "groq/openai/gpt-oss-120b"},
		{"sonnet", "small", "anthropic/claude-haiku-5-5"},
		{"builtin", "small", "builtin"},
		{"ollama/tiny", "large", "ollama/tiny"},
		{"small", "small", "anthropic/claude-haiku-5-5"},
		{"", "mine", "openai/gpt-6-luna"},
		{"", "loop", "loop"},
	} {
		c := with(keys, ollama)
		c.settings.Model, c.settings.Aliases = x.model, map[string]string{"mine": "yours", "yours": "openai/gpt-6-luna", "loop": "pool", "pool": "loop"}
		if got := c.target(t.Context(), x.alias); got != x.want {
			t.Errorf("%s beside %q is %s, want %s", x.alias, x.model, got, x.want)
		}
	}
	// The person's own alias comes first.
	r, err := with(nil, ollama).Resolve(t.Context(), "small")
	if err != nil || r.Name != "ollama/tiny" {
		t.Errorf("%+v, %v", r, err)
	}
}

// An unknown name is answered with what there is.
func TestUnknownLists(t *testing.T) {
	for _, name := range []string{"nonsense", "nowhere/x"} {
		_, err := with(map[string]string{"GROQ_API_KEY": "k"}, ollama).Resolve(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), "groq/llama-3.3-70b-versatile") || !strings.Contains(err.Error(), "ollama/tiny") || strings.Contains(err.Error(), "claude") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CATALOG-3: what nobody knows is asked of the server, and else of the person.
func TestUnknownWindow(t *testing.T) {
	c := with(map[string]string{"OPENAI_API_KEY": "k"})
	c.settings.Providers = map[string]Provider{"work": {BaseURL: "http://127.0.0.1:1/v1"}}
	asked := 0
	c.ask = func(_ context.Context, provider string) ([]openai.Found, error) {
		asked++
		if provider == "work" {
			return []openai.Found{{Name: "told", Caps: model.Caps{ContextWindow: 12_000}}}, nil
		}
		return nil, errors.New("silent")
	}
	for name, want := range map[string]int{"work/told": 12_000, "work/untold": 0, "openai/gpt-7": 0, "openai/gpt-5.1-2025-11-13": 400_000, "openai/gpt-5.15": 0} {
		r, err := c.Resolve(t.Context(), name)
		if err != nil || r.Caps.ContextWindow != want {
			t.Errorf("%s: window %d, %v; want %d", name, r.Caps.ContextWindow, err, want)
		}
	}
	if asked != 2 {
		t.Errorf("%d questions, want one for each server", asked)
	}
}

// CATALOG-4: keys go where the person said, and nowhere else.
func TestKeysStayHome(t *testing.T) {
	c := with(map[string]string{"ANTHROPIC_API_KEY": "a-key", "OPENAI_API_KEY": "o-key", "ANTHROPIC_BASE_URL": "http://gateway", "WORK": "w-key"})
	c.settings.Providers = map[string]Provider{"work": {BaseURL: "http://work", KeyEnv: "WORK", API: APIAnthropic}, "bare": {BaseURL: "http://bare"}}
	c.settings.Models = map[string]Model{"openai/special": {Server: Provider{BaseURL: "http://special", KeyEnv: "WORK"}}}
	for _, x := range []struct{ name, base, key, api string }{
		{"anthropic/x", "http://gateway", "a-key", APIAnthropic},
		{"openai/x", "", "o-key", APIOpenAI},
		{"openai/special", "http://special", "w-key", APIOpenAI},
		{"work/x", "http://work", "w-key", APIAnthropic},
		{"bare/x", "http://bare", "", APIOpenAI},
		{"ollama/x", "", "", APIOpenAI},
	} {
		provider, _, _ := strings.Cut(x.name, "/")
		s, err := c.server(provider, x.name)
		if err != nil || s.base != x.base || s.key != x.key || s.api != x.api {
			t.Errorf("%s: %+v, %v; want %+v", x.name, s, err, x)
		}
	}
}

// The list says of every model why it can be used or not, in the order of choice.
func TestList(t *testing.T) {
	c := with(map[string]string{"OPENAI_API_KEY": "k"}, ollama, openai.Local{Provider: openai.ProviderLlamaCpp, Err: errors.New("connection refused")})
	var got strings.Builder
	for _, m := range c.List(t.Context()) {
		fmt.Fprintf(&got, "%v %s [%s] %d %s\n", m.Available, m.Name, m.Alias, m.Caps.ContextWindow, m.Why)
	}
	const want = `false anthropic/claude-fable-5-1 [fable] 1000000 set ANTHROPIC_API_KEY
false anthropic/claude-opus-5-5 [opus] 1000000 set ANTHROPIC_API_KEY
false anthropic/claude-sonnet-5-5 [sonnet] 1000000 set ANTHROPIC_API_KEY
false anthropic/claude-haiku-5-5 [haiku] 1000000 set ANTHROPIC_API_KEY
true openai/gpt-6-sol [] 922000 OPENAI_API_KEY is set
true openai/gpt-6-luna [] 922000 OPENAI_API_KEY is set
true openai/gpt-6.2-sol [] 922000 OPENAI_API_KEY is set; without tools: it calls them only through another API
true openai/gpt-6.2-astra [] 922000 OPENAI_API_KEY is set; without tools: it calls them only through another API
false groq/llama-3.3-70b-versatile [] 131072 set GROQ_API_KEY
false groq/llama-3.1-8b-instant [] 131072 set GROQ_API_KEY
false groq/openai/gpt-oss-120b [] 131072 set GROQ_API_KEY
false groq/openai/gpt-oss-20b [] 131072 set GROQ_API_KEY
true ollama/plain [] 0 served on this machine, without tools; its context window is not known: [models."ollama/plain"] context_window = …
true ollama/tiny [small] 9 served on this machine
false llamacpp/… [] 0 connection refused; start llama-server --jinja on port 8080
true builtin [] 32768 offline and rule-based: finds, explains by quoting, edits mechanically
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Error(diff)
	}
}

// A price for long prompts, cache reads and writes, to the request.
func TestCost(t *testing.T) {
	haiku, _ := known("anthropic/claude-haiku-5-5-20261007")
	sonnet, _ := known("anthropic/claude-sonnet-5-5")
	llama, _ := known("groq/llama-3.3-70b-versatile")
	for _, x := range []struct {
		about string
		caps  model.Caps
		u     model.Usage
		want  float64
	}{
		{"plain", sonnet, model.Usage{Input: 1000, Output: 100}, 1000*2e-6 + 100*10e-6},
		{"cached", sonnet, model.Usage{Input: 1000, CacheRead: 700, CacheWrite: 200, Output: 100}, 100*2e-6 + 700*0.1e-6 + 200*2.5e-6 + 100*10e-6},
		{"at the limit", haiku, model.Usage{Input: 100_000, Output: 10}, 100_000*0.1e-6 + 10*0.5e-6},
		{"over it", haiku, model.Usage{Input: 100_001, CacheRead: 100_000, Output: 10}, 1*0.5e-6 + 100_000*0.05e-6 + 10*2.5e-6},
		{"no price for writes", llama, model.Usage{Input: 10, CacheWrite: 10}, 10 * 0.59e-6},
		{"free", model.Caps{}, model.Usage{Input: 10, Output: 10}, 0},
		{"the person's own price", Model{Caps: model.Caps{USDPerMIn: 1}}.over(haiku), model.Usage{Input: 200_000}, 0.2},
	} {
		if got := x.caps.Cost(x.u); math.Abs(got-x.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", x.about, got, x.want)
		}
	}
}

// Every row of the table is complete enough to be used.
func TestKnownTable(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range knownModels {
		c := k.caps
		if seen[k.name] || c.ContextWindow < c.OutputLimit || c.OutputLimit == 0 || c.USDPerMIn <= 0 || c.USDPerMOut <= c.USDPerMIn ||
			c.Cache != (c.USDPerMCached > 0) || c.USDPerMCached >= c.USDPerMIn || c.LongPrompt > 0 && (c.LongIn <= 1 || c.LongOut <= 1) {
			t.Errorf("%s: %+v", k.name, c)
		}
		seen[k.name] = true
	}
	for _, h := range hosted {
		if k, ok := known(h.provider + "/" + h.model); !ok || !k.Tools {
			t.Errorf("the default of %s is not known, or calls no tools", h.provider)
		}
	}
	for _, to := range builtinAliases {
		if !seen[to] {
			t.Errorf("an alias names %s, which is not known", to)
		}
	}
	for _, s := range sizes {
		if !seen[s.small] || !seen[s.large] {
			t.Errorf("%+v is not known", s)
		}
	}
}
