package builtin

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// file decides for each place of the old name in a file whether it is a use of
// the symbol.
func (w *renaming) file(p string, lines []line) fileEdit {
	f := fileEdit{occurrences: occurrences{p, lines}, old: w.old, new: w.new, changed: map[int]string{}, whole: true}
	for _, l := range lines {
		all := strings.Count(l.text, w.old)
		var at []int
		for _, i := range words(l.text, w.old) {
			if why := w.keeps(l, i); why == "" {
				at = append(at, i)
			} else {
				w.leave(l, why)
			}
		}
		if len(at) < all {
			f.whole = false
		}
		if len(at) > 0 {
			f.changed[l.n] = splice(l.text, at, len(w.old), w.new)
			f.count += len(at)
		}
	}
	return f
}

// keeps says why a place keeps the old name, "" if it is renamed.
func (w *renaming) keeps(l line, i int) string {
	if len(w.steer.not) > 0 || w.steer.noTests || w.steer.tests {
		if !w.steer.allows(l.path) {
			return "left out, as you said"
		}
	}
	regs, ok := w.lexed[l.path][l.n]
	if !ok || i >= len(regs) {
		l1 := lexer{syntax: syntaxOf(l.path)}
		regs = l1.regions(l.text)
	}
	isGo := path.Ext(l.path) == ".go"
	if isGo != (path.Ext(w.def.path) == ".go") || !sameFamily(l.path, w.def.path) {
		return "another language"
	}
	switch regs[i] {
	case inString:
		return "in a string"
	case inComment:
		return w.keepsComment(l, i)
	}
	if isGo {
		return w.keepsGo(l, i)
	}
	return w.keepsOther(l, i)
}

// keepsComment: a comment changes where it surely speaks of the symbol: it
// begins with the name, as doc comments do, links to it, or the name can't be
// an ordinary word.
func (w *renaming) keepsComment(l line, i int) string {
	if w.kind == "local" && !w.inLocal(l) {
		return "in a comment"
	}
	if path.Ext(l.path) == ".go" && !w.samePackage(l) && !qualified(l.text, i, w.pkg[w.def.path]) {
		return "in a comment of another package"
	}
	if i > 0 && l.text[i-1] == '.' && !w.selector() && !qualified(l.text, i, w.pkg[w.def.path]) {
		return "in a comment, behind a dot"
	}
	if strings.HasPrefix(commentText(l.text), w.old) || distinctive(w.old) {
		return ""
	}
	if i > 0 && l.text[i-1] == '[' && strings.HasPrefix(l.text[i+len(w.old):], "]") {
		return ""
	}
	return "in a comment"
}

// distinctive: parseCookies is no word of English, parse is.
func distinctive(name string) bool {
	if strings.Contains(strings.Trim(name, "_"), "_") {
		return true
	}
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			return true
		}
	}
	return false
}

// samePackage says whether a Go line is in the definition's package.
func (w *renaming) samePackage(l line) bool {
	if path.Dir(l.path) == path.Dir(w.def.path) && w.pkg[l.path] == w.pkg[w.def.path] {
		return true
	}
	mine := w.pkg[w.def.path]
	return unicode.IsUpper([]rune(w.old)[0]) && (contains(w.dots[l.path], mine) || contains(w.dots[l.path], path.Base(path.Dir(w.def.path))))
}

// keepsGo judges a place in Go code.
func (w *renaming) keepsGo(l line, i int) string {
	before, after := strings.TrimRight(l.text[:i], " \t"), strings.TrimLeft(l.text[i+len(w.old):], " \t")
	dotted := strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "...")
	key := strings.HasPrefix(after, ":") && !strings.HasPrefix(after, ":=") &&
		(before == "" || strings.HasSuffix(before, "{") || strings.HasSuffix(before, ","))
	exported := unicode.IsUpper([]rune(w.old)[0])
	if w.selector() {
		if !w.samePackage(l) && !exported {
			return "unexported name of another package"
		}
		switch {
		case dotted, has(w.defs, l), w.kind == "field" && key:
			return ""
		case w.kind == "method" && w.defines(l) == "method":
			return ""
		}
		return "not behind a dot, so another symbol"
	}
	if w.kind == "local" {
		switch {
		case dotted, key:
			return "a field or method of the same name"
		case !w.inLocal(l):
			return "in another function"
		}
		return ""
	}
	if dotted {
		if exported && qualified(l.text, i, w.pkg[w.def.path]) && !w.samePackage(l) {
			return ""
		}
		if w.kind == "type" && w.embeds {
			return ""
		}
		return "behind a dot: a field or method of the same name"
	}
	if !w.samePackage(l) {
		return "another package"
	}
	if assign := strings.Index(l.text, ":="); assign >= 0 && i > assign && has(w.others, l) && !key {
		return "" // x := &x{}: on the right the name is still the outer one
	}
	if has(w.others, l) {
		return "defines something else of this name"
	}
	if w.shadowed[l.path][l.n] {
		return "a local of the same name is in this function"
	}
	if key && w.kind != "constant" && w.kind != "variable" && !(w.kind == "type" && w.embeds) && !strings.HasPrefix(strings.TrimSpace(l.text), "case ") {
		return "a key of a composite literal"
	}
	if key && w.hasField() {
		return "may be a key of a composite literal"
	}
	return ""
}

