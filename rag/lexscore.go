package rag

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Parameters of BM25, for chunks and for whole files.
const (
	chunkK1 = 1.2
	chunkB  = 0.4
	fileK1  = 1.2
	fileB   = 0.75
)

func idf(n, df float64) float64 { return math.Log(1 + (n-df+.5)/(df+.5)) }

// lexScores is what the inverted index says, by file id or by chunk. Every sum
// has one addend per query term, in the order of the terms, so that neither the
// segments nor their order can be seen in it.
type lexScores struct {
	cover, code    []float64
	best           []float64
	symDef, symKey []float64
	dir, base      []float64
	chunks         []chunkScore // only those with a score
	first          []int32      // by file id: 1 + the index of one of its chunks, 0 for none
	terms          []termStat   // one per query term
}

type chunkScore struct {
	ref   docRef
	score float64
	next  int32 // like lexScores.first: another chunk of the file
}

type termStat struct {
	df      int // files
	chunkDF int
	trust   float64 // see trust.go
	idf     float64 // over files, as far as it is trusted
}

// lexScorer holds the space of one query. All its numbers are 0 between two queries, and
// each query clears what it has touched: there are many chunks, and few that it finds.
type lexScorer struct {
	t       *table
	r       *lexReader
	trust   trust
	base    []int     // first global number of each segment
	tf      []float64 // by global document number, of the term at hand
	score   []float64 // by global document number
	hit     []globalDoc
	touched []globalDoc // those with a score
	fileT   []float64   // by file id, of the term at hand
	files   []uint32
	named   []int // by file id: how many terms its name has
}

type globalDoc struct {
	n   int
	ref docRef
}

var lexScorers = sync.Pool{New: func() any { return new(lexScorer) }}

func (s *lexScorer) begin(t *table, r *lexReader) {
	s.t, s.r, s.base = t, r, s.base[:0]
	chunks := 0
	for _, d := range r.docs() {
		s.base = append(s.base, chunks)
		chunks += d
	}
	s.tf, s.score = zeros(s.tf, chunks), zeros(s.score, chunks)
	s.fileT, s.named = zeros(s.fileT, len(t.byID)), zeros(s.named, len(t.byID))
}

