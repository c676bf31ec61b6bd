package builtin

import (
	"regexp"
	"strings"
)

// askRules recognise questions, from the most specific form to any question.
func askRules(add adder) {
	ask := func(form string, group int) func(*intent, input, []string, string) bool {
		return func(it *intent, in input, m []string, s string) bool {
			it.kind, it.form = kindAsk, form
			it.subject = strings.TrimSpace(in.plain(m[group]))
			it.paths = append(it.paths, in.scope(s)...)
			return it.subject != ""
		}
	}
	// Forms about one name: only when the subject is a name.
	named := func(form string) func(*intent, input, []string, string) bool {
		return func(it *intent, in input, m []string, s string) bool {
			it.kind, it.form = kindAsk, form
			it.old, it.new = lastName(in.name(m[1])), owner(in.name(m[1]))
			it.subject = in.plain(s)
			it.paths = append(it.paths, in.scope(s)...)
			if bareLetter(it.old) { // "who calls A": an article would have a noun behind it
				return true
			}
			return isName(it.old) && (in.quoted(m[1]) || codeLike(in.name(m[1])) || strings.Contains(m[1], "(") || callersOf.MatchString(s) || strings.Contains(m[0], "function ") || strings.Contains(m[0], "method ") || strings.Contains(m[0], "type ")) &&
				!stop[strings.ToLower(it.old)]
		}
	}
	const where = `(?:(?:in|of|from|inside|within|for) .*)?`
	const the = `(?:the )?(?:function |func |method |type |struct |class |interface |variable |constant |field |symbol )?`
	add(`(?:who|what|which (?:\S+ )?(?:functions?|methods?|code|places?|files?|types?)) (?:all )?(?:calls?|uses?|invokes?|references?) `+the+nameWord+`\s*`+where, named("uses"))
	add(`(?:list|find|show|give)?(?: me)? ?(?:all )?(?:the )?(?:callers?|usages?|uses|references|call ?sites|occurrences) (?:of|to|for) `+the+nameWord+`\s*`+where, named("uses"))
	add(`where(?: all)? (?:is|are|do we|does it|does anything|do they|does one) ?`+the+nameWord+`(?:\(\))? (?:being )?(?:called|used|referenced|invoked|instantiated)(?: from)?\s*`+where, named("uses"))
	add(`where (?:do|does|is|are) (?:we|it|anyone|the code|anything|the \S+)? ?(?:call|use|reference|invoke) `+the+nameWord+`\s*`+where, named("uses"))
	add(`(?:where(?:'s| is| are)|find|show|locate|go to|jump to)(?: me)? (?:the )?(?:definition|declaration|implementation|source)(?: of)? `+the+nameWord+`\s*`+where, named("definition"))
	add(`where(?:'s| is| are) `+the+nameWord+`(?:\(\))?(?: (?:defined|declared|implemented|located|located at|found))?\s*`+where, named("definition"))
	add(`(?:find|locate|show|print|display|open)(?: me)? `+the+nameWord+`(?:\(\))?\s*`+where, named("definition"))
	add(`what (?:is|are|does|do|'s) (?:an? |the )?(?:function |func |method |type |struct |class |interface |variable |constant |field )?`+nameWord+`(?:\(\))?(?: (?:do|for|mean|used for|about))?\s*`+where, named("what"))
	add(`(?:explain|describe|document|summari[sz]e|tell about)(?: to me)?(?: what)? `+the+nameWord+`(?:\(\))?(?: (?:does|is))?\s*`+where, named("what"))
	add(`where(?:'s)?\s+(.+)`, ask("where", 1))
	add(`(?:how come|why)\s+(.+)`, ask("why", 1))
	add(`how(?:'s)?\s+(.+)`, ask("how", 1))
	add(`(?:who|which|whose)\s+(.+)`, ask("which", 1))
	add(`what(?:'s)?\s+(.+)`, ask("what", 1))
	add(`when\s+((?:is|are|does|do|will|would|can|should)\b.+)`, ask("how", 1))
	add(`(?:in|at|to|from|under|by|on|for) (?:which|what) (.+)`, ask("where", 1))
	add(`(?:explain|describe|summari[sz]e|outline|walk (?:me )?through|tell me about|tell about)(?: to me)?(?: (?:how|what|why))?\s+(.+)`, ask("how", 1))
	add(`(?:find|locate|search(?: for)?|look (?:for|up)|grep(?: for)?|list|show|give|where)(?: me)?(?: all| every| each)?(?: the)?(?: places?| code| lines?)?(?: where| which| that| in which)?\s+(.+)`, func(it *intent, in input, m []string, s string) bool {
		it.every = regexp.MustCompile(`(?i)\b(?:all|every|each|list)\b`).MatchString(s)
		return ask("find", 1)(it, in, m, s)
	})
	add(`(?:is|are|does|do|did|can|could|has|have|will|would|should|may|must) (?:the |there )?(.+)`, ask("whether", 1))
	add(`(?:and|but) (?:what|how) about (.+)`, ask("what", 1))
}

