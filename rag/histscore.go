package rag

import (
	"cmp"
	"math"
	"slices"
)

// Limits and shapes of the history rankers.
const (
	knnCommits    = 40  // past commits like the query that have a say
	knnFiles      = 20  // a commit of more files has none
	knnPower      = 3   // how fast a less similar commit loses its say
	knnFull       = 20  // similarity from which the nearest counts in full
	recentCommits = 400 // how far back "recent" fades
	msgK1, msgB   = 1.2, 0.5

	burstCommits  = 12 // how far back a run of changes to the same files fades
	expandCommits = 8  // similar commits whose changes lend words
	expandTerms   = 24
)

// histScores is what past commits say, by path of today.
type histScores struct {
	knn, field, diff    map[string]float64
	recent, freq, burst map[string]float64
	near                []nearCommit // most similar first
	expand              []queryTerm  // what similar commits changed, by term
	translate           []queryTerm
}

type nearCommit struct {
	index int
	sim   float64 // relative to the most similar
}

func scoreHistory(v *historyView, terms []queryTerm) *histScores {
	out := &histScores{knn: map[string]float64{}, field: map[string]float64{},
		recent: map[string]float64{}, freq: map[string]float64{}, burst: map[string]float64{}}
	if v == nil || len(v.commits) == 0 {
		return out
	}
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
			out.knn[v.names[p]] += g
		}
	}
}

// byMessage takes all messages of a file's commits for one text about it.
func (v *historyView) byMessage(out *histScores, terms []queryTerm, matched [][]int) {
	type text struct {
		tf     []float64
		length float64
	}
	texts := map[uint32]*text{}
	var order []uint32 // of first sight: sums must not follow a map's order
	for ci, paths := range v.paths {
		if len(paths) == 0 || len(paths) > knnFiles {
			continue
		}
		fade := math.Exp(-float64(ci) / recentCommits)
		share := 1 / math.Sqrt(float64(len(paths)))
		for _, p := range paths {
			x := texts[p]
			if x == nil {
				x = &text{tf: make([]float64, len(terms))}
				texts[p] = x
				order = append(order, p)
			}
			x.length += float64(v.commits[ci].length)
			out.recent[v.names[p]] += fade
			out.freq[v.names[p]]++
			out.burst[v.names[p]] += share * math.Exp(-float64(ci)/burstCommits)
			for _, j := range matched[ci] {
				x.tf[j] += share
			}
		}
	}
	avg := 1.0
	for _, p := range order {
		avg += texts[p].length / float64(len(order)+1)
	}
	n := float64(len(v.commits))
	for _, p := range order {
		s := 0.0
		for j, tf := range texts[p].tf {
			if tf > 0 {
				t, _ := v.dict(terms[j].text)
				w := terms[j].weight * idf(n, float64(len(v.byWord[t])))
				s += w * tf * (msgK1 + 1) / (tf + msgK1*(1-msgB+msgB*texts[p].length/avg))
			}
		}
		out.field[v.names[p]] = s
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
	sum := map[uint32]float64{}
	for _, q := range terms {
		t, ok := v.dict(q.text)
		if !ok {
			continue
		}
		hits := v.byWord[t]
		count := map[uint32]float64{}
		commits := 0.0
		for _, h := range hits {
			if int(h.commit) >= v.diffs || len(v.commits[h.commit].files) > coMaxFiles {
				continue
			}
			commits++
			seen := map[uint32]bool{}
			for _, f := range v.commits[h.commit].files {
				for _, x := range f.terms {
					if !seen[x] {
						seen[x] = true
						count[x]++
					}
				}
			}
			if commits >= 60 {
				break
			}
		}
		if commits < 2 {
			continue
		}
		w := q.weight * idf(float64(len(v.commits)), float64(len(hits)))
		for x, c := range count {
			if c < 2 {
				continue
			}
			df := float64(len(v.byDiff[x]))
			lift := math.Log((c / commits) / (df / (n + 1)))
			if lift > 1 {
				sum[x] += w * lift * c / (c + 3)
			}
		}
	}
	for x, s := range sum {
		if name := v.names[x]; !known[name] && !stopWords[name] {
			out.translate = append(out.translate, queryTerm{name, s, name[0] == wholeMark})
		}
	}
	slices.SortFunc(out.translate, func(a, b queryTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
	})
	out.translate = out.translate[:min(len(out.translate), expandTerms)]
}

// Limits of co-change.
const (
	coMaxFiles = 12 // of a commit that says which files belong together
	coPrior    = 3  // commits that a file must have before co-change counts in full
	coLone     = .3 // what a commit that says nothing of company counts
)

// cochange says how often files were changed together with the seeds.
func (v *historyView) cochange(seed map[string]float64) map[string]float64 {
	out := map[string]float64{}
	if v == nil {
		return out
	}
	seen := map[string]float64{} // commits of each seed
	for _, paths := range v.paths {
		w := 1.0
		if len(paths) < 2 || len(paths) > coMaxFiles {
			w = coLone
		}
		for _, p := range paths {
			if name := v.names[p]; seed[name] > 0 {
				seen[name] += w
			}
		}
	}
	for _, paths := range v.paths {
		if len(paths) < 2 || len(paths) > coMaxFiles {
			continue
		}
		for _, p := range paths {
			s := seed[v.names[p]]
			if s == 0 {
				continue
			}
			for _, q := range paths {
				if q != p {
					out[v.names[q]] += s / (seen[v.names[p]] + coPrior)
				}
			}
		}
	}
	return out
}
