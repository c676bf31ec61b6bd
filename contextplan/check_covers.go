package contextplan

import (
	"cmp"
	"slices"
)

// includedCovers answers which candidates a set makes redundant, from sorted lists and sets made once. A unit never
// covers itself.
type includedCovers struct {
	g     *graph
	hash  map[string][]int32 // units, different ones, two at most
	newer [][]int32          // candidate → units with newer versions, two at most
	spans map[string][]reach // by start
}

// reach is, for a span and all that start before it, the furthest end and the furthest end of another unit's.
type reach struct {
	start, end, otherEnd int
	unit                 int32
}

func (c *checker) coversOf(in func(int32) bool) includedCovers {
	g := c.g
	ic := includedCovers{g: g, hash: map[string][]int32{}, newer: make([][]int32, len(g.cs)), spans: map[string][]reach{}}
	addUnit := func(list []int32, u int32) ([]int32, bool) {
		if len(list) == 2 || slices.Contains(list, u) {
			return list, false
		}
		return append(list, u), true
	}
	for i := range int32(len(g.cs)) {
		if !in(i) {
			continue
		}
		x, u := &g.cs[i], g.unitOf[i]
		if x.ContentHash != "" {
			ic.hash[x.ContentHash], _ = addUnit(ic.hash[x.ContentHash], u)
		}
		if x.Span != nil {
			ic.spans[x.Span.Path] = append(ic.spans[x.Span.Path], reach{x.Span.Start, x.Span.End, -1, u})
		}
		for queue := []int32{i}; len(queue) > 0 && g.supersedes != nil; queue = queue[1:] {
			for _, older := range g.supersedes[queue[0]] {
				list, added := addUnit(ic.newer[older], u)
				if ic.newer[older] = list; added && older != i {
					queue = append(queue, older)
				}
			}
		}
	}
	for _, list := range ic.spans {
		slices.SortFunc(list, func(a, b reach) int { return cmp.Compare(a.start, b.start) })
		for n := 1; n < len(list); n++ {
			list[n].furthest(list[n-1])
		}
	}
	return ic
}

// furthest takes in what reached furthest up to the span before.
func (r *reach) furthest(before reach) {
	if before.unit == r.unit {
		r.end, r.otherEnd = max(r.end, before.end), before.otherEnd
		return
	}
	if before.end >= r.end {
		*r = reach{r.start, before.end, max(r.end, before.otherEnd), before.unit}
		return
	}
	r.otherEnd = before.end
}

func (ic includedCovers) covered(kind Reason, i int32) bool {
	c, u := &ic.g.cs[i], ic.g.unitOf[i]
	another := func(list []int32) bool { return slices.ContainsFunc(list, func(v int32) bool { return v != u }) }
	switch kind {
	case ReasonDuplicate:
		return c.ContentHash != "" && another(ic.hash[c.ContentHash])
	case ReasonSuperseded:
		return another(ic.newer[i])
	}
	if c.Span == nil {
		return false
	}
	list := ic.spans[c.Span.Path]
	after, _ := slices.BinarySearchFunc(list, c.Span.Start+1, func(r reach, start int) int { return cmp.Compare(r.start, start) })
	if after == 0 {
		return false
	}
	if r := list[after-1]; r.unit == u {
		return r.otherEnd >= c.Span.End
	} else {
		return r.end >= c.Span.End
	}
}

func (ic includedCovers) unit(u int) (Reason, bool) {
	for _, kind := range []Reason{ReasonDuplicate, ReasonShadowed, ReasonSuperseded} {
		if !slices.ContainsFunc(ic.g.units[u].members, func(m int32) bool { return !ic.covered(kind, m) }) {
			return kind, true
		}
	}
	return "", false
}

// any reports whether any member of u is covered in any way.
func (ic includedCovers) any(u int) bool {
	return slices.ContainsFunc(ic.g.units[u].members, func(m int32) bool {
		return ic.covered(ReasonDuplicate, m) || ic.covered(ReasonShadowed, m) || ic.covered(ReasonSuperseded, m)
	})
}
