package tools_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

var update = flag.Bool("update", false, "rewrite the results in testdata")

// TestDialogues runs testdata/*.txtar. An archive is a tree of files, calls
// (a file "call" with lines `tool {arguments}`; `unsaved PATH TEXT` types into
// a buffer as the person would), and what came of them: "result" with the text
// for the model, and "after/PATH" for each file that changed. A new behaviour
// is a new file; -update writes what is found.
func TestDialogues(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dialogues: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			dialogue(t, file)
		})
	}
}

func dialogue(t *testing.T, file string) {
	arc, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]string{}
	want := map[string]string{}
	var calls string
	kept := arc.Files[:0:0]
	for _, f := range arc.Files {
		data := unquote(f.Data)
		switch {
		case f.Name == "call":
			calls = data
			kept = append(kept, f)
		case f.Name == "result" || strings.HasPrefix(f.Name, "after/"):
			want[f.Name] = string(f.Data)
		default:
			tree[f.Name] = data
			kept = append(kept, f)
		}
	}
	files := toolstest.New(tree)
	got := map[string]string{"result": run(t, files, calls)}
	for _, p := range files.Paths() {
		if s, _ := files.Content(p); s != tree[p] {
			got["after/"+p] = quote(s)
		}
	}
	for p := range tree {
		if _, ok := files.Content(p); !ok {
			got["after/"+p] = "(gone)\n"
		}
	}
	if *update {
		arc.Files = kept
		for _, name := range append([]string{"result"}, sortedAfter(got)...) {
			arc.Files = append(arc.Files, txtar.File{Name: name, Data: []byte(got[name])})
		}
		if err := os.WriteFile(file, txtar.Format(arc), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got; if right, run with -update):\n%s", file, diff)
	}
}

func run(t *testing.T, files *toolstest.Files, calls string) string {
	reg := tools.NewRegistry(tools.Builtin()...)
	env := tools.Env{Root: "/ws", Roots: []string{"/ws"}, CallID: "c1", Files: files, Seen: tools.NewSeen(),
		Archive: toolstest.Archive{"ref:1": "alpha\nbeta\ngamma\n"}, Search: index{},
		Shell: toolstest.Shell(func(_ context.Context, c tools.Command) (tools.CommandResult, error) {
			return tools.CommandResult{Output: c.Line + "\n", ExitCode: len(c.Line) % 2, Sandboxed: true, Note: "a note"}, nil
		})}
	var b strings.Builder
	for line := range strings.Lines(calls) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "unsaved "); ok {
			p, text, _ := strings.Cut(rest, " ")
			files.Set(p, strings.ReplaceAll(text, `\n`, "\n"), true)
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		res := reg.Run(context.Background(), env, name, json.RawMessage(args))
		detail, err := json.Marshal(res.Detail)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "$ %s %s\n%s%s %s", name, reg.Title(name, json.RawMessage(args)), ensureNewline(res.Text), res.Status, detail)
		for _, m := range res.Media {
			fmt.Fprintf(&b, " media=%s:%d", m.MIME, len(m.Data))
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

// quote and unquote write what a text file can't show: CR, NUL, no newline at
// the end.
func quote(s string) string {
	s = strings.NewReplacer("\r", "␍", "\x00", "␀", "\ufeff", "␟").Replace(s)
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "⏎\n"
	}
	return s
}

func unquote(b []byte) string {
	s := strings.NewReplacer("␍", "\r", "␀", "\x00", "␟", "\ufeff").Replace(string(b))
	return strings.TrimSuffix(strings.ReplaceAll(s, "⏎\n", "⏎"), "⏎")
}

func ensureNewline(s string) string {
	if s != "" && !strings.HasSuffix(s, "\n") {
		return s + "\n"
	}
	return s
}

func sortedAfter(m map[string]string) []string {
	var names []string
	for n := range m {
		if n != "result" {
			names = append(names, n)
		}
	}
	for i := range names {
		for j := i; j > 0 && names[j] < names[j-1]; j-- {
			names[j], names[j-1] = names[j-1], names[j]
		}
	}
	return names
}

// index is a fake of the workspace's index with one file in it.
type index struct{}

func (index) Search(_ context.Context, q string, _ int) ([]tools.Hit, string, error) {
	if q == "nothing" {
		return nil, "rs_0", nil
	}
	return []tools.Hit{{Path: "a.go", StartLine: 3, EndLine: 4, Symbol: "Foo", Why: "bm25 #1", Text: "func Foo() {\n}\n"}}, "rs_1", nil
}

func (index) Symbols(_ context.Context, q string, _ int) ([]tools.Location, error) {
	return []tools.Location{{Path: "a.go", Line: 3, Col: 6, Text: "func " + q + "() {", Kind: "func"}}, nil
}

func (index) Definitions(_ context.Context, name string) ([]tools.Location, error) {
	return []tools.Location{{Path: "a.go", Line: 3, Col: 6, Text: "func " + name + "() {"}}, nil
}

func (index) References(_ context.Context, name string, _ int) ([]tools.Location, error) {
	return []tools.Location{{Path: "a.go", Line: 3, Col: 6, Text: "func " + name + "() {"},
		{Path: "b.go", Line: 9, Col: 2, Text: "\t" + name + "()", Kind: "reference", Symbol: "main"}}, nil
}
