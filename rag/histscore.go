package rag

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Limits and shapes of the history rankers.
const (
	knnCommits    = 40  // past commits like the query that have a say
	knnFiles      = 20  // a commit of more files has none
	knnPower      = 3   // how fast a less similar commit loses its say
	knnFull       = 20  // similarity from which the nearest counts in full
	recentCommits = 400 // how far back "recent" fades
	msgK1, msgB   = 1.2, 0.5

	burstCommits     = 12 // how far back a run of changes to the same files fades
	translateCommits = 60 // commits with a word that are looked at, the newest
	expandCommits    = 8  // similar commits whose changes lend words
	expandTerms      = 24
)

// histScores is what past commits say about a query; by number of the file, and nil
// where there is no history.
type histScores struct {
	knn, field []float64
	near       []nearCommit // most similar first
	expand     []queryTerm  // what similar commits changed, by term
	translate  []queryTerm
}

type nearCommit struct {
	index int
	sim   float64 // relative to the most similar
}

func scoreHistory(v *historyView, terms []queryTerm) *histScores {
	out := &histScores{}
	if v == nil || len(v.commits) == 0 {
		return out
	}
	out.knn, out.field = make([]float64, len(v.files)), make([]float64, len(v.files))
	sims, matched := v.messages(terms)
	v.nearest(out, sims)
	v.byMessage(out, terms, matched)
	v.expansion(out, terms)
	v.translation(out, terms)
	return out
}

// messages scores every commit's message against the query, and notes which of
// the terms it has.
func (v *historyView) messages(terms []queryTerm) (sims []float64, matched [][]int) {
	n := float64(len(v.commits))
	sims, matched = make([]float64, len(v.commits)), make([][]int, len(v.commits))
	for j, q := range terms {
		t, ok := v.dict(q.text)
		if !ok {
			continue
		}
		hits := v.byWord[t]
		w := q.weight * idf(n, float64(len(hits)))
		for _, h := range hits {
			tf := float64(h.n)
			norm := msgK1 * (1 - msgB + msgB*float64(v.commits[h.commit].length)/v.avgLen)
			sims[h.commit] += w * tf * (msgK1 + 1) / (tf + norm)
			matched[h.commit] = append(matched[h.commit], j)
		}
	}
	return sims, matched
}

// nearest lets the commits most like the query vote for their files.
func (v *historyView) nearest(out *histScores, sims []float64) {
	var near []int
	for i, s := range sims {
		if s > 0 && len(v.paths[i]) > 0 {
			near = append(near, i)
		}
	}
	slices.SortFunc(near, func(a, b int) int { return cmp.Or(cmp.Compare(sims[b], sims[a]), cmp.Compare(a, b)) })
	near = near[:min(len(near), knnCommits)]
	if len(near) == 0 {
		return
	}
	top := sims[near[0]]
	for _, i := range near {
		if len(v.paths[i]) > knnFiles {
			continue
		}
		sim := sims[i] / top
		out.near = append(out.near, nearCommit{i, sim})
		g := math.Pow(sim, knnPower) / math.Sqrt(float64(len(v.paths[i]))) * math.Min(1, top/knnFull)
		for _, p := range v.paths[i] {
			out.knn[p] += g
		}
	}
}

// byMessage takes all messages of a file's commits for one text about it.
func (v *historyView) byMessage(out *histScores, terms []queryTerm, matched [][]int) {
	row := make([]int32, len(v.files)) // 1 + where the file's counts begin, in tf
	var order []int32
	var tf []float64
	for ci, js := range matched {
		paths := v.paths[ci]
		if len(js) == 0 || len(paths) == 0 || len(paths) > knnFiles {
			continue
		}
		share := 1 / math.Sqrt(float64(len(paths)))
		for _, p := range paths {
			if row[p] == 0 {
				row[p] = int32(len(tf)) + 1
				tf = append(tf, make([]float64, len(terms))...)
				order = append(order, p)
			}
			for _, j := range js {
				tf[int(row[p])-1+j] += share
			}
		}
	}
	n := float64(len(v.commits))
	weight := make([]float64, len(terms))
	for j, q := range terms {
		if t, ok := v.dict(q.text); ok {
			weight[j] = q.weight * idf(n, float64(len(v.byWord[t])))
		}
	}
	for _, p := range order {
		long := msgK1 * (1 - msgB + msgB*v.about.length[p]/v.about.avgLength)
		for j, x := range tf[row[p]-1 : int(row[p])-1+len(terms)] {
			if x > 0 {
				out.field[p] += weight[j] * x * (msgK1 + 1) / (x + long)
			}
		}
	}
}

