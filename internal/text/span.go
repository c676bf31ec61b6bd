package text

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Span is a half-open range of bytes, Start <= End.
type Span struct{ Start, End int }

// Len is the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// Touches says whether two spans overlap or meet; an empty span touches what
// it stands at the edge of.
func (s Span) Touches(o Span) bool { return s.Start <= o.End && o.Start <= s.End }

// Overlaps says whether two spans share a byte, or one is empty and lies
// strictly inside the other.
func (s Span) Overlaps(o Span) bool {
	if s.Len() > 0 && o.Len() > 0 {
		return s.Start < o.End && o.Start < s.End
	}
	return s.Start > o.Start && s.End < o.End || o.Start > s.Start && o.End < s.End
}

// Union is the smallest span that holds both.
func (s Span) Union(o Span) Span { return Span{min(s.Start, o.Start), max(s.End, o.End)} }

// Hash is the sha256 of a text in hex: how texts are named in logs and stores.
func Hash[T string | []byte](s T) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Lines splits a text after every "\n". The last line may lack it; an empty
// text has no lines. The pieces share the text's memory.
func Lines(s string) []string {
	if s == "" {
		return nil
	}
	out := make([]string, 0, strings.Count(s, "\n")+1)
	for s != "" {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i+1])
		s = s[i+1:]
	}
	return out
}

// CountLines is len(Lines(s)) without the slice.
func CountLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// LineStart is the offset at which the line of offset i begins.
func LineStart(s string, i int) int { return strings.LastIndexByte(s[:i], '\n') + 1 }

// LineEnd is the offset just after the line of offset i: after its "\n", or
// the end of the text.
func LineEnd(s string, i int) int {
	if j := strings.IndexByte(s[i:], '\n'); j >= 0 {
		return i + j + 1
	}
	return len(s)
}

// AtLineStart says whether a line begins at offset i; the end of a text that
// ends with "\n" (or is empty) counts as one.
func AtLineStart(s string, i int) bool { return i == 0 || s[i-1] == '\n' }
