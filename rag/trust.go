package rag

import "math"

// How seldom a word is says how much it should tell, and the history says whether it
// does: where commits whose messages have the word changed files that have it too, it
// points at files; where they changed others ("fix", "support", the name of the whole
// project), it only talks about them. This is the relevance weight of Robertson and
// Spärck Jones, with past commits as the judgements.

// Limits and shapes of trust.
const (
	trustCommits = 80  // with the word, the newest; more say nothing new
	trustFiles   = 12  // a commit of more files has no say
	trustPrior   = 4   // files that a word must have been seen with to be believed by half
	trustEven    = .5  // share of them that have the word, at which it counts as it would without
	trustLeast   = .4  // of what a word's rareness gives it
	trustMost    = 1.3 // …
)

// trustName switches it off, as if it were a ranker: see Query.Without.
const trustName = "trust"

// trust knows which files, by number of the history, are which of the index.
type trust struct {
	view *historyView
	ids  []int64 // -1 for what is gone, and for what is no code
}

// newTrust takes the number of each of the table's files in the history. Without a
// history every word is trusted alike, as it is by the zero trust.
func newTrust(t *table, v *historyView, past []int32) trust {
	if v == nil {
		return trust{}
	}
	x := trust{view: v, ids: make([]int64, len(v.files))}
	for n := range x.ids {
		x.ids[n] = -1
	}
	for i, e := range t.sorted {
		if past[i] >= 0 && e.source {
			x.ids[past[i]] = int64(e.id)
		}
	}
	return x
}

// of is the factor for a word's weight, whose inverse document frequency is rare and
// whose occurrences by file id are has.
func (x trust) of(term string, rare float64, has []float64) float64 {
	if x.view == nil || rare <= 0 {
		return 1
	}
	word, ok := x.view.dict(term)
	if !ok {
		return 1
	}
	var with, all float64 // files, shares of a commit
	commits := 0
	for _, h := range x.view.byWord[word] {
		paths := x.view.paths[h.commit]
		if len(paths) > trustFiles {
			continue
		}
		known := false
		for _, p := range paths {
			id := x.ids[p]
			if id < 0 {
				continue
			}
			known = true
			all += 1 / float64(len(paths))
			if has[id] > 0 {
				with += 1 / float64(len(paths))
			}
		}
		if known {
			commits++
		}
		if commits == trustCommits {
			break
		}
	}
	p := (with + trustPrior*trustEven) / (all + trustPrior)
	return math.Min(trustMost, math.Max(trustLeast, 1+math.Log(p/(1-p))/rare))
}
