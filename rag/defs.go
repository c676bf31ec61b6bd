package rag

import (
	"slices"
	"strings"
)

// Def is a definition in one file. Lines are 1-based and inclusive; Start is
// the line that holds the name, so that a doc comment lies before it.
type Def struct {
	Name      string
	Kind      string
	Container string
	Start     int
	End       int
}

const (
	maxDefsPerFile = 5000 // more are a table, not code
	maxDefName     = 120  // bytes; test titles can be long
	tabWidth       = 4
)

// definitions finds what a file defines, in order of their first lines.
func definitions(p string, lines []string, src []byte) []Def {
	l := langOf(p)
	if l == langGo {
		if ds, ok := goDefinitions(src); ok {
			return ds
		}
	}
	if l == langNone {
		return nil
	}
	return l.scan(lines)
}

// scan reads the lines once, with a stack of the definitions that are open.
// A definition lasts as long as what follows is indented deeper than it is.
func (l *lang) scan(lines []string) []Def {
	type frame struct{ def, indent int }
	var out []Def
	var stack []frame
	last := 0 // last line that was not blank, 1-based
	closeTo := func(n, end int) {
		for len(stack) > n {
			d := &out[stack[len(stack)-1].def]
			d.End = max(end, d.Start)
			stack = stack[:len(stack)-1]
		}
	}
	for i, ln := range lines {
		if len(ln) > maxLineBytes {
			continue
		}
		text := strings.TrimSpace(ln)
		if text == "" || (l.labels && text[0] == '#' && !strings.HasPrefix(text, "#define")) {
			continue
		}
		indent := indentOf(ln)
		keep := len(stack)
		for keep > 0 && indent <= stack[keep-1].indent {
			if indent == stack[keep-1].indent && l.continues(text) {
				break
			}
			keep--
		}
		if keep < len(stack) {
			end := last
			// The closing line belongs to the innermost definition at its own depth.
			if top := stack[keep]; indent == top.indent && isCloser(text) {
				closeTo(keep+1, last)
				end = i + 1
			}
			closeTo(keep, end)
		}
		last = i + 1
		name, kind := l.match(text, indent)
		if name == "" || len(out) >= maxDefsPerFile {
			continue
		}
		container := ""
		if len(stack) > 0 {
			container = out[stack[len(stack)-1].def].Name
			if kind == "var" && out[stack[len(stack)-1].def].Kind != "type" {
				continue // a local variable
			}
			if kind == "func" && out[stack[len(stack)-1].def].Kind == "type" {
				kind = "method"
			}
		}
		if len(name) > maxDefName {
			name = name[:maxDefName]
		}
		name = strings.Clone(name) // it is a part of the whole file, which must not stay
		out = append(out, Def{Name: name, Kind: kind, Container: container, Start: i + 1, End: i + 1})
		stack = append(stack, frame{len(out) - 1, indent})
	}
	closeTo(0, last)
	return slices.Clone(out) // without the room that appending left
}

func indentOf(ln string) int {
	n := 0
	for i := 0; i < len(ln); i++ {
		switch ln[i] {
		case ' ':
			n++
		case '\t':
			n += tabWidth
		default:
			return n
		}
	}
	return n
}

// continues says that a line at the definition's own depth does not end it:
// an opening brace on a line of its own, the end of a long parameter list, a label.
func (l *lang) continues(text string) bool {
	if text == "{" {
		return true
	}
	if text[0] == ')' || text[0] == ']' || strings.HasPrefix(text, "->") {
		c := text[len(text)-1]
		return c == '{' || c == ':' || c == '>' || c == '(' || c == '='
	}
	if l.labels && text[len(text)-1] == ':' && !strings.ContainsAny(text, " (") {
		return true
	}
	return strings.HasPrefix(text, "where ") || text == "where"
}

func isCloser(text string) bool {
	if c := text[0]; c == '}' || c == ')' || c == ']' {
		return true
	}
	for _, w := range [...]string{"end", "fi", "done", "esac", "endfunction", "endfunc", "enddef"} {
		if strings.HasPrefix(text, w) && (len(text) == len(w) || class[text[len(w)]] == classSep) {
			return true
		}
	}
	return false
}

// notFuncs are words before a bracket that call or branch, never define.
var notFuncs = words(`if for while switch return catch sizeof else do case new throw await yield delete typeof defined with super this
	assert elif print foreach using lock fixed when until unless and or not in is function foreach_ try expect require`)

// match says what the trimmed line defines, if anything.
func (l *lang) match(text string, indent int) (name, kind string) {
	if l.sections {
		return matchHeading(text)
	}
	for _, n := range l.lineNote {
		if strings.HasPrefix(text, n) {
			return "", ""
		}
	}
	rest := text
	if l.labels {
		rest = strings.TrimPrefix(rest, "#") // #define
	}
	for range 8 { // modifiers, then the keyword
		w, after := leadingWord(rest)
		if w == "" {
			break
		}
		if kind, ok := l.keywords[w]; ok && (after == "" || class[after[0]] == classSep) {
			if name := l.nameAfter(after, kind, w); name != "" {
				return name, kind
			}
			return "", ""
		}
		if kind, ok := l.calls[w]; ok && after != "" {
			if name := quoted(after); name != "" {
				return name, kind
			}
		}
		if !l.modifiers[w] {
			break
		}
		rest = strings.TrimLeft(after, " \t")
		if strings.HasPrefix(rest, "(") { // pub(crate)
			if _, r, ok := strings.Cut(rest, ")"); ok {
				rest = strings.TrimLeft(r, " \t")
			}
		}
	}
	if l.bareFuncs && indent == 0 || l.bareMethod && indent > 0 || l == langShell {
		return l.matchBare(text, indent)
	}
	return "", ""
}

