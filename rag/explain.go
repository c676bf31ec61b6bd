package rag

import (
	"cmp"
	"context"
	"slices"
)

// explainer says which rankers found a file, and how it stands with each.
type explainer struct {
	rankers []string
	parts   map[string][]float64 // ranker → contribution by position
	best    map[string][]float64 // ranker → the contributions above 0
	cache   map[int][]Why
}

func newExplainer(k *ranking) *explainer {
	x := &explainer{parts: map[string][]float64{}, best: map[string][]float64{}, cache: map[int][]Why{}}
	for f, d := range features {
		if d.weight == 0 || k.without[d.ranker] || k.x[f] == nil {
			continue
		}
		p := x.parts[d.ranker]
		if p == nil {
			p = make([]float64, len(k.t.sorted))
			x.parts[d.ranker] = p
			x.rankers = append(x.rankers, d.ranker)
		}
		for i, v := range k.x[f] {
			p[i] += d.weight * v
		}
	}
	for r, p := range x.parts {
		for _, v := range p {
			if v > 0 {
				x.best[r] = append(x.best[r], v)
			}
		}
	}
	return x
}

// of lists the rankers that speak for the file, the strongest first. One that spoke
// against it is not a reason to have found it.
func (x *explainer) of(pos int) []Why {
	if w, ok := x.cache[pos]; ok {
		return w
	}
	out := []Why{}
	for _, r := range x.rankers {
		p := x.parts[r]
		v := round(p[pos])
		if v <= 0 {
			continue
		}
		rank := 1
		for _, o := range x.best[r] {
			if o > p[pos] {
				rank++
			}
		}
		out = append(out, Why{Ranker: r, Rank: rank, Score: v})
	}
	slices.SortStableFunc(out, func(a, b Why) int { return cmp.Compare(b.Score, a.Score) })
	x.cache[pos] = out
	return out
}

// FileFeatures is one file as the fusion sees it: for evaluation and diagnosis.
type FileFeatures struct {
	Path   string
	Values []float64 // in the order of FeatureNames
}

// FeatureNames names the columns of FileFeatures, with their weights.
func FeatureNames() (names []string, weights []float64) {
	for _, f := range features {
		names, weights = append(names, f.name), append(weights, f.weight)
	}
	return names, weights
}

// Rankers names the rankers, in the order in which they are fused.
func Rankers() []string {
	var out []string
	for _, f := range features {
		if f.weight != 0 && !slices.Contains(out, f.ranker) {
			out = append(out, f.ranker)
		}
	}
	return out
}

// Features gives the raw features of the query's candidates: the limit best of the
// first stage, and the thirty best by each feature alone.
func (x *Index) Features(ctx context.Context, q Query, limit int) ([]FileFeatures, error) {
	k, err := x.rank(ctx, q)
	if err != nil {
		return nil, err
	}
	const byOne = 30
	take := map[int]bool{}
	for _, i := range k.order[:min(limit, len(k.order))] {
		take[i] = true
	}
	for f := range k.x {
		if features[f].ranker == "prior" {
			continue
		}
		if k.x[f] == nil {
			continue
		}
		for _, i := range byScore(k.x[f])[:min(byOne, len(k.order))] {
			if k.x[f][i] > 0 {
				take[i] = true
			}
		}
	}
	var out []FileFeatures
	for i, e := range k.t.sorted {
		if take[i] {
			ff := FileFeatures{Path: e.path}
			for f := range k.x {
				ff.Values = append(ff.Values, k.column(feature(f))[i])
			}
			out = append(out, ff)
		}
	}
	return out, nil
}
