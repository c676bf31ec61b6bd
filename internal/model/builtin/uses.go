package builtin

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// askUses answers "who calls X": every use by the index and by text, with the
// definition that each stands in.
func (r *run) askUses(it intent, q question) (string, bool) {
	path := r.scopePath(q)
	calls := []call{r.grep(`\b`+regexp.QuoteMeta(it.old)+`\b`, path, false, grepLimit*2)}
	if r.box.has("references") {
		calls = append(calls, r.references(it.old, referencesMax))
	}
	got, ok := r.do("I'll look for the uses of `"+it.old+"`.", calls...)
	if !ok {
		return "", false
	}
	uses, defs, other := sortUses(it.old, got, q)
	if len(uses)+len(defs)+len(other) == 0 {
		return nothingFound(it, q, failures(r, calls)), true
	}

	// Read round the uses: to see them stand there, and what they stand in.
	c := newCorpus()
	var reads []call
	if r.box.has("read") {
		for _, w := range useWindows(clipList2(uses, citationsMax)) {
			reads = append(reads, r.read(w.path, max2(1, w.from-useReach), w.to-max2(1, w.from-useReach)+3))
		}
	}
	if len(reads) > 0 {
		if got, ok = r.do("Reading the places to see what they stand in.", clipCalls(reads, callsPerRound)...); !ok {
			return "", false
		}
		for _, g := range got {
			c.take(g)
		}
	}
	return usesAnswer(it.old, uses, defs, other, c), true
}

const useReach = 60 // lines above a use that are read to find what it stands in

// sortUses tells uses in code from definitions and from mentions in comments
// and strings.
func sortUses(name string, got []result, q question) (uses, defs, other []line) {
	whole := regexp.MustCompile(`(?:^|[^\p{L}\d_$])(` + regexp.QuoteMeta(name) + `)(?:$|[^\p{L}\d_$])`)
	seen := map[string]bool{}
	for _, g := range got {
		if g.failed {
			continue
		}
		for _, p := range places(g.text) {
			key := fmt.Sprintf("%s:%d", p.path, p.n)
			if seen[key] || !q.steer.allows(p.path) || !within(p.path, q.scope) || !whole.MatchString(p.text) {
				continue
			}
			seen[key] = true
			defined, _, isDef := definition(p.path, p.text)
			switch {
			case isDef && defined == name, p.kind == "definition":
				defs = append(defs, p.line)
			case isComment(p.path, p.text), !inCode(p.path, p.text, name):
				other = append(other, p.line)
			default:
				uses = append(uses, p.line)
			}
		}
	}
	arrange := func(list []line) {
		sort.SliceStable(list, func(i, j int) bool {
			a, b := list[i], list[j]
			if pa, pb := prior(a.path, q.aboutTests), prior(b.path, q.aboutTests); pa != pb {
				return pa > pb
			}
			if a.path != b.path {
				return a.path < b.path
			}
			return a.n < b.n
		})
	}
	arrange(uses)
	arrange(defs)
	arrange(other)
	return uses, defs, other
}

// useWindows joins uses that stand close together.
func useWindows(uses []line) []window {
	var out []window
	for _, u := range uses {
		if k := len(out) - 1; k >= 0 && out[k].path == u.path && u.n <= out[k].to+windowReach {
			out[k].to = u.n
			continue
		}
		out = append(out, window{path: u.path, from: u.n, to: u.n})
	}
	return out
}

func usesAnswer(name string, uses, defs, other []line, c *corpus) string {
	var b strings.Builder
	files := map[string]bool{}
	callers := []string{}
	for _, u := range uses {
		files[u.path] = true
		if d, ok := c.file(u.path).enclosing(u.n); ok && d.name != name {
			callers = append(callers, "`"+d.String()+"`")
		}
	}
	callers = unique(callers)
	switch {
	case len(uses) == 0:
		fmt.Fprintf(&b, "I found no use of `%s` in code.\n\n", name)
	case len(callers) > 0 && len(callers) <= 5:
		fmt.Fprintf(&b, "`%s` is used in %s: %s in %s.\n\n", name, joinAnd(callers), plural(len(uses), "place"), plural(len(files), "file"))
	default:
		fmt.Fprintf(&b, "`%s` is used at %s in %s.\n\n", name, plural(len(uses), "place"), plural(len(files), "file"))
	}
	for i, u := range uses {
		if i == citationsMax*2 {
			fmt.Fprintf(&b, "- … and %d more\n", len(uses)-i)
			break
		}
		s := scored{line: u}
		s.scope, _ = c.file(u.path).enclosing(u.n)
		b.WriteString(citation(s))
	}
	for i, d := range defs {
		if i == 3 {
			break
		}
		fmt.Fprintf(&b, "- %s:%d — `%s` (defined here)\n", d.path, d.n, clip(strings.TrimSpace(d.text), lineMax))
	}
	if len(other) > 0 {
		fmt.Fprintf(&b, "\nBesides, %s in comments or strings, the first at %s:%d.\n", plural(len(other), "mention"), other[0].path, other[0].n)
	}
	return strings.TrimRight(b.String(), "\n")
}

func clipList2(list []line, n int) []line {
	if len(list) > n {
		return list[:n]
	}
	return list
}

func clipCalls(list []call, n int) []call {
	if len(list) > n {
		return list[:n]
	}
	return list
}
