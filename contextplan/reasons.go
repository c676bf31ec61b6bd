package contextplan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// plan writes down what was chosen: every candidate once, in the order of sending, with its reason.
func (s *selection) plan() Plan {
	p := Plan{Budget: PlanBudget{Prompt: s.prompt, Estimated: s.prompt - s.left}}
	included := 0
	for u := range s.in {
		if s.in[u] {
			included += len(s.g.units[u].members)
		}
	}
	p.Included, p.Excluded, p.Breakpoints = make([]Item, 0, included), make([]Item, 0, len(s.g.cs)-included), []int{}
	stable, sent := -1, -1
	r := newReasons(s)
	for _, i := range s.g.sendingOrder() {
		c := &s.g.cs[i]
		u := s.g.unitOf[i]
		item := Item{ID: c.ID, Section: c.Section, Tokens: c.Tokens}
		if !s.in[u] {
			item.Reason, item.Detail = r.excluded(i, u)
			p.Excluded = append(p.Excluded, item)
			continue
		}
		item.Reason, item.Detail = r.included(i, u)
		if i == s.cut && s.cutTokens > 0 {
			item.Tokens -= s.cutTokens
			p.Overflow = &Overflow{Candidate: c.ID, From: c.Tokens, To: item.Tokens}
			item.Detail += fmt.Sprintf("; cut from %d to %d, because what must be in needed %d of %d", c.Tokens, item.Tokens, s.mustTokens, s.prompt)
		}
		if sectionRank(c.Section) < stableSections {
			stable = len(p.Included)
		}
		if c.Sent {
			sent = len(p.Included)
		}
		p.Included = append(p.Included, item)
	}
	for _, at := range []int{min(stable, sent), max(stable, sent)} {
		if at >= 0 && !slices.Contains(p.Breakpoints, at) {
			p.Breakpoints = append(p.Breakpoints, at)
		}
	}
	p.PlanID = planID(&p)
	return p
}

// sendingOrder is the order of a plan: the stable sections one by one, then the timeline by seq; ties end in id.
func (g *graph) sendingOrder() []int32 {
	// The keys lie side by side: comparing candidates, which are large, would wait for memory most of the time.
	type key struct {
		block, section int8 // the stable sections are a block each, the timeline is one
		candidate      int32
		seq            int
	}
	keys := make([]key, len(g.cs))
	for i := range keys {
		section := sectionRank(g.cs[i].Section)
		keys[i] = key{int8(min(section, stableSections)), int8(section), int32(i), g.cs[i].Seq}
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.block != b.block:
			return int(a.block) - int(b.block)
		case a.seq != b.seq:
			return cmp.Compare(a.seq, b.seq)
		case a.section != b.section:
			return int(a.section) - int(b.section)
		}
		return int(a.candidate) - int(b.candidate)
	})
	order := make([]int32, len(keys))
	for n := range keys {
		order[n] = keys[n].candidate
	}
	return order
}

// reasons gives each candidate its one reason. Everything about a unit is found out once, however many members it has.
type reasons struct {
	*selection
	known  []bool
	why    []Reason
	detail []string // the same for all members, but for redundancy, which names each member's own cover
	fit    []int8   // unit: whether it would still fit; 0 not asked yet, 1 yes, -1 no
	parent []int32  // unit: an included unit that depends on it
}

func newReasons(s *selection) *reasons {
	n := len(s.g.units)
	r := &reasons{s, make([]bool, n), make([]Reason, n), make([]string, n), make([]int8, n), make([]int32, n)}
	for u := range r.parent {
		r.parent[u] = none
	}
	for u := range s.g.units {
		if s.in[u] {
			for _, d := range s.g.units[u].deps {
				if r.parent[d] == none {
					r.parent[d] = int32(u)
				}
			}
		}
	}
	return r
}

func (r *reasons) name(u int32) string { return r.g.cs[r.g.units[u].members[0]].ID }

