package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

// with makes a catalog in an environment and beside local servers of the test's.
func with(env map[string]string, local ...openai.Local) *Catalog {
	c := New(Settings{Aliases: map[string]string{"small": "ollama/tiny"}, Models: map[string]model.Caps{"ollama/tiny": {ContextWindow: 9}}})
	c.env = func(name string) string { return env[name] }
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
		{"two keys", with(map[string]string{"GROQ_API_KEY": "k", "OPENAI_API_KEY": "k"}), "openai/gpt-5.1"},
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
	for _, name := range []string{"nonsense", "nowhere/x", "openai/gpt-5.1"} {
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
