package builtin

import (
	"regexp"
	"strconv"
	"strings"
)

// work decides the next step for an open request: what to say and which calls
// to make, or the final answer.
func work(t *transcript, box toolbox) response {
	if strings.TrimSpace(t.request) == "" {
		return response{text: greeting(t, box)}
	}
	r := newRun(t, box)
	n := readSteers(t.steers)
	if n.stop {
		return response{text: "Stopped, as you asked." + progress(t)}
	}
	intents := parse(t.request)
	if len(box) == 0 && needsTools(intents) && !t.lastCall() {
		if strings.Contains(t.system, NeedTools) {
			return response{text: NeedTools}
		}
		return response{text: "I need the workspace's tools for that; none were offered with this request. " + connect}
	}
	if t.lastCall() {
		t.rounds = roundsMax
	}
	var answers []string
	for i, it := range intents {
		it.paths = unique(append(it.paths, n.paths...))
		if i > 0 && it.kind == kindTest && len(it.paths) == 0 && len(intents[i-1].paths) == 1 && !looksLikeFile(intents[i-1].paths[0]) {
			it.paths = intents[i-1].paths
		}
		text, done := r.perform(it, n)
		if !done {
			return r.response()
		}
		answers = append(answers, strings.TrimSpace(text))
	}
	text := strings.Join(answers, "\n\n") + t.waiting()
	if t.lastCall() {
		text = r.assessment() + "\n" + text
	}
	return response{text: text}
}

var waitNote = regexp.MustCompile(`(\d+) hunks? waits? for review`)

// waiting says how many hunks of this request the person has yet to decide.
func (t *transcript) waiting() string {
	n := 0
	for _, s := range t.steps {
		if m := waitNote.FindStringSubmatch(s.result.text); m != nil && (strings.HasPrefix(s.key, "edit ") || strings.HasPrefix(s.key, "write ")) {
			k, err := strconv.Atoi(m[1])
			if err == nil && k < inputMax {
				n += k
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "\n\n1 hunk waits for your review."
	}
	return "\n\n" + strconv.Itoa(n) + " hunks wait for your review."
}

// lastCall says whether the prompt asks for the assessment at the step limit.
func (t *transcript) lastCall() bool { return strings.Contains(t.system, "reached its step limit") }

// assessment is the banner of an answer at the step limit.
func (r *run) assessment() string {
	done := 0
	for _, s := range r.t.steps {
		if s.done && !s.result.failed {
			done++
		}
	}
	switch {
	case done == 0:
		return "GOAL NOT ACHIEVED"
	case r.starved:
		return "GOAL PARTIALLY ACHIEVED"
	}
	return "GOAL ACHIEVED"
}

// perform runs the plan of one intent as far as the transcript goes.
func (r *run) perform(it intent, n narrow) (string, bool) {
	switch it.kind {
	case kindAsk:
		return r.ask(it, n)
	case kindRename:
		return r.rename(it, n)
	case kindReplace:
		return r.replace(it, n)
	case kindCreate:
		return r.create(it)
	case kindInsert:
		return r.insert(it)
	case kindDelete:
		return r.delete(it)
	case kindPatch:
		return r.applyPatch(it)
	case kindTest:
		return r.test(it)
	case kindCommand, kindChanges:
		return r.command(it)
	case kindList:
		return r.list(it)
	case kindCount:
		return r.count(it)
	case kindShow:
		return r.show(it)
	case kindGreet:
		return greeting(r.t, r.box), true
	case kindThanks:
		return "You're welcome.", true
	case kindHelp:
		return abilities(r.box), true
	case kindStop:
		return "Nothing is running.", true
	}
	return r.unknown(it, n)
}

// A narrow is what the steers say about a request: where to look, where not,
// and further words to look for.
type narrow struct {
	stop    bool
	paths   []string // keep to these
	not     []string // leave these out
	words   []string // further subject words
	noTests bool
	tests   bool // only tests
	said    string
}

var (
	notPart   = regexp.MustCompile(`(?i)\b(?:not|skip|ignore|exclude|without|except|leave out|no)\s+(?:in |for |the |any |a )*(.+?)(?:\s+(?:files?|folders?|directory|package|code|side|part))?$`)
	stopWords = regexp.MustCompile(`(?i)^(?:please )?(?:stop|cancel|abort|never ?mind|enough|forget it)\b`)
)

// readSteers understands what the person added, newest word last.
func readSteers(steers []string) narrow {
	var n narrow
	for _, s := range steers {
		in := readInput(s)
		words := strip(in.words)
		n.said = subjectOf(in.plain(words))
		if stopWords.MatchString(words) && len(strings.Fields(words)) <= 4 {
			n.stop = true
			continue
		}
		scope := unique(append(append([]string(nil), in.paths...), in.scope(words)...))
		if m := notPart.FindStringSubmatch(words); m != nil && !regexp.MustCompile(`(?i)^only\b`).MatchString(words) {
			what := strings.ToLower(in.plain(m[1]))
			if strings.Contains(what, "test") {
				n.noTests = true
			} else {
				for _, w := range contentWords(what) {
					n.not = append(n.not, w.raw)
				}
				n.not = append(n.not, scope...)
			}
			continue
		}
		n.paths = append(n.paths, scope...)
		for _, w := range contentWords(in.plain(words)) {
			switch {
			case stem(w.raw) == "test":
				n.tests = true
			case contains(scope, clean(w.raw)), steerFiller[w.raw]:
			default:
				n.words = append(n.words, w.raw)
			}
		}
	}
	return n
}

var steerFiller = set(`side part parts one only focus stick keep limit restrict version thing look stay mean meant asking instead brief short shorter precise narrow search stuff related`)

// allows says whether evidence of a path is wanted.
func (n narrow) allows(path string) bool {
	if n.noTests && isTest(path) {
		return false
	}
	if n.tests && !isTest(path) {
		return false
	}
	low := strings.ToLower(path)
	for _, w := range n.not {
		if strings.Contains(low, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// within says whether a path is one of the scope's files or below one of its
// folders; a bare word of the scope may name a folder anywhere.
func within(path string, scope []string) bool {
	if len(scope) == 0 {
		return true
	}
	for _, s := range scope {
		if s == "." || path == s || strings.HasPrefix(path, s+"/") || strings.HasSuffix(path, "/"+s) || strings.Contains("/"+path, "/"+s+"/") {
			return true
		}
	}
	return false
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// progress says what was done before a stop.
func progress(t *transcript) string {
	var edited []string
	for _, s := range t.steps {
		if s.done && !s.result.failed && (strings.HasPrefix(s.key, "edit ") || strings.HasPrefix(s.key, "write ")) {
			edited = append(edited, pathOfKey(s.key))
		}
	}
	if edited = unique(edited); len(edited) > 0 {
		return " Already changed: " + joinAnd(quoteAll(edited)) + "."
	}
	return " Nothing was changed."
}

func quoteAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = "`" + s + "`"
	}
	return out
}

var keyPath = regexp.MustCompile(`"path":"((?:[^"\\]|\\.)*)"`)

func pathOfKey(key string) string {
	if m := keyPath.FindStringSubmatch(key); m != nil {
		return m[1]
	}
	return ""
}
