package builtin

import (
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"
)

const wholeFileMax = 600 // lines of a file that is deleted by a diff, so that it can be undone

// create writes a new file; an existing one stays as it is unless the person
// said to overwrite it.
func (r *run) create(it intent) (string, bool) {
	if !r.box.has("write") {
		return noTool("write", "create a file"), true
	}
	p := it.new
	if r.box.has("read") {
		got, ok := r.do("Checking that `"+p+"` does not exist yet.", r.read(p, 1, 5))
		if !ok {
			return "", false
		}
		if got[0].refused() {
			return "I may not write `" + p + "`: " + got[0].firstLine(), true
		}
		if !got[0].failed && !it.every {
			return "`" + p + "` exists already; nothing was changed. Say `create the file " + p + " …, overwrite it` to replace it.", true
		}
	}
	got, ok := r.do("Creating `"+p+"`.", r.write(p, it.text))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "`" + p + "` was not created: " + got[0].firstLine(), true
	}
	n := strings.Count(it.text, "\n")
	if it.text == "" {
		return "Created `" + p + "`, empty.", true
	}
	return fmt.Sprintf("Created `%s` with %s.", p, plural(n, "line")), true
}

// insert puts lines into a file at a line number, beside a line that holds a
// text, above a symbol, at the start or at the end.
func (r *run) insert(it intent) (string, bool) {
	if !r.box.has("edit") || !r.box.has("read") {
		return noTool("edit", "insert text"), true
	}
	p := ""
	if len(it.paths) > 0 {
		p = it.paths[0]
	}
	at, p, stop, done := r.insertionPoints(it, p)
	if !done || stop != "" {
		return stop, done
	}
	known := map[int]string{}
	var reads []call
	for _, n := range at {
		reads = append(reads, r.read(p, max2(1, n-diffContext), 2*diffContext))
	}
	got, ok := r.do("Reading around the place.", clipCalls(reads, callsPerRound)...)
	if !ok {
		return "", false
	}
	for _, g := range got {
		if g.failed {
			return r.missing(p, g)
		}
		for _, l := range readLines(p, g.text) {
			known[l.n] = l.text
		}
	}
	text := strings.Split(strings.TrimSuffix(it.text, "\n"), "\n")
	if len(known) == 0 {
		return r.writeEmpty(p, strings.Join(text, "\n")+"\n")
	}
	var changes []change
	for _, n := range at {
		if _, ok := known[n]; !ok && n > 1 {
			if _, ok := known[n-1]; !ok {
				return fmt.Sprintf("`%s` has no line %d; nothing was changed.", p, n-1), true
			}
		}
		changes = append(changes, change{at: n, insert: r.dressed(it, p, text, known, n)})
	}
	say := "Inserting " + plural(len(text), "line") + " into `" + p + "`."
	if text, ok := r.patchFile(p, known, changes, say); !ok || text != "" {
		return text, ok
	}
	var places []string
	for i, c := range changes {
		places = append(places, fmt.Sprintf("%s:%d", p, c.at+i*len(text)))
	}
	return fmt.Sprintf("Inserted %s at %s.", plural(len(text), "line"), joinAnd(clipList(places, 8))), true
}

// dressed gives the inserted lines the indentation of their neighbour, and a
// comment its marks.
func (r *run) dressed(it intent, p string, text []string, known map[int]string, at int) []string {
	out := append([]string(nil), text...)
	neighbour := known[at]
	if it.form == "after" {
		neighbour = known[at-1]
	}
	if it.form == "start" || it.form == "end" || it.from > 0 && !it.literal {
		return out
	}
	lead := neighbour[:len(neighbour)-len(strings.TrimLeft(neighbour, " \t"))]
	for i, l := range out {
		if it.literal && !isComment(p, l) {
			mark := "// "
			if s := syntaxOf(p); len(s.line) > 0 {
				mark = s.line[0] + " "
			}
			l = mark + l
		}
		if l != "" && (it.literal || len(out) == 1) && !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "\t") {
			l = lead + l
		}
		out[i] = l
	}
	return out
}

