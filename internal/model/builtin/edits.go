package builtin

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

const (
	grepAll    = 1000 // lines that one edit looks at; more means: ask for a narrower scope
	contextTop = 3    // lines of context at most, to tell equal lines apart
	filesMax   = 60   // files that one request changes
)

// occurrences are the lines of one file that hold a text.
type occurrences struct {
	path  string
	lines []line
}

func byFile(lines []line) []occurrences {
	index := map[string]int{}
	var out []occurrences
	for _, l := range lines {
		i, ok := index[l.path]
		if !ok {
			i = len(out)
			index[l.path] = i
			out = append(out, occurrences{path: l.path})
		}
		out[i].lines = append(out[i].lines, l)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].path < out[j].path })
	return out
}

// A fileEdit is what is to become of one file: the lines that hold the old
// text, and those of them that change.
type fileEdit struct {
	occurrences
	old, new string
	changed  map[int]string // line → its new text
	whole    bool           // every place of the old text in the file changes
	count    int            // places that change
}

// edits writes a fileEdit as replacements that are exact: each oldText stands
// at the places meant and nowhere else. near holds lines around the changed
// ones, where they were read. What can't be told apart is returned in left.
func (f fileEdit) edits(near map[int]string) (out []textEdit, left []line) {
	if f.whole {
		return []textEdit{{old: f.old, new: f.new, all: true}}, nil
	}
	now := map[int]string{} // the file's lines as the edits so far leave them
	for n, t := range near {
		now[n] = t
	}
	for _, l := range f.lines {
		if _, ok := now[l.n]; !ok {
			now[l.n] = l.text
		}
	}
	order := make([]line, 0, len(f.changed))
	for _, l := range f.lines {
		if _, ok := f.changed[l.n]; ok {
			order = append(order, l)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return len(order[i].text) > len(order[j].text) })
	done := map[int]bool{}
	for _, l := range order {
		if done[l.n] {
			continue
		}
		same, others := f.alike(l, now)
		if len(others) == 0 {
			out = append(out, textEdit{old: l.text, new: f.changed[l.n], all: len(same) > 1})
			for _, n := range same {
				now[n], done[n] = f.changed[n], true
			}
			continue
		}
		e, ok := f.inContext(l, now)
		if !ok {
			left = append(left, l)
			continue
		}
		out = append(out, e)
		now[l.n], done[l.n] = f.changed[l.n], true
	}
	return out, left
}

// alike finds the lines that hold l's text now: those equal to it that change
// the same way, and all others.
func (f fileEdit) alike(l line, now map[int]string) (same []int, others []int) {
	for _, o := range f.lines {
		if !strings.Contains(now[o.n], l.text) {
			continue
		}
		if o.text == l.text && f.changed[o.n] == f.changed[l.n] && f.changed[o.n] != "" {
			same = append(same, o.n)
		} else {
			others = append(others, o.n)
		}
	}
	return same, others
}

// inContext tells l apart from like lines by what stands around it.
func (f fileEdit) inContext(l line, now map[int]string) (textEdit, bool) {
	for k := 1; k <= contextTop; k++ {
		block, ok := stretch(now, l.n-k, l.n+k)
		if !ok {
			return textEdit{}, false
		}
		unique := true
		for _, o := range f.lines {
			if o.n == l.n || !strings.Contains(now[o.n], l.text) {
				continue
			}
			if other, ok := stretch(now, o.n-k, o.n+k); !ok || other == block {
				unique = false
			}
		}
		if !unique {
			continue
		}
		after := map[int]string{}
		for n := l.n - k; n <= l.n+k; n++ {
			after[n] = now[n]
		}
		after[l.n] = strings.Replace(now[l.n], l.text, f.changed[l.n], 1)
		with, _ := stretch(after, l.n-k, l.n+k)
		return textEdit{old: block, new: with}, true
	}
	return textEdit{}, false
}

func stretch(lines map[int]string, from, to int) (string, bool) {
	var out []string
	for n := from; n <= to; n++ {
		t, ok := lines[n]
		if !ok {
			return "", false
		}
		out = append(out, t)
	}
	return strings.Join(out, "\n"), true
}

