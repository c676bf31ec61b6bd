package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// editDistanceMax bounds the bytes of a word or line that is compared.
const editDistanceMax = 200

// titleMax bounds a title in the step tree, in bytes.
const titleMax = 120

// Fail is the result of a call that could not be done: text for the model,
// a few words for the step tree.
func Fail(text, summary string) Result {
	return Result{Status: StatusError, Text: text, Detail: Detail{Summary: summary}}
}

// failErr puts an error of the world into a result. Refusals by the workspace
// are marked as blocked: the same call again won't help.
func failErr(tool string, err error) Result {
	if isCancelled(err) {
		return cancelled()
	}
	r := Fail(tool+": "+err.Error(), "failed")
	var path *PathError
	var stale *StaleError
	switch {
	case errors.As(err, &path):
		r.Detail.Summary, r.Detail.Paths = path.Reason, []string{path.Path}
		r.Detail.Blocked = path.Reason != reasonNotFound
	case errors.As(err, &stale):
		r.Detail.Summary, r.Detail.Paths = "changed meanwhile", []string{stale.Path}
	}
	return r
}

func cancelled() Result {
	return Result{Status: StatusCancelled, Text: "cancelled", Detail: Detail{Summary: "cancelled"}}
}

// oneLine makes any text a title: no line breaks or control characters, at
// most n bytes, cut between runes.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	return clip(s, n)
}

// clip cuts s to at most n bytes, between runes, with an ellipsis.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(0, n-len("…"))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// count writes "1 file", "3 files", "2 matches".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "h") || strings.HasSuffix(what, "s") {
		return fmt.Sprintf("%d %ses", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// nearest gives the one of names that a person most likely meant, "" when none
// is near. Ties go to the first by name.
func nearest(word string, names []string) string {
	fold := func(s string) string { return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s)) }
	best, bestCost := "", len(word)/2+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		cost := editDistance(fold(word), fold(name))
		if strings.HasPrefix(fold(name), fold(word)) || strings.HasPrefix(fold(word), fold(name)) {
			cost = min(cost, 1)
		}
		if cost < bestCost {
			best, bestCost = name, cost
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes, of the first editDistanceMax bytes.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), editDistanceMax)], b[:min(len(b), editDistanceMax)]
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// isCancelled tells the end of the run from a fault.
func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
