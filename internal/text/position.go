package text

import (
	"strings"
	"unicode/utf8"
)

// Encoding is the unit in which columns are counted.
type Encoding string

// The encodings of the editor protocol, by the protocol's names.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a place in a text: both count from 0; Col is in units of an
// Encoding. Lines end with "\n" or "\r\n"; a lone "\r" is an ordinary character.
type Position struct{ Line, Col int }

// Less orders positions.
func (p Position) Less(o Position) bool {
	return p.Line < o.Line || p.Line == o.Line && p.Col < o.Col
}

// Range is from Start up to End, End not included.
type Range struct{ Start, End Position }

// Index finds places in one text. It is made once per text and is safe for
// concurrent use.
type Index struct {
	text  string
	lines []int // offset of every line's start; the last line may be empty
}

// NewIndex reads the text's lines.
func NewIndex(s string) *Index {
	lines := make([]int, 1, strings.Count(s, "\n")+1)
	for i := 0; ; {
		j := strings.IndexByte(s[i:], '\n')
		if j < 0 {
			return &Index{s, lines}
		}
		i += j + 1
		lines = append(lines, i)
	}
}

// LineCount is the number of lines, the empty one behind a last "\n" included.
func (x *Index) LineCount() int { return len(x.lines) }

// line is the line's text without its end, and its offset.
func (x *Index) line(n int) (string, int) {
	start, end := x.lines[n], len(x.text)
	if n+1 < len(x.lines) {
		end = x.lines[n+1] - 1
		if end > start && x.text[end-1] == '\r' {
			end--
		}
	}
	return x.text[start:end], start
}

// Offset gives the byte of a position. Positions beyond a line's or the text's
// end, or inside a character, are taken back to the nearest place before them,
// as the protocol asks.
func (x *Index) Offset(p Position, enc Encoding) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(x.lines) {
		return len(x.text)
	}
	s, start := x.line(p.Line)
	if enc == UTF8 {
		i := min(max(p.Col, 0), len(s))
		for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) && validInside(s, i) {
			i--
		}
		return start + i
	}
	col := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		w := width(r, enc)
		if col+w > p.Col {
			return start + i
		}
		col += w
		i += n
	}
	return start + len(s)
}

// validInside says whether the byte at i belongs to a valid character that
// began before it.
func validInside(s string, i int) bool {
	for j := i - 1; j >= 0 && j > i-utf8.UTFMax; j-- {
		if utf8.RuneStart(s[j]) {
			r, n := utf8.DecodeRuneInString(s[j:])
			return (r != utf8.RuneError || n > 1) && j+n > i
		}
	}
	return false
}

// Position gives the place of a byte. An offset inside a line's end counts as
// the end of the line's text; one out of bounds is taken to the nearest.
func (x *Index) Position(off int, enc Encoding) Position {
	off = min(max(off, 0), len(x.text))
	lo, hi := 0, len(x.lines)
	for hi-lo > 1 {
		if m := (lo + hi) / 2; x.lines[m] <= off {
			lo = m
		} else {
			hi = m
		}
	}
	s, start := x.line(lo)
	s = s[:min(off-start, len(s))]
	if enc == UTF8 {
		return Position{lo, len(s)}
	}
	col := 0
	for _, r := range s { // an invalid byte counts as one character
		col += width(r, enc)
	}
	return Position{lo, col}
}

// Range gives the places of a span.
func (x *Index) Range(s Span, enc Encoding) Range {
	return Range{x.Position(s.Start, enc), x.Position(s.End, enc)}
}

// Places is one range in every encoding, for readers who count differently.
type Places struct{ utf8, utf16, utf32 Range }

// Places gives the places of a span in every encoding.
func (x *Index) Places(s Span) Places {
	return Places{x.Range(s, UTF8), x.Range(s, UTF16), x.Range(s, UTF32)}
}

// In gives the range in the units of an encoding; "" is the protocol's own, UTF-16.
func (p Places) In(enc Encoding) Range {
	switch enc {
	case UTF8:
		return p.utf8
	case UTF32:
		return p.utf32
	}
	return p.utf16
}

// Span gives the bytes of a range; a range that is upside down is turned.
func (x *Index) Span(r Range, enc Encoding) Span {
	a, b := x.Offset(r.Start, enc), x.Offset(r.End, enc)
	if b < a {
		a, b = b, a
	}
	return Span{a, b}
}

func width(r rune, enc Encoding) int {
	if enc != UTF32 && r > 0xFFFF { // the protocol counts UTF-16 where nothing else is said
		return 2
	}
	return 1
}