func matchHeading(text string) (name, kind string) {
	if h := strings.TrimLeft(text, "#="); len(h) < len(text) && len(h) > 1 && h[0] == ' ' {
		return strings.TrimSpace(h), "section"
	}
	return "", ""
}

// leadingWord cuts an identifier off the front, "!" included for vim.
func leadingWord(s string) (w, rest string) {
	i := 0
	for i < len(s) && (class[s[i]] != classSep || s[i] == '$') {
		i++
	}
	if i > 0 && i < len(s) && s[i] == '!' {
		i++
	}
	return strings.TrimSuffix(s[:i], "!"), s[i:]
}

// nameAfter reads the name that follows a keyword: past pointers, type
// parameters and receivers, with dots and colons inside ("M.setup", "self.run").
func (l *lang) nameAfter(s, kind, keyword string) string {
	s = strings.TrimLeft(s, " \t*&!")
	for len(s) > 0 && (s[0] == '<' || s[0] == '(') {
		shut := byte('>')
		if s[0] == '(' {
			shut = ')'
		}
		i := strings.IndexByte(s, shut)
		if i < 0 {
			return ""
		}
		s = strings.TrimLeft(s[i+1:], " \t*&")
	}
	if keyword == "enum" || keyword == "const" { // enum class X, const fn f
		for _, w := range [...]string{"class ", "struct ", "fn ", "unsafe fn ", "mut "} {
			s = strings.TrimPrefix(s, w)
		}
	}
	if keyword == "impl" { // impl Trait for Type defines part of Type
		if _, t, ok := strings.Cut(s, " for "); ok {
			s = t
		}
	}
	if l == langTcl && len(s) > 0 && s[0] == ':' {
		s = strings.TrimLeft(s, ":")
	}
	i := 0
	for i < len(s) && (class[s[i]] != classSep || s[i] == '$' || s[i] == '.' || s[i] == ':' && i+1 < len(s) && class[s[i+1]] != classSep && l != langJS && l != langJava || s[i] == '?' && l == langRuby) {
		i++
	}
	name := strings.Trim(s[:i], ".:")
	if kind == "type" && (l == langC || l == langJava) && !definesType(s[i:]) {
		return ""
	}
	return name
}

// definesType tells "struct s {" from "struct s *f(…);".
func definesType(rest string) bool {
	rest = strings.TrimSpace(rest)
	return rest == "" || strings.IndexAny(rest, "{:<(") == 0 || strings.HasSuffix(rest, "{") ||
		strings.HasPrefix(rest, "extends") || strings.HasPrefix(rest, "implements")
}

func quoted(s string) string {
	s = strings.TrimLeft(s, ".(& \t")
	for _, w := range [...]string{"each", "skip", "only", "concurrent"} {
		if r, ok := strings.CutPrefix(s, w); ok {
			s = strings.TrimLeft(r, ".( \t")
		}
	}
	if s == "" {
		return ""
	}
	q := s[0]
	switch q {
	case '"', '\'', '`':
	case '{':
		q = '}'
	default:
		if i := strings.IndexByte(s, ')'); i > 0 && class[s[0]] != classSep { // TEST(Suite, name)
			return strings.ReplaceAll(s[:i], ", ", ".")
		}
		return ""
	}
	if i := strings.IndexByte(s[1:], q); i > 0 {
		return s[1 : i+1]
	}
	return ""
}

// matchBare finds "type name(args)" where no keyword says so.
func (l *lang) matchBare(text string, indent int) (name, kind string) {
	open := strings.IndexByte(text, '(')
	if open <= 0 || strings.HasSuffix(text, ";") || strings.HasSuffix(text, "\\") {
		return "", ""
	}
	end := open
	for end > 0 && text[end-1] == ' ' {
		end--
	}
	i := end
	for i > 0 && (class[text[i-1]] != classSep || text[i-1] == '$' || text[i-1] == '~' || l == langC && text[i-1] == ':' || l == langShell && text[i-1] == '-') {
		i--
	}
	name = strings.Trim(text[i:end], ":")
	head := text[:i]
	first, _ := leadingWord(text)
	if name == "" || class[name[0]] == classDigit || notFuncs[name] || notFuncs[first] || strings.ContainsAny(head, "=.\"'(!|?+;/{}") {
		return "", ""
	}
	opens := strings.HasSuffix(text, "{") || strings.HasSuffix(text, "}")
	switch {
	case l == langShell:
		if head != "" || !strings.HasPrefix(text[open:], "()") {
			return "", ""
		}
	case l == langJS:
		if !opens || strings.TrimSpace(head) != "" && !l.modifiers[strings.TrimSpace(strings.TrimRight(head, "*# "))] {
			return "", ""
		}
	case indent > 0:
		if !opens && !strings.HasSuffix(text, ",") && !strings.HasSuffix(text, ")") || strings.TrimSpace(head) == "" && !opens {
			return "", ""
		}
		if strings.TrimSpace(head) == "" && l == langC {
			return "", "" // a macro that is called, more often than a constructor
		}
	}
	if indent > 0 {
		return name, "method"
	}
	return name, "func"
}
