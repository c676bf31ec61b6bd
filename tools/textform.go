package tools

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// form is how a file's characters are kept as bytes. Whatever a tool changes
// goes back in the form that the file had.
type form struct {
	name string // "UTF-8", "UTF-16LE", "UTF-16BE", "Latin-1"
	bom  string // the bytes before the text
}

var utf8Form = form{name: "UTF-8"}

// binarySniff is how many bytes are looked at for a NUL.
const binarySniff = 8000

// isBinary says whether data is no text that a person would read.
func isBinary(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return len(data)%2 != 0
	}
	return bytes.IndexByte(data[:min(len(data), binarySniff)], 0) >= 0
}

// decodeText gives data as a string and the form to write it back in. Any
// bytes come back unchanged: what is neither UTF-8 nor UTF-16 is taken as
// Latin-1, where every byte is one character.
func decodeText(data []byte) (string, form) {
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok && utf8.Valid(rest) {
		return string(rest), form{name: "UTF-8", bom: "\xef\xbb\xbf"}
	}
	for _, f := range []form{{"UTF-16LE", "\xff\xfe"}, {"UTF-16BE", "\xfe\xff"}} {
		if rest, ok := bytes.CutPrefix(data, []byte(f.bom)); ok {
			if s, ok := decode16(rest, f.order()); ok {
				return s, f
			}
		}
	}
	if utf8.Valid(data) {
		return string(data), utf8Form
	}
	var b strings.Builder
	for _, c := range data {
		b.WriteRune(rune(c))
	}
	return b.String(), form{name: "Latin-1"}
}

// byteOrder reads and appends.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (f form) order() byteOrder {
	if f.name == "UTF-16BE" {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// decode16 refuses what would not come back byte for byte.
func decode16(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	runes := utf16.Decode(units)
	again := utf16.Encode(runes)
	if len(again) != len(units) {
		return "", false
	}
	for i := range units {
		if again[i] != units[i] {
			return "", false
		}
	}
	return string(runes), true
}

// encode is decodeText's way back.
func (f form) encode(s string) ([]byte, error) {
	switch f.name {
	case "UTF-16LE", "UTF-16BE":
		out := []byte(f.bom)
		for _, u := range utf16.Encode([]rune(s)) {
			out = f.order().AppendUint16(out, u)
		}
		return out, nil
	case "Latin-1":
		out := make([]byte, 0, len(s))
		for _, r := range s {
			if r > 0xff {
				return nil, fmt.Errorf("the file is in Latin-1, which has no %q; use other characters", r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return append([]byte(f.bom), s...), nil
}

func (f form) note() string {
	if f == utf8Form {
		return ""
	}
	if f.name == "UTF-8" {
		return "UTF-8 with BOM"
	}
	return f.name
}

// unixText is a text with \r\n as \n, and the way back to offsets in the
// original: where the removed carriage returns were.
type unixText struct {
	text string
	cuts []int // offsets in text before which a \r was taken out, ascending
}

func toUnix(raw string) unixText {
	if !strings.Contains(raw, "\r\n") {
		return unixText{text: raw}
	}
	var u unixText
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\r' && i+1 < len(raw) && raw[i+1] == '\n' {
			u.cuts = append(u.cuts, b.Len())
			continue
		}
		b.WriteByte(raw[i])
	}
	u.text = b.String()
	return u
}

// raw gives the offset in the original of an offset in text. An offset just
// before a line's end is before its \r\n, one just after is after both.
func (u unixText) raw(at int) int {
	return at + sort.SearchInts(u.cuts, at)
}

// eol gives the line ending that new text near the region start..end of the
// original should have: the region's own, else the file's most frequent one.
func eol(raw string, start, end int) string {
	for _, s := range []string{raw[start:end], raw} {
		all, crlf := strings.Count(s, "\n"), strings.Count(s, "\r\n")
		switch {
		case all == 0:
			continue
		case crlf*2 > all:
			return "\r\n"
		}
		return "\n"
	}
	return "\n"
}

// splice replaces text[start:end] of the unix view by new text, in the
// original's own line endings. All outside the region stays byte for byte.
func (u unixText) splice(raw string, start, end int, with string) string {
	a, b := u.raw(start), u.raw(end)
	with = strings.ReplaceAll(with, "\r\n", "\n")
	if e := eol(raw, a, b); e != "\n" {
		with = strings.ReplaceAll(with, "\n", e)
	}
	return raw[:a] + with + raw[b:]
}

// lineStarts gives the offset of each line. A text that ends in a newline has
// no empty line after it.
func lineStarts(text string) []int {
	var starts []int
	for at := 0; at < len(text); {
		starts = append(starts, at)
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			break
		}
		at += i + 1
	}
	return starts
}

// lineOf gives the 1-based number of the line that holds an offset.
func lineOf(text string, at int) int {
	return strings.Count(text[:at], "\n") + 1
}
