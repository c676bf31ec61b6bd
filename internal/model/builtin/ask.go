package builtin

import (
	"fmt"
	"math"
	"regexp"
	"sort"
	"strings"
)

// The sizes of the question plan: they keep a whole answer well inside the
// context window (a read of windowMax lines is about 1,200 tokens).
const (
	searchK       = 8
	grepLimit     = 50
	readsFirst    = 6
	readsSecond   = 4
	followNames   = 3
	referencesMax = 60
	deedsMax      = 2
	unseenBar     = 4   // lines that speak of a word, below which it is looked for alone
	upwardTop     = 40  // of the best lines, those whose definition is looked for
	upwardLines   = 110 // lines above them that are read for it
)

// ask answers a question: search and grep side by side, read the best places,
// follow the names found there, read again, answer.
func (r *run) ask(it intent, n narrow) (string, bool) {
	q := r.question(it, n)
	if len(q.concepts) == 0 {
		return r.unknown(it, n)
	}
	if q.form == "uses" {
		return r.askUses(it, q)
	}
	c := newCorpus()
	for _, note := range r.t.notes {
		c.takeBlocks(note)
	}
	first := r.firstCalls(it, q)
	got, ok := r.do(r.opening(it, q), first...)
	if !ok {
		return "", false
	}
	for _, g := range got {
		c.take(g)
	}

	// Read the best places, and look up the names that the best lines are about.
	ranked := c.rank(q)
	calls := r.reads(c, ranked, readsFirst)
	names := followed(ranked, q)
	for _, name := range names {
		calls = append(calls, r.grep(`\b`+regexp.QuoteMeta(name)+`\b`, r.scopePath(q), false, grepLimit))
	}
	for _, pattern := range clipList(unseen(c, q), followNames) {
		calls = append(calls, r.grep(pattern, r.scopePath(q), true, grepLimit))
	}
	for _, pattern := range deeds(q) {
		calls = append(calls, r.grep(pattern, r.scopePath(q), false, grepLimit/2))
	}
	if len(calls) > 0 {
		if got, ok = r.do(r.reading(c, ranked, names), calls...); !ok {
			return "", false
		}
		for _, g := range got {
			c.take(g)
		}
	}

	// What the names led to.
	ranked = c.rank(q)
	if calls = append(r.reads(c, ranked, readsSecond), r.upward(c, ranked)...); len(calls) > 0 {
		if got, ok = r.do("Checking where that leads.", calls...); !ok {
			return "", false
		}
		for _, g := range got {
			c.take(g)
		}
	}
	return answer(it, q, c, failures(r, first)), true
}

// question turns an ask into what the ranking needs.
func (r *run) question(it intent, n narrow) question {
	q := question{form: it.form, scope: it.paths, steer: n, target: it.old}
	text := it.subject
	for _, p := range it.paths {
		text = strings.ReplaceAll(text, "@"+p, " ")
		text = strings.ReplaceAll(text, p, " ")
	}
	words := contentWords(text)
	if it.old != "" {
		words = []word{{it.old, true}}
		if isName(it.new) {
			q.owner = it.new
		}
	}
	if pronoun.MatchString(it.subject) && len(words) <= 2 {
		for _, p := range parse(r.t.lastSubject()) {
			if p.kind == kindAsk {
				words = append(words, contentWords(p.subject)...)
			} else if p.old != "" {
				words = append(words, word{lastName(p.old), true})
			}
		}
	}
	q.aboutTests = regexp.MustCompile(`(?i)\btest(?:s|ed|ing)?\b`).MatchString(it.subject) || n.tests
	q.uses = usesAsked.MatchString(it.subject)
	q.concepts = concepts(words)
	if len(n.words) > 0 {
		extra := concepts(contentWords(strings.Join(n.words, " ")))
		for i := range extra {
			extra[i].weight = weightSteer
		}
		q.concepts = append(q.concepts, extra...)
	}
	if len(q.concepts) > conceptsMax {
		q.concepts = q.concepts[:conceptsMax]
	}
	return q
}

const conceptsMax = 10

