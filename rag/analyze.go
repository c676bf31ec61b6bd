package rag

import (
	"bytes"
	"hash/fnv"
	"path"
	"regexp"
	"strings"
)

// MaxFileBytes is how large a file may be to be indexed.
const MaxFileBytes = 1 << 20

// Weights of a name in the symbol field, as counts: what a thing is called
// counts more when the thing is a function or a type.
const (
	symWeightMain  = 5
	symWeightMinor = 2
)

// entry is all that stays in memory of an indexed file. It is immutable.
type entry struct {
	id      uint32 // of this version; never used again
	seq     uint64 // when the text was read, in the order of readings
	path    string
	size    int64
	modTime int64
	hash    uint64 // of the text
	lines   int
	tokens  int
	starts  []uint32 // 0-based first line of each chunk
	lens    []uint32 // tokens of each chunk
	defs    []Def

	source bool   // code, as against prose and data
	test   bool   // the path looks like a test's
	aside  bool   // the path is of what nobody works on by hand, or of a record of changes
	stem   string // the name without extension and test marks, lower case
	dir    string // with the final slash; "" at the root

	baseTerms int // distinct words of the name
}

func (e *entry) derive() {
	l := langOf(e.path)
	e.source = l != langNone && l != langProse
	e.test = testPath.MatchString(e.path)
	e.aside = asidePath.MatchString(e.path)
	e.dir = e.path[:strings.LastIndexByte(e.path, '/')+1]
	e.stem = pairStem(e.path)
	seen := map[string]bool{}
	eachIdent(baseName(e.path), func(raw string) {
		for _, t := range identTerms(raw) {
			seen[t] = true
		}
	})
	e.baseTerms = len(seen)
}

// span gives a chunk's lines, 1-based and inclusive.
func (e *entry) span(chunk int) (start, end int) {
	start, end = int(e.starts[chunk])+1, e.lines
	if chunk+1 < len(e.starts) {
		end = int(e.starts[chunk+1])
	}
	return start, max(start, end)
}

var testPath = regexp.MustCompile(`(^|/)(tests?|__tests__|specs?|testing|testsuites?|e2e|integration|unit)(/|$)|` +
	`(_test\.\w+|[._-](spec|test|tests)\.\w+|Tests?\.(java|kt|scala|cs|swift|php)|(^|/)test_[^/]*\.\w+|conftest\.py)$`)

// asidePath has what is vendored, generated, or recorded, and records of changes: they
// have the words of everything and are the place of little.
var asidePath = regexp.MustCompile(`(?i)(^|/)(vendor|node_modules|third_?party|deps|dist|__snapshots__|changelogs?|newsfragments|release-?notes)/|` +
	`(^|/)(changelog|changes|history|news|releases?|release[_-]?notes)[^/.]*(\.(md|markdown|rst|adoc|txt))?$|` +
	`\.(lock|snap|map|min\.(js|css)|pb\.go|generated\.\w+)$|_pb2\.pyi?$|(^|/)(go\.sum|[^/]*-lock\.(json|yaml))$`)

var stemMarks = regexp.MustCompile(`(?i)(^tests?[_-]|[_.-](tests?|spec|specs|bench|e2e)$|tests?$|spec$)`)

// pairStem is what a file and its test have in common in their names.
func pairStem(p string) string {
	base := baseName(p)
	if s := stemMarks.ReplaceAllString(base, ""); s != "" {
		base = s
	}
	return strings.ToLower(strings.ReplaceAll(base, "_", ""))
}

// isBinary looks at the beginning, as git does.
func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0
}

func hashText(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b)
	return h.Sum64()
}

// analyzer turns files into what is indexed of them. What it keeps from one to the next
// only saves work. It belongs to one goroutine.
type analyzer struct {
	num       termNumbers
	body, sym counter
}

// count adds the terms of a text to a counter, n times each.
func (a *analyzer) count(to *counter, text string, n int) {
	eachIdent(text, func(raw string) {
		for _, t := range a.num.of(raw) {
			to.add(t, n)
		}
	})
}

func (a *analyzer) field(c *counter, name string) *termField { return c.field(name, a.num.terms) }

// analyze gives a file's entry, and its chunks.
func (a *analyzer) analyze(p string, src []byte) (*entry, []chunkDoc) {
	a.num.begin()
	e := &entry{path: p, size: int64(len(src)), hash: hashText(src)}
	e.derive()
	if isBinary(src) || len(src) > MaxFileBytes {
		return e, nil // remembered, so that it is not read again, and never found
	}
	lines := splitLines(src)
	e.lines = len(lines)
	e.defs = definitions(p, lines, src)
	l := langOf(p)
	starts := chunkStarts(l, lines, e.defs)
	if len(starts) == 0 {
		starts = []int{0} // an empty file is still found by its name
	}
	docs := make([]chunkDoc, len(starts))
	e.starts = make([]uint32, len(starts))
	e.lens = make([]uint32, len(starts))
	nextDef := 0
	for c, s := range starts {
		end := len(lines)
		if c+1 < len(starts) {
			end = starts[c+1]
		}
		for _, ln := range lines[min(s, end):end] {
			if len(ln) > maxLineBytes {
				continue
			}
			a.count(&a.body, ln, 1)
		}
		e.starts[c], e.lens[c] = uint32(s), uint32(a.body.total)
		e.tokens += int(e.lens[c])
		for ; nextDef < len(e.defs) && e.defs[nextDef].Start <= end; nextDef++ {
			a.countName(e.defs[nextDef])
		}
		docs[c] = chunkDoc{chunk: c, fields: nonEmpty(a.field(&a.body, fieldBody), a.field(&a.sym, fieldSym))}
	}
	docs[0].fields = append(docs[0].fields, a.pathFields(p)...)
	return e, docs
}

func nonEmpty(fs ...*termField) []*termField {
	out := make([]*termField, 0, len(fs))
	for _, f := range fs {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

func (a *analyzer) countName(d Def) {
	n := symWeightMain
	switch d.Kind {
	case "var", "const", "field":
		n = symWeightMinor
	}
	a.count(&a.sym, d.Name, n)
}

// baseName is the file's name without folders and extension.
func baseName(p string) string {
	base := path.Base(p)
	if ext := path.Ext(base); len(ext) < len(base) {
		base = strings.TrimSuffix(base, ext)
	}
	return base
}

func (a *analyzer) pathFields(p string) []*termField {
	dir, _ := path.Split(p)
	count := func(s, field string) *termField {
		a.count(&a.sym, s, 1)
		return a.field(&a.sym, field)
	}
	return nonEmpty(count(dir, fieldDir), count(baseName(p), fieldBase))
}
