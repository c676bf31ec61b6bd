package rag

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// Search answers from what is indexed at this moment.
func (x *Index) Search(ctx context.Context, q Query) (Set, error) {
	k, err := x.rank(ctx, q)
	if err != nil {
		return Set{}, err
	}
	set := Set{Query: q.Text, State: SetReady, Items: []Item{}}
	without := words(strings.Join(q.Without, " "))
	want := q.K
	if want <= 0 {
		want = DefaultK
	}
	want = min(want, MaxK)
	total := make([]float64, len(k.t.sorted))
	for i := range total {
		total[i] = k.total(i, without)
	}
	order := byScore(total)
	for _, i := range order {
		if len(set.Items) == want {
			break
		}
		e := k.t.sorted[i]
		it := Item{Path: e.path, Score: math.Round(total[i]*1e6) / 1e6, Generation: k.t.generation}
		it.StartLine, it.EndLine = e.span(0)
		if cs := k.lex.chunksOf(e.id); len(cs) > 0 {
			it.StartLine, it.EndLine = e.span(int(cs[0].ref.chunk))
		}
		set.Items = append(set.Items, it)
	}
	set.RetrievalSetID = setID(set)
	return set, nil
}

// rank computes the features of all files for a query.
func (x *Index) rank(ctx context.Context, q Query) (*ranking, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t := x.table.Load()
	r, err := x.st.lex.reader()
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	defer r.Close()
	p := parseQuery(q.Text)
	lex, err := scoreLexical(t, r, p.terms)
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	return rankFiles(t, lex, x.hist.current(), p.terms, words(strings.Join(q.Without, " "))), nil
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
		for _, i := range byScore(k.x[f])[:min(byOne, len(k.order))] {
			if k.x[f][i] > 0 && feature(f) != featSize && feature(f) != featTest && feature(f) != featNew {
				take[i] = true
			}
		}
	}
	var out []FileFeatures
	for i, e := range k.t.sorted {
		if take[i] {
			ff := FileFeatures{Path: e.path}
			for f := range k.x {
				ff.Values = append(ff.Values, k.x[f][i])
			}
			out = append(out, ff)
		}
	}
	return out, nil
}