var (
	pronoun   = regexp.MustCompile(`(?i)\b(?:it|that|this|they|them|its|those|these)\b`)
	usesAsked = regexp.MustCompile(`(?i)\b(?:appl(?:y|ied|ies)|used?|uses|using|set|handled?|enforced?|checked|honou?red|respected|started|reset|read|called|invoked|takes? effect|consulted|looked up|triggered|sent|written|closed|increased|incremented|decremented|updated)\b`)
)

// scopePath is the one path that grep can be kept to, "" for everything.
func (r *run) scopePath(q question) string {
	if len(q.scope) == 1 && (looksLikeFile(q.scope[0]) || strings.Contains(q.scope[0], "/")) {
		return q.scope[0]
	}
	return ""
}

func (r *run) firstCalls(it intent, q question) []call {
	path := r.scopePath(q)
	var calls []call
	if r.box.has("search") {
		calls = append(calls, r.search(queryText(q), searchK))
		if second := synonymText(q); second != "" && q.target == "" {
			calls = append(calls, r.search(second, searchK))
		}
	}
	if q.target != "" {
		if r.box.has("symbols") {
			calls = append(calls, r.symbols(q.target, 20))
		}
		calls = append(calls, r.grep(`\b`+regexp.QuoteMeta(q.target)+`\b`, path, false, grepLimit*2))
		return calls
	}
	for _, p := range patterns(q.concepts) {
		calls = append(calls, r.grep(p, path, true, grepLimit))
	}
	for _, p := range q.scope {
		if looksLikeFile(p) && !strings.Contains(p, "*") {
			calls = append(calls, r.read(p, 0, 0))
		}
	}
	return calls
}

// queryText is the search query: the content words and what they abbreviate to.
func queryText(q question) string {
	var words []string
	for _, c := range q.concepts {
		words = append(words, c.raw)
	}
	for _, c := range q.concepts {
		for _, n := range c.near {
			if n != strings.ToLower(c.raw) && len(words) < 16 && stem(n) != stem(c.raw) {
				words = append(words, n)
			}
		}
	}
	return strings.Join(unique(words), " ")
}

// synonymText is a second query: the telling words and what else they may be
// called in code.
func synonymText(q question) string {
	var words []string
	cs := telling(q.concepts)
	for _, c := range cs {
		if c.weight > weightWeak || len(cs) < 3 {
			words = append(words, c.raw)
		}
	}
	known := len(words)
	for _, c := range cs {
		n := 0
		for _, base := range []string{strings.ToLower(c.raw), stem(c.raw), stem(c.raw) + "e"} {
			for _, s := range synonyms[base] {
				if stem(s) != stem(c.raw) && n < 5 {
					words = append(words, s)
					n++
				}
			}
		}
	}
	if len(words) == known && known == len(q.concepts) {
		return ""
	}
	return strings.Join(unique(words), " ")
}

// deeds are patterns for calls of functions that are named by the question's
// verbs alone: recover(), dial().
func deeds(q question) []string {
	var out []string
	for _, con := range telling(q.concepts) {
		if con.verb && !con.ident && con.weight >= weightVerb && len(out) < deedsMax {
			out = append(out, `\b`+regexp.QuoteMeta(strings.ToLower(con.root()))+`[a-z]?\(`)
		}
	}
	return out
}

// unseen are the telling concepts that no line found so far speaks of.
func unseen(c *corpus, q question) []string {
	var out []string
	for _, con := range telling(q.concepts) {
		if con.weight <= weightWeak {
			continue
		}
		found := 0
		for _, p := range sortedKeys(c.files) {
			s := c.files[p]
			for _, n := range s.numbers() {
				if con.match(s.features(n)) >= strengthPrefix {
					found++
				}
			}
		}
		if found < unseenBar {
			out = append(out, con.alternatives(false))
		}
	}
	return out
}

