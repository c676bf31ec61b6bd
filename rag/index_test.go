package rag

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var shop = map[string]string{
	"cart/cart.go":         "package cart\n\n// Cart holds what a customer wants to buy.\ntype Cart struct{ Lines []Line }\n\n// AddItem puts an item into the cart.\nfunc (c *Cart) AddItem(sku string) {\n\tc.Lines = append(c.Lines, Line{sku})\n}\n\ntype Line struct{ SKU string }\n",
	"cart/cart_test.go":    "package cart\n\nimport \"testing\"\n\nfunc TestAddItem(t *testing.T) {\n\tvar c Cart\n\tc.AddItem(\"x\")\n}\n",
	"billing/invoice.py":   "class Invoice:\n    \"\"\"What a customer owes.\"\"\"\n\n    def total_amount(self):\n        return sum(l.price for l in self.lines)\n",
	"web/src/checkout.ts":  "import { Cart } from './cart'\n\nexport function renderCheckout(cart: Cart) {\n  return cart.lines.map(l => l.sku)\n}\n",
	"README.md":            "# Shop\n\nA cart, an invoice and a checkout page.\n",
	"scripts/release.sh":   "#!/bin/sh\nset -e\ndeploy_all() {\n  echo deploying\n}\ndeploy_all\n",
	"internal/empty.go":    "",
	"internal/blob.txt":    "binary\x00cart cart cart invoice",
	"internal/auth/jwt.rs": "/// Checks a token's signature.\npub fn verify_token(token: &str) -> bool {\n    !token.is_empty()\n}\n",
}

func TestSearchFindsAndExplains(t *testing.T) {
	x := indexed(t, newMemory(shop))
	s := search(t, x, "total amount of an invoice is wrong")
	if len(s.Items) == 0 || s.Items[0].Path != "billing/invoice.py" {
		t.Fatalf("found %v", itemPaths(s))
	}
	it := s.Items[0]
	if it.Symbol != "Invoice.total_amount" && it.Symbol != "Invoice" {
		t.Errorf("symbol %q", it.Symbol)
	}
	if len(it.Why) == 0 || it.Why[0].Rank != 1 || it.ContentHash == "" || it.Generation == 0 || len(it.NodeIDs) == 0 {
		t.Errorf("no reasons or provenance: %+v", it)
	}
	if s.State != SetReady || !strings.HasPrefix(s.RetrievalSetID, "rs-") {
		t.Errorf("state %q id %q", s.State, s.RetrievalSetID)
	}
	for _, it := range s.Items {
		if it.StartLine < 1 || it.EndLine < it.StartLine {
			t.Errorf("%s:%d-%d", it.Path, it.StartLine, it.EndLine)
		}
		if it.Path == "internal/blob.txt" {
			t.Error("a binary file was found")
		}
	}
}

