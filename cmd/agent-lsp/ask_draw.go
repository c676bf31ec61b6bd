package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
)

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// contextTop is how many items of the context are shown without --plan.
const contextTop = 3

// tree draws the question's cycles.
func (a *ask) tree(now time.Time) []cycle.TextLine {
	m, meta := a.follow.ours(now)
	if a.screen == nil { // rows that come and go have no place in a plain list
		m.Queued = nil
	}
	return cycle.Lines(m, cycle.TextOptions{
		View: cycle.ViewSteps, ASCII: a.pal.ascii, Meta: &meta, Hunks: a.follow.hunks, Context: a.follow.context,
		Width: a.columns(), Whole: true, Growing: true, Paint: a.pal.paint,
	})
}

// columns to draw into; 0 where rows may have any length.
func (a *ask) columns() int {
	if a.screen == nil {
		return 0
	}
	columns, _ := a.screen.size()
	return columns - 1
}

// draw shows what is new.
func (a *ask) draw() {
	if a.cmd.JSON {
		return
	}
	fresh, rest := a.scroll.take(a.tree(time.Now()))
	if a.screen != nil {
		a.screen.draw(fresh, append(rest, a.footer()...))
		return
	}
	for _, l := range fresh {
		fmt.Fprintln(a.s.out, l)
	}
}

// print lets rows scroll up.
func (a *ask) print(rows ...string) {
	if a.screen != nil {
		a.screen.print(rows...)
		return
	}
	for _, r := range rows {
		fmt.Fprintln(a.s.out, r)
	}
}

// say tells the person something beside the answer. a is nil when nothing
// could be begun.
func (a *ask) say(message string) {
	w := io.Writer(os.Stderr)
	if a != nil {
		w = a.s.err
	}
	for i, line := range cleanRows(message) {
		switch {
		case a != nil && a.screen != nil:
			a.screen.print(a.pal.bad(line))
		case i == 0:
			fmt.Fprintln(w, "agent-lsp:", line)
		default:
			fmt.Fprintln(w, line)
		}
	}
}

// spinner is one quiet cell.
var spinner = []string{"·", "•", "·", " "}

// footer is what stands below the tree: the question to the person, or what
// goes on and the line that they type.
func (a *ask) footer() []string {
	switch {
	case a.prompt != nil:
		return a.prompt.rows(a)
	case a.follow.turn == "" && a.index.State == indexing:
		text := "indexing"
		if a.index.Total > 0 {
			text = fmt.Sprintf("indexing %s of %s files", contextplan.Thousands(a.index.Done), contextplan.Thousands(a.index.Total))
		}
		return []string{a.pal.dim(a.spin() + " " + a.pal.plain(text))}
	case a.follow.turn == "":
		return []string{a.pal.dim(a.spin() + " starting")}
	case a.finished():
		return nil
	}
	c, meta, ok := a.follow.last()
	words := []string{}
	switch {
	case a.interrupts > 0:
		words = append(words, "stopping")
	case ok && c.Status == cycle.CycleActive && meta.Max > 0:
		words = append(words, fmt.Sprintf("step %d of %d", max(meta.Iter, 1), meta.Max), meta.Model)
	}
	meta.ElapsedMS = time.Since(a.follow.begun).Milliseconds()
	words = append(words, cycle.Figures(meta, a.pal.ascii))
	if a.notice != "" {
		words = append(words, cycle.Clean(a.notice))
	}
	typed := cycle.Clean(a.line.text)
	switch {
	case typed != "":
	case a.cmd.FollowUp:
		typed = a.pal.dim("type to queue a follow-up, Ctrl-C stops")
	default:
		typed = a.pal.dim("type to steer, Ctrl-C stops")
	}
	row := "  " + a.spin() + " " + strings.Join(words, a.pal.sign(" · ", ", "))
	return []string{a.pal.dim(row), a.pal.sign("› ", "> ") + typed}
}

func (a *ask) spin() string {
	if a.pal.ascii {
		return "."
	}
	return spinner[a.ticks%len(spinner)]
}

// topItems are the context's most telling items: what was found for the
// question, the best first, and how to see the rest.
func (a *ask) topItems(p *agent.PlanResult) []string {
	var rows []string
	for _, it := range p.Included {
		if it.Section != contextplan.Retrieval && it.Section != contextplan.Focus && it.Section != contextplan.Pinned {
			continue
		}
		if len(rows) == contextTop {
			break
		}
		item := p.Labels[it.ID]
		label := item.Label
		if label == "" {
			label = it.ID
		}
		row := fmt.Sprintf("in   %-9s  %-40s %6s   %s", it.Section, label, contextplan.Thousands(it.Tokens), it.Reason)
		for i, w := range item.Why {
			if i == contextTop {
				break
			}
			sep := " · "
			if i == 0 {
				sep = "    "
			}
			row += fmt.Sprintf("%s%s #%d", sep, w.Ranker, w.Rank)
		}
		rows = append(rows, a.pal.plain(row))
	}
	rest := len(p.Included) - len(rows)
	if rest+len(p.Excluded) > 0 && !a.cmd.Plan {
		rows = append(rows, a.pal.plain(fmt.Sprintf("… %d more in, %d left out: --plan shows all with reasons", rest, len(p.Excluded))))
	}
	return rows
}

// cleanRows splits a text into rows that are safe to draw.
func cleanRows(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		out = append(out, cycle.Clean(strings.ReplaceAll(line, "\t", "    ")))
	}
	return out
}