var callersOf = regexp.MustCompile(`(?i)^(?:who (?:calls|invokes)|(?:find |list |show )?(?:all )?(?:the )?callers of) \S+$`)

// bareLetter says whether a name is one capital letter, but for "I".
func bareLetter(s string) bool { return len(s) == 1 && 'A' <= s[0] && s[0] <= 'Z' && s != "I" }

// name reads a nameWord: quotes off, "()" off.
func (in input) name(s string) string {
	s = in.plain(s)
	s = strings.TrimSuffix(strings.TrimSpace(s), "()")
	s = strings.Trim(s, ".,;:!?\"'`")
	return s
}

// lastName is the name behind the last dot: (*Transport).dialConn → dialConn.
func lastName(s string) string {
	s = strings.TrimSuffix(s, "()")
	if i := strings.LastIndexAny(s, ".:"); i >= 0 {
		s = s[i+1:]
	}
	return s
}

// owner is what stands before the last dot: (*Transport).dialConn → Transport.
func owner(s string) string {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return ""
	}
	return strings.Trim(s[:i], "(*)")
}

// codeLike says whether a word written without quotes is surely a name: mixed
// case, an underscore, a dot, or a capital inside the sentence.
func codeLike(s string) bool {
	s = strings.TrimLeft(s, "(*")
	s = strings.ReplaceAll(s, ").", ".")
	return isIdentifier(s) || (s != "" && s[0] >= 'A' && s[0] <= 'Z' && isName(s))
}

var (
	scopePath = regexp.MustCompile("(?i)(?:^|\\s)(?:in|inside|within|of|from|to|into|under|at|on|for|below|only) (?:the )?(?:files? |folders? |directory |dir |package |module )?(?:(?:named|called) )?(\x01\\d+\x01|@?[\\w@+./*-]+)")
	fileExt   = regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9_+-]{0,11}$`)
	folderOf  = regexp.MustCompile(`(?i)\b(?:in|inside|within|under|of|for) (?:the )?(?:(?:package|folder|directory|dir|module) (?:named |called )?([\w./-]*\w)|([\w./-]*\w) (?:package|folder|directory|dir|module))`)
)

// scope finds the files and folders that a piece of a request names.
func (in input) scope(s string) []string {
	var out []string
	for _, m := range scopePath.FindAllStringSubmatch(s, -1) {
		p := in.plain(strings.TrimSuffix(strings.TrimPrefix(m[1], "@"), "."))
		if looksLikeFile(p) || (strings.Contains(p, "/") && !strings.ContainsAny(p, " \n") && len(p) > 1) {
			out = append(out, clean(strings.TrimSuffix(p, "/...")))
		}
	}
	for _, m := range folderOf.FindAllStringSubmatch(s, -1) {
		p := m[1] + m[2]
		if !stop[strings.ToLower(p)] && !strings.EqualFold(p, "whole") && !strings.EqualFold(p, "standard") {
			out = append(out, clean(p))
		}
	}
	return out
}

var knownExt = set(`go py js jsx ts tsx mjs cjs rs c h cc cpp hpp cxx java kt kts rb lua php cs swift scala sh bash zsh fish sql html htm css scss less
json yaml yml toml xml md txt rst ini cfg conf env lock mod sum proto graphql vue svelte ex exs erl hs ml mli zig nim dart r jl pl pm tf
gradle cmake mk bat ps1 csv tsv log diff patch tmpl tpl svg gitignore dockerfile el vim nix txtar golden`)

// looksLikeFile says whether a word names a file: a known ending, or a path
// with one.
func looksLikeFile(p string) bool {
	if p == "" || strings.ContainsAny(p, " \n\t()\"'`") {
		return false
	}
	base := p[strings.LastIndexByte(p, '/')+1:]
	switch base {
	case "Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "NOTICE":
		return true
	}
	m := fileExt.FindString(base)
	return m != "" && (knownExt[strings.ToLower(m[1:])] || (strings.Contains(p, "/") && !strings.HasSuffix(p, "/")))
}

// subjectOf is a request in few words, for sentences that mention it.
func subjectOf(s string) string {
	return clip(strings.Join(strings.Fields(s), " "), 120)
}
