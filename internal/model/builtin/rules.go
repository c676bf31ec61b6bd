package builtin

import (
	"regexp"
	"strconv"
	"strings"
)

// A rule recognises one way of saying something. take fills in the intent and
// may still decline.
type rule struct {
	re   *regexp.Regexp
	take func(it *intent, in input, m []string, s string) bool
}

// The pieces that rules are made of.
const (
	symbolKind = `(?:(function|func|method|type|struct|class|interface|variable|var|constant|const|field|property|symbol|identifier|name|local variable|enum|trait|macro)\s+)?`
	nameWord   = "(\\(?\\*?[\\p{L}_$\x01][\\p{L}\\d_$.()*\x01]*)"
	pathWord   = "(\x01\\d+\x01|[^\\s,;:]*[^\\s,;:.?!])"
	fileWord   = "(\x01\\d+\x01|[^\\s,;:]*(?:[./][^\\s,;:]*[^\\s,;:.?!])|Makefile|Dockerfile|LICENSE|README)"
)

var rules []rule

func init() {
	add := func(pattern string, take func(it *intent, in input, m []string, s string) bool) {
		rules = append(rules, rule{regexp.MustCompile(`(?is)^` + pattern + `$`), take})
	}
	is := func(k kind) func(*intent, input, []string, string) bool {
		return func(it *intent, _ input, _ []string, _ string) bool { it.kind = k; return true }
	}
	add(`(?:hi|hello|hey|hiya|howdy|yo|good (?:morning|afternoon|evening)|greetings)(?: there| again| all| agent)?`, is(kindGreet))
	add(`(?:many )?(?:thanks|thank you|thx|ty|cheers|great|perfect|nice|cool|awesome|well done|good job|ok|okay|got it|bye|goodbye)(?: a lot| so much| very much| again| you)?`, is(kindThanks))
	add(`(?:help|what can you (?:do|help (?:me )?with)|what do you do|who are you|what are you|what(?:'s| is) your name|how do (?:i|we) (?:use you|(?:connect|configure|add|use|set ?up) (?:a|another|a real|a bigger|an?) ?\w* ?model)|what are your (?:capabilities|limits|features)|which model (?:are you|is this))`, is(kindHelp))
	add(`(?:stop|cancel|abort|never ?mind|enough|quit|forget it)(?: that| it| now)?`, is(kindStop))
	editRules(add)
	workRules(add)
	askRules(add)
}

type adder func(pattern string, take func(it *intent, in input, m []string, s string) bool)

func editRules(add adder) {
	rename := func(it *intent, in input, m []string, _ string) bool {
		it.kind, it.subject = kindRename, strings.ToLower(m[1])
		it.old, it.new = in.name(m[2]), in.name(m[4])
		it.paths = append(it.paths, in.scope(m[3]+" "+m[5])...)
		return isName(lastName(it.old)) && isName(lastName(it.new)) && !looksLikeFile(it.old)
	}
	const tail = `((?:\s+|,).*)?`
	add(`rename (?:all |every |each )?(?:the |a |our )?`+symbolKind+`(?:called |named )?`+nameWord+`((?: (?:in|of|from|inside|within) .*?)?) (?:to|into|as|->|=>|→) (?:the name )?`+nameWord+tail, rename)
	add(`(?:change|give) (?:the )?name of (?:the )?`+symbolKind+nameWord+`((?: (?:in|inside|within) .*?)?) (?:to|into) `+nameWord+tail, rename)
	add(`(?:call|rename) (?:the )?`+symbolKind+nameWord+`() `+nameWord+` instead`+tail, rename)
	replace := func(it *intent, in input, m []string, _ string) bool {
		it.kind = kindReplace
		it.literal = in.quoted(m[1])
		it.old, it.new = in.plain(m[1]), in.plain(m[2])
		it.paths = append(it.paths, in.scope(m[3])...)
		return it.old != "" && it.old != it.new
	}
	const inTail = "((?:,? (?:in|inside|within|across|throughout|under|everywhere|wherever|only|of)\\b.*)?)"
	add("(?:replace|substitute|swap) (?:the )?(?:text |string |word |all |every |each |any )*(?:(?:occurrences?|instances?|mentions?|uses?) of )?(?:the )?(?:text |string |word )?(\x01\\d+\x01|\x02\\d+\x02|\\S+|.+?) (?:with|by|->|→) (?:the )?(?:text |string |word )?(\x01\\d+\x01|\x02\\d+\x02|.+?)"+inTail, replace)
	add("(?:change|turn) (?:the )?(?:text |string |word |all |every )*(\x01\\d+\x01) (?:to|into) (\x01\\d+\x01|\\S+)"+inTail, replace)
	add("(?:change|turn) (?:all |every )?([\\w.]+) (?:to|into) ([\\w.]+)( (?:in|everywhere).*)", replace)

	add("(?:create|make|write|add)(?: me)? (?:an? |the )?(?:new )?(?:empty )?(?:text )?file(?: called| named| at)? "+pathWord+"(?:,? ?(?:with|containing|that (?:contains|says|holds))?(?: the)?(?: following)?(?: content| contents| text)?(?: of)?:?\\s*(.*))?", takeCreate)
	add("(?:create|write|save|put) (\x01\\d+\x01|\x02\\d+\x02) (?:to|into|in|as) (?:an? |the )?(?:new )?(?:file )?(?:called |named )?"+pathWord, func(it *intent, in input, m []string, s string) bool {
		return takeCreate(it, in, []string{m[0], m[2], m[1]}, s)
	})
	add(`create (?:an? |the )?`+fileWord+"(?: with(?: the)?(?: following)?(?: content| contents| text)?:?\\s*(.*))?", takeCreate)
	add("(insert|add|append|prepend|put)\\b(.*)", takeInsert)
	add("(?:delete|remove|drop|cut|erase) (.+)", takeDelete)
	add(`apply (?:this|the|that) (?:diff|patch|change).*`, func(it *intent, in input, m []string, s string) bool {
		if len(in.fences) == 0 {
			return false
		}
		it.kind, it.text = kindPatch, in.fences[0]
		return true
	})
}

