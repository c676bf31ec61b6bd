package rag

import (
	"math"
	"slices"
	"strings"
	"sync"
)

// A file is long and a change is short: what is shown of a file are a few windows,
// chosen by the lines themselves. Many small ones beat few large ones, as the
// reader of a window can ask for more and the reader of a page can't ask for less.

// Sizes and limits of windows.
const (
	windowLines   = 10
	windowWhole   = 14  // a definition of no more lines is shown whole …
	windowMin     = 6   // … if it has at least so many; else some lines about it too
	windowChunks  = 8   // chunks of a file in which windows are looked for
	windowEdge    = .5  // what a word at the window's edge counts
	windowWider   = 1.3 // how much larger than a window its surroundings are, to be worth a mention
	windowGap     = 3   // lines between two windows of a file, at least
	anchorFiles   = 4   // best files whose windows lend their names to the others
	anchorWeight  = .35
	historyWeight = .5 // of what similar commits changed in the file
	maxAnchors    = 24
)

// window is a span of one file with its value.
type window struct {
	start, end int // 1-based, inclusive
	value      float64
	def        int // index of the definition it lies in, -1 for none
}

// lineTerms knows what words are worth when windows are chosen.
type lineTerms map[string]float64

// windower finds the windows of files, one file after the other. It belongs to one
// goroutine.
type windower struct {
	num    termNumbers
	byTerm []lineTerm
	look   uint64    // how many lines have been looked around, ever
	found  []uint32  // the valued terms of all lines, line after line
	ends   []int     // by line: where its terms end in found
	score  []float64 // by line
}

// lineTerm is a term in the file at hand.
type lineTerm struct {
	value float64
	lines int    // that have it
	look  uint64 // the last one around a line that met it
}

// windowers keeps those of queries, which meet the same identifiers again.
var windowers = sync.Pool{New: func() any { return new(windower) }}

// windows picks up to n windows of a file, best first. chunks are its best chunks;
// none means that the whole file is looked at, up to as many lines.
func (w *windower) windows(e *entry, lines []string, chunks []chunkScore, terms lineTerms, n int) []window {
	todo := make([]bool, len(lines))
	mark := func(a, b int) {
		for i := max(a, 1); i <= min(b, len(lines)); i++ {
			todo[i-1] = true
		}
	}
	if len(chunks) == 0 {
		mark(1, windowChunks*chunkTarget*4)
	}
	for _, c := range chunks[:min(len(chunks), windowChunks)] {
		if int(c.ref.chunk) < len(e.starts) {
			a, b := e.span(int(c.ref.chunk))
			mark(a, b)
		}
	}
	valued := w.value(terms)
	w.find(lines, todo)
	w.weigh(valued)
	w.scores()
	for _, t := range valued {
		w.byTerm[t].value, w.byTerm[t].lines = 0, 0
	}
	return pickWindows(e, w.score, n)
}

// value sets what the terms are worth, and gives their numbers.
func (w *windower) value(terms lineTerms) []uint32 {
	w.num.begin()
	valued := make([]uint32, 0, len(terms))
	for t, v := range terms {
		i := w.num.number(t)
		for int(i) >= len(w.byTerm) {
			w.byTerm = append(w.byTerm, lineTerm{})
		}
		w.byTerm[i].value = v
		valued = append(valued, i)
	}
	return valued
}

// find notes the valued terms of the lines to look at, each once a line.
func (w *windower) find(lines []string, todo []bool) {
	w.found, w.ends = w.found[:0], w.ends[:0]
	for i, ln := range lines {
		if todo[i] && len(ln) <= maxLineBytes {
			line := len(w.found)
			eachIdent(ln, func(raw string) {
				for _, t := range w.num.of(raw) {
					if int(t) < len(w.byTerm) && w.byTerm[t].value > 0 && !slices.Contains(w.found[line:], t) {
						w.found = append(w.found, t)
						w.byTerm[t].lines++
					}
				}
			})
		}
		w.ends = append(w.ends, len(w.found))
	}
}

// weigh makes terms count by how seldom they are in the file itself: the file's own
// subject stands on every page of it, and says nothing about where to look.
func (w *windower) weigh(valued []uint32) {
	pages := float64(len(w.ends))/windowLines + 1
	for _, t := range valued {
		if x := &w.byTerm[t]; x.lines > 0 {
			x.value *= math.Log(1 + pages/float64(x.lines))
		}
	}
}

// scores values the window around each line: every distinct term once, more the nearer
// it is.
func (w *windower) scores() {
	const half = windowLines / 2
	n := len(w.ends)
	w.score = slices.Grow(w.score[:0], n)[:n]
	line := func(i int) []uint32 {
		begin := 0
		if i > 0 {
			begin = w.ends[i-1]
		}
		return w.found[begin:w.ends[i]]
	}
	for i := range n {
		w.score[i] = 0
		if len(line(i)) == 0 {
			continue // a window stands on a line that says something
		}
		w.look++
		for j := max(0, i-half); j < min(n, i+half); j++ {
			near := 1 - windowEdge*math.Abs(float64(j-i))/half
			for _, t := range line(j) {
				if x := &w.byTerm[t]; x.look != w.look {
					x.look = w.look
					w.score[i] += x.value * near
				}
			}
		}
	}
}

