package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/blevesearch/bleve/v2"
)

// The methods that ours is held against. They see the files that can be relevant, and
// no history. Only what changed since the last case is read again.

type baseline interface {
	update(changed map[string]string, gone []string) error
	search(query string, k int) ([]Result, error)
	close()
}

// baselines by the names that -run takes.
var baselines = map[string]func() (baseline, error){
	"keywords": func() (baseline, error) { return &keywords{map[string]string{}}, nil },
	"bm25":     func() (baseline, error) { return &fileTerms{map[string]*fileTerm{}}, nil },
	"bleve":    newDefaultBleve,
}

// openBaselines opens those that are among the runs, to be closed together.
func openBaselines(runs []string) (map[string]*watched, func(), error) {
	out := map[string]*watched{}
	closeAll := func() {
		for _, b := range out {
			b.close()
		}
	}
	for _, r := range runs {
		if open := baselines[r]; open != nil {
			b, err := open()
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			out[r] = &watched{b, map[string]workspace.Entry{}}
		}
	}
	return out, closeAll, nil
}

// watched is a baseline with what it was last told.
type watched struct {
	baseline
	seen map[string]workspace.Entry
}

func (w *watched) refresh(ctx context.Context, sc *workspace.Scanner) error {
	files, err := sc.Scan(ctx, nil)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	now := map[string]workspace.Entry{}
	for _, f := range files {
		if !eligible(f.Path) {
			continue
		}
		now[f.Path] = f
		if w.seen[f.Path] != f {
			b, err := sc.Read(f.Path)
			if err != nil {
				return err
			}
			changed[f.Path] = string(b)
		}
	}
	var gone []string
	for p := range w.seen {
		if _, ok := now[p]; !ok {
			gone = append(gone, p)
		}
	}
	w.seen = now
	return w.update(changed, gone)
}

// fileTerms is BM25 over whole files, on the same words as ours.
type fileTerms struct{ files map[string]*fileTerm }

type fileTerm struct {
	tf     map[string]int
	length int
}

func (b *fileTerms) update(changed map[string]string, gone []string) error {
	for _, p := range gone {
		delete(b.files, p)
	}
	for p, text := range changed {
		f := &fileTerm{tf: map[string]int{}}
		for _, w := range rag.Terms(text) {
			f.tf[w]++
			f.length++
		}
		b.files[p] = f
	}
	return nil
}

func (b *fileTerms) search(query string, k int) ([]Result, error) {
	terms := unique(rag.Terms(query))
	df, total := map[string]float64{}, 0.0
	for _, f := range b.files {
		total += float64(f.length)
		for _, t := range terms {
			if f.tf[t] > 0 {
				df[t]++
			}
		}
	}
	n := float64(len(b.files))
	avg := total/(n+1) + 1
	return best(b.files, k, func(f *fileTerm) float64 {
		s := 0.0
		for _, t := range terms {
			if tf := float64(f.tf[t]); tf > 0 {
				s += idf(n, df[t]) * tf * 2.2 / (tf + 1.2*(.25+.75*float64(f.length)/avg))
			}
		}
		return s
	}), nil
}

// keywords is what a person does with ripgrep: the words of the query, wherever they
// stand, whatever their case, the rare ones for more.
type keywords struct{ files map[string]string }

func (b *keywords) update(changed map[string]string, gone []string) error {
	for _, p := range gone {
		delete(b.files, p)
	}
	for p, text := range changed {
		b.files[p] = strings.ToLower(text)
	}
	return nil
}

func (b *keywords) search(query string, k int) ([]Result, error) {
	var terms []string
	for _, w := range strings.FieldsFunc(query, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) >= 3 && len(rag.Terms(w)) > 0 { // a stop word has none
			terms = append(terms, strings.ToLower(w))
		}
	}
	terms = unique(terms)
	counts := map[string][]int{}
	df := make([]float64, len(terms))
	for p, text := range b.files {
		c := make([]int, len(terms))
		for i, t := range terms {
			if c[i] = strings.Count(text, t); c[i] > 0 {
				df[i]++
			}
		}
		counts[p] = c
	}
	return best(counts, k, func(c []int) float64 {
		s := 0.0
		for i, n := range c {
			if n > 0 {
				s += idf(float64(len(b.files)), df[i]) * (1 + math.Log(float64(n)))
			}
		}
		return s
	}), nil
}

func (b *keywords) close() {}

func idf(n, df float64) float64 { return math.Log(1 + (n-df+.5)/(df+.5)) }

func unique(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}

func best[T any](files map[string]T, k int, score func(T) float64) []Result {
	var out []Result
	for p, f := range files {
		if s := score(f); s > 0 {
			out = append(out, Result{Path: p, Score: s})
		}
	}
	slices.SortFunc(out, func(a, b Result) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path)) })
	return out[:min(k, len(out))]
}

func (b *fileTerms) close() {}

// defaultBleve is the library as its introduction has it.
type defaultBleve struct {
	dir string
	idx bleve.Index
}

func newDefaultBleve() (baseline, error) {
	dir, err := os.MkdirTemp("", "bleve-default-")
	if err != nil {
		return nil, err
	}
	idx, err := bleve.New(filepath.Join(dir, "index"), bleve.NewIndexMapping())
	if err != nil {
		return nil, err
	}
	return &defaultBleve{dir, idx}, nil
}

func (b *defaultBleve) update(changed map[string]string, gone []string) error {
	batch := b.idx.NewBatch()
	for _, p := range gone {
		batch.Delete(p)
	}
	for p, text := range changed {
		if err := batch.Index(p, map[string]string{"path": p, "text": text}); err != nil {
			return err
		}
		if batch.Size() >= 200 {
			if err := b.idx.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	return b.idx.Batch(batch)
}

func (b *defaultBleve) search(query string, k int) ([]Result, error) {
	r, err := b.idx.Search(bleve.NewSearchRequestOptions(bleve.NewMatchQuery(query), k, 0, false))
	if err != nil {
		return nil, fmt.Errorf("bleve: %w", err)
	}
	var out []Result
	for _, h := range r.Hits {
		out = append(out, Result{Path: h.ID, Score: h.Score})
	}
	return out, nil
}

func (b *defaultBleve) close() {
	_ = b.idx.Close()
	_ = os.RemoveAll(b.dir)
}
