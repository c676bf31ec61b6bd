package text

import "strings"

// Chunk is one piece of a three-way merge. A chunk without conflict has the
// merged Text; one with conflict has the three versions.
type Chunk struct {
	Conflict           bool
	Text               string
	Base, Ours, Theirs string
}

// Merge joins two changes of base, in whole lines. ok says that there is no
// conflict; then merged is the result. Changes that touch or overlap are a
// conflict unless they are the same.
func Merge(base, ours, theirs string) (merged string, chunks []Chunk, ok bool) {
	switch {
	case ours == theirs || theirs == base:
		return ours, []Chunk{{Text: ours}}, true
	case ours == base:
		return theirs, []Chunk{{Text: theirs}}, true
	}
	chunks = MergeEdits(base, Diff(base, ours), Diff(base, theirs))
	var b strings.Builder
	for _, c := range chunks {
		if c.Conflict {
			return "", chunks, false
		}
		b.WriteString(c.Text)
	}
	return b.String(), chunks, true
}

// MergeEdits is Merge for changes that are already known as edits of base.
func MergeEdits(base string, ours, theirs []Edit) []Chunk {
	var out []Chunk
	clean := func(s string) {
		if s == "" {
			return
		}
		if n := len(out); n > 0 && !out[n-1].Conflict {
			out[n-1].Text += s
			return
		}
		out = append(out, Chunk{Text: s})
	}
	at, i, j := 0, 0, 0
	for i < len(ours) || j < len(theirs) {
		i0, j0 := i, j
		var c Span
		if j >= len(theirs) || i < len(ours) && ours[i].Start <= theirs[j].Start {
			c = ours[i].Span()
			i++
		} else {
			c = theirs[j].Span()
			j++
		}
		for grown := true; grown; {
			grown = false
			for i < len(ours) && ours[i].Start <= c.End {
				c, i, grown = c.Union(ours[i].Span()), i+1, true
			}
			for j < len(theirs) && theirs[j].Start <= c.End {
				c, j, grown = c.Union(theirs[j].Span()), j+1, true
			}
		}
		clean(base[at:c.Start])
		at = c.End
		o := apply(base[c.Start:c.End], moved(ours[i0:i], -c.Start))
		t := apply(base[c.Start:c.End], moved(theirs[j0:j], -c.Start))
		switch {
		case j0 == j || o == t:
			clean(o)
		case i0 == i:
			clean(t)
		default:
			out = append(out, Chunk{Conflict: true, Base: base[c.Start:c.End], Ours: o, Theirs: t})
		}
	}
	clean(base[at:])
	return out
}
