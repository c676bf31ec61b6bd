package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

func TestMain(m *testing.M) {
	code := m.Run()
	llmtest.StopShared()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// tools are those that the scripts call.
var tools = []model.Tool{
	{Name: "read", Description: "read a file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"]}`)},
	{Name: "edit", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"]}}},"required":["path","edits"]}`)},
	{Name: "write", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)},
}

func request(script string, more ...model.Message) model.Request {
	return model.Request{Model: llmtest.ModelName, Tools: tools, Messages: append([]model.Message{
		{Role: model.RoleSystem, Text: "You are a test."},
		{Role: model.RoleUser, Text: "Go. [[script:" + script + "]]"},
	}, more...)}
}

func client(t testing.TB, url string, change ...func(*openai.Config)) *openai.Client {
	t.Helper()
	config := openai.Config{Provider: openai.ProviderLlamaCpp, BaseURL: url, KeyName: "TEST_API_KEY"}
	for _, f := range change {
		f(&config)
	}
	c, err := openai.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func collect(ctx context.Context, c *openai.Client, req model.Request) (model.Reply, error) {
	return model.Collect("test", c.Stream(ctx, req))
}

// withoutIDs is calls that can be compared.
func withoutIDs(t testing.TB, calls []model.Call) []model.Call {
	t.Helper()
	var out []model.Call
	seen := map[string]bool{}
	for _, c := range calls {
		if c.ID == "" || seen[c.ID] {
			t.Errorf("call %s has the id %q, want one of its own", c.Name, c.ID)
		}
		seen[c.ID] = true
		c.ID = ""
		out = append(out, c)
	}
	return out
}

// The server's own word on its model.
func TestModelsOfLlamaCpp(t *testing.T) {
	server := llmtest.Start(t, llmtest.Options{Context: 2048, Slots: 1})
	found, err := client(t, server.URL).Models(t.Context())
	if err != nil || len(found) != 1 || found[0].Caps.ContextWindow != 2048 || !found[0].Caps.Tools {
		t.Errorf("the server says %+v, %v; want a window of 2048 and tools", found, err)
	}
}

func TestNobodyThere(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	ln.Close()
	for provider, hint := range map[string]string{openai.ProviderOllama: "ollama serve", openai.ProviderLlamaCpp: "llama-server", "own": "base_url"} {
		c := client(t, "http://"+address, func(c *openai.Config) { c.Provider = provider })
		_, err := collect(t.Context(), c, request("hello"))
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Network || !strings.Contains(e.Message, "connection refused") || !strings.Contains(e.Hint, hint) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}
