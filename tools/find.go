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

//go:embed find.md
var findWords string

// Limits of one find.
const (
	findDefault = 200
	findMax     = 2000
	walkMax     = 500000 // files visited by one call of find or grep
	ctxEvery    = 1024   // files visited between two looks at ctx
)

type findIn struct {
	Pattern string `json:"pattern" jsonschema:"glob: * and ? within a name, ** over folders, {a,b}; without a slash it matches names at any depth"`
	Path    string `json:"path,omitempty" jsonschema:"folder to look in; the workspace when left out"`
	Limit   int    `json:"limit,omitempty" jsonschema:"most results, 200 when left out"`
}

// Find lists files and folders whose path fits a glob.
func Find() Tool {
	return Typed(Spec{
		Name: "find", Description: findWords, Category: CategoryRead, ReadOnly: true, OutputMax: 128 << 10,
	}, func(in findIn) string {
		if in.Path != "" {
			return in.Pattern + " in " + in.Path
		}
		return in.Pattern
	}, runFind)
}

func runFind(ctx context.Context, env Env, in findIn) Result {
	glob, err := CompileGlob(in.Pattern)
	if err != nil || in.Limit < 0 {
		return Fail(fmt.Sprintf("find: %v", cmp.Or(err, fmt.Errorf("limit must not be negative"))), "bad arguments")
	}
	limit := min(cmp.Or(in.Limit, findDefault), findMax)
	dir := cmp.Or(in.Path, ".")
	var found []string
	folders := map[string]bool{}
	files, more := 0, false
	err = env.Files.Walk(ctx, dir, func(info Info) bool {
		files++
		if files%ctxEvery == 0 && ctx.Err() != nil {
			return false
		}
		rel := below(dir, info.Path)
		for d := path.Dir(rel); d != "." && d != "/" && !folders[d]; d = path.Dir(d) {
			folders[d] = true
			if glob.Match(d) {
				found = append(found, within(dir, info.Path, d)+"/")
			}
		}
		if glob.Match(rel) {
			found = append(found, info.Path)
		}
		more = len(found) > limit || files >= walkMax
		return !more
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return failErr("find", err)
	}
	slices.Sort(found)
	shown := found[:min(len(found), limit)]
	d := Detail{Summary: matchCount(len(shown), more), Matches: len(shown), Paths: firstPaths(shown), Truncated: more}
	if len(shown) == 0 {
		text := fmt.Sprintf("nothing fits %q among %s", in.Pattern, count(files, "file"))
		if more {
			text += " (the limit of one call; give a path)"
		}
		return Result{Status: StatusOK, Text: text + "\n", Detail: d}
	}
	text := strings.Join(shown, "\n") + "\n"
	if more {
		text += fmt.Sprintf("[the first %d; narrow the pattern or give path or limit (at most %d)]\n", len(shown), findMax)
	}
	return Result{Status: StatusOK, Text: text, Detail: d}
}

// below gives a path relative to the folder that was walked.
func below(dir, p string) string {
	dir = path.Clean(dir)
	if dir == "." {
		return p
	}
	if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(strings.TrimPrefix(dir, "./"), "/")+"/"); ok {
		return rest
	}
	return p
}

// within undoes below for a folder on the way to a file.
func within(dir, file, folder string) string {
	return strings.TrimSuffix(file, below(dir, file)) + folder
}

func matchCount(n int, more bool) string {
	if more {
		return fmt.Sprintf("%d+ matches", n)
	}
	return count(n, "match")
}

// detailPathsMax bounds the paths that a result names to people.
const detailPathsMax = 20

func firstPaths(paths []string) []string {
	return slices.Clone(paths[:min(len(paths), detailPathsMax)])
}
