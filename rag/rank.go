package rag

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A feature is one number about one file for one query; fusion is their weighted
// sum. Most are scaled so that the best file has 1.
type feature int

const (
	featChunk feature = iota
	featCover
	featDir
	featBase
	featNamed
	featSymbol
	featDefinition
	featMention
	featKNN
	featField
	featRecent
	featBurst
	featFreq
	featExpand
	featTranslate
	featPair
	featCochange
	featRefs
	featFocus
	featSize
	featTest
	featTestAsked
	featNew
	featProse
	featAside
	numFeatures
)

// features gives each its ranker, which is the name under which it appears in Why
// and can be switched off; whether it needs the best files of the others; and its
// weight. The weights were fitted to commits of fifteen repositories in ten languages
// (see bench/retrieval), with a pull towards what had been set by hand, and rounded.
var features = [numFeatures]struct {
	name, ranker string
	late         bool
	weight       float64
}{
	featChunk:      {"chunk", "bm25", false, 1.2},            // the best chunk's BM25
	featCover:      {"cover", "coverage", false, .5},         // share of the query's weight that the file has at all
	featDir:        {"dir", "path", false, .35},              // words of the folders
	featBase:       {"base", "path", false, .45},             // words of the file's name
	featNamed:      {"named", "path", false, .5},             // the query names the file
	featSymbol:     {"symbol", "symbols", false, .18},        // words of names that are defined here
	featDefinition: {"definition", "definitions", false, .1}, // defines an identifier of the query
	featMention:    {"mention", "mentions", false, .18},      // has an identifier of the query
	featKNN:        {"knn", "history", false, .28},           // changed by commits whose messages are like the query
	featField:      {"field", "history", false, .4},          // all messages about the file, as one text
	featRecent:     {"recent", "history", false, .28},        // changed lately …
	featBurst:      {"burst", "history", false, .17},         // … and just now
	featFreq:       {"freq", "history", false, -.5},          // changed often, whatever the query
	featExpand:     {"expand", "expansion", true, .13},       // has words that similar commits changed
	featTranslate:  {"translate", "expansion", true, .09},    // has words that go with the query's in all commits
	featPair:       {"pair", "tests", true, .2},              // the test of a good file, or what a good test tests
	featCochange:   {"cochange", "cochange", true, .2},       // changed together with good files
	featRefs:       {"refs", "references", true, .05},        // mentions what good files define
	featFocus:      {"focus", "focus", false, .5},            // near to what the person looks at
	featSize:       {"size", "prior", false, .09},
	featTest:       {"test", "prior", false, -.07},
	featTestAsked:  {"testasked", "prior", false, .06}, // a test, and the query is about tests
	featNew:        {"new", "prior", false, -.1},       // no commit is known
	featProse:      {"prose", "prior", false, -.2},     // not code
	featAside:      {"aside", "prior", false, -.4},     // vendored, generated, a record of changes
}

const (
	seedFiles = 10 // files whose companions are looked for
	pairFiles = 60 // files whose tests, or tests whose files, are looked for
)

// ranking is the features of all files for one query.
type ranking struct {
	t       *table
	terms   []queryTerm
	without map[string]bool // rankers that are switched off
	lex     *lexScores
	view    *historyView
	past    []int32 // each file's number in the history, by position
	hist    *histScores
	x       [numFeatures][]float64 // by position in t.sorted; nil where all are 0
	first   []float64
	order   []int // positions, best of the first stage first
	seed    map[string]float64

	pos   []int    // by file id: its position
	tf    []int32  // by file id, of the term that was counted last; see count
	files []uint32 // that have it
}

// set and add change a feature of the file at a position.
func (k *ranking) set(f feature, at int, v float64) {
	if v != 0 {
		k.column(f)[at] = v
	}
}

func (k *ranking) add(f feature, at int, v float64) { k.column(f)[at] += v }

func (k *ranking) column(f feature) []float64 {
	if k.x[f] == nil {
		k.x[f] = make([]float64, len(k.t.sorted))
	}
	return k.x[f]
}

// scaled lists the features that are divided by their maximum as soon as they are known.
var scaled = []feature{featChunk, featDir, featBase, featSymbol, featDefinition, featMention, featKNN, featField, featRecent, featBurst, featFreq}

