package tools

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of inexact matching.
const (
	fuzzyLinesMin   = 3    // an old text of fewer lines has no inside between its anchors
	fuzzyLinesMax   = 120  // lines of old text that are compared inexactly
	fuzzyPlacesMax  = 20   // places whose anchors fit that are compared
	fuzzySimilarity = 0.90 // how alike the lines must be, of 1
	fuzzyLead       = 0.05 // how much better than the second best that overlaps it
	fuzzyRival      = 0.60 // a place elsewhere that is so alike makes it a guess
	nearPlacesMax   = 3    // places shown where nothing matches
	placesMax       = 8    // places shown where too much matches
	nearSimilarity  = 0.5  // a line less alike than this is not near
	nearLinesMax    = 10000
	nearLineBytes   = editDistanceMax // of a line, when comparing and when shown
)

// matched is one place where an old text stands, as offsets in the text, and
// the new text as it fits there.
type matched struct {
	start, end int
	with       string
}

// match finds the places where old stands in text and what to put there. How
// says how it was found when not exactly. The text has \n line endings. It
// tries, in this order, and the first that finds a place decides; without a
// letter or a digit in old only the first is tried:
//
//	exact        character by character
//	whitespace   whole lines, blanks at line ends don't matter
//	indentation  whole lines, indented otherwise; new text is re-indented
//	similar      first and last line fit, what is between is alike, what is to change
//	             stands there, and nothing like it stands elsewhere; only that changes
func match(text, old, with string) (places []matched, how string) {
	if places = matchExact(text, old, with); len(places) > 0 {
		return places, ""
	}
	t, o := splitLines(text), splitLines(old)
	if !slices.ContainsFunc(o.lines, wordy) {
		return nil, "" // brackets alone are at many places; inexactly they name none
	}
	if places = matchTrimmed(t, o, with); len(places) > 0 {
		return places, "blanks at line ends differ"
	}
	if places = matchIndented(t, o, with); len(places) > 0 {
		return places, "indented otherwise; the new text was indented to fit"
	}
	if place, similarity, ok := matchSimilar(t, o, with); ok {
		return []matched{place}, fmt.Sprintf("%d %% alike: what stood there was not exactly oldText, look at the result", min(99, int(similarity*100)))
	}
	return nil, ""
}

// matchExact counts overlapping places too: "aa" is at two places in "aaa".
func matchExact(text, old, with string) (places []matched) {
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 || old == "" {
			return places
		}
		at += i
		places = append(places, matched{at, at + len(old), with})
		at++
	}
}

// lined is a text in lines without their newlines.
type lined struct {
	text    string
	lines   []string
	starts  []int
	newline bool // the last line ends in one
}

func splitLines(text string) lined {
	l := lined{text: text, starts: lineStarts(text), newline: strings.HasSuffix(text, "\n")}
	for i, at := range l.starts {
		end := len(text)
		if i+1 < len(l.starts) {
			end = l.starts[i+1]
		}
		l.lines = append(l.lines, strings.TrimSuffix(text[at:end], "\n"))
	}
	return l
}

// place is the region of n lines from line i, with the last newline when the
// old text had one. Where the file ends without a newline it keeps to.
func (l lined) place(i, n int, oldNewline bool, with string) matched {
	m := matched{start: l.starts[i], with: with}
	last := i + n - 1
	m.end = l.starts[last] + len(l.lines[last])
	if !oldNewline {
		return m
	}
	if m.end < len(l.text) {
		m.end++
	} else {
		m.with = strings.TrimSuffix(m.with, "\n")
	}
	return m
}

func matchTrimmed(t, o lined, with string) (places []matched) {
	for i := 0; i+len(o.lines) <= len(t.lines); i++ {
		if sameLines(t.lines[i:i+len(o.lines)], o.lines, trimRight) {
			places = append(places, t.place(i, len(o.lines), o.newline, with))
		}
	}
	return places
}