func takeCreate(it *intent, in input, m []string, s string) bool {
	it.kind = kindCreate
	it.new = clean(in.plain(m[1]))
	if strings.ContainsAny(it.new, " \n") || it.new == "." {
		return false
	}
	switch {
	case len(in.fences) > 0:
		it.text = in.fences[0] + "\n"
	case !in.quoted(m[2]) && strings.Contains(strings.TrimSpace(in.words), "\n"):
		// Content that is not fenced: all that follows the first line, as it stands.
		_, rest, _ := strings.Cut(strings.TrimSpace(in.words), "\n")
		it.text, it.literal = strings.Trim(in.plain(rest), "\n")+"\n", true
	case strings.TrimSpace(m[2]) != "":
		it.text = strings.TrimSpace(in.plain(m[2]))
		if !strings.HasSuffix(it.text, "\n") {
			it.text += "\n"
		}
	}
	it.every = regexp.MustCompile(`(?i)\b(?:overwrit|even if it exists)`).MatchString(s)
	it.paths = nil
	return true
}

var (
	atLine      = regexp.MustCompile(`(?i)\b(?:(before|after|above|below|at|on|under|behind|following) )?line (\d+)\b`)
	atEnd       = regexp.MustCompile(`(?i)\b(?:at|to) the (end|bottom|start|top|beginning|head)\b`)
	atContains  = regexp.MustCompile("(?i)\\b(before|after|above|below|under|following) (?:the |every |each |all )?lines? (?:that )?(?:containing|contains?|with|saying|says?|matching|reading|starting with)?\\s*(\x01\\d+\x01|\\S+)")
	atText      = regexp.MustCompile("(?i)\\b(before|after|above|below|under) (\x01\\d+\x01)")
	atSymbol    = regexp.MustCompile(`(?i)\b(before|above|to|on|for|of|after|below) (?:the )?(?:function|func|method|type|struct|class|interface|const|constant|variable|var) ` + nameWord)
	firstQuote  = regexp.MustCompile("[\x01\x02]\\d+[\x01\x02]")
	linesRange  = regexp.MustCompile(`(?i)^(?:the )?lines? (\d+)(?:\s*(?:-|–|to|through|until|and)\s*(\d+))?(.*)$`)
	linesWith   = regexp.MustCompile("(?i)^(?:the |(all|every|each|any)(?: the| of the)? )?lines? (?:that |which )?(?:containing|contains?|with|saying|matching|has|have|reads?) (?:the (?:text|word|string) )?(\x01\\d+\x01|\\S+)(.*)$")
	deleteSym   = regexp.MustCompile(`(?i)^(?:the |my |our )?(?:unused )?(function|func|method|type|struct|class|interface|const|constant|variable|var) ` + nameWord + `(.*)$`)
	deleteFile  = regexp.MustCompile(`(?i)^(?:the )?file ` + pathWord + `$`)
	deletePath  = regexp.MustCompile(`(?i)^` + fileWord + `$`)
	commentWord = regexp.MustCompile(`(?i)^\s*(?:an? |the )?(?:doc |documentation |godoc )?comment\b`)
)

