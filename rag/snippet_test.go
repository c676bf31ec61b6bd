package rag

import (
	"context"
	"strings"
	"testing"
)

// What is around an item holds it, is larger, lies in the file, and is a whole
// definition where that is not too long.
func TestAround(t *testing.T) {
	var long strings.Builder
	long.WriteString("package shop\n\n// Checkout takes an order to its end.\nfunc Checkout(o Order) error {\n")
	for range 25 {
		long.WriteString("\tstep(o)\n")
	}
	long.WriteString("\treserveStock(o, warehouse)\n")
	for range 15 {
		long.WriteString("\tstep(o)\n")
	}
	long.WriteString("}\n")
	src := newMemory(map[string]string{"checkout.go": long.String(), "tiny.go": "package shop\n\nfunc reserveStock() {}\n"})
	x := openIndex(t, "", src)
	defer x.Close()
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	set, err := x.Search(context.Background(), Query{Text: "reserve stock in the warehouse"})
	if err != nil {
		t.Fatal(err)
	}
	whole := false
	for _, it := range set.Items {
		a := it.Around
		if a == nil {
			continue
		}
		n := len(splitLines([]byte(src.files[it.Path])))
		if a.StartLine < 1 || a.StartLine > it.StartLine || a.EndLine < it.EndLine || a.EndLine > n || a.EndLine-a.StartLine <= it.EndLine-it.StartLine {
			t.Errorf("%s:%d-%d, around it %+v, of %d lines", it.Path, it.StartLine, it.EndLine, *a, n)
		}
		whole = whole || it.Path == "checkout.go" && a.StartLine == 4 && a.EndLine == 46
	}
	if !whole {
		t.Errorf("no item has all of Checkout around it: %+v", set.Items)
	}
}
