package cycle

import (
	"fmt"
	"strings"
)

// Limits of the drawn tree. What they cut off is counted in words where it was cut.
const (
	textRowRunesMax   = 100 // of one row's text
	textArgRunesMax   = 48  // of one call's argument
	textCallsMax      = 6   // calls named in one row
	textErrorLinesMax = 3   // of a failed call's result
	textRightColumn   = 66  // where the words at the right of a row begin, without a Width
	textWidthMax      = 100 // columns that a tree uses of a wide terminal
)

// TextOptions are the options of [Text] and [Lines].
type TextOptions struct {
	View  View // "" is ViewSteps
	ASCII bool

	// Meta adds what was measured beside the cycles: contexts, titles, durations, tokens, who waits for whom.
	// nil draws what is in the log and nothing else.
	Meta *Meta
	// Hunks counts, by call id, the hunks that wait for the person's decision.
	Hunks map[string]int
	// Context adds rows below a cycle's context row, by cycle id.
	Context map[string][]string

	Width int  // columns to fit and wrap into, and where the words at the right end; 0: neither fits nor wraps
	Whole bool // the assistant's texts in full instead of their first lines
	// Growing leaves the figures of a whole cycle out of its first row, for a reader who gets the rows one by one.
	Growing bool
	// Paint colours a part of a row; nil leaves it plain. The part has no line break and no control character.
	Paint func(Ink, string) string
}

// Ink tells what a part of a row is, for its colour. No meaning is in colours alone.
type Ink uint8

// Inks.
const (
	InkPlain Ink = iota
	InkHead      // what the person asked
	InkDim       // figures, reasoning, what stands beside
	InkGood
	InkBad  // failed, refused
	InkWait // waits for the person
	InkYou  // what the person added
)

// TextLine is one row of a drawn tree.
type TextLine struct {
	Key     string // names the row; it stays the same while the tree grows
	Text    string // without line break
	Settled bool   // no later event of the same cycle changes it, but for those that answer old questions
}

// Text draws a model as a tree for a person, one line a row, in the words and glyphs of every other client.
// Text from the log is shown without control characters, so that drawing it can't steer a terminal.
func Text(m Model, opts TextOptions) string {
	var b strings.Builder
	for _, l := range Lines(m, opts) {
		b.WriteString(l.Text + "\n")
	}
	if b.Len() == 0 {
		return "nothing yet\n"
	}
	return b.String()
}

// Lines is [Text] row by row. Of a growing tree the settled rows come before those that still change, so that they
// can be let go.
func Lines(m Model, opts TextOptions) []TextLine {
	p := painter{TextOptions: opts, g: unicodeGlyphs, settled: true}
	if opts.ASCII {
		p.g = asciiGlyphs
	}
	p.Width = min(opts.Width, textWidthMax)
	if n := len(m.Cycles); n > 0 {
		p.latest = m.Cycles[n-1].ID
	}
	for _, c := range m.Cycles {
		p.cycle(c)
	}
	p.settled = false
	for _, q := range m.Queued {
		p.at("queued/" + q.ID)
		p.row(0, p.g.queued, "queued: "+q.Text, "")
	}
	for _, a := range m.Anomalies {
		p.at(fmt.Sprintf("anomaly/%d", a.Index))
		p.row(0, p.g.anomaly, fmt.Sprintf("event %d: %s", a.Index, strings.ReplaceAll(string(a.Reason), "-", " ")), "")
	}
	return p.lines
}

// glyphs are the signs of the tree.
type glyphs struct {
	open, block, steer, calls, failed, refused, cancelled, waiting, running, queued, anomaly string
	context, note, paused, quote, cut, between, round                                        string
	done, route, workflow, compaction                                                        string
}

var (
	unicodeGlyphs = glyphs{
		open: "▾", block: "✎", steer: "↳", calls: "▸", failed: "✗", refused: "⊘", cancelled: "–", waiting: "⧗", running: "·", queued: "○", anomaly: "⚠",
		context: "◇", note: "⚠", paused: "⏸", quote: "│", cut: "…", between: " · ", round: "↻",
		done: "✓", route: "⇢", workflow: "≡", compaction: "⇣",
	}
	asciiGlyphs = glyphs{
		open: "v", block: "*", steer: "->", calls: ">", failed: "x", refused: "/", cancelled: "-", waiting: "?", running: ".", queued: "o", anomaly: "!",
		context: "<>", note: "!", paused: "||", quote: "|", cut: "...", between: ", ", round: "@",
		done: "+", route: "=>", workflow: "=", compaction: "~",
	}
)

// rootWords are the words at the right of a cycle's row.
func (c RequestCycle) rootWords() string {
	if c.Root.Kind == RootFollowUp {
		return "follow-up, " + string(c.Status)
	}
	return string(c.Status)
}

