package text

// Rebase moves edits of a text behind over, another list of edits of the same
// text: Apply(Apply(s, over), moved) holds both changes. An edit that touches
// or overlaps one of over can't be moved and is returned in conflicts instead,
// by its index; one that is exactly the same is already there and is left out.
// These are the rules of diff3.
func Rebase(over, edits []Edit) (out []Edit, conflicts []int) {
	shift, j := 0, 0
	for i, e := range edits {
		for j < len(over) && over[j].End < e.Start {
			shift += over[j].Delta()
			j++
		}
		if j < len(over) && over[j].Span().Touches(e.Span()) {
			if !sameAlone(over, j, edits, i) {
				conflicts = append(conflicts, i)
			}
			continue
		}
		out = append(out, Edit{e.Start + shift, e.End + shift, e.New})
	}
	return out, conflicts
}

// sameAlone says whether edits[i] is exactly over[j], and nothing else touches
// either of them.
func sameAlone(over []Edit, j int, edits []Edit, i int) bool {
	e := edits[i]
	return over[j] == e && !(j+1 < len(over) && over[j+1].Start <= e.End) && !(i+1 < len(edits) && edits[i+1].Start <= e.End)
}

// MoveOffset tells where offset i of a text is after edits. An offset inside
// what an edit replaces moves to the end of the new text; one at the place of
// an insertion stays before it, or moves behind it when after is true.
func MoveOffset(i int, edits []Edit, after bool) int {
	shift := 0
	for _, e := range edits {
		switch {
		case e.End < i || e.End == i && (e.Start < e.End || after):
			shift += e.Delta()
		case e.Start < i:
			return e.Start + shift + len(e.New)
		default:
			return i + shift
		}
	}
	return i + shift
}
