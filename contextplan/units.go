package contextplan

import (
	"fmt"
	"slices"
	"sort"
)

// A unit is what goes in or out as one: a candidate, a group, or groups that depend on each other in a circle. Units
// form a graph without cycles, numbered so that what a unit depends on has a lower number than the unit.
type unit struct {
	members []int32 // candidates, ascending, which is by id
	deps    []int32 // units, ascending, without itself
	tokens  int     // of all members

	required, pinned, expired bool
	reasonFrom                int32 // the member that makes it required, pinned or expired

	priority, score float64 // the highest of its members'
	seq             int     // the highest of its members'
	sent            bool    // whether any member is
}

func (u *unit) must() bool { return u.required || u.pinned }

// graph is an Input made ready for planning: candidates in order of id, and the units that they form.
type graph struct {
	cs     []Candidate
	units  []unit
	unitOf []int32 // candidate → unit
	// supersedes lists, for each candidate, the older ones among the candidates; nil when there are none at all.
	supersedes [][]int32
}

func newGraph(in Input) (*graph, error) {
	cs, err := sortedCandidates(in)
	if err != nil {
		return nil, err
	}
	g := &graph{cs: cs}
	index := indexOf(cs)
	node, nodes := groupNodes(cs)
	edges, err := dependencyEdges(cs, node, index)
	if err != nil {
		return nil, err
	}
	out, start := adjacency(nodes, edges)
	comp, comps := components(nodes, out, start)
	g.buildUnits(node, comp, comps, edges)
	for i := range cs {
		for _, id := range cs[i].Supersedes {
			if j, ok := index(id); ok && j != int32(i) {
				if g.supersedes == nil {
					g.supersedes = make([][]int32, len(cs))
				}
				g.supersedes[i] = append(g.supersedes[i], j)
			}
		}
	}
	for _, list := range g.supersedes {
		slices.Sort(list)
	}
	return g, nil
}

// indexOf finds a candidate by id. The map is made when the first id is looked up: most inputs have few.
func indexOf(cs []Candidate) func(string) (int32, bool) {
	var ids map[string]int32
	return func(id string) (int32, bool) {
		if ids == nil {
			ids = make(map[string]int32, len(cs))
			for i := range cs {
				ids[cs[i].ID] = int32(i)
			}
		}
		i, ok := ids[id]
		return i, ok
	}
}

// groupNodes numbers the groups, each candidate without a group being one of its own.
func groupNodes(cs []Candidate) (node []int32, count int) {
	node = make([]int32, len(cs))
	groups := map[string]int32{}
	for i := range cs {
		group, known := int32(count), false
		if cs[i].Group != "" {
			group, known = groups[cs[i].Group]
			if !known {
				group = int32(count)
				groups[cs[i].Group] = group
			}
		}
		if !known {
			count++
		}
		node[i] = group
	}
	return node, count
}

// edge goes from a node to one that it depends on.
type edge struct{ from, to int32 }

func (e edge) compare(f edge) int {
	if e.from != f.from {
		return int(e.from) - int(f.from)
	}
	return int(e.to) - int(f.to)
}

func dependencyEdges(cs []Candidate, node []int32, index func(string) (int32, bool)) ([]edge, error) {
	var edges []edge
	for i := range cs {
		for _, id := range sortedIfNeeded(cs[i].DependsOn) {
			j, ok := index(id)
			if !ok {
				return nil, &InputError{cs[i].ID, "dependsOn", fmt.Sprintf("no candidate has the id %q", id)}
			}
			if node[i] != node[j] {
				edges = append(edges, edge{node[i], node[j]})
			}
		}
	}
	return uniqueEdges(edges), nil
}

// sortedIfNeeded makes which unknown id an error names independent of the list's order.
func sortedIfNeeded(ids []string) []string {
	if len(ids) < 2 || sort.StringsAreSorted(ids) {
		return ids
	}
	ids = slices.Clone(ids)
	sort.Strings(ids)
	return ids
}

func uniqueEdges(edges []edge) []edge {
	slices.SortFunc(edges, edge.compare)
	return slices.Compact(edges)
}

