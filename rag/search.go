package rag

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits of one answer.
const (
	maxOpened      = 40      // files read for windows
	maxOpenedBytes = 4 << 20 // of them together; the others show their best chunk
	minFiles       = 10      // that an answer of as many items is about, where so many have a score
	rankPower      = .7      // how fast worth falls with the rank of the file, and of the window in it
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

// items opens the best files and shows their best windows.
func (x *Index) items(ctx context.Context, k *ranking, filters Filters, want, perFile int) ([]Item, error) {
	total := k.totals()
	order := byScore(total)
	if len(order) == 0 || total[order[0]] <= 0 {
		return []Item{}, nil
	}
	terms := queryLineTerms(k.terms, k.lex.terms, k.t.chunks)
	lent := lineTerms{}
	var out []scoredWindow
	opened, bytes := 0, 0
	tc := queryTerms.Get().(*termCache)
	defer queryTerms.Put(tc)
	rank := -1
	for _, i := range order {
		if total[i] <= 0 || rank+1 == want {
			break
		}
		if !filters.allows(k.t.sorted[i].path) {
			continue
		}
		if rank+1 >= minFiles && enough(out, want, worth(rank+1, 0)) {
			break
		}
		rank++
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := k.t.sorted[i]
		var ws []window
		var lines []string
		if opened < maxOpened && bytes < maxOpenedBytes {
			opened++
			if src, err := x.src.Read(e.path); err == nil && !isBinary(src) {
				bytes += len(src)
				lines = splitLines(src)
			}
			own := terms.with(k.view.touched(k.hist.near, e.path), historyWeight)
			if rank >= anchorFiles {
				own = own.with(lent, anchorWeight)
			}
			ws = windows(tc, e, lines, k.lex.chunksOf(e.id), own, perFile)
			if rank < anchorFiles && len(ws) > 0 {
				lend(lent, e, lines, ws, 1/float64(rank+1))
			}
		}
		if len(ws) == 0 {
			ws = []window{e.fallbackWindow(k.lex.chunksOf(e.id), lines)}
		}
		for n, w := range ws {
			out = append(out, scoredWindow{i, w, n == 0, worth(rank, n), lines})
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
	past := make(chan *histScores, 1)
	go func() { past <- scoreHistory(view, p.terms) }() // beside the words of the files
	lex, err := scoreLexical(t, r, p.terms)
	hist := <-past
	if err != nil {
		return nil, fmt.Errorf("search the index: %w", err)
	}
	k := &ranking{t: t, terms: p.terms, without: words(strings.Join(q.Without, " ")), lex: lex, view: view, hist: hist}
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
