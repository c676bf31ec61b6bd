package text

import (
	"strings"

	"znkr.io/diff"
	"znkr.io/diff/textdiff"
)

// Diff gives the edits that turn a into b, in whole lines: each replaces a run
// of lines by a run of lines, and between two of them at least one line stays.
// The same two texts always give the same edits.
func Diff(a, b string) []Edit {
	if a == b {
		return nil
	}
	// Equal first and last lines are taken off beforehand: the usual change is
	// small, and the text it sits in is not.
	pre := commonPrefixLines(a, b)
	suf := commonSuffixLines(a[pre:], b[pre:])
	return moved(diffLines(a[pre:len(a)-suf], b[pre:len(b)-suf]), pre)
}

func diffLines(a, b string) []Edit {
	if a == "" || b == "" {
		return []Edit{{0, len(a), b}}
	}
	var out []Edit
	var add strings.Builder
	at, open := 0, false
	flush := func() {
		if open {
			out[len(out)-1].New = add.String()
			add.Reset()
			open = false
		}
	}
	for _, x := range textdiff.Edits(a, b) {
		if x.Op == diff.Match {
			flush()
			at += len(x.Line)
			continue
		}
		if !open {
			out = append(out, Edit{Start: at, End: at})
			open = true
		}
		if x.Op == diff.Delete {
			at += len(x.Line)
			out[len(out)-1].End = at
		} else {
			add.WriteString(x.Line)
		}
	}
	flush()
	return out
}

// commonPrefixLines is the length of the whole lines that both begin with.
func commonPrefixLines(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n && len(a) == len(b) {
		return i
	}
	return strings.LastIndexByte(a[:i], '\n') + 1
}

// commonSuffixLines is the length of the whole lines that both end with.
func commonSuffixLines(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	// Back to a place where a line begins in both.
	for i > 0 && !(AtLineStart(a, len(a)-i) && AtLineStart(b, len(b)-i)) {
		if j := strings.IndexByte(a[len(a)-i:], '\n'); j >= 0 {
			i -= j + 1
		} else {
			i = 0
		}
	}
	return i
}

// CountChanged gives the number of lines that the edits of a text add and
// remove.
func CountChanged(s string, edits []Edit) (added, removed int) {
	for _, e := range edits {
		added += CountLines(e.New)
		removed += CountLines(s[e.Start:e.End])
	}
	return added, removed
}
