package contextplan

import (
	"errors"
	"fmt"
	"slices"
)

// Check verifies a plan against its input: every contract of the package, found out anew rather than as Build does it.
// It shares with Build only the reading of the input (newGraph), which has its own tests. It is for tests, for debugging
// and for plans from elsewhere; unlike Build it may take quadratic time.
func Check(in Input, p Plan) error {
	g, err := newGraph(in)
	if err != nil {
		return err
	}
	c := &checker{g: g, in: in, p: &p, pos: make([]int, len(g.cs)), unitIn: make([]bool, len(g.units)), needed: make([]bool, len(g.units))}
	for _, step := range []func() error{
		c.everyCandidateOnce, c.sendingOrder, c.wholeUnits, c.budget, c.includedReasons, c.excludedReasons, c.noRedundancy, c.identity,
	} {
		if err := step(); err != nil {
			return fmt.Errorf("plan %s: %w", p.PlanID, err)
		}
	}
	return nil
}

type checker struct {
	g      *graph
	in     Input
	p      *Plan
	pos    []int // candidate → 1 + its place in included, or -1 - its place in excluded
	unitIn []bool
	needed []bool // unit: an included unit depends on it
	left   int
	covers includedCovers
}

func (c *checker) item(i int32) *Item {
	if at := c.pos[i]; at > 0 {
		return &c.p.Included[at-1]
	} else {
		return &c.p.Excluded[-at-1]
	}
}

func (c *checker) everyCandidateOnce() error {
	index := indexOf(c.g.cs)
	place := func(items []Item, sign int) error {
		for at, item := range items {
			i, ok := index(item.ID)
			switch {
			case !ok:
				return fmt.Errorf("%q is no candidate", item.ID)
			case c.pos[i] != 0:
				return fmt.Errorf("%q is in it twice", item.ID)
			case item.Section != c.g.cs[i].Section:
				return fmt.Errorf("%q has section %q, not %q", item.ID, item.Section, c.g.cs[i].Section)
			case item.Detail == "":
				return fmt.Errorf("%q has no detail", item.ID)
			}
			want := c.g.cs[i].Tokens
			if o := c.p.Overflow; o != nil && o.Candidate == item.ID && sign > 0 {
				want = o.To
			}
			if item.Tokens != want {
				return fmt.Errorf("%q has %d tokens, not %d", item.ID, item.Tokens, want)
			}
			c.pos[i] = sign * (at + 1)
		}
		return nil
	}
	if err := place(c.p.Included, 1); err != nil {
		return err
	}
	if err := place(c.p.Excluded, -1); err != nil {
		return err
	}
	for i, at := range c.pos {
		if at == 0 {
			return fmt.Errorf("%q is neither in nor out", c.g.cs[i].ID)
		}
	}
	return nil
}

func (c *checker) sendingOrder() error {
	index := indexOf(c.g.cs)
	for _, items := range [][]Item{c.p.Included, c.p.Excluded} {
		for n := 1; n < len(items); n++ {
			i, _ := index(items[n-1].ID)
			j, _ := index(items[n].ID)
			a, b := &c.g.cs[i], &c.g.cs[j]
			stableA, stableB := slices.Index(Sections()[:stableSections], a.Section), slices.Index(Sections()[:stableSections], b.Section)
			inOrder := true
			switch {
			case stableA >= 0 && stableB >= 0 && stableA != stableB:
				inOrder = stableA < stableB
			case (stableA >= 0) != (stableB >= 0):
				inOrder = stableA >= 0
			case a.Seq != b.Seq:
				inOrder = a.Seq < b.Seq
			case a.Section != b.Section:
				inOrder = slices.Index(Sections(), a.Section) < slices.Index(Sections(), b.Section)
			default:
				inOrder = a.ID < b.ID
			}
			if !inOrder {
				return fmt.Errorf("%q comes before %q", a.ID, b.ID)
			}
		}
	}
	return nil
}

