package rag

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Commits about widgets changed the file of widgets, so "widget" tells where to look;
// they were "polish" commits, and the file that has that word was none of theirs.
func TestTrustIsLearntFromThePast(t *testing.T) {
	r := newRepo(t)
	r.commit("start", map[string]string{"a.go": "package a\n\n// widget\n", "b.go": "package a\n\n// polish\n", "c.go": "package a\n"})
	for i := range 6 {
		r.commit(fmt.Sprint("polish widget ", i), map[string]string{"a.go": fmt.Sprintf("package a\n\n// widget\nvar x = %d\n", i)})
	}
	x := indexed(t, r)
	tab, view := x.table.Load(), x.hist.current()
	past := newTrust(tab, view, view.numbers(tab))
	factor := func(term, path string) float64 {
		has := make([]float64, len(tab.byID))
		has[tab.at(path).id] = 1
		return past.of(term, 2, has)
	}
	if f := factor("widget", "a.go"); f <= 1 || f > trustMost {
		t.Errorf("a word that pointed at the changed files counts %.2f", f)
	}
	if f := factor("polish", "b.go"); f >= 1 || f < trustLeast {
		t.Errorf("a word that pointed at other files counts %.2f", f)
	}
	if f := factor("gadget", "c.go"); f != 1 {
		t.Errorf("a word that no commit had counts %.2f", f)
	}
	if f := newTrust(tab, nil, nil).of("widget", 2, nil); f != 1 {
		t.Errorf("without a history a word counts %.2f", f)
	}
}

// Whatever the past was like, it only bends what a word's rareness says.
func TestTrustIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.IntRange(1, 6).Draw(t, "files")
		v := &historyView{files: make([]string, files), byWord: map[uint32][]hit{}, dict: func(string) (uint32, bool) { return 0, true }}
		has := make([]float64, files)
		x := trust{view: v, ids: make([]int64, files)}
		for n := range files {
			x.ids[n] = int64(rapid.IntRange(-1, files-1).Draw(t, "id"))
			has[n] = float64(rapid.IntRange(0, 2).Draw(t, "has"))
		}
		for c := range rapid.IntRange(0, 120).Draw(t, "commits") {
			v.paths = append(v.paths, rapid.SliceOfNDistinct(rapid.Int32Range(0, int32(files-1)), 0, files, rapid.ID).Draw(t, "paths"))
			v.byWord[0] = append(v.byWord[0], hit{uint32(c), 1})
		}
		rare := rapid.Float64Range(-1, 12).Draw(t, "rare")
		if f := x.of("word", rare, has); !(f >= trustLeast && f <= trustMost) {
			t.Fatalf("%v", f)
		}
	})
}