// cycle draws one cycle: what was asked, its route, the context, the steps, the rounds, what happened to the run, the
// workflow, and how it ended or stands.
func (p *painter) cycle(c RequestCycle) {
	var meta CycleMeta
	known := false
	if p.Meta != nil {
		meta, known = p.Meta.Cycles[c.ID]
	}
	words := c.rootWords()
	if known && !p.Growing {
		words = p.figures(meta)
	}
	if p.Growing {
		words = ""
	}
	p.at(c.ID + "/root")
	p.paint(0, p.g.open, p.oneLine(c.Root.Text, textRowRunesMax), words, InkHead, InkDim)
	if known {
		p.route(c, meta)
		p.context(c, meta)
	}
	if p.View != ViewRounds {
		p.steps(c)
	}
	if p.View == ViewRounds || p.View == ViewAll {
		p.at(c.ID + "/rounds")
		p.rounds(c)
	}
	if known {
		p.settled = p.settled && c.Status != CycleActive
		p.notes(c, meta)
		p.workflow(c, meta)
		p.standing(c, meta)
	}
}

// context draws what the first model call was given. It is settled once its rows are there or the answer has begun.
func (p *painter) context(c RequestCycle, meta CycleMeta) {
	rows, told := p.Context[c.ID]
	if meta.PlanID == "" {
		p.settled = p.settled && (c.Status != CycleActive || len(c.Steps) > 1)
		return
	}
	p.settled = p.settled && (p.Context == nil || told)
	p.at(c.ID + "/context")
	p.paint(1, p.g.context, fmt.Sprintf("context  %d items%s%s of %s tokens", meta.ContextItems, p.g.between, shortCount(meta.ContextTokens), shortCount(meta.ContextBudget)),
		"", InkPlain, InkDim)
	for _, r := range rows {
		p.paint(3, "", clean(r), "", InkDim, InkDim)
	}
}

// standing draws what a run waits for, and how it ended badly.
func (p *painter) standing(c RequestCycle, meta CycleMeta) {
	active := c.Status == CycleActive
	p.at(c.ID + "/standing")
	switch {
	case active && meta.State == "paused":
		p.paint(1, p.g.paused, fmt.Sprintf("paused before step %d of %d", meta.Iter+1, meta.Max), "", InkWait, InkDim)
	case active && meta.State == "waiting":
		p.paint(1, p.g.waiting, "waits for another run to end", "", InkDim, InkDim)
	case c.Status == CycleError:
		p.paint(1, p.g.failed, p.oneLine(meta.Stop, textRowRunesMax), "", InkBad, InkDim)
	case c.Status == CycleInterrupted:
		p.paint(1, p.g.cancelled, strings.TrimSuffix("interrupted: "+p.oneLine(meta.Stop, textRowRunesMax), ": "), "", InkBad, InkDim)
	}
}

// Figures says what a cycle took: time, tokens and money, as far as there was any.
func Figures(meta CycleMeta, ascii bool) string {
	p := painter{g: unicodeGlyphs}
	if ascii {
		p.g = asciiGlyphs
	}
	return p.figures(meta)
}

func (p *painter) figures(meta CycleMeta) string {
	words := []string{seconds(meta.ElapsedMS)}
	if meta.Tokens > 0 {
		words = append(words, shortCount(meta.Tokens)+" tok")
	}
	if meta.CostUSD > 0 {
		words = append(words, money(meta.CostUSD))
	}
	return strings.Join(words, p.g.between)
}

func (p *painter) steps(c RequestCycle) {
	for i, s := range c.Steps {
		earlier := p.settled
		p.settled = earlier && (c.Status != CycleActive || i < len(c.Steps)-1) && answered(s)
		p.at(fmt.Sprintf("%s/%d", c.ID, i))
		switch {
		case s.Type == StepSteer:
			p.settled = earlier
			p.paint(1, p.g.steer, p.oneLine("you: "+s.Text, textRowRunesMax), "steer", InkYou, InkDim)
		case s.Type == StepAIBlock && s.Kind == OutputReasoning:
			p.paint(1, p.g.block, p.oneLine(s.Text, textRowRunesMax), "reasoning", InkDim, InkDim)
		case s.Type == StepAIBlock && p.Whole && s.Text != "":
			p.body(1, p.g.block, s.Text)
		case s.Type == StepAIBlock && (s.Text != "" || len(s.Groups) == 0):
			p.row(1, p.g.block, s.Text, "")
		}
		for j, g := range s.Groups {
			p.at(fmt.Sprintf("%s/%d/%d", c.ID, i, j))
			p.group(g, c.Status == CycleActive)
		}
	}
}

// answered tells whether every call of a step has its result.
func answered(s ResolutionStep) bool {
	for _, g := range s.Groups {
		for _, c := range g.Calls {
			if c.Result == nil {
				return false
			}
		}
	}
	return true
}

func (p *painter) rounds(c RequestCycle) {
	list := func(name string, ids []string) string {
		if len(ids) == 0 {
			return ""
		}
		return "  " + name + " " + strings.Join(ids, p.g.between)
	}
	for _, r := range c.Rounds {
		p.row(1, p.g.round, fmt.Sprintf("round %d%s%s%s", r.N, list("in", r.Input), list("out", r.Output), list("back", r.Feedback)), "")
	}
}