func (c *checker) wholeUnits() error {
	for u := range c.g.units {
		members := c.g.units[u].members
		for _, m := range members {
			if (c.pos[m] > 0) != (c.pos[members[0]] > 0) {
				return fmt.Errorf("%q and %q belong together, and one is in, one out", c.g.cs[members[0]].ID, c.g.cs[m].ID)
			}
		}
		c.unitIn[u] = c.pos[members[0]] > 0
	}
	for u := range c.g.units {
		for _, d := range c.g.units[u].deps {
			if c.unitIn[u] && !c.unitIn[d] {
				return fmt.Errorf("%q is in without %q, on which it depends", c.name(u), c.name(int(d)))
			}
			c.needed[d] = c.needed[d] || c.unitIn[u]
		}
	}
	return nil
}

func (c *checker) name(u int) string { return c.g.cs[c.g.units[u].members[0]].ID }

func (c *checker) budget() error {
	estimated := 0
	for _, item := range c.p.Included {
		estimated += item.Tokens
	}
	b := c.p.Budget
	switch {
	case b.Prompt != c.in.Budget.ContextWindow-c.in.Budget.ReserveOutput:
		return fmt.Errorf("the prompt is %d, not %d", b.Prompt, c.in.Budget.Prompt())
	case b.Estimated != estimated:
		return fmt.Errorf("estimated says %d, the items sum up to %d", b.Estimated, estimated)
	case estimated > b.Prompt:
		return fmt.Errorf("estimated %d is over the prompt of %d", estimated, b.Prompt)
	}
	c.left = b.Prompt - estimated
	must, seen := 0, make([]bool, len(c.g.units))
	for u := range c.g.units {
		if c.g.units[u].must() {
			must += c.closure(u, func(v int) bool { return !seen[v] }, func(v int) { seen[v] = true })
		}
	}
	o := c.p.Overflow
	if must <= b.Prompt {
		if o != nil {
			return errors.New("it says overflow, and there is none")
		}
		return nil
	}
	if o == nil || c.in.Overflow != OverflowTruncateLatest {
		return errors.New("what must be in does not fit, and it doesn't say overflow")
	}
	i, ok := indexOf(c.g.cs)(o.Candidate)
	if !ok || c.pos[i] < 0 || o.From != c.g.cs[i].Tokens || o.To < minLatestTokens || o.From-o.To != must-b.Prompt {
		return fmt.Errorf("the overflow %+v does not cut %d tokens of an included candidate", *o, must-b.Prompt)
	}
	for j := range c.g.cs {
		if other := &c.g.cs[j]; c.g.cs[i].Section != Request || other.Section == Request && other.Seq > c.g.cs[i].Seq {
			return fmt.Errorf("it cuts %q, which is not the latest request", o.Candidate)
		}
	}
	return nil
}

// closure visits u and all that it depends on, as far as enter lets it, and returns the tokens of what it visited.
func (c *checker) closure(u int, enter func(int) bool, visit func(int)) int {
	sum, stack := 0, []int{u}
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !enter(v) {
			continue
		}
		visit(v)
		sum += c.g.units[v].tokens
		for _, d := range c.g.units[v].deps {
			stack = append(stack, int(d))
		}
	}
	return sum
}

// missing is what u's closure would cost on top of the plan.
func (c *checker) missing(u int) int {
	seen := map[int]bool{}
	return c.closure(u, func(v int) bool { return !c.unitIn[v] && !seen[v] }, func(v int) { seen[v] = true })
}

func (c *checker) includedReasons() error {
	for u := range c.g.units {
		if !c.unitIn[u] {
			continue
		}
		unit := &c.g.units[u]
		for _, m := range unit.members {
			reason, ok := c.item(m).Reason, false
			switch {
			case unit.required:
				ok = reason == ReasonRequired
			case unit.pinned:
				ok = reason == ReasonPinned
			case unit.expired:
				ok = reason == ReasonDependency && c.needed[u]
			default:
				ok = reason == ReasonBudget || reason == ReasonDependency && c.needed[u]
			}
			if !ok {
				return fmt.Errorf("%q is in with reason %q", c.g.cs[m].ID, reason)
			}
		}
	}
	return nil
}

