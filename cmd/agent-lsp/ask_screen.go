package main

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// scroll lets rows go that won't change any more, each once and in order.
type scroll struct{ gone map[string]bool }

// take gives the rows that can go now, and those that still change.
func (s *scroll) take(lines []cycle.TextLine) (fresh, rest []string) {
	if s.gone == nil {
		s.gone = map[string]bool{}
	}
	settled := true
	for _, l := range lines {
		settled = settled && l.Settled
		switch {
		case s.gone[l.Key]:
		case settled:
			s.gone[l.Key] = true
			fresh = append(fresh, l.Text)
		default:
			rest = append(rest, l.Text)
		}
	}
	return fresh, rest
}

// screen draws at the end of a terminal: what is done scrolls up like any
// output, what still changes is redrawn in its place below. Nothing is cleared
// before it is drawn again, so nothing flickers; each frame is one write.
type screen struct {
	out  io.Writer
	size func() (columns, rows int)
	mark string // what ends a row that was cut

	live []string // as they stand below the scrolled rows
	last string   // the latest frame, to write none twice
}

// Control sequences of terminals.
const (
	syncBegin = "\x1b[?2026h" // terminals that know it show the frame at once
	syncEnd   = "\x1b[?2026l"
	lineEnd   = "\x1b[K"
	screenEnd = "\x1b[J"
)

// draw writes fresh rows above and replaces the live ones. The cursor is left
// behind the last live row.
func (s *screen) draw(fresh, live []string) {
	columns, rows := s.size()
	for i, l := range live {
		live[i] = cutANSI(l, columns-1, s.mark)
	}
	if n := len(live) - max(rows-1, 1); n > 0 { // the newest rows are the ones to look at
		live = live[n:]
	}
	var b strings.Builder
	for _, l := range fresh {
		b.WriteString(l + lineEnd + "\r\n")
	}
	b.WriteString(strings.Join(live, lineEnd+"\r\n") + lineEnd + screenEnd)
	frame := b.String()
	if len(fresh) == 0 && frame == s.last {
		return
	}
	top := "\r"
	if up := s.height(columns) - 1; up > 0 {
		top += "\x1b[" + strconv.Itoa(up) + "A"
	}
	_, _ = io.WriteString(s.out, syncBegin+top+frame+syncEnd) // a terminal that is gone is told by its signal
	s.live = append(s.live[:0], live...)
	s.last = strings.Join(live, lineEnd+"\r\n") + lineEnd + screenEnd
}

// height is how many rows the live lines take now: a terminal that became
// narrower has wrapped them.
func (s *screen) height(columns int) int {
	n := 0
	for _, l := range s.live {
		n += max(1, (widthANSI(l)+columns-1)/max(columns, 1))
	}
	return n
}

// print lets rows scroll up, leaving what is live below them.
func (s *screen) print(rows ...string) { s.draw(rows, append([]string{}, s.live...)) }

// cutANSI cuts a row to so many columns; colours are no columns.
func cutANSI(s string, columns int, mark string) string {
	s = strings.ReplaceAll(s, "\n", " ") // one row is one line, whatever came in
	if widthANSI(s) <= columns {
		return s
	}
	used := 0
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := ansiLen(s[i:]); n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if used += cycle.Columns(string(r)); used > columns-cycle.Columns(mark) {
			break
		}
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String() + mark + colourOff(s)
}

// colourOff ends colours where there are any.
func colourOff(s string) string {
	if strings.Contains(s, "\x1b[") {
		return "\x1b[0m"
	}
	return ""
}

func widthANSI(s string) int {
	if !strings.Contains(s, "\x1b") {
		return cycle.Columns(s)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := ansiLen(s[i:]); n > 0 {
			i += n
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return cycle.Columns(b.String())
}

// ansiLen is the length of the colour sequence that s begins with, 0 if none.
func ansiLen(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	if i := strings.IndexByte(s, 'm'); i > 0 {
		return i + 1
	}
	return 0
}
