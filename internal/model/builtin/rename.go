package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// rename changes a symbol's name: its definition, its uses, and comments that
// speak of it. What may be something else of the same name is left, and said.
func (r *run) rename(it intent, n narrow) (string, bool) {
	if !r.box.has("edit") || !r.box.has("grep") {
		return noTool("edit", "rename"), true
	}
	old, new := lastName(it.old), lastName(it.new)
	if old == new {
		return "Both names are `" + old + "`; nothing was changed.", true
	}
	got, ok := r.do("I'll find every place where `"+old+"` stands, and whether `"+new+"` is taken.",
		r.grep(regexp.QuoteMeta(old), "", false, grepAll),
		r.grep(`\b`+regexp.QuoteMeta(new)+`\b`, "", false, grepLimit))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "I couldn't look for `" + old + "`: " + got[0].firstLine(), true
	}
	all := grepLines(got[0].text, false)
	if refusal := tooMany(got[0], all, old); refusal != "" {
		return refusal, true
	}
	var with []line // whole words only
	for _, l := range all {
		if len(words(l.text, old)) > 0 {
			with = append(with, l)
		}
	}
	if len(with) == 0 {
		return "`" + old + "` stands nowhere in the workspace; nothing was changed.", true
	}

	w := &renaming{old: old, new: new, kind: it.subject, owner: owner(it.old), scope: it.paths, steer: n, lexed: map[string]map[int][]region{}}
	if ok := w.shape(r, all, with); !ok {
		return "", false
	}
	w.findDefinition(with)
	if stop := w.obstacle(grepLines(got[1].text, false)); stop != "" {
		return stop, true
	}
	build := func(p string, lines []line) fileEdit { return w.file(p, lines) }
	var files []fileEdit
	for _, o := range byFile(all) {
		if f := build(o.path, o.lines); f.count > 0 {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return "I found no use of `" + old + "` that is surely this symbol; nothing was changed." + w.leftText(), true
	}
	left := w.leftText()
	say := fmt.Sprintf("`%s` is a %s defined at %s:%d. Renaming it in %s.", old, w.kind, w.def.path, w.def.n, plural(len(files), "file"))
	out, ok := r.land(say, files, build)
	if !ok {
		return "", false
	}
	got, ok = r.do("Checking that none was missed.", r.grep(`\b`+regexp.QuoteMeta(old)+`\b`, "", false, grepLimit))
	if !ok {
		return "", false
	}
	report := editReport(fmt.Sprintf("Renamed the %s `%s` to `%s`", w.kind, old, new), "place", out, r.t.rejected)
	report += left
	if !got[0].failed && left == "" {
		if rest := grepLines(got[0].text, false); len(rest) > 0 && held(out) {
			report += fmt.Sprintf("\n`%s` still stands in %s, the first at %s:%d (edits that wait for you are not on disk yet).", old, plural(len(rest), "line"), rest[0].path, rest[0].n)
		} else if len(rest) == 0 {
			report += fmt.Sprintf("\n\nNo `%s` is left.", old)
		}
	}
	return report, true
}

func held(out []outcome) bool {
	for _, o := range out {
		if o.failed != "" || o.count == 0 {
			return false
		}
	}
	return true
}

// A renaming is what is known of the symbol and of the files that mention it.
type renaming struct {
	old, new string
	kind     string // function, method, type, constant, variable, field; "" until found
	owner    string // the receiver's type, where the request names one
	scope    []string
	steer    narrow
	def      line
	defs     []line                      // definitions of the same kind
	others   []line                      // definitions of other kinds under the same name
	pkg      map[string]string           // Go file → its package clause
	dots     map[string][]string         // Go file → the last elements of what it imports by a dot
	lexed    map[string]map[int][]region // file → line → regions
	funcs    map[string][]funcRange      // Go file → its functions, where shadowing makes them matter
	shadowed map[string]map[int]bool     // file → lines of functions in which old is a local
	embeds   bool                        // the type is embedded somewhere: its name is a field's name too
	left     []string
	leftSeen map[string]bool
}

var kindNames = map[string]string{"func": "function", "var": "variable", "const": "constant", "struct": "type", "interface": "type",
	"class": "type", "enum": "type", "trait": "type", "symbol": "", "identifier": "", "name": "", "property": "field", "macro": "function", "local variable": "local"}

