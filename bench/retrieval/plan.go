package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/rag"
)

// What counts in the end is what the model sees: the share of the lines that the change
// touched which are inside a plan. Our plan is made as a turn's is, a RetrievalSet made
// candidates among which the planner chooses; the others are filled by plain rank.

// planBudgets are the tokens that a plan may have.
var planBudgets = [...]int{4000, 8000, 16000}

// What a plan pays for beside the text itself, in bytes: see agent.EvidenceCandidates.
const (
	numberBytes = 7  // a line's number
	spanBytes   = 50 // the marks around a span
)

// planShares is the share of the changed lines inside a plan, by budget.
type planShares [len(planBudgets)]float64

// fileReader reads lines of files, each file once.
type fileReader struct {
	read  func(string) ([]byte, error)
	files map[string][]string
}

func newFileReader(read func(string) ([]byte, error)) *fileReader {
	return &fileReader{read, map[string][]string{}}
}

func (r *fileReader) all(p string) []string {
	if _, ok := r.files[p]; !ok {
		b, _ := r.read(p) // what can't be read has no lines
		r.files[p] = strings.SplitAfter(string(b), "\n")
	}
	return r.files[p]
}

func (r *fileReader) lines(p string, start, end int) (string, int, bool) {
	all := r.all(p)
	if start < 1 || start > len(all) {
		return "", 0, false
	}
	return strings.Join(all[start-1:min(end, len(all))], ""), start, true
}

// planned asks for a RetrievalSet for each budget, and plans.
func planned(ctx context.Context, x *rag.Index, c Case, text string, read func(string) ([]byte, error)) (planShares, error) {
	var out planShares
	r := newFileReader(read)
	for i, room := range planBudgets {
		set, err := x.Search(ctx, rag.Query{Text: text, K: agent.EvidenceItems(room)})
		if err != nil {
			return out, err
		}
		in := contextplan.Input{Budget: contextplan.Budget{ContextWindow: room}, Candidates: agent.EvidenceCandidates(set.Items, r.lines, tokens)}
		plan, err := contextplan.Build(in)
		if err != nil {
			return out, fmt.Errorf("plan %s: %w", c.ID, err)
		}
		spans := map[string]contextplan.Span{}
		for _, x := range in.Candidates {
			spans[x.ID] = *x.Span
		}
		shown := shownLines{}
		for _, it := range plan.Included {
			s := spans[it.ID]
			shown.add(s.Path, s.Start, s.End)
		}
		out[i] = shown.share(c)
	}
	return out, nil
}

// filled takes results in the order of their rank while there is room; the first that
// does not fit is cut, and ends it.
func filled(c Case, rs []Result, read func(string) ([]byte, error)) planShares {
	var out planShares
	r := newFileReader(read)
	for i, room := range planBudgets {
		shown, left := shownLines{}, 4*room
		for _, x := range rs {
			all := r.all(x.Path)
			from, to := x.Start, x.End
			if from == 0 || to == 0 {
				from, to = 1, len(all)
			}
			left -= tokens(x.Path)*4 + spanBytes
			last := from - 1
			for last < min(to, len(all)) && left > 0 {
				last++
				left -= len(all[last-1]) + numberBytes
			}
			shown.add(x.Path, from, last)
			if left <= 0 {
				break
			}
		}
		out[i] = shown.share(c)
	}
	return out
}

// shownLines are the lines that a plan has, by path.
type shownLines map[string]map[int]bool

func (s shownLines) add(p string, start, end int) {
	if s[p] == nil {
		s[p] = map[int]bool{}
	}
	for n := start; n <= end; n++ {
		s[p][n] = true
	}
}

// share is over all changed lines of the case, of all its files together.
func (s shownLines) share(c Case) float64 {
	have, all := 0, 0
	for p, spans := range c.Spans {
		for _, sp := range spans {
			for n := sp[0]; n <= sp[1]; n++ {
				all++
				if s[p][n] {
					have++
				}
			}
		}
	}
	return float64(have) / float64(max(1, all))
}
