package rag

import (
	"strings"
	"sync"
)

// Limits of the tokenizer. What is longer is data, not language.
const (
	maxIdentBytes = 80   // a run of word characters beyond this gives no terms
	maxPartBytes  = 30   // a part of an identifier
	maxDigits     = 4    // longer numbers are ids, hashes, dates
	maxLineBytes  = 5000 // longer lines are generated or minified
	maxCacheTerms = 1 << 15
)

// A term is one word as the index knows it: a lower-case, lightly stemmed part
// of an identifier, or a whole compound identifier with its separators taken
// out, marked by wholeMark. "ReadFile", "read_file" and "readFile" all give
// read, fil and =readfile.
const wholeMark = '='

const (
	classSep = iota
	classLower
	classUpper
	classDigit
	classUnder
	classHigh // any byte of a character outside ASCII
)

var class = func() (t [256]uint8) {
	for c := 'a'; c <= 'z'; c++ {
		t[c] = classLower
	}
	for c := 'A'; c <= 'Z'; c++ {
		t[c] = classUpper
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = classDigit
	}
	t['_'] = classUnder
	for c := 0x80; c < 256; c++ {
		t[c] = classHigh
	}
	return t
}()

// eachIdent calls f with every run of word characters in b that is short enough.
func eachIdent(b string, f func(raw string)) {
	for i := 0; i < len(b); {
		if class[b[i]] == classSep {
			i++
			continue
		}
		j := i + 1
		for j < len(b) && class[b[j]] != classSep {
			j++
		}
		if j-i <= maxIdentBytes {
			f(b[i:j])
		}
		i = j
	}
}

// splitIdent cuts an identifier at underscores and changes of case:
// "HTTPServer_v2Name" gives HTTP, Server, v2, Name.
func splitIdent(id string) []string {
	var out []string
	start := 0
	cut := func(end int) {
		if end > start {
			out = append(out, id[start:end])
		}
		start = end
	}
	for i := 0; i < len(id); i++ {
		c := class[id[i]]
		if c == classUnder {
			cut(i)
			start = i + 1
			continue
		}
		if i == start || c != classUpper {
			continue
		}
		p := class[id[i-1]]
		switch {
		case p == classLower || p == classDigit || p == classHigh:
			cut(i)
		case p == classUpper && i+1 < len(id) && class[id[i+1]] == classLower:
			cut(i)
		}
	}
	cut(len(id))
	return out
}

// termCache remembers the terms of identifiers. It belongs to one goroutine.
type termCache struct {
	m map[string][]string
}

// queryTerms keeps the caches of queries, which meet the same identifiers again.
var queryTerms = sync.Pool{New: func() any { return new(termCache) }}

// terms gives the terms of one identifier: its parts, then, if it has several,
// the whole. The result is shared and must not be changed.
func (tc *termCache) terms(raw string) []string {
	if ts, ok := tc.m[raw]; ok {
		return ts
	}
	id := strings.Clone(raw) // raw is a part of a whole file, which must not stay
	ts := identTerms(id)
	if tc.m == nil || len(tc.m) >= maxCacheTerms {
		tc.m = map[string][]string{}
	}
	tc.m[id] = ts
	return ts
}

func identTerms(id string) []string {
	parts := splitIdent(id)
	ts := make([]string, 0, len(parts)+1)
	for _, p := range parts {
		if len(p) < 2 || len(p) > maxPartBytes || (len(p) > maxDigits && allDigits(p)) {
			continue
		}
		ts = append(ts, stem(strings.ToLower(p)))
	}
	if len(parts) > 1 {
		ts = append(ts, wholeTerm(id))
	}
	return ts
}

// wholeTerm is the term for an identifier as a whole. An identifier of a
// single part has none: its only term is that part.
func wholeTerm(id string) string {
	return string(wholeMark) + strings.ToLower(strings.ReplaceAll(id, "_", ""))
}

// nameTerm is the one term that every mention of the identifier has: the whole
// when it is compound, else its single part; "" when it is too short or long.
func nameTerm(id string) string {
	ts := identTerms(id)
	if len(ts) == 0 || len(id) > maxIdentBytes {
		return ""
	}
	return ts[len(ts)-1]
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if class[s[i]] != classDigit {
			return false
		}
	}
	return true
}

// stem takes the commonest English endings off, so that "parsing", "parsed" and
// "parses" meet. It is rough on purpose: both sides go through it.
func stem(w string) string {
	if len(w) < 4 || class[w[len(w)-1]] != classLower {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"):
		w = w[:len(w)-2]
	case w[len(w)-1] == 's' && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	switch {
	case strings.HasSuffix(w, "ing") && len(w) > 5:
		w = undouble(w[:len(w)-3])
	case strings.HasSuffix(w, "ed") && len(w) > 4 && !strings.HasSuffix(w, "eed"):
		w = undouble(w[:len(w)-2])
	case strings.HasSuffix(w, "ation") && len(w) > 7:
		w = w[:len(w)-3]
	case strings.HasSuffix(w, "ly") && len(w) > 5:
		w = w[:len(w)-2]
	}
	if w[len(w)-1] == 'e' && len(w) > 3 {
		w = w[:len(w)-1]
	}
	return w
}

func undouble(s string) string {
	k := len(s)
	if k > 2 && s[k-1] == s[k-2] && s[k-1] != 'l' && s[k-1] != 's' && s[k-1] != 'z' {
		return s[:k-1]
	}
	return s
}

// Terms gives the words of a text as the index knows them, in order, without those
// that say nothing: for whoever wants to compare like with like.
func Terms(text string) []string {
	tc := queryTerms.Get().(*termCache)
	defer queryTerms.Put(tc)
	var out []string
	eachIdent(text, func(raw string) {
		if stopWords[strings.ToLower(raw)] {
			return
		}
		for _, t := range tc.terms(raw) {
			if !stopWords[t] {
				out = append(out, t)
			}
		}
	})
	return out
}
