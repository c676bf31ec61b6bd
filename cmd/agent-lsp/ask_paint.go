package main

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// palette colours with the terminal's own sixteen colours, so that its theme
// decides how they look. Without colours it leaves text as it is.
type palette struct {
	on    bool
	ascii bool
}

// codes of the inks.
var inkCodes = map[cycle.Ink]string{
	cycle.InkHead: "1", cycle.InkDim: "2", cycle.InkGood: "32", cycle.InkBad: "31", cycle.InkWait: "33", cycle.InkYou: "36",
}

func (p palette) paint(ink cycle.Ink, s string) string {
	code := inkCodes[ink]
	if !p.on || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p palette) dim(s string) string  { return p.paint(cycle.InkDim, s) }
func (p palette) bad(s string) string  { return p.paint(cycle.InkBad, s) }
func (p palette) good(s string) string { return p.paint(cycle.InkGood, s) }
func (p palette) wait(s string) string { return p.paint(cycle.InkWait, s) }

// sign chooses a glyph.
func (p palette) sign(unicode, ascii string) string {
	if p.ascii {
		return ascii
	}
	return unicode
}

// plain replaces the glyphs of words that were written with them.
func (p palette) plain(s string) string {
	if !p.ascii {
		return s
	}
	return asciiOf.Replace(s)
}

var asciiOf = strings.NewReplacer("·", ",", "…", "...", "−", "-", "→", "->", "█", "#", "░", "+", "▒", "=", "✓", "ok", "⚠", "!",
	"\u2009", "", "┌", "+", "┐", "+", "└", "+", "┘", "+", "─", "-", "│", "|", "›", ">", "⧗", "?", "✗", "x", "⊘", "/", "–", "-", "◇", "<>")

// diff colours a unified diff, row by row, its text made safe to draw.
func (p palette) diff(unified string) []string {
	var out []string
	for line := range strings.Lines(unified) {
		line = cycle.Clean(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			line = p.paint(cycle.InkHead, line)
		case strings.HasPrefix(line, "@@"):
			line = p.paint(cycle.InkYou, line)
		case strings.HasPrefix(line, "+"):
			line = p.good(line)
		case strings.HasPrefix(line, "-"):
			line = p.bad(line)
		}
		out = append(out, line)
	}
	return out
}
