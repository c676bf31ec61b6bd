package contextplan

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// planIDHexDigits is how much of the hash is kept: 2^40 plans before two of them are likely to share an id.
const planIDHexDigits = 20

const planIDPrefix = "plan-"

// planID hashes the canonical form without the id itself and without breakpoints, which say nothing about the content.
func planID(p *Plan) string {
	sum := sha256.Sum256(append(p.appendContent(make([]byte, 0, p.sizeHint()), "{"), '}'))
	return planIDPrefix + hex.EncodeToString(sum[:])[:planIDHexDigits]
}

// sizeHint is about how long the JSON gets.
func (p *Plan) sizeHint() int { return 256 + 160*(len(p.Included)+len(p.Excluded)) }

// MarshalJSON writes the canonical form: compact, the fields in the order of the type, lists never null.
func (p Plan) MarshalJSON() ([]byte, error) { return p.AppendJSON(make([]byte, 0, p.sizeHint())), nil }

// AppendJSON appends what MarshalJSON returns, without json's second look at it.
func (p Plan) AppendJSON(b []byte) []byte {
	b = appendString(append(b, `{"planId":`...), p.PlanID)
	b = p.appendContent(b, ",")
	b = append(b, `,"breakpoints":[`...)
	for i, at := range p.Breakpoints {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(at), 10)
	}
	return append(b, "]}"...)
}

func (p *Plan) appendContent(b []byte, before string) []byte {
	b = append(append(b, before...), `"budget":{"prompt":`...)
	b = strconv.AppendInt(b, int64(p.Budget.Prompt), 10)
	b = append(b, `,"estimated":`...)
	b = strconv.AppendInt(b, int64(p.Budget.Estimated), 10)
	b = appendItems(append(b, `},"included":`...), p.Included)
	b = appendItems(append(b, `,"excluded":`...), p.Excluded)
	if p.Overflow == nil {
		return append(b, `,"overflow":null`...)
	}
	b = appendString(append(b, `,"overflow":{"candidate":`...), p.Overflow.Candidate)
	b = strconv.AppendInt(append(b, `,"from":`...), int64(p.Overflow.From), 10)
	b = strconv.AppendInt(append(b, `,"to":`...), int64(p.Overflow.To), 10)
	return append(b, '}')
}

func appendItems(b []byte, items []Item) []byte {
	b = append(b, '[')
	for i := range items {
		if i > 0 {
			b = append(b, ',')
		}
		item := &items[i]
		b = appendString(append(b, `{"id":`...), item.ID)
		b = appendString(append(b, `,"section":`...), string(item.Section))
		b = strconv.AppendInt(append(b, `,"tokens":`...), int64(item.Tokens), 10)
		b = appendString(append(b, `,"reason":`...), string(item.Reason))
		b = appendString(append(b, `,"detail":`...), item.Detail)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendString writes s as JSON. What is not UTF-8 becomes U+FFFD; U+2028 and U+2029 are escaped because JSON is
// pasted into scripts.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = append(b, s[from:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r == '\u2028' || r == '\u2029' {
			b = append(b, s[from:i]...)
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
			from = i + size
		}
		i += size
	}
	return append(append(b, s[from:]...), '"')
}
