package builtin

import (
	"math"
	"regexp"
	"strings"
)

// A word is one content word of a question, in order.
type word struct {
	raw   string
	ident bool // surely a name in code
}

var rawWord = regexp.MustCompile(`[\p{L}\d_$]+(?:(?:\.|::|-|/)[\p{L}\d_$]+)*`)

// contentWords drops the words that carry no subject. The first word's capital
// counts for nothing unless it is inside the word.
func contentWords(s string) []word {
	var out []word
	seen := map[string]bool{}
	all := rawWord.FindAllString(s, -1)
	for i, w := range all {
		low := strings.TrimSuffix(strings.ToLower(w), "'s")
		if stop[low] || len(w) < 2 && !strings.ContainsAny(w, "0123456789") {
			continue
		}
		if kindWords[low] && !inCompound(all, i) {
			continue
		}
		ident := isIdentifier(w) && !looksLikeFile(w)
		if !ident && w != low && i > 0 && isName(w) && w != strings.ToUpper(w) {
			ident = true
		}
		if !ident {
			w = low
		}
		if !seen[w] {
			seen[w] = true
			out = append(out, word{w, ident})
		}
	}
	return out
}

// inCompound says whether the kind word at i belongs to a compound noun: a
// plain content word stands right before it, or a kind word or noun after it.
func inCompound(all []string, i int) bool {
	plain := func(w string) bool {
		low := strings.ToLower(w)
		return !stop[low] && !isIdentifier(w) && (w == low || w == strings.ToUpper(w))
	}
	if i > 0 && plain(all[i-1]) && !kindWords[strings.ToLower(all[i-1])] && !vague[strings.ToLower(all[i-1])] {
		return true
	}
	if i > 0 && kindWords[strings.ToLower(all[i-1])] {
		return true
	}
	if i+1 < len(all) {
		next := strings.ToLower(all[i+1])
		return plain(all[i+1]) && (kindWords[next] || !verbs[stem(next)] && !verbs[stem(next)+"e"] && !vague[next] && i > 0)
	}
	return false
}

// A concept is a content word with everything that may stand for it in code.
type concept struct {
	word
	alts   map[string]float64 // stem → strength, 1 for the word itself
	near   []string           // the word and its abbreviations, as written
	weight float64
	verb   bool
}

// The strengths and weights by which evidence is scored.
const (
	strengthAbbreviation = 0.95
	strengthSynonym      = 0.6
	strengthPart         = 0.55
	strengthPrefix       = 0.8
	weightIdentifier     = 1.7
	weightPlain          = 1.0
	weightVerb           = 0.75
	weightWeak           = 0.55
	weightVague          = 0.2
	weightSteer          = 1.3
	idfFloor             = 0.4
	prefixMin            = 4
	longWord             = 8 // letters from which code may cut a word to its first prefixMin
)

func concepts(words []word) []concept {
	var out []concept
	for _, w := range words {
		c := concept{word: w, alts: map[string]float64{}, weight: weightPlain}
		low := strings.ToLower(w.raw)
		put := func(s string, strength float64) {
			if st := stem(s); st != "" && c.alts[st] < strength {
				c.alts[st] = strength
			}
		}
		ps := parts(w.raw)
		switch {
		case w.ident:
			c.weight = weightIdentifier
			for _, p := range ps {
				put(p, strengthPart)
			}
			if len(ps) == 1 {
				put(ps[0], strengthAbbreviation)
			}
		case len(ps) > 1: // keep-alive, content-type, HTTP/2
			put(strings.Join(ps, ""), 1)
			for _, p := range ps {
				put(p, strengthPart+0.2)
			}
		default:
			put(low, 1)
		}
		c.near = []string{low}
		for _, base := range []string{low, stem(low), stem(low) + "e"} {
			for _, a := range abbreviations[base] {
				put(a, strengthAbbreviation)
				c.near = append(c.near, a)
			}
			for _, a := range synonyms[base] {
				put(a, strengthSynonym)
			}
			if verbs[base] {
				c.verb = true
			}
		}
		c.near = unique(c.near)
		switch {
		case w.ident:
		case vague[low]:
			c.weight = weightVague
		case weak[low] || kindWords[low] || weak[stem(low)]:
			c.weight = weightWeak
		case c.verb && !strings.HasSuffix(low, "s"): // "redirects" is a noun here, "redirected" is not
			c.weight = weightVerb
		}
		out = append(out, c)
	}
	return out
}

// root is the verb's plain form, as a function would be named.
func (c concept) root() string {
	low := strings.ToLower(c.raw)
	for _, base := range []string{low, stem(low), stem(low) + "e"} {
		if verbs[base] {
			return base
		}
	}
	return stem(low)
}

