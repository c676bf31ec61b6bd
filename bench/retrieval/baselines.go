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

	"github.com/agent-lsp/agent-lsp/internal/workspace"
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
	"keywords": func() (baseline, error) { return &fileTerms{files: map[string]*fileTerm{}}, nil },
	"bm25":     func() (baseline, error) { return &fileTerms{files: map[string]*fileTerm{}, bm25: true}, nil },
	"bleve":    newDefaultBleve,
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

// fileTerms counts words by file. Without bm25 it is what a person does with ripgrep:
// the words of the query, counted, the rare ones for more.
type fileTerms struct {
	files map[string]*fileTerm
	bm25  bool
}

type fileTerm struct {
	tf     map[string]int
	length int
	lines  int
}

func (b *fileTerms) update(changed map[string]string, gone []string) error {
	for _, p := range gone {
		delete(b.files, p)
	}
	for p, text := range changed {
		f := &fileTerm{tf: map[string]int{}, lines: strings.Count(text, "\n") + 1}
		for _, w := range plainWords(text, b.bm25) {
			f.tf[w]++
			f.length++
		}
		b.files[p] = f
	}
	return nil
}

// plainWords cuts at what is no letter or digit, and with split at changes of case too.
func plainWords(text string, split bool) []string {
	var out []string
	start, lower := -1, false
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' && !split
		if start >= 0 && (!letter || split && lower && c >= 'A' && c <= 'Z') {
			if i-start > 1 && i-start < 60 {
				out = append(out, strings.ToLower(text[start:i]))
			}
			start = -1
		}
		if letter && start < 0 {
			start = i
		}
		lower = c >= 'a' && c <= 'z'
	}
	return out
}

func (b *fileTerms) search(query string, k int) ([]Result, error) {
	terms := plainWords(query, b.bm25)
	slices.Sort(terms)
	terms = slices.Compact(terms)
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
	var out []Result
	for p, f := range b.files {
		s := 0.0
		for _, t := range terms {
			tf := float64(f.tf[t])
			if tf == 0 || len(t) < 3 {
				continue
			}
			idf := math.Log(1 + (n-df[t]+.5)/(df[t]+.5))
			if b.bm25 {
				s += idf * tf * 2.2 / (tf + 1.2*(.25+.75*float64(f.length)/avg))
			} else {
				s += idf * (1 + math.Log(tf))
			}
		}
		if s > 0 {
			out = append(out, Result{Path: p, Score: s})
		}
	}
	slices.SortFunc(out, func(a, b Result) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Path, b.Path)) })
	return out[:min(k, len(out))], nil
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