func (w *renaming) inLocal(l line) bool {
	fr := w.enclosing(w.def)
	return l.path == w.def.path && fr.from <= l.n && l.n <= fr.to
}

func (w *renaming) hasField() bool {
	for _, l := range w.others {
		if w.defines(l) == "field" {
			return true
		}
	}
	return false
}

// qualified says whether "pkg." stands before offset i.
func qualified(text string, i int, pkg string) bool {
	if pkg == "" || !strings.HasSuffix(text[:i], pkg+".") {
		return false
	}
	rest := strings.TrimSuffix(text[:i], pkg+".")
	return rest == "" || !wordRune(rune(rest[len(rest)-1])) && rest[len(rest)-1] != '.'
}

// keepsOther judges a place in the code of another language.
func (w *renaming) keepsOther(l line, i int) string {
	before := strings.TrimRight(l.text[:i], " \t")
	dotted := strings.HasSuffix(before, ".") || strings.HasSuffix(before, "->") || strings.HasSuffix(before, "::")
	if has(w.defs, l) {
		return ""
	}
	if has(w.others, l) {
		return "defines something else of this name"
	}
	switch {
	case w.selector() && !dotted && !strings.HasPrefix(strings.TrimSpace(before), "def"):
		return "not behind a dot, so another symbol"
	case w.selector():
		return ""
	case dotted:
		stem := strings.TrimSuffix(path.Base(w.def.path), path.Ext(w.def.path))
		q := nameInText.FindAllString(before, -1)
		if len(q) > 0 && (q[len(q)-1] == stem || q[len(q)-1] == "exports" || q[len(q)-1] == "self" && w.kind == "type" || strings.HasSuffix(before, "::")) {
			return ""
		}
		return "behind a dot: may be something else"
	}
	after := strings.TrimLeft(l.text[i+len(w.old):], " ")
	if path.Ext(l.path) == ".py" && strings.HasPrefix(after, "=") && !strings.HasPrefix(after, "==") && strings.Contains(before, "(") && (w.kind == "function" || w.kind == "type") {
		return "a keyword argument of the same name"
	}
	if strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "::") && (strings.HasSuffix(before, "{") || strings.HasSuffix(before, ",")) && w.kind != "variable" {
		return "a key of the same name"
	}
	return ""
}

var families = map[string]string{".js": "js", ".jsx": "js", ".ts": "js", ".tsx": "js", ".mjs": "js", ".cjs": "js", ".vue": "js", ".svelte": "js",
	".c": "c", ".h": "c", ".cc": "c", ".cpp": "c", ".hpp": "c", ".cxx": "c"}

func sameFamily(a, b string) bool {
	fa, fb := path.Ext(a), path.Ext(b)
	return fa == fb || families[fa] != "" && families[fa] == families[fb]
}

const leftMax = 8 // places left that are listed

func (w *renaming) leave(l line, why string) {
	key := fmt.Sprintf("%s:%d", l.path, l.n)
	if w.leftSeen == nil {
		w.leftSeen = map[string]bool{}
	}
	if w.leftSeen[key] {
		return
	}
	w.leftSeen[key] = true
	w.left = append(w.left, fmt.Sprintf("- %s — %s (%s)", key, tick(strings.TrimSpace(l.text)), why))
}

func (w *renaming) leftText() string {
	if len(w.left) == 0 {
		return ""
	}
	list := w.left
	more := ""
	if len(list) > leftMax {
		more = fmt.Sprintf("\n- … and %d more", len(list)-leftMax)
		list = list[:leftMax]
	}
	return fmt.Sprintf("\n\nLeft as they are, %s of `%s`:\n%s%s", plural(len(w.left), "other mention"), w.old, strings.Join(list, "\n"), more)
}
