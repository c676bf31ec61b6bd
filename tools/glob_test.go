package tools_test

import (
	"path"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/tools"
)

func TestGlob(t *testing.T) {
	for _, tc := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go", "x/y/a.go", ".go"}, []string{"a.goo", "a.go/x"}},
		{"/*.go", []string{"a.go"}, []string{"x/a.go"}},
		{"src/*.go", []string{"src/a.go"}, []string{"src/x/a.go", "y/src/a.go"}},
		{"src/**/*.go", []string{"src/a.go", "src/x/a.go", "src/x/y/a.go"}, []string{"a.go", "src/a.ts"}},
		{"**/test/**", []string{"test/a", "x/test/a/b"}, []string{"test", "x/test", "tests/a"}},
		{"**", []string{"a", "a/b"}, nil},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "ab/c"}},
		{"dir/", []string{"dir/a", "dir/a/b"}, []string{"dir", "x/dir/a"}},
		{"*.{ts,tsx}", []string{"a.ts", "x/a.tsx"}, []string{"a.t", "a.tsxx"}},
		{"{a,b/{c,d}}/x", []string{"a/x", "b/c/x", "b/d/x"}, []string{"b/x", "c/x"}},
		{"[a-c]?.[!x]", []string{"aé.y", "b1.z"}, []string{"d1.y", "a1.x", "a.y"}},
		{`\*\{x`, []string{"*{x"}, []string{"a{x"}},
		{"[]]", []string{"]"}, []string{"a"}},
		{"*a*b*c", []string{"xaybzc", "abc"}, []string{"acb"}},
		{"ü*", []string{"übung"}, []string{"ubung"}},
	} {
		g, err := tools.CompileGlob(tc.pattern)
		if err != nil {
			t.Errorf("%s: %v", tc.pattern, err)
			continue
		}
		for _, p := range tc.yes {
			if !g.Match(p) {
				t.Errorf("%s doesn't fit %s", tc.pattern, p)
			}
		}
		for _, p := range tc.no {
			if g.Match(p) {
				t.Errorf("%s fits %s", tc.pattern, p)
			}
		}
	}
	for _, bad := range []string{"", "[", "a[", "{a", `a\`, "[!", strings.Repeat("{a,b}", 20), strings.Repeat("x", 2000)} {
		if _, err := tools.CompileGlob(bad); err == nil {
			t.Errorf("%q was taken", bad[:min(len(bad), 20)])
		}
	}
}

// TestGlobIsNotExponential: the pattern that hangs naive matchers.
func TestGlobIsNotExponential(t *testing.T) {
	g, err := tools.CompileGlob(strings.Repeat("**/*a*/", 50) + "x")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if g.Match(strings.Repeat("aaaaaaaaaaaaaaaaaaaa/", 200) + "y") {
		t.Error("it fits")
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
}

// FuzzGlob: never a panic, and within one segment the same as path.Match where
// the two languages are the same.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*.go", "[a-c]", "a?b", "**/x", "{a,b}", `\*`, "[!a]"} {
		f.Add(s, "a.go")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		g, err := tools.CompileGlob(pattern)
		if err != nil {
			return
		}
		got := g.Match(name)
		if strings.ContainsAny(pattern, `/{}[]\`) || strings.Contains(pattern, "**") || strings.Contains(name, "/") || name == "" {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q and %q: %v, path.Match says %v", pattern, name, got, want)
		}
	})
}
