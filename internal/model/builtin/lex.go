package builtin

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A region is what a piece of a source line is part of.
type region byte

const (
	inCodeRegion region = iota
	inString
	inComment
)

// A lexer walks over the lines of a file and tells code from strings and
// comments, well enough to rename in it. Its state is what lasts over line
// ends: a raw string or a block comment.
type lexer struct {
	syntax syntax
	open   string // what closes the string or comment that is open, "" in code
	kind   region
}

type syntax struct {
	line   []string    // begin a comment to the line's end
	block  [][2]string // comments over lines
	multi  [][2]string // strings over lines
	quotes string      // strings within a line
	regexp bool
}

func syntaxOf(file string) syntax {
	c := syntax{line: []string{"//"}, block: [][2]string{{"/*", "*/"}}, quotes: "\"'"}
	switch strings.TrimPrefix(path.Ext(file), ".") {
	case "go":
		c.multi = [][2]string{{"`", "`"}}
	case "js", "jsx", "ts", "tsx", "mjs", "cjs", "vue", "svelte":
		c.multi = [][2]string{{"`", "`"}}
	case "py":
		return syntax{line: []string{"#"}, multi: [][2]string{{`"""`, `"""`}, {"'''", "'''"}}, quotes: "\"'"}
	case "rb", "sh", "bash", "yaml", "yml", "toml", "mk", "pl", "r", "ex", "exs", "cmake":
		return syntax{line: []string{"#"}, quotes: "\"'"}
	case "lua":
		return syntax{block: [][2]string{{"--[[", "]]"}}, line: []string{"--"}, multi: [][2]string{{"[[", "]]"}}, quotes: "\"'"}
	case "sql", "hs":
		return syntax{line: []string{"--"}, block: [][2]string{{"/*", "*/"}}, quotes: "\"'"}
	case "rs":
		c.quotes = `"` // 'a is a lifetime
	case "md", "txt", "rst", "html", "csv":
		return syntax{}
	}
	return c
}

// regions marks each byte of a line.
func (l *lexer) regions(text string) []region {
	out := make([]region, len(text))
	for i := 0; i < len(text); {
		if l.open != "" {
			n := 1
			if strings.HasPrefix(text[i:], l.open) {
				n = len(l.open)
				fill(out, i, n, l.kind)
				l.open = ""
			} else {
				if text[i] == '\\' && l.kind == inString && l.open != "`" {
					n = 2
				}
				fill(out, i, n, l.kind)
			}
			i += n
			continue
		}
		if pair, kind, ok := l.opens(text[i:]); ok {
			fill(out, i, len(pair[0]), kind)
			l.open, l.kind = pair[1], kind
			i += len(pair[0])
			continue
		}
		if hasAnyPrefix(text[i:], l.syntax.line) {
			fill(out, i, len(text)-i, inComment)
			break
		}
		if strings.IndexByte(l.syntax.quotes, text[i]) >= 0 {
			n := quoteEnd(text[i:])
			fill(out, i, n, inString)
			i += n
			continue
		}
		i++
	}
	return out
}

func (l *lexer) opens(s string) ([2]string, region, bool) {
	for _, p := range l.syntax.multi {
		if strings.HasPrefix(s, p[0]) {
			return p, inString, true
		}
	}
	for _, p := range l.syntax.block {
		if strings.HasPrefix(s, p[0]) {
			return p, inComment, true
		}
	}
	return [2]string{}, 0, false
}

// quoteEnd is the length of the string at the start of s; an unclosed one is
// only its quote (an apostrophe in prose).
func quoteEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			return i + 1
		}
	}
	return 1
}

func fill(out []region, from, n int, kind region) {
	for i := from; i < from+n && i < len(out); i++ {
		out[i] = kind
	}
}

func hasAnyPrefix(s string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// words finds the whole-word places of a name in a line, as byte offsets.
func words(text, name string) []int {
	var out []int
	for from := 0; name != ""; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			break
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(name):])
		if (i == 0 || !wordRune(before)) && (i+len(name) == len(text) || !wordRune(after)) {
			out = append(out, i)
		}
		from = i + len(name)
	}
	return out
}

func wordRune(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// inCode says whether a name stands in the code of a line, seen alone.
func inCode(file, text, name string) bool {
	l := lexer{syntax: syntaxOf(file)}
	regs := l.regions(text)
	for _, i := range words(text, name) {
		if regs[i] == inCodeRegion {
			return true
		}
	}
	return false
}
