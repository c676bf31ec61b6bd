package tools

import (
	"html"
	"strings"
)

// unseen elements hold nothing that a reader sees.
var unseen = []string{"script", "style", "noscript", "svg", "template", "head", "iframe"}

// blocks begin a new line; the value is what stands before their text.
var blocks = map[string]string{
	"p": "\n", "div": "", "section": "\n", "article": "\n", "ul": "\n", "ol": "\n", "li": "- ", "tr": "", "table": "\n", "br": "", "hr": "",
	"h1": "\n# ", "h2": "\n## ", "h3": "\n### ", "h4": "\n#### ", "h5": "\n##### ", "h6": "\n###### ", "pre": "\n", "blockquote": "\n", "dt": "\n", "dd": "  ", "header": "", "footer": "\n", "nav": "\n", "main": "", "figure": "\n", "form": "\n", "option": "- ",
}

// htmlText gives the text of a page, one line a block, without its markup. It
// reads forward only and takes time in proportion to the page.
func htmlText(s string) string {
	var b strings.Builder
	pre := 0
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			writeText(&b, s, pre > 0)
			break
		}
		writeText(&b, s[:open], pre > 0)
		s = s[open:]
		if rest, ok := strings.CutPrefix(s, "<!--"); ok {
			_, s, _ = strings.Cut(rest, "-->")
			continue
		}
		name, closing, rest := tag(s)
		if name == "" { // a lone <
			writeText(&b, s[:1], pre > 0)
			s = s[1:]
			continue
		}
		s = rest
		switch lead, block := blocks[name]; {
		case !closing && isUnseen(name):
			s = afterClosing(s, name)
		case block:
			newLine(&b)
			if !closing {
				b.WriteString(lead)
			}
		case name == "td" || name == "th":
			b.WriteString("\t")
		}
		if name == "pre" {
			pre = max(0, pre+map[bool]int{true: -1, false: 1}[closing])
		}
	}
	return tidyLines(b.String())
}

// tag reads one tag: <name …> or </name>. Without a name it is none.
func tag(s string) (name string, closing bool, rest string) {
	at := 1
	if at < len(s) && s[at] == '/' {
		closing = true
		at++
	}
	from := at
	for at < len(s) && (s[at] >= 'a' && s[at] <= 'z' || s[at] >= 'A' && s[at] <= 'Z' || at > from && s[at] >= '0' && s[at] <= '9') {
		at++
	}
	if at == from && !(at < len(s) && (s[at] == '!' || s[at] == '?')) {
		return "", false, s
	}
	name = strings.ToLower(s[from:at])
	if name == "" {
		name = "!"
	}
	quote := byte(0)
	for ; at < len(s); at++ {
		switch c := s[at]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return name, closing, s[at+1:]
		}
	}
	return name, closing, ""
}

func isUnseen(name string) bool {
	for _, u := range unseen {
		if u == name {
			return true
		}
	}
	return false
}

// afterClosing goes behind </name>, or to the end where there is none.
func afterClosing(s, name string) string {
	for {
		at := strings.Index(s, "</")
		if at < 0 {
			return ""
		}
		s = s[at:]
		if len(s) > 2+len(name) && strings.EqualFold(s[2:2+len(name)], name) {
			if got, _, rest := tag(s); got == name {
				return rest
			}
		}
		s = s[2:]
	}
}

// newLine ends a line that has begun. (String doesn't copy.)
func newLine(b *strings.Builder) {
	if s := b.String(); s != "" && s[len(s)-1] != '\n' {
		b.WriteByte('\n')
	}
}

func writeText(b *strings.Builder, s string, pre bool) {
	s = strings.ReplaceAll(html.UnescapeString(s), "\u00a0", " ")
	if pre {
		b.WriteString(s)
		return
	}
	words := strings.Fields(s)
	if len(words) == 0 {
		if s != "" {
			b.WriteByte(' ')
		}
		return
	}
	if strings.TrimLeft(s, " \t\r\n") != s {
		b.WriteByte(' ')
	}
	b.WriteString(strings.Join(words, " "))
	if strings.TrimRight(s, " \t\r\n") != s {
		b.WriteByte(' ')
	}
}

// tidyLines takes blanks off line ends and leaves one empty line of several.
func tidyLines(s string) string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if strings.TrimSpace(line) == "" && (len(out) == 0 || out[len(out)-1] == "") {
			continue
		}
		out = append(out, line)
	}
	return strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}
