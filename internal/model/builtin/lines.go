package builtin

import (
	"fmt"
	"regexp"
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