// insertionPoints are the lines before which the text goes.
func (r *run) insertionPoints(it intent, p string) (at []int, file, stop string, done bool) {
	switch it.form {
	case "start":
		return []int{1}, p, "", true
	case "end":
		n, res, ok := r.lengthOf(p)
		if !ok {
			return nil, p, "", false
		}
		if res.failed {
			text, ok := r.missing(p, res)
			return nil, p, text, ok
		}
		return []int{n + 1}, p, "", true
	case "symbol":
		def, stop, ok := r.locate(it.new, it.paths)
		if !ok || stop != "" {
			return nil, p, stop, ok
		}
		return []int{def.n}, def.path, "", true
	}
	if it.from > 0 {
		n := it.from
		if it.form == "after" {
			n++
		}
		return []int{n}, p, "", true
	}
	found, stop, ok := r.linesWith(it, p)
	if !ok || stop != "" {
		return nil, p, stop, ok
	}
	for _, l := range found {
		n := l.n
		if it.form == "after" {
			n++
		}
		at = append(at, n)
	}
	return at, p, "", true
}

// linesWith finds the line that holds the anchor text: exactly one, unless the
// person asked for every one.
func (r *run) linesWith(it intent, p string) (found []line, stop string, done bool) {
	got, ok := r.do("Finding the line with "+tick(it.old)+" in `"+p+"`.", r.grep(regexp.QuoteMeta(it.old), p, false, grepAll))
	if !ok {
		return nil, "", false
	}
	if got[0].failed {
		text, ok := r.missing(p, got[0])
		return nil, text, ok
	}
	found = grepLines(got[0].text, false)
	switch {
	case len(found) == 0:
		return nil, "No line of `" + p + "` holds " + tick(it.old) + "; nothing was changed.", true
	case len(found) > 1 && !it.every:
		text := fmt.Sprintf("%d lines of `%s` hold %s, and I don't guess between them; nothing was changed:", len(found), p, tick(it.old))
		for i, l := range found {
			if i == citationsMax {
				break
			}
			text += fmt.Sprintf("\n- %s:%d — %s", p, l.n, tick(strings.TrimSpace(l.text)))
		}
		return nil, text + "\nName the line's number, or say \"every line\".", true
	}
	return found, "", true
}

// lengthOf is the number of lines of a file.
func (r *run) lengthOf(p string) (int, result, bool) {
	got, ok := r.do("Reading `"+p+"`.", r.read(p, 1, 1))
	if !ok {
		return 0, result{}, false
	}
	n := fileLength(got[0].text)
	if n == 0 {
		n = len(readLines(p, got[0].text))
	}
	return n, got[0], true
}

// writeEmpty fills a file that has no lines yet.
func (r *run) writeEmpty(p, content string) (string, bool) {
	if !r.box.has("write") {
		return noTool("write", "fill an empty file"), true
	}
	got, ok := r.do("`"+p+"` is empty; writing it.", r.write(p, content))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "`" + p + "` was not written: " + got[0].firstLine(), true
	}
	return fmt.Sprintf("`%s` was empty and now has %s.", p, plural(strings.Count(content, "\n"), "line")), true
}

// patchFile lands changes by a diff, whose line numbers make its place exact.
// It returns what went wrong, "" if nothing did. A diff that does not apply is
// tried once more on what stands there now.
func (r *run) patchFile(p string, known map[int]string, changes []change, say string) (string, bool) {
	got, ok := r.do(say, r.patch(p, unified(p, known, changes)))
	if !ok {
		return "", false
	}
	if !got[0].failed {
		return "", true
	}
	return "`" + p + "` was not changed: " + clip(strings.TrimSpace(got[0].text), 600), true
}

// locate finds the one definition of a symbol.
func (r *run) locate(name string, scope []string) (def line, stop string, done bool) {
	dir := ""
	if len(scope) == 1 {
		dir = scope[0]
	}
	got, ok := r.do("Finding the definition of `"+name+"`.", r.grep(`\b`+regexp.QuoteMeta(name)+`\b`, dir, false, grepAll))
	if !ok {
		return line{}, "", false
	}
	if got[0].failed {
		return line{}, "I couldn't look for `" + name + "`: " + got[0].firstLine(), true
	}
	var found []line
	for _, l := range grepLines(got[0].text, false) {
		if n, _, ok := definition(l.path, l.text); ok && n == name && within(l.path, scope) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return line{}, "I found no definition of `" + name + "`" + where(scope) + "; nothing was changed.", true
	case 1:
		return found[0], "", true
	}
	text := fmt.Sprintf("`%s` is defined at %s, and I don't guess between them; nothing was changed:", name, plural(len(found), "place"))
	for i, l := range found {
		if i == citationsMax {
			break
		}
		text += fmt.Sprintf("\n- %s:%d — %s", l.path, l.n, tick(strings.TrimSpace(l.text)))
	}
	return line{}, text + "\nSay in which file.", true
}

