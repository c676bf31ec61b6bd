package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"
)

//go:embed search.md
var searchWords string

// Limits of one search.
const (
	searchDefault   = 10
	searchMax       = 50
	searchTextLines = 12 // lines of a hit that are shown
	searchQueryMax  = 2000
	indexTimeout    = 10 * time.Second
)

type searchIn struct {
	Query string `json:"query" jsonschema:"what to find: words, identifiers, a question"`
	Limit int    `json:"limit,omitempty" jsonschema:"most results, 10 when left out"`
}

// Search asks the workspace's index, which ranks by meaning and not only by
// text.
func Search() Tool {
	return Typed(Spec{
		Name: "search", Description: searchWords, Category: CategorySearch, ReadOnly: true,
		Timeout: indexTimeout, OutputMax: 32 << 10,
	}, func(in searchIn) string { return `"` + in.Query + `"` }, runSearch)
}

func runSearch(ctx context.Context, env Env, in searchIn) Result {
	if strings.TrimSpace(in.Query) == "" || len(in.Query) > searchQueryMax || in.Limit < 0 {
		return Fail(fmt.Sprintf("search: query must be 1 to %d bytes, limit not negative", searchQueryMax), "bad arguments")
	}
	if env.Search == nil {
		return noIndex("search")
	}
	hits, set, err := env.Search.Search(ctx, in.Query, min(cmp.Or(in.Limit, searchDefault), searchMax))
	if err != nil {
		return failErr("search", err)
	}
	if len(hits) == 0 {
		return Result{Status: StatusOK, Text: "nothing found; try other words, or grep for exact text\n",
			Detail: Detail{Summary: "0 results"}}
	}
	var b strings.Builder
	var paths []string
	for _, h := range hits {
		at := fmt.Sprintf("%s:%d-%d", h.Path, h.StartLine, h.EndLine)
		paths = append(paths, at)
		b.WriteString(at)
		for _, s := range []string{h.Symbol, h.Why} {
			if s != "" {
				b.WriteString("  " + oneLine(s, titleMax))
			}
		}
		b.WriteByte('\n')
		lines := splitLines(toUnix(h.Text).text).lines
		for i, l := range lines[:min(len(lines), searchTextLines)] {
			fmt.Fprintf(&b, "%6d\t%s\n", h.StartLine+i, clip(strings.ToValidUTF8(l, "\ufffd"), grepLineMax))
		}
		if len(lines) > searchTextLines {
			fmt.Fprintf(&b, "      \t… %d more lines\n", len(lines)-searchTextLines)
		}
	}
	if set != "" {
		fmt.Fprintf(&b, "[%s]\n", set)
	}
	return Result{Status: StatusOK, Text: b.String(),
		Detail: Detail{Summary: count(len(hits), "result"), Matches: len(hits), Paths: firstPaths(paths)}}
}

func noIndex(tool string) Result {
	r := Fail(tool+": this workspace has no index; use grep and find", "no index")
	r.Detail.Blocked = true
	return r
}