// match says how strongly a line's words and names speak of the concept.
func (c concept) match(f features) float64 {
	if c.ident {
		if f.names[c.raw] {
			return 1
		}
	}
	best := 0.0
	for a, strength := range c.alts {
		if f.stems[a] && strength > best {
			best = strength
		}
	}
	if best < strengthPrefix && !c.ident && len(c.raw) >= prefixMin {
		st := stem(c.raw)
		for s := range f.stems {
			if len(s) >= prefixMin && s != st && (strings.HasPrefix(st, s) && len(st)-len(s) <= 5 || strings.HasPrefix(s, st) && len(s)-len(st) <= 4) {
				best = math.Max(best, strengthPrefix)
			}
		}
	}
	return best
}

// features are the words and names of a piece of text.
type features struct {
	stems map[string]bool
	names map[string]bool
}

var nameInText = regexp.MustCompile(`[\p{L}_$][\p{L}\d_$]*`)

func featuresOf(text string) features {
	f := features{stems: map[string]bool{}, names: map[string]bool{}}
	for _, w := range nameInText.FindAllString(text, -1) {
		f.names[w] = true
	}
	ps := parts(text)
	for i, p := range ps {
		f.stems[stem(p)] = true
		if i > 0 && len(ps[i-1])+len(p) <= 16 { // keep-alive is keepalive
			f.stems[stem(ps[i-1]+p)] = true
		}
	}
	return f
}

// alternatives writes a concept as a regexp for inside identifiers and prose.
func (c concept) alternatives(withSynonyms bool) string {
	list := append([]string(nil), c.near...)
	if withSynonyms {
		for _, s := range synonyms[strings.ToLower(c.raw)] {
			list = append(list, s)
		}
		for _, s := range synonyms[stem(c.raw)] {
			list = append(list, s)
		}
		for _, s := range synonyms[stem(c.raw)+"e"] {
			list = append(list, s)
		}
	}
	for i, s := range list {
		if st := strings.TrimSuffix(stem(s), "i"); len(st) >= 3 && len(st) <= len(s) {
			s = st
		}
		if len(s) >= longWord { // code abbreviates long words: semicolon, semi
			list[i] = regexp.QuoteMeta(s[:prefixMin]) + "[a-z]*"
			continue
		}
		list[i] = strings.ReplaceAll(regexp.QuoteMeta(s), "-", "[-_ ]?")
	}
	list = clipList(shortest(unique(list)), alternativesMax)
	if len(list) == 1 {
		return list[0]
	}
	return "(" + strings.Join(list, "|") + ")"
}

// shortest drops words that begin with another word of the list.
func shortest(list []string) []string {
	var out []string
	for i, s := range list {
		covered := false
		for j, o := range list {
			if i != j && strings.HasPrefix(s, o) && (len(o) < len(s) || j < i) {
				covered = true
			}
		}
		if !covered {
			out = append(out, s)
		}
	}
	return out
}

const (
	gap             = `[a-z]{0,4}[ _.-]?` // what may stand between two words of a name: "idle connection", "IdleConn"
	patternsMax     = 3
	alternativesMax = 5 // words of one concept in a pattern: each makes the search slower
)

// patterns derives regexps from a question: names as they are, and neighbours
// joined as they would be in an identifier or a comment.
func patterns(cs []concept) []string {
	var names, triples, pairs []string
	cs = telling(cs)
	for i, c := range cs {
		if c.ident {
			names = append(names, `\b`+regexp.QuoteMeta(lastName(c.raw))+`\b`)
		}
		if c.ident && len(parts(c.raw)) > 1 {
			continue
		}
		if i+2 < len(cs) && !cs[i+1].ident && !cs[i+2].ident {
			triples = append(triples, c.alternatives(false)+gap+cs[i+1].alternatives(false)+gap+cs[i+2].alternatives(false))
		}
		var partners []string // of a verb: what may stand on either side of it in a name
		for j := max2(0, i-2); j < len(cs) && j <= i+2; j++ {
			d := cs[j]
			if j == i || d.ident && len(parts(d.raw)) > 1 {
				continue
			}
			if c.verb && !(d.verb && j < i) {
				partners = append(partners, d.alternatives(d.verb))
			} else if j == i+1 && !d.verb {
				pairs = append(pairs, c.alternatives(false)+gap+d.alternatives(false))
			}
		}
		if len(partners) > 0 {
			verb, other := c.alternatives(true), "("+strings.Join(unique(partners), "|")+")"
			pairs = append(pairs, verb+gap+other, other+gap+verb)
		}
	}
	if len(cs) == 1 && !cs[0].ident {
		pairs = append(pairs, cs[0].alternatives(true))
	}
	var out []string
	if len(names) > 0 {
		out = append(out, strings.Join(unique(names), "|"))
	}
	if len(triples) > 0 {
		out = append(out, strings.Join(clipList(triples, 4), "|"))
	}
	if len(pairs) > 0 {
		out = append(out, strings.Join(clipList(unique(pairs), 8), "|"))
	}
	if len(out) > patternsMax {
		out = out[:patternsMax]
	}
	return out
}

// telling leaves out vague verbs.
func telling(cs []concept) []concept {
	var out []concept
	for _, c := range cs {
		if c.weight > weightVague {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return cs
	}
	return out
}

func clipList(list []string, n int) []string {
	if len(list) > n {
		return list[:n]
	}
	return list
}
