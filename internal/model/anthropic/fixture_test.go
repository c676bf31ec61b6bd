package anthropic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"go.uber.org/goleak"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/anthropic"
)

var update = flag.Bool("update", false, "write what the fixtures give into them")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, config anthropic.Config) *anthropic.Client {
	t.Helper()
	if config.KeyName == "" {
		config.KeyName = "ANTHROPIC_API_KEY"
	}
	c, err := anthropic.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answer serves one fixture: a head of status and headers, then the body.
func answer(t testing.TB, head, body []byte) *httptest.Server {
	t.Helper()
	lines := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(bytes.Clone(head), '\n'))))
	first, err := lines.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	status, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for k, v := range header {
			w.Header()[k] = v
		}
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s
}

// meaning is a reply in lines, for comparing and reading.
func meaning(reply model.Reply, err error) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if reply.Reasoning != "" {
		line("reasoning %q", reply.Reasoning)
	}
	if reply.Text != "" {
		line("text %q", reply.Text)
	}
	for _, c := range reply.Done.Calls {
		line("call %s %s %s", c.ID, c.Name, c.Args)
		if c.Invalid != "" {
			line("  invalid: %s", c.Invalid)
		}
	}
	if reply.Done.Carry != nil {
		var c struct{ Blocks json.RawMessage }
		_ = json.Unmarshal(reply.Done.Carry, &c) // of our own making
		line("carry %s", c.Blocks)
	}
	var e *model.Error
	switch {
	case errors.As(err, &e):
		line("error %s status=%d retryAfter=%v retriable=%v", e.Kind, e.Status, e.RetryAfter, e.Retriable())
		line("  %s", e.Message)
		line("  %s", e.Hint)
	case err != nil:
		line("error %v", err)
	default:
		u := reply.Done.Usage
		line("finish %s", reply.Done.Finish)
		line("usage in=%d out=%d read=%d written=%d cost=%.6f reported=%v meta=%v", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.CostUSD, u.Reported, u.Meta)
	}
	return b.String()
}

func TestFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/replies/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil || len(a.Files) != 3 {
				t.Fatalf("want a head, a body and a want: %v", err)
			}
			server := answer(t, a.Files[0].Data, a.Files[1].Data)
			c := open(t, anthropic.Config{BaseURL: server.URL, APIKey: "sk-of-the-fixtures", Caps: func(string) model.Caps {
				return model.Caps{USDPerMIn: 2, USDPerMOut: 10, USDPerMCached: 0.1, USDPerMWrite: 2.5}
			}})
			reply, err := model.Collect("test", c.Stream(t.Context(), model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}}))
			got := strings.ReplaceAll(meaning(reply, err), strings.TrimPrefix(server.URL, "http://"), "HOST")
			if *update {
				a.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(a.Files[2].Data), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
