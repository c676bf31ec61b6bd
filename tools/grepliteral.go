package tools

import (
	"bytes"
	"regexp/syntax"
	"strings"
)

// literal is a text that every match of a pattern holds. Looking for it first
// is many times faster than running the pattern over text that has no match.
type literal struct {
	text []byte
	fold bool // ignore case; text is in small letters
}

// literalMin is the length below which looking for it doesn't pay.
const literalMin = 2

// requiredLiteral finds the longest literal that a pattern can't do without.
func requiredLiteral(pattern string) literal {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return literal{}
	}
	best := longestLiteral(re.Simplify())
	if len(best.text) < literalMin {
		return literal{}
	}
	return best
}

// patternSteps is how long the compiled pattern is; 0 for one that isn't any.
func patternSteps(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

func longestLiteral(re *syntax.Regexp) (best literal) {
	switch re.Op {
	case syntax.OpLiteral:
		s := string(re.Rune)
		if re.Flags&syntax.FoldCase == 0 {
			return literal{text: []byte(s)}
		}
		for i := range len(s) {
			if s[i] >= 0x80 {
				return literal{} // letters that fold in more ways than one
			}
		}
		return literal{text: []byte(strings.ToLower(s)), fold: true}
	case syntax.OpCapture, syntax.OpPlus:
		return longestLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return longestLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l := longestLiteral(sub); len(l.text) > len(best.text) {
				best = l
			}
		}
	}
	return best
}

// probe gives the text in which to look for the literal, of the same length as
// the original so that offsets are the same. It isn't ok where the text holds
// the letters that fold to ASCII ones, the Kelvin sign and the long s.
func (l literal) probe(text []byte) (probe []byte, ok bool) {
	if !l.fold {
		return text, true
	}
	if bytes.Contains(text, []byte("\u212a")) || bytes.Contains(text, []byte("\u017f")) {
		return nil, false
	}
	low := make([]byte, len(text))
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return low, true
}
