package builtin

import (
	"regexp"
	"strconv"
	"strings"
)

// A kind is what a request asks for.
type kind string

const (
	kindAsk     kind = "ask"
	kindRename  kind = "rename"
	kindReplace kind = "replace"
	kindCreate  kind = "create"
	kindInsert  kind = "insert"
	kindDelete  kind = "delete"
	kindPatch   kind = "patch"
	kindTest    kind = "test"
	kindCommand kind = "command"
	kindList    kind = "list"
	kindCount   kind = "count"
	kindShow    kind = "show"
	kindChanges kind = "changes"
	kindGreet   kind = "greet"
	kindThanks  kind = "thanks"
	kindHelp    kind = "help"
	kindStop    kind = "stop"
	kindUnknown kind = "unknown"
)

// An intent is one request, understood.
type intent struct {
	kind     kind
	form     string   // ask: where, what, how, why, who, which, uses, explain, find · delete: lines, containing, symbol, file · insert: before, after, end, start · show: file, lines
	subject  string   // ask: the question without its question words; rename: what kind of symbol
	old, new string   // rename, replace; delete and insert: the anchor text or symbol
	text     string   // insert, create: the content; patch: the diff; command: the line
	paths    []string // files or folders that the request names
	from, to int      // line numbers
	every    bool     // all of them, not the only one
	literal  bool     // replace: the text was quoted, so it is meant as it stands
}

// An input is a message with its fences and quotes taken out, so that rules
// see plain words. Quotes become \x01N\x01, fences \x02N\x02.
type input struct {
	words  string
	quotes []string
	fences []string
	paths  []string // @mentions
}

var (
	fenceText  = regexp.MustCompile("(?s)```[^\\n`]*\\n(.*?)\\n?```")
	quoteText  = regexp.MustCompile("`([^`\\n]+)`|\"((?:[^\"\\\\\\n]|\\\\.)*)\"|“([^”\\n]*)”|(?:^|[\\s(:])'([^'\\n]+)'")
	mention    = regexp.MustCompile(`(^|[\s(])@(?:(?:file|symbol):)?([\w./-]*[\w/-])(?::\d+(?:-\d+)?)?`)
	quoteToken = regexp.MustCompile("\x01(\\d+)\x01")
	fenceToken = regexp.MustCompile("\x02(\\d+)\x02")
	tagWord    = `#(?:research|code|shell|test|web|planning|chat|once)\b` // said to the agent, not to its model
	polite     = regexp.MustCompile(`(?i)^(?:(?:\d+[.)]|[-*•])\s+|` + tagWord + `[,:]?\s+|(?:hi|hey|hello|ok|okay|so|well|now|and|then|also|next|finally|first|great|thanks|thank you|yes)[,!.:]?\s+|(?:please|pls|kindly|just)[,:]?\s+|(?:could|can|would|will) (?:you|we)(?: please)?(?: (?:kindly|just))?(?: (?:tell|show|explain to) (?:me|us))? |(?:do|did) you (?:happen to )?know |(?:i'?d like|i want|i need|i would like)(?: you)? to (?:know )?|i(?:'m| am) (?:wondering|curious|trying to find out) |(?:tell|show) (?:me|us) (?:where|what|how|why|who|which)\b|would you mind |let'?s |help me (?:to )?(?:understand |find )?|any idea |go ahead and |you should |you can |we should |we need to |i wonder )`)
	trailing   = regexp.MustCompile(`(?i)[\s,]*(?:` + tagWord + `|please|pls|thanks|thank you|for me|if you can|if possible|right now|in the code ?base|in this (?:repo|repository|project|code ?base|package|code|workspace)|in the (?:repo|repository|project|code|workspace))?[\s.!?;:…]*$`)
)

