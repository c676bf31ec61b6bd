package cycle

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// painter draws rows one after the other.
type painter struct {
	TextOptions
	g       glyphs
	lines   []TextLine
	latest  string // the last cycle's id
	settled bool   // of the rows that are drawn now
	key     string // of the thing that is drawn now
	n       int    // rows of it so far
}

// at begins the rows of one thing.
func (p *painter) at(key string) { p.key, p.n = key, 0 }

func (p *painter) put(text string, settled bool) {
	p.lines = append(p.lines, TextLine{Key: p.key + "#" + strconv.Itoa(p.n), Text: text, Settled: settled})
	p.n++
}

// row draws one line: indent, glyph, the first line of a text, and words at the right.
func (p *painter) row(indent int, glyph, text, right string) {
	p.paint(indent, glyph, p.oneLine(text, textRowRunesMax), right, InkPlain, InkDim)
}

// paint is row for text that is clean and short already. The glyph takes the ink that tells more.
func (p *painter) paint(indent int, glyph, text, right string, ink, rightInk Ink) {
	lead := strings.Repeat("  ", indent)
	if glyph != "" {
		lead += glyph + " "
	}
	text = strings.TrimRight(text, " ")
	if p.Width > 0 {
		room := p.Width - width(lead)
		if right != "" {
			room -= width(right) + 2
		}
		text = p.fit(text, max(room, textRoomMin))
	}
	gap := ""
	if used := width(lead) + width(text); right != "" && p.Width > 0 {
		gap = strings.Repeat(" ", max(2, p.Width-used-width(right)))
	} else if right != "" {
		if text == "" {
			used = width(strings.TrimRight(lead, " "))
			lead = strings.TrimRight(lead, " ")
		}
		gap = strings.Repeat(" ", max(2, textRightColumn-used))
	}
	glyphInk := ink
	if ink == InkPlain && rightInk > InkDim {
		glyphInk = rightInk
	}
	if right == "" && text == "" {
		lead = strings.TrimRight(lead, " ")
	}
	p.put(p.ink(glyphInk, lead)+p.ink(ink, text)+gap+p.ink(rightInk, right), p.settled)
}

// textRoomMin is the least that is left of a row's text, however narrow the terminal.
const textRoomMin = 8

func (p *painter) ink(ink Ink, s string) string {
	if p.Paint == nil || ink == InkPlain || strings.TrimSpace(s) == "" {
		return s
	}
	return p.Paint(ink, s)
}

// body draws a text in full. Prose is wrapped; what is indented, fenced or a table stays as it is. All but the last
// line of a text that still grows is settled.
func (p *painter) body(indent int, glyph, text string) {
	var rows []string
	fenced := false
	room := p.Width - 2*indent - 2
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		line = clean(strings.ReplaceAll(line, "\t", "    "))
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if p.Width <= 0 || fenced || fence || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "|") {
			rows = append(rows, line)
		} else {
			rows = append(rows, wrap(line, max(room, textRoomMin))...)
		}
		fenced = fenced != fence
	}
	lead := strings.Repeat("  ", indent) + glyph + " "
	for i, row := range rows {
		if i == 1 {
			lead = strings.Repeat(" ", width(lead))
		}
		settled := p.settled || p.before() && i < len(rows)-1
		p.put(strings.TrimRight(lead+row, " "), settled)
	}
}

// before tells whether all rows so far are settled.
func (p *painter) before() bool { return len(p.lines) == 0 || p.lines[len(p.lines)-1].Settled }

// wrap breaks a line at blanks so that each part has at most so many columns, if its words allow. Continued lines of a
// list are indented as its first.
func wrap(line string, columns int) []string {
	if width(line) <= columns {
		return []string{line}
	}
	hang := line[:len(line)-len(strings.TrimLeft(line, " "))]
	if rest := line[len(hang):]; strings.HasPrefix(rest, "- ") || strings.HasPrefix(rest, "* ") {
		hang += "  "
	}
	var out []string
	row, used := "", 0
	for i, word := range strings.Split(line, " ") {
		w := width(word)
		if i > 0 && used+1+w > columns && strings.TrimSpace(row) != "" {
			out = append(out, strings.TrimRight(row, " "))
			row, used = hang+word, width(hang)+w
			continue
		}
		if i > 0 {
			row, used = row+" ", used+1
		}
		row, used = row+word, used+w
	}
	return append(out, row)
}

// fit cuts a line to so many columns.
func (p *painter) fit(line string, columns int) string {
	if width(line) <= columns {
		return line
	}
	columns -= width(p.g.cut)
	used := 0
	for i, r := range line {
		if used += width(string(r)); used > columns {
			return strings.TrimRight(line[:i], " ") + p.g.cut
		}
	}
	return line
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

// Clean makes one line of text safe to draw: nothing in it steers a terminal.
func Clean(line string) string { return clean(line) }

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

// Columns tells how many columns a line takes in a terminal, near enough for aligning.
func Columns(line string) int { return width(line) }

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

// seconds writes milliseconds as seconds with one decimal.
func seconds(ms int64) string { return fmt.Sprintf("%.1f s", float64(ms)/1000) }

// shortCount says a number in little room: 612, 18.2k, 1.3M.
func shortCount(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