// The same files give the same set with the same id, in whatever order and in however
// many batches they were indexed, and whatever was there before.
func TestSameStateSameSet(t *testing.T) {
	a := indexed(t, newMemory(shop))
	src := newMemory(map[string]string{"gone.go": "package gone // cart invoice total"})
	b := indexed(t, src)
	for _, p := range []string{"web/src/checkout.ts", "README.md", "internal/auth/jwt.rs", "cart/cart_test.go", "scripts/release.sh",
		"internal/empty.go", "billing/invoice.py", "cart/cart.go", "internal/blob.txt"} {
		src.put(p, "first something else about carts and invoices\n")
		if err := b.Update(context.Background(), []string{p}); err != nil {
			t.Fatal(err)
		}
		src.put(p, shop[p])
		if err := b.Update(context.Background(), []string{p}); err != nil {
			t.Fatal(err)
		}
	}
	src.remove("gone.go")
	if err := b.Update(context.Background(), []string{"gone.go"}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{"cart", "add an item to the cart", "verify token signature", "deploy release", "invoice total", ""} {
		sa, sb := search(t, a, q), search(t, b, q)
		if sa.RetrievalSetID != sb.RetrievalSetID {
			t.Errorf("%q: %v and %v", q, itemPaths(sa), itemPaths(sb))
		}
		if again := search(t, a, q); again.RetrievalSetID != sa.RetrievalSetID {
			t.Errorf("%q: the same index answers twice differently", q)
		}
	}
}

func TestUpdateIsSearchableWhenItReturns(t *testing.T) {
	src := newMemory(shop)
	x := indexed(t, src)
	gen := x.Status().Generation
	src.put("cart/discount.go", "package cart\n\nfunc ApplyVoucher(code string) {}\n")
	if err := x.Update(context.Background(), []string{"cart/discount.go"}); err != nil {
		t.Fatal(err)
	}
	if s := search(t, x, "apply voucher"); len(s.Items) == 0 || s.Items[0].Path != "cart/discount.go" {
		t.Fatalf("found %v", itemPaths(s))
	}
	if x.Status().Generation <= gen {
		t.Error("the generation did not grow")
	}
	src.remove("cart/discount.go")
	if err := x.Update(context.Background(), []string{"cart/discount.go"}); err != nil {
		t.Fatal(err)
	}
	for _, it := range search(t, x, "apply voucher").Items {
		if it.Path == "cart/discount.go" {
			t.Error("a removed file is still found")
		}
	}
	for p := range shop {
		if strings.HasPrefix(p, "internal/") {
			src.remove(p)
		}
	}
	if err := x.Update(context.Background(), []string{"internal"}); err != nil {
		t.Fatal(err)
	}
	for _, it := range search(t, x, "verify token").Items {
		if strings.HasPrefix(it.Path, "internal/") {
			t.Error("a removed folder is still found")
		}
	}
}

func TestReopenIndexesOnlyWhatChanged(t *testing.T) {
	src, dir := newMemory(shop), t.TempDir()
	x := openIndex(t, dir, src)
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := search(t, x, "add item cart").RetrievalSetID
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	var totals []int
	y, err := Open(dir, src, Options{OnStatus: func(s Status) { totals = append(totals, s.Total) }})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if got := search(t, y, "add item cart"); got.RetrievalSetID != want {
		t.Errorf("before the refresh %v", itemPaths(got))
	}
	src.put("README.md", "# Shop\n\nNow with vouchers.\n")
	for p := range shop {
		src.fail[p] = p != "README.md" // reading any other would be noticed
	}
	if err := y.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, n := range totals {
		if n > 1 {
			t.Errorf("%d files were indexed again", n)
		}
	}
	if s := search(t, y, "vouchers"); len(s.Items) == 0 || s.Items[0].Path != "README.md" {
		t.Errorf("found %v", itemPaths(s))
	}
}

func TestDamagedIndexIsRebuilt(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"store cut":   func(d string) error { return os.Truncate(filepath.Join(d, engineName, "store", "root.bolt"), 100) },
		"meta empty":  func(d string) error { return os.Truncate(filepath.Join(d, engineName, "index_meta.json"), 0) },
		"engine gone": func(d string) error { return os.RemoveAll(filepath.Join(d, engineName)) },
		"another format": func(d string) error {
			return os.WriteFile(filepath.Join(d, manifestName), []byte("agent-lsp rag manifest 0\n....."), 0o600)
		},
		"manifest is junk": func(d string) error { return os.WriteFile(filepath.Join(d, manifestName), []byte("junk"), 0o600) },
		"history is junk":  func(d string) error { return os.WriteFile(filepath.Join(d, historyName), []byte("junk"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			src, dir := newMemory(shop), t.TempDir()
			x := openIndex(t, dir, src)
			if err := x.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			y := openIndex(t, dir, src)
			if name != "history is junk" && !strings.Contains(y.Status().Message, "rebuilt") {
				t.Errorf("nothing said of it: %+v", y.Status())
			}
			if err := y.Refresh(context.Background()); err != nil {
				t.Fatal(err)
			}
			if s := search(t, y, "verify token"); len(s.Items) == 0 || s.Items[0].Path != "internal/auth/jwt.rs" {
				t.Errorf("found %v", itemPaths(s))
			}
		})
	}
}

// A torn tail of the manifest costs the indexing of what it named, no more.
func TestTornManifest(t *testing.T) {
	src, dir := newMemory(shop), t.TempDir()
	x := openIndex(t, dir, src)
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := search(t, x, "cart").RetrievalSetID
	x.Close()
	p := filepath.Join(dir, manifestName)
	fi, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	for cut := int64(1); cut < fi.Size()-int64(len(manifestMagic)); cut += fi.Size() / 5 {
		if err := os.Truncate(p, fi.Size()-cut); err != nil {
			t.Fatal(err)
		}
		y := openIndex(t, dir, src)
		if err := y.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := search(t, y, "cart"); got.RetrievalSetID != want {
			t.Errorf("cut %d: %v", cut, itemPaths(got))
		}
		y.Close()
		if fi, err = os.Stat(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecondProcessGetsItsOwn(t *testing.T) {
	src, dir := newMemory(shop), t.TempDir()
	x := openIndex(t, dir, src)
	y := openIndex(t, dir, src)
	if m := y.Status().Message; !strings.Contains(m, "private copy") {
		t.Errorf("message %q", m)
	}
	for _, z := range []*Index{x, y} {
		if err := z.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := search(t, x, "cart"), search(t, y, "cart"); a.RetrievalSetID != b.RetrievalSetID {
		t.Errorf("%v and %v", itemPaths(a), itemPaths(b))
	}
	y.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, privatePrefix+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	x.Close()
	// One that died without closing is cleared up by the next to open.
	stale := filepath.Join(dir, privatePrefix+"dead")
	if err := os.MkdirAll(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	openIndex(t, dir, src)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Error("a dead process's copy stays")
	}
}

func TestUnwritableFolderKeepsTheIndexInMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := openIndex(t, filepath.Join(file, "index"), newMemory(shop))
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := x.Status(); st.State != StateDegraded || !strings.Contains(st.Message, "memory") {
		t.Errorf("%+v", st)
	}
	if s := search(t, x, "verify token"); len(s.Items) == 0 || s.Items[0].Path != "internal/auth/jwt.rs" {
		t.Errorf("found %v", itemPaths(s))
	}
}

func TestBeforeIndexingTheFilesAreSearched(t *testing.T) {
	x := openIndex(t, "", newMemory(shop))
	s := search(t, x, "verify token signature")
	if s.State != SetScan || len(s.Items) == 0 || s.Items[0].Path != "internal/auth/jwt.rs" {
		t.Fatalf("state %q, found %v", s.State, itemPaths(s))
	}
	if !strings.Contains(SearchText(s), "nothing is indexed yet") {
		t.Error("the text does not say what kind of answer it is")
	}
}

// Queries run while files come, change and go; -race watches.
func TestSearchDuringIndexing(t *testing.T) {
	src := newMemory(nil)
	for i := range 400 {
		src.put(fmt.Sprintf("d%d/f%d.go", i%7, i), fmt.Sprintf("package d\n\nfunc Handler%d() { serve(%d) }\n", i, i))
	}
	x := openIndex(t, "", src)
	x.Start(context.Background())
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 30 {
				p := fmt.Sprintf("d%d/f%d.go", i%7, i)
				if w == 0 {
					src.put(p, "package d\n\nfunc Changed() {}\n")
					if err := x.Update(context.Background(), []string{p}); err != nil {
						t.Error(err)
					}
				}
				if _, err := x.Search(context.Background(), Query{Text: "handler serve changed", K: 5}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if st := x.Status(); st.State != StateReady || st.Files != 400 {
		t.Errorf("%+v", st)
	}
}

func TestCloseDuringIndexing(t *testing.T) {
	src := newMemory(nil)
	for i := range 500 {
		src.put(fmt.Sprintf("f%d.go", i), strings.Repeat("package d // words and more words\n", 50))
	}
	x := openIndex(t, "", src)
	x.Start(context.Background())
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(context.Background(), Query{Text: "words"}); err == nil {
		t.Error("a closed index answered")
	}
	if err := x.Close(); err != nil {
		t.Error("the second Close:", err)
	}
}

func TestFocusAndFilters(t *testing.T) {
	x := indexed(t, newMemory(map[string]string{
		"a/one.go": "package a\n\nfunc Render() {}\n", "b/one.go": "package b\n\nfunc Render() {}\n", "c/one.go": "package c\n\nfunc Render() {}\n"}))
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"visible":   {Query{Focus: Focus{Visible: []string{"b/one.go"}}}, "b/one.go"},
		"selection": {Query{Focus: Focus{Selection: &Selection{"c/one.go", 1, 2}}}, "c/one.go"},
		"recent":    {Query{Focus: Focus{Recent: []string{"c/one.go", "a/one.go"}}}, "c/one.go"},
		"scope":     {Query{Focus: Focus{Scope: []string{"b"}}}, "b/one.go"},
		"glob":      {Query{Focus: Focus{Scope: []string{"c/*.go"}}}, "c/one.go"},
		"include":   {Query{Filters: Filters{Include: []string{"b/**"}}}, "b/one.go"},
		"exclude":   {Query{Filters: Filters{Exclude: []string{"a", "b/*.go"}}}, "c/one.go"},
	} {
		c.q.Text = "render"
		s, err := x.Search(context.Background(), c.q)
		if err != nil || len(s.Items) == 0 || s.Items[0].Path != c.want {
			t.Errorf("%s: %v %v", name, itemPaths(s), err)
		}
	}
}

func TestMatchGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a/b.go", true}, {"a/*.go", "a/b.go", true}, {"a/*.go", "a/c/b.go", false}, {"a/**", "a/c/b.go", true},
		{"**/b.go", "a/c/b.go", true}, {"**/b.go", "b.go", true}, {"a/**/b.go", "a/b.go", true}, {"a/**/b.go", "a/x/y/b.go", true},
		{"a/**/b.go", "c/b.go", false}, {"[", "[", true}, {"[", "a", false}, {"", "a", false},
	} {
		if got := matchGlob(c.pattern, c.path); got != c.want {
			t.Errorf("matchGlob(%q, %q) = %v", c.pattern, c.path, got)
		}
	}
}

// A short answer names several files, a long one shows more of the best.
func TestShortAnswersAreAboutSeveralFiles(t *testing.T) {
	src := newMemory(nil)
	for i := range 20 {
		src.put(fmt.Sprintf("f%02d.go", i), "package f\n"+strings.Repeat(fmt.Sprintf("\n\nfunc Retry%d() {\n\tretry()\n\tretryBackoff()\n}\n\nvar pad%d = 1\n\n\n\n\n\n\n\n\n", i, i), 12))
	}
	x := indexed(t, src)
	for k, files := range map[int]int{1: 1, 5: 5, 10: 10, 20: 10, 60: 10} {
		s, err := x.Search(context.Background(), Query{Text: "retry backoff", K: k})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(itemPaths(s)); len(s.Items) != k || n < files {
			t.Errorf("k=%d: %d items of %d files", k, len(s.Items), n)
		}
		for i := 1; i < len(s.Items); i++ {
			if s.Items[i].Score > s.Items[i-1].Score {
				t.Errorf("k=%d: the items are not in the order of their scores", k)
			}
		}
	}
}
