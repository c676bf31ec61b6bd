package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

func TestFetch(t *testing.T) {
	mux := http.NewServeMux()
	page := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			fmt.Fprint(w, body)
		})
	}
	page("/page", "text/html; charset=utf-8", "<html><head><title>T</title></head><body><h1>Head&amp;line</h1><script>alert('x</p>')</script><p>one <b>two</b>\nthree<ul><li>a<li>b</ul><pre>x\n  y</pre> 1 < 2</body>")
	page("/text", "text/plain", "plain\n")
	page("/json", "application/json", `{"a":1}`)
	page("/bin", "application/octet-stream", "\x00\x01")
	page("/big", "text/plain", strings.Repeat("x", 5<<20))
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such page", http.StatusNotFound) })
	mux.HandleFunc("/near", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/text", http.StatusFound) })
	mux.HandleFunc("/far", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.example/x", http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	open, shut := tools.NewRegistry(tools.Fetch(tools.FetchOptions{Private: true})), tools.NewRegistry(tools.Fetch(tools.FetchOptions{}))
	get := func(reg *tools.Registry, url string) tools.Result {
		args, err := json.Marshal(map[string]string{"url": url})
		if err != nil {
			t.Fatal(err)
		}
		return reg.Run(context.Background(), tools.Env{}, "fetch", args)
	}
	for path, want := range map[string]string{
		"/page": "# Head&line\n\none two three\n\n- a\n- b\n\nx\n  y\n 1 < 2\n", "/text": "plain\n", "/json": `{"a":1}`, "/near": "plain\n",
		"/gone": "no such page", "/far": "redirects to http://elsewhere.example/x", "/loop": "more than 5 redirects", "/bin": "isn't text", "/big": "[cut after 4.0 MB]",
	} {
		r := get(open, srv.URL+path)
		if !strings.Contains(r.Text, want) || (r.Status == tools.StatusOK) != !strings.Contains("/gone/far/loop/bin", path) {
			t.Errorf("%s: %s %.300q", path, r.Status, r.Text)
		}
	}
	for _, url := range []string{srv.URL + "/text", "http://localhost:1/", "http://[::1]:1/", "http://169.254.169.254/latest", "http://10.0.0.1/", "http://0.0.0.0:1/", "http://[::ffff:127.0.0.1]:1/"} {
		if r := get(shut, url); r.Status != tools.StatusError || !strings.Contains(r.Text, "local network") {
			t.Errorf("%s: %+v", url, r)
		}
	}
	for _, url := range []string{"", "x", "file:///etc/passwd", "ftp://x/", "http://me:pw@x/", "http://", "javascript:1"} {
		if r := get(open, url); r.Detail.Summary != "bad arguments" {
			t.Errorf("%s: %+v", url, r)
		}
	}
	req := tools.NewRequest(tools.Fetch(tools.FetchOptions{}).Spec(), []byte(`{"url":"https://docs.example/a?b"}`), nil)
	d := tools.Decide(policy(t), req)
	if d.Verdict != tools.Ask || strings.Join(d.Suggest, "") != "fetch(docs.example) = allow" {
		t.Errorf("permission: %+v", d)
	}
	if d := tools.Decide(policy(t, "fetch(*.example) = allow"), req); d.Verdict != tools.Allow {
		t.Errorf("permission by rule: %+v", d)
	}
}

type rim struct{ err error }

func (r rim) Diagnostics(_ context.Context, path string) ([]tools.Diagnostic, error) {
	if path == "clean" {
		return nil, r.err
	}
	return []tools.Diagnostic{{Path: "b.go", Line: 2, Col: 1, Severity: "warning", Message: "unused"},
		{Path: "a.go", Line: 9, Col: 3, Severity: "error", Message: "undefined:\nx", Source: "gopls"}}, r.err
}

func (r rim) Task(_ context.Context, _ tools.Env, title, prompt string) (string, error) {
	return title + ": " + prompt, r.err
}

func TestConnectedTools(t *testing.T) {
	good := tools.NewRegistry(tools.Diagnostics(rim{}), tools.Task(rim{}))
	bad := tools.NewRegistry(tools.Diagnostics(rim{errors.New("no editor")}), tools.Task(rim{errors.New("no model")}))
	files := toolstest.New(map[string]string{"a.go": "package a\nvar äX = []int{1\n}\n", "ok.json": "{}\n", "x.py": "(\n"})
	for _, tc := range []struct {
		reg              *tools.Registry
		tool, args, want string
	}{
		{good, "diagnostics", `{}`, "a.go:9:3 error: undefined: x [gopls]\nb.go:2:1 warning: unused\n"},
		{good, "diagnostics", `{"path":"clean"}`, "no problems are reported\n"},
		{bad, "diagnostics", `{"path":"x.py"}`, "diagnostics: no editor. There is no parser here for x.py either (only for Go, JSON and TOML)."},
		{bad, "diagnostics", `{"path":"gone.go"}`, "diagnostics: gone.go: not found"},
		{bad, "diagnostics", `{"path":"ok.json"}`, "no syntax errors\n[no editor. This is a check of the syntax alone, by our own parsers: 1 file of JSON]\n"},
		{bad, "diagnostics", `{}`, "a.go:2:17 error: missing ',' before newline in composite literal [syntax]\n" +
			"[no editor. This is a check of the syntax alone, by our own parsers: 1 file of Go, 1 file of JSON; not checked, for want of a parser: x.py]\n"},
		{good, "task", `{"title":"t","prompt":"p"}`, "t: p"},
		{good, "task", `{"title":"t","prompt":" "}`, "task: prompt must have 1 to 16384 bytes"},
		{bad, "task", `{"title":"t","prompt":"p"}`, "task: no model"},
	} {
		if r := tc.reg.Run(context.Background(), tools.Env{Files: files}, tc.tool, json.RawMessage(tc.args)); r.Text != tc.want {
			t.Errorf("%s %s: got %q, want %q", tc.tool, tc.args, r.Text, tc.want)
		}
	}
}
