package text

import (
	"fmt"
	"strings"
)

// ContextLines is how many unchanged lines a unified diff shows around a
// change.
const ContextLines = 3

// Unified writes the difference of two texts in the unified format, with the
// numbers of added and removed lines; equal texts give "". A name of "" stands
// for a file that isn't there (/dev/null).
func Unified(oldName, newName, a, b string) (diff string, added, removed int) {
	edits := Diff(a, b)
	if len(edits) == 0 {
		return "", 0, 0
	}
	added, removed = CountChanged(a, edits)
	var w strings.Builder
	fmt.Fprintf(&w, "--- %s\n+++ %s\n", diffName("a/", oldName), diffName("b/", newName))
	starts := NewIndex(a).lines
	line := func(off int) int { // number of the line that begins at off; at the end: how many there are
		if off == len(a) {
			return CountLines(a)
		}
		lo, hi := 0, len(starts)
		for hi-lo > 1 {
			if m := (lo + hi) / 2; starts[m] <= off {
				lo = m
			} else {
				hi = m
			}
		}
		return lo
	}
	lines := Lines(a)
	shift := 0 // lines of b - lines of a, so far
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && line(edits[j].Start)-line(edits[j-1].End) <= 2*ContextLines {
			j++
		}
		from := max(line(edits[i].Start)-ContextLines, 0)
		to := min(line(edits[j-1].End)+ContextLines, len(lines))
		shift = writeHunk(&w, a, lines, edits[i:j], line, from, to, shift)
		i = j
	}
	return w.String(), added, removed
}

func writeHunk(w *strings.Builder, a string, lines []string, edits []Edit, line func(int) int, from, to, shift int) int {
	add, del := CountChanged(a, edits)
	n, m := to-from, to-from-del+add
	fmt.Fprintf(w, "@@ -%s +%s @@\n", hunkRange(from, n), hunkRange(from+shift, m))
	at := from
	for _, e := range edits {
		for ; at < line(e.Start); at++ {
			writeLine(w, ' ', lines[at])
		}
		for ; at < line(e.End); at++ {
			writeLine(w, '-', lines[at])
		}
		for _, l := range Lines(e.New) {
			writeLine(w, '+', l)
		}
	}
	for ; at < to; at++ {
		writeLine(w, ' ', lines[at])
	}
	return shift + add - del
}

func hunkRange(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	if n == 1 {
		return fmt.Sprintf("%d", from+1)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

func writeLine(w *strings.Builder, op byte, l string) {
	w.WriteByte(op)
	w.WriteString(l)
	if !strings.HasSuffix(l, "\n") {
		w.WriteString("\n\\ No newline at end of file\n")
	}
}

func diffName(prefix, name string) string {
	if name == "" {
		return "/dev/null"
	}
	return prefix + name
}
