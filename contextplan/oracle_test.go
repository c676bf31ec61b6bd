package contextplan

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naive finds units by reachability in a matrix, and chooses with no shortcut at all: no bounds, no indexes, every
// closure walked and every pair of candidates compared each time.
type naive struct {
	in    Input
	reach [][]bool // candidate a can't be in without b
	isIn  []bool
}

func newNaive(in Input) *naive {
	n := len(in.Candidates)
	o := &naive{in: in, reach: make([][]bool, n), isIn: make([]bool, n)}
	for a := range n {
		o.reach[a] = make([]bool, n)
		for b := range n {
			x, y := in.Candidates[a], in.Candidates[b]
			o.reach[a][b] = a == b || x.Group != "" && x.Group == y.Group || slices.Contains(x.DependsOn, y.ID)
		}
	}
	for via := range n {
		for a := range n {
			for b := range n {
				o.reach[a][b] = o.reach[a][b] || o.reach[a][via] && o.reach[via][b]
			}
		}
	}
	return o
}

func (o *naive) together(a, b int) bool { return o.reach[a][b] && o.reach[b][a] }

func (o *naive) anyOf(a int, holds func(Candidate) bool) bool {
	for b := range o.isIn {
		if o.together(a, b) && holds(o.in.Candidates[b]) {
			return true
		}
	}
	return false
}

func (o *naive) must(a int) bool {
	return o.anyOf(a, func(c Candidate) bool { return c.Required || c.Pinned })
}

func TestUnitsAreWhatReachesEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		g, err := newGraph(in)
		if err != nil {
			t.Fatal(err)
		}
		o := newNaive(in) // the generator's ids are in order, so the candidates have the same numbers
		for a := range g.cs {
			for b := range g.cs {
				if (g.unitOf[a] == g.unitOf[b]) != o.together(a, b) {
					t.Fatalf("%s and %s: one unit %v, reach each other %v", g.cs[a].ID, g.cs[b].ID, g.unitOf[a] == g.unitOf[b], o.together(a, b))
				}
				if g.unitOf[a] != g.unitOf[b] && o.reach[a][b] && g.unitOf[a] < g.unitOf[b] {
					t.Fatalf("%s depends on %s, which has a higher unit", g.cs[a].ID, g.cs[b].ID)
				}
			}
			u := &g.units[g.unitOf[a]]
			expired := o.anyOf(a, func(c Candidate) bool { return c.TTL != nil && *c.TTL == 0 }) && !o.must(a)
			if u.must() != o.must(a) || u.expired != expired {
				t.Fatalf("%s: must be in %v, expired %v", g.cs[a].ID, u.must(), u.expired)
			}
		}
	})
}

// TestGreedyChoiceWithoutShortcuts: where nothing is redundant, the choice is plain: what must be in, then by rank what
// fits with all that it depends on.
func TestGreedyChoiceWithoutShortcuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		in.Overflow = OverflowFail
		for i := range in.Candidates {
			c := &in.Candidates[i]
			c.ContentHash, c.Span, c.Supersedes = "", nil, nil
		}
		o := newNaive(in)
		fits := o.greedy()
		p, err := Build(in)
		var overflow *OverflowError
		if errors.As(err, &overflow) != !fits {
			t.Fatalf("%v; the naive choice fits: %v", err, fits)
		}
		for _, item := range p.Included {
			at := slices.IndexFunc(in.Candidates, func(c Candidate) bool { return c.ID == item.ID })
			if !o.isIn[at] {
				t.Fatalf("%s is in, the naive choice is %v", item.ID, o.isIn)
			}
			o.isIn[at] = false
		}
		if fits && slices.Contains(o.isIn, true) {
			t.Fatalf("the naive choice holds more: %v\n%+v", o.isIn, p)
		}
	})
}

func (o *naive) greedy() bool {
	cs := o.in.Candidates
	left := o.in.Budget.Prompt()
	cost := func(a int) (sum int) {
		for b := range cs {
			if o.reach[a][b] && !o.isIn[b] {
				sum += cs[b].Tokens
			}
		}
		return sum
	}
	take := func(a int) {
		left -= cost(a)
		for b := range cs {
			o.isIn[b] = o.isIn[b] || o.reach[a][b]
		}
	}
	for a := range cs {
		if o.must(a) {
			take(a)
		}
	}
	if left < 0 {
		return false
	}
	best := func(a int, value func(Candidate) float64) (most float64) {
		first := true
		for b := range cs {
			if v := value(cs[b]); o.together(a, b) && (first || v > most) {
				most, first = v, false
			}
		}
		return most
	}
	order := make([]int, len(cs))
	for a := range order {
		order[a] = a
	}
	unitTokens := func(a int) (sum int) {
		for b := range cs {
			if o.together(a, b) {
				sum += cs[b].Tokens
			}
		}
		return sum
	}
	slices.SortStableFunc(order, func(a, b int) int {
		for _, value := range []func(Candidate) float64{
			func(c Candidate) float64 { return c.Priority },
			func(c Candidate) float64 {
				if c.Sent {
					return 1
				}
				return 0
			},
			func(c Candidate) float64 { return c.Score },
			func(c Candidate) float64 { return float64(c.Seq) },
		} {
			if n := cmp.Compare(best(b, value), best(a, value)); n != 0 {
				return n
			}
		}
		return cmp.Compare(unitTokens(a), unitTokens(b))
	})
	for _, a := range order {
		expired := o.anyOf(a, func(c Candidate) bool { return c.TTL != nil && *c.TTL == 0 })
		if !o.isIn[a] && !expired && cost(a) <= left {
			take(a)
		}
	}
	return true
}
