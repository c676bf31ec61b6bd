package contextplan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// stableSections is how many of Sections, from the front, go before the timeline.
const stableSections = 5

// sectionRank gives a section's place in Sections, or -1 when it isn't one.
func sectionRank(s Section) int {
	switch s {
	case System:
		return 0
	case Instructions:
		return 1
	case Pinned:
		return 2
	case Memory:
		return 3
	case Summary:
		return 4
	case History:
		return 5
	case Retrieval:
		return 6
	case Focus:
		return 7
	case Reflection:
		return 8
	case Request:
		return 9
	}
	return -1
}

// sortedCandidates returns the candidates in order of id, checked: from here on nothing depends on the order of arrival.
func sortedCandidates(in Input) ([]Candidate, error) {
	if err := checkBudget(in); err != nil {
		return nil, err
	}
	byID := func(a, b Candidate) int { return strings.Compare(a.ID, b.ID) }
	cs := in.Candidates
	if !slices.IsSortedFunc(cs, byID) {
		cs = sortedCopy(cs)
	}
	for i := range cs {
		if i > 0 && cs[i].ID == cs[i-1].ID {
			return nil, &InputError{cs[i].ID, "id", "two candidates have it; ids must be unique"}
		}
		if err := checkCandidate(&cs[i]); err != nil {
			return nil, err
		}
	}
	return cs, nil
}

// sortedCopy moves each (large) candidate once, after sorting their positions.
func sortedCopy(cs []Candidate) []Candidate {
	type key struct {
		id   string
		from int
	}
	keys := make([]key, len(cs))
	for i := range keys {
		keys[i] = key{cs[i].ID, i}
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.id, b.id) })
	out := make([]Candidate, len(cs))
	for i, k := range keys {
		out[i] = cs[k.from]
	}
	return out
}

func checkBudget(in Input) error {
	b := in.Budget
	switch {
	case b.ContextWindow < 0 || b.ContextWindow > MaxTokens:
		return &InputError{"", "budget.contextWindow", fmt.Sprintf("is %d; it must be 0 to %d", b.ContextWindow, MaxTokens)}
	case b.ReserveOutput < 0 || b.ReserveOutput > MaxTokens:
		return &InputError{"", "budget.reserveOutput", fmt.Sprintf("is %d; it must be 0 to %d", b.ReserveOutput, MaxTokens)}
	case b.ReserveOutput > b.ContextWindow:
		return &InputError{"", "budget.reserveOutput", fmt.Sprintf("is %d, more than the context window of %d; nothing would be left for the prompt", b.ReserveOutput, b.ContextWindow)}
	case in.Overflow != "" && in.Overflow != OverflowFail && in.Overflow != OverflowTruncateLatest:
		return &InputError{"", "overflow", fmt.Sprintf("is %q; it must be %q or %q", in.Overflow, OverflowFail, OverflowTruncateLatest)}
	case len(in.Candidates) > MaxCandidates:
		return &InputError{"", "candidates", fmt.Sprintf("there are %d; at most %d can be planned", len(in.Candidates), MaxCandidates)}
	}
	return nil
}

func checkCandidate(c *Candidate) error {
	field, problem := "", ""
	switch {
	case c.ID == "":
		field, problem = "id", "is empty; every candidate needs one"
	case !utf8.ValidString(c.ID):
		field, problem = "id", "is not valid UTF-8"
	case sectionRank(c.Section) < 0:
		field, problem = "section", fmt.Sprintf("%q is unknown; it must be one of %v", c.Section, Sections())
	case c.Tokens < 0 || c.Tokens > MaxTokens:
		field, problem = "tokens", fmt.Sprintf("is %d; it must be 0 to %d", c.Tokens, MaxTokens)
	case math.IsNaN(c.Priority) || math.IsInf(c.Priority, 0):
		field, problem = "priority", "is not a finite number"
	case math.IsNaN(c.Score) || math.IsInf(c.Score, 0):
		field, problem = "score", "is not a finite number"
	case c.TTL != nil && *c.TTL < 0:
		field, problem = "ttl", fmt.Sprintf("is %d; it must be 0 (expired) or more turns", *c.TTL)
	case c.Span != nil:
		field, problem = checkSpan(*c.Span)
	}
	if field == "" {
		return nil
	}
	return &InputError{c.ID, field, problem}
}

func checkSpan(s Span) (field, problem string) {
	switch {
	case s.Path == "":
		return "span.path", "is empty; a span needs a path"
	case s.Start < 0:
		return "span.start", fmt.Sprintf("is %d; it must be 0 or more", s.Start)
	case s.End < s.Start:
		return "span.end", fmt.Sprintf("is %d, before its start %d", s.End, s.Start)
	}
	return "", ""
}