// takeInsert understands where text goes: a line number, an end of the file,
// a line that holds a text, or above a symbol.
func takeInsert(it *intent, in input, m []string, _ string) bool {
	verb, rest := strings.ToLower(m[1]), m[2]
	it.kind = kindInsert
	var content string
	if len(in.fences) > 0 {
		content = in.fences[0]
		rest = fenceToken.ReplaceAllString(rest, "")
	} else if q := firstQuote.FindString(rest); q != "" {
		content = in.plain(q)
		rest = strings.Replace(rest, q, "", 1)
	}
	it.paths = append(it.paths, in.scope(rest)...)
	asComment := commentWord.MatchString(rest)
	switch {
	case atContains.MatchString(rest) && !atLine.MatchString(rest):
		g := atContains.FindStringSubmatch(rest)
		it.form, it.old, it.every = side(g[1]), in.plain(g[2]), strings.Contains(strings.ToLower(g[0]), "every") || strings.Contains(g[0], "all ")
	case atLine.MatchString(rest):
		g := atLine.FindStringSubmatch(rest)
		it.form = side(g[1])
		it.from, _ = strconv.Atoi(g[2])
	case atText.MatchString(rest):
		g := atText.FindStringSubmatch(rest)
		it.form, it.old = side(g[1]), in.plain(g[2])
	case atSymbol.MatchString(rest):
		g := atSymbol.FindStringSubmatch(rest)
		it.form, it.new = "symbol", lastName(in.name(g[2]))
		if !asComment && side(g[1]) != "before" {
			return false
		}
	case atEnd.MatchString(rest):
		g := strings.ToLower(atEnd.FindStringSubmatch(rest)[1])
		it.form = "end"
		if g == "start" || g == "top" || g == "beginning" || g == "head" {
			it.form = "start"
		}
	case verb == "append":
		it.form = "end"
	case verb == "prepend":
		it.form = "start"
	default:
		return false
	}
	if content == "" && (verb == "append" || verb == "prepend" || verb == "insert") {
		g := regexp.MustCompile(`(?i)^\s*(?:the (?:text|line) )?(.+?) (?:to|into|at|after|before|above|below) `).FindStringSubmatch(rest)
		if g != nil && !strings.Contains(g[1], "something") {
			content = g[1]
		}
	}
	if content == "" || (len(it.paths) == 0 && it.form != "symbol") {
		return false
	}
	it.text = content
	it.literal = asComment
	return true
}

func side(word string) string {
	switch strings.ToLower(word) {
	case "after", "below", "under", "behind", "following":
		return "after"
	}
	return "before"
}

func takeDelete(it *intent, in input, m []string, _ string) bool {
	it.kind = kindDelete
	rest := strings.TrimSpace(m[1])
	if g := linesRange.FindStringSubmatch(rest); g != nil {
		it.form = "lines"
		it.from, _ = strconv.Atoi(g[1])
		it.to = it.from
		if g[2] != "" {
			it.to, _ = strconv.Atoi(g[2])
		}
		it.paths = append(it.paths, in.scope(g[3])...)
		return len(it.paths) > 0 && it.from > 0 && it.to >= it.from
	}
	if g := linesWith.FindStringSubmatch(rest); g != nil {
		it.form, it.every, it.old = "containing", g[1] != "", in.plain(g[2])
		it.every = it.every || regexp.MustCompile(`(?i)^(?:the )?lines\b`).MatchString(rest)
		it.paths = append(it.paths, in.scope(g[3])...)
		return len(it.paths) > 0
	}
	if g := deleteSym.FindStringSubmatch(rest); g != nil {
		it.form, it.old = "symbol", lastName(in.name(g[2]))
		it.subject = strings.ToLower(g[1])
		it.paths = append(it.paths, in.scope(g[3])...)
		return isName(it.old)
	}
	if g := deleteFile.FindStringSubmatch(rest); g != nil {
		it.form, it.paths = "file", []string{clean(in.plain(g[1]))}
		return true
	}
	if g := deletePath.FindStringSubmatch(rest); g != nil {
		it.form, it.paths = "file", []string{clean(in.plain(g[1]))}
		return looksLikeFile(it.paths[0])
	}
	return false
}

var programs = `go|npm|npx|yarn|pnpm|make|cargo|pytest|python3?|git|node|gofmt|golangci-lint|ruff|eslint|tsc|mvn|gradle|dotnet|bundle|rake|deno|bun|just|cmake|ctest|zig|mix|sbt|stack|cabal|tox|nox`

