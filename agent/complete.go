package agent

import (
	"context"
	"fmt"
	"strings"
)

// completionsMax is how many proposals are given at most.
const completionsMax = 50

// Complete proposes /commands, @mentions and #tags for the word at an offset.
func (e *Engine) Complete(ctx context.Context, p *CompleteParams) (*CompleteResult, error) {
	if p.Offset < 0 || p.Offset > len(p.Text) {
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("offset %d is outside the text of %d bytes", p.Offset, len(p.Text))}
	}
	start := strings.LastIndexAny(p.Text[:p.Offset], " \t\n") + 1
	word := p.Text[start:p.Offset]
	out := &CompleteResult{Start: start, Items: []Completion{}}
	switch {
	case strings.HasPrefix(word, "/") && strings.TrimSpace(p.Text[:start]) == "":
		out.Items = e.commandCompletions(word)
	case strings.HasPrefix(word, "@"):
		out.Items = append(out.Items, e.mentions(ctx, word[1:])...)
	case strings.HasPrefix(word, "#"):
		for _, t := range tags {
			if strings.HasPrefix(t.name, word) {
				out.Items = append(out.Items, Completion{Insert: t.name, Label: t.name, Detail: t.words, Kind: "tag"})
			}
		}
	}
	if len(out.Items) > completionsMax {
		out.Items = out.Items[:completionsMax]
	}
	return out, nil
}

func (e *Engine) commandCompletions(word string) []Completion {
	out := []Completion{}
	for _, c := range stateCommands() {
		if strings.HasPrefix(c.name, word) {
			out = append(out, Completion{Insert: c.name, Label: strings.TrimSpace(c.name + " " + c.args), Detail: c.words, Kind: "command"})
		}
	}
	for _, c := range e.userCommands() {
		if name := "/" + c.Name; strings.HasPrefix(name, word) {
			out = append(out, Completion{Insert: name, Label: strings.TrimSpace(name + " " + c.Arguments), Detail: c.Description, Kind: "command"})
		}
	}
	return out
}

// specialMentions are what can be mentioned beside files and symbols.
var specialMentions = []struct{ name, words string }{
	{"selection", "what is selected in the editor"},
	{"diagnostics", "what the language servers report"},
	{"diff", "what differs from the last commit"},
	{"url:", "a page, fetched with your permission"},
	{"symbol:", "the definition of a symbol"},
}

// mentions are what a word after @ may become: the special ones, files whose
// name begins with it, symbols, then paths that hold it.
func (e *Engine) mentions(ctx context.Context, word string) []Completion {
	var out, rest []Completion
	lower := strings.ToLower(word)
	for _, m := range specialMentions {
		if strings.HasPrefix(m.name, lower) {
			out = append(out, Completion{Insert: "@" + m.name, Label: "@" + m.name, Detail: m.words, Kind: "mention"})
		}
	}
	if name, ok := strings.CutPrefix(word, "symbol:"); ok {
		return e.symbolCompletions(name, "@symbol:")
	}
	for _, p := range e.parts.Paths(ctx) {
		low := strings.ToLower(p)
		c := Completion{Insert: "@" + p, Label: p, Kind: "file"}
		switch {
		case strings.HasPrefix(low[strings.LastIndex(low, "/")+1:], lower):
			out = append(out, c)
		case strings.Contains(low, lower) && len(rest) < completionsMax:
			rest = append(rest, c)
		}
		if len(out) >= completionsMax {
			return out
		}
	}
	if len(word) >= symbolLettersMin {
		out = append(out, e.symbolCompletions(word, "@symbol:")...)
	}
	return append(out, rest...)
}

// Symbols are proposed from this many letters on.
const (
	symbolLettersMin = 2
	symbolsProposed  = 15
)

func (e *Engine) symbolCompletions(name, prefix string) []Completion {
	out := []Completion{}
	seen := map[string]bool{}
	if name == "" {
		return out
	}
	for _, s := range e.parts.Index.Symbols(name, symbolsProposed) {
		if !seen[s.Name] {
			seen[s.Name] = true
			out = append(out, Completion{Insert: prefix + s.Name, Label: s.Name, Detail: fmt.Sprintf("%s %s:%d", s.Kind, s.Path, s.StartLine), Kind: "symbol"})
		}
	}
	return out
}
