package rag

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// A feature is one number about one file for one query; fusion is a weighted
// sum of them. Most are scaled so that the best file has 1.
type feature int

const (
	featFile feature = iota
	featChunk
	featTop3
	featDir
	featBase
	featSymDef
	featSymKey
	featCode
	featKNN
	featField
	featRecent
	featFreq
	featCover
	featSize
	featTest
	featNew
	featPair
	featCochange
	featSibling
	featDiff
	featBurst
	featExpand
	featRefs
	featBestSym
	featChunkCover
	featFileF
	featCoverF
	featNamed
	featTestAsked
	featDocs
	featTranslate
	featBurst2
	featFocus
	numFeatures
)

// features gives each its ranker, the name under which it appears in Why and can
// be switched off, and its weight.
var features = [numFeatures]struct {
	name, ranker string
	first        float64 // weight when the first candidates are chosen
	weight       float64
}{
	featFile:       {"file", "bm25", 1, 1},
	featChunk:      {"chunk", "bm25", 1, 1},
	featTop3:       {"top3", "bm25", 0, 0},
	featDir:        {"dir", "path", .3, .3},
	featBase:       {"base", "path", .6, .6},
	featSymDef:     {"symdef", "symbols", .3, .3},
	featSymKey:     {"symkey", "definitions", .3, .3},
	featCode:       {"code", "mentions", .5, -.1},
	featKNN:        {"knn", "history", .6, .52},
	featField:      {"field", "history", .5, .5},
	featRecent:     {"recent", "history", .2, .2},
	featFreq:       {"freq", "history", 0, -.6},
	featCover:      {"cover", "coverage", 0, .6},
	featSize:       {"size", "prior", 0, .08},
	featTest:       {"test", "prior", 0, 0},
	featNew:        {"new", "prior", 0, -.23},
	featPair:       {"pair", "tests", 0, .22},
	featCochange:   {"cochange", "cochange", 0, .3},
	featSibling:    {"sibling", "siblings", 0, 0},
	featDiff:       {"diff", "changes", 0, 0},
	featBurst:      {"burst", "history", 0, 0},
	featExpand:     {"expand", "expansion", 0, 0},
	featRefs:       {"refs", "references", 0, 0},
	featFocus:      {"focus", "focus", .5, .5},
	featFileF:      {"filef", "bm25", 0, 0},
	featCoverF:     {"coverf", "coverage", 0, 0},
	featNamed:      {"named", "path", 1, .5},
	featTestAsked:  {"testasked", "prior", 0, 0},
	featDocs:       {"docs", "prior", 0, 0},
	featTranslate:  {"translate", "expansion", 0, 0},
	featBurst2:     {"burst2", "history", 0, 0},
	featBestSym:    {"bestsym", "symbols", 0, 0},
	featChunkCover: {"chunkcover", "coverage", 0, 0},
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
	hist    *histScores
	x       [numFeatures][]float64 // by position in t.sorted
	first   []float64
	order   []int // positions, best of the first stage first
	seed    map[string]float64
}

// scaled lists the features that are divided by their maximum.
var scaled = []feature{featFile, featChunk, featTop3, featDir, featBase, featSymDef, featSymKey, featCode, featKNN, featField, featRecent, featFreq, featDiff, featBurst, featBurst2, featFileF}

// fill computes all features.
func (k *ranking) fill(r *lexReader, p parsedQuery, focus Focus) error {
	t, lex := k.t, k.lex
	k.hist = scoreHistory(k.view, p.terms)
	for f := range k.x {
		k.x[f] = make([]float64, len(t.sorted))
	}
	k.x[featFocus] = k.focusValues(focus)
	asksTests := slices.ContainsFunc(p.terms, func(q queryTerm) bool { return q.text == "test" || q.text == "spec" })
	for i, e := range t.sorted {
		k.x[featFile][i], k.x[featChunk][i], k.x[featTop3][i] = lex.file[e.id], lex.best[e.id], lex.top3[e.id]
		k.x[featDir][i], k.x[featBase][i] = lex.dir[e.id], lex.base[e.id]
		k.x[featSymDef][i], k.x[featSymKey][i] = lex.symDef[e.id], lex.symKey[e.id]
		k.x[featCode][i], k.x[featCover][i] = lex.code[e.id], lex.cover[e.id]
		k.x[featKNN][i], k.x[featField][i] = k.hist.knn[e.path], k.hist.field[e.path]
		k.x[featRecent][i], k.x[featFreq][i] = math.Log1p(k.hist.recent[e.path]), math.Log1p(k.hist.freq[e.path])
		k.x[featDiff][i], k.x[featBurst][i] = k.hist.diff[e.path], k.hist.burst[e.path]
		k.x[featSize][i] = math.Log1p(float64(e.tokens)) / 12
		k.x[featFileF][i], k.x[featCoverF][i] = lex.fileF[e.id], lex.coverF[e.id]
		k.x[featBurst2][i] = k.hist.burst2[e.path]
		if e.test {
			k.x[featTest][i] = 1
			if asksTests {
				k.x[featTestAsked][i] = 1
			}
		}
		if !e.source {
			k.x[featDocs][i] = 1
		}
		k.x[featNamed][i] = namedIn(p.paths, e.path)
		if k.hist.freq[e.path] == 0 {
			k.x[featNew][i] = 1
		}
	}
	for _, f := range scaled {
		k.scale(f)
	}
	k.firstStage()
	k.companions(k.view)
	for _, f := range []func(*lexReader) error{k.references, k.expanded, k.translated} {
		if err := f(r); err != nil {
			return err
		}
	}
	k.bestSymbols(p.terms)
	return nil
}

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
		if d.first == 0 || k.without[d.ranker] {
			continue
		}
		for i, v := range k.x[f] {
			k.first[i] += d.first * v
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

// byScore orders positions by score, and by position where it is the same.
func byScore(s []float64) []int {
	o := make([]int, len(s))
	for i := range o {
		o[i] = i
	}
	slices.SortFunc(o, func(a, b int) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) })
	return o
}

// companions fills the features that look from the best files to others.
func (k *ranking) companions(v *historyView) {
	if len(k.order) == 0 || k.first[k.order[0]] <= 0 {
		return
	}
	base := k.first[k.order[0]]
	k.seed = map[string]float64{}
	dirs := map[string]float64{}
	for rank, i := range k.order[:min(seedFiles, len(k.order))] {
		s := k.first[i] / base / (1 + float64(rank)/3)
		k.seed[k.t.sorted[i].path] = s
		dirs[k.t.sorted[i].dir] += s
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
	co := v.cochange(k.seed)
	for i, e := range k.t.sorted {
		side := 1
		if e.test {
			side = 0
		}
		k.x[featPair][i] = stems[e.stem][side]
		k.x[featCochange][i] = co[e.path]
		k.x[featSibling][i] = math.Max(0, dirs[e.dir]-k.seed[e.path])
	}
	k.scale(featCochange)
	k.scale(featSibling)
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
