package openai_test

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
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

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/openai"
)

var update = flag.Bool("update", false, "write what the fixtures give into them")

// fixture is one answer of a server, and what it means.
type fixture struct {
	provider string
	status   int
	header   textproto.MIMEHeader
	body     []byte
	want     string
}

func readFixture(t testing.TB, file string) (fixture, *txtar.Archive) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	first, _, _ := strings.Cut(string(a.Comment), "\n")
	provider, ok := strings.CutPrefix(first, "provider: ")
	if !ok || len(a.Files) != 3 {
		t.Fatalf("%s: want a provider, a head, a body and a want", file)
	}
	f.provider = provider
	head := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(a.Files[0].Data, '\n'))))
	line, err := head.ReadLine()
	if err != nil {
		t.Fatal(err)
	}
	if f.status, err = strconv.Atoi(line); err != nil {
		t.Fatal(err)
	}
	if f.header, err = head.ReadMIMEHeader(); err != nil {
		t.Fatal(err)
	}
	f.body = a.Files[1].Data
	if before, cut := bytes.CutSuffix(f.body, []byte("\\\n")); cut { // the body ends without a line end
		f.body = before
	}
	f.want = string(a.Files[2].Data)
	return f, a
}

// ServeHTTP answers every request with the fixture.
func (f fixture) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/show" {
		_, _ = io.WriteString(w, `{"capabilities":["completion","tools"],"model_info":{"general.architecture":"q","q.context_length":8192}}`)
		return
	}
	for k, v := range f.header {
		w.Header()[k] = v
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(f.body)
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
		line("call %s %s", c.Name, c.Args)
		if c.Invalid != "" {
			line("  invalid: %s", c.Invalid)
		}
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
		line("usage in=%d out=%d cached=%d reported=%v meta=%v", u.Input, u.Output, u.CacheRead, u.Reported, u.Meta)
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
			f, archive := readFixture(t, file)
			server := httptest.NewServer(f)
			defer server.Close()
			c := client(t, server.URL, func(c *openai.Config) { c.Provider = f.provider; c.APIKey = "sk-of-the-fixtures" })
			reply, err := collect(t.Context(), c, model.Request{Model: "m", Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}})
			withoutIDs(t, reply.Done.Calls)
			got := strings.ReplaceAll(meaning(reply, err), strings.TrimPrefix(server.URL, "http://"), "HOST")
			if *update {
				archive.Files[2].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(f.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}
