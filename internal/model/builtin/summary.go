package builtin

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// The marks with which the agent asks for something other than an answer: the
// system message begins with one of them.
const (
	MarkSummarise = "[SUMMARISE]"
	MarkTitle     = "[TITLE]"
	MarkRoute     = "[ROUTE]"
)

// The limits of a summary.
const (
	summaryRequests = 12
	summaryFiles    = 40
	summaryErrors   = 10
	summaryLine     = 200
	titleWords      = 6
)

// utility answers the agent's own requests: summaries, titles, routes.
func utility(t *transcript, messages []model.Message) (string, bool) {
	system := strings.TrimSpace(t.system)
	switch {
	case strings.HasPrefix(system, MarkSummarise):
		return summarise(messages), true
	case strings.HasPrefix(system, MarkTitle):
		return title(firstText(messages)), true
	case strings.HasPrefix(system, MarkRoute):
		return route(lastText(messages)), true
	}
	return "", false
}

// lastText is the newest thing that the person wrote.
func lastText(messages []model.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if text, _ := authored(messages[i].Text); messages[i].Role == model.RoleUser && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

func firstText(messages []model.Message) string {
	for _, m := range messages {
		if text, _ := authored(m.Text); m.Role == model.RoleUser && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

var (
	pathInText    = regexp.MustCompile(`[\w@./+-]*\w\.[A-Za-z]\w{0,9}(?::\d+(?:-\d+)?)?`)
	decisionWords = regexp.MustCompile(`(?i)\b(?:accepted|rejected|decided|decision|must|always|never|prefer|instead|agreed|undone|reverted|only the|renamed|replaced|created|deleted|inserted|changed)\b`)
	errorWords    = regexp.MustCompile(`(?i)(?:\berror\b|\bfail(?:ed|ure|s)?\b|\bpanic\b|\brefused\b|\bdenied\b|--- FAIL|\bexit (?:code |status )?[1-9])`)
	rolePrefix    = regexp.MustCompile(`(?i)^\s*(?:\[?(user|assistant|tool|person)\]?\s*:\s*)`)
)

// summarise keeps what a later turn needs, in the words that were said: what
// was asked, which files were touched, what was decided, what went wrong.
func summarise(messages []model.Message) string {
	var asked, decisions, errs, answers, files []string
	seenFile := map[string]bool{}
	file := func(text string) {
		for _, p := range pathInText.FindAllString(text, -1) {
			name, _, _ := strings.Cut(p, ":")
			if looksLikeFile(name) && !seenFile[name] && len(files) < summaryFiles {
				seenFile[name] = true
				files = append(files, clean(name))
			}
		}
	}
	for i, m := range messages {
		if m.Role == model.RoleSystem && i == 0 {
			continue
		}
		for _, c := range m.Calls {
			file(string(c.Args))
		}
		switch {
		case m.Role == model.RoleUser && !rolePrefix.MatchString(m.Text):
			if person, _ := authored(m.Text); strings.TrimSpace(person) != "" {
				asked = append(asked, oneLine(person))
			}
		case m.Role == model.RoleAssistant && len(m.Calls) == 0 && m.Text != "":
			answers = append(answers, oneLine(firstParagraph(m.Text)))
		}
		role := m.Role
		for _, l := range strings.Split(m.Text, "\n") {
			if p := rolePrefix.FindStringSubmatch(l); p != nil {
				role = model.Role(strings.ToLower(p[1]))
				l = l[len(p[0]):]
				if role == model.RoleUser || role == "person" {
					asked = append(asked, oneLine(l))
				}
			}
			file(l)
			l = oneLine(l)
			switch {
			case l == "":
			case role != model.RoleTool && decisionWords.MatchString(l) && len(l) < summaryLine:
				decisions = append(decisions, l)
			case errorWords.MatchString(l) && (role == model.RoleTool || m.IsError):
				errs = append(errs, l)
			}
		}
	}
	var b strings.Builder
	section := func(head string, list []string, max int) {
		list = unique(list)
		if len(list) == 0 {
			return
		}
		if len(list) > max {
			list = list[len(list)-max:]
		}
		b.WriteString(head + ":\n")
		for _, s := range list {
			b.WriteString("- " + s + "\n")
		}
	}
	section("Asked", asked, summaryRequests)
	section("Answered", answers, summaryRequests)
	section("Files", files, summaryFiles)
	section("Decided", without(decisions, ""), summaryRequests)
	section("Errors", errs, summaryErrors)
	if b.Len() == 0 {
		return "- Nothing of note was said."
	}
	return strings.TrimRight(b.String(), "\n")
}

func firstParagraph(s string) string {
	p, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return p
}

func oneLine(s string) string {
	return clip(strings.Join(strings.Fields(s), " "), summaryLine)
}

// title names a session by the subject of its first request.
func title(request string) string {
	in := readInput(rolePrefix.ReplaceAllString(request, ""))
	s := in.plain(strip(in.words))
	s = strings.Join(strings.Fields(fenceToken.ReplaceAllString(s, "")), " ")
	f := strings.Fields(s)
	for len(f) > 0 && stop[strings.ToLower(strings.Trim(f[0], ".,!?:"))] {
		f = f[1:]
	}
	if len(f) == 0 {
		f = strings.Fields(s)
	}
	var out []string
	for _, w := range f {
		low := strings.ToLower(w)
		if low == "the" || low == "a" || low == "an" || low == "please" {
			continue
		}
		out = append(out, w)
		if len(out) == titleWords {
			break
		}
	}
	text := strings.Trim(clip(strings.Join(out, " "), 60), " .,!?:;\"'`")
	if text == "" {
		return "New session"
	}
	first := []rune(text)
	return strings.ToUpper(string(first[0])) + string(first[1:])
}

// route names the categories of tools that a request needs.
func route(request string) string {
	need := map[string]bool{}
	for _, it := range parse(request) {
		switch it.kind {
		case kindGreet, kindThanks, kindHelp, kindStop:
		case kindAsk, kindList, kindCount, kindShow:
			need["read"], need["search"] = true, true
		case kindTest, kindCommand, kindChanges:
			need["read"], need["shell"] = true, true
		case kindUnknown:
			if it.subject != "" {
				need["read"], need["search"], need["write"], need["shell"] = true, true, true, true
			}
		default:
			need["read"], need["search"], need["write"] = true, true, true
		}
	}
	categories := []string{}
	for _, c := range []string{"read", "search", "write", "shell"} {
		if need[c] {
			categories = append(categories, c)
		}
	}
	if len(categories) == 0 {
		categories = []string{"CONVERSATIONAL_ONLY"}
	}
	b, err := json.Marshal(map[string][]string{"categories": categories})
	if err != nil {
		return `{"categories":["read"]}`
	}
	return string(b)
}
