package builtin

import (
	"path"
	"regexp"
	"strings"
)

// What the engine knows of languages: how a definition and a comment begin.

type language struct {
	defs    []*regexp.Regexp // the last group is the name; a group "owner" its receiver
	comment *regexp.Regexp
	prose   bool
}

func defs(patterns ...string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range patterns {
		out = append(out, regexp.MustCompile(p))
	}
	return out
}

var (
	slashes = regexp.MustCompile(`^\s*(?://+!?|/\*+|\*/?)(?:\s|$|\S)`)
	hashes  = regexp.MustCompile(`^\s*#`)
	dashes  = regexp.MustCompile(`^\s*--`)

	golang = language{defs(
		`^func\s+\(\s*(?:\w+\s+)?(?P<owner>\*?[\w.]+)(?:\[[^\]]*\])?\s*\)\s*(\w+)`,
		`^func\s+(\w+)`, `^type\s+(\w+)`, `^(?:var|const)\s+(\w+)`), slashes, false}
	python = language{defs(`^\s*(?:async\s+)?def\s+(\w+)`, `^\s*class\s+(\w+)`), hashes, false}
	script = language{defs(
		`^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\*?\s+(\w+)`,
		`^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?(?:class|interface|enum|namespace)\s+(\w+)`,
		`^\s*(?:export\s+)?type\s+(\w+)\s*(?:<[^=]*>)?\s*=`,
		`^(?:export\s+)?(?:const|let|var)\s+(\w+)\s*[:=]`,
		`^\s+(?:public\s+|private\s+|protected\s+|static\s+|async\s+|get\s+|set\s+|\*)*([a-zA-Z_$][\w$]*)\s*\([^;]*\)\s*(?::[^;{]*)?\{\s*$`), slashes, false}
	rust = language{defs(
		`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+|async\s+|unsafe\s+|const\s+|extern\s+"[^"]*"\s+)*fn\s+(\w+)`,
		`^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|mod|type|union|macro_rules!|static|const)\s+(\w+)`,
		`^\s*impl(?:<[^>]*>)?\s+(?:[\w:<>]+\s+for\s+)?(\w+)`), slashes, false}
	clike = language{defs(
		`^\s*(?:(?:public|private|protected|static|final|abstract|sealed|partial|export)\s+)*(?:class|struct|enum|interface|union|namespace|record)\s+(\w+)`,
		`^#define\s+(\w+)`,
		`^(?:[\w:*&<>,~\[\]]+\s+)+\**([\w:~]+)\s*\([^;]*$`,
		`^\s+(?:(?:public|private|protected|static|final|override|virtual|async|abstract)\s+)+[\w<>\[\],.?]+\s+(\w+)\s*\(`), slashes, false}
	lua   = language{defs(`^\s*(?:local\s+)?function\s+([\w.:]+)`, `^\s*(?:local\s+)?([\w.]+)\s*=\s*function`), dashes, false}
	ruby  = language{defs(`^\s*def\s+(?:self\.)?([\w?!]+)`, `^\s*(?:class|module)\s+([\w:]+)`), hashes, false}
	shell = language{defs(`^\s*(?:function\s+)?([\w-]+)\s*\(\)`, `^([\w.-]+):(?:\s|$)`), hashes, false}
	prose = language{defs(`^#{1,6}\s+(.+?)\s*$`), regexp.MustCompile(`^\S`), true}
)

var languages = map[string]language{
	"go": golang, "py": python, "js": script, "jsx": script, "ts": script, "tsx": script, "mjs": script, "cjs": script,
	"rs": rust, "c": clike, "h": clike, "cc": clike, "cpp": clike, "hpp": clike, "java": clike, "cs": clike, "kt": clike,
	"swift": clike, "php": script, "lua": lua, "rb": ruby, "sh": shell, "bash": shell, "mk": shell, "md": prose, "rst": prose,
	"toml": shell, "yaml": shell, "yml": shell,
}

func languageOf(file string) language {
	if l, ok := languages[strings.TrimPrefix(path.Ext(file), ".")]; ok {
		return l
	}
	if path.Base(file) == "Makefile" {
		return shell
	}
	return clike
}

// definition reads the name that a line defines, with its receiver.
func definition(file, text string) (name, receiver string, ok bool) {
	for _, re := range languageOf(file).defs {
		m := re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		if i := re.SubexpIndex("owner"); i > 0 {
			receiver = m[i]
		}
		name = m[len(m)-1]
		switch name {
		case "if", "for", "while", "switch", "return", "else", "catch", "function":
			return "", "", false
		}
		return name, receiver, true
	}
	return "", "", false
}

// display writes a definition's name as people do: (*Transport).dial, Transport.dial.
func display(name, receiver string) string {
	switch {
	case receiver == "":
		return name
	case strings.HasPrefix(receiver, "*"):
		return "(" + receiver + ")." + name
	}
	return receiver + "." + name
}

func isComment(file, text string) bool { return languageOf(file).comment.MatchString(text) }

// commentText takes the comment's marks off.
func commentText(text string) string {
	t := strings.TrimSpace(text)
	t = strings.TrimSuffix(t, "*/")
	t = strings.TrimLeft(t, "/*#-!")
	return strings.TrimSpace(t)
}

var testPath = regexp.MustCompile(`(?i)(?:_test\.\w+$|(?:^|/)tests?(?:/|_)|\.(?:test|spec)\.\w+$|(?:^|/)(?:testdata|__tests__|spec)/|(?:^|/)test_[^/]*$)`)

func isTest(p string) bool { return testPath.MatchString(p) }

var sidePath = regexp.MustCompile(`(?i)(?:_bundle\.|(?:^|/)doc\.go$|(?:^|/)(?:vendor|third_party|node_modules|dist|generated|examples?|mocks?)/|example_|\.pb\.go$|_gen\.|\.min\.|CHANGELOG|(?:^|/)internal/testenv)`)

var otherPlatform = regexp.MustCompile(`_(?:windows|plan9|wasm|js|wasip1|aix|solaris|dragonfly|netbsd|openbsd|freebsd|darwin|other|stub)\.\w+$`)

// prior is how likely a file is what a person asks about, before its content.
func prior(p string, aboutTests bool) float64 {
	w := 1.0
	if isTest(p) && !aboutTests {
		w *= 0.45
	}
	if sidePath.MatchString(p) {
		w *= 0.7
	}
	if otherPlatform.MatchString(p) {
		w *= 0.75
	}
	switch path.Ext(p) {
	case ".md", ".txt", ".rst", ".html", ".json", ".sum", ".lock", ".yaml", ".yml":
		w *= 0.75
	}
	return w
}

// indent is a line's indentation, a tab counting as four.
func indent(s string) int {
	n := 0
	for _, r := range s {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}
