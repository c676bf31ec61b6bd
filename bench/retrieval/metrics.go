package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Result is one span that a method returned. No lines means the whole file.
type Result struct {
	Path  string  `json:"path"`
	Start int     `json:"start_line,omitempty"`
	End   int     `json:"end_line,omitempty"`
	Score float64 `json:"score"`
}

// Score is one case, measured.
type Score struct {
	ID, Repo, Hint          string
	R5, R10, R20, MRR       float64 // of files
	Hit10, All10, Impl10    float64
	File4K, Span4K          float64 // found within 4,000 tokens of results
	TokensToFile, TokToSpan float64 // Inf when never
	Seconds                 float64 // with re-indexing after the tree moved
	QueryMS                 float64
	Ranks                   map[string]int
	Plan                    planShares
	Filled                  planShares
	First                   bool // the first case of a repository, which pays for all of the index
}

const (
	tokenBudget = 4000
	tokenStop   = 200_000 // results after that many tokens are counted by file only
	spanSlack   = 2       // lines
)

func tokens(s string) int { return (len(s) + 3) / 4 }

// measure holds results against a case, whose files read gives.
func measure(c Case, rs []Result, read func(string) ([]byte, error)) Score {
	s := Score{ID: c.ID, Repo: c.Repo, Hint: c.Hint, Ranks: map[string]int{}, TokensToFile: math.Inf(1), TokToSpan: math.Inf(1)}
	rank := map[string]int{}
	fileAt, spanAt := map[string]int{}, map[string]int{}
	texts := map[string][]string{}
	used := 0
	for _, r := range rs {
		if !eligible(r.Path) {
			continue
		}
		if rank[r.Path] == 0 {
			rank[r.Path] = len(rank) + 1
		}
		if used > tokenStop {
			continue
		}
		if texts[r.Path] == nil {
			b, _ := read(r.Path)
			texts[r.Path] = strings.Split(string(b), "\n")
		}
		from, to := r.Start, r.End
		if from == 0 || to == 0 {
			from, to = 1, len(texts[r.Path])
		}
		to = min(to, len(texts[r.Path]))
		from = min(from, to+1)
		used += tokens(strings.Join(texts[r.Path][from-1:to], "\n")) + tokens(r.Path) + 3
		if !slices.Contains(c.Relevant, r.Path) {
			continue
		}
		if fileAt[r.Path] == 0 {
			fileAt[r.Path] = used
		}
		for _, sp := range c.Spans[r.Path] {
			if spanAt[r.Path] == 0 && from <= sp[1]+spanSlack && to >= sp[0]-spanSlack {
				spanAt[r.Path] = used
			}
		}
	}
	share := func(want []string, ok func(string) bool) float64 {
		n := 0.0
		for _, p := range want {
			if ok(p) {
				n++
			}
		}
		return n / float64(max(1, len(want)))
	}
	at := func(k int) func(string) bool { return func(p string) bool { return rank[p] > 0 && rank[p] <= k } }
	within := func(m map[string]int) func(string) bool {
		return func(p string) bool { return m[p] > 0 && m[p] <= tokenBudget }
	}
	for _, p := range c.Relevant {
		s.Ranks[p] = rank[p]
		if rank[p] > 0 {
			s.MRR = max(s.MRR, 1/float64(rank[p]))
		}
		if fileAt[p] > 0 {
			s.TokensToFile = min(s.TokensToFile, float64(fileAt[p]))
		}
		if spanAt[p] > 0 {
			s.TokToSpan = min(s.TokToSpan, float64(spanAt[p]))
		}
	}
	s.R5, s.R10, s.R20 = share(c.Relevant, at(5)), share(c.Relevant, at(10)), share(c.Relevant, at(20))
	s.Impl10 = share(c.RelevantImpl, at(10))
	if s.R10 > 0 {
		s.Hit10 = 1
	}
	if s.R10 == 1 {
		s.All10 = 1
	}
	s.File4K, s.Span4K = share(c.Relevant, within(fileAt)), share(c.Relevant, within(spanAt))
	return s
}

func mean(ss []Score, f func(Score) float64) float64 {
	t := 0.0
	for _, s := range ss {
		t += f(s)
	}
	return t / float64(max(1, len(ss)))
}

func quantile(ss []Score, q float64, f func(Score) float64) float64 {
	if len(ss) == 0 {
		return 0
	}
	var xs []float64
	for _, s := range ss {
		xs = append(xs, f(s))
	}
	slices.Sort(xs)
	return xs[min(len(xs)-1, int(q*float64(len(xs))))]
}

const tableHead = "| method | n | R@5 | R@10 | R@20 | MRR | Hit@10 | All@10 | impl R@10 | file@4k | span@4k | tokens to 1st file | query ms p50 | p95 |\n" +
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"

func tableRow(name string, ss []Score) string {
	m := func(f func(Score) float64) string { return fmt.Sprintf("%.3f", mean(ss, f)) }
	cells := []string{name, fmt.Sprint(len(ss)),
		m(func(s Score) float64 { return s.R5 }), m(func(s Score) float64 { return s.R10 }), m(func(s Score) float64 { return s.R20 }),
		m(func(s Score) float64 { return s.MRR }), m(func(s Score) float64 { return s.Hit10 }), m(func(s Score) float64 { return s.All10 }),
		m(func(s Score) float64 { return s.Impl10 }), m(func(s Score) float64 { return s.File4K }), m(func(s Score) float64 { return s.Span4K }),
		fmt.Sprintf("%.0f", quantile(ss, .5, func(s Score) float64 { return s.TokensToFile })),
		fmt.Sprintf("%.1f", quantile(ss, .5, func(s Score) float64 { return s.QueryMS })),
		fmt.Sprintf("%.1f", quantile(ss, .95, func(s Score) float64 { return s.QueryMS }))}
	return "| " + strings.Join(cells, " | ") + " |"
}

const planHead = "| method | n | 4k tokens | 8k | 16k |\n| --- | --- | --- | --- | --- |"

func planRow(name string, ss []Score, f func(Score) planShares) string {
	cells := []string{name, fmt.Sprint(len(ss))}
	for i := range planBudgets {
		cells = append(cells, fmt.Sprintf("%.3f", mean(ss, func(s Score) float64 { return f(s)[i] })))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}
