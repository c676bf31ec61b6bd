package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed ls.md
var lsWords string

// lsMax bounds the entries of one answer.
const lsMax = 500

type lsIn struct {
	Path string `json:"path,omitempty" jsonschema:"folder, relative to the workspace; the workspace itself when left out"`
}

// Ls lists one folder.
func Ls() Tool {
	return Typed(Spec{
		Name: "ls", Description: lsWords, Category: CategoryRead, ReadOnly: true, OutputMax: 32 << 10,
	}, func(in lsIn) string { return cmp.Or(in.Path, ".") }, runLs)
}

func runLs(ctx context.Context, env Env, in lsIn) Result {
	dir := cmp.Or(in.Path, ".")
	entries, err := env.Files.List(ctx, dir)
	if err != nil {
		return failErr("ls", err)
	}
	entries = slices.Clone(entries)
	slices.SortFunc(entries, func(a, b Info) int {
		if a.Dir != b.Dir {
			if a.Dir {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	var b strings.Builder
	for _, e := range entries[:min(len(entries), lsMax)] {
		switch name := path.Base(e.Path); {
		case e.Dir:
			fmt.Fprintf(&b, "%s/\n", name)
		case e.Link:
			fmt.Fprintf(&b, "%s@\n", name)
		default:
			fmt.Fprintf(&b, "%s  %s\n", name, size(e.Size))
		}
	}
	d := Detail{Summary: entryCount(len(entries)), Paths: []string{dir}, Matches: len(entries)}
	if len(entries) == 0 {
		b.WriteString("(empty folder)\n")
	}
	if len(entries) > lsMax {
		d.Truncated = true
		fmt.Fprintf(&b, "[%d of %d entries; use find with a pattern]\n", lsMax, len(entries))
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: d}
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