// expansion takes the words that similar commits changed for further words of the query.
func (v *historyView) expansion(out *histScores, terms []queryTerm) {
	known := map[string]bool{}
	for _, q := range terms {
		known[q.text] = true
	}
	weight := map[uint32]float64{}
	for _, c := range out.near[:min(len(out.near), expandCommits)] {
		if c.index >= v.diffs {
			continue
		}
		g := math.Pow(c.sim, knnPower)
		for _, f := range v.commits[c.index].files {
			for _, t := range f.terms {
				weight[t] += g / math.Sqrt(float64(len(f.terms)+10))
			}
		}
	}
	n := float64(v.diffs)
	for t, w := range weight {
		name := v.names[t]
		if known[name] || stopWords[name] {
			continue
		}
		if i := idf(n, float64(len(v.byDiff[t]))); i > 2 {
			out.expand = append(out.expand, queryTerm{name, w * i, name[0] == wholeMark})
		}
	}
	slices.SortFunc(out.expand, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
	})
	out.expand = out.expand[:min(len(out.expand), expandTerms)]
}

// translation learns from all commits which words of the code go with each word of
// the query in messages.
func (v *historyView) translation(out *histScores, terms []queryTerm) {
	known := map[string]bool{}
	for _, q := range terms {
		known[q.text] = true
	}
	n := float64(v.diffs)
	w := wordScratch.Get().(*wordSums)
	defer wordScratch.Put(w)
	w.begin(len(v.names))
	for _, q := range terms {
		if t, ok := v.dict(q.text); ok {
			hits := v.byWord[t]
			v.translated(w, hits, q.weight*idf(float64(len(v.commits)), float64(len(hits))), n)
		}
	}
	for _, x := range w.summed {
		if name := v.names[x]; !known[name] && !stopWords[name] {
			out.translate = append(out.translate, queryTerm{name, w.sum[x], name[0] == wholeMark})
		}
	}
	slices.SortFunc(out.translate, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
	})
	out.translate = out.translate[:min(len(out.translate), expandTerms)]
}

// wordSums is the space of one translation, by number of the word. The numbers that
// are in use are listed, so that clearing costs no more than filling.
type wordSums struct {
	sum    []float64
	count  []int32  // commits that changed the word
	seen   []uint32 // the last commit that was counted
	commit uint32
	summed []uint32
}

var wordScratch = sync.Pool{New: func() any { return new(wordSums) }}

func (w *wordSums) begin(words int) {
	for _, x := range w.summed {
		w.sum[x] = 0
	}
	w.summed = w.summed[:0]
	if len(w.sum) < words {
		*w = wordSums{sum: make([]float64, words), count: make([]int32, words), seen: make([]uint32, words)}
	}
}

// translated adds the words that go with one word of messages, which these are hits of.
func (v *historyView) translated(w *wordSums, hits []hit, weight, n float64) {
	commits := 0.0
	var words []uint32
	for _, h := range hits {
		if int(h.commit) >= v.diffs || len(v.commits[h.commit].files) > coMaxFiles {
			continue
		}
		commits++
		if w.commit++; w.commit == 0 { // after four milliards of them the marks begin anew
			clear(w.seen)
			w.commit = 1
		}
		for _, f := range v.commits[h.commit].files {
			for _, x := range f.terms {
				if w.seen[x] == w.commit {
					continue
				}
				w.seen[x] = w.commit
				if w.count[x] == 0 {
					words = append(words, x)
				}
				w.count[x]++
			}
		}
		if commits >= translateCommits {
			break
		}
	}
	for _, x := range words {
		c := float64(w.count[x])
		w.count[x] = 0
		if c < 2 || commits < 2 {
			continue
		}
		df := float64(len(v.byDiff[x]))
		if lift := math.Log((c / commits) / (df / (n + 1))); lift > 1 {
			if w.sum[x] == 0 {
				w.summed = append(w.summed, x)
			}
			w.sum[x] += weight * lift * c / (c + 3)
		}
	}
}

// Limits of co-change.
const (
	coMaxFiles = 12 // of a commit that says which files belong together
	coPrior    = 3  // commits that a file must have before co-change counts in full
	coLone     = .3 // what a commit that says nothing of company counts
)

// cochange says how often files were changed together with the seeds, by number.
func (v *historyView) cochange(seed map[string]float64) []float64 {
	if v == nil {
		return nil
	}
	out, seeds := make([]float64, len(v.files)), make([]float64, len(v.files))
	for p, s := range seed {
		if n, ok := v.number[p]; ok {
			seeds[n] = s
		}
	}
	seen := make([]float64, len(v.files)) // commits of each seed
	for _, paths := range v.paths {
		w := 1.0
		if len(paths) < 2 || len(paths) > coMaxFiles {
			w = coLone
		}
		for _, p := range paths {
			if seeds[p] > 0 {
				seen[p] += w
			}
		}
	}
	for _, paths := range v.paths {
		if len(paths) < 2 || len(paths) > coMaxFiles {
			continue
		}
		for _, p := range paths {
			if seeds[p] == 0 {
				continue
			}
			for _, q := range paths {
				if q != p {
					out[q] += seeds[p] / (seen[p] + coPrior)
				}
			}
		}
	}
	return out
}
