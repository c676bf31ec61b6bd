package contextplan

import (
	"math/bits"
	"slices"
)

// none stands for "no candidate" or "no unit".
const none = int32(-1)

// mustRoot is the root of what is in because something required or pinned needs it.
const mustRoot = int32(-2)

// A cover is an included candidate that makes others redundant, with the root that brought it into the plan: the unit
// that was chosen in its turn, be it its own or one that depends on it.
type cover struct{ candidate, root int32 }

// covers keeps two covers with different roots, which is what it takes to answer "is there one that was not brought by
// this unit itself?" in constant time however many there are.
type covers struct{ first, second cover }

var noCovers = covers{cover{none, none}, cover{none, none}}

// add reports whether it changed anything.
func (c *covers) add(x cover) bool {
	switch {
	case c.first.candidate == none:
		c.first = x
	case c.second.candidate == none && c.first.root != x.root:
		c.second = x
	default:
		return false
	}
	return true
}

// except returns a cover that root did not bring, or none.
func (c *covers) except(root int32) cover {
	if c.first.root != root {
		return c.first
	}
	return c.second
}

// redundancy knows what the included candidates make redundant: equal content, lines inside an included span, older
// versions. Adding costs O(log n), and so does asking.
type redundancy struct {
	g *graph

	hash   []int32 // candidate → number of its content hash, or none
	byHash []covers

	place []int32 // candidate → its span's start in the index of its path, or none
	paths []pathIndex
	path  []int32 // candidate → number of its path

	newer []covers // candidate → included newer versions; nil when nothing supersedes anything
	stack []int32

	work int // how many steps all this took, but for the logarithm of a path's spans
}

// pathIndex is a Fenwick tree over the different starts of the spans of one path. Each node keeps the two longest-reaching
// spans of its range of starts that have different roots.
type pathIndex struct{ nodes []covers }

func newRedundancy(g *graph) *redundancy {
	r := &redundancy{g: g, hash: make([]int32, len(g.cs))}
	hashes := map[string]int32{}
	for i := range g.cs {
		r.hash[i] = none
		if h := g.cs[i].ContentHash; h != "" {
			n, ok := hashes[h]
			if !ok {
				n = int32(len(hashes))
				hashes[h] = n
			}
			r.hash[i] = n
		}
	}
	r.byHash = make([]covers, len(hashes))
	r.indexPaths()
	if g.supersedes != nil {
		r.newer = make([]covers, len(g.cs))
	}
	r.reset()
	return r
}

func (r *redundancy) indexPaths() {
	cs := r.g.cs
	paths := map[string]int32{}
	var starts [][]int
	r.place, r.path = make([]int32, len(cs)), make([]int32, len(cs))
	for i := range cs {
		r.place[i] = none
		if cs[i].Span == nil {
			continue
		}
		n, ok := paths[cs[i].Span.Path]
		if !ok {
			n = int32(len(paths))
			paths[cs[i].Span.Path] = n
			starts = append(starts, nil)
		}
		r.path[i] = n
		starts[n] = append(starts[n], cs[i].Span.Start)
	}
	r.paths = make([]pathIndex, len(starts))
	for n := range starts {
		slices.Sort(starts[n])
		starts[n] = slices.Compact(starts[n])
		r.paths[n].nodes = make([]covers, len(starts[n])+1)
	}
	for i := range cs {
		if cs[i].Span != nil {
			at, _ := slices.BinarySearch(starts[r.path[i]], cs[i].Span.Start)
			r.place[i] = int32(at)
		}
	}
}

// reset forgets everything included.
func (r *redundancy) reset() {
	clear := func(list []covers) {
		for i := range list {
			list[i] = noCovers
		}
	}
	clear(r.byHash)
	clear(r.newer)
	for _, p := range r.paths {
		clear(p.nodes)
	}
}

// include takes note that candidate i is in, brought by root.
func (r *redundancy) include(i, root int32) {
	x := cover{i, root}
	if h := r.hash[i]; h != none {
		r.byHash[h].add(x)
	}
	if r.place[i] != none {
		r.includeSpan(x)
	}
	if r.newer != nil {
		r.includeVersion(x)
	}
}

func (r *redundancy) includeSpan(x cover) {
	nodes := r.paths[r.path[x.candidate]].nodes
	end := func(c cover) int { return r.g.cs[c.candidate].Span.End }
	for n := int(r.place[x.candidate]) + 1; n < len(nodes); n += n & -n {
		c := &nodes[n]
		switch {
		case c.first.candidate == none:
			c.first = x
		case end(x) > end(c.first):
			if c.first.root != x.root {
				c.second = c.first
			}
			c.first = x
		case c.first.root != x.root && (c.second.candidate == none || end(x) > end(c.second)):
			c.second = x
		}
	}
}

// includeVersion marks all that x supersedes, and what that supersedes in turn: the newest version replaces them all.
// Each candidate is marked at most twice, so that long histories of versions stay linear.
func (r *redundancy) includeVersion(x cover) {
	r.stack = append(r.stack[:0], x.candidate)
	for len(r.stack) > 0 {
		newer := r.stack[len(r.stack)-1]
		r.stack = r.stack[:len(r.stack)-1]
		r.work += len(r.g.supersedes[newer])
		for _, older := range r.g.supersedes[newer] {
			if older != x.candidate && r.newer[older].add(x) {
				r.stack = append(r.stack, older)
			}
		}
	}
}

// redundancyKinds in the order in which they are tried; the first that holds for every member is the unit's reason.
var redundancyKinds = [...]Reason{ReasonDuplicate, ReasonShadowed, ReasonSuperseded}

// cover returns what makes candidate i redundant in the given way, not counting what root brought.
func (r *redundancy) cover(kind Reason, i, root int32) cover {
	switch kind {
	case ReasonDuplicate:
		if h := r.hash[i]; h != none {
			return r.byHash[h].except(root)
		}
	case ReasonShadowed:
		if r.place[i] != none {
			return r.around(i, root)
		}
	case ReasonSuperseded:
		if r.newer != nil {
			return r.newer[i].except(root)
		}
	}
	return cover{none, none}
}

// around returns the longest-reaching included span that starts no later than candidate i's and ends no earlier.
func (r *redundancy) around(i, root int32) cover {
	nodes := r.paths[r.path[i]].nodes
	best, bestEnd := cover{none, none}, r.g.cs[i].Span.End
	for n := int(r.place[i]) + 1; n > 0; n -= 1 << bits.TrailingZeros(uint(n)) {
		c := nodes[n].except(root)
		if c.candidate == none {
			continue
		}
		if end := r.g.cs[c.candidate].Span.End; end > bestEnd || end == bestEnd && best.candidate == none {
			best, bestEnd = c, end
		}
	}
	return best
}

// unitRedundant reports in which way every member of unit u is redundant, not counting what root brought.
func (r *redundancy) unitRedundant(u, root int32) (Reason, bool) {
	for _, kind := range redundancyKinds {
		all := true
		for _, m := range r.g.units[u].members {
			r.work++
			if r.cover(kind, m, root).candidate == none {
				all = false
				break
			}
		}
		if all {
			return kind, true
		}
	}
	return "", false
}
