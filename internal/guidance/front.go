package guidance

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of one file.
const (
	FileMax        = 32 << 10 // bytes; the rest is left out, and that is said
	frontLinesMax  = 100
	descriptionMax = 400
)

// document is a Markdown file with its front matter.
type document struct {
	fields map[string]string
	lists  map[string][]string
	body   string
}

// parse reads front matter between two lines of ---: one "key: value" a line,
// lists as [a, b], as a, b or as following lines of "- a". It is the part of
// YAML that such files use; what it can't read is an error that names the line.
func parse(text string) (document, error) {
	d := document{fields: map[string]string{}, lists: map[string][]string{}}
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		d.body = strings.TrimSpace(text)
		return d, nil
	}
	lines := strings.Split(rest, "\n")
	key, folded := "", false
	for i, line := range lines {
		if i >= frontLinesMax {
			break
		}
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "---":
			d.body = strings.TrimSpace(strings.Join(lines[i+1:], "\n"))
			return d, nil
		case trimmed == "" || strings.HasPrefix(trimmed, "#"):
		case strings.HasPrefix(trimmed, "- ") && key != "":
			d.lists[key] = append(d.lists[key], unquote(trimmed[2:]))
		case line != strings.TrimLeft(line, " \t") && key != "": // goes on, or belongs to a map that we don't read
			if folded || d.fields[key] != "" {
				d.fields[key] = strings.TrimSpace(d.fields[key] + " " + trimmed)
			}
		default:
			k, v, ok := strings.Cut(trimmed, ":")
			if !ok {
				return d, fmt.Errorf("line %d: %q is no \"key: value\"", i+2, clip(trimmed))
			}
			key = strings.ToLower(strings.TrimSpace(k))
			v = strings.TrimSpace(v)
			if folded = slices.Contains([]string{">", "|", ">-", "|-"}, v); folded {
				v = "" // the lines that follow are its value
			}
			d.fields[key] = unquote(v)
			d.lists[key] = listOf(v)
		}
	}
	return d, fmt.Errorf("the front matter has no closing --- within %d lines", frontLinesMax)
}

func listOf(v string) []string {
	v = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(v), "["), "]")
	var out []string
	for _, part := range strings.Split(v, ",") {
		if part = unquote(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func clip(s string) string {
	if r := []rune(s); len(r) > descriptionMax {
		return string(r[:descriptionMax-1]) + "…"
	}
	return s
}

// validName is what may stand after a slash.
func validName(s string) bool {
	const nameMax = 64
	return s != "" && len(s) <= nameMax && !slices.ContainsFunc([]rune(s), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == ':')
	})
}
