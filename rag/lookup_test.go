package rag

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The index may only save work: what it finds is what reading every file finds.
func TestReferencesEqualBruteForce(t *testing.T) {
	idents := []string{"ReadFile", "readFile", "read_file", "READ_FILE", "file", "File", "files", "x", "a_b", "_", "__init__", "größe", "v2", "HTTPServer", "parsing", "parsed", "2024", "i18n"}
	exts := []string{".go", ".py", ".ts", ".md", ".txt", ".c"}
	rapid.Check(t, func(rt *rapid.T) {
		src := newMemory(nil)
		for i := range rapid.IntRange(1, 5).Draw(rt, "files") {
			var b strings.Builder
			for range rapid.IntRange(0, 90).Draw(rt, "lines") {
				for range rapid.IntRange(0, 4).Draw(rt, "words") {
					b.WriteString(rapid.SampledFrom(idents).Draw(rt, "ident"))
					b.WriteString(rapid.SampledFrom([]string{" ", "(", ".", "\t", "-", "::", "x"}).Draw(rt, "sep"))
				}
				b.WriteString(rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "// "}).Draw(rt, "end"))
			}
			src.put(fmt.Sprintf("d/f%d%s", i, rapid.SampledFrom(exts).Draw(rt, "ext")), b.String())
		}
		x, err := Open("", src, Options{NoHistory: true})
		if err != nil {
			rt.Fatal(err)
		}
		defer x.Close()
		if err := x.Refresh(context.Background()); err != nil {
			rt.Fatal(err)
		}
		for _, id := range idents {
			got, cut, err := x.References(context.Background(), id, 1<<20)
			if err != nil || cut {
				rt.Fatal(err, cut)
			}
			var want []Location
			files, _ := src.Files(context.Background(), nil)
			for _, f := range files {
				text, _ := src.Read(f.Path)
				want = occurrences(want, f.Path, splitLines(text), id, 1<<20)
			}
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("%s (-brute force +index):\n%s", id, d)
			}
		}
	})
}

func TestDefinition(t *testing.T) {
	x := indexed(t, newMemory(shop))
	for name, want := range map[string]string{
		"AddItem": "cart/cart.go:7 method Cart", "Cart.AddItem": "cart/cart.go:7 method Cart", "Other.AddItem": "",
		"verify_token": "internal/auth/jwt.rs:2 func ", "verifyToken": "", "auth::verify_token": "",
		"total_amount": "billing/invoice.py:4 method Invoice", "Invoice": "billing/invoice.py:1 type ",
		"renderCheckout": "web/src/checkout.ts:3 func ", "deploy_all": "scripts/release.sh:3 func ", "nothing": "", "": "",
	} {
		got, err := x.Definition(name)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, s := range got {
			text += fmt.Sprintf("%s:%d %s %s", s.Path, s.StartLine, s.Kind, s.Container)
		}
		if text != want {
			t.Errorf("Definition(%q) = %q, want %q", name, text, want)
		}
	}
}

func TestReferencesAreCutAtTheLimit(t *testing.T) {
	x := indexed(t, newMemory(shop))
	got, cut, err := x.References(context.Background(), "Cart", 2)
	if err != nil || !cut || len(got) != 2 {
		t.Errorf("%d, cut %v, %v", len(got), cut, err)
	}
	if got[0].Path != "cart/cart.go" || got[0].Line != 3 || got[0].Col != 4 {
		t.Errorf("%+v", got[0])
	}
}

func TestSymbols(t *testing.T) {
	x := indexed(t, newMemory(shop))
	for query, want := range map[string]string{"cart": "Cart", "ai": "AddItem", "ADDITEM": "AddItem", "checkout": "renderCheckout", "zzz": "", "tota": "total_amount"} {
		got := x.Symbols(query, 1)
		name := ""
		if len(got) > 0 {
			name = got[0].Name
		}
		if name != want {
			t.Errorf("Symbols(%q) = %q, want %q", query, name, want)
		}
	}
	if n := len(x.Symbols("a", 3)); n > 3 {
		t.Errorf("%d symbols for a limit of 3", n)
	}
	if all := x.Symbols("t", 0); !slices.ContainsFunc(all, func(s Symbol) bool { return s.Name == "TestAddItem" }) {
		t.Errorf("%v", all)
	}
}
