package rag

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Limits of look-ups.
const (
	DefaultSymbols    = 50
	DefaultReferences = 200
	maxShownLine      = 300 // bytes of a Location's text
)

// Symbols finds definitions by a part of their name, best first: the same name, then
// names that begin with it, then names that have its letters at the beginnings of
// their words, then names that hold it. Case matters only between equals.
func (x *Index) Symbols(query string, limit int) []Symbol {
	if limit <= 0 {
		limit = DefaultSymbols
	}
	q := strings.ToLower(strings.TrimSpace(query))
	if q == "" {
		return nil
	}
	type found struct {
		s    Symbol
		cost int
	}
	var out []found
	for _, e := range x.table.Load().sorted {
		for _, d := range e.defs {
			if c := nameCost(d.Name, query, q); c >= 0 {
				if d.Kind == "field" || d.Kind == "var" {
					c++
				}
				out = append(out, found{e.symbol(d), c})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.s.Name), len(b.s.Name)))
	})
	var syms []Symbol
	for _, f := range out[:min(limit, len(out))] {
		syms = append(syms, f.s)
	}
	return syms
}

// nameCost is how far a name is from what was asked, -1 when it is something else.
func nameCost(name, query, lower string) int {
	n := strings.ToLower(name)
	switch {
	case name == query:
		return 0
	case n == lower:
		return 2
	case strings.HasPrefix(n, lower):
		return 4
	case initials(name, lower):
		return 6
	case strings.Contains(n, lower):
		return 8
	}
	return -1
}

// initials says whether the letters can be read off the beginnings of the name's
// words, in order: "rf" and "refi" for ReadFile.
func initials(name, letters string) bool {
	for _, w := range splitIdent(name) {
		w = strings.ToLower(w)
		n := 0
		for n < len(w) && n < len(letters) && w[n] == letters[n] {
			n++
		}
		letters = letters[n:]
		if letters == "" {
			return true
		}
	}
	return false
}

func (e *entry) symbol(d Def) Symbol {
	return Symbol{d.Name, d.Kind, d.Container, e.path, d.Start, d.End}
}

// Definition finds what is defined under a name, which may be qualified by its
// container: "Index.Search", "Index::Search". The order is by path and line.
func (x *Index) Definition(name string) ([]Symbol, error) {
	container, base := qualified(name)
	term := nameTerm(base)
	if term == "" {
		return nil, nil
	}
	t := x.table.Load()
	r, err := x.st.lex.reader()
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	defer r.Close()
	files := map[uint32]bool{}
	err = r.each(fieldSym, term, func(ref docRef, _, _, _ int) { files[ref.file] = true })
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", name, err)
	}
	var out []Symbol
	if len(files) == 0 { // as of most words of a sentence
		return nil, nil
	}
	for _, e := range t.sorted {
		if !files[e.id] {
			continue
		}
		for _, d := range e.defs {
			if d.Name == base && (container == "" || d.Container == container) {
				out = append(out, e.symbol(d))
			}
		}
	}
	return out, nil
}

func qualified(name string) (container, base string) {
	name = strings.TrimSpace(name)
	for _, sep := range []string{"::", ".", "#"} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			container, name = name[:i], name[i+len(sep):]
			if j := strings.LastIndexAny(container, ".:#"); j >= 0 {
				container = container[j+1:]
			}
			return container, name
		}
	}
	return "", name
}

// References finds where an identifier stands in the text, comments and strings
// included, by path, line and column; definitions are among them. The index says where
// to look, the files themselves are then read. truncated says that the limit cut it.
func (x *Index) References(ctx context.Context, name string, limit int) (refs []Location, truncated bool, err error) {
	if limit <= 0 {
		limit = DefaultReferences
	}
	_, base := qualified(name)
	if base == "" || len(base) > maxIdentBytes {
		return nil, false, nil
	}
	t := x.table.Load()
	chunks, all, err := x.mentioning(base)
	if err != nil {
		return nil, false, fmt.Errorf("look up %s: %w", name, err)
	}
	for _, e := range t.sorted {
		if len(chunks[e.id]) == 0 && !all {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		src, err := x.src.Read(e.path)
		if err != nil || isBinary(src) {
			continue
		}
		refs = occurrences(refs, e.path, splitLines(src), base, limit+1)
		if len(refs) > limit {
			return refs[:limit], true, nil
		}
	}
	return refs, false, nil
}

// mentioning gives the files whose index entries have the identifier; all is set
// when it is too short to be indexed.
func (x *Index) mentioning(base string) (files map[uint32][]uint16, all bool, err error) {
	term := nameTerm(base)
	if term == "" {
		return nil, true, nil
	}
	r, err := x.st.lex.reader()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	files = map[uint32][]uint16{}
	err = r.each(fieldBody, term, func(ref docRef, _, _, _ int) {
		files[ref.file] = append(files[ref.file], ref.chunk)
	})
	return files, false, err
}

// occurrences appends where the identifier stands as a whole word.
func occurrences(to []Location, path string, lines []string, ident string, limit int) []Location {
	for n, ln := range lines {
		if len(ln) > maxLineBytes {
			continue
		}
		for from := 0; len(to) < limit; {
			i := strings.Index(ln[from:], ident)
			if i < 0 {
				break
			}
			i += from
			end := i + len(ident)
			if (i == 0 || class[ln[i-1]] == classSep) && (end == len(ln) || class[ln[end]] == classSep) {
				text := strings.TrimSpace(ln)
				to = append(to, Location{path, n + 1, i + 1, text[:min(len(text), maxShownLine)]})
			}
			from = end
		}
	}
	return to
}
