package tools

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shellBracesMax bounds the words that one {a,b} stands for.
const shellBracesMax = 64

// WordKind says how much of a word is known.
type WordKind uint8

// The kinds of word.
const (
	WordLiteral WordKind = iota
	WordGlob             // file names that fit a pattern
	WordDynamic          // what a variable or a command gives
	WordTail             // any number of arguments that come from elsewhere (xargs, find -exec)
)

// ShellWord is one word of a simple command, quotes removed.
type ShellWord struct {
	Text string
	Kind WordKind
}

// String writes a command for people and rules: words that need it in quotes.
func (c ShellCommand) String() string {
	words := make([]string, len(c.Words))
	for i, w := range c.Words {
		words[i] = w.quoted()
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./~^-]+$`)

func (w ShellWord) quoted() string {
	if w.Kind != WordLiteral || plainWord.MatchString(w.Text) {
		return w.Text
	}
	return "'" + strings.ReplaceAll(w.Text, "'", `'\''`) + "'"
}

// braces gives the words that one stands for after brace expansion.
func braces(w *syntax.Word) (words []ShellWord, ok bool) {
	split := &syntax.Word{Parts: slices.Clone(w.Parts)} // SplitBraces changes it, and Walk isn't done with w
	if !syntax.SplitBraces(split) {
		return []ShellWord{literalWord(w)}, true
	}
	for b, err := range expand.BracesSeq(nil, split) {
		if err != nil || len(words) == shellBracesMax {
			return nil, false
		}
		words = append(words, literalWord(b))
	}
	return words, true
}

// literalWord takes the quotes off a word and says how much of it is known.
func literalWord(w *syntax.Word) ShellWord {
	var b strings.Builder
	kind := WordLiteral
	worse := func(k WordKind) { kind = max(kind, k) }
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text, glob := unescape(part.Value)
			b.WriteString(text)
			if glob {
				worse(WordGlob)
			}
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
			if part.Dollar && strings.Contains(part.Value, `\`) {
				worse(WordDynamic) // $'\x72m'
			}
		case *syntax.DblQuoted:
			for _, q := range part.Parts {
				if lit, ok := q.(*syntax.Lit); ok {
					b.WriteString(unescapeQuoted(lit.Value))
				} else {
					worse(partKind(q))
					b.WriteString(source(q))
				}
			}
		case *syntax.ExtGlob:
			worse(WordGlob)
			b.WriteString(source(part))
		default:
			worse(partKind(part))
			b.WriteString(source(part))
		}
	}
	return ShellWord{Text: b.String(), Kind: kind}
}

// partKind: $? and the like are numbers and can't be mistaken for anything else.
func partKind(part syntax.WordPart) WordKind {
	if e, ok := part.(*syntax.ParamExp); ok && numericParam(e) {
		return WordLiteral
	}
	return WordDynamic
}

func source(n syntax.Node) string {
	var b bytes.Buffer
	if err := syntax.NewPrinter(syntax.SingleLine(true)).Print(&b, n); err != nil {
		return "$…"
	}
	return oneLine(b.String(), titleMax)
}

// unescape takes backslashes off unquoted text and looks for glob characters.
func unescape(s string) (text string, glob bool) {
	if !strings.ContainsAny(s, `\*?[`) {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			i++
		case strings.IndexByte("*?[", s[i]) >= 0:
			glob = true
		}
		b.WriteByte(s[i])
	}
	return b.String(), glob
}

// unescapeQuoted does the same inside double quotes, where a backslash counts
// before few characters.
func unescapeQuoted(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
