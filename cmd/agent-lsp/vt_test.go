package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// vt draws as a terminal does, as far as we use one: text, line ends, colours
// (passed over), cursor up, erase to the end of line and of screen, wrapping,
// scrolling.
type vt struct {
	columns, rows int
	lines         []string // all that was ever drawn; the screen is the last rows of them
	row, column   int
	rest          string // of a sequence or character that is cut
}

func newVT(columns, rows int) *vt { return &vt{columns: columns, rows: rows, lines: []string{""}} }

// text is all lines, without blanks at their ends.
func (v *vt) text() string {
	var b strings.Builder
	for _, l := range v.lines {
		b.WriteString(strings.TrimRight(l, " ") + "\n")
	}
	return b.String()
}

func (v *vt) write(s string) {
	s = v.rest + s
	v.rest = ""
	for s != "" {
		if s[0] == 0x1b {
			end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
			if end < 0 {
				v.rest = s
				return
			}
			v.sequence(s[2:end+1], s[end+1])
			s = s[end+2:]
			continue
		}
		if !utf8.FullRuneInString(s) {
			v.rest = s
			return
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch r {
		case '\r':
			v.column = 0
		case '\n':
			v.down()
		default:
			v.put(r)
		}
	}
}

func (v *vt) sequence(args string, what byte) {
	switch what {
	case 'A':
		n, _ := strconv.Atoi(args)
		v.row = max(v.row-max(n, 1), max(0, len(v.lines)-v.rows)) // what has scrolled off can't be reached
	case 'K':
		v.lines[v.row] = v.head()
	case 'J':
		v.lines[v.row] = v.head()
		v.lines = v.lines[:v.row+1]
	}
}

// head is the line up to the cursor.
func (v *vt) head() string {
	r := []rune(v.lines[v.row])
	return string(r[:min(v.column, len(r))])
}

func (v *vt) down() {
	v.row++
	if v.row == len(v.lines) {
		v.lines = append(v.lines, "")
	}
}

func (v *vt) put(r rune) {
	if cycle.Columns(string(r)) == 0 {
		return
	}
	if v.column >= v.columns {
		v.column = 0
		v.down()
	}
	line := []rune(v.lines[v.row])
	for len(line) <= v.column {
		line = append(line, ' ')
	}
	line[v.column] = r
	v.lines[v.row] = string(line)
	v.column++
}
