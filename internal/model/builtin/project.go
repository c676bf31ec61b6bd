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

// test finds out how the project is tested, runs that, and reports.
func (r *run) test(it intent) (string, bool) {
	if !r.box.has("bash") {
		return noTool("bash", "run the tests"), true
	}
	got, ok := r.do("I'll see how this project is tested.", r.ls("."))
	if !ok {
		return "", false
	}
	if got[0].failed {
		return "I couldn't look at the project: " + got[0].firstLine(), true
	}
	names := map[string]bool{}
	for _, e := range entries(got[0].text) {
		names[e] = true
	}
	var where string
	if len(it.paths) > 0 {
		where = it.paths[0]
	}
	command, why, done := r.testCommand(names, where, it)
	if !done {
		return "", false
	}
	if command == "" {
		return "I don't know how this project is tested: " + why, true
	}
	got, ok = r.do("Running `"+command+"`.", r.bash(command, "run the tests"))
	if !ok {
		return "", false
	}
	return testReport(command, got[0]), true
}

// testCommand picks by the files at the top of the project, in this order.
func (r *run) testCommand(names map[string]bool, where string, it intent) (command, why string, done bool) {
	goTest := func() string {
		pkg := "./..."
		if where != "" {
			pkg = "./" + strings.TrimPrefix(strings.TrimSuffix(where, "/"), "./")
			if looksLikeFile(where) {
				pkg = "./" + path.Dir(where)
			}
		}
		if it.text != "" {
			return "go test -run " + shellQuote("^"+it.text+"$") + " " + shellQuote(pkg)
		}
		return "go test " + shellQuote(pkg)
	}
	switch {
	case names["go.mod"] || names["go.work"]:
		return goTest(), "", true
	case names["Cargo.toml"]:
		cmd := "cargo test"
		if where != "" {
			cmd += " -p " + shellQuote(path.Base(where))
		}
		if it.text != "" {
			cmd += " " + shellQuote(it.text)
		}
		return cmd, "", true
	case names["package.json"]:
		got, ok := r.do("There is a package.json; looking for its test script.", r.read("package.json", 0, 0))
		if !ok {
			return "", "", false
		}
		if !regexp.MustCompile(`"test"\s*:`).MatchString(got[0].text) {
			return "", "package.json has no `test` script.", true
		}
		runner := "npm test"
		switch {
		case names["pnpm-lock.yaml"]:
			runner = "pnpm test"
		case names["yarn.lock"]:
			runner = "yarn test"
		case names["bun.lockb"] || names["bun.lock"]:
			runner = "bun run test"
		}
		if where != "" {
			runner += " -- " + shellQuote(where)
		}
		return runner, "", true
	case names["pytest.ini"] || names["pyproject.toml"] || names["setup.py"] || names["setup.cfg"] || names["tox.ini"] || names["conftest.py"]:
		cmd := "python -m pytest -q"
		if where != "" {
			cmd += " " + shellQuote(where)
		}
		if it.text != "" {
			cmd += " -k " + shellQuote(it.text)
		}
		return cmd, "", true
	case names["Makefile"] || names["makefile"] || names["GNUmakefile"]:
		file := "Makefile"
		for _, n := range []string{"GNUmakefile", "makefile", "Makefile"} {
			if names[n] {
				file = n
			}
		}
		got, ok := r.do("Looking for a test target in the "+file+".", r.grep(`^(test|check)\s*:`, file, false, 5))
		if !ok {
			return "", "", false
		}
		for _, target := range []string{"test", "check"} {
			for _, l := range grepLines(got[0].text, false) {
				if strings.HasPrefix(l.text, target) {
					return "make " + target, "", true
				}
			}
		}
		return "", "the " + file + " has no `test` or `check` target.", true
	}
	for _, n := range sortedKeys(names) {
		if strings.HasPrefix(n, "test_") && strings.HasSuffix(n, ".py") || (n == "tests/") {
			return "python -m pytest -q", "", true
		}
	}
	for _, n := range sortedKeys(names) {
		if strings.HasSuffix(n, "_test.go") {
			return "", "there are Go tests but no go.mod at the top; say `run \"go test …\"` with the command that fits.", true
		}
	}
	return "", "I see no go.mod, Cargo.toml, package.json, pyproject.toml or Makefile at its top. Say `run \"the command\"` and I'll run that.", true
}

var (
	exitCode  = regexp.MustCompile(`(?i)\bexit(?:ed)?(?: code| status| with)*[ :]+(-?\d+)`)
	failLine  = regexp.MustCompile(`^\s*(?:--- FAIL|FAIL\b|panic:|FAILED\b|E\s{2,}|error(?:\[|:)|Error:|not ok\b|✗|✕|×|\S+\.\w+:\d+(?::\d+)?:|thread '.*' panicked|AssertionError|# \S+$|\[build failed\])`)
	passLine  = regexp.MustCompile(`^(?:ok\s|PASS\b|test result: ok|=+ .*passed|Tests:|# pass)`)
	noTestRun = regexp.MustCompile(`no test files|no tests to run|collected 0 items|0 tests`)
)

// testReport says whether a test run passed, and quotes what failed.
func testReport(command string, res result) string {
	switch {
	case res.refused():
		return "The tests were not run: " + res.firstLine()
	case res.unavailable:
		return "The tests were not run: " + res.text
	}
	code, known := 0, false
	if m := exitCode.FindAllStringSubmatch(res.text, -1); m != nil {
		code, _ = strconv.Atoi(m[len(m)-1][1])
		known = true
	}
	var failing, passing []string
	for _, l := range strings.Split(res.text, "\n") {
		l = strings.TrimRight(l, " \r\t")
		switch {
		case failLine.MatchString(l):
			failing = append(failing, clip(l, lineMax))
		case passLine.MatchString(strings.TrimSpace(l)):
			passing = append(passing, clip(strings.TrimSpace(l), lineMax))
		}
	}
	failed := code != 0 || (res.failed && !known) || (!known && len(failing) > 0)
	if !failed {
		text := "The tests pass: `" + command + "`."
		if noTestRun.MatchString(res.text) && len(passing) == 0 {
			text = "`" + command + "` succeeded, but it ran no tests."
		}
		return text + fenced(clipList(passing, 12))
	}
	text := "The tests fail: `" + command + "`"
	if known {
		text += fmt.Sprintf(" (exit %d)", code)
	}
	text += "."
	if len(failing) == 0 {
		failing = lastLines(res.text, failureMax/2)
	}
	if len(failing) > failureMax {
		failing = append(failing[:failureMax:failureMax], fmt.Sprintf("… %d more lines", len(failing)-failureMax))
	}
	return text + fenced(failing)
}

func fenced(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return "\n```\n" + strings.ReplaceAll(strings.Join(lines, "\n"), "```", "'''") + "\n```"
}

func lastLines(text string, n int) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for i := range lines {
		lines[i] = clip(lines[i], lineMax)
	}
	return lines
}

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