func (c *checker) excludedReasons() error {
	c.covers = c.coversOf(func(i int32) bool { return c.pos[i] > 0 })
	for u := range c.g.units {
		if c.unitIn[u] {
			continue
		}
		unit := &c.g.units[u]
		if unit.must() {
			return fmt.Errorf("%q is out, and it is required or pinned", c.name(u))
		}
		var want Reason
		if kind, redundant := c.covers.unit(u); unit.expired {
			want = ReasonTTL
		} else if redundant {
			want = kind
		} else if cost := c.missing(u); cost <= c.left {
			return fmt.Errorf("%q is out, and it would take %d of the %d left", c.name(u), cost, c.left)
		} else {
			want = ReasonBudget
			if unit.tokens <= c.left {
				want = ReasonDependency
			}
			for _, d := range unit.deps {
				if c.missing(int(d)) > c.left {
					want = ReasonDependency
				}
			}
		}
		for _, m := range unit.members {
			if got := c.item(m).Reason; got != want {
				return fmt.Errorf("%q is out with reason %q, not %q", c.g.cs[m].ID, got, want)
			}
		}
	}
	return nil
}

// noRedundancy holds for what was chosen for itself, unless what makes it redundant is there only because of it, or
// unless units make each other redundant in a circle, where one has to win.
func (c *checker) noRedundancy() error {
	for u := range c.g.units {
		unit := &c.g.units[u]
		if !c.unitIn[u] || unit.must() || c.needed[u] {
			continue
		}
		if _, redundant := c.covers.unit(u); !redundant {
			continue
		}
		own := make([]bool, len(c.g.units))
		c.closure(u, func(v int) bool { return !own[v] }, func(v int) { own[v] = true })
		kind, redundant := c.coversOf(func(i int32) bool { return c.pos[i] > 0 && !own[c.g.unitOf[i]] }).unit(u)
		if redundant && !c.inCircle(u) {
			return fmt.Errorf("%q is in for its rank, and it is %s", c.name(u), kind)
		}
	}
	return nil
}

// inCircle reports whether u could make redundant something that could make redundant … u.
func (c *checker) inCircle(u int) bool {
	reached, queue := make([]bool, len(c.g.units)), []int{u}
	for len(queue) > 0 {
		from := make([]bool, len(c.g.units))
		c.closure(queue[0], func(v int) bool { return !from[v] }, func(v int) { from[v] = true })
		queue = queue[1:]
		covers := c.coversOf(func(i int32) bool { return from[c.g.unitOf[i]] })
		for v := range c.g.units {
			if !reached[v] && covers.any(v) {
				reached[v] = true
				queue = append(queue, v)
			}
		}
	}
	return reached[u]
}

// identity checks the id and the breakpoints.
func (c *checker) identity() error {
	if want := planID(c.p); c.p.PlanID != want {
		return fmt.Errorf("the content's id is %s", want)
	}
	index := indexOf(c.g.cs)
	var want []int
	for at := len(c.p.Included) - 1; at >= 0; at-- {
		if slices.Contains(Sections()[:stableSections], c.p.Included[at].Section) {
			want = append(want, at)
			break
		}
	}
	for at := len(c.p.Included) - 1; at >= 0; at-- {
		if i, _ := index(c.p.Included[at].ID); c.g.cs[i].Sent {
			want = append(want, at)
			break
		}
	}
	slices.Sort(want)
	if !slices.Equal(slices.Compact(want), c.p.Breakpoints) {
		return fmt.Errorf("the breakpoints are %v, not %v", c.p.Breakpoints, want)
	}
	return nil
}