// reads asks for the best stretches that were not read yet.
func (r *run) reads(c *corpus, ranked []scored, max int) []call {
	if !r.box.has("read") {
		return nil
	}
	var calls []call
	best := 0.0
	for _, w := range windows(ranked, windowTop) {
		best = math.Max(best, w.peak)
		if len(calls) == max {
			break
		}
		if w.peak < best*windowShare {
			continue
		}
		from := w.from - windowReach
		if from < 1 {
			from = 1
		}
		to := w.to + windowReach
		s := c.file(w.path)
		for from < w.from && s.read[from] {
			from++
		}
		for to > w.to && s.read[to] {
			to--
		}
		unread := 0
		for n := w.from; n <= w.to; n++ {
			if !s.read[n] {
				unread++
			}
		}
		if unread == 0 {
			continue
		}
		calls = append(calls, r.read(w.path, from, to-from+1))
	}
	return calls
}

// upward reads above good lines whose definition was not seen yet.
func (r *run) upward(c *corpus, ranked []scored) []call {
	if !r.box.has("read") {
		return nil
	}
	var calls []call
	asked := map[string]bool{}
	best := append([]scored(nil), ranked[:min(len(ranked), upwardTop)]...)
	sort.SliceStable(best, func(i, j int) bool { return best[i].own > best[j].own })
	for _, s := range best {
		if len(calls) == readsSecond {
			break
		}
		f := c.file(s.path)
		if s.scope.name != "" || s.note || !f.read[s.n] || languageOf(s.path).prose {
			continue
		}
		to := s.n
		for f.read[to-1] {
			to--
		}
		from := max2(1, to-upwardLines)
		key := fmt.Sprintf("%s:%d", s.path, from)
		if to <= 1 || asked[key] {
			continue
		}
		asked[key] = true
		calls = append(calls, r.read(s.path, from, to-from))
	}
	return calls
}

// followed picks the names worth looking up: those in the best lines whose own
// parts speak of two concepts (IdleConnTimeout for "idle connection timeout").
func followed(ranked []scored, q question) []string {
	type cand struct {
		name  string
		score float64
	}
	var list []cand
	seen := map[string]int{}
	for i, s := range ranked {
		if i == 40 {
			break
		}
		if isTest(s.path) && !q.aboutTests {
			continue
		}
		for _, name := range nameInText.FindAllString(s.text, -1) {
			if len(name) < 5 || len(parts(name)) < 2 {
				continue
			}
			f := featuresOf(name)
			hits, sum := 0, 0.0
			for _, c := range q.concepts {
				if m := c.match(f); m >= strengthPart {
					hits++
					sum += m * c.weight
				}
			}
			if hits < 2 && !(hits == 1 && len(q.concepts) == 1) {
				continue
			}
			sum /= float64(len(parts(name)) + 1)
			if j, ok := seen[name]; ok {
				list[j].score += 0.05 * sum
			} else {
				seen[name] = len(list)
				list = append(list, cand{name, sum})
			}
		}
	}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].score > list[j-1].score; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	var out []string
	for _, c := range list {
		if len(out) == followNames {
			break
		}
		out = append(out, c.name)
	}
	return out
}

// opening is what is said with the first calls.
func (r *run) opening(it intent, q question) string {
	var words []string
	for _, c := range q.concepts {
		words = append(words, c.raw)
	}
	text := "I'll look for " + strings.Join(words, ", ")
	if len(q.scope) > 0 {
		text += " in " + joinAnd(quoteAll(q.scope))
	}
	if q.steer.said != "" {
		text = "Understood: " + q.steer.said + ". " + text
	}
	return text + "."
}

func (r *run) reading(c *corpus, ranked []scored, names []string) string {
	var files []string
	for _, w := range windows(ranked, readsFirst) {
		files = append(files, "`"+w.path+"`")
	}
	text := "Reading " + joinAnd(clipList(unique(files), 3))
	if len(names) > 0 {
		text += " and following " + joinAnd(quoteAll(names))
	}
	return text + "."
}

// failures says which of the first calls failed and why, in a line each.
func failures(r *run, calls []call) []string {
	var out []string
	for _, c := range calls {
		for _, s := range r.byKey[c.key()] {
			if s.result.failed {
				out = append(out, "`"+c.name+"` failed: "+s.result.firstLine())
				break
			}
		}
	}
	return unique(out)
}