func matchIndented(t, o lined, with string) (places []matched) {
	for i := 0; i+len(o.lines) <= len(t.lines); i++ {
		here := t.lines[i : i+len(o.lines)]
		if !sameLines(here, o.lines, strings.TrimSpace) {
			continue
		}
		if re, ok := learnIndent(o.lines, here); ok {
			places = append(places, t.place(i, len(o.lines), o.newline, re.apply(with)))
		}
	}
	return places
}

func trimRight(s string) string { return strings.TrimRight(s, " \t") }

func sameLines(a, b []string, norm func(string) string) bool {
	for i := range a {
		if norm(a[i]) != norm(b[i]) {
			return false
		}
	}
	return true
}

// wordy says whether a line has anything to know it by.
func wordy(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == utf8.RuneError })
}

// anchor says whether a line can hold a place: a lone bracket is anywhere.
func anchor(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f
	}) || line == "}" || line == "end" || line == "});" || line == "};"
}

// linesInBoth is the cheap test before alike: how many lines of b are in a.
func linesInBoth(a, b []string) (n int) {
	left := map[string]int{}
	for _, l := range a {
		left[strings.TrimSpace(l)]++
	}
	for _, l := range b {
		if l = strings.TrimSpace(l); left[l] > 0 {
			left[l]--
			n++
		}
	}
	return n
}

// alike aligns two lists of lines in order and gives how much of the longer
// one finds its like, from 0 to 1.
func alike(a, b []string) float64 {
	row := make([]float64, len(b)+1)
	band := 2 + 2*len(b)/10 // lines further apart than this are not the same line
	for i, x := range a {
		diagonal := 0.0
		for j, y := range b {
			both := diagonal
			if max(i-j, j-i) <= band {
				both += lineSimilarity(x, y)
			}
			diagonal = row[j+1]
			row[j+1] = max(both, row[j], row[j+1])
		}
	}
	return row[len(b)] / float64(max(len(a), len(b)))
}

// lineSimilarity compares two lines but for their indentation: 1 when equal.
func lineSimilarity(a, b string) float64 {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == b {
		return 1
	}
	a, b = a[:min(len(a), nearLineBytes)], b[:min(len(b), nearLineBytes)]
	longest := max(len(a), len(b))
	if min(len(a), len(b))*2 < longest {
		return 0
	}
	return 1 - float64(editDistance(a, b))/float64(longest)
}

// describePlaces lists the lines where something is found.
func describePlaces(text string, places []matched) string {
	var b strings.Builder
	for i, p := range places {
		if i == placesMax {
			fmt.Fprintf(&b, "\n  … and %d more", len(places)-i)
			break
		}
		n := lineOf(text, p.start)
		fmt.Fprintf(&b, "\n  line %d: %s", n, lineAt(text, p.start))
	}
	return b.String()
}

// describeNear shows the places that look most like what was looked for.
func describeNear(text, old string) string {
	want := ""
	for _, l := range strings.Split(old, "\n") {
		if l = strings.TrimSpace(l); len(l) > len(want) {
			want = l
		}
		if anchor(want) && len(want) >= 8 {
			break
		}
	}
	type near struct {
		line int
		s    float64
	}
	var best []near
	lines := splitLines(text).lines
	for i, l := range lines[:min(len(lines), nearLinesMax)] {
		s := lineSimilarity(l, want)
		if t := strings.TrimSpace(l); want != "" && len(t) > 3 && (strings.Contains(l, want) || strings.Contains(want, t)) {
			s = max(s, 0.8)
		}
		if s < nearSimilarity {
			continue
		}
		at := len(best)
		for at > 0 && best[at-1].s < s {
			at--
		}
		best = append(best[:at], append([]near{{i, s}}, best[at:]...)...)
		best = best[:min(len(best), nearPlacesMax)]
	}
	if len(best) == 0 {
		return "\nNothing in the file looks like it."
	}
	b := strings.Builder{}
	b.WriteString("\nNearest places:")
	for _, n := range best {
		fmt.Fprintf(&b, "\n  line %d: %s", n.line+1, clip(lines[n.line], nearLineBytes))
	}
	return b.String()
}

func lineAt(text string, at int) string {
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return clip(line, nearLineBytes)
}
