package tools

import (
	"cmp"
	"context"
	_ "embed"
)

//go:embed references.md
var referencesWords string

type referencesIn struct {
	Name  string `json:"name" jsonschema:"the exact name of a function, type, method, variable…"`
	Limit int    `json:"limit,omitempty" jsonschema:"most references, 50 when left out"`
}

// References finds where a name is defined and where it is used.
func References() Tool {
	return Typed(Spec{
		Name: "references", Description: referencesWords, Category: CategorySearch, ReadOnly: true,
		Timeout: indexTimeout, OutputMax: 32 << 10,
	}, func(in referencesIn) string { return in.Name }, runReferences)
}

func runReferences(ctx context.Context, env Env, in referencesIn) Result {
	if err := checkName(in.Name, in.Limit); err != nil {
		return Fail("references: "+err.Error(), "bad arguments")
	}
	if env.Search == nil {
		return noIndex("references")
	}
	limit := min(cmp.Or(in.Limit, locationsDefault), locationsMax)
	defs, err := env.Search.Definitions(ctx, in.Name)
	if err != nil {
		return failErr("references", err)
	}
	refs, err := env.Search.References(ctx, in.Name, limit)
	if err != nil {
		return failErr("references", err)
	}
	return locations(dropDefinitions(defs, refs), limit, "no use of "+in.Name+" is known; try grep")
}

// dropDefinitions puts definitions first and lists no place twice.
func dropDefinitions(defs, refs []Location) []Location {
	type place struct {
		path string
		line int
	}
	seen := map[place]bool{}
	all := make([]Location, 0, len(defs)+len(refs))
	for _, d := range defs {
		d.Kind = cmp.Or(d.Kind, "definition")
		seen[place{d.Path, d.Line}] = true
		all = append(all, d)
	}
	for _, r := range refs {
		if !seen[place{r.Path, r.Line}] {
			all = append(all, r)
		}
	}
	return all
}
