package contextplan

import "math"

// maxRounds bounds how often Build starts anew because something that it had taken was made redundant by something that
// it judged later. One or two rounds are usual; each adds rules to the order, and it ends when there is no new one.
const maxRounds = 32

// minLatestTokens is what must be left of the latest request when it is cut: a request of nothing asks nothing.
const minLatestTokens = 1

// Build chooses what the model sees. It is a pure function of in, and of in's content only: the order of candidates and
// of their lists is without effect. It returns an *InputError for an input that makes no sense and an *OverflowError
// when what must be in does not fit.
//
// What must be in (required, pinned, and all that these depend on) is taken first. The other units are judged one after
// the other, the most important first; each is taken, with all that it depends on, if it is not redundant and fits.
// A unit that did not fit once can't fit later: what is taken in between uses up at least as much room as it saves.
func Build(in Input) (Plan, error) {
	s, err := choose(in)
	if err != nil {
		return Plan{}, err
	}
	return s.plan(), nil
}

func choose(in Input) (*selection, error) {
	g, err := newGraph(in)
	if err != nil {
		return nil, err
	}
	s := newSelection(g, in.Budget.Prompt())
	if s.mustTokens > s.prompt {
		if s.cut = latestRequest(g, s.in); in.Overflow != OverflowTruncateLatest || !s.cutLatest() {
			return nil, s.overflowError()
		}
	}
	order := newOrder(g)
	for round := 0; ; round++ {
		s.run(order.sequence())
		if round == maxRounds || !order.judgeEarlier(s.overtaken()) {
			return s, nil
		}
	}
}

// selection is the state of one choice: which units are in, what brought each, and which can't fit.
type selection struct {
	g          *graph
	prompt     int
	mustTokens int
	must       []int32 // units that must be in, dependencies first
	cut        int32   // the candidate that is cut, or none
	cutTokens  int     // by how much

	left   int
	in     []bool
	root   []int32 // unit: the unit chosen in its turn that brought it; itself where it was chosen
	needed []bool  // unit: something included depends on it
	// over is, for units that are out, a lower bound of how much more than left it would take to include them. Taking
	// another unit lowers left by at least as much as it lowers what this one costs: so a bound holds for good, and what
	// is over once never fits again.
	over    []int
	refined []bool // unit: over was counted exactly once in this run
	red     *redundancy

	visited []int32 // unit → number of the last walk that saw it
	walks   int32
	closure []int32 // what the last walk found
	work    int     // how many steps all this took, for the test that it stays near linear
}

func newSelection(g *graph, prompt int) *selection {
	n := len(g.units)
	s := &selection{
		g: g, prompt: prompt, cut: none, left: math.MaxInt,
		in: make([]bool, n), root: make([]int32, n), needed: make([]bool, n),
		over: make([]int, n), refined: make([]bool, n), visited: make([]int32, n),
		red: newRedundancy(g),
	}
	for u := range g.units {
		if g.units[u].must() && !s.in[u] {
			s.mustTokens += s.measure(int32(u))
			for _, v := range s.closure {
				s.in[v] = true
			}
		}
	}
	for u := range g.units {
		if s.in[u] {
			s.must = append(s.must, int32(u))
		}
	}
	return s
}

// latestRequest is the included candidate that a cut would be made from: the request with the highest seq, the last by id.
func latestRequest(g *graph, in []bool) int32 {
	latest := none
	for i := range g.cs {
		if g.cs[i].Section == Request && (latest == none || g.cs[i].Seq >= g.cs[latest].Seq) {
			latest = int32(i)
		}
	}
	if latest == none || !in[g.unitOf[latest]] {
		return none
	}
	return latest
}

// cutLatest decides how much is cut off the latest request, and reports whether that is enough.
func (s *selection) cutLatest() bool {
	over := s.mustTokens - s.prompt
	if s.cut == none || s.g.cs[s.cut].Tokens-over < minLatestTokens {
		return false
	}
	s.cutTokens = over
	return true
}

