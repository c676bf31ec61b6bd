package builtin

import (
	"fmt"
	"path"
	"regexp"
	"sort"
	"strings"
)

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
