package tools

import (
	"fmt"
	"path"
	"strings"
)

// Verdict is what a rule or a decision says.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Source says where a rule comes from: later ones win between equals, and an
// untrusted workspace's own rules can't allow anything.
type Source uint8

// The sources, weakest first.
const (
	SourceDefault Source = iota
	SourceUser
	SourceWorkspace
	SourceAnswer // the person's "always"
)

// Limits of rules.
const (
	ruleMax  = 4096 // bytes of one
	RulesMax = 5000 // rules of one policy; more are refused by NewPolicy
)

// Rule is one permission: tool(pattern) = verdict. Make one by ParseRule.
//
// The pattern of a file tool is a Glob; one that begins with / or ~/ is for
// absolute paths and the only kind that allows anything outside the workspace.
// The pattern of bash is a command in words: `*` inside a word is any text, a
// word `*` is any number of words, and a `*` at the very end also takes all
// further words. Other tools match their subject as a text with `*`.
type Rule struct {
	Tool    string
	Pattern string // "" matches every call
	Verdict Verdict
	Source  Source

	tool    patternWord
	glob    Glob
	command []patternWord
	home    bool // Pattern begins with ~/
}

// ParseRule reads `tool(pattern) = verdict` or `tool = verdict`.
func ParseRule(s string, source Source) (Rule, error) {
	at := strings.LastIndexByte(s, '=')
	if at < 0 {
		return Rule{}, fmt.Errorf("%q is no permission rule; write tool(pattern) = allow, ask or deny", clip(s, titleMax))
	}
	return NewRule(s[:at], s[at+1:], source)
}

// NewRule makes a rule of its two sides, as they stand in settings.
func NewRule(call, verdict string, source Source) (Rule, error) {
	r := Rule{Source: source, Verdict: Verdict(strings.TrimSpace(verdict))}
	call = strings.TrimSpace(call)
	switch {
	case r.Verdict != Allow && r.Verdict != Ask && r.Verdict != Deny:
		return r, fmt.Errorf("%q is no verdict for %s; it is allow, ask or deny", clip(string(r.Verdict), 40), clip(call, titleMax))
	case len(call) > ruleMax:
		return r, fmt.Errorf("a permission rule of %d bytes, the limit is %d", len(call), ruleMax)
	}
	tool, pattern, has := strings.Cut(call, "(")
	if has {
		var closed bool
		if pattern, closed = strings.CutSuffix(pattern, ")"); !closed {
			return r, fmt.Errorf("the permission rule %q has no closing bracket", clip(call, titleMax))
		}
	}
	r.Tool, r.Pattern = strings.TrimSpace(tool), strings.TrimSpace(pattern)
	if r.Tool == "" || strings.ContainsAny(r.Tool, " \t\n)='\"") {
		return r, fmt.Errorf("the permission rule %q names no tool; write tool(pattern)", clip(call, titleMax))
	}
	if r.Pattern == "*" || r.Pattern == "**" {
		r.Pattern = ""
	}
	r.tool = patternWord{parts: strings.Split(r.Tool, "*")}
	return r.compile()
}

func (r Rule) compile() (Rule, error) {
	var err error
	switch {
	case r.Pattern == "":
	case r.Tool == "bash":
		if r.command, err = splitPattern(r.Pattern); err != nil {
			return r, fmt.Errorf("the permission rule %s: %w", r, err)
		}
	case isFileTool(r.Tool):
		var pattern string
		if pattern, r.home = strings.CutPrefix(r.Pattern, "~"); !r.home {
			pattern = r.Pattern
		}
		if r.glob, err = CompileGlob(pattern); err != nil {
			return r, fmt.Errorf("the permission rule %s: %w", r, err)
		}
	default:
		r.command = []patternWord{{parts: strings.Split(r.Pattern, "*")}}
	}
	return r, nil
}

// String writes the rule as ParseRule reads it.
func (r Rule) String() string {
	return r.Call() + " = " + string(r.Verdict)
}

// Call is the rule's left side, as it stands in settings.
func (r Rule) Call() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// fileTools take a path and are judged by it.
var fileTools = []string{"ls", "read", "grep", "find", "write", "edit"}

func isFileTool(name string) bool {
	for _, f := range fileTools {
		if name == f {
			return true
		}
	}
	return false
}

// specificity orders rules that match: a literal pattern before one with
// wildcards, then the one with more literal text.
func (r Rule) specificity() int {
	n := len(strings.NewReplacer("*", "", "?", "", "/", "").Replace(r.Pattern))*2 + len(strings.ReplaceAll(r.Tool, "*", ""))
	if r.Pattern != "" && !strings.ContainsAny(r.Pattern, "*?[{") {
		n += 2 * ruleMax
	}
	if r.Pattern != "" {
		n += 1000
	}
	return n
}

