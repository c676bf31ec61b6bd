package builtin

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// A result is what a call gave back. The parsers below are tolerant: they take
// what looks like evidence and pass over the rest (headers, notes, cuts).
type result struct {
	call        call
	text        string
	failed      bool
	unavailable bool // never asked: the tool is not offered, or the limit is reached
}

// refused says whether the person or a rule said no; asking again is no use.
func (r result) refused() bool {
	if !r.failed {
		return false
	}
	low := strings.ToLower(r.text)
	for _, w := range []string{"permission", "refused", "denied", "not allowed", "declined", "planning mode"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// cut says whether the result was shortened on its way to us.
func (r result) cut() bool {
	return strings.Contains(r.text, "[Full result saved as ref:") || strings.Contains(strings.ToLower(r.text), "truncated")
}

// firstLine is the first line that says something.
func (r result) firstLine() string {
	for _, l := range strings.Split(r.text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			return clip(l, lineMax)
		}
	}
	return ""
}

// A line is one line of a file, as some tool showed it.
type line struct {
	path string
	n    int
	text string
}

const lineMax = 160 // characters of a quoted line

var (
	numbered    = regexp.MustCompile(`^ {0,12}(\d{1,9})(?:\t|→|\| ?)(.*)$`)
	grepLine    = regexp.MustCompile(`^([^\s:][^:\n]*?):(\d{1,9}):(.*)$`)
	grepContext = regexp.MustCompile(`^([^\s:][^:\n]*?)[-:](\d{1,9})-(.*)$`)
	placeLine   = regexp.MustCompile(`^([^\s:][^:\n]*?):(\d{1,9}):(\d{1,9})\s+(\S+)(?:\s+([^:\n]*?))?: ?(.*)$`)
	blockHead   = regexp.MustCompile(`^\s*(?:[#*\d.)-]+\s+)?([^\s:]+):(\d{1,9})(?:-(\d{1,9}))?(?:\s+(.*))?$`)
	symbolName  = regexp.MustCompile(`^(?:(?:func|function|method|type|class|var|const)\s+)?\(?\*?[\p{L}_$][\p{L}\d_$.:*()\[\]]*\s*$`)
	totalLines  = regexp.MustCompile(`(?:of (\d+)(?: lines)?|(\d+) lines)`)
)

// readLines parses a read result: `%6d\t<text>`.
func readLines(file, text string) []line {
	var out []line
	for _, l := range strings.Split(text, "\n") {
		if m := numbered.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1])
			out = append(out, line{file, n, strings.TrimSuffix(m[2], "\r")})
		}
	}
	return out
}

// fileLength reads the total from a read result's header or note, 0 if it says none.
func fileLength(text string) int {
	for _, l := range strings.Split(text, "\n") {
		if numbered.MatchString(l) {
			continue
		}
		if m := totalLines.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[1] + m[2])
			return n
		}
	}
	return 0
}

// grepLines parses `path:line: text` and, where context is true, the lines of
// context around the matches too.
func grepLines(text string, context bool) []line {
	var out []line
	for _, l := range strings.Split(text, "\n") {
		m := grepLine.FindStringSubmatch(l)
		if m == nil && context {
			m = grepContext.FindStringSubmatch(l)
		}
		if m == nil {
			continue
		}
		n, err := strconv.Atoi(m[2])
		if err == nil && n > 0 {
			out = append(out, line{clean(m[1]), n, strings.TrimSuffix(m[3], "\r")})
		}
	}
	return unspaced(out)
}

// unspaced takes off the blank behind the last colon, where a tool writes one
// before every line.
func unspaced(lines []line) []line {
	for _, l := range lines {
		if !strings.HasPrefix(l.text, " ") && l.text != "" {
			return lines
		}
	}
	for i := range lines {
		lines[i].text = strings.TrimPrefix(lines[i].text, " ")
	}
	return lines
}

// A place is one row of symbols or references.
type place struct {
	line
	kind, symbol string
}

// places parses `path:line:col kind symbol: text`; rows in grep's form count too.
func places(text string) []place {
	var out []place
	for _, l := range strings.Split(text, "\n") {
		if m := placeLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[2])
			out = append(out, place{line{clean(m[1]), n, m[6]}, m[4], strings.TrimSpace(m[5])})
		} else if m := grepLine.FindStringSubmatch(l); m != nil {
			n, _ := strconv.Atoi(m[2])
			out = append(out, place{line{clean(m[1]), n, m[3]}, "", ""})
		}
	}
	return out
}

// A block is one span of a search result or of retrieval in the prompt.
type block struct {
	path       string
	start, end int
	symbol     string
	lines      []line
}

// blocks parses `path:start-end  symbol  (why)` heads, each followed by
// numbered lines. Lines without numbers count from the block's start.
func blocks(text string) []block {
	var out []block
	next := 0
	for _, l := range strings.Split(text, "\n") {
		if m := numbered.FindStringSubmatch(l); m != nil && len(out) > 0 {
			b := &out[len(out)-1]
			n, _ := strconv.Atoi(m[1])
			b.lines = append(b.lines, line{b.path, n, strings.TrimSuffix(m[2], "\r")})
			next = 0
			continue
		}
		if m := blockHead.FindStringSubmatch(l); m != nil && looksLikePath(m[1]) && m[3] != "" {
			b := block{path: clean(m[1])}
			b.start, _ = strconv.Atoi(m[2])
			b.end, _ = strconv.Atoi(m[3])
			rest, _, _ := strings.Cut(m[4], "  ")
			if symbolName.MatchString(rest) {
				b.symbol = strings.TrimSpace(rest)
			}
			out = append(out, b)
			next = b.start
			continue
		}
		if next > 0 && len(out) > 0 {
			b := &out[len(out)-1]
			if next <= b.end && !strings.HasPrefix(strings.TrimSpace(l), "```") {
				b.lines = append(b.lines, line{b.path, next, strings.TrimSuffix(l, "\r")})
				next++
			}
		}
	}
	return out
}

// entries parses ls and find: one entry a line, folders with a slash.
func entries(text string) []string {
	var out []string
	for _, l := range strings.Split(text, "\n") {
		l = strings.TrimRight(l, "\r ")
		if l == "" || strings.HasPrefix(l, " ") || strings.HasPrefix(l, "[") || strings.HasPrefix(l, "(") || strings.HasSuffix(l, ":") {
			continue
		}
		name, _, _ := strings.Cut(l, "\t")
		name, _, _ = strings.Cut(name, "  ")
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

func looksLikePath(s string) bool {
	return strings.ContainsAny(s, "./") && !strings.Contains(s, "://") && !strings.ContainsAny(s, "()\"'`")
}

// clean normalises a path as tools print it.
func clean(p string) string {
	p = strings.TrimPrefix(strings.ReplaceAll(p, "\\", "/"), "./")
	if p == "" {
		return "."
	}
	return path.Clean(p)
}

// clip shortens s to n characters, on a rune's border.
func clip(s string, n int) string {
	count := 0
	for i := range s {
		if count == n {
			return s[:i] + "…"
		}
		count++
	}
	return s
}
