package builtin

import (
	"regexp"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// A transcript is what the messages of a request say happened: the engine
// keeps nothing between calls, so everything it knows is in here.
type transcript struct {
	system   string
	request  string   // the open request, "" when there is none
	steers   []string // what the person added while it was worked on
	earlier  []string // requests before it, oldest first
	answered bool     // the newest thing said is our final answer
	steps    []step   // the calls of the open request, in order
	rounds   int      // replies with calls for the open request
	notes    []string // retrieval, reflections, summaries: given before the work on the request began
	rejected []string // verdicts of the person on our edits, in their words
	messages int
}

// A step is one call of ours and what came back.
type step struct {
	id, key string
	done    bool
	result  result
}

var (
	dataBlock  = regexp.MustCompile(`(?s)<data source="([^"\n]*)">\n?(.*?)</data>`)
	noteMark   = regexp.MustCompile(`^\s*\[[A-Z][A-Z0-9 _:-]{2,}[^\]\n]*\]\s*`)
	steerMark  = regexp.MustCompile(`^\s*\[STEER\]\s*`)
	askMark    = regexp.MustCompile(`^\s*\[(?:REQUEST|USER)\]\s*`)
	blockMark  = regexp.MustCompile(`^\s*[\w./@+-]+\.\w+:\d+-\d+(?:\s|$)`)
	rejectMark = regexp.MustCompile(`(?i)\bthe person (?:has )?(?:rejected|undid|declined)\b|\bthe person's decision on a hunk .*: (?:rejected|undone)`)
	paragraph2 = regexp.MustCompile(`\n[ \t]*\n`)
)

// authored takes a user message apart: what the person wrote, and what the
// agent put beside it (evidence between <data> marks, notes that begin with a
// mark in brackets). Adjacent messages of one voice may have been joined with
// a blank line between them.
func authored(text string) (person string, notes []string) {
	text = dataBlock.ReplaceAllStringFunc(text, func(m string) string {
		g := dataBlock.FindStringSubmatch(m)
		notes = append(notes, g[1]+"\n"+g[2])
		return "\n\n"
	})
	if blockMark.MatchString(text) {
		return "", append(notes, text)
	}
	var kept []string
	for _, p := range paragraph2.Split(text, -1) {
		switch {
		case strings.TrimSpace(p) == "":
		case rejectMark.MatchString(p), noteMark.MatchString(p) && !steerMark.MatchString(p) && !askMark.MatchString(p):
			notes = append(notes, p)
		default:
			kept = append(kept, p)
		}
	}
	if len(notes) == 0 {
		return text, nil
	}
	return strings.Join(kept, "\n\n"), notes
}

func readTranscript(messages []model.Message) *transcript {
	t := &transcript{messages: len(messages)}
	for i, m := range messages {
		switch m.Role {
		case model.RoleSystem:
			if i == 0 {
				t.system = m.Text
			} else {
				t.note(m.Text)
			}
		case model.RoleUser:
			t.user(m.Text)
		case model.RoleAssistant:
			t.assistant(m)
		case model.RoleTool:
			t.tool(m)
		}
	}
	return t
}

func (t *transcript) note(text string) {
	for _, line := range strings.Split(text, "\n") {
		if rejectMark.MatchString(line) {
			t.rejected = append(t.rejected, strings.TrimSpace(line))
		}
	}
	if t.rounds == 0 {
		t.notes = append(t.notes, text)
	}
}

// user files what the person wrote: a new request, or a steer of the open one.
func (t *transcript) user(text string) {
	text, notes := authored(text)
	for _, n := range notes {
		t.note(n)
	}
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if t.request == "" {
		t.open(askMark.ReplaceAllString(text, ""))
		return
	}
	if steerMark.MatchString(text) {
		text = steerMark.ReplaceAllString(text, "")
		if !isNarrowing(text) && wantsInstead(text) {
			t.open(text)
			return
		}
		t.steer(text)
		return
	}
	text = askMark.ReplaceAllString(text, "")
	if !isNarrowing(text) {
		t.open(text)
		return
	}
	// Messages that stand beside each other come as one: a steer that a stop
	// left unread, then the next request, or the same one again.
	word, rest, _ := strings.Cut(text, "\n\n")
	if rest = strings.TrimSpace(rest); rest != "" && rest != t.request && !isNarrowing(rest) && wantsInstead(rest) {
		t.open(rest)
		return
	}
	if rest == t.request {
		text = word
	}
	t.steer(text)
}

// steer adds to the request, which is thereby open again.
func (t *transcript) steer(text string) {
	t.steers = append(t.steers, text)
	t.answered = false
}

func (t *transcript) open(text string) {
	if t.request != "" {
		t.earlier = append(t.earlier, t.request)
	}
	if t.rounds > 0 { // what was given for the last request is not about this one
		t.notes = nil
	}
	t.request, t.steers, t.steps, t.rounds, t.answered = text, nil, nil, 0, false
}

func (t *transcript) assistant(m model.Message) {
	if len(m.Calls) == 0 {
		if strings.TrimSpace(m.Text) != "" {
			t.answered = true
		}
		return
	}
	t.rounds++
	for _, c := range m.Calls {
		t.steps = append(t.steps, step{id: c.ID, key: callKey(c.Name, c.Args)})
	}
}

func (t *transcript) tool(m model.Message) {
	for i := range t.steps {
		s := &t.steps[i]
		if s.id == m.CallID && !s.done {
			s.done = true
			s.result = result{text: m.Text, failed: m.IsError}
			return
		}
	}
}

// lastSubject is the request before the open one, for "it" and "that".
func (t *transcript) lastSubject() string {
	if len(t.earlier) == 0 {
		return ""
	}
	return t.earlier[len(t.earlier)-1]
}