func workRules(add adder) {
	test := func(it *intent, in input, m []string, s string) bool {
		it.kind = kindTest
		it.paths = append(it.paths, in.scope(s)...)
		if g := regexp.MustCompile(`\b(Test\w+|test_\w+)`).FindString(in.plain(s)); g != "" {
			it.text = g
		}
		if g := regexp.MustCompile("(?i)\\b(?:of|for|in) (?:the )?(?:package |folder |directory |module )?(\x01\\d+\x01|[\\w./-]+)").FindStringSubmatch(s); g != nil && len(it.paths) == 0 {
			if p := strings.TrimSuffix(in.plain(g[1]), "/..."); !stop[strings.ToLower(p)] && p != it.text {
				it.paths = []string{clean(p)}
			}
		}
		return true
	}
	add(`(?:re-?)?(?:run|execute|start|launch|do) (?:all |just |only )?(?:of )?(?:the |my |our |your )?(?:whole |full |entire |unit |go |python |npm |rust |project'?s? |integration )*(?:tests?|test ?suite|specs?|test cases?)\b.*`, test)
	add(`(?:re-?)?(?:run|execute) (?:the )?(?:test )?(?:Test\w+|test_\w+)\b.*`, test)
	add(`(?:do|does|are|is|check (?:that|whether|if)|see (?:whether|if)|make sure(?: that)?|verify(?: that)?) (?:all )?(?:of )?(?:the |my |our )?(?:unit )?(?:tests?|test ?suite)\b.*\b(?:pass|passing|green|ok|fail|failing|succeed|work)\w*`, test)
	add(`test (?:the )?(?:package |module |project|everything|folder ).*`, test)
	add("(?:run|execute) (?:the )?(?:command |shell command )?(\x01\\d+\x01|(?:"+programs+")(?: .*)?)", func(it *intent, in input, m []string, _ string) bool {
		it.kind, it.text = kindCommand, strings.TrimSpace(in.plain(m[1]))
		return it.text != ""
	})
	list := func(it *intent, in input, m []string, s string) bool {
		it.kind = kindList
		it.paths = append(it.paths, in.scope(s)...)
		if len(it.paths) == 0 {
			if g := regexp.MustCompile(`(?i)\b(?:in|under|inside) (?:the )?(?:folder |directory |dir )?([\w.-]+)(?: folder| directory| dir)?$`).FindStringSubmatch(s); g != nil && !stop[strings.ToLower(g[1])] {
				it.paths = []string{clean(g[1])}
			}
		}
		if g := regexp.MustCompile(`(\S*\*\S*)`).FindString(in.plain(s)); g != "" {
			it.text = strings.Trim(g, "`\"'")
			it.paths = without(it.paths, clean(it.text))
		} else if g := regexp.MustCompile(`(?i)\b(?:named|called) (\S+)$`).FindStringSubmatch(s); g != nil {
			it.text = in.plain(g[1])
			it.paths = without(it.paths, clean(it.text))
		} else if g := regexp.MustCompile(`(?i)\b(go|python|js|javascript|typescript|rust|markdown|lua|c|java|test|yaml|json|toml) files\b`).FindStringSubmatch(s); g != nil {
			it.text = globs[strings.ToLower(g[1])]
		}
		return true
	}
	add(`(?:list|show|find|give me|display|print)(?: me)?(?: all)?(?: of)?(?: the)? ?(?:\S+ )?(?:files|folders|directories|directory|contents of the (?:folder|directory))\b.*`, func(it *intent, in input, m []string, s string) bool {
		if regexp.MustCompile(`(?i)\bfiles? (?:that|which|where|with|containing|using|importing)\b`).MatchString(s) {
			return false
		}
		return list(it, in, m, s)
	})
	add(`(?:which|what) (?:\S+ )?files (?:are|do we have|exist)(?: there)?(?: (?:in|under|inside)\b.*)?`, list)
	add(`ls(?: (\S+))?`, func(it *intent, in input, m []string, s string) bool {
		it.kind = kindList
		if m[1] != "" {
			it.paths = append(it.paths, clean(in.plain(m[1])))
		}
		return true
	})
	add(`(?:find|locate) (?:the )?file (?:named |called )?(\S+)`, func(it *intent, in input, m []string, s string) bool {
		it.kind, it.text = kindList, in.plain(m[1])
		return true
	})
	add(`how many lines does `+fileWord+` have`, func(it *intent, in input, m []string, _ string) bool {
		it.kind, it.form, it.paths = kindCount, "lines", []string{clean(in.plain(m[1]))}
		return true
	})
	add(`(?:how many|count(?: all)?(?: of)?(?: the)?|(?:what is )?the number of) (.+)`, takeCount)
	add(`(?:show|open|cat|print|display|read|view|what(?:'s| is| does) (?:in|inside)|dump)(?: me)?(?: the)?(?: contents? of)?(?: the)?(?: whole)?(?: file)? `+fileWord+`(.*)`, takeShow)
	add(`(?:show|print|display|read|view|what(?:'s| is) (?:on|at|in))(?: me)?(?: the)? lines? (\d+)(?:\s*(?:-|–|to|through)\s*(\d+))? (?:of|in|from) (?:the )?(?:file )?`+fileWord, func(it *intent, in input, m []string, _ string) bool {
		it.kind = kindShow
		it.from, _ = strconv.Atoi(m[1])
		it.to = it.from
		if m[2] != "" {
			it.to, _ = strconv.Atoi(m[2])
		}
		it.paths = unique(append(it.paths, clean(in.plain(m[3]))))
		return it.to >= it.from
	})
	add(`(?:show|list|what(?:'s| is| was| are| were)|print|display|describe|summari[sz]e)?(?: me)? ?(?:the |my )?(?:last|latest|most recent|recent|newest|uncommitted|current|pending) (?:git )?(?:changes?|commits?|diff|edits?)(?: .*)?`, func(it *intent, in input, _ []string, s string) bool {
		it.kind, it.text = kindChanges, "git log -3 --stat"
		if regexp.MustCompile(`(?i)uncommitted|current|pending|diff`).MatchString(s) {
			it.text = "git status --short && git diff --stat"
		}
		return true
	})
	add(`(?:what (?:has )?changed(?: recently| last| lately)?|git (?:log|status|diff|show))`, func(it *intent, _ input, _ []string, s string) bool {
		it.kind, it.text = kindChanges, "git log -3 --stat"
		if strings.HasPrefix(strings.ToLower(s), "git ") {
			it.text = strings.ToLower(s)
		}
		return true
	})
}

