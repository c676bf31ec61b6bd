package tools_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/agent-lsp/agent-lsp/tools"
)

func TestSyntax(t *testing.T) {
	wide := func(s string) string { // UTF-16 with its mark
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	for _, tc := range []struct {
		name, data string
		known      bool
		want       string // line:col of the first problem
		says       string
	}{
		{"a.go", "package a\r\n", true, "", ""},
		{"a.go", "\ufeffpackage a\n", true, "", ""},
		{"a.go", "package a\n\nfunc (\n", true, "3:7", "expected"},
		{"a.go", "", true, "1:1", "expected 'package'"},
		{"a.go", "package a\nvar x = \"日本\" 1\n", true, "2:14", "expected"},
		{"a.json", `{"a": [1, 2]}`, true, "", ""},
		{"a.json", "", true, "1:1", "unexpected end"},
		{"a.json", " \n", true, "1:2", "unexpected end"},
		{"a.json", "{\"a\": 1,}", true, "1:9", "invalid character '}'"},
		{"a.json", "{\n  \"a\": [1,\n", true, "2:11", "unexpected end"},
		{"a.json", "{} x", true, "1:4", "invalid character 'x'"},
		{"a.json", "{} {}", true, "1:4", "after top-level value"},
		{"a.json", wide("{\n1}"), true, "2:1", "invalid character '1'"},
		{"tsconfig.json", "{ // a comment\n}", false, "", ""},
		{"x/.vscode/extensions.json", "{ // a comment\n}", false, "", ""},
		{"a.toml", "a = 1\n", true, "", ""},
		{"a.toml", "a = 1\nb = \n", true, "2", ""},
		{"a.toml", "a = 1\na = 2\n", true, "2", ""},
		{"a.py", "def (", false, "", ""},
		{"a.go", "\x00\x01\x02", false, "", ""},
		{"a.go", strings.Repeat("x", 5<<20), false, "", ""},
	} {
		found, known := tools.Syntax(tc.name, []byte(tc.data))
		got, says := "", ""
		if len(found) > 0 {
			got, says = place(found[0]), found[0].Message
		}
		if known != tc.known || !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") || !strings.Contains(says, tc.says) {
			t.Errorf("%s %.40q: known %v, at %q: %q", tc.name, tc.data, known, got, says)
		}
	}
}

func place(d tools.Diagnostic) string {
	b, _ := json.Marshal([2]int{d.Line, d.Col})
	return strings.ReplaceAll(strings.Trim(string(b), "[]"), ",", ":")
}

// FuzzSyntax: it finds something exactly where the language's own judge does,
// and at a place that is in the file.
func FuzzSyntax(f *testing.F) {
	for _, s := range []string{"package a", "{}", "{\"a\":", "a = 1", "[x]\n[x]", "\ufeff{}", "func", "1 2", "\xff\xfe", "nul", "a = \"\\u12\""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range []string{"a.go", "a.json", "a.toml"} {
			found, known := tools.Syntax(name, []byte(s))
			for _, d := range found {
				if d.Line < 1 || d.Col < 1 || d.Line > strings.Count(s, "\n")+2 {
					t.Errorf("%s %q: %+v", name, s, d)
				}
			}
			if !known || strings.HasPrefix(s, "\ufeff") || strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
				continue
			}
			if _, err := parser.ParseFile(token.NewFileSet(), "", s, 0); name == "a.go" && err == nil && len(found) > 0 {
				t.Errorf("%q is Go, but %+v", s, found)
			}
			if name == "a.json" && json.Valid([]byte(s)) != (len(found) == 0) {
				t.Errorf("%q as JSON: %+v", s, found)
			}
		}
	})
}
