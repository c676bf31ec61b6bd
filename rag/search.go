package rag

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Limits of one answer.
const (
	maxOpened      = 40          // files read for windows
	maxOpenedBytes = 4 << 20     // of them together; the others show their best chunk
	lookFiles      = anchorFiles // looked into at once
	minFiles       = 10          // that an answer of as many items is about, where so many have a score
	rankPower      = .7          // how fast worth falls with the rank of the file, and of the window in it
	scoreDigits    = 1e6
)

// Search answers from what is indexed at this moment, and never waits for indexing.
func (x *Index) Search(ctx context.Context, q Query) (Set, error) {
	want := q.K
	if want <= 0 {
		want = DefaultK
	}
	want = min(want, MaxK)
	perFile := q.SnippetsPerFile
	if perFile <= 0 {
		perFile = DefaultPerFile
	}
	set := Set{Query: q.Text, State: x.setState()}
	k, err := x.rank(ctx, q)
	if err != nil {
		return Set{}, err
	}
	if len(k.t.sorted) == 0 && set.State == SetIndexing {
		set.State = SetScan
		set.Items, err = x.scan(ctx, q, want, perFile)
	} else {
		set.Terms = k.termNames()
		set.Items, err = x.items(ctx, k, q.Filters, want, perFile)
	}
	if err != nil {
		return Set{}, err
	}
	set.RetrievalSetID = setID(set)
	return set, nil
}

func (x *Index) setState() string {
	if x.Status().State == StateIndexing {
		return SetIndexing
	}
	return SetReady
}

// scoredWindow is a window of the file at a position, with its place in the answer.
type scoredWindow struct {
	pos   int
	w     window
	first bool // of its file
	value float64
	text  []string
}

// looked is a file of the answer that was looked into.
type looked struct {
	pos, rank int
	text      []byte // nil when it could not be read or is too much
	lines     []string
	ws        []window // never none
	found     bool     // what the query is about, in it
}

// looker looks into the best files.
type looker struct {
	x       *Index
	k       *ranking
	terms   lineTerms // of the query
	lent    lineTerms // that the very best files lend to the others
	perFile int
	opened  int
	bytes   int
}

// items opens the best files and shows their best windows.
func (x *Index) items(ctx context.Context, k *ranking, filters Filters, want, perFile int) ([]Item, error) {
	total := k.totals()
	order := byScore(total)
	order = slices.DeleteFunc(order, func(i int) bool { return total[i] <= 0 || !filters.allows(k.t.sorted[i].path) })
	order = order[:min(want, len(order))]
	if len(order) == 0 {
		return []Item{}, nil
	}
	l := &looker{x: x, k: k, terms: queryLineTerms(k.terms, k.lex.terms, k.t.chunks), lent: lineTerms{}, perFile: perFile}
	var out []scoredWindow
	for rank := 0; rank < len(order); {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, f := range l.look(rank, order[rank:min(rank+lookFiles, len(order))]) {
			if rank >= minFiles && enough(out, want, worth(rank, 0)) {
				order = nil
				break
			}
			for n, w := range f.ws {
				out = append(out, scoredWindow{f.pos, w, n == 0, worth(rank, n), f.lines})
			}
			rank++
		}
	}
	out = choose(out, want)
	items := make([]Item, 0, len(out))
	why := newExplainer(k)
	for _, s := range out {
		items = append(items, k.item(s, why))
	}
	return items, nil
}

// look finds the windows of the files at these positions, of which the first has that
// rank, on all processors.
func (l *looker) look(rank int, positions []int) []*looked {
	files := make([]*looked, len(positions))
	for n, i := range positions {
		f := &looked{pos: i, rank: rank + n}
		if l.opened < maxOpened && l.bytes < maxOpenedBytes {
			l.opened++
			if src, err := l.x.src.Read(l.k.t.sorted[i].path); err == nil && !isBinary(src) {
				l.bytes += len(src)
				f.text = src
			}
		}
		files[n] = f
	}
	var next atomic.Int32
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		all.Go(func() {
			wr := windowers.Get().(*windower)
			defer windowers.Put(wr)
			for n := int(next.Add(1)) - 1; n < len(files); n = int(next.Add(1)) - 1 {
				l.window(wr, files[n])
			}
		})
	}
	all.Wait()
	for _, f := range files {
		if f.rank < anchorFiles && f.found {
			lend(l.lent, l.k.t.sorted[f.pos], f.lines, f.ws, 1/float64(f.rank+1))
		}
	}
	return files
}

// window finds the windows of one file; at least one.
func (l *looker) window(wr *windower, f *looked) {
	e := l.k.t.sorted[f.pos]
	chunks := l.k.lex.chunksOf(e.id)
	f.lines = splitLines(f.text)
	own := l.terms.with(l.k.view.touched(l.k.hist.near, e.path), historyWeight)
	if f.rank >= anchorFiles {
		own = own.with(l.lent, anchorWeight)
	}
	f.ws = wr.windows(e, f.lines, chunks, own, l.perFile)
	if f.found = len(f.ws) > 0; !f.found {
		f.ws = []window{e.fallbackWindow(chunks, f.lines)}
	}
}