var globs = map[string]string{"go": "*.go", "python": "*.py", "js": "*.js", "javascript": "*.js", "typescript": "*.ts",
	"rust": "*.rs", "markdown": "*.md", "lua": "*.lua", "c": "*.c", "java": "*.java", "test": "*test*", "yaml": "*.y*ml",
	"json": "*.json", "toml": "*.toml"}

func takeCount(it *intent, in input, m []string, s string) bool {
	it.kind = kindCount
	rest := m[1]
	it.paths = append(it.paths, in.scope(rest)...)
	low := strings.ToLower(rest)
	switch {
	case regexp.MustCompile(`^(?:go |python |\S+ )?files\b`).MatchString(low):
		it.form = "files"
		if g := regexp.MustCompile(`^(\w+) files`).FindStringSubmatch(low); g != nil {
			it.text = globs[g[1]]
		}
	case strings.HasPrefix(low, "lines") && len(it.paths) > 0:
		it.form = "lines"
	case regexp.MustCompile(`^(?:test )?(?:functions|methods|tests)\b`).MatchString(low):
		it.form, it.text = "matches", `^\s*(?:func|def|fn|function)\b`
		if strings.Contains(low, "test") {
			it.text = `^\s*(?:func Test|def test_|#\[test\])`
		}
	default:
		g := regexp.MustCompile("(?i)^(?:times (?:is |does )?|occurrences of |mentions of |uses of |calls (?:to|of) |lines (?:that )?(?:mention|contain|have|hold|say|use)(?:ing|s)? )(?:the )?(?:text |word |function )?(\x01\\d+\x01|\\S+)").FindStringSubmatch(rest)
		if g == nil {
			return false
		}
		it.form, it.text = "matches", regexp.QuoteMeta(in.plain(g[1]))
	}
	return true
}

func takeShow(it *intent, in input, m []string, _ string) bool {
	it.kind = kindShow
	p := clean(in.plain(m[1]))
	if !looksLikeFile(p) && !in.quoted(m[1]) {
		return false
	}
	it.paths = unique(append(it.paths, p))
	if g := regexp.MustCompile(`(?i)(?:lines? |:)(\d+)(?:\s*(?:-|–|to|through)\s*(\d+))?`).FindStringSubmatch(m[2]); g != nil {
		it.from, _ = strconv.Atoi(g[1])
		it.to = it.from
		if g[2] != "" {
			it.to, _ = strconv.Atoi(g[2])
		}
	} else if strings.TrimSpace(m[2]) != "" && !regexp.MustCompile(`^\W*$`).MatchString(m[2]) {
		return false
	}
	return true
}

func without(list []string, s string) []string {
	var out []string
	for _, v := range list {
		if v != s {
			out = append(out, v)
		}
	}
	return out
}
