package tools

import (
	"path"
	"slices"
	"strings"
)

// wrapper is a program that runs the command in its own arguments.
type wrapper struct {
	flags  string   // short options without a value
	values string   // short options with one, attached or as the next word
	long   []string // long options; one that ends in = takes a value
	skip   int      // words of its own between options and command
	assign bool     // NAME=value words may stand before the command
	own    bool     // it needs its own permission too, because it changes who or where
	tail   bool     // more arguments come from its input
	number bool     // -5 is an option
}

// wrappers lists them. An option that isn't listed makes the line opaque: it
// might take the command's place.
var wrappers = map[string]wrapper{
	"sudo":     {flags: "nEHSkKbAPB", values: "ugpCDRrthT", assign: true, own: true},
	"doas":     {flags: "nL", values: "uC", own: true},
	"env":      {flags: "i0v", values: "uC", long: []string{"ignore-environment", "null", "unset=", "chdir="}, assign: true},
	"timeout":  {flags: "v", values: "ks", long: []string{"preserve-status", "foreground", "verbose", "kill-after=", "signal="}, skip: 1},
	"nice":     {values: "n", long: []string{"adjustment="}, number: true},
	"ionice":   {flags: "t", values: "cn", long: []string{"class=", "classdata=", "ignore"}},
	"nohup":    {},
	"setsid":   {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"stdbuf":   {values: "ioe", long: []string{"input=", "output=", "error="}},
	"time":     {flags: "pvqa", values: "f", long: []string{"portability", "verbose", "format="}},
	"command":  {flags: "p"},
	"builtin":  {},
	"exec":     {flags: "cl", values: "a"},
	"busybox":  {},
	"toybox":   {},
	"chrt":     {flags: "bfior", skip: 1},
	"taskset":  {flags: "a", skip: 1},
	"unbuffer": {flags: "p"},
	"xargs": {flags: "0rtpxo", values: "nPILsdEa", tail: true, long: []string{"null", "no-run-if-empty", "verbose", "exit",
		"interactive", "open-tty", "max-args=", "max-procs=", "replace=", "max-lines=", "max-chars=", "delimiter=", "eof=", "arg-file="}},
}

// shells run a string that is given by -c.
var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"}

// unwrap analyses the commands inside a command and says whether it is only a
// wrapper round them.
func (p *shellParser) unwrap(words []ShellWord, depth int) bool {
	name := path.Base(words[0].Text)
	if w, ok := wrappers[name]; ok {
		return p.unwrapProgram(name, w, words, depth)
	}
	switch {
	case slices.Contains(shells, name):
		return p.unwrapShell(words, depth)
	case name == "su" || name == "runuser":
		p.unwrapSu(words, depth)
	case name == "eval":
		return p.unwrapText(words[1:], depth)
	case name == "trap":
		if len(words) > 1 && words[1].Text != "-" && words[1].Text != "" && !strings.HasPrefix(words[1].Text, "-") {
			return p.unwrapText(words[1:2], depth)
		}
	case name == "find" || name == "fd" || name == "fdfind":
		p.unwrapFind(words, depth)
	case name == "parallel" || name == "sem":
		p.opaque("%s builds commands out of text", name)
	case name == "watch" || name == "flock" || name == "script" || name == "strace" || name == "ltrace":
		p.opaque("%s runs another command", name)
	case (name == "source" || name == ".") && len(words) > 1 && words[1].Kind != WordLiteral:
		p.opaque("%s of a file that isn't known", name)
	}
	return false
}

func (p *shellParser) unwrapProgram(name string, w wrapper, words []ShellWord, depth int) bool {
	rest, ok := w.command(words[1:])
	if !ok {
		if name == "command" && len(words) > 1 && (words[1].Text == "-v" || words[1].Text == "-V") {
			return false
		}
		p.opaque("%s with options that aren't known", name)
		return false
	}
	if len(rest) == 0 {
		return false
	}
	if w.tail {
		rest = append(slices.Clone(rest), ShellWord{Text: "…", Kind: WordTail})
	}
	if assignment(rest[0].Text) { // what is left are assignments that do harm
		rest = slices.Clone(rest)
	}
	p.command(rest, depth+1)
	return !w.own
}

// command gives the words of the command behind a wrapper's own options.
func (w wrapper) command(words []ShellWord) ([]ShellWord, bool) {
	i := 0
	for ; i < len(words); i++ {
		text := words[i].Text
		if !strings.HasPrefix(text, "-") || text == "-" && !w.assign {
			break
		}
		if words[i].Kind != WordLiteral {
			return nil, false
		}
		if text == "--" {
			i++
			break
		}
		used, ok := w.option(text)
		if !ok {
			return nil, false
		}
		i += used
		if i >= len(words) {
			return nil, false
		}
	}
	for n := 0; n < w.skip; n++ {
		if i >= len(words) || words[i].Kind != WordLiteral {
			return nil, false
		}
		i++
	}
	var kept []ShellWord
	if w.assign {
		for ; i < len(words) && assignment(words[i].Text); i++ {
			if variable, _, _ := strings.Cut(words[i].Text, "="); !harmlessVariable(variable) {
				kept = append(kept, words[i])
			}
		}
	}
	if i >= len(words) && len(kept) == 0 {
		return nil, true
	}
	return append(kept, words[i:]...), true
}

// option says how many words more an option takes.
func (w wrapper) option(text string) (more int, ok bool) {
	if text == "-" {
		return 0, true // env -
	}
	if long, isLong := strings.CutPrefix(text, "--"); isLong {
		name, _, attached := strings.Cut(long, "=")
		switch {
		case slices.Contains(w.long, name):
			return 0, !attached
		case slices.Contains(w.long, name+"="):
			if attached {
				return 0, true
			}
			return 1, true
		}
		return 0, false
	}
	if w.number && strings.Trim(text[1:], "0123456789") == "" {
		return 0, true
	}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(w.values, text[i]) >= 0 {
			if i+1 < len(text) {
				return 0, true
			}
			return 1, true
		}
		if strings.IndexByte(w.flags, text[i]) < 0 {
			return 0, false
		}
	}
	return 0, true
}

