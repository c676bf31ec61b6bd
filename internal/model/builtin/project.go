package builtin

import (
	"fmt"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// The limits of what is shown in answers about the project.
const (
	listMax    = 60
	showLines  = 120
	failureMax = 24 // lines of a failed test run that are quoted
	countLimit = 1000
)

// command runs what the person wrote, word for word.
func (r *run) command(it intent) (string, bool) {
	if !r.box.has("bash") {
		return noTool("bash", "run `"+it.text+"`"), true
	}
	got, ok := r.do("Running `"+it.text+"`.", r.bash(it.text, "asked for by the person"))
	if !ok {
		return "", false
	}
	res := got[0]
	if res.refused() || res.unavailable {
		return "It was not run: " + res.firstLine(), true
	}
	word := "The output"
	if m := exitCode.FindStringSubmatch(res.text); m != nil && m[1] != "0" || res.failed {
		word = "It failed; the output"
	}
	body := strings.TrimSpace(res.text)
	if body == "" {
		return "`" + it.text + "` ran and printed nothing.", true
	}
	return word + " of `" + it.text + "`:" + fenced(lastLines(body, listMax)), true
}

// list answers "which files" by ls, or by find where a pattern is named.
func (r *run) list(it intent) (string, bool) {
	dir := "."
	if len(it.paths) > 0 {
		dir = it.paths[0]
	}
	c := r.ls(dir)
	if it.text != "" {
		c = r.find(it.text, dir, 0)
	}
	if !r.box.has(c.name) {
		return noTool(c.name, "list files"), true
	}
	got, ok := r.do("Looking.", c)
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "That can't be listed: " + got[0].firstLine(), true
	}
	list := entries(got[0].text)
	if it.text != "" {
		kept := list[:0]
		for _, e := range list {
			if !strings.Contains(e, " ") {
				kept = append(kept, e)
			}
		}
		list = kept
	}
	what := "`" + dir + "`"
	if it.text != "" {
		what = "files like `" + it.text + "`"
	}
	if len(list) == 0 {
		return "There is nothing: " + what + ".", true
	}
	head := fmt.Sprintf("%s in %s:", entryCount(len(list)), what)
	if it.text != "" {
		head = fmt.Sprintf("%s:", plural(len(list), "file")+" like `"+it.text+"`")
	}
	if len(list) > listMax {
		list = append(list[:listMax:listMax], fmt.Sprintf("… and %d more", len(list)-listMax))
	}
	return head + "\n- " + strings.Join(list, "\n- "), true
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.Itoa(n) + " entries"
}

// count answers "how many".
func (r *run) count(it intent) (string, bool) {
	dir := "."
	if len(it.paths) > 0 {
		dir = it.paths[0]
	}
	switch it.form {
	case "files":
		pattern := it.text
		if pattern == "" {
			pattern = "**"
		}
		if !r.box.has("find") {
			return noTool("find", "count files"), true
		}
		got, ok := r.do("Counting.", r.find(pattern, dir, countLimit))
		if !ok {
			return "", false
		}
		n := 0
		for _, e := range entries(got[0].text) {
			if !strings.HasSuffix(e, "/") && !strings.Contains(e, " ") {
				n++
			}
		}
		return "There are " + atLeast(got[0], n, countLimit) + plural(n, "file") + like(it.text) + inDir(dir) + ".", true
	case "lines":
		got, ok := r.do("Counting.", r.grep("$", dir, false, countLimit))
		if !ok {
			return "", false
		}
		n := len(grepLines(got[0].text, false))
		return "`" + dir + "` has " + atLeast(got[0], n, countLimit) + plural(n, "line") + ".", true
	}
	if !r.box.has("grep") {
		return noTool("grep", "count"), true
	}
	got, ok := r.do("Counting.", r.grep(it.text, dir, false, countLimit))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "That couldn't be counted: " + got[0].firstLine(), true
	}
	perFile := map[string]int{}
	found := grepLines(got[0].text, false)
	for _, l := range found {
		perFile[l.path]++
	}
	text := fmt.Sprintf("%s%s in %s%s.", atLeast(got[0], len(found), countLimit), plural(len(found), "line"), plural(len(perFile), "file"), inDir(dir))
	files := sortedKeys(perFile)
	sort.SliceStable(files, func(i, j int) bool { return perFile[files[i]] > perFile[files[j]] })
	for _, f := range clipList(files, 12) {
		text += fmt.Sprintf("\n- %s: %d", f, perFile[f])
	}
	return text, true
}

func atLeast(res result, n, limit int) string {
	if n >= limit || res.cut() {
		return "at least "
	}
	return ""
}

func like(pattern string) string {
	if pattern == "" {
		return ""
	}
	return " like `" + pattern + "`"
}

func inDir(dir string) string {
	if dir == "." {
		return ""
	}
	return " in `" + dir + "`"
}

// show reads a file, or some of its lines.
func (r *run) show(it intent) (string, bool) {
	if !r.box.has("read") {
		return noTool("read", "show files"), true
	}
	p := it.paths[0]
	limit := showLines
	if it.to > 0 {
		limit = it.to - it.from + 1
	}
	got, ok := r.do("Reading `"+p+"`.", r.read(p, it.from, limit))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return r.missing(p, got[0])
	}
	lines := readLines(p, got[0].text)
	if len(lines) == 0 {
		return "`" + p + "` is empty.", true
	}
	var b strings.Builder
	first, last := lines[0].n, lines[len(lines)-1].n
	fmt.Fprintf(&b, "%s:%d-%d\n```%s\n", p, first, last, strings.TrimPrefix(path.Ext(p), "."))
	for _, l := range lines {
		b.WriteString(strings.ReplaceAll(l.text, "```", "'''") + "\n")
	}
	b.WriteString("```")
	if total := fileLength(got[0].text); total > last {
		fmt.Fprintf(&b, "\n%d more lines; say `show lines %d-%d of %s` for the next.", total-last, last+1, min(total, last+showLines), p)
	}
	return b.String(), true
}

// missing answers a path that can't be read with files of a like name.
func (r *run) missing(p string, res result) (string, bool) {
	text := "I can't read `" + p + "`: " + res.firstLine()
	if res.refused() || !r.box.has("find") {
		return text, true
	}
	got, ok := r.do("Looking for a file of that name.", r.find("**/"+path.Base(p), ".", 10))
	if !ok {
		return "", false
	}
	var found []string
	for _, e := range entries(got[0].text) {
		if !strings.Contains(e, " ") && path.Base(e) == path.Base(p) {
			found = append(found, "`"+e+"`")
		}
	}
	if !got[0].failed && len(found) > 0 {
		text += "\nDid you mean " + joinAnd(found) + "?"
	}
	return text, true
}

func shellQuote(s string) string {
	if regexp.MustCompile(`^[\w./@:=+-]+$`).MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