// findDefinition settles what the symbol is.
func (w *renaming) findDefinition(with []line) {
	asked := w.kind
	if k, ok := kindNames[asked]; ok {
		asked = k
	}
	kinds := map[string][]line{}
	var order []string
	embedded := regexp.MustCompile(`^\s+\*?(?:\w+\.)?` + regexp.QuoteMeta(w.old) + "\\s*(?:`.*)?(?://.*)?$")
	for _, l := range with {
		w.embeds = w.embeds || path.Ext(l.path) == ".go" && embedded.MatchString(l.text)
		k := w.defines(l)
		if k == "" {
			continue
		}
		if len(kinds[k]) == 0 {
			order = append(order, k)
		}
		kinds[k] = append(kinds[k], l)
	}
	rank := []string{"function", "type", "constant", "variable", "method", "field", "local"}
	if asked == "function" && len(kinds["function"]) == 0 {
		rank = []string{"method", "local"}
	} else if asked != "" {
		rank = append([]string{asked}, rank...)
		if asked == "variable" || asked == "constant" {
			rank = []string{asked, "variable", "constant", "local", "field"}
		}
	}
	if w.owner != "" && len(kinds["method"])+len(kinds["field"]) > 0 {
		rank = []string{"method", "field"}
	}
	w.kind = ""
	for _, k := range rank {
		list := w.inScope(kinds[k])
		if len(list) > 0 {
			w.kind, w.defs, w.def = k, list, list[0]
			break
		}
	}
	for _, k := range order {
		for _, l := range kinds[k] {
			if k != w.kind || !has(w.defs, l) {
				w.others = append(w.others, l)
			}
		}
	}
}

func has(list []line, l line) bool {
	for _, v := range list {
		if v == l {
			return true
		}
	}
	return false
}

func (w *renaming) inScope(list []line) []line {
	var out []line
	for _, l := range list {
		if !within(l.path, w.scope) || !w.steer.allows(l.path) && len(w.steer.not) > 0 {
			continue
		}
		if w.owner != "" {
			_, recv, ok := definition(l.path, l.text)
			if ok && recv != "" && strings.Trim(recv, "*") != w.owner {
				continue
			}
		}
		out = append(out, l)
	}
	return out
}

// defines says what kind of thing a line defines under the old name, "" if none.
func (w *renaming) defines(l line) string {
	at := words(l.text, w.old)
	regs := w.lexed[l.path][l.n]
	if len(at) == 0 || len(regs) <= at[0] || regs[at[0]] != inCodeRegion {
		return ""
	}
	q := regexp.QuoteMeta(w.old)
	if path.Ext(l.path) == ".go" {
		for _, f := range goForms {
			if matchForm(f.pattern, q, l.text) {
				return f.kind
			}
		}
		return ""
	}
	name, _, ok := definition(l.path, l.text)
	if ok && name == w.old {
		switch {
		case regexp.MustCompile(`\b(?:class|struct|enum|interface|trait|type|namespace|mod|union)\s+` + q).MatchString(l.text):
			return "type"
		case regexp.MustCompile(`\b(?:const|let|var|static)\s+` + q).MatchString(l.text):
			return "variable"
		case indent(l.text) > 0 && path.Ext(l.path) != ".rs":
			return "method"
		}
		return "function"
	}
	if regexp.MustCompile(`^\s*(?:(?:const|let|var|local|static|val|mut)\s+)+`+q+`\b`).MatchString(l.text) || regexp.MustCompile(`^`+q+`\s*(?::[^=]*)?=[^=]`).MatchString(l.text) {
		return "variable"
	}
	return ""
}

var goForms = []struct{ kind, pattern string }{
	{"function", `^func %s\s*[(\[]`},
	{"method", `^func \([^)]*\)\s*%s\s*\(`},
	{"type", `^type %s\b`},
	{"type", `^\t%s\s+(?:=\s*)?(?:struct|interface|func|map|\[\])\b.*\{\s*$`},
	{"constant", `^const %s\b`},
	{"variable", `^var %s\b`},
	{"constant", `^\t%s(?:\s+[\w.*\[\]]+)?\s+=\s*(?:iota|"|'|\d|-\d|1 <<)`},
	{"variable", `^\t%s(?:\s+[\w.*\[\]]+)?\s+=\s`},
	{"field", `^\t+(?:\w+,\s*)*%s(?:,\s*\w+)*\s+[\w*\[\]().{}<-]+`},
	{"method", `^\t+%s\([^)]*\)\s+(?:\w|\(|\*|\[)`}, // in an interface
	{"method", `^\t+%s\([^)]*\w\s+[\w*\[\].]+[^)]*\)\s*$`},
	{"local", `(?:^|[^.\w])%s\b[^=(]*:=`},
	{"local", `^\t+var %s\b`},
	{"local", `^func\b.*[(,]\s*%s(?:,\s*\w+)*\s+[\w*\[\].]+`},
}

