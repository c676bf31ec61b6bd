package rag

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The lines around say where words stand close together. Whether a window is what the
// query is about also shows farther out: in the page that it lies on, and in how much
// of the definition around it the query's words are. The weights were fitted to the
// windows of files that commits changed, on other repositories than those that the
// benchmark reports, rounded, and halved (see bench/retrieval).
const (
	windowPool    = 24  // windows of a file that are put in order anew
	windowPage    = .5  // what the best page's BM25 counts beside the best window's words
	windowDense   = .2  // the definition with the most words for its length
	windowComment = .25 // what a window of comments alone loses: they are changed less than code
	denseLines    = 10  // lines that a definition has at least, where words for its length are counted
)

// reorder puts the windows of a file, of which there are some, in order by what is around
// them as well.
func (w *windower) reorder(e *entry, lines []string, chunks []chunkScore, ws []window) {
	page := make(map[int]float64, len(chunks))
	for _, c := range chunks {
		page[int(c.ref.chunk)] = c.score / chunks[0].score
	}
	dense := map[int]float64{} // by definition
	top, densest := 0.0, 0.0
	for _, x := range ws {
		d, known := dense[x.def]
		if !known {
			d = w.density(e, x.def)
			dense[x.def] = d
		}
		top, densest = math.Max(top, x.value), math.Max(densest, d)
	}
	for i := range ws {
		x := &ws[i]
		x.value /= top
		x.value += windowPage * page[e.chunkAt((x.start+x.end)/2)]
		if densest > 0 {
			x.value += windowDense * dense[x.def] / densest
		}
		if e.source {
			x.value -= windowComment * comments(lines[x.start-1:x.end])
		}
	}
	slices.SortStableFunc(ws, func(a, b window) int { return cmp.Compare(b.value, a.value) })
}

// chunkAt is the chunk that a line, counted from 1, lies in; -1 where there are none.
func (e *entry) chunkAt(line int) int {
	i, _ := slices.BinarySearch(e.starts, uint32(line)) // starts count from 0
	return i - 1
}

// density is what the distinct terms of a definition are worth for its length; nothing
// for none.
func (w *windower) density(e *entry, def int) float64 {
	if def < 0 {
		return 0
	}
	d := e.defs[def]
	sum := 0.0
	w.look++
	for i := d.Start - 1; i < min(d.End, len(w.ends)); i++ {
		for _, t := range w.line(i) {
			if x := &w.byTerm[t]; x.look != w.look {
				x.look = w.look
				sum += x.value
			}
		}
	}
	return sum / math.Sqrt(float64(d.End-d.Start+1+denseLines))
}

// comments is the share of the lines that are comments and nothing else, in any language.
func comments(lines []string) float64 {
	n := 0
	for _, ln := range lines {
		s := strings.TrimSpace(ln)
		switch {
		case strings.HasPrefix(s, "//"), strings.HasPrefix(s, "/*"), strings.HasPrefix(s, "*"):
			n++
		case strings.HasPrefix(s, "#"): // in C a directive, in Rust an attribute, in JavaScript a private name
			if len(s) == 1 || s[1] == ' ' || s[1] == '#' || s[1] == '!' {
				n++
			}
		}
	}
	return float64(n) / float64(max(1, len(lines)))
}
