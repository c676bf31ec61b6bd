package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed diagnostics.md
var diagnosticsWords string

// diagnosticsMax bounds the problems in one answer.
const diagnosticsMax = 100

// Diagnostic is one problem that a language server reports.
type Diagnostic struct {
	Path      string
	Line, Col int    // 1-based; Col in characters
	Severity  string // "error", "warning", "info", "hint"
	Message   string
	Source    string // "gopls", "eslint"
}

// Diagnoser gives what the editor's language servers report now, for one file
// or folder, or for all ("").
type Diagnoser interface {
	Diagnostics(ctx context.Context, path string) ([]Diagnostic, error)
}

type diagnosticsIn struct {
	Path string `json:"path,omitempty" jsonschema:"file or folder; everything when left out"`
}

// Diagnostics shows the problems that the editor shows; where none reports any,
// what our own parsers find.
func Diagnostics(from Diagnoser) Tool {
	return Typed(Spec{
		Name: "diagnostics", Description: diagnosticsWords, Category: CategoryRead, ReadOnly: true,
		Timeout: indexTimeout, OutputMax: 32 << 10,
	}, func(in diagnosticsIn) string { return in.Path }, func(ctx context.Context, env Env, in diagnosticsIn) Result {
		found, err := from.Diagnostics(ctx, in.Path)
		switch {
		case ctx.Err() != nil:
			return cancelled()
		case err != nil:
			return syntaxCheck(ctx, env, cmp.Or(in.Path, "."), err)
		}
		return diagnosticsResult(found)
	})
}

func diagnosticsResult(found []Diagnostic) Result {
	found = slices.Clone(found)
	severities := []string{"error", "warning", "info", "hint"}
	slices.SortStableFunc(found, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Message, b.Message))
	})
	if len(found) == 0 {
		return Result{Status: StatusOK, Text: "no problems are reported\n", Detail: Detail{Summary: "no problems"}}
	}
	var b strings.Builder
	var paths []string
	for _, d := range found[:min(len(found), diagnosticsMax)] {
		at := fmt.Sprintf("%s:%d", d.Path, d.Line)
		paths = append(paths, at)
		fmt.Fprintf(&b, "%s:%d %s: %s", at, d.Col, d.Severity, oneLine(d.Message, grepLineMax))
		if d.Source != "" {
			fmt.Fprintf(&b, " [%s]", d.Source)
		}
		b.WriteByte('\n')
	}
	d := Detail{Summary: count(len(found), "problem"), Matches: len(found), Paths: firstPaths(paths)}
	if len(found) > diagnosticsMax {
		d.Truncated = true
		fmt.Fprintf(&b, "[the first %d of %d; give a path]\n", diagnosticsMax, len(found))
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: d}
}