func matchForm(pattern, quoted, text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "return ") || strings.HasPrefix(strings.TrimSpace(text), "case ") ||
		strings.HasPrefix(strings.TrimSpace(text), "go ") || strings.HasPrefix(strings.TrimSpace(text), "defer ") {
		return false
	}
	return regexp.MustCompile(strings.ReplaceAll(pattern, "%s", quoted)).MatchString(text)
}

// obstacle says why the rename can't be done safely, "" if it can.
func (w *renaming) obstacle(taken []line) string {
	if w.kind == "" {
		text := "I found `" + w.old + "` but no definition of it" + where(w.scope) + "; nothing was changed."
		if len(w.others) > 0 {
			text += " It is defined at:" + listLines(w.others)
		}
		return text + " To replace the bare text say `replace \"" + w.old + "\" with \"" + w.new + "\" in FILE`."
	}
	if goKeywords[w.new] && path.Ext(w.def.path) == ".go" {
		return "`" + w.new + "` is a keyword of Go; nothing was changed."
	}
	places := map[string]bool{}
	for _, d := range w.defs {
		places[path.Dir(d.path)+" "+w.pkg[d.path]] = true
		if w.selector() {
			places[d.path+fmt.Sprint(d.n)] = true
			delete(places, path.Dir(d.path)+" "+w.pkg[d.path])
		}
	}
	if w.kind == "local" {
		return w.localObstacle()
	}
	if len(places) > 1 || (path.Ext(w.def.path) != ".go" && len(w.defs) > 1) {
		return fmt.Sprintf("`%s` is defined at %s, and text alone doesn't tell whose uses are whose; nothing was changed:%s\nSay in which file or folder.", w.old, plural(len(w.defs), "place"), listLines(w.defs))
	}
	for _, l := range taken {
		name, recv, ok := definition(l.path, l.text)
		if !ok || name != w.new || path.Ext(l.path) != path.Ext(w.def.path) || path.Dir(l.path) != path.Dir(w.def.path) {
			continue
		}
		if (recv != "") == (w.kind == "method") && !isComment(l.path, l.text) && indent(l.text) == indent(w.def.text) {
			if _, mine, _ := definition(w.def.path, w.def.text); w.kind != "method" || strings.Trim(recv, "*") == strings.Trim(mine, "*") {
				return fmt.Sprintf("`%s` is taken: %s:%d — %s. Nothing was changed.", w.new, l.path, l.n, tick(strings.TrimSpace(l.text)))
			}
		}
	}
	return ""
}

func (w *renaming) localObstacle() string {
	d := w.def
	for _, o := range w.defs {
		if o.path != d.path || w.enclosing(o) != w.enclosing(d) {
			return fmt.Sprintf("`%s` is a local name in several functions; nothing was changed:%s\nSay in which file, or `replace` the text there.", w.old, listLines(w.defs))
		}
	}
	if w.enclosing(d) == (funcRange{}) {
		return fmt.Sprintf("I can't see the bounds of the function around %s:%d; nothing was changed.", d.path, d.n)
	}
	return ""
}

func (w *renaming) enclosing(l line) funcRange {
	for _, fr := range w.funcs[l.path] {
		if fr.from <= l.n && l.n <= fr.to {
			return fr
		}
	}
	return funcRange{}
}

func listLines(list []line) string {
	var b strings.Builder
	for i, l := range list {
		if i == citationsMax {
			fmt.Fprintf(&b, "\n- … and %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n- %s:%d — %s", l.path, l.n, tick(strings.TrimSpace(l.text)))
	}
	return b.String()
}

// selector says whether the symbol is used behind a dot.
func (w *renaming) selector() bool { return w.kind == "method" || w.kind == "field" }

var goKeywords = set(`break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var`)

func sortInts(list []int) {
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}
