package wire

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Object reads a call's arguments. What is no JSON object comes back as a JSON
// string of the raw text, with the reason.
func Object(raw string) (args json.RawMessage, invalid string) {
	text := strings.TrimSpace(raw)
	if text == "" || text == "null" {
		return json.RawMessage("{}"), "" // tools without arguments
	}
	var inner string
	if json.Unmarshal([]byte(text), &inner) == nil { // encoded twice
		text = strings.TrimSpace(inner)
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal([]byte(text), &fields)
	if err == nil && fields != nil {
		return json.RawMessage(text), ""
	}
	quoted, _ := json.Marshal(raw) // a string always marshals
	if !json.Valid([]byte(text)) {
		return quoted, fmt.Sprintf("the arguments are not valid JSON: %v", err)
	}
	return quoted, "the arguments are not a JSON object"
}

// Shown is text for a message: one line, no more than limit bytes, no control characters.
func Shown(b []byte, limit int) string {
	s := strings.Join(strings.Fields(strings.ToValidUTF8(string(b), "�")), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && s[cut]&0xc0 == 0x80 { // not inside a character
		cut--
	}
	return s[:cut] + "…"
}

// bytesPerToken is that of the estimate where a server reports no usage.
const bytesPerToken = 4

// Estimate is about how many tokens so many bytes are.
func Estimate(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
