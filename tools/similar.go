package tools

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// matchSimilar looks for a block whose first and last line are old's and whose
// inside is alike. The best must reach the bar, leave the second behind, and be
// the only one in the file that is anything like old: a copy with another word
// in it is where guesses go wrong. The lines that are to change must stand
// there as old has them; of the others the file's are kept, since somebody
// wrote them after old was read.
func matchSimilar(t, o lined, with string) (best matched, similarity float64, ok bool) {
	n := len(o.lines)
	if n < fuzzyLinesMin || n > fuzzyLinesMax {
		return best, 0, false
	}
	first, last := strings.TrimSpace(o.lines[0]), strings.TrimSpace(o.lines[n-1])
	if !anchor(first) || !anchor(last) {
		return best, 0, false
	}
	slack, second, tried := 1+n/10, 0.0, 0
	at, lines := 0, 0
	for i := range t.lines {
		if strings.TrimSpace(t.lines[i]) != first {
			continue
		}
		for size := max(2, n-slack); size <= n+slack && i+size <= len(t.lines); size++ {
			if strings.TrimSpace(t.lines[i+size-1]) != last {
				continue
			}
			here := t.lines[i : i+size]
			if 2*linesInBoth(here, o.lines) < n {
				continue
			}
			if tried++; tried > fuzzyPlacesMax {
				return best, 0, false
			}
			s := alike(here, o.lines)
			if s <= similarity {
				second = max(second, s)
				continue
			}
			second, similarity, at, lines = similarity, s, i, size
		}
	}
	if similarity < fuzzySimilarity || similarity-second < fuzzyLead || rival(t, o, at, lines) {
		return best, similarity, false
	}
	with, ok = changeOnly(t.lines[at:at+lines], o, with)
	return t.place(at, lines, o.newline, with), similarity, ok
}

// rival says whether old could be meant to be somewhere else too: whether a
// window of as many lines, apart from the place, is anything like it.
func rival(t, o lined, at, lines int) bool {
	n, tried, both := len(o.lines), 0, 0
	left := map[string]int{} // lines of old's that the window lacks; below 0 what it has too many of
	for _, l := range o.lines {
		left[strings.TrimSpace(l)]++
	}
	for i, l := range t.lines {
		l = strings.TrimSpace(l)
		if left[l] > 0 {
			both++
		}
		left[l]--
		first := i + 1 - n
		if first < 0 {
			continue
		}
		if (first >= at+lines || i < at) && 2*both >= n {
			if tried++; tried > fuzzyPlacesMax || alike(t.lines[first:i+1], o.lines) >= fuzzyRival {
				return true
			}
		}
		gone := strings.TrimSpace(t.lines[first])
		if left[gone]++; left[gone] > 0 {
			both--
		}
	}
	return false
}

// changeOnly gives the lines of a place with what differs between old and with
// changed in them, and everything else as it stands.
func changeOnly(here []string, o lined, with string) (string, bool) {
	like := pair(here, o.lines)
	fit, ok := fitIndent(here, o.lines, like)
	if !ok {
		return "", false
	}
	old := strings.Join(o.lines, "\n") + "\n"
	newline := strings.HasSuffix(with, "\n") || with == ""
	if !newline {
		with += "\n"
	}
	var b strings.Builder
	done := 0 // lines of here
	for _, e := range text.Diff(old, with) {
		from := strings.Count(old[:e.Start], "\n")
		to := from + strings.Count(old[e.Start:e.End], "\n")
		at, ok := stands(here, o.lines, like, from, to)
		if !ok || at < done {
			return "", false
		}
		for _, l := range here[done:at] {
			b.WriteString(l + "\n")
		}
		b.WriteString(fit(e.New))
		done = at + to - from
	}
	for _, l := range here[done:] {
		b.WriteString(l + "\n")
	}
	out := b.String()
	if !newline || !o.newline {
		out = strings.TrimSuffix(out, "\n")
	}
	return out, true
}

// fitIndent gives what indents new text as the lines are that are in both.
func fitIndent(here, old []string, like []int) (fit func(string) string, ok bool) {
	var model, file []string
	for k, i := range like {
		if i >= 0 && strings.TrimSpace(old[k]) == strings.TrimSpace(here[i]) {
			model, file = append(model, old[k]), append(file, here[i])
		}
	}
	re, ok := learnIndent(model, file)
	return re.apply, ok
}

// stands gives the line of here at which the lines [from, to) of old stand one
// after the other, all of them but for blanks, and between the same neighbours
// as in old, of which one at least is the very same.
func stands(here, old []string, like []int, from, to int) (at int, ok bool) {
	at = -1
	for k := from; k < to; k++ {
		if like[k] < 0 || at >= 0 && like[k] != at+k-from || blanksApart(here[like[k]]) != blanksApart(old[k]) {
			return 0, false
		}
		if at < 0 {
			at = like[k]
		}
	}
	same := from < to
	if from > 0 {
		before := like[from-1]
		if before < 0 || at >= 0 && before+1 != at {
			return 0, false
		}
		at = before + 1
		same = same || blanksApart(here[before]) == blanksApart(old[from-1])
	}
	if to < len(old) {
		after := like[to]
		if after < 0 || at >= 0 && after != at+to-from {
			return 0, false
		}
		at = after - (to - from)
		same = same || blanksApart(here[after]) == blanksApart(old[to])
	}
	return at, same && at >= 0
}

func blanksApart(s string) string { return strings.Join(strings.Fields(s), " ") }

// pair gives for each line of b the line of a that is its like, -1 for none:
// the alignment that alike measures.
func pair(a, b []string) []int {
	score := make([][]float64, len(a)+1)
	for i := range score {
		score[i] = make([]float64, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			score[i][j] = max(score[i+1][j], score[i][j+1])
			if s := pairSimilarity(a[i], b[j]); s > 0 {
				score[i][j] = max(score[i][j], s+score[i+1][j+1])
			}
		}
	}
	like := make([]int, len(b))
	for j := range like {
		like[j] = -1
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		s := pairSimilarity(a[i], b[j])
		switch {
		case s > 0 && score[i][j] == s+score[i+1][j+1]:
			like[j] = i
			i, j = i+1, j+1
		case score[i][j] == score[i+1][j]:
			i++
		default:
			j++
		}
	}
	return like
}

// pairSimilarity is that of two lines which could be one and the same.
func pairSimilarity(a, b string) float64 {
	if s := lineSimilarity(a, b); s >= nearSimilarity {
		return s
	}
	return 0
}