func (r *reasons) included(i, u int32) (Reason, string) {
	unit := &r.g.units[u]
	with := func(what string) string {
		if unit.reasonFrom == i {
			return what
		}
		return "goes with " + r.g.cs[unit.reasonFrom].ID + ", which is " + what
	}
	switch {
	case unit.required:
		return ReasonRequired, with("required")
	case unit.pinned:
		return ReasonPinned, with("pinned")
	}
	if !r.known[u] {
		r.known[u] = true
		_, redundant := r.red.unitRedundant(u, u)
		switch {
		case r.root[u] != u || redundant && r.needed[u]:
			r.why[u], r.detail[u] = ReasonDependency, "comes with "+r.name(r.parent[u])+", which depends on it"
		default:
			r.why[u], r.detail[u] = ReasonBudget, r.rankDetail(unit)
		}
	}
	return r.why[u], r.detail[u]
}

func (r *reasons) rankDetail(u *unit) string {
	b := append(make([]byte, 0, 48), "priority "...)
	b = strconv.AppendFloat(b, u.priority, 'g', -1, 64)
	if u.score != 0 {
		b = strconv.AppendFloat(append(b, ", score "...), u.score, 'g', 4, 64)
	}
	if u.sent {
		b = append(b, ", sent before"...)
	}
	return string(b)
}

func (r *reasons) excluded(i, u int32) (Reason, string) {
	if !r.known[u] {
		r.known[u] = true
		r.why[u], r.detail[u] = r.unitExcluded(u)
	}
	switch r.why[u] {
	case ReasonTTL:
		if from := r.g.units[u].reasonFrom; from != i {
			return ReasonTTL, "goes with " + r.g.cs[from].ID + ", which expired after its last turn"
		}
		return ReasonTTL, "expired after its last turn"
	case ReasonDuplicate, ReasonShadowed, ReasonSuperseded:
		return r.why[u], r.coverDetail(r.why[u], i)
	}
	return r.why[u], r.detail[u]
}

func (r *reasons) coverDetail(kind Reason, i int32) string {
	by := &r.g.cs[r.red.cover(kind, i, none).candidate]
	switch kind {
	case ReasonDuplicate:
		return "same content as " + by.ID
	case ReasonShadowed:
		return "inside " + by.ID + " (" + by.Span.Path + ":" + strconv.Itoa(by.Span.Start) + "-" + strconv.Itoa(by.Span.End) + ")"
	}
	return "superseded by " + by.ID
}

// unitExcluded finds the reason of a unit that is out, judged against the whole plan and what it leaves.
func (r *reasons) unitExcluded(u int32) (Reason, string) {
	unit := &r.g.units[u]
	if unit.expired {
		return ReasonTTL, ""
	}
	if kind, redundant := r.red.unitRedundant(u, none); redundant {
		return kind, ""
	}
	missing := none
	for _, d := range unit.deps {
		if r.in[d] {
			continue
		}
		if !r.wouldFit(d) {
			return ReasonDependency, fmt.Sprintf("depends on %s, which can't fit: %d left", r.name(d), r.left)
		}
		if missing == none {
			missing = d
		}
	}
	whose := "needed "
	if len(unit.members) > 1 {
		whose = "needed with its group "
	}
	if missing != none && unit.tokens <= r.left {
		return ReasonDependency, fmt.Sprintf("%s%d and what it depends on (%s), %d left", whose, unit.tokens, r.name(missing), r.left)
	}
	return ReasonBudget, whose + strconv.Itoa(unit.tokens) + ", " + strconv.Itoa(r.left) + " left"
}

// wouldFit is fits, remembered: nothing changes any more.
func (r *reasons) wouldFit(u int32) bool {
	if r.fit[u] == 0 {
		r.fit[u] = -1
		if r.fits(u) {
			r.fit[u] = 1
		}
	}
	return r.fit[u] > 0
}

// overflowError lists what must be in, in the order of sending.
func (s *selection) overflowError() *OverflowError {
	e := &OverflowError{Prompt: s.prompt, Needed: s.mustTokens}
	r := newReasons(s)
	for u := range s.in {
		s.root[u] = mustRoot
	}
	for _, i := range s.g.sendingOrder() {
		if u := s.g.unitOf[i]; s.in[u] {
			c := &s.g.cs[i]
			reason, detail := r.included(i, u)
			e.Required = append(e.Required, Item{c.ID, c.Section, c.Tokens, reason, detail})
		}
	}
	return e
}
