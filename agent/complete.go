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
		for _, c := range stateCommands() {
			if strings.HasPrefix(c.name, word) {
				out.Items = append(out.Items, Completion{Insert: c.name, Label: strings.TrimSpace(c.name + " " + c.args), Detail: c.words, Kind: "command"})
			}
		}
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

// tags say which tools a turn may have.
var tags = []struct{ name, words string }{
	{"#planning", "this turn neither writes nor executes"},
}

// mentions are the workspace's paths that hold the word, files whose name
// begins with it first.
func (e *Engine) mentions(ctx context.Context, word string) []Completion {
	var first, rest []Completion
	lower := strings.ToLower(word)
	for _, p := range e.parts.Paths(ctx) {
		low := strings.ToLower(p)
		c := Completion{Insert: "@" + p, Label: p, Kind: "file"}
		switch {
		case strings.HasPrefix(low[strings.LastIndex(low, "/")+1:], lower):
			first = append(first, c)
		case strings.Contains(low, lower):
			rest = append(rest, c)
		}
		if len(first) >= completionsMax {
			break
		}
	}
	return append(first, rest...)
}
