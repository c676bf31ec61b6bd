package rag

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Of two places with the same words, the one whose definition is about them comes first,
// and code comes before a comment that speaks of it.
func TestWindowsLookAround(t *testing.T) {
	filler := strings.Repeat("\tn++\n", 30)
	for name, src := range map[string]string{
		"definition": "package a\n\nfunc far() {\n" + filler + "\tretry(upload)\n" + filler + "}\n\n" +
			"func near() {\n\tretry(upload)\n\tupload.retry(3)\n\tretry(upload)\n\tretry(upload)\n\tn++\n\tn++\n}\n",
		"comment": "package a\n\n// retry the upload\n//\n// one\n//\n// two\n//\n// three\n\nvar x = 1\n\nfunc f() {\n" + filler + "}\n\n" +
			"func g() {\n\tn++\n\tretry(upload)\n\tn++\n\tn++\n\tn++\n\tn++\n\tn++\n}\n",
	} {
		x := indexed(t, newMemory(map[string]string{"a.go": src}))
		items := search(t, x, "retry upload").Items
		if len(items) < 2 || items[0].Symbol == "far" || items[0].Symbol == "" {
			t.Errorf("%s: %+v", name, items)
		}
	}
}

func TestCommentsShare(t *testing.T) {
	for src, want := range map[string]float64{
		"// a\nx()\n":          .5,
		"/* a\n * b\n */\nx()": .75,
		"# a\nx = 1":           .5,
		"#include <a.h>":       0,
		"#[derive(Debug)]":     0,
		"":                     0,
	} {
		if got := comments(splitLines([]byte(src))); got != want {
			t.Errorf("%q: %v, want %v", src, got, want)
		}
	}
}

// The order changes, and nothing else: no window is lost, made or moved.
func TestReorderKeepsWindows(t *testing.T) {
	words := []string{"alpha", "beta", "gamma", "{", "}", "func f() {", "// note", "\tx"}
	rapid.Check(t, func(t *rapid.T) {
		src := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 120).Draw(t, "lines"), "\n"))
		e, _ := new(analyzer).analyze("a.go", src)
		lines := splitLines(src)
		terms := lineTerms{"alpha": 2, "beta": 1}
		var chunks []chunkScore
		for c := range e.starts {
			chunks = append(chunks, chunkScore{ref: docRef{chunk: uint16(c)}, score: float64(len(e.starts) - c)})
		}
		all := new(windower).windows(e, lines, chunks, terms, windowPool)
		few := new(windower).windows(e, lines, chunks, terms, 3)
		seen := map[int]bool{}
		for i, w := range all {
			if w.start < 1 || w.end > len(lines) || w.start > w.end || seen[w.start] {
				t.Fatalf("window %+v of %d lines", w, len(lines))
			}
			seen[w.start] = true
			if i > 0 && w.value > all[i-1].value {
				t.Fatal("not in order")
			}
			if i < len(few) && few[i] != w {
				t.Fatalf("fewer windows are others: %+v, %+v", few[i], w)
			}
		}
	})
}
