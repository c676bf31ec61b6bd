package text

import (
	"fmt"
	"strings"
)

// Edit replaces the bytes [Start, End) of a text by New. Lists of edits refer
// to one text, are ordered, and do not overlap; several insertions at one
// place are made in the order of the list.
type Edit struct {
	Start, End int
	New        string
}

// Span is what the edit replaces.
func (e Edit) Span() Span { return Span{e.Start, e.End} }

// Delta is how much longer the text becomes.
func (e Edit) Delta() int { return len(e.New) - (e.End - e.Start) }

// Check says what is wrong with a list of edits for a text of n bytes: out of
// bounds, out of order, or overlapping.
func Check(n int, edits []Edit) error {
	at := 0
	for i, e := range edits {
		if e.Start < 0 || e.End < e.Start || e.End > n {
			return fmt.Errorf("edit %d replaces bytes %d to %d of a text of %d bytes", i, e.Start, e.End, n)
		}
		if e.Start < at {
			return fmt.Errorf("edit %d begins at byte %d, before the one in front of it ends (%d)", i, e.Start, at)
		}
		at = e.End
	}
	return nil
}

// Apply makes the edits. The error is Check's.
func Apply(s string, edits []Edit) (string, error) {
	if err := Check(len(s), edits); err != nil {
		return "", err
	}
	return apply(s, edits), nil
}

// apply is Apply for edits that are known to be right.
func apply(s string, edits []Edit) string {
	if len(edits) == 0 {
		return s
	}
	n := len(s)
	for _, e := range edits {
		n += e.Delta()
	}
	var b strings.Builder
	b.Grow(n)
	at := 0
	for _, e := range edits {
		b.WriteString(s[at:e.Start])
		b.WriteString(e.New)
		at = e.End
	}
	b.WriteString(s[at:])
	return b.String()
}

// Invert gives the edits of Apply(s, edits) that lead back to s.
func Invert(s string, edits []Edit) []Edit {
	out := make([]Edit, 0, len(edits))
	shift := 0
	for _, e := range edits {
		start := e.Start + shift
		out = append(out, Edit{start, start + len(e.New), s[e.Start:e.End]})
		shift += e.Delta()
	}
	return out
}

// Compose gives the edits of s that do what first, and then second (edits of
// first's result), do. Both must pass Check. Edits of the result that touch
// are joined.
func Compose(s string, first, second []Edit) []Edit {
	var out []Edit
	// Every cluster is a maximal run of edits of either list that touch each
	// other in the middle text; between clusters the middle text is s, shifted.
	i, j := 0, 0
	shift1 := 0 // middle offset - s offset, behind the edits of first that were taken
	mid := func(e Edit) Span { return Span{e.Start + shift1, e.Start + shift1 + len(e.New)} }
	for i < len(first) || j < len(second) {
		i0, j0, shift0 := i, j, shift1
		var c Span
		if j >= len(second) || i < len(first) && mid(first[i]).Start <= second[j].Start {
			c = mid(first[i])
			shift1 += first[i].Delta()
			i++
		} else {
			c = second[j].Span()
			j++
		}
		for grown := true; grown; {
			grown = false
			for i < len(first) && mid(first[i]).Start <= c.End {
				c = c.Union(mid(first[i]))
				shift1 += first[i].Delta()
				i++
				grown = true
			}
			for j < len(second) && second[j].Start <= c.End {
				c = c.Union(second[j].Span())
				j++
				grown = true
			}
		}
		span := Span{c.Start - shift0, c.End - shift1}
		text := apply(s[span.Start:span.End], moved(first[i0:i], -span.Start))
		text = apply(text, moved(second[j0:j], -c.Start))
		if text != s[span.Start:span.End] {
			out = append(out, Edit{span.Start, span.End, text})
		}
	}
	return out
}

// moved shifts every edit by d bytes.
func moved(edits []Edit, d int) []Edit {
	out := make([]Edit, len(edits))
	for i, e := range edits {
		out[i] = Edit{e.Start + d, e.End + d, e.New}
	}
	return out
}

// Trim narrows an edit of s to the bytes that really change, never splitting a
// UTF-8 sequence. An edit that changes nothing becomes an empty one.
func Trim(s string, e Edit) Edit {
	old := s[e.Start:e.End]
	p := 0
	for p < len(old) && p < len(e.New) && old[p] == e.New[p] {
		p++
	}
	for p > 0 && (p < len(old) && isContinuation(old[p]) || p < len(e.New) && isContinuation(e.New[p])) {
		p--
	}
	old, now := old[p:], e.New[p:]
	q := 0
	for q < len(old) && q < len(now) && old[len(old)-1-q] == now[len(now)-1-q] {
		q++
	}
	for q > 0 && isContinuation(old[len(old)-q]) {
		q--
	}
	return Edit{e.Start + p, e.End - q, now[:len(now)-q]}
}

func isContinuation(b byte) bool { return b&0xC0 == 0x80 }