// run makes the selection from nothing, judging the units in the given order.
func (s *selection) run(sequence []int32) {
	s.red.reset()
	s.left = s.prompt + s.cutTokens
	for u := range s.in {
		s.in[u], s.root[u], s.needed[u], s.refined[u] = false, none, false, false
	}
	for _, u := range s.must {
		s.take(u, mustRoot)
	}
	for u := range s.g.units { // ascending: what u depends on is known
		if !s.in[u] {
			s.over[u] = -s.left + s.g.units[u].tokens
			s.raiseOver(int32(u))
		}
	}
	s.work += len(sequence)
	for _, u := range sequence {
		if s.in[u] || s.g.units[u].expired {
			continue
		}
		if _, redundant := s.red.unitRedundant(u, none); redundant || !s.fits(u) {
			continue
		}
		for _, v := range s.closure {
			s.take(v, u)
		}
	}
}

func (s *selection) take(u, root int32) {
	s.in[u], s.root[u] = true, root
	s.left -= s.g.units[u].tokens
	for _, d := range s.g.units[u].deps {
		s.needed[d] = true
	}
	for _, m := range s.g.units[u].members {
		s.red.include(m, root)
	}
}

// raiseOver improves u's bound by those of its dependencies, which u can't go without.
func (s *selection) raiseOver(u int32) {
	for _, d := range s.g.units[u].deps {
		if !s.in[d] {
			s.over[u] = max(s.over[u], s.over[d]+s.g.units[u].tokens)
		}
	}
}

// fits reports whether u and all that it depends on go into what is left; if so, closure lists what isn't in yet.
func (s *selection) fits(u int32) bool {
	s.raiseOver(u)
	if s.over[u] > 0 {
		return false
	}
	if s.over[u] = max(s.over[u], s.measure(u)-s.left); s.over[u] <= 0 {
		return true
	}
	// The next unit that depends on the same ones should know without a walk.
	for _, d := range s.g.units[u].deps {
		if !s.in[d] && !s.refined[d] && s.over[d] <= 0 {
			s.refined[d] = true
			s.over[d] = max(s.over[d], s.measure(d)-s.left)
		}
	}
	return false
}

// measure walks over u and what it depends on and isn't in, and returns the tokens of all that. It stops early, with
// something more than left, when it meets what can't fit.
func (s *selection) measure(u int32) int {
	s.walks++
	s.visited[u] = s.walks
	s.closure = append(s.closure[:0], u)
	sum := 0
	for i := 0; i < len(s.closure); i++ {
		v := s.closure[i]
		sum += s.g.units[v].tokens
		if s.over[v] > 0 || sum > s.left {
			return max(sum, s.left+1)
		}
		s.work += 1 + len(s.g.units[v].deps)
		for _, d := range s.g.units[v].deps {
			if !s.in[d] && s.visited[d] != s.walks {
				s.visited[d] = s.walks
				s.closure = append(s.closure, d)
			}
		}
	}
	return sum
}

// overtaken lists the units that were chosen and then made redundant by what came in later, each with the units that
// should be judged before it. What something included depends on stays, redundant or not.
func (s *selection) overtaken() []edge {
	var found []edge
	for u := range int32(len(s.in)) {
		if s.root[u] != u || s.needed[u] {
			continue
		}
		kind, redundant := s.red.unitRedundant(u, u)
		if !redundant {
			continue
		}
		for _, m := range s.g.units[u].members {
			c := s.red.cover(kind, m, u)
			if c.root == mustRoot {
				continue // was in before u was judged, so another member's cover is what came later
			}
			found = append(found, edge{u, c.root})
			if by := s.g.unitOf[c.candidate]; by != c.root && !s.g.units[by].expired {
				found = append(found, edge{u, by})
			}
		}
	}
	return uniqueEdges(found)
}
