package rag

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"
)

// Limits of a parsed query.
const (
	maxQueryTerms    = 128 // heaviest first; the tail of a long text says little
	maxQueryMentions = 40
	subjectWeight    = 2 // the first line says what it is about
	joinedWeight     = .5

	abbreviatedWeight = .4
)

// queryTerm is a word to look for.
type queryTerm struct {
	text   string
	weight float64
	whole  bool // a compound identifier as a whole
}

// parsedQuery is the text of a query taken apart; pure.
type parsedQuery struct {
	terms []queryTerm // by text, so that sums come out the same always
	// mentions are words written like code: compound, quoted, called.
	mentions []string
	// paths are words that look like a file or a folder.
	paths []string
}

func parseQuery(text string) parsedQuery {
	if len(text) > MaxQueryBytes {
		text = text[:MaxQueryBytes]
	}
	subject, body, _ := strings.Cut(strings.TrimLeft(text, " \t\n"), "\n")
	weights := map[string]float64{}
	whole := map[string]bool{}
	var tc termCache
	count := func(s string, inc float64) {
		n := map[string]float64{}
		eachIdent(s, func(raw string) {
			if stopWords[strings.ToLower(raw)] {
				return
			}
			for _, t := range tc.terms(raw) {
				if !stopWords[t] {
					n[t]++
					whole[t] = t[0] == wholeMark
				}
			}
		})
		for t, c := range n {
			weights[t] += inc * (1 + math.Log(c))
		}
	}
	count(subject, subjectWeight)
	count(body, 1)
	for t, w := range joinedWords(subject, body) {
		if weights[t] == 0 {
			weights[t], whole[t] = w, t[0] == wholeMark
		}
	}
	for t, w := range abbreviated(weights) {
		if weights[t] == 0 {
			weights[t] = w
		}
	}
	var p parsedQuery
	for t, w := range weights {
		p.terms = append(p.terms, queryTerm{t, w, whole[t]})
	}
	if len(p.terms) > maxQueryTerms {
		slices.SortFunc(p.terms, func(a, b queryTerm) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.text, b.text))
		})
		p.terms = p.terms[:maxQueryTerms]
	}
	slices.SortFunc(p.terms, func(a, b queryTerm) int { return cmp.Compare(a.text, b.text) })
	p.mentions, p.paths = mentionsOf(text)
	return p
}

// abbreviated gives the other spellings of the words, at less weight.
func abbreviated(weights map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for t, w := range weights {
		for _, a := range abbreviations[t] {
			if !stopWords[a] {
				out[a] = max(out[a], w*abbreviatedWeight)
			}
		}
	}
	return out
}

// joinedWords gives the compound identifiers that neighbouring words would make:
// "word wrapping" is looked for as wordWrapping and word_wrap too.
func joinedWords(subject, body string) map[string]float64 {
	out := map[string]float64{}
	for _, x := range []struct {
		text   string
		weight float64
	}{{subject, joinedWeight * subjectWeight}, {body, joinedWeight}} {
		var prev []string // up to two words before, lower case
		end := -1
		for i := 0; i < len(x.text); {
			if class[x.text[i]] == classSep {
				i++
				continue
			}
			j := i + 1
			for j < len(x.text) && class[x.text[j]] != classSep {
				j++
			}
			w := strings.ToLower(x.text[i:j])
			if end < 0 || i-end > 1 { // only a single blank, hyphen, dot or slash joins
				prev = prev[:0]
			}
			if !stopWords[w] && len(w) > 5 { // "keepalive" may be keepAlive in the code
				for _, last := range []string{w, stem(w)} {
					out[string(wholeMark)+last] = max(out[string(wholeMark)+last], x.weight)
				}
			}
			for k := range prev {
				if !stopWords[prev[k]] && !stopWords[w] && k == len(prev)-1 { // and "keep alive" keepalive
					out[stem(prev[k]+w)] = max(out[stem(prev[k]+w)], x.weight)
				}
				for _, last := range []string{w, stem(w)} {
					t := string(wholeMark) + strings.Join(prev[k:], "") + last
					if !stopWords[prev[k]] && !stopWords[w] && len(t) > 5 && len(t) < maxIdentBytes {
						out[t] = max(out[t], x.weight)
					}
				}
			}
			prev = append(prev, w)
			if len(prev) > 2 {
				prev = prev[1:]
			}
			end = j
			i = j
		}
	}
	return out
}

// mentionsOf finds what the text names as code: `quoted`, CamelCase,
// snake_case, called(), and what it names as a path.
func mentionsOf(text string) (idents, paths []string) {
	seen := map[string]bool{}
	add := func(list *[]string, s string) {
		if s != "" && !seen[s] && len(*list) < maxQueryMentions {
			seen[s] = true
			*list = append(*list, s)
		}
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r,;\"'`()[]{}<>|*!?=", r) }) {
		w = strings.TrimRight(strings.TrimLeft(w, "./:@#"), ".:/")
		if i := strings.IndexByte(w, ':'); i > 0 && strings.Trim(w[i:], ":0123456789-") == "" {
			w = w[:i] // path:line
		}
		ext := path.Ext(w)
		if strings.Contains(w, "/") || (len(ext) > 1 && len(ext) < len(w) && langByExt[strings.ToLower(ext[1:])] != nil) {
			add(&paths, w)
		}
	}
	for i := 0; i < len(text); {
		if class[text[i]] == classSep {
			i++
			continue
		}
		j := i
		for j < len(text) && class[text[j]] != classSep {
			j++
		}
		id := text[i:j]
		quoted := i > 0 && strings.IndexByte("`'\"", text[i-1]) >= 0 && j < len(text) && text[j] == text[i-1]
		called := j < len(text) && text[j] == '('
		if len(id) > 1 && len(id) <= maxIdentBytes && !allDigits(id) && (quoted || called || len(splitIdent(id)) > 1) {
			add(&idents, id)
		}
		i = j
	}
	return idents, paths
}