// readInput takes a message apart. It never fails.
func readInput(s string) input {
	if len(s) > inputMax {
		s = s[:inputMax]
	}
	s = strings.NewReplacer("\x01", " ", "\x02", " ", "\r\n", "\n", "’", "'").Replace(s)
	var in input
	s = fenceText.ReplaceAllStringFunc(s, func(m string) string {
		in.fences = append(in.fences, fenceText.FindStringSubmatch(m)[1])
		return " \x02" + strconv.Itoa(len(in.fences)-1) + "\x02 "
	})
	s = quoteText.ReplaceAllStringFunc(s, func(m string) string {
		g := quoteText.FindStringSubmatch(m)
		in.quotes = append(in.quotes, g[1]+strings.ReplaceAll(g[2], `\"`, `"`)+g[3]+g[4])
		lead := ""
		if g[4] != "" && m[0] != '\'' {
			lead = m[:1]
		}
		return lead + "\x01" + strconv.Itoa(len(in.quotes)-1) + "\x01"
	})
	s = mention.ReplaceAllStringFunc(s, func(m string) string {
		g := mention.FindStringSubmatch(m)
		if !strings.ContainsAny(g[2], "./") {
			return g[1] + g[2] // @symbol: the name itself
		}
		in.paths = append(in.paths, clean(g[2]))
		return g[1] + g[2]
	})
	in.words = s
	return in
}

// plain puts the quotes back, without their marks.
func (in input) plain(s string) string {
	s = quoteToken.ReplaceAllStringFunc(s, func(m string) string { return in.quote(m) })
	return fenceToken.ReplaceAllStringFunc(s, func(m string) string { return in.fence(m) })
}

func (in input) quote(token string) string { return pick(in.quotes, quoteToken, token) }
func (in input) fence(token string) string { return pick(in.fences, fenceToken, token) }

func pick(list []string, re *regexp.Regexp, token string) string {
	m := re.FindStringSubmatch(token)
	if m == nil {
		return ""
	}
	if n, err := strconv.Atoi(m[1]); err == nil && n < len(list) {
		return list[n]
	}
	return ""
}

func (in input) quoted(s string) bool { return quoteToken.MatchString(s) || fenceToken.MatchString(s) }

// parse understands a message as up to tasksMax requests, in order.
func parse(message string) []intent {
	if d, ok := readDiff(message); ok {
		return []intent{{kind: kindPatch, text: d}}
	}
	in := readInput(message)
	var out []intent
	for _, clause := range in.clauses() {
		if len(out) == tasksMax {
			break
		}
		it := in.clause(clause)
		out = append(out, it)
		if it.kind == kindCreate && it.literal {
			break // the rest of the message is the file's content
		}
	}
	if len(out) == 0 {
		out = []intent{{kind: kindUnknown}}
	}
	return out
}

var (
	joints   = regexp.MustCompile(`(?i)(?:[,;.]?\s+(?:and )?(?:then|afterwards|after that)[,]?\s+|;\s+|\?\s+(?:and )?|[.!]\s+|\n\s*(?:\d+[.)]|[-*])\s+|,?\s+and (?:also )?)`)
	starters = regexp.MustCompile(`(?i)^(?:also |please |where|what|how|why|who|which|rename|replace|substitute|delete|remove|create|add|insert|append|prepend|run|execute|list|show|count|explain|describe|find|change|apply|display|print|open|write)\b`)
)

// clauses cuts a message at "then", "and", sentence ends, list marks, where
// what follows begins like a request of its own and both halves are understood.
func (in input) clauses() []string {
	rest := strings.TrimSpace(in.words)
	if len(rest) > wordsMax {
		rest = strings.ToValidUTF8(rest[:wordsMax], "")
	}
	var out []string
	pos := 0
	for range jointsMax {
		m := joints.FindStringIndex(rest[pos:])
		if m == nil {
			break
		}
		left, right := rest[:pos+m[0]], rest[pos+m[1]:]
		pos += m[1]
		if strings.TrimSpace(left) == "" || !starters.MatchString(strip(right)) {
			continue
		}
		l, r := in.clause(left), in.clause(right)
		if l.kind == kindUnknown || r.kind == kindUnknown || (l.kind == kindAsk && r.kind == kindAsk && sameQuestion(strip(right))) {
			continue
		}
		out = append(out, left)
		rest, pos = right, 0
	}
	if strings.TrimSpace(rest) != "" {
		out = append(out, rest)
	}
	return out
}

