package cycle

import (
	"fmt"
	"strings"
)

// Rows of what the server tells beside the steps. What is running has the row's
// glyph of running; an editor spins it.

// textChipsMax bounds the chips of one row.
const textChipsMax = 4

// route draws which tools the model was told of, if not simply all of them, and what the message said beside its
// words. A wrong route is mended before the answer begins.
func (p *painter) route(c RequestCycle, meta CycleMeta) {
	p.settled = p.settled && (c.Status != CycleActive || len(c.Steps) > 1)
	narrow := meta.Route != "" && meta.Route != RouteAll
	if !narrow && len(meta.Chips) == 0 {
		return
	}
	p.at(c.ID + "/route")
	words := "route  " + meta.Route
	if narrow && meta.RouteWhy != "" {
		words += p.g.between + meta.RouteWhy
	}
	p.paint(1, p.g.route, p.oneLine(words, textRowRunesMax), p.chips(meta.Chips), InkDim, InkDim)
}

func (p *painter) chips(list []Chip) string {
	var out []string
	for _, c := range list[:min(len(list), textChipsMax)] {
		out = append(out, "["+p.oneLine(c.Text, textArgRunesMax)+"]")
	}
	if rest := len(list) - textChipsMax; rest > 0 {
		out = append(out, fmt.Sprintf("+%d", rest))
	}
	return strings.Join(out, " ")
}

// notes draws what happened to a run: retries, escalations, and what left the context, with the handle that gives it
// back.
func (p *painter) notes(c RequestCycle, meta CycleMeta) {
	for i, n := range meta.Notes {
		p.at(fmt.Sprintf("%s/note/%d", c.ID, i))
		glyph, ref := p.g.note, ""
		if n.Kind == "compaction" {
			glyph = p.g.compaction
		}
		if n.Ref != "" {
			ref = "ref:" + n.Ref
		}
		p.paint(1, glyph, p.oneLine(n.Kind+": "+n.Text, textRowRunesMax), ref, InkDim, InkDim)
	}
}

// workflow draws the checklist of a turn.
func (p *painter) workflow(c RequestCycle, meta CycleMeta) {
	w := meta.Workflow
	if w == nil {
		return
	}
	p.at(c.ID + "/workflow")
	right, ink := "", InkDim
	switch {
	case w.Status == WorkflowProposed && c.ID == p.latest:
		right, ink = p.g.waiting+" /workflow approve", InkWait
	case w.Status == WorkflowFailed:
		right, ink = "failed", InkBad
	}
	p.paint(1, p.g.workflow, "workflow  "+w.Words(), right, InkPlain, ink)
	for i, s := range w.Steps {
		p.at(fmt.Sprintf("%s/workflow/%d", c.ID, i+1))
		glyph, right, ink := p.workflowStep(s, c.Status == CycleActive, meta.Iter)
		p.paint(2, glyph, fmt.Sprintf("%d  %s", i+1, p.oneLine(s.Goal, textRowRunesMax)), right, InkPlain, ink)
	}
}

// workflowStep is a step's glyph, what stands at its right, and its ink. iter is how far the run is.
func (p *painter) workflowStep(s WorkflowStep, active bool, iter int) (glyph, right string, ink Ink) {
	note := p.oneLine(s.Note, textArgRunesMax)
	switch s.Status {
	case StepDone:
		return p.g.done, note, InkDim
	case StepFailed:
		return p.g.failed, note, InkBad
	case StepSkipped:
		return p.g.cancelled, strings.TrimSuffix("skipped: "+note, ": "), InkDim
	case StepRunning:
		words := []string{}
		if s.Try > 1 {
			words = append(words, fmt.Sprintf("try %d", s.Try))
		}
		if n := iter - s.Started; n > 0 {
			words = append(words, fmt.Sprintf("iteration %d of %d", n, s.Budget))
		}
		if !active { // the run ended in the middle of it
			return p.g.cancelled, "not finished", InkDim
		}
		return p.g.running, strings.Join(words, p.g.between), InkDim
	}
	return p.g.queued, note, InkDim
}

// Words says how far a workflow is.
func (w Workflow) Words() string {
	if w.Status == WorkflowProposed {
		return count(len(w.Steps), "step") + " proposed"
	}
	done, skipped := 0, 0
	for _, s := range w.Steps {
		switch s.Status {
		case StepDone:
			done++
		case StepSkipped:
			skipped++
		}
	}
	words := fmt.Sprintf("%d of %s done", done, count(len(w.Steps), "step"))
	if skipped > 0 {
		words += fmt.Sprintf(", %d skipped", skipped)
	}
	return words
}

// subtask draws a call's own loop below the call: where it stands, what it took, and while it runs what it does now.
func (p *painter) subtask(c Call, alone, active bool) {
	meta := p.meta(c)
	sub := meta.Subtask
	if sub == nil {
		return
	}
	name := "subtask"
	if !alone {
		name = p.callName(c, false)
	}
	glyph, ink := p.g.done, InkDim
	totals := []string{count(sub.Iter, "step"), count(sub.Asked, "call")}
	switch {
	case c.Result == nil && active:
		glyph, totals[0] = p.g.running, fmt.Sprintf("step %d of %d", sub.Iter, sub.Max)
	case c.Result == nil || c.Result.Status == ResultCancelled:
		glyph = p.g.cancelled
	case c.Result.Status == ResultError:
		glyph, ink = p.g.failed, InkBad
	}
	if sub.Tokens > 0 {
		totals = append(totals, shortCount(sub.Tokens)+" tok")
	}
	if sub.CostUSD > 0 {
		totals = append(totals, money(sub.CostUSD))
	}
	if c.Result != nil && c.Result.Status != ResultCancelled {
		totals = append(totals, seconds(meta.MS))
	}
	p.paint(3, glyph, name, strings.Join(totals, p.g.between), InkPlain, ink)
	if n := len(sub.Calls); n > 0 && c.Result == nil && active {
		p.paint(4, "", p.oneLine(sub.Calls[n-1], textRowRunesMax), "", InkDim, InkDim)
	}
}

// money writes US dollars; what rounds to nothing still is something.
func money(usd float64) string {
	if usd < 0.005 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", usd)
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
