package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed symbols.md
var symbolsWords string

// Limits of symbols and references.
const (
	locationsDefault = 50
	locationsMax     = 500
	symbolNameMax    = 300
)

type symbolsIn struct {
	Query string `json:"query" jsonschema:"a name or part of one"`
	Limit int    `json:"limit,omitempty" jsonschema:"most results, 50 when left out"`
}

// Symbols finds definitions by name.
func Symbols() Tool {
	return Typed(Spec{
		Name: "symbols", Description: symbolsWords, Category: CategorySearch, ReadOnly: true,
		Timeout: indexTimeout, OutputMax: 32 << 10,
	}, func(in symbolsIn) string { return in.Query }, runSymbols)
}

func runSymbols(ctx context.Context, env Env, in symbolsIn) Result {
	if err := checkName(in.Query, in.Limit); err != nil {
		return Fail("symbols: "+err.Error(), "bad arguments")
	}
	if env.Search == nil {
		return noIndex("symbols")
	}
	limit := min(cmp.Or(in.Limit, locationsDefault), locationsMax)
	found, err := env.Search.Symbols(ctx, in.Query, limit)
	if err != nil {
		return failErr("symbols", err)
	}
	return locations(found, limit, "no symbol like "+in.Query+"; try grep")
}

func checkName(name string, limit int) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("the name is empty")
	case len(name) > symbolNameMax:
		return fmt.Errorf("the name is %d bytes long, the limit is %d", len(name), symbolNameMax)
	case limit < 0:
		return fmt.Errorf("limit must not be negative")
	}
	return nil
}

// locations writes places one a line.
func locations(found []Location, limit int, none string) Result {
	if len(found) == 0 {
		return Result{Status: StatusOK, Text: none + "\n", Detail: Detail{Summary: "0 places"}}
	}
	var b strings.Builder
	var paths []string
	more := len(found) > limit
	found = found[:min(len(found), limit)]
	for _, l := range found {
		at := fmt.Sprintf("%s:%d", l.Path, l.Line)
		paths = append(paths, at)
		fmt.Fprintf(&b, "%s:%d", at, l.Col)
		if l.Kind != "" {
			b.WriteString(" " + l.Kind)
		}
		if l.Symbol != "" {
			b.WriteString(" in " + oneLine(l.Symbol, titleMax))
		}
		fmt.Fprintf(&b, ": %s\n", clip(strings.TrimSpace(strings.ToValidUTF8(l.Text, "\ufffd")), grepLineMax))
	}
	if more {
		fmt.Fprintf(&b, "[the first %d]\n", limit)
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: Detail{
		Summary: count(len(found), "place"), Matches: len(found), Paths: firstPaths(paths), Truncated: more}}
}