// delete removes lines, a definition or a file.
func (r *run) delete(it intent) (string, bool) {
	if !r.box.has("edit") || !r.box.has("read") {
		return noTool("edit", "delete that"), true
	}
	switch it.form {
	case "lines":
		return r.deleteLines(it)
	case "containing":
		return r.deleteContaining(it)
	case "symbol":
		return r.deleteSymbol(it)
	}
	return r.deleteFile(it.paths[0])
}

func (r *run) deleteLines(it intent) (string, bool) {
	p := it.paths[0]
	from := max2(1, it.from-diffContext)
	got, ok := r.do("Reading the lines.", r.read(p, from, it.to-from+1+diffContext))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return r.missing(p, got[0])
	}
	known := map[int]string{}
	for _, l := range readLines(p, got[0].text) {
		known[l.n] = l.text
	}
	if !span(known, it.from, it.to+1) {
		return fmt.Sprintf("`%s` has no line %d; nothing was changed.", p, it.to), true
	}
	n := it.to - it.from + 1
	say := "Deleting " + plural(n, "line") + " of `" + p + "`."
	if text, ok := r.patchFile(p, known, []change{{at: it.from, remove: n}}, say); !ok || text != "" {
		return text, ok
	}
	at := fmt.Sprintf("%s:%d", p, it.from)
	if n > 1 {
		at += fmt.Sprintf("-%d", it.to)
	}
	return fmt.Sprintf("Deleted %s (%s):", plural(n, "line"), at) + fenced(gone(known, it.from, it.to)), true
}

// gone lists deleted lines for the answer.
func gone(known map[int]string, from, to int) []string {
	var out []string
	for n := from; n <= to; n++ {
		if len(out) == 12 {
			out = append(out, fmt.Sprintf("… %d more lines", to-n+1))
			break
		}
		out = append(out, clip(known[n], lineMax))
	}
	return out
}

func (r *run) deleteContaining(it intent) (string, bool) {
	p := it.paths[0]
	found, stop, ok := r.linesWith(it, p)
	if !ok || stop != "" {
		return stop, ok
	}
	known := map[int]string{}
	var reads []call
	for _, w := range useWindows(found) {
		from := max2(1, w.from-diffContext)
		reads = append(reads, r.read(p, from, w.to-from+1+diffContext))
	}
	if len(reads) > callsPerRound {
		return fmt.Sprintf("%d lines far apart hold %s; that is more than I delete at once. Nothing was changed.", len(found), tick(it.old)), true
	}
	got, ok := r.do("Reading around them.", reads...)
	if !ok {
		return "", false
	}
	for _, g := range got {
		for _, l := range readLines(p, g.text) {
			known[l.n] = l.text
		}
	}
	var changes []change
	sort.Slice(found, func(i, j int) bool { return found[i].n < found[j].n })
	for _, l := range found {
		if !strings.Contains(known[l.n], it.old) {
			return fmt.Sprintf("%s:%d changed while I looked; nothing was changed.", p, l.n), true
		}
		changes = append(changes, change{at: l.n, remove: 1})
	}
	say := "Deleting " + plural(len(found), "line") + " of `" + p + "`."
	if text, ok := r.patchFile(p, known, changes, say); !ok || text != "" {
		return text, ok
	}
	return fmt.Sprintf("Deleted %s of `%s` that held %s.", plural(len(found), "line"), p, tick(it.old)), true
}

const definitionMax = 400 // lines of a definition that is deleted

