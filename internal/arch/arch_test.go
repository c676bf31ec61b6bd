package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/agent-lsp/agent-lsp/"

// layers says what each package of ours may import of ours. A package that is
// not here fails the test: it needs a place first. A name that ends in /...
// stands for all below it.
var layers = map[string][]string{
	// 5: the only place where concrete parts meet
	"cmd/agent-lsp": {"..."},
	// 4: doors
	"rpc":              {"rpc/protocol", "agent", "cycle", "contextplan", "rag", "internal/text", "internal/frame"}, // artifacts travel as they are
	"rpc/protocol":     {"agent", "cycle", "contextplan", "rag"},
	"rpc/protocol/gen": {"rpc/protocol", "agent", "cycle", "contextplan", "rag"},
	// 3: the driver
	"agent":       {"agent/edits", "cycle", "cycle/run", "contextplan", "rag", "tools", "internal/model", "internal/store", "internal/workspace", "internal/text", "internal/bug"},
	"agent/edits": {"cycle", "cycle/review", "tools", "internal/workspace", "internal/text", "internal/bug"},
	// 2: the world, in parts that don't know each other
	"rag":                      {"internal/text", "internal/bug"},
	"tools":                    {"internal/text", "internal/bug"},
	"tools/mcp":                {"tools", "internal/text", "internal/bug"},
	"internal/model":           {},
	"internal/model/builtin":   {"internal/model"},
	"internal/model/wire":      {"internal/model"},
	"internal/model/openai":    {"internal/model", "internal/model/wire"},
	"internal/model/anthropic": {"internal/model", "internal/model/wire"},
	"internal/model/catalog":   {"internal/model", "internal/model/builtin", "internal/model/openai", "internal/model/anthropic"},
	"internal/store":           {"cycle"},
	"internal/workspace":       {"internal/text", "internal/bug"},
	"internal/config":          {},
	"internal/guidance":        {},
	// 1: pure
	"cycle":        {"cycle/review", "internal/text"},
	"cycle/run":    {"cycle", "internal/text"},
	"cycle/review": {"internal/text"},
	"contextplan":  {"internal/text"},
	// 0
	"internal/share": {"internal/text", "internal/frame"},
	"internal/frame": {},
	"internal/text":  {},
	"internal/bug":   {},
	// for tests only
	"internal/arch":         {},
	"internal/testenv":      {},
	"internal/llmtest":      {"internal/testenv"},
	"internal/llmtest/...":  {"internal/llmtest", "internal/testenv"},
	"internal/fakeeditor":   {"rpc", "rpc/protocol", "agent", "cycle", "internal/text"},
	"tools/toolstest":       {"tools"},
	"agent/edits/editstest": {"agent/edits", "internal/text", "internal/workspace", "cycle", "cycle/review"},
	"bench/...":             {"..."},
}

// pure packages decide; they may not see the world. time's types are fine, its
// clock is not.
var pure = []string{"cycle", "cycle/run", "cycle/review", "contextplan", "internal/text"}

var impure = []string{"context", "os", "net", "net/http", "io", "sync", "math/rand", "math/rand/v2", "os/exec", "log", "log/slog"}

var clocks = []string{"Now", "Since", "Until", "After", "Tick", "NewTimer", "NewTicker", "Sleep", "AfterFunc"}

// TestLayers holds the imports of every file that is no test against the
// table. It parses the files itself, so that the test cache sees every change.
func TestLayers(t *testing.T) {
	for dir, files := range sources(t) {
		allowed, known := allowedFor(dir)
		if !known {
			t.Errorf("%s has no place in the layers: add it to the table with what it may import", dir)
			continue
		}
		for _, f := range files {
			for _, spec := range f.Imports {
				path := strings.Trim(spec.Path.Value, `"`)
				rest, ours := strings.CutPrefix(path, module)
				if ours && !slices.Contains(allowed, "...") && !slices.Contains(allowed, rest) {
					t.Errorf("%s imports %s, which its layer may not", dir, rest)
				}
				if slices.Contains(pure, dir) && slices.Contains(impure, path) {
					t.Errorf("%s is pure and imports %s", dir, path)
				}
			}
		}
	}
}

func allowedFor(dir string) ([]string, bool) {
	if a, ok := layers[dir]; ok {
		return a, true
	}
	for name, a := range layers {
		if root, all := strings.CutSuffix(name, "/..."); all && strings.HasPrefix(dir, root+"/") {
			return a, true
		}
	}
	return nil, false
}

// TestPureHasNoClock looks for calls of the clock in the pure packages.
func TestPureHasNoClock(t *testing.T) {
	all := sources(t)
	for _, dir := range pure {
		for _, f := range all[dir] {
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, sel.Sel.Name) {
					t.Errorf("%s uses time.%s: times come in as values", dir, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestPackagesAreDocumented wants a package comment everywhere.
func TestPackagesAreDocumented(t *testing.T) {
	for dir, files := range sources(t) {
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return f.Doc != nil }) {
			t.Errorf("%s has no package comment: say what it does and what it doesn't", dir)
		}
	}
}

// TestTopLevel holds the repository's top level.
func TestTopLevel(t *testing.T) {
	want := []string{"agent", "bench", "cmd", "contextplan", "cycle", "docs", "editors", "internal", "rag", "rpc", "tools",
		"Makefile", "README.md", "CHANGELOG.md", "LICENSE", "go.mod", "go.sum", "bin", "node_modules"}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(want, e.Name()) {
			t.Errorf("%s does not belong at the top level", e.Name())
		}
	}
}

// sources parses every Go file of the module that is no test, by folder.
func sources(t *testing.T) map[string][]*ast.File {
	t.Helper()
	out := map[string][]*ast.File{}
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ParseComments)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(p))
		out[dir] = append(out[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
