package cycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// fields are the members of a line's object. Getters keep the first error, so that a reader checks once.
type fields struct {
	members []member
	err     error
}

// member is one name and its JSON, a part of the line.
type member struct {
	name string
	raw  []byte
}

func parseFields(line []byte) (*fields, error) {
	if len(line) > LineBytesMax {
		return nil, fmt.Errorf("the line is %d bytes long, %d are allowed", len(line), LineBytesMax)
	}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	if !json.Valid(line) {
		err := json.Unmarshal(line, new(json.RawMessage)) // says where and why
		return nil, fmt.Errorf("malformed JSON: %w", err)
	}
	if line[0] != '{' {
		return nil, fmt.Errorf("an event must be a JSON object, not %s", kindOf(line))
	}
	return &fields{members: membersOf(line)}, nil
}

// membersOf cuts a valid JSON object into its members. It is what reading an event costs most, which is why it
// isn't json.Unmarshal into a map: this is five times as fast and matches names exactly as that does.
func membersOf(line []byte) []member {
	const usual = 8 // more than most events have
	list := make([]member, 0, usual)
	at := skipBlank(line, 1)
	for line[at] != '}' {
		if line[at] == ',' {
			at = skipBlank(line, at+1)
		}
		end := skipValue(line, at)
		name := unquote(line[at:end])
		at = skipBlank(line, skipBlank(line, end)+1) // over the colon
		end = skipValue(line, at)
		list = append(list, member{name, line[at:end]})
		at = skipBlank(line, end)
	}
	return list
}

func skipBlank(line []byte, at int) int {
	for line[at] == ' ' || line[at] == '\t' || line[at] == '\r' || line[at] == '\n' {
		at++
	}
	return at
}

// skipValue is where the value that begins at at ends. Valid JSON needs no more than counting brackets.
func skipValue(line []byte, at int) int {
	depth := 0
	for {
		switch line[at] {
		case '"':
			at = skipString(line, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			at++
			if depth == 0 { // a number or a name
				for strings.IndexByte(" \t\r\n,]}", line[at]) < 0 {
					at++
				}
			}
		}
		if depth == 0 {
			return at
		}
	}
}

func skipString(line []byte, at int) int {
	for at++; line[at] != '"'; at++ {
		if line[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// unquote is the text of a valid JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		panic("cycle: a valid JSON string can't be read: " + err.Error())
	}
	return s
}

// kindOf names a valid JSON value's kind.
func kindOf(raw []byte) string {
	switch raw[0] {
	case '[':
		return "an array"
	case '{':
		return "an object"
	case '"':
		return "a string"
	case 't', 'f':
		return "a bool"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// get is a member's JSON as it is in the line, nil when it is absent or null. Of two with the same name the
// last counts.
func (f *fields) get(name string) []byte {
	for i := len(f.members) - 1; i >= 0; i-- {
		if m := &f.members[i]; m.name == name {
			if m.raw[0] == 'n' {
				return nil
			}
			return m.raw
		}
	}
	return nil
}

// raw is a copy of a member's JSON.
func (f *fields) raw(name string) json.RawMessage { return bytes.Clone(f.get(name)) }

func (f *fields) text(name string) string {
	raw := f.get(name)
	if raw == nil {
		return ""
	}
	if raw[0] != '"' {
		f.wrong(name, "a string", raw)
		return ""
	}
	return unquote(raw)
}

func (f *fields) number(name string) int64 {
	raw := f.get(name)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f.wrong(name, "a whole number", raw)
	}
	return n
}

func (f *fields) round(name string) *int {
	if f.get(name) == nil {
		return nil
	}
	n := f.number(name)
	if n > RoundMax || n < -RoundMax {
		f.wrong(name, wantRound, f.get(name))
		return nil
	}
	small := int(n)
	return &small
}

var wantRound = fmt.Sprintf("a whole number within ±%d", RoundMax)

// time reads an RFC 3339 time and keeps it in UTC, so that it doesn't depend on where it is read.
func (f *fields) time(name string) time.Time {
	s := f.text(name)
	if s == "" {
		return time.Time{}
	}
	var t time.Time
	err := t.UnmarshalText([]byte(s))
	t = t.UTC()
	if _, fits := t.MarshalText(); err != nil || fits != nil {
		f.wrong(name, "a time like 2006-01-02T15:04:05Z (RFC 3339)", []byte(quote(s)))
	}
	return t
}

func (f *fields) wrong(name, want string, is []byte) {
	if f.err == nil {
		f.err = fmt.Errorf("%q must be %s, not %s", name, want, clip(string(is)))
	}
}