// choose takes the most worthy windows, and sees to it that a short answer is about
// several files all the same.
func choose(ws []scoredWindow, want int) []scoredWindow {
	byWorth := func(a, b scoredWindow) int { return cmp.Compare(b.value, a.value) }
	slices.SortStableFunc(ws, byWorth)
	if len(ws) <= want {
		return ws
	}
	var firsts, others []scoredWindow
	for _, w := range ws {
		if w.first && len(firsts) < min(want, minFiles) {
			firsts = append(firsts, w)
		} else {
			others = append(others, w)
		}
	}
	out := append(firsts, others[:want-len(firsts)]...)
	slices.SortStableFunc(out, byWorth)
	return out
}

// worth orders windows across files: the third window of the best file stands about
// where the best window of the third file does. Ranks count from 0.
func worth(file, window int) float64 {
	return math.Pow(float64((file+1)*(window+1)), -rankPower)
}

// enough says that no window of a file with that value, nor of any after it, can
// come among the first so many.
func enough(have []scoredWindow, want int, value float64) bool {
	if len(have) < want {
		return false
	}
	n := 0
	for _, s := range have {
		if s.value >= value {
			n++
		}
	}
	return n >= want
}

// lend collects the names that a good file's windows are about.
func lend(lent lineTerms, e *entry, lines []string, ws []window, weight float64) {
	for n, w := range ws {
		for _, t := range e.anchors(lines, w) {
			if len(lent) < maxAnchors || lent[t] > 0 {
				lent[t] = math.Max(lent[t], weight/float64(n+1))
			}
		}
	}
}

// fallbackWindow shows a file's best chunk, or its beginning.
func (e *entry) fallbackWindow(chunks []chunkScore, lines []string) window {
	w := window{start: 1, end: min(max(e.lines, 1), windowLines), def: -1}
	if len(chunks) > 0 && int(chunks[0].ref.chunk) < len(e.starts) {
		w.start, w.end = e.span(int(chunks[0].ref.chunk))
		w.def = e.enclosing((w.start + w.end) / 2)
	}
	if len(lines) > 0 {
		w.end = min(w.end, len(lines))
		w.start = min(w.start, w.end)
	}
	return w
}

func (k *ranking) item(s scoredWindow, why *explainer) Item {
	it := k.t.sorted[s.pos].item(s.w, s.text)
	it.Score, it.Why, it.Generation = round(s.value), why.of(s.pos), k.t.generation
	return it
}

// item is the window of a file, whose lines these are, without score and reasons.
func (e *entry) item(w window, lines []string) Item {
	it := Item{Path: e.path, StartLine: w.start, EndLine: w.end, NodeIDs: []string{"file:" + e.path}}
	if w.def >= 0 {
		d := e.defs[w.def]
		it.Symbol = d.Name
		if d.Container != "" && d.Kind == "method" {
			it.Symbol = d.Container + "." + d.Name
		}
		it.NodeIDs = append(it.NodeIDs, "sym:"+e.path+"#"+it.Symbol)
	}
	it.Around = e.surroundings(w)
	to := min(w.end, len(lines))
	from := min(w.start-1, to)
	it.ContentHash = contentHash([]byte(strings.Join(lines[max(0, from):max(from, to)], "\n")))
	return it
}

func round(v float64) float64 { return math.Round(v*scoreDigits) / scoreDigits }

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
	view := x.hist.current()
	without := words(strings.Join(q.Without, " "))
	scored := make(chan *histScores, 1)
	go func() { scored <- scoreHistory(view, p.terms) }() // beside the words of the files
	past := view.numbers(t)
	var judge trust
	if !without[trustName] {
		judge = newTrust(t, view, past)
	}
	lex, err := scoreLexical(t, r, judge, p.terms)
	hist := <-scored
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	k := &ranking{t: t, terms: p.terms, without: without, lex: lex, view: view, past: past, hist: hist}
	if err := k.fill(r, p, q.Focus); err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	return k, nil
}

// termNames lists the query's words that the index knows, heaviest first.
func (k *ranking) termNames() []string {
	const shown = 12
	type tw struct {
		t string
		w float64
	}
	var ts []tw
	for i, q := range k.terms {
		if k.lex.terms[i].df > 0 {
			ts = append(ts, tw{strings.TrimPrefix(q.text, string(wholeMark)), q.weight * k.lex.terms[i].idf})
		}
	}
	slices.SortFunc(ts, func(a, b tw) int { return cmp.Or(cmp.Compare(b.w, a.w), cmp.Compare(a.t, b.t)) })
	var out []string
	for _, t := range ts[:min(shown, len(ts))] {
		out = append(out, t.t)
	}
	return out
}