// adjacency turns sorted edges into lists: node n's neighbours are out[start[n]:start[n+1]].
func adjacency(nodes int, edges []edge) (out, start []int32) {
	out, start = make([]int32, len(edges)), make([]int32, nodes+1)
	for i, e := range edges {
		out[i] = e.to
		start[e.from+1]++
	}
	for n := range nodes {
		start[n+1] += start[n]
	}
	return out, start
}

// components finds the strongly connected components (Tarjan's algorithm, without recursion because chains are long).
// A component is numbered after all that it leads to.
func components(nodes int, out, start []int32) (comp []int32, count int32) {
	const unseen = -1
	comp = make([]int32, nodes)
	order, low, next := make([]int32, nodes), make([]int32, nodes), slices.Clone(start[:nodes])
	for n := range nodes {
		comp[n], order[n] = unseen, unseen
	}
	var open, path []int32 // nodes without a component yet; the way from the root to here
	seen := int32(0)
	enter := func(n int32) {
		order[n], low[n] = seen, seen
		seen++
		open, path = append(open, n), append(path, n)
	}
	for root := range int32(nodes) {
		if order[root] != unseen {
			continue
		}
		enter(root)
		for len(path) > 0 {
			n := path[len(path)-1]
			if next[n] < start[n+1] {
				to := out[next[n]]
				next[n]++
				if order[to] == unseen {
					enter(to)
				} else if comp[to] == unseen {
					low[n] = min(low[n], order[to])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				parent := path[len(path)-1]
				low[parent] = min(low[parent], low[n])
			}
			if low[n] != order[n] {
				continue
			}
			for closed := false; !closed; {
				last := open[len(open)-1]
				open = open[:len(open)-1]
				comp[last] = count
				closed = last == n
			}
			count++
		}
	}
	return comp, count
}

func (g *graph) buildUnits(node, comp []int32, comps int32, edges []edge) {
	g.units = make([]unit, comps)
	g.unitOf = make([]int32, len(g.cs))
	size := make([]int32, comps)
	for i := range g.cs {
		g.unitOf[i] = comp[node[i]]
		size[g.unitOf[i]]++
	}
	members := make([]int32, 0, len(g.cs)) // one array for all lists: no reallocation, so the slices stay valid
	for u := range g.units {
		from := len(members)
		members = members[:from+int(size[u])]
		g.units[u].members = members[from:from:len(members)]
	}
	for i := range g.cs {
		g.units[g.unitOf[i]].add(int32(i), &g.cs[i])
	}
	for u := range g.units {
		g.units[u].judgeAsOne(g.cs)
	}
	unitEdges := edges[:0]
	for _, e := range edges {
		if comp[e.from] != comp[e.to] {
			unitEdges = append(unitEdges, edge{comp[e.from], comp[e.to]})
		}
	}
	out, start := adjacency(len(g.units), uniqueEdges(unitEdges))
	for u := range g.units {
		g.units[u].deps = out[start[u]:start[u+1]]
	}
}

func (u *unit) add(i int32, c *Candidate) {
	if len(u.members) == 0 {
		u.priority, u.score, u.seq = c.Priority, c.Score, c.Seq
	}
	u.members = append(u.members, i)
	u.tokens += c.Tokens
	u.priority, u.score, u.seq = max(u.priority, c.Priority), max(u.score, c.Score), max(u.seq, c.Seq)
	u.required = u.required || c.Required
	u.pinned = u.pinned || c.Pinned
	u.sent = u.sent || c.Sent
}

// judgeAsOne settles what one member decides for all, and which member it is: the first, by id.
func (u *unit) judgeAsOne(cs []Candidate) {
	decides := func(c *Candidate) bool {
		switch {
		case u.required:
			return c.Required
		case u.pinned:
			return c.Pinned
		}
		return c.TTL != nil && *c.TTL == 0
	}
	for _, m := range u.members {
		if decides(&cs[m]) {
			u.reasonFrom = m
			u.expired = !u.must()
			return
		}
	}
}
