package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
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

// cutOff begins the result of a call that a crash of the agent ended.
const cutOff = "interrupted: the agent's process ended"

// testReport says whether a test run passed, and quotes what failed.
func testReport(command string, res result) string {
	switch {
	case res.refused():
		return "The tests were not run: " + res.firstLine()
	case res.unavailable:
		return "The tests were not run: " + res.text
	case res.failed && strings.HasPrefix(res.text, cutOff): // no result of theirs
		return "The tests did not come to their end: " + res.firstLine() + ". Say `run the tests` and I'll run them again."
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
