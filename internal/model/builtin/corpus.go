package builtin

import (
	"sort"
	"strings"
)

// A corpus is every line of the workspace that some result showed.
type corpus struct {
	files map[string]*source
}

// A source is what is known of one file.
type source struct {
	path   string
	lines  map[int]string
	order  []int        // line numbers, sorted; rebuilt when stale
	read   map[int]bool // shown by the read tool: verified
	heads  []block      // search blocks with a symbol: who encloses what
	feats  map[int]features
	sorted bool
}

func newCorpus() *corpus { return &corpus{files: map[string]*source{}} }

func (c *corpus) file(path string) *source {
	s := c.files[path]
	if s == nil {
		s = &source{path: path, lines: map[int]string{}, read: map[int]bool{}, feats: map[int]features{}}
		c.files[path] = s
	}
	return s
}

const corpusLineMax = 400 // bytes of a line that scoring looks at

func (c *corpus) add(l line, read bool) {
	s := c.file(l.path)
	if _, ok := s.lines[l.n]; !ok {
		s.sorted = false
	}
	s.lines[l.n] = l.text
	delete(s.feats, l.n)
	if read {
		s.read[l.n] = true
	}
}

// take files a result by the tool that gave it.
func (c *corpus) take(r result) {
	if r.failed {
		return
	}
	switch r.call.name {
	case "read":
		p, _ := r.call.args["path"].(string)
		for _, l := range readLines(clean(p), r.text) {
			c.add(l, true)
		}
	case "grep":
		for _, l := range grepLines(r.text, true) {
			c.add(l, false)
		}
	case "search":
		c.takeBlocks(r.text)
	case "symbols", "references":
		for _, p := range places(r.text) {
			c.add(p.line, false)
		}
	}
}

func (c *corpus) takeBlocks(text string) {
	for _, b := range blocks(text) {
		for _, l := range b.lines {
			c.add(l, false)
		}
		if b.symbol != "" {
			s := c.file(b.path)
			s.heads = append(s.heads, b)
		}
	}
}

func (s *source) numbers() []int {
	if !s.sorted {
		s.order = s.order[:0]
		for n := range s.lines {
			s.order = append(s.order, n)
		}
		sort.Ints(s.order)
		s.sorted = true
	}
	return s.order
}

func (s *source) features(n int) features {
	f, ok := s.feats[n]
	if !ok {
		text := s.lines[n]
		if len(text) > corpusLineMax {
			text = text[:corpusLineMax]
		}
		f = featuresOf(text)
		s.feats[n] = f
	}
	return f
}

// A span is the definition that a line belongs to, doc comment included.
type scopeName struct {
	name, receiver string
	line           int // where it is defined, 0 if that was not seen
}

func (d scopeName) String() string { return display(d.name, d.receiver) }

// enclosing finds the definition around line n, walking only over lines that
// are known, so that it never names the wrong one.
func (s *source) enclosing(n int) (scopeName, bool) {
	if _, ok := s.lines[n]; !ok {
		return scopeName{}, false
	}
	if isComment(s.path, s.lines[n]) { // a doc comment belongs to what it stands above
		for k := n + 1; ; k++ {
			text, ok := s.lines[k]
			if !ok {
				break
			}
			if isComment(s.path, text) {
				continue
			}
			if name, recv, ok := definition(s.path, text); ok && indent(text) <= indent(s.lines[n]) {
				return scopeName{name, recv, k}, true
			}
			break
		}
	}
	limit := indent(s.lines[n])
	start := limit
	for k := n; ; k-- {
		text, ok := s.lines[k]
		if !ok {
			break
		}
		blank := strings.TrimSpace(text) == ""
		in := indent(text)
		if name, recv, ok := definition(s.path, text); ok && (k == n || in < start || in == 0 && start == 0 && k == n) {
			return scopeName{name, recv, k}, true
		}
		if !blank && in < limit {
			limit = in
		}
		if k < n && !blank && in == 0 && start > 0 && strings.HasPrefix(text, "}") {
			return scopeName{}, false // the end of the definition above: this line is in none
		}
	}
	for _, h := range s.heads {
		if h.start <= n && n <= h.end {
			return parseSymbol(h.symbol), true
		}
	}
	return scopeName{}, false
}

// parseSymbol reads a symbol as search shows it: "(*T).M", "T.M", "func M", "M".
func parseSymbol(s string) scopeName {
	f := strings.Fields(s)
	if len(f) == 0 {
		return scopeName{}
	}
	s = f[len(f)-1]
	if o := owner(s); o != "" {
		if strings.HasPrefix(s, "(*") {
			o = "*" + o
		}
		return scopeName{name: lastName(s), receiver: o}
	}
	return scopeName{name: s}
}
