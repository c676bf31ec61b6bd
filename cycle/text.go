package cycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Limits of the drawn tree. What they cut off is counted in words where it was cut.
const (
	textRowRunesMax   = 100 // of one row's text
	textArgRunesMax   = 48  // of one call's argument
	textCallsMax      = 6   // calls named in one row
	textErrorLinesMax = 3   // of a failed call's result
	textRightColumn   = 66  // where the words at the right of a row begin
)

// TextOptions are the options of [Text].
type TextOptions struct {
	View  View // "" is ViewSteps
	ASCII bool
}

// Text draws a model as a tree for a person, one line a row, in the words and glyphs of every other client.
// It shows what is in the log and nothing else: no durations, tokens or plans. Text from the log is shown
// without control characters, so that drawing it can't steer a terminal.
func Text(m Model, opts TextOptions) string {
	p := painter{g: unicodeGlyphs}
	if opts.ASCII {
		p.g = asciiGlyphs
	}
	for _, c := range m.Cycles {
		p.row(0, p.g.open, c.Root.Text, c.rootWords())
		if opts.View != ViewRounds {
			p.steps(c)
		}
		if opts.View == ViewRounds || opts.View == ViewAll {
			p.rounds(c)
		}
	}
	for _, q := range m.Queued {
		p.row(0, p.g.queued, "queued: "+q.Text, "")
	}
	for _, a := range m.Anomalies {
		p.row(0, p.g.anomaly, fmt.Sprintf("event %d: %s", a.Index, strings.ReplaceAll(string(a.Reason), "-", " ")), "")
	}
	if p.b.Len() == 0 {
		return "nothing yet\n"
	}
	return p.b.String()
}

// glyphs are the signs of the tree.
type glyphs struct {
	open, block, steer, calls, failed, cancelled, running, queued, anomaly string
	quote, cut, between, round                                             string
}

var (
	unicodeGlyphs = glyphs{
		open: "▾", block: "✎", steer: "↳", calls: "▸", failed: "✗", cancelled: "–", running: "·", queued: "○", anomaly: "⚠",
		quote: "│", cut: "…", between: " · ", round: "↻",
	}
	asciiGlyphs = glyphs{
		open: "v", block: "*", steer: "->", calls: ">", failed: "x", cancelled: "-", running: ".", queued: "o", anomaly: "!",
		quote: "|", cut: "...", between: ", ", round: "@",
	}
)

// rootWords are the words at the right of a cycle's row.
func (c RequestCycle) rootWords() string {
	if c.Root.Kind == RootFollowUp {
		return "follow-up, " + string(c.Status)
	}
	return string(c.Status)
}

type painter struct {
	b strings.Builder
	g glyphs
}

// row draws one line: indent, glyph, the first line of a text, and words at the right.
func (p *painter) row(indent int, glyph, text, right string) {
	p.line(indent, glyph, p.oneLine(text, textRowRunesMax), right)
}

// line is row for text that is clean and short already.
func (p *painter) line(indent int, glyph, text, right string) {
	line := strings.TrimRight(strings.Repeat("  ", indent)+glyph+" "+text, " ")
	if right != "" {
		line += strings.Repeat(" ", max(2, textRightColumn-width(line))) + right
	}
	p.b.WriteString(line + "\n")
}

func (p *painter) steps(c RequestCycle) {
	for _, s := range c.Steps {
		switch {
		case s.Type == StepSteer:
			p.row(1, p.g.steer, "you: "+s.Text, "steer")
		case s.Type == StepAIBlock && s.Kind == OutputReasoning:
			p.row(1, p.g.block, s.Text, "reasoning")
		case s.Type == StepAIBlock && (s.Text != "" || len(s.Groups) == 0):
			p.row(1, p.g.block, s.Text, "")
		}
		for _, g := range s.Groups {
			p.group(g, c.Status == CycleActive)
		}
	}
}

// group draws a row for each run of calls of the same tool.
func (p *painter) group(g Group, active bool) {
	for calls := g.Calls; len(calls) > 0; {
		n := 1
		for n < len(calls) && calls[n].Tool == calls[0].Tool {
			n++
		}
		p.calls(calls[:n], active)
		calls = calls[n:]
	}
}

