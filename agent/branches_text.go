package agent

import (
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/contextplan"
)

// compareCells is the width of one side of a comparison.
const compareCells = 36

// CompareText is two branches side by side for a terminal: what each was asked,
// found, planned, did, used and said, then where they differ, then the diffs.
func CompareText(c *BranchComparison) string {
	var b strings.Builder
	row := func(label, left, right string) {
		fmt.Fprintf(&b, "%-9s %s  %s\n", label, cell(left), strings.TrimRight(cell(right), " "))
	}
	row("", c.A.Branch.Name, c.B.Branch.Name)
	row("asked", firstLine(c.A.Input), firstLine(c.B.Input))
	row("found", foundText(c.A, len(c.OnlyA)), foundText(c.B, len(c.OnlyB)))
	row("plan", planCell(c.A), planCell(c.B))
	row("did", callsText(c.A.Calls), callsText(c.B.Calls))
	row("used", usageText(c.A.Usage), usageText(c.B.Usage))
	row("said", saidText(c.A), saidText(c.B))
	row("changed", changedText(c.A.Diffs), changedText(c.B.Diffs))
	for _, x := range []struct {
		name string
		list []string
	}{{c.A.Branch.Name, c.OnlyA}, {c.B.Branch.Name, c.OnlyB}} {
		if len(x.list) > 0 {
			fmt.Fprintf(&b, "\nfound for %s only\n  %s\n", x.name, strings.Join(x.list, "\n  "))
		}
	}
	if c.Plans != nil {
		b.WriteString("\n" + contextplan.DiffText(*c.Plans, nil))
	}
	for _, side := range []BranchSide{c.A, c.B} {
		for _, d := range side.Diffs {
			fmt.Fprintf(&b, "\n%s: %s\n%s\n", side.Branch.Name, d.Path, strings.TrimRight(d.Diff, "\n"))
		}
	}
	return b.String()
}

// cell fits a text into one side.
func cell(s string) string {
	r := []rune(s)
	if len(r) > compareCells {
		r = append(r[:compareCells-1], '…')
	}
	return string(r) + strings.Repeat(" ", compareCells-len(r))
}

func foundText(s BranchSide, only int) string {
	return fmt.Sprintf("%d items, %d of them here only", len(s.Evidence), only)
}

func planCell(s BranchSide) string {
	if s.PlanID == "" {
		return "none"
	}
	return contextplan.ShortID(s.PlanID)
}

// callsText counts calls by tool, in the order of their first use.
func callsText(list []TraceCall) string {
	var names []string
	count := map[string]int{}
	for _, c := range list {
		if count[c.Tool]++; count[c.Tool] == 1 {
			names = append(names, c.Tool)
		}
	}
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", n, count[n])
	}
	if len(names) == 0 {
		return "no calls"
	}
	return strings.Join(names, " · ")
}

func usageText(list []UsageReport) string {
	in, out, ms, cost := 0, 0, int64(0), 0.0
	for _, u := range list {
		in, out, ms, cost = in+u.Input, out+u.Output, ms+u.MS, cost+u.CostUSD
	}
	text := fmt.Sprintf("%d calls · %s in, %s out · %.1f s", len(list), contextplan.Short(in), contextplan.Short(out), float64(ms)/1000)
	if cost > 0 {
		text += fmt.Sprintf(" · $%.2f", cost)
	}
	return text
}

func saidText(s BranchSide) string {
	switch {
	case s.TurnID == "":
		return "nothing was asked yet"
	case s.Outcome == nil || s.Outcome.Response == nil:
		return "no answer yet"
	}
	return firstLine(s.Outcome.Response.Content)
}

func changedText(list []BranchDiff) string {
	added, removed := 0, 0
	for _, d := range list {
		added, removed = added+d.Added, removed+d.Removed
	}
	return fmt.Sprintf("%d files, +%d −%d", len(list), added, removed)
}
