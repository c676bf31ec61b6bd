package cycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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

// tally counts how the calls of one row stand.
type tally struct{ open, failed, refused, cancelled, asking int }

func (p *painter) tally(calls []Call) tally {
	var t tally
	for _, c := range calls {
		switch state := p.meta(c).State; {
		case c.Result == nil && state == "asking":
			t.asking++
		case c.Result == nil:
			t.open++
		case state == "refused":
			t.refused++
		case c.Result.Status == ResultError:
			t.failed++
		case c.Result.Status == ResultCancelled:
			t.cancelled++
		}
	}
	return t
}

// words says a tally, with the glyph of its most telling part.
func (p *painter) words(t tally, n int, active bool) (glyph, words string, ink Ink) {
	running, lost := t.open, 0
	if !active {
		running, lost = 0, t.open+t.asking
		t.asking = 0
	}
	glyph = p.g.calls
	var list []string
	for _, is := range []struct { // the most telling last: its glyph is the row's
		n     int
		glyph string
		word  string
		ink   Ink
	}{
		{lost, p.g.cancelled, "no result", InkDim}, {t.cancelled, p.g.cancelled, "cancelled", InkDim}, {t.failed, p.g.failed, "failed", InkBad},
		{t.refused, p.g.refused, "refused", InkBad}, {running, p.g.running, "running", InkDim}, {t.asking, p.g.waiting, "asks you", InkWait},
	} {
		if is.n == n {
			list = append(list, is.word)
		} else if is.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", is.n, is.word))
		}
		if is.n > 0 {
			glyph, ink = is.glyph, is.ink
		}
	}
	return glyph, strings.Join(list, ", "), ink
}

func (p *painter) calls(calls []Call, active bool) {
	var names []string
	for i, c := range calls {
		if name := p.callName(c, len(calls) == 1); name != "" && i < textCallsMax {
			names = append(names, name)
		}
	}
	if n := len(calls) - textCallsMax; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	glyph, words, ink := p.words(p.tally(calls), len(calls), active)
	right := []string{}
	if words != "" {
		right = append(right, words)
	}
	switch n := p.pending(calls); {
	case n == 1:
		right, ink = append(right, p.g.waiting+" 1 hunk to review"), InkWait
	case n > 1:
		right, ink = append(right, fmt.Sprintf("%s %d hunks to review", p.g.waiting, n)), InkWait
	}
	if took := p.took(calls); took != "" {
		right = append(right, took)
	}
	head := pad(p.oneLine(calls[0].Tool, textArgRunesMax), 6) + " " + pad(strconv.Itoa(len(calls)), 2)
	p.paint(2, glyph, head+" "+strings.Join(names, p.g.between), strings.Join(right, "  "), InkPlain, max(ink, InkDim))
	for _, c := range calls {
		p.subtask(c, len(calls) == 1, active)
		switch why := p.meta(c).Why; {
		case why != "" && c.Result != nil && p.meta(c).State == "refused":
			p.quote(why)
		case c.Result != nil && c.Result.Status == ResultError:
			p.quote(c.Result.Text)
		}
	}
}

// meta is what was measured of a call; nothing when nothing was.
func (p *painter) meta(c Call) CallMeta {
	if p.Meta == nil {
		return CallMeta{}
	}
	return p.Meta.Calls[c.CallID]
}

// callName says what a call is about, and of some kinds what came of it.
func (p *painter) callName(c Call, alone bool) string {
	meta := p.meta(c)
	name := meta.Title
	if name == "" {
		name = summary(c.Args)
	}
	name = p.oneLine(name, textArgRunesMax)
	var d struct {
		Summary   string `json:"summary"`
		Sandboxed *bool  `json:"sandboxed"`
	}
	if len(meta.Detail) == 0 || json.Unmarshal(meta.Detail, &d) != nil || d.Summary == "" {
		return name
	}
	came := p.oneLine(d.Summary, textArgRunesMax)
	switch failed := c.Result != nil && c.Result.Status == ResultError; {
	case GroupOf(c.Tool) == GroupBash && (failed || d.Sandboxed != nil && !*d.Sandboxed):
		return name + "   " + came
	case GroupOf(c.Tool) == GroupWrite && !failed, alone && !failed && c.Tool != "read" && c.Tool != "bash":
		if p.ASCII {
			came = strings.ReplaceAll(came, "−", "-")
		}
		return name + " (" + came + ")"
	}
	return name
}

func (p *painter) pending(calls []Call) (n int) {
	for _, c := range calls {
		n += p.Hunks[c.CallID]
	}
	return n
}

// took is the time from the first call's start to the last one's end, for calls run at the same time. Of what was
// cancelled nobody measured it.
func (p *painter) took(calls []Call) string {
	var from, to time.Time
	for _, c := range calls {
		meta := p.meta(c)
		begun, err := time.Parse(time.RFC3339, meta.Started)
		if c.Result == nil || c.Result.Status == ResultCancelled || err != nil {
			return ""
		}
		if from.IsZero() || begun.Before(from) {
			from = begun
		}
		if end := begun.Add(time.Duration(meta.MS) * time.Millisecond); end.After(to) {
			to = end
		}
	}
	return seconds(to.Sub(from).Milliseconds())
}

// quote draws the beginning of a failed call's result.
func (p *painter) quote(text string) {
	rest := strings.TrimRight(text, "\n")
	for n := 0; rest != ""; n++ {
		if n == textErrorLinesMax {
			p.paint(4, p.g.quote, p.g.cut+" "+moreLines(countLines(rest), " more"), "", InkDim, InkDim)
			return
		}
		line, after, _ := strings.Cut(rest, "\n")
		p.paint(4, p.g.quote, p.oneLine(line, textRowRunesMax), "", InkDim, InkDim)
		rest = after
	}
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
