package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of glob patterns. Alternatives multiply, so they have their own.
const (
	globMax             = 1024 // bytes of a pattern
	globAlternativesMax = 256  // patterns that {a,b}{c,d} may stand for
)

// Glob is a compiled file pattern. `*` and `?` stay within a path segment,
// `**` spans any number of them, `[a-z]` and `[!a-z]` are sets, `{a,b}` are
// alternatives, `\` takes the next character as it is. A pattern without a
// slash matches the last segment at any depth, as in ignore files; a leading
// slash anchors it instead.
type Glob struct {
	source string
	alts   [][]string // alternatives, each split at "/"
}

// CompileGlob reads a pattern; what is wrong with it is said in words.
func CompileGlob(pattern string) (Glob, error) {
	g := Glob{source: pattern}
	if pattern == "" {
		return g, fmt.Errorf("the glob pattern is empty")
	}
	if len(pattern) > globMax {
		return g, fmt.Errorf("the glob pattern is %d bytes long, the limit is %d", len(pattern), globMax)
	}
	alts, err := expandBraces(pattern)
	if err != nil {
		return g, err
	}
	for _, alt := range alts {
		anchored := strings.HasPrefix(alt, "/")
		alt = strings.TrimPrefix(strings.TrimPrefix(alt, "/"), "./")
		if strings.HasSuffix(alt, "/") {
			alt += "**"
		}
		if !anchored && !strings.Contains(alt, "/") {
			alt = "**/" + alt
		}
		segments := strings.Split(alt, "/")
		for _, s := range segments {
			if s != "**" {
				if err := checkSegment(s); err != nil {
					return g, err
				}
			}
		}
		g.alts = append(g.alts, segments)
	}
	return g, nil
}

// Match says whether a path with forward slashes fits.
func (g Glob) Match(path string) bool {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for _, alt := range g.alts {
		if matchSegments(alt, parts) {
			return true
		}
	}
	return false
}

// String gives the pattern as it was written.
func (g Glob) String() string { return g.source }

// matchSegments is linear in parts for each `**`: it goes back only to the
// last one, which is enough because an earlier one could only take more.
func matchSegments(pattern, parts []string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for s < len(parts) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, s
			p++
		case p < len(pattern) && matchSegment(pattern[p], parts[s]):
			p, s = p+1, s+1
		case star >= 0:
			mark++
			p, s = star+1, mark
		default:
			return false
		}
	}
	// A ** that is left over has nothing to stand for: "a/**" means what is
	// below a, not a itself.
	return p == len(pattern)
}

// matchSegment matches one segment: `*`, `?`, sets and escapes.
func matchSegment(pattern, name string) bool {
	p, s, star, mark := 0, 0, -1, 0
	for s < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, s
			p++
			continue
		}
		if np, ns, ok := matchOne(pattern, p, name, s); ok {
			p, s = np, ns
			continue
		}
		if star < 0 {
			return false
		}
		_, n := utf8.DecodeRuneInString(name[mark:])
		mark += n
		p, s = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one pattern element that isn't a star against one rune.
func matchOne(pattern string, p int, name string, s int) (np, ns int, ok bool) {
	if p >= len(pattern) {
		return p, s, false
	}
	r, n := utf8.DecodeRuneInString(name[s:])
	switch pattern[p] {
	case '?':
		return p + 1, s + n, true
	case '[':
		end, hit := matchSet(pattern, p, r)
		return end, s + n, hit
	case '\\':
		p++
	}
	pr, pn := utf8.DecodeRuneInString(pattern[p:])
	same := pr == r && (r != utf8.RuneError || pattern[p:p+pn] == name[s:s+n])
	return p + pn, s + n, same
}

// matchSet reads the set that begins at p and says whether r is in it.
func matchSet(pattern string, p int, r rune) (end int, hit bool) {
	p++
	negate := p < len(pattern) && (pattern[p] == '!' || pattern[p] == '^')
	if negate {
		p++
	}
	for first := true; p < len(pattern) && (first || pattern[p] != ']'); first = false {
		lo, np := setRune(pattern, p)
		hi := lo
		if np+1 < len(pattern) && pattern[np] == '-' && pattern[np+1] != ']' {
			hi, np = setRune(pattern, np+1)
		}
		if lo <= r && r <= hi {
			hit = true
		}
		p = np
	}
	return p + 1, hit != negate
}

func setRune(pattern string, p int) (rune, int) {
	if pattern[p] == '\\' && p+1 < len(pattern) {
		p++
	}
	r, n := utf8.DecodeRuneInString(pattern[p:])
	return r, p + n
}

// checkSegment refuses unclosed sets and dangling escapes, so that the matcher
// needn't think of them.
func checkSegment(s string) error {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			if i >= len(s) {
				return fmt.Errorf("the glob pattern ends in a backslash")
			}
		case '[':
			end := setEnd(s, i)
			if end < 0 {
				return fmt.Errorf("the glob pattern has a [ without its ]; write \\[ for the character")
			}
			i = end
		}
	}
	return nil
}

func setEnd(s string, i int) int {
	i++
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	for first := true; i < len(s); first = false {
		switch {
		case s[i] == ']' && !first:
			return i
		case s[i] == '\\' && i+1 < len(s):
			i += 2
		default:
			i++
		}
	}
	return -1
}

// expandBraces turns {a,b} into alternatives, innermost last.
func expandBraces(pattern string) ([]string, error) {
	work, done := []string{pattern}, []string{}
	for len(work) > 0 {
		p := work[0]
		work = work[1:]
		open, shut, options, err := firstBraces(p)
		if err != nil {
			return nil, err
		}
		if open < 0 {
			done = append(done, p)
			continue
		}
		if len(work)+len(done)+len(options) > globAlternativesMax {
			return nil, fmt.Errorf("the glob pattern has more than %d alternatives", globAlternativesMax)
		}
		for _, o := range options {
			work = append(work, p[:open]+o+p[shut+1:])
		}
	}
	return done, nil
}

// firstBraces finds the first {…} and what it offers.
func firstBraces(p string) (open, shut int, options []string, err error) {
	open = -1
	depth, from := 0, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth == 0 {
				open, from = i, i+1
			}
			depth++
		case ',':
			if depth == 1 {
				options = append(options, p[from:i])
				from = i + 1
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				return open, i, append(options, p[from:i]), nil
			}
		}
	}
	if depth > 0 {
		return 0, 0, nil, fmt.Errorf("the glob pattern has a { without its }; write \\{ for the character")
	}
	return -1, 0, nil, nil
}