// patternWord is one word of a pattern: literal parts with any text between.
type patternWord struct{ parts []string }

func (w patternWord) any() bool     { return len(w.parts) == 2 && w.parts[0] == "" && w.parts[1] == "" }
func (w patternWord) literal() bool { return len(w.parts) == 1 }
func (w patternWord) open() bool    { return len(w.parts) > 1 && w.parts[len(w.parts)-1] == "" }

func (w patternWord) match(s string) bool {
	if w.literal() {
		return s == w.parts[0]
	}
	s, ok := strings.CutPrefix(s, w.parts[0])
	if !ok {
		return false
	}
	last := len(w.parts) - 1
	for _, part := range w.parts[1:last] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, w.parts[last])
}

// splitPattern reads a command pattern into words. Quotes and backslashes make
// a star literal, as in the shell.
func splitPattern(s string) ([]patternWord, error) {
	var words []patternWord
	parts, in := []string{""}, false
	flush := func() {
		if in {
			words = append(words, patternWord{parts})
		}
		parts, in = []string{""}, false
	}
	add := func(c byte) { parts[len(parts)-1] += string([]byte{c}); in = true }
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n':
			flush()
		case '*':
			if n := len(parts); n == 1 || parts[n-1] != "" {
				parts = append(parts, "")
			}
			in = true
		case '\\':
			if i++; i >= len(s) {
				return nil, fmt.Errorf("it ends in a backslash")
			}
			add(s[i])
		case '\'', '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			for _, q := range []byte(s[i+1 : i+1+end]) {
				add(q)
			}
			in = true
			i += end + 1
		default:
			add(c)
		}
	}
	flush()
	if len(words) == 0 {
		return nil, fmt.Errorf("the pattern is empty")
	}
	return words, nil
}

// coverage says what a wildcard may stand for.
type coverage struct {
	risky   []bool // word by word: only spelled-out patterns cover it
	dynamic bool   // words that aren't known may be covered
	loose   bool   // words that aren't known may be anything: for rules that restrict
}

// matchCommand says whether a pattern covers all words of a command.
func matchCommand(pattern []patternWord, words []ShellWord, cov coverage) bool {
	type state struct{ p, w int }
	failed := map[state]bool{}
	var try func(p, w int) bool
	try = func(p, w int) bool {
		s := state{p, w}
		if failed[s] {
			return false
		}
		ok := func() bool {
			if w < len(words) && cov.loose && words[w].Kind >= WordDynamic {
				// It may be nothing, one word, or several.
				if try(p, w+1) || p < len(pattern) && try(p+1, w) {
					return true
				}
			}
			if p == len(pattern) {
				return w == len(words)
			}
			pw, last := pattern[p], p == len(pattern)-1
			if pw.any() && try(p+1, w) {
				return true
			}
			if w == len(words) {
				return false
			}
			if pw.any() {
				return cov.star(words, w) && try(p, w+1)
			}
			if !cov.word(pw, words, w) {
				return false
			}
			if try(p+1, w+1) {
				return true
			}
			return last && pw.open() && cov.stars(words, w+1)
		}()
		if !ok {
			failed[s] = true
		}
		return ok
	}
	return try(0, 0)
}

// star says whether a bare * may stand for the word.
func (c coverage) star(words []ShellWord, w int) bool {
	switch {
	case c.loose:
		return true
	case c.risky != nil && c.risky[w]:
		return false
	}
	return words[w].Kind != WordDynamic || c.dynamic
}

func (c coverage) stars(words []ShellWord, from int) bool {
	for w := from; w < len(words); w++ {
		if !c.star(words, w) {
			return false
		}
	}
	return true
}

// word says whether a pattern word that isn't a bare * covers a word.
func (c coverage) word(pw patternWord, words []ShellWord, w int) bool {
	word := words[w]
	switch {
	case c.loose && word.Kind != WordLiteral:
		return true
	case word.Kind == WordDynamic || word.Kind == WordTail:
		return false
	case !pw.match(word.Text):
		return false
	case pw.literal() || c.risky == nil || !c.risky[w]:
		return true
	}
	// /etc/* spells the folder out.
	return path.Clean(word.Text) == word.Text && (strings.HasPrefix(pw.parts[0], "/") && len(pw.parts[0]) > 1 ||
		strings.HasPrefix(pw.parts[0], "~/") || strings.HasPrefix(pw.parts[0], "../"))
}