// fill computes all features.
func (k *ranking) fill(r *lexReader, p parsedQuery, focus Focus) error {
	t, lex := k.t, k.lex
	k.pos, k.tf = make([]int, len(t.byID)), make([]int32, len(t.byID))
	k.x[featFocus] = k.focusValues(focus)
	// A question that says nothing findable ("what is this?") is about the whole.
	vague := !slices.ContainsFunc(lex.terms, func(s termStat) bool { return s.df > 0 })
	asksTests := slices.ContainsFunc(p.terms, func(q queryTerm) bool { return q.text == "test" || q.text == "spec" })
	asksProse := slices.ContainsFunc(p.terms, func(q queryTerm) bool { return proseWords[q.text] })
	for i, e := range t.sorted {
		k.pos[e.id] = i
		x := func(f feature, v float64) { k.set(f, i, v) }
		x(featChunk, lex.best[e.id])
		x(featCover, lex.cover[e.id])
		x(featDir, lex.dir[e.id])
		x(featBase, lex.base[e.id])
		x(featNamed, namedIn(p.paths, e.path))
		if vague && e.dir == "" && e.stem == "readme" {
			x(featNamed, 1)
		}
		x(featSymbol, lex.symDef[e.id])
		x(featDefinition, lex.symKey[e.id])
		x(featMention, lex.code[e.id])
		known := false
		if n := k.past[i]; n >= 0 {
			about := &k.view.about
			x(featKNN, k.hist.knn[n])
			x(featField, k.hist.field[n])
			x(featRecent, math.Log1p(about.recent[n]))
			x(featBurst, about.burst[n])
			x(featFreq, math.Log1p(about.freq[n]))
			known = about.freq[n] > 0
		}
		x(featSize, math.Log1p(float64(e.tokens))/12)
		if e.test {
			x(featTest, 1)
			if asksTests {
				x(featTestAsked, 1)
			}
		}
		if !e.source && !asksProse {
			x(featProse, 1)
		}
		if e.aside && !asksProse {
			x(featAside, 1)
		}
		if !known {
			x(featNew, 1)
		}
	}
	for _, f := range scaled {
		k.scale(f)
	}
	k.firstStage()
	k.companions()
	for _, f := range []func(*lexReader) error{k.references, k.expanded, k.translated} {
		if err := f(r); err != nil {
			return err
		}
	}
	return nil
}

// proseWords are those of a request that is about prose itself.
var proseWords = words("doc readme changelog manual guid tutorial licens vendor")

// scale divides by the best source file's value; others get no more than it.
func (k *ranking) scale(f feature) {
	x := k.x[f]
	top, any := 0.0, 0.0
	for i, v := range x {
		any = math.Max(any, v)
		if k.t.sorted[i].source {
			top = math.Max(top, v)
		}
	}
	if top == 0 {
		top = any
	}
	if top > 0 {
		for i := range x {
			x[i] = math.Min(1, x[i]/top)
		}
	}
}

// namedIn is 1 for a file that the text names with its folders, less for the bare name.
func namedIn(paths []string, p string) float64 {
	best := 0.0
	for _, n := range paths {
		switch {
		case n == p:
			return 1
		case !strings.HasSuffix(p, n) || len(p) > len(n) && p[len(p)-len(n)-1] != '/':
		case strings.Contains(n, "/"):
			best = math.Max(best, .9)
		default:
			best = math.Max(best, .7)
		}
	}
	return best
}

func (k *ranking) firstStage() {
	k.first = make([]float64, len(k.t.sorted))
	for f, d := range features {
		if d.late || k.without[d.ranker] {
			continue
		}
		for i, v := range k.x[f] {
			k.first[i] += d.weight * v
		}
	}
	k.hideEmpty(k.first)
	k.order = byScore(k.first)
}

// hideEmpty puts files that hold no text behind all others.
func (k *ranking) hideEmpty(score []float64) {
	for i, e := range k.t.sorted {
		if len(e.starts) == 0 {
			score[i] = -1
		}
	}
}

// maxOrder is how many of the best files are put in order at all. More than an
// answer holds, so that filters have something to choose from.
const maxOrder = 1000

// byScore gives the positions of the best scores, best first, and by position where
// they are the same.
func byScore(s []float64) []int {
	before := func(a, b int) bool { return s[a] > s[b] || s[a] == s[b] && a < b }
	o := make([]int, 0, min(len(s), maxOrder+1))
	sift := func(i int) { // the root is the last in order
		for {
			c := 2*i + 1
			if c >= len(o) {
				return
			}
			if c+1 < len(o) && before(o[c], o[c+1]) {
				c++
			}
			if !before(o[i], o[c]) {
				return
			}
			o[i], o[c] = o[c], o[i]
			i = c
		}
	}
	for i := range s {
		switch {
		case len(o) < maxOrder:
			if o = append(o, i); len(o) == maxOrder {
				for j := len(o) / 2; j >= 0; j-- {
					sift(j)
				}
			}
		case before(i, o[0]):
			o[0] = i
			sift(0)
		}
	}
	slices.SortFunc(o, func(a, b int) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) })
	return o
}

// companions fills the features that look from the best files to others.
func (k *ranking) companions() {
	if len(k.order) == 0 || k.first[k.order[0]] <= 0 {
		return
	}
	base := k.first[k.order[0]]
	k.seed = map[string]float64{}
	for rank, i := range k.order[:min(seedFiles, len(k.order))] {
		s := k.first[i] / base / (1 + float64(rank)/3)
		k.seed[k.t.sorted[i].path] = s
	}
	stems := map[string][2]float64{}
	for _, i := range k.order[:min(pairFiles, len(k.order))] {
		e := k.t.sorted[i]
		v, side := stems[e.stem], 0
		if e.test {
			side = 1
		}
		v[side] = math.Max(v[side], k.first[i]/base)
		stems[e.stem] = v
	}
	co := k.view.cochange(k.seed)
	for i, e := range k.t.sorted {
		side := 1
		if e.test {
			side = 0
		}
		k.set(featPair, i, stems[e.stem][side])
		if n := k.past[i]; n >= 0 {
			k.set(featCochange, i, co[n])
		}
	}
	k.scale(featCochange)
}

// totals is the fused score of all files, by position.
func (k *ranking) totals() []float64 {
	out := make([]float64, len(k.t.sorted))
	for f, d := range features {
		if d.weight == 0 || k.without[d.ranker] {
			continue
		}
		for i, v := range k.x[f] {
			out[i] += d.weight * v
		}
	}
	k.hideEmpty(out)
	return out
}
