package rag

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"
)

// Before anything is indexed a query is answered by looking at the files, for a
// bounded time. It is a rough answer, and says so.

const (
	scanTime  = 250 * time.Millisecond
	scanFiles = 4000
	scanBytes = 16 << 20
)

type scanned struct {
	e     *entry
	lines []string
	tf    map[string]int
	score float64
}

// scan reads files in the order of how well their paths match, then alphabetically.
func (x *Index) scan(ctx context.Context, q Query, want, perFile int) ([]Item, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTime)
	defer cancel()
	files, err := x.src.Files(ctx, nil)
	if err != nil {
		return []Item{}, nil // out of time: no answer is an answer too
	}
	p := parseQuery(q.Text)
	terms := lineTerms{}
	for _, t := range p.terms {
		terms[t.text] = t.weight
	}
	var tc termCache
	var a analyzer
	byPath := make([]float64, len(files))
	for i, f := range files {
		eachIdent(f.Path, func(raw string) {
			for _, t := range tc.terms(raw) {
				byPath[i] += terms[t]
			}
		})
	}
	var seen []scanned
	bytes := 0
	for _, i := range byScore(byPath)[:min(len(files), scanFiles)] {
		if ctx.Err() != nil || bytes > scanBytes {
			break
		}
		if !q.Filters.allows(files[i].Path) {
			continue
		}
		src, err := x.src.Read(files[i].Path)
		if err != nil || isBinary(src) {
			continue
		}
		bytes += len(src)
		s := scanned{lines: splitLines(src), tf: map[string]int{}, score: byPath[i]}
		for _, ln := range s.lines {
			eachIdent(ln, func(raw string) {
				for _, t := range tc.terms(raw) {
					if terms[t] > 0 {
						s.tf[t]++
					}
				}
			})
		}
		if len(s.tf) > 0 || s.score > 0 {
			s.e, _ = a.analyze(files[i].Path, src)
			seen = append(seen, s)
		}
	}
	return x.scanItems(seen, p.terms, terms, want, perFile), nil
}

func (x *Index) scanItems(seen []scanned, query []queryTerm, terms lineTerms, want, perFile int) []Item {
	var wr windower
	df := map[string]int{}
	for _, s := range seen {
		for t := range s.tf {
			df[t]++
		}
	}
	top := 0.0
	for i := range seen {
		s := &seen[i]
		for _, q := range query {
			if n := s.tf[q.text]; n > 0 {
				s.score += q.weight * idf(float64(len(seen)), float64(df[q.text])) * float64(n) / (float64(n) + 2)
			}
		}
		top = math.Max(top, s.score)
	}
	slices.SortFunc(seen, func(a, b scanned) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.e.path, b.e.path))
	})
	items := []Item{}
	for rank, s := range seen {
		ws := wr.windows(s.e, s.lines, nil, terms, perFile)
		if len(ws) == 0 {
			ws = []window{s.e.fallbackWindow(nil, s.lines)}
		}
		for _, w := range ws {
			if len(items) == want {
				return items
			}
			it := s.e.item(w, s.lines)
			it.Score = round(s.score / top)
			it.Why = []Why{{Ranker: SetScan, Rank: rank + 1, Score: it.Score}}
			items = append(items, it)
		}
	}
	return items
}
