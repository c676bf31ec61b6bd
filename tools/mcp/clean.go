package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// toolName makes the name under which a model knows a server's tool. It
// depends on the two names alone; a name that had to be changed ends in a hash
// of what it was, so that two that become alike stay apart.
func toolName(server, raw string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, raw)
	name := "mcp__" + server + "__" + safe
	if safe == raw && len(name) <= nameMax {
		return name
	}
	sum := sha256.Sum256([]byte(raw))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), nameMax-len(suffix))] + suffix
}

// clean makes text of a stranger fit to be shown: valid UTF-8 without control
// characters, and without what a person can't see but a model reads (text
// direction, zero width, tags).
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != 0x200d, // emoji are joined by 200d
			r >= 0xe0000 && r <= 0xe01ef:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// clip cuts a text to at most n bytes, between characters, and shows that.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	end := max(0, n-len(mark))
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}

func oneLine(s string, n int) string { return clip(strings.Join(strings.Fields(clean(s)), " "), n) }