func (r *run) deleteSymbol(it intent) (string, bool) {
	def, stop, ok := r.locate(it.old, it.paths)
	if !ok || stop != "" {
		return stop, ok
	}
	from := max2(1, def.n-commentLines)
	got, ok := r.do("Reading `"+it.old+"`.", r.read(def.path, from, definitionMax+commentLines))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return r.missing(def.path, got[0])
	}
	known := map[int]string{}
	for _, l := range readLines(def.path, got[0].text) {
		known[l.n] = l.text
	}
	start, end, ok := extent(def.path, known, def.n)
	if !ok {
		return fmt.Sprintf("I can't see where `%s` (%s:%d) ends; nothing was changed.", it.old, def.path, def.n), true
	}
	remove := end - start + 1
	if strings.TrimSpace(known[end+1]) == "" && span(known, end+1, end+2) && strings.TrimSpace(known[start-1]) == "" {
		remove++
	}
	say := fmt.Sprintf("Deleting `%s`, %s of `%s`.", it.old, plural(end-start+1, "line"), def.path)
	if text, ok := r.patchFile(def.path, known, []change{{at: start, remove: remove}}, say); !ok || text != "" {
		return text, ok
	}
	text := fmt.Sprintf("Deleted `%s` (%s:%d-%d).", it.old, def.path, start, end)
	got, ok = r.do("Looking for uses that are left.", r.grep(`\b`+regexp.QuoteMeta(it.old)+`\b`, "", false, grepLimit))
	if !ok {
		return "", false
	}
	var uses []string
	for _, l := range grepLines(got[0].text, false) {
		if inCode(l.path, l.text, it.old) && !isComment(l.path, l.text) && len(uses) < citationsMax {
			uses = append(uses, fmt.Sprintf("- %s:%d — %s", l.path, l.n, tick(strings.TrimSpace(l.text))))
		}
	}
	if len(uses) > 0 {
		text += "\nIt is still mentioned in code:\n" + strings.Join(uses, "\n")
	}
	return text, true
}

// extent finds the lines of the definition at n, its comment included.
func extent(file string, known map[int]string, n int) (start, end int, ok bool) {
	start = n
	for {
		text, ok := known[start-1]
		if !ok || !(isComment(file, text) || strings.HasPrefix(strings.TrimSpace(text), "@") || strings.HasPrefix(strings.TrimSpace(text), "#[")) {
			break
		}
		start--
	}
	if ext := path.Ext(file); ext == ".py" || ext == ".rb" || ext == ".lua" {
		return byIndent(file, known, start, n)
	}
	l := lexer{syntax: syntaxOf(file)}
	depth, opened := 0, false
	for k := n; ; k++ {
		text, known := known[k]
		if !known {
			return start, 0, false
		}
		for i, reg := range l.regions(text) {
			if reg != inCodeRegion {
				continue
			}
			switch text[i] {
			case '{', '(', '[':
				depth++
				opened = opened || text[i] == '{'
			case '}', ')', ']':
				depth--
			}
		}
		if depth <= 0 && l.open == "" && (opened || !strings.HasSuffix(strings.TrimSpace(text), "=") && !strings.HasSuffix(strings.TrimSpace(text), ",")) {
			return start, k, depth == 0
		}
	}
}

func byIndent(file string, known map[int]string, start, n int) (int, int, bool) {
	own, end := indent(known[n]), n
	for k := n + 1; ; k++ {
		text, ok := known[k]
		if !ok {
			return start, end, end > n || len(known) > 0
		}
		if strings.TrimSpace(text) == "" {
			continue
		}
		in := indent(text)
		if in < own || in == own && strings.TrimSpace(text) != "end" && !strings.HasPrefix(strings.TrimSpace(text), ")") {
			return start, end, true
		}
		end = k
		if in == own && strings.TrimSpace(text) == "end" {
			return start, end, true
		}
	}
}

func (r *run) deleteFile(p string) (string, bool) {
	got, ok := r.do("Reading `"+p+"`.", r.read(p, 1, wholeFileMax))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return r.missing(p, got[0])
	}
	lines := readLines(p, got[0].text)
	whole := len(lines) > 0 && lines[0].n == 1 && fileLength(got[0].text) <= len(lines)
	if whole {
		var b strings.Builder
		fmt.Fprintf(&b, "--- a/%s\n+++ /dev/null\n@@ -1,%d +0,0 @@\n", p, len(lines))
		for _, l := range lines {
			b.WriteString("-" + l.text + "\n")
		}
		got, ok = r.do("Deleting `"+p+"`.", r.patch(p, b.String()))
	} else if r.box.has("bash") {
		got, ok = r.do("Deleting `"+p+"`.", r.bash("rm -- "+shellQuote(p), "delete the file that the person named"))
	} else {
		return noTool("bash", "delete a file of that size"), true
	}
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "`" + p + "` was not deleted: " + got[0].firstLine(), true
	}
	return "Deleted `" + p + "`.", true
}
