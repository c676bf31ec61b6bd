package agent

import (
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/rag"
)

// A short span says where, and not enough of what: where there is room, its definition or
// page takes its place, and a good file of moderate length is shown whole. What the larger
// pieces are worth beside the span itself was chosen by how many changed lines of real
// commits are in plans (see bench/retrieval), on other repositories than are reported.
const (
	aroundShare = .6
	wholeShare  = .5
	wholeFiles  = 6   // only of the best
	wholeLines  = 800 // not longer
)

// Sizes of a turn's RetrievalSet.
const (
	evidenceItemsMin   = 24
	evidenceItemTokens = 160 // of its room for each item: the rest goes to what is around the best
)

// lineReader gives the text of lines, 1-based and inclusive, and where it begins now: the
// file may have changed since it was indexed. It is not ok when there is nothing there.
type lineReader = func(path string, start, end int) (text string, at int, ok bool)

// EvidenceCandidates makes candidates for a plan of a RetrievalSet's items, from which
// contextplan.Build chooses what a budget has room for: each span, and, worth less, what
// it is a part of. What read does not find is left out; tokens estimates the size of a text.
func EvidenceCandidates(items []rag.Item, read lineReader, tokens func(string) int) []contextplan.Candidate {
	list := evidenceSnippets(items, read)
	out := make([]contextplan.Candidate, len(list))
	for i, s := range list {
		out[i] = s.candidate(contextplan.Retrieval, tokens(evidenceText(s))+messageOverheadTokens)
		out[i].Seq = i
	}
	return out
}

// EvidenceItems is how many items to ask a RetrievalSet for that is to fill so many tokens.
func EvidenceItems(room int) int {
	return min(max(evidenceItemsMin, room/evidenceItemTokens), rag.MaxK)
}

// evidenceSnippets reads the items and what is around them.
func evidenceSnippets(items []rag.Item, read lineReader) []snippet {
	var out []snippet
	type span struct {
		path       string
		start, end int
	}
	seen := map[span]bool{}
	add := func(it rag.Item) {
		text, from, ok := read(it.Path, it.StartLine, it.EndLine)
		if !ok {
			return
		}
		it.StartLine, it.EndLine = from, from+lineCount(text)-1
		at := span{it.Path, it.StartLine, it.EndLine}
		if seen[at] {
			return
		}
		seen[at] = true
		it.ContentHash = hashOf(strings.TrimSuffix(text, "\n"))
		out = append(out, snippet{item: it, text: text})
	}
	for _, it := range items {
		add(it)
	}
	whole := map[string]bool{}
	for _, it := range items {
		if a := it.Around; a != nil {
			wider := it
			wider.StartLine, wider.EndLine, wider.Score, wider.Around = a.StartLine, a.EndLine, it.Score*aroundShare, nil
			add(wider)
		}
		if len(whole) == wholeFiles || whole[it.Path] {
			continue
		}
		whole[it.Path] = true
		if _, _, longer := read(it.Path, wholeLines+1, wholeLines+1); !longer {
			it.StartLine, it.EndLine, it.Score, it.Around, it.Symbol = 1, wholeLines, it.Score*wholeShare, nil, ""
			add(it)
		}
	}
	return out
}

func lineCount(text string) int { return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1 }

// candidate is the snippet as the planner sees it; the caller says when it expires.
func (s snippet) candidate(section contextplan.Section, tokens int) contextplan.Candidate {
	it := s.item
	return contextplan.Candidate{
		ID: fmt.Sprintf("%s:%s:%d-%d", section, it.Path, it.StartLine, it.EndLine), Section: section, Tokens: tokens, Score: it.Score,
		Span:        &contextplan.Span{Path: it.Path, Start: it.StartLine, End: it.EndLine},
		ContentHash: hashOf(it.Path + "\x00" + s.text),
	}
}

// chooseEvidence lets the planner choose what goes into so many tokens, best first.
func chooseEvidence(list []snippet, room int, tokens func(string) int) ([]snippet, error) {
	in := contextplan.Input{Budget: contextplan.Budget{ContextWindow: room}}
	at := map[string]int{}
	for i, s := range list {
		c := s.candidate(contextplan.Retrieval, tokens(s.text))
		c.Seq = i
		at[c.ID] = i
		in.Candidates = append(in.Candidates, c)
	}
	plan, err := contextplan.Build(in)
	if err != nil {
		return nil, err
	}
	out := make([]snippet, 0, len(plan.Included))
	for _, x := range plan.Included {
		out = append(out, list[at[x.ID]])
	}
	return out, nil
}
