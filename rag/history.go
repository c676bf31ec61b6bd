package rag

import (
	"cmp"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// commit is what is kept of one. Terms and paths are numbers of the history's
// dictionary.
type commit struct {
	id      string
	time    int64
	words   []termCount // of the message, by term
	length  int         // of the message, in terms
	files   []change
	tooMany bool // too many files to say anything about one of them
}

type termCount struct {
	term uint32
	n    uint8
}

type change struct {
	path  uint32
	from  uint32   // path+1 before the commit; 0 when it did not move
	terms []uint32 // of the lines that it changed, sorted
	added bool
}

// history is what the ancestors of HEAD say about files. A refresh makes a new
// view; queries use the view they began with.
type history struct {
	root string
	path string // of the cache; "" keeps nothing
	off  bool

	mu      sync.Mutex
	dict    map[string]uint32 // terms and paths
	names   []string
	commits map[string]*commit
	view    *historyView
	changed bool      // since took
	fresh   []*commit // since save
	saved   int       // of names
	absent  string    // why there is none

	refreshing sync.Mutex
}

// historyView is immutable.
type historyView struct {
	names   []string // of the dictionary; only its first part is read
	dict    func(string) (uint32, bool)
	commits []*commit // newest first
	paths   [][]int32 // of each commit's files, numbers of files
	files   []string  // by number: their names of today
	number  map[string]int32
	about   fileFacts
	byWord  map[uint32][]hit
	byDiff  map[uint32][]diffHit
	avgLen  float64
	diffs   int // commits whose changes are known
}

type hit struct {
	commit uint32
	n      uint8
}

type diffHit struct {
	commit uint32
	file   uint16 // index into the commit's files
}

const historyName = "history"

func openHistory(root, dir string, off bool) *history {
	h := &history{root: root, off: off, dict: map[string]uint32{}, commits: map[string]*commit{}}
	if dir != "" {
		h.path = filepath.Join(dir, historyName)
		h.load()
	}
	return h
}

// refresh reads what is new among HEAD's ancestors. A folder without git has
// no history, and that is no error.
func (h *history) refresh(ctx context.Context) {
	if h.off {
		return
	}
	h.refreshing.Lock()
	defer h.refreshing.Unlock()
	ids, _, err := gitAncestors(ctx, h.root)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.mu.Lock()
		h.changed = h.changed || h.view != nil
		h.view = nil
		h.mu.Unlock()
		return
	}
	for _, part := range []struct {
		ids   []string
		diffs bool
	}{{ids[:min(len(ids), historyDiffs)], true}, {ids[min(len(ids), historyDiffs):], false}} {
		var need []string
		h.mu.Lock()
		for _, id := range part.ids {
			if h.commits[id] == nil {
				need = append(need, id)
			}
		}
		h.mu.Unlock()
		var tc termCache
		_ = gitRead(ctx, h.root, need, part.diffs, func(r rawCommit) { h.add(&tc, r) })
		if ctx.Err() != nil {
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.view != nil && sameCommits(h.view.commits, ids) {
		return
	}
	h.view = h.makeView(ids)
	h.changed = true
	h.save()
}

func sameCommits(have []*commit, ids []string) bool {
	return slices.EqualFunc(have, ids, func(c *commit, id string) bool { return c.id == id })
}

func (h *history) intern(s string) uint32 {
	if i, ok := h.dict[s]; ok {
		return i
	}
	i := uint32(len(h.names))
	s = strings.Clone(s)
	h.dict[s] = i
	h.names = append(h.names, s)
	return i
}

// add takes in one commit.
func (h *history) add(tc *termCache, r rawCommit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := &commit{id: r.id, time: r.time}
	counts := map[uint32]int{}
	for ln := range strings.SplitSeq(r.message, "\n") {
		if isTrailer(ln) {
			continue
		}
		eachIdent(ln, func(raw string) {
			if stopWords[strings.ToLower(raw)] {
				return
			}
			for _, t := range tc.terms(raw) {
				counts[h.intern(t)]++
				c.length++
			}
		})
	}
	for t, n := range counts {
		c.words = append(c.words, termCount{t, uint8(min(n, 255))})
	}
	slices.SortFunc(c.words, func(a, b termCount) int { return cmp.Compare(a.term, b.term) })
	c.tooMany = len(r.files) > maxCommitFiles
	for _, f := range r.files {
		if c.tooMany || f.path == "" {
			continue
		}
		ch := change{path: h.intern(f.path), added: f.added}
		if f.from != "" {
			ch.from = h.intern(f.from) + 1
		}
		ch.terms = h.changedTerms(tc, f.changed)
		c.files = append(c.files, ch)
	}
	h.commits[c.id] = c
	h.fresh = append(h.fresh, c)
}

func (h *history) changedTerms(tc *termCache, text string) []uint32 {
	if text == "" {
		return nil
	}
	seen := map[uint32]bool{}
	eachIdent(text, func(raw string) {
		if len(seen) < maxDiffTerms {
			for _, t := range tc.terms(raw) {
				if !stopWords[t] {
					seen[h.intern(t)] = true
				}
			}
		}
	})
	out := make([]uint32, 0, len(seen))
	for t := range seen {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// isTrailer tells "Signed-off-by: …" and its like, which name people.
func isTrailer(ln string) bool {
	i := strings.Index(ln, "-by:")
	return i > 0 && i < 20
}

// makeView joins the commits under today's names of files: a file that was moved
// keeps its past.
func (h *history) makeView(ids []string) *historyView {
	names := h.names
	v := &historyView{names: names, byWord: map[uint32][]hit{}, byDiff: map[uint32][]diffHit{}}
	v.dict = func(s string) (uint32, bool) { // the dictionary only grows; what came later is not of this view
		h.mu.Lock()
		defer h.mu.Unlock()
		i, ok := h.dict[s]
		return i, ok && int(i) < len(names)
	}
	today := map[uint32]uint32{}
	total := 0
	dense := map[uint32]int32{}
	fileNumber := func(name uint32) int32 {
		n, ok := dense[name]
		if !ok {
			n = int32(len(v.files))
			dense[name] = n
			v.files = append(v.files, names[name])
		}
		return n
	}
	for _, id := range ids {
		c := h.commits[id]
		if c == nil {
			continue
		}
		ci := uint32(len(v.commits))
		v.commits = append(v.commits, c)
		total += c.length
		paths := make([]uint32, len(c.files))
		for i, f := range c.files {
			paths[i] = f.path
			if p, ok := today[f.path]; ok {
				paths[i] = p
			}
			if f.from != 0 {
				if _, ok := today[f.from-1]; !ok {
					today[f.from-1] = paths[i]
				}
			}
			for _, t := range f.terms {
				v.byDiff[t] = append(v.byDiff[t], diffHit{ci, uint16(i)})
			}
		}
		if int(ci) < historyDiffs {
			v.diffs++
		}
		numbers := make([]int32, len(paths))
		for i, p := range paths {
			numbers[i] = fileNumber(p)
		}
		v.paths = append(v.paths, numbers)
		for _, w := range c.words {
			v.byWord[w.term] = append(v.byWord[w.term], hit{ci, w.n})
		}
	}
	v.avgLen = float64(total)/float64(len(v.commits)+1) + 1
	v.number = make(map[string]int32, len(v.files))
	for n, p := range v.files {
		v.number[p] = int32(n)
	}
	v.about = v.facts()
	return v
}

// numbers gives the number of each of the table's files, by position; -1 where the
// history knows nothing of it.
func (v *historyView) numbers(t *table) []int32 {
	out := make([]int32, len(t.sorted))
	for i, e := range t.sorted {
		out[i] = -1
		if v != nil {
			if n, ok := v.number[e.path]; ok {
				out[i] = n
			}
		}
	}
	return out
}

// fileFacts is what the history says of files whatever the query, by number.
type fileFacts struct {
	recent, freq, burst, length []float64
	avgLength                   float64 // of the messages about a file, in terms
}

func (v *historyView) facts() fileFacts {
	n := len(v.files)
	f := fileFacts{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), 1}
	var order []int32 // of first sight: sums must not follow a map's order
	for ci, paths := range v.paths {
		if len(paths) == 0 || len(paths) > knnFiles {
			continue
		}
		fade := math.Exp(-float64(ci) / recentCommits)
		share := 1 / math.Sqrt(float64(len(paths)))
		for _, p := range paths {
			if f.freq[p] == 0 {
				order = append(order, p)
			}
			f.length[p] += float64(v.commits[ci].length)
			f.recent[p] += fade
			f.freq[p]++
			f.burst[p] += share * math.Exp(-float64(ci)/burstCommits)
		}
	}
	for _, p := range order {
		f.avgLength += f.length[p] / float64(len(order)+1)
	}
	return f
}

// current is the view to query, or nil.
func (h *history) current() *historyView {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.view
}

// took says whether the view has changed since it was last asked.
func (h *history) took() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.changed
	h.changed = false
	return c
}
