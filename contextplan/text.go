package contextplan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the drawing, in cells.
const (
	barCells      = 24
	labelCellsMax = 48
)

// thinSpace separates thousands.
const thinSpace = "\u2009"

// Text draws the context view: the id, the budget bar with the sums of the sections, then what is in and what is out, in
// the order of sending. labels gives a candidate's name for people; nil, or "" for an id, means the id itself.
func Text(p Plan, labels func(id string) string) string {
	rows := make([]row, 0, len(p.Included)+len(p.Excluded))
	for _, item := range p.Included {
		rows = append(rows, newRow("in", item, labels))
	}
	for _, item := range p.Excluded {
		rows = append(rows, newRow("out", item, labels))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Plan %s · %d in · %d out\n", ShortID(p.PlanID), len(p.Included), len(p.Excluded))
	b.WriteString(bar(p) + "  " + Short(p.Budget.Estimated) + " of " + Short(p.Budget.Prompt))
	sums := sectionSums(p.Included)
	for n, section := range Sections() {
		if sums[n] > 0 {
			b.WriteString("   " + string(section) + " " + Short(sums[n]))
		}
	}
	b.WriteByte('\n')
	if o := p.Overflow; o != nil {
		fmt.Fprintf(&b, "⚠ overflow: %s was cut from %s to %s tokens\n", label(o.Candidate, labels), Thousands(o.From), Thousands(o.To))
	}
	writeRows(&b, rows)
	return b.String()
}

// ShortID is the first seven digits of a plan's hash, as people say it.
func ShortID(planID string) string {
	id := strings.TrimPrefix(planID, planIDPrefix)
	return id[:min(7, len(id))]
}

// Short says a number of tokens in little room: 612, 7.4k, 28.0k.
func Short(tokens int) string {
	switch {
	case tokens < 1000:
		return strconv.Itoa(tokens)
	case tokens < 999_950:
		return strconv.FormatFloat(float64(tokens)/1e3, 'f', 1, 64) + "k"
	}
	return strconv.FormatFloat(float64(tokens)/1e6, 'f', 1, 64) + "M"
}

// Thousands writes a number with thin separators.
func Thousands(n int) string {
	if n < 0 {
		return "-" + Thousands(-n)
	}
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + thinSpace + s[at:]
	}
	return s
}

func sectionSums(items []Item) [10]int {
	var sums [10]int
	for _, item := range items {
		if n := sectionRank(item.Section); n >= 0 {
			sums[n] += item.Tokens
		}
	}
	return sums
}

// bar shows the budget: █ what the conversation holds, ░ what retrieval found, ▒ focus, reflection and request, · free.
// What is there at all has a cell at least, as long as there are cells.
func bar(p Plan) string {
	var shares [3]int
	for n, sum := range sectionSums(p.Included) {
		switch {
		case n <= sectionRank(History):
			shares[0] += sum
		case n == sectionRank(Retrieval):
			shares[1] += sum
		default:
			shares[2] += sum
		}
	}
	var b strings.Builder
	left := barCells
	for n, glyph := range []string{"█", "░", "▒"} {
		cells := 0
		if shares[n] > 0 && p.Budget.Prompt > 0 {
			cells = min(max(1, int(float64(shares[n])/float64(p.Budget.Prompt)*barCells+0.5)), left)
		}
		b.WriteString(strings.Repeat(glyph, cells))
		left -= cells
	}
	return b.String() + strings.Repeat("·", left)
}

// row is one line of a table of items.
type row struct{ side, section, label, tokens, reason, detail string }

func newRow(side string, item Item, labels func(string) string) row {
	return row{side, string(item.Section), label(item.ID, labels), Thousands(item.Tokens), string(item.Reason), printable(item.Detail)}
}

func writeRows(b *strings.Builder, rows []row) {
	var side, section, label, tokens, reason int
	for _, r := range rows {
		side, section, label = max(side, width(r.side)), max(section, width(r.section)), max(label, width(r.label))
		tokens, reason = max(tokens, width(r.tokens)), max(reason, width(r.reason))
	}
	for _, r := range rows {
		line := left(r.side, side) + "  " + left(r.section, section) + "  " + left(r.label, label) + "  " +
			strings.Repeat(" ", tokens-width(r.tokens)) + r.tokens + "   " + left(r.reason, reason) + "  " + r.detail
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

func width(s string) int { return utf8.RuneCountInString(s) }

func left(s string, cells int) string { return s + strings.Repeat(" ", cells-width(s)) }

// label cuts long names in the middle: the end of a path says more than its beginning.
func label(id string, labels func(string) string) string {
	name := id
	if labels != nil {
		if l := labels(id); l != "" {
			name = l
		}
	}
	name = printable(name)
	if width(name) <= labelCellsMax {
		return name
	}
	runes := []rune(name)
	head := labelCellsMax / 3
	return string(runes[:head]) + "…" + string(runes[len(runes)-(labelCellsMax-head-1):])
}

// printable keeps what others named (files, tools) from steering the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return '·'
	}, s)
}

// DiffText draws what differs from one plan to the next.
func DiffText(d PlanDiff, labels func(id string) string) string {
	var b strings.Builder
	if d.Identical {
		fmt.Fprintf(&b, "Plan %s · identical ✓\n", ShortID(d.B))
		return b.String()
	}
	fmt.Fprintf(&b, "Plan %s → %s · %s of %s → %s of %s\n", ShortID(d.A), ShortID(d.B),
		Short(d.BudgetA.Estimated), Short(d.BudgetA.Prompt), Short(d.BudgetB.Estimated), Short(d.BudgetB.Prompt))
	fmt.Fprintf(&b, "items kept from the beginning, in order: %d\n", d.Kept)
	var rows []row
	for _, item := range d.New {
		rows = append(rows, newRow("+ in", item, labels))
	}
	for _, c := range d.In {
		r := newRow("+ in", c.Item, labels)
		r.detail += "; was out for " + string(c.Before.Reason)
		rows = append(rows, r)
	}
	for _, c := range d.Out {
		rows = append(rows, newRow("− out", c.Item, labels))
	}
	for _, item := range d.Gone {
		item.Reason, item.Detail = "", "no candidate any more"
		rows = append(rows, newRow("− out", item, labels))
	}
	for _, c := range d.Changed {
		side := "~ out"
		if c.Is {
			side = "~ in"
		}
		r := newRow(side, c.Item, labels)
		r.detail += changed(c)
		rows = append(rows, r)
	}
	for _, item := range d.NewOut {
		rows = append(rows, newRow("· out", item, labels))
	}
	writeRows(&b, rows)
	return b.String()
}

func changed(c Change) string {
	var what []string
	if c.Before.Reason != c.Reason {
		what = append(what, "was "+string(c.Before.Reason))
	}
	if c.Before.Tokens != c.Tokens {
		what = append(what, "had "+Thousands(c.Before.Tokens)+" tokens")
	}
	if len(what) == 0 {
		return "" // it went to another section, which the row shows
	}
	return "; " + strings.Join(what, ", ")
}