// pickWindows takes the best lines, and clears the values around them.
func pickWindows(e *entry, values []float64, n int) []window {
	var out []window
	lines := len(values)
	for len(out) < n {
		best := -1
		for i, v := range values {
			if v > 0 && (best < 0 || v > values[best]) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		w := e.around(best+1, lines)
		w.value = values[best]
		for _, o := range out { // windows of one file do not overlap
			if w.start <= o.end && w.end >= o.start {
				if best+1 < o.start {
					w.end = o.start - 1
				} else {
					w.start = o.end + 1
				}
			}
		}
		for i := max(0, w.start-windowGap); i < min(len(values), w.end+windowGap-1); i++ {
			values[i] = 0
		}
		values[best] = 0
		if w.start <= best+1 && best+1 <= w.end {
			out = append(out, w)
		}
	}
	return out
}

// around shapes a window about a line: the whole of a short definition, else some
// lines of a long one.
func (e *entry) around(line, last int) window {
	w := window{start: line - windowLines/2, end: line + windowLines/2 - 1, def: e.enclosing(line)}
	if w.def >= 0 {
		d := e.defs[w.def]
		switch size := d.End - d.Start + 1; {
		case size < windowMin:
		case size <= windowWhole:
			w.start, w.end = min(d.Start, line), max(d.End, line)
		default:
			w.start, w.end = max(w.start, d.Start), min(w.end, d.End)
		}
	}
	w.start, w.end = max(1, w.start), min(last, w.end)
	return w
}

// surroundings gives what a window is a part of: the whole definition where that is
// of the size of a page, else the page of the file; nil when the window is all of that.
func (e *entry) surroundings(w window) *Lines {
	from, to := w.start, w.end
	if w.def >= 0 && e.defs[w.def].End-e.defs[w.def].Start < chunkMax {
		from, to = min(from, e.defs[w.def].Start), max(to, e.defs[w.def].End)
	} else if len(e.starts) > 0 { // starts count from 0, lines from 1
		i, _ := slices.BinarySearch(e.starts, uint32((w.start+w.end)/2))
		a, b := e.span(max(i-1, 0))
		from, to = min(from, a), max(to, b)
	}
	if to = min(to, max(e.lines, w.end)); float64(to-from+1) < windowWider*float64(w.end-w.start+1) {
		return nil
	}
	return &Lines{from, to}
}

// enclosing finds the innermost definition of more than one line around a line, or
// one that is on it; -1 when there is none.
func (e *entry) enclosing(line int) int {
	best := -1
	for i, d := range e.defs {
		if d.Start > line {
			break
		}
		if d.End >= line && d.Kind != "field" && (best < 0 || d.End-d.Start <= e.defs[best].End-e.defs[best].Start) {
			best = i
		}
	}
	return best
}

// queryLineTerms values the words of the query.
func queryLineTerms(terms []queryTerm, stats []termStat, chunks int) lineTerms {
	m := lineTerms{}
	for i, q := range terms {
		if stats[i].chunkDF > 0 {
			m[q.text] = q.weight * idf(float64(chunks), float64(stats[i].chunkDF))
		}
	}
	return m
}

// anchors gives the names in a window, to be looked for in other files: what it
// defines, and what it mentions that few files do.
func (e *entry) anchors(lines []string, w window) []string {
	var out []string
	if w.def >= 0 && e.defs[w.def].Kind != "section" {
		if t := nameTerm(e.defs[w.def].Name); t != "" {
			out = append(out, t)
		}
	}
	for _, d := range e.defs {
		if d.Start >= w.start && d.Start <= w.end {
			if t := nameTerm(d.Name); t != "" && !strings.Contains(d.Name, " ") {
				out = append(out, t)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// touched gives, for a file, the words that similar commits changed in it.
func (v *historyView) touched(near []nearCommit, path string) lineTerms {
	m := lineTerms{}
	if v == nil {
		return m
	}
	p, ok := v.number[path]
	if !ok {
		return m
	}
	for _, c := range near {
		if c.index >= v.diffs {
			continue
		}
		for i, q := range v.paths[c.index] {
			if q != p {
				continue
			}
			f := v.commits[c.index].files[i]
			for _, t := range f.terms {
				m[v.names[t]] += math.Pow(c.sim, knnPower) * idf(float64(v.diffs), float64(len(v.byDiff[t]))) / math.Sqrt(float64(len(f.terms)+4))
			}
		}
	}
	return m
}

// with gives the terms plus others at a weight that brings their largest to that
// share of the largest here.
func (m lineTerms) with(o lineTerms, share float64) lineTerms {
	top, otop := 0.0, 0.0
	for _, v := range m {
		top = math.Max(top, v)
	}
	for _, v := range o {
		otop = math.Max(otop, v)
	}
	if otop == 0 {
		return m
	}
	if top == 0 {
		top = 1
	}
	out := make(lineTerms, len(m)+len(o))
	for t, v := range m {
		out[t] = v
	}
	for t, v := range o {
		out[t] += v / otop * share * top
	}
	return out
}
