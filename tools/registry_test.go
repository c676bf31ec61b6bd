package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

// TestArgumentNames: the names that models and other programs rely on.
func TestArgumentNames(t *testing.T) {
	want := map[string]string{
		"bash": "command description? timeout?", "edit": "diff? edits? path", "find": "limit? path? pattern", "ls": "path?",
		"grep": "context? glob? ignoreCase? limit? path? pattern", "read": "limit? offset? path", "write": "content path",
		"search": "limit? query", "symbols": "limit? query", "references": "limit? name", "scratchpad": "grep? limit? offset? ref", "todo": "items",
	}
	for _, s := range tools.NewRegistry(tools.Builtin()...).Schemas(nil, false) {
		var schema jsonschema.Schema
		if err := json.Unmarshal(s.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if _, err := schema.Resolve(nil); err != nil || schema.Type != "object" {
			t.Errorf("%s: its schema is no schema of an object: %v", s.Name, err)
		}
		var names []string
		for name := range schema.Properties {
			if !slices.Contains(schema.Required, name) {
				name += "?"
			}
			names = append(names, name)
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != want[s.Name] {
			t.Errorf("%s takes %q, want %q", s.Name, got, want[s.Name])
		}
		if s.Description == "" || s.OutputMax == 0 || s.Category == "" || strings.Contains(string(s.Schema), `"null"`) {
			t.Errorf("%s: incomplete: %+v %s", s.Name, s, s.Schema)
		}
		delete(want, s.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestSchemas(t *testing.T) {
	reg := tools.NewRegistry(tools.Builtin()...)
	names := func(cs []tools.Category, planning bool) string {
		var out []string
		for _, s := range reg.Schemas(cs, planning) {
			out = append(out, s.Name)
		}
		return strings.Join(out, " ")
	}
	for _, tc := range []struct {
		cs       []tools.Category
		planning bool
		want     string
	}{
		{nil, false, "bash edit find grep ls read references scratchpad search symbols todo write"},
		{nil, true, "find grep ls read references scratchpad search symbols todo"},
		{[]tools.Category{tools.CategoryWrite, tools.CategoryShell}, false, "bash edit write"},
		{[]tools.Category{tools.CategoryWrite, tools.CategoryShell}, true, ""},
		{[]tools.Category{tools.CategoryRead}, true, "find grep ls read"},
		{[]tools.Category{tools.CategoryWeb}, false, ""},
	} {
		if got := names(tc.cs, tc.planning); got != tc.want {
			t.Errorf("%v planning=%v: %s, want %s", tc.cs, tc.planning, got, tc.want)
		}
	}
	var total int
	for _, s := range reg.Schemas(nil, false) {
		total += len(s.Schema) + len(s.Description)
	}
	if total > 9000 {
		t.Errorf("schemas and descriptions have %d bytes together", total)
	}
}

type odd struct {
	name string
	run  func(context.Context) tools.Result
}

func (o odd) Spec() tools.Spec {
	return tools.Spec{Name: o.name, Timeout: 20 * time.Millisecond}
}
func (o odd) Title(json.RawMessage) string { panic("no title") }
func (o odd) Run(ctx context.Context, _ tools.Env, _ json.RawMessage) tools.Result {
	return o.run(ctx)
}

func TestRegistrySurvives(t *testing.T) {
	reg := tools.NewRegistry(
		odd{"panics", func(context.Context) tools.Result { panic("boom") }},
		odd{"slow", func(ctx context.Context) tools.Result {
			<-ctx.Done()
			return tools.Result{Status: tools.StatusCancelled}
		}},
	)
	if r := reg.Run(context.Background(), tools.Env{}, "panics", nil); r.Status != tools.StatusError || !strings.Contains(r.Text, "boom") {
		t.Errorf("a panic became %+v", r)
	}
	if r := reg.Run(context.Background(), tools.Env{}, "slow", nil); r.Status != tools.StatusError || !strings.Contains(r.Text, "not done within") {
		t.Errorf("a time limit became %+v", r)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := reg.Run(ctx, tools.Env{}, "slow", nil); r.Status != tools.StatusCancelled {
		t.Errorf("a cancel became %+v", r)
	}
	if reg.Title("panics", json.RawMessage(`{"a":1}`)) != `{"a":1}` {
		t.Error("a title that panics")
	}
	if err := reg.Add(odd{name: "slow"}); err == nil {
		t.Error("two tools of one name")
	}
	reg.Remove("slow")
	if _, ok := reg.Get("slow"); ok {
		t.Error("removed and still there")
	}
	for i := range tools.ToolsMax + 1 {
		if err := reg.Add(odd{name: fmt.Sprint("t", i)}); err != nil && i < tools.ToolsMax-1 {
			t.Fatalf("tool %d: %v", i, err)
		} else if err == nil && i == tools.ToolsMax {
			t.Error("more tools than the limit")
		}
	}
}

// FuzzArguments: whatever a model sends, every tool answers.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `[]`, `{"path":"a"}`, `{"path":{"x":1}}`, `{"edits":[{"oldText":null}]}`, `{"items":[3]}`, "\xff", `{"offset":1e99}`, `null`, `{"path":"a","limit":9223372036854775807,"offset":9223372036854775807}`} {
		f.Add(s)
	}
	reg := tools.NewRegistry(tools.Builtin()...)
	f.Fuzz(func(t *testing.T, args string) {
		env := tools.Env{Root: "/ws", Files: toolstest.New(map[string]string{"a": "one\ntwo\n"}), Search: index{}, Archive: toolstest.Archive{"r": "x\n"}}
		for _, tool := range reg.All() {
			name := tool.Spec().Name
			r := reg.Run(context.Background(), env, name, json.RawMessage(args))
			if r.Status == "" || r.Text == "" || strings.Contains(r.Text, "a fault in the tool") {
				t.Errorf("%s %q: %+v", name, args, r)
			}
			if title := reg.Title(name, json.RawMessage(args)); strings.ContainsAny(title, "\n\r") || len(title) > 200 {
				t.Errorf("%s %q: title %q", name, args, title)
			}
		}
	})
}

func TestSeenForgetsTheOldest(t *testing.T) {
	s := tools.NewSeen()
	half := make([]byte, tools.SeenBytesMax/2)
	s.Saw("a", half)
	s.Saw("b", half)
	s.Saw("a", half)
	s.Saw("c", []byte("x"))
	if _, ok := s.Last("b"); ok {
		t.Error("b is the oldest and still there")
	}
	for _, p := range []string{"a", "c"} {
		if _, ok := s.Last(p); !ok {
			t.Errorf("%s is forgotten", p)
		}
	}
	var none *tools.Seen
	none.Saw("a", nil)
	if _, ok := none.Last("a"); ok {
		t.Error("nil remembers")
	}
}

func TestCleanEnvironment(t *testing.T) {
	got := tools.CleanEnvironment([]string{
		"PATH=/bin", "HOME=/home/me", "GOPATH=/go", "GOPRIVATE=x.example", "LANG=C", "KEYBOARD=de", "MONKEY=1", "AUTHOR=me", "TOKENIZER=bpe", "PASSAGE=x",
		"ANTHROPIC_API_KEY=1", "OPENAI_BASE_URL=http://x", "GITHUB_TOKEN=1", "MY_SECRET=1", "DB_PASSWORD=1", "aws_secret_access_key=1", "AWS_PROFILE=x", "SSH_AUTH_SOCK=/x",
		"HARMLESS=sk-ant-abcdefgh1234", "DATABASE_URL=postgres://me:pw@db/x", "X=ghp_abcdefghijklmnop1234", "KNOWN=prefix-hunter2-suffix", "LD_PRELOAD=/x.so", "BASH_ENV=/x", "ENV=/x",
		"BASH_FUNC_ls%%=() { :; }", "DBUS_SESSION_BUS_ADDRESS=x", "XDG_RUNTIME_DIR=/run/x", "NPM_TOKEN=1", "npm_config__auth=1", "broken", "=x", "APIKEY=1", "SERVICE_APIKEY_2=1", "GPG_TTY=1",
	}, []string{"hunter2", "x"})
	joined := "\n" + strings.Join(got, "\n") + "\n"
	for _, keep := range []string{"PATH=/bin", "HOME=/home/me", "GOPATH=/go", "GOPRIVATE=x.example", "LANG=C", "KEYBOARD=de", "MONKEY=1", "AUTHOR=me", "TOKENIZER=bpe", "PASSAGE=x", "GIT_TERMINAL_PROMPT=0", "TERM=dumb"} {
		if !strings.Contains(joined, "\n"+keep+"\n") {
			t.Errorf("%s is gone", keep)
		}
	}
	for _, gone := range []string{"API_KEY", "OPENAI", "TOKEN=", "SECRET", "PASSWORD", "secret", "AWS", "SSH_", "sk-ant", "pw@", "ghp_", "hunter2", "LD_PRELOAD", "BASH_ENV", "\nENV=", "BASH_FUNC", "DBUS", "XDG_RUNTIME", "_auth", "broken", "APIKEY", "GPG"} {
		if strings.Contains(joined, gone) {
			t.Errorf("%s is still there in %s", gone, joined)
		}
	}
	if !slices.IsSorted(got) {
		t.Error("not sorted")
	}
}