func (p *painter) calls(calls []Call, active bool) {
	var names []string
	open, failed, cancelled := 0, 0, 0
	for i, c := range calls {
		if name := p.oneLine(summary(c.Args), textArgRunesMax); name != "" && i < textCallsMax {
			names = append(names, name)
		}
		switch {
		case c.Result == nil:
			open++
		case c.Result.Status == ResultError:
			failed++
		case c.Result.Status == ResultCancelled:
			cancelled++
		}
	}
	if n := len(calls) - textCallsMax; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	running, lost := open, 0
	if !active {
		running, lost = 0, open
	}
	glyph, words := p.g.calls, []string(nil)
	for _, is := range []struct { // the most telling last: its glyph is the row's
		n     int
		glyph string
		word  string
	}{{lost, p.g.cancelled, "no result"}, {cancelled, p.g.cancelled, "cancelled"}, {failed, p.g.failed, "failed"}, {running, p.g.running, "running"}} {
		if is.n == len(calls) {
			words = append(words, is.word)
		} else if is.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", is.n, is.word))
		}
		if is.n > 0 {
			glyph = is.glyph
		}
	}
	head := pad(p.oneLine(calls[0].Tool, textArgRunesMax), 6) + " " + pad(strconv.Itoa(len(calls)), 2)
	p.line(2, glyph, head+" "+strings.Join(names, p.g.between), strings.Join(words, ", "))
	for _, c := range calls {
		if c.Result != nil && c.Result.Status == ResultError {
			p.quote(c.Result.Text)
		}
	}
}

// quote draws the beginning of a failed call's result.
func (p *painter) quote(text string) {
	rest := strings.TrimRight(text, "\n")
	for n := 0; rest != ""; n++ {
		if n == textErrorLinesMax {
			p.row(4, p.g.quote, p.g.cut+" "+moreLines(countLines(rest), " more"), "")
			return
		}
		line, after, _ := strings.Cut(rest, "\n")
		p.row(4, p.g.quote, line, "")
		rest = after
	}
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

// oneLine is the first line of a text, cleaned and cut, with how much was left out.
func (p *painter) oneLine(text string, runesMax int) string {
	text = strings.Trim(text, "\n")
	line, rest, _ := strings.Cut(text, "\n")
	line = clean(line)
	cut := false
	n := 0
	for i := range line {
		if n == runesMax {
			line, cut = line[:i], true
			break
		}
		n++
	}
	if cut {
		line += p.g.cut
	}
	if lines := countLines(rest); lines > 0 {
		line += " (+" + moreLines(lines, "") + ")"
	}
	return line
}

// zeroWidthJoiner holds emoji of several signs together; the one format character that drawing needs.
const zeroWidthJoiner = '\u200d'

// clean makes text safe to draw: tabs and line ends become blanks, whatever else isn't printable a mark.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\r' || unicode.Is(unicode.Zs, r):
			return ' '
		case !unicode.IsPrint(r) && r != zeroWidthJoiner:
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(s, "\r "))
}

// argNames are the arguments that tell what a call is about, the most telling first.
var argNames = []string{"path", "file", "filePath", "file_path", "uri", "command", "cmd", "query", "pattern", "url", "name"}

// summary tells a call's arguments in a few words.
func summary(args json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil || len(m) == 0 {
		return ""
	}
	text := func(name string) (s string) {
		if json.Unmarshal(m[name], &s) != nil {
			return ""
		}
		return s
	}
	if pattern := text("pattern"); pattern != "" {
		if path := text("path"); path != "" {
			return `"` + pattern + `" in ` + path
		}
		return `"` + pattern + `"`
	}
	for _, name := range argNames {
		if s := text(name); s != "" {
			return s
		}
	}
	var buf bytes.Buffer
	if json.Compact(&buf, args) != nil {
		return ""
	}
	return buf.String()
}

// moreLines counts lines in words.
func moreLines(n int, word string) string {
	if n == 1 {
		return "1" + word + " line"
	}
	return fmt.Sprintf("%d%s lines", n, word)
}

func pad(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-width(s)))
}

// width tells how many columns a line takes in a terminal, near enough for aligning.
func width(s string) (columns int) {
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r) || r == zeroWidthJoiner:
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x1f300 && r < 0x1fb00:
			columns += 2
		default:
			columns++
		}
	}
	return columns
}

// countLines tells how many lines a text has, a last line break not counted.
func countLines(s string) int {
	if s == "" {
		return 0
	}
	return strings.Count(strings.TrimSuffix(s, "\n"), "\n") + 1
}
