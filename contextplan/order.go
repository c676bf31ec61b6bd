package contextplan

import (
	"cmp"
	"slices"
)

// order is the sequence in which units are judged: by rank, except that some are judged earlier than their rank says,
// because they would make a better-ranked unit redundant.
type order struct {
	ranked []int32
	before [][]int32 // unit → units to judge before it, by rank; nil when there are none at all
	rank   []int32
}

func newOrder(g *graph) *order {
	o := &order{ranked: make([]int32, len(g.units)), rank: make([]int32, len(g.units))}
	ranks := make([]rank, len(g.units))
	for u := range ranks {
		unit := &g.units[u]
		ranks[u] = rank{unit.priority, unit.score, unit.seq, unit.tokens, unit.members[0], int32(u), unit.sent}
	}
	slices.SortFunc(ranks, rank.compare)
	for at := range ranks {
		o.ranked[at] = ranks[at].unit
	}
	for at, u := range o.ranked {
		o.rank[u] = int32(at)
	}
	o.judgeEarlier(newerFirst(g))
	return o
}

// rank is what units are compared by, side by side in memory.
type rank struct {
	priority, score float64
	seq, tokens     int
	first           int32 // the first member; candidates are in order of id
	unit            int32
	sent            bool
}

// compare is the total order of what matters more: priority, then what was sent already, then score, then what is
// newer, then what takes less room. Score goes before size because a line costs about the same wherever it is: the best
// use of the budget is the lines that are most likely to matter. Ids make the order total.
func (a rank) compare(b rank) int {
	switch {
	case a.priority != b.priority:
		return cmp.Compare(b.priority, a.priority)
	case a.sent != b.sent:
		if a.sent {
			return -1
		}
		return 1
	case a.score != b.score:
		return cmp.Compare(b.score, a.score)
	case a.seq != b.seq:
		return cmp.Compare(b.seq, a.seq)
	case a.tokens != b.tokens:
		return cmp.Compare(a.tokens, b.tokens)
	}
	return cmp.Compare(a.first, b.first)
}

// newerFirst says that a newer version is judged in the place of what it supersedes: else a stale version of higher rank
// could take the room that the newer one needs.
func newerFirst(g *graph) []edge {
	var edges []edge
	superseded := make([]int, len(g.units)) // how many members are, by another unit
	seen := make([]bool, len(g.supersedes)) // candidate: counted
	for newer, list := range g.supersedes {
		by := g.unitOf[newer]
		for _, older := range list {
			if of := g.unitOf[older]; of != by {
				edges = append(edges, edge{of, by})
				if !seen[older] {
					seen[older] = true
					superseded[of]++
				}
			}
		}
	}
	return slices.DeleteFunc(edges, func(e edge) bool {
		return superseded[e.from] < len(g.units[e.from].members) || g.units[e.to].expired || g.units[e.to].must()
	})
}

// judgeEarlier adds rules "judge edge.to before edge.from", and reports whether any of them is new.
func (o *order) judgeEarlier(rules []edge) bool {
	changed := false
	rules = uniqueEdges(rules)
	for from := 0; from < len(rules); {
		if o.before == nil {
			o.before = make([][]int32, len(o.ranked))
		}
		u := rules[from].from
		known := len(o.before[u])
		for ; from < len(rules) && rules[from].from == u; from++ {
			o.before[u] = append(o.before[u], rules[from].to)
		}
		slices.SortFunc(o.before[u], func(a, b int32) int { return cmp.Compare(o.rank[a], o.rank[b]) })
		o.before[u] = slices.Compact(o.before[u])
		changed = changed || len(o.before[u]) > known
	}
	return changed
}

// sequence lists all units by rank, each after those that are to be judged before it. Rules that go in a circle are
// followed as far as they lead: the best-ranked unit of the circle is the one that waits for all others.
func (o *order) sequence() []int32 {
	if o.before == nil {
		return o.ranked
	}
	out := make([]int32, 0, len(o.ranked))
	next := make([]int32, len(o.ranked)) // how many of its rules were followed
	begun := make([]bool, len(o.ranked))
	var path []int32
	for _, first := range o.ranked {
		if begun[first] {
			continue
		}
		begun[first] = true
		path = append(path[:0], first)
		for len(path) > 0 {
			u := path[len(path)-1]
			if int(next[u]) == len(o.before[u]) {
				out = append(out, u)
				path = path[:len(path)-1]
				continue
			}
			earlier := o.before[u][next[u]]
			next[u]++
			if !begun[earlier] {
				begun[earlier] = true
				path = append(path, earlier)
			}
		}
	}
	return out
}
