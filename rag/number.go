package rag

import "strings"

// termNumbers gives each term a small number, so that what is counted by term is a slice
// and not a map. It belongs to one goroutine.
type termNumbers struct {
	idents  map[string][]uint32 // identifier → the numbers of its terms
	numbers map[string]uint32
	terms   []string // by number
}

// begin forgets all numbers when they have become too many. Between two calls they hold.
func (n *termNumbers) begin() {
	if n.idents == nil || len(n.idents) >= maxCacheTerms {
		*n = termNumbers{idents: map[string][]uint32{}, numbers: map[string]uint32{}}
	}
}

// of gives the numbers of one identifier's terms, as identTerms has them. The result is
// shared and must not be changed.
func (n *termNumbers) of(raw string) []uint32 {
	if ns, ok := n.idents[raw]; ok {
		return ns
	}
	id := strings.Clone(raw) // raw is a part of a whole file, which must not stay
	ts := identTerms(id)
	ns := make([]uint32, len(ts))
	for i, t := range ts {
		ns[i] = n.number(t)
	}
	n.idents[id] = ns
	return ns
}

func (n *termNumbers) number(term string) uint32 {
	i, ok := n.numbers[term]
	if !ok {
		i = uint32(len(n.terms))
		n.numbers[term] = i
		n.terms = append(n.terms, term)
	}
	return i
}