// sameQuestion: "how does X find and run Y" is one question; "where is X and
// where is Y" are two.
func sameQuestion(right string) bool {
	return !regexp.MustCompile(`(?i)^(?:where|what|how|why|who|which|show|list|explain)\b`).MatchString(right)
}

// strip takes off politeness and punctuation at both ends.
func strip(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for range 4 {
		m := polite.FindStringIndex(s)
		if m == nil {
			break
		}
		cut := m[1]
		// "show me where": the question word belongs to the question.
		if w := regexp.MustCompile(`(?i)(where|what|how|why|who|which)$`).FindStringIndex(s[:cut]); w != nil {
			cut = w[0]
		}
		if cut == 0 {
			break
		}
		s = s[cut:]
	}
	for range 3 {
		if strings.HasSuffix(s, "/...") { // a Go pattern, not an ellipsis
			break
		}
		t := trailing.ReplaceAllString(s, "")
		if t == s {
			break
		}
		s = t
	}
	return strings.TrimSpace(s)
}

// clause understands one request: the first rule that takes it wins.
func (in input) clause(raw string) intent {
	if whole := strings.Trim(raw, " .!?,\n\t"); talk.MatchString(whole) {
		raw = whole
	} else {
		raw = strip(raw)
	}
	s := raw
	for _, r := range rules {
		m := r.re.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		it := intent{paths: append([]string(nil), in.paths...)}
		if r.take(&it, in, m, s) {
			it.paths = unique(it.paths)
			return it
		}
	}
	return intent{kind: kindUnknown, subject: in.plain(s), paths: in.paths}
}

var talk = regexp.MustCompile(`(?i)^(?:(?:hi|hello|hey|thanks|thank you|ok|okay|great|please)(?: \w+){0,3})$`)

var narrowing = regexp.MustCompile(`(?i)^(?:please,? )?(?:no,? )?(?:(?:just|only)\b|not (?:the|in|for|a|any)?\b|but (?:only|not)\b|without\b|skip\b|ignore\b|exclude\b|leave (?:out|the)\b|except\b|i meant?\b|i was asking about\b|(?:look |stay |search )?(?:only )?(?:in|inside|within|at)\b|focus on\b|limit (?:it|this|yourself) to\b|restrict\b|keep to\b|stick to\b|the \S+ (?:side|part|one|package|file|version)\b|for the \S+ (?:side|part)\b|(?:also )?(?:include|cover)\b|never ?mind\b|stop\b|enough\b|cancel\b|make it (?:short|brief)|(?:be )?(?:shorter|briefer|more precise)\b)`)

// isNarrowing says whether a message only makes sense as a word on the request
// before it.
func isNarrowing(s string) bool {
	s = strings.TrimSpace(s) // long messages are requests
	if s == "" || len(s) > 300 {
		return false
	}
	if regexp.MustCompile(`(?i)\b(?:only|please)[.! ]*$`).MatchString(s) && !starters.MatchString(strip(s)) {
		return len(strings.Fields(s)) <= 12
	}
	if !narrowing.MatchString(s) || regexp.MustCompile(`(?i)^(?:in|at|for|from|inside|within) (?:which|what|how)\b`).MatchString(s) {
		return false
	}
	return !regexp.MustCompile(`(?i)^(?:skip|ignore|in|at|inside|within)\b.*\b(?:rename|replace|delete|create|where|what|how|why|who|run)\b`).MatchString(s)
}

// wantsInstead says whether a steer is a request that takes the place of the
// open one.
func wantsInstead(s string) bool {
	for _, it := range parse(s) {
		if it.kind == kindUnknown || it.kind == kindGreet || it.kind == kindThanks {
			return false
		}
	}
	return true
}

func unique(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