// zeros gives n of them; s holds nothing else.
func zeros[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// end clears what is left, and keeps the space for another query.
func (s *lexScorer) end() {
	for _, h := range s.touched {
		s.score[h.n] = 0
	}
	clear(s.named)
	s.touched, s.t, s.r, s.trust = s.touched[:0], nil, nil, trust{}
	lexScorers.Put(s)
}

func scoreLexical(t *table, r *lexReader, past trust, terms []queryTerm) (*lexScores, error) {
	n := len(t.byID)
	out := &lexScores{cover: make([]float64, n), code: make([]float64, n),
		best: make([]float64, n), symDef: make([]float64, n), symKey: make([]float64, n),
		dir: make([]float64, n), base: make([]float64, n), terms: make([]termStat, len(terms))}
	s := lexScorers.Get().(*lexScorer)
	s.begin(t, r)
	s.trust = past
	defer s.end()
	for i, q := range terms {
		if err := s.body(out, i, q); err != nil {
			return nil, err
		}
		if err := s.symbols(out, q); err != nil {
			return nil, err
		}
		if err := s.paths(out, q); err != nil {
			return nil, err
		}
	}
	s.wholePaths(out)
	s.coverage(out, terms)
	s.collect(out)
	return out, nil
}

// gather sums a term's occurrences by chunk (s.tf, s.hit) and by file (s.fileT, s.files).
func (s *lexScorer) gather(field, term string) error {
	return s.r.each(field, term, func(ref docRef, seg, doc, freq int) {
		e := s.t.file(ref.file)
		if e == nil || int(ref.chunk) >= len(e.starts) {
			return
		}
		g := s.base[seg] + doc
		if s.tf[g] == 0 {
			s.hit = append(s.hit, globalDoc{g, ref})
		}
		if s.fileT[ref.file] == 0 {
			s.files = append(s.files, ref.file)
		}
		s.tf[g] += float64(freq)
		s.fileT[ref.file] += float64(freq)
	})
}

// reset clears what gather left.
func (s *lexScorer) reset() {
	for _, h := range s.hit {
		s.tf[h.n] = 0
	}
	for _, f := range s.files {
		s.fileT[f] = 0
	}
	s.hit, s.files = s.hit[:0], s.files[:0]
}

func (s *lexScorer) body(out *lexScores, i int, q queryTerm) error {
	defer s.reset()
	if err := s.gather(fieldBody, q.text); err != nil {
		return err
	}
	nFiles, nChunks := float64(len(s.t.sorted)), float64(s.t.chunks)
	avgChunk := float64(s.t.tokens)/(nChunks+1) + 1
	rare := idf(nFiles, float64(len(s.files)))
	trust := s.trust.of(q.text, rare, s.fileT)
	wf := q.weight * rare * trust
	wc := q.weight * idf(nChunks, float64(len(s.hit))) * trust
	out.terms[i] = termStat{len(s.files), len(s.hit), trust, rare * trust}
	for _, f := range s.files {
		out.cover[f] += wf
		if q.whole {
			out.code[f] += wf
		}
	}
	for _, h := range s.hit {
		if s.score[h.n] == 0 {
			s.touched = append(s.touched, h)
		}
		tf := s.tf[h.n]
		norm := chunkK1 * (1 - chunkB + chunkB*float64(s.t.byID[h.ref.file].lens[h.ref.chunk])/avgChunk)
		s.score[h.n] += wc * tf * (chunkK1 + 1) / (tf + norm)
	}
	return nil
}

func (s *lexScorer) symbols(out *lexScores, q queryTerm) error {
	defer s.reset()
	if err := s.gather(fieldSym, q.text); err != nil {
		return err
	}
	w := q.weight * idf(float64(len(s.t.sorted)), float64(len(s.files)))
	for _, f := range s.files {
		out.symDef[f] += w * math.Min(1, s.fileT[f]/symWeightMain)
		if q.whole {
			out.symKey[f] += w
		}
	}
	return nil
}

func (s *lexScorer) paths(out *lexScores, q queryTerm) error {
	defer s.reset()
	for _, x := range []struct {
		field string
		to    []float64
	}{{fieldDir, out.dir}, {fieldBase, out.base}} {
		if err := s.gather(x.field, q.text); err != nil {
			return err
		}
		w := math.Min(q.weight, 3) * idf(float64(len(s.t.sorted)), float64(len(s.files)))
		for _, f := range s.files {
			x.to[f] += w
			if x.field == fieldBase {
				s.named[f]++
			}
		}
		s.reset()
	}
	return nil
}

// wholePaths makes a name that is matched in whole count more than a part of a long one.
func (s *lexScorer) wholePaths(out *lexScores) {
	for _, e := range s.t.sorted {
		if n := s.named[e.id]; n > 0 {
			out.base[e.id] *= .5 + .5*math.Min(1, float64(n)/float64(max(e.baseTerms, 1)))
		}
	}
}

// coverage turns the weight of the terms that a file has into a share of all.
func (s *lexScorer) coverage(out *lexScores, terms []queryTerm) {
	total := 0.0
	for i, q := range terms {
		if out.terms[i].df > 0 {
			total += q.weight * out.terms[i].idf
		}
	}
	if total == 0 {
		return
	}
	for i := range out.cover {
		out.cover[i] /= total
	}
}

// collect gives each file its best chunk, and threads all of its chunks together.
func (s *lexScorer) collect(out *lexScores) {
	out.chunks = make([]chunkScore, len(s.touched))
	out.first = make([]int32, len(s.t.byID))
	for i, h := range s.touched {
		c := chunkScore{ref: h.ref, score: s.score[h.n], next: out.first[h.ref.file]}
		out.chunks[i] = c
		out.first[h.ref.file] = int32(i) + 1
		out.best[h.ref.file] = math.Max(out.best[h.ref.file], c.score)
	}
}

// chunksOf gives a file's chunks that have a score, best first.
func (l *lexScores) chunksOf(file uint32) []chunkScore {
	var out []chunkScore
	for i := l.first[file]; i > 0; i = l.chunks[i-1].next {
		out = append(out, l.chunks[i-1])
	}
	slices.SortFunc(out, func(a, b chunkScore) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.ref.chunk, b.ref.chunk))
	})
	return out
}
