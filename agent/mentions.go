package agent

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/tools"
)

// mention is one @thing in a message, as it was written.
type mention struct {
	Kind  string `json:"kind"` // path, symbol, selection, diagnostics, diff, url
	Text  string `json:"text"` // without the @ and the kind
	Start int    `json:"start,omitempty"`
	End   int    `json:"end,omitempty"` // lines, from 1; 0 = all of it
}

// Kinds of mentions.
const (
	mentionPath        = "path"
	mentionSymbol      = "symbol"
	mentionSelection   = "selection"
	mentionDiagnostics = "diagnostics"
	mentionDiff        = "diff"
	mentionURL         = "url"
)

// mentionWord finds @things that begin a word: an address of mail or a
// decorator with an argument list is none.
var (
	mentionWord = regexp.MustCompile("(?:^|[\\s(\\[,;\"'`])@([^\\s,;\"'`()\\[\\]<>]+)")
	lineRange   = regexp.MustCompile(`^(.+?):(\d+)(?:-(\d+))?$`)
	tagWord     = regexp.MustCompile(`(?:^|\s)#([a-z][a-z-]*)\b`)
)

// mentionsOf reads the mentions of a message, in order, each once.
func mentionsOf(input string) []mention {
	var out []mention
	for _, g := range mentionWord.FindAllStringSubmatch(input, -1) {
		m := readMention(strings.TrimRight(g[1], ".:!?"))
		if m.Text == "" && (m.Kind == mentionPath || m.Kind == mentionSymbol || m.Kind == mentionURL) || slices.Contains(out, m) {
			continue
		}
		if len(out) < attachmentsMax {
			out = append(out, m)
		}
	}
	return out
}

func readMention(word string) mention {
	switch word {
	case mentionSelection, mentionDiagnostics, mentionDiff:
		return mention{Kind: word}
	}
	if rest, ok := strings.CutPrefix(word, "symbol:"); ok {
		return mention{Kind: mentionSymbol, Text: rest}
	}
	if rest, ok := strings.CutPrefix(word, "diagnostics:"); ok {
		return mention{Kind: mentionDiagnostics, Text: rest}
	}
	if rest, ok := strings.CutPrefix(word, "url:"); ok {
		return mention{Kind: mentionURL, Text: rest}
	}
	if strings.HasPrefix(word, "https://") || strings.HasPrefix(word, "http://") {
		return mention{Kind: mentionURL, Text: word}
	}
	word = strings.TrimPrefix(word, "file:")
	m := mention{Kind: mentionPath, Text: word}
	if g := lineRange.FindStringSubmatch(word); g != nil {
		m.Text = g[1]
		m.Start, _ = strconv.Atoi(g[2]) // digits; too many overflow to the largest, which is past any file's end
		m.End = m.Start
		if g[3] != "" {
			m.End, _ = strconv.Atoi(g[3])
		}
	}
	return m
}

// label is a mention as it is shown.
func (m mention) label() string {
	s := "@" + m.Text
	switch {
	case m.Text == "":
		s = "@" + m.Kind
	case m.Kind == mentionDiagnostics:
		s = "@diagnostics:" + m.Text
	}
	if m.Start > 0 {
		s += ":" + strconv.Itoa(m.Start)
		if m.End > m.Start {
			s += "-" + strconv.Itoa(m.End)
		}
	}
	return s
}

// tag adds categories of tools to a turn, or a mode.
type tag struct {
	name, words string
	categories  []tools.Category
	planning    bool
	chat        bool // no tools at all
	once        bool // a one-off question: nothing is remembered of it
}

// tags are what a #word can be. Any other #word is text.
var tags = []tag{
	{name: "#research", words: "read, search and the web", categories: []tools.Category{tools.CategoryRead, tools.CategorySearch, tools.CategoryWeb}},
	{name: "#code", words: "read, search and change files", categories: []tools.Category{tools.CategoryRead, tools.CategorySearch, tools.CategoryWrite}},
	{name: "#shell", words: "run commands", categories: []tools.Category{tools.CategoryRead, tools.CategoryShell}},
	{name: "#test", words: "run the tests", categories: []tools.Category{tools.CategoryRead, tools.CategorySearch, tools.CategoryShell}},
	{name: "#web", words: "fetch pages, with permission", categories: []tools.Category{tools.CategoryWeb}},
	{name: "#planning", words: "this turn neither writes nor executes", planning: true},
	{name: "#chat", words: "answer without tools", chat: true},
	{name: "#once", words: "a one-off question: nothing is remembered of it", once: true},
}

// tagsOf reads the known tags of a message, each once.
func tagsOf(input string) []tag {
	var out []tag
	for _, g := range tagWord.FindAllStringSubmatch(input, -1) {
		i := slices.IndexFunc(tags, func(t tag) bool { return t.name == "#"+g[1] })
		if i >= 0 && !slices.ContainsFunc(out, func(t tag) bool { return t.name == tags[i].name }) {
			out = append(out, tags[i])
		}
	}
	return out
}

// asked is everything in a message that is no plain words, put together from
// its tags, its mentions and its pill.
type asked struct {
	Tags       []string         `json:"tags,omitempty"`
	Mentions   []mention        `json:"mentions,omitempty"`
	Pill       string           `json:"pill,omitempty"`   // with the slash
	Prompt     string           `json:"prompt,omitempty"` // what the model reads instead of a pill's line
	Data       string           `json:"data,omitempty"`   // a pill's text that is data only: the workspace is not trusted
	DataFrom   string           `json:"dataFrom,omitempty"`
	Action     []tools.Category `json:"action,omitempty"` // a pill's own categories: no router
	Categories []tools.Category `json:"categories,omitempty"`
	Planning   bool             `json:"planning,omitempty"`
	Chat       bool             `json:"chat,omitempty"`
}

// readInput takes a message apart.
func readInput(input string) (a asked, once bool) {
	a.Mentions = mentionsOf(input)
	for _, t := range tagsOf(input) {
		a.Tags = append(a.Tags, t.name)
		for _, c := range t.categories {
			if !slices.Contains(a.Categories, c) {
				a.Categories = append(a.Categories, c)
			}
		}
		a.Planning, a.Chat, once = a.Planning || t.planning, a.Chat || t.chat, once || t.once
	}
	return a, once
}

// approve takes back that nothing be carried out: the person has approved the
// steps that were proposed for that reason.
func (a *asked) approve() {
	a.Planning = false
	a.Tags = slices.DeleteFunc(a.Tags, func(name string) bool {
		return slices.ContainsFunc(tags, func(t tag) bool { return t.name == name && t.planning })
	})
}

// chips are what a message says beside its words, as editors show it.
func (a asked) chips() []cycle.Chip {
	out := []cycle.Chip{}
	if a.Pill != "" {
		detail := "your command"
		if a.Data != "" {
			detail = "the workspace is not trusted: its text is data only, see /trust"
		}
		out = append(out, cycle.Chip{Kind: "pill", Text: a.Pill, Detail: detail})
	}
	for _, name := range a.Tags {
		i := slices.IndexFunc(tags, func(t tag) bool { return t.name == name })
		out = append(out, cycle.Chip{Kind: "tag", Text: name, Detail: tags[i].words})
	}
	for _, m := range a.Mentions {
		out = append(out, cycle.Chip{Kind: "mention", Text: m.label(), Detail: m.Kind})
	}
	return out
}