// unwrapShell looks into sh -c 'text'. A shell that runs a file or its input
// is a command like any other.
func (p *shellParser) unwrapShell(words []ShellWord, depth int) bool {
	for i := 1; i < len(words); i++ {
		text := words[i].Text
		switch {
		case words[i].Kind != WordLiteral:
			p.opaque("a shell with arguments that aren't known")
			return false
		case text == "--rcfile" || text == "--init-file":
			p.opaque("a shell with its own start file")
			return false
		case text == "-o" || text == "+o" || text == "-O" || text == "+O":
			i++
		case strings.HasPrefix(text, "--"):
		case strings.HasPrefix(text, "-") && strings.Contains(text, "c"):
			i++
			for i < len(words) && strings.HasPrefix(words[i].Text, "-") {
				i++ // bash -c -e 'text'
			}
			if i >= len(words) {
				return false
			}
			return p.unwrapText(words[i:i+1], depth)
		case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
		default:
			return false
		}
	}
	return false
}

// unwrapSu looks into su -c 'text'; su itself needs permission too.
func (p *shellParser) unwrapSu(words []ShellWord, depth int) {
	for i, w := range words[1:] {
		text, attached := strings.CutPrefix(w.Text, "--command=")
		switch {
		case attached:
			p.unwrapText([]ShellWord{{Text: text, Kind: w.Kind}}, depth)
		case (w.Text == "-c" || w.Text == "--command") && i+2 < len(words):
			p.unwrapText(words[i+2:i+3], depth)
		}
	}
}

// unwrapText analyses words that a shell would read as its own language.
func (p *shellParser) unwrapText(words []ShellWord, depth int) bool {
	var texts []string
	for _, w := range words {
		if w.Kind != WordLiteral {
			p.opaque("a shell command that isn't known before it runs: %s", w.Text)
			return false
		}
		texts = append(texts, w.Text)
	}
	p.parse(strings.Join(texts, " "), depth+1)
	return true
}

// unwrapFind takes out the commands of find -exec … ; and fd -x ….
func (p *shellParser) unwrapFind(words []ShellWord, depth int) {
	find := path.Base(words[0].Text) == "find"
	for i := 1; i < len(words); i++ {
		switch text := words[i].Text; {
		case words[i].Kind == WordDynamic:
			p.opaque("%s with arguments that aren't known", words[0].Text)
			return
		case find && slices.Contains([]string{"-exec", "-execdir", "-ok", "-okdir"}, text):
			end := i + 1
			for end < len(words) && words[end].Text != ";" && words[end].Text != "+" {
				end++
			}
			p.inner(words[i+1:end], depth)
			i = end
		case !find && slices.Contains([]string{"-x", "-X", "--exec", "--exec-batch"}, text):
			p.inner(words[i+1:], depth)
			return
		case !find && (strings.HasPrefix(text, "--exec") || strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.ContainsAny(text, "xX")):
			p.opaque("%s with options that aren't known", words[0].Text)
		}
	}
}

// inner is a command in which {} stands for names found.
func (p *shellParser) inner(words []ShellWord, depth int) {
	words = slices.Clone(words)
	for i, w := range words {
		switch {
		case w.Text == "{}" && i > 0:
			words[i] = ShellWord{Text: "…", Kind: WordTail}
		case strings.Contains(w.Text, "{}"):
			words[i].Kind = WordDynamic
		}
	}
	p.command(words, depth+1)
}

// neutral says whether a builtin does nothing that needs permission, and notes
// where cd goes.
func (p *shellParser) neutral(words []ShellWord) bool {
	args := words[1:]
	switch words[0].Text {
	case "cd", "pushd":
		if len(args) == 2 && args[0].Text == "--" {
			args = args[1:]
		}
		if len(args) != 1 || args[0].Kind != WordLiteral || strings.HasPrefix(args[0].Text, "-") {
			p.opaque("%s to a folder that isn't known", words[0].Text)
			return true
		}
		p.out.Changes = append(p.out.Changes, args[0].Text)
		return true
	case "popd", "true", "false", ":", "exit", "return", "break", "continue", "wait", "shift", "pwd":
		return true
	case "test", "[":
		for _, a := range args {
			if a.Kind == WordDynamic || strings.ContainsAny(a.Text, "`$[") && a.Text != "]" || a.Text == "-v" {
				return false
			}
		}
		return true
	case "set":
		for _, a := range args {
			if !slices.Contains([]string{"-e", "-u", "-x", "-eu", "-ex", "-eux", "-euo", "-euxo", "-o", "pipefail", "+e", "+x", "+u"}, a.Text) {
				return false
			}
		}
		return len(args) > 0
	}
	return false
}