// replace changes a text by another in a file, a folder or everywhere.
func (r *run) replace(it intent, n narrow) (string, bool) {
	if !r.box.has("edit") {
		return noTool("edit", "replace text"), true
	}
	path := ""
	if len(it.paths) == 1 {
		path = it.paths[0]
	}
	if strings.Contains(it.old, "\n") {
		return r.replaceBlock(it)
	}
	wholeWord := !it.literal && isName(it.old)
	if !r.box.has("grep") {
		return noTool("grep", "replace text"), true
	}
	got, ok := r.do("Finding "+tick(it.old)+".", r.grep(regexp.QuoteMeta(it.old), path, false, grepAll))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "I couldn't look for " + tick(it.old) + ": " + got[0].firstLine(), true
	}
	lines := keep(grepLines(got[0].text, false), it.paths, n)
	if refusal := tooMany(got[0], lines, it.old); refusal != "" {
		return refusal, true
	}
	build := func(p string, lines []line) fileEdit { return replaceIn(p, lines, it.old, it.new, wholeWord) }
	var files []fileEdit
	for _, o := range byFile(lines) {
		if f := build(o.path, o.lines); f.count > 0 {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		text := tick(it.old) + " stands nowhere" + where(it.paths) + "; nothing was changed."
		if wholeWord && len(lines) > 0 {
			text += fmt.Sprintf(" It is part of longer words, as at %s:%d; put it in quotes to replace it there.", lines[0].path, lines[0].n)
		}
		return text, true
	}
	out, ok := r.land("Replacing "+tick(it.old)+" by "+tick(it.new)+" in "+plural(len(files), "file")+".", files, build)
	if !ok {
		return "", false
	}
	return editReport("Replaced "+tick(it.old)+" by "+tick(it.new), "place", out, r.t.rejected), true
}

// replaceIn prepares a file for a plain replacement.
func replaceIn(p string, lines []line, old, new string, wholeWord bool) fileEdit {
	f := fileEdit{occurrences: occurrences{p, lines}, old: old, new: new, changed: map[int]string{}, whole: true}
	for _, l := range lines {
		all := strings.Count(l.text, old)
		if !wholeWord {
			f.changed[l.n] = strings.ReplaceAll(l.text, old, new)
			f.count += all
			continue
		}
		at := words(l.text, old)
		if len(at) < all {
			f.whole = false
		}
		if len(at) > 0 {
			f.changed[l.n] = splice(l.text, at, len(old), new)
			f.count += len(at)
		}
	}
	return f
}

// splice puts new in place of n bytes at each offset.
func splice(text string, at []int, n int, new string) string {
	var b strings.Builder
	from := 0
	for _, i := range at {
		b.WriteString(text[from:i] + new)
		from = i + n
	}
	return b.String() + text[from:]
}

// replaceBlock replaces a text of several lines, which must stand in a named file.
func (r *run) replaceBlock(it intent) (string, bool) {
	if len(it.paths) != 1 {
		return "A text of several lines is replaced in one named file; say in which (`in path/to/file`).", true
	}
	got, ok := r.do("Replacing the block.", r.edit(it.paths[0], []textEdit{{old: it.old, new: it.new, all: it.every}}))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "That did not apply: " + clip(strings.TrimSpace(got[0].text), 600), true
	}
	return "Replaced the block in `" + it.paths[0] + "`.", true
}

// keep drops lines outside the scope.
func keep(lines []line, scope []string, n narrow) []line {
	var out []line
	for _, l := range lines {
		if within(l.path, scope) && n.allows(l.path) {
			out = append(out, l)
		}
	}
	return out
}

func tooMany(res result, lines []line, what string) string {
	if len(lines) >= grepAll || res.cut() || strings.Contains(res.text, "[the first ") {
		return fmt.Sprintf("%s stands in more lines than I can look at safely (%d seen); nothing was changed. Name a file or a folder to work in.", tick(what), len(lines))
	}
	if n := len(byFile(lines)); n > filesMax {
		return fmt.Sprintf("%s stands in %d files, and I change at most %d at once; nothing was changed. Name a folder to work in.", tick(what), n, filesMax)
	}
	return ""
}

func where(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return " in " + joinAnd(quoteAll(paths))
}

// tick quotes a text for a sentence.
func tick(s string) string {
	return "`" + strings.ReplaceAll(clip(strings.ReplaceAll(s, "\n", "⏎"), 60), "`", "'") + "`"
}

// editReport says what was done to each file, and what was not.
func editReport(head, unit string, out []outcome, rejected []string) string {
	var b strings.Builder
	total, files := 0, 0
	var rows, failed, left []string
	for _, o := range out {
		if o.count > 0 && o.failed == "" {
			total += o.count
			files++
			rows = append(rows, fmt.Sprintf("- `%s`: %s", o.path, plural(o.count, unit)))
		}
		if o.failed != "" {
			failed = append(failed, fmt.Sprintf("- `%s`: %s", o.path, o.failed))
		}
		for _, l := range o.left {
			left = append(left, fmt.Sprintf("- %s:%d — %s", l.path, l.n, tick(strings.TrimSpace(l.text))))
		}
	}
	if total > 0 {
		fmt.Fprintf(&b, "%s: %s in %s.\n%s\n", head, plural(total, unit), plural(files, "file"), strings.Join(rows, "\n"))
	} else {
		b.WriteString("Nothing was changed.\n")
	}
	if len(failed) > 0 {
		b.WriteString("Not changed:\n" + strings.Join(failed, "\n") + "\n")
	}
	if len(left) > 0 {
		b.WriteString("Left, because equal lines could not be told apart safely:\n" + strings.Join(left, "\n") + "\n")
	}
	for _, s := range rejected {
		for _, o := range out {
			if strings.Contains(s, o.path) {
				b.WriteString("Of earlier edits you said: " + clip(noteMark.ReplaceAllString(s, ""), 200) + "\n")
				break
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
