package builtin

import (
	"path"
	"regexp"
	"strings"
)

type funcRange struct{ from, to int }

var stateTokens = map[string]string{
	"go": "`|/\\*|\\*/|^package |^\\s*(import )?\\. \"", "js": "`|/\\*|\\*/", "ts": "`|/\\*|\\*/", "tsx": "`|/\\*|\\*/", "jsx": "`|/\\*|\\*/",
	"py": `"""|'''`, "lua": `\[\[|\]\]`, "rs": `/\*|\*/`, "c": `/\*|\*/`, "h": `/\*|\*/`, "cc": `/\*|\*/`, "cpp": `/\*|\*/`, "java": `/\*|\*/`,
}

// shape learns, for every file, which places are code, strings and comments:
// it asks for the lines that open or close raw strings and block comments,
// and for the package clauses of Go files.
func (w *renaming) shape(r *run, all, with []line) bool {
	w.dots = map[string][]string{}
	w.pkg, w.funcs, w.shadowed = map[string]string{}, map[string][]funcRange{}, map[string]map[int]bool{}
	var files []string
	byPath := map[string][]line{}
	for _, o := range byFile(all) {
		byPath[o.path] = o.lines
	}
	for _, o := range byFile(with) {
		files = append(files, o.path)
	}
	for start := 0; start < len(files); start += callsPerRound {
		batch := files[start:min(len(files), start+callsPerRound)]
		var calls []call
		var who []string
		for _, f := range batch {
			if tokens, ok := stateTokens[strings.TrimPrefix(path.Ext(f), ".")]; ok {
				calls = append(calls, r.grep(tokens, f, false, grepAll))
				who = append(who, f)
			}
		}
		marks := map[string][]line{}
		if len(calls) > 0 {
			got, ok := r.do("Looking at the raw strings, comments and packages of these files.", calls...)
			if !ok {
				return false
			}
			for i, g := range got {
				if !g.failed {
					marks[who[i]] = grepLines(g.text, false)
				}
			}
		}
		odd, ok := r.oddQuotes(marks)
		if !ok {
			return false
		}
		for _, f := range batch {
			w.lex(f, byPath[f], marks[f], odd[f])
		}
	}
	return w.shadows(r, with)
}

var dotImport = regexp.MustCompile(`^\s*(?:import\s+)?\.\s+"([^"]+)"`)

// oddQuotes finds, in files with lines so long that grep cut them, the lines
// with an odd number of backquotes: only those open or close a raw string.
func (r *run) oddQuotes(marks map[string][]line) (map[string]map[int]bool, bool) {
	var calls []call
	var who []string
	for _, f := range sortedKeys(marks) {
		for _, l := range marks[f] {
			if cutLine(l.text) {
				calls = append(calls, r.grep("^[^`]*`([^`]*`[^`]*`)*[^`]*$", f, false, grepAll))
				who = append(who, f)
				break
			}
		}
	}
	odd := map[string]map[int]bool{}
	if len(calls) == 0 {
		return odd, true
	}
	got, ok := r.do("Some lines are too long to see whole; counting their quotes.", calls...)
	if !ok {
		return nil, false
	}
	for i, g := range got {
		odd[who[i]] = map[int]bool{}
		for _, l := range grepLines(g.text, false) {
			odd[who[i]][l.n] = true
		}
	}
	return odd, true
}

const cutLineMin = 300 // bytes from which a line that ends in an ellipsis was cut by the tool

func cutLine(text string) bool {
	return len(text) > cutLineMin && strings.Contains(text[cutLineMin:], "…")
}

// lex walks the known lines of a file in order.
func (w *renaming) lex(file string, lines, marks []line, odd map[int]bool) {
	text := map[int]string{}
	for _, l := range append(append([]line(nil), lines...), marks...) {
		text[l.n] = l.text
	}
	order := make([]int, 0, len(text))
	for n := range text {
		order = append(order, n)
	}
	sortInts(order)
	l := lexer{syntax: syntaxOf(file)}
	w.lexed[file] = map[int][]region{}
	for _, n := range order {
		inCode := l.open == ""
		before := l
		w.lexed[file][n] = l.regions(text[n])
		if cutLine(text[n]) {
			switch l = before; {
			case odd[n] && l.open == "":
				l.open, l.kind = "`", inString
			case odd[n]:
				l.open = ""
			}
		}
		if f := strings.Fields(text[n]); inCode && len(f) >= 2 && f[0] == "package" && w.pkg[file] == "" {
			w.pkg[file] = f[1]
		}
		if m := dotImport.FindStringSubmatch(text[n]); inCode && m != nil && path.Ext(file) == ".go" {
			w.dots[file] = append(w.dots[file], path.Base(m[1]))
		}
	}
}

var localForms = `(?:\bfor\s[^{]*\b%s\b[^{=]*:=|(?:^|[^.\w])%s\b(?:\s*,\s*\w+)*\s*:=|,\s*%s\b[^=(]*:=|\bvar\s+%s\b|^func\b.*[(,]\s*%s(?:,\s*\w+)*\s+[\w*\[\].]+|\bfunc\([^)]*\b%s\s+[\w*\[\].]+)`

// shadows finds functions of Go files in which the name is a local of its own.
func (w *renaming) shadows(r *run, with []line) bool {
	q := regexp.QuoteMeta(w.old)
	local := regexp.MustCompile(strings.ReplaceAll(localForms, "%s", q))
	topLevel := regexp.MustCompile(`^(?:func|type|var|const)\s+` + q + `\b`)
	found := map[string][]int{}
	for _, l := range with {
		if path.Ext(l.path) == ".go" && local.MatchString(l.text) && !topLevel.MatchString(l.text) && !isComment(l.path, l.text) {
			found[l.path] = append(found[l.path], l.n)
		}
	}
	files := clipList(sortedKeys(found), callsPerRound)
	if len(files) == 0 {
		return true
	}
	var calls []call
	for _, f := range files {
		calls = append(calls, r.grep(`^func |^}`, f, false, grepAll))
	}
	got, ok := r.do("`"+w.old+"` is a local name too in some functions; finding their bounds.", calls...)
	if !ok {
		return false
	}
	for i, g := range got {
		f := files[i]
		start := 0
		for _, l := range grepLines(g.text, false) {
			if strings.HasPrefix(l.text, "func ") {
				start = l.n
				if strings.HasSuffix(strings.TrimSpace(l.text), "}") {
					w.funcs[f] = append(w.funcs[f], funcRange{l.n, l.n})
					start = 0
				}
			} else if start > 0 {
				w.funcs[f] = append(w.funcs[f], funcRange{start, l.n})
				start = 0
			}
		}
		w.shadowed[f] = map[int]bool{}
		for _, n := range found[f] {
			for _, fr := range w.funcs[f] {
				if fr.from <= n && n <= fr.to {
					for k := n; k <= fr.to; k++ { // above it the name still means the outer one
						w.shadowed[f][k] = true
					}
				}
			}
		}
	}
	return true
}
