package tools

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Limits of a diff.
const (
	patchHunksMax = 500
	patchLinesMax = 50000
)

// patch is a unified diff of one file.
type patch struct {
	from, to string // from the headers, "" where there are none
	create   bool   // from /dev/null
	remove   bool   // to /dev/null
	hunks    []patchHunk
}

// patchHunk is one @@ of it. Line numbers in headers are hints; the lines
// themselves decide.
type patchHunk struct {
	header   string
	line     int // 1-based line in the old file, 0 when the header has none
	old, new []string
	oldNoEOL bool // the old side's last line has no newline
	newNoEOL bool
}

var hunkHeader = regexp.MustCompile(`^@@+(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)?)? ?@*`)

// parsePatch reads a unified diff. Counts in headers may be wrong, as a
// model's often are; an empty line inside a hunk is an empty line of context.
func parsePatch(diff string) (patch, error) {
	var p patch
	lines := strings.Split(strings.ReplaceAll(diff, "\r\n", "\n"), "\n")
	if len(lines) > patchLinesMax {
		return p, fmt.Errorf("the diff has %d lines, the limit is %d", len(lines), patchLinesMax)
	}
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	var h *patchHunk
	last := byte(0)
	for i, l := range lines {
		if h == nil || isFileHeader(lines, i) {
			done, err := p.header(l, h != nil)
			if err != nil {
				return p, fmt.Errorf("line %d of the diff: %w", i+1, err)
			}
			if done {
				h = nil
				continue
			}
		}
		if m := hunkHeader.FindStringSubmatch(l); m != nil {
			if len(p.hunks) == patchHunksMax {
				return p, fmt.Errorf("the diff has more than %d hunks", patchHunksMax)
			}
			n, _ := strconv.Atoi(m[1])
			p.hunks = append(p.hunks, patchHunk{header: l, line: n})
			h, last = &p.hunks[len(p.hunks)-1], 0
			continue
		}
		if h == nil {
			continue // prose or "index abc..def" before the first hunk
		}
		if err := h.add(l, &last); err != nil {
			return p, fmt.Errorf("line %d of the diff: %w", i+1, err)
		}
	}
	if len(p.hunks) == 0 && !p.remove {
		return p, fmt.Errorf("the diff has no hunks; each begins with a line like @@ -10,3 +10,4 @@")
	}
	return p, nil
}

// isFileHeader tells a file's header from a removed line that begins with --.
func isFileHeader(lines []string, i int) bool {
	return strings.HasPrefix(lines[i], "diff --git ") ||
		strings.HasPrefix(lines[i], "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ")
}

func (p *patch) header(l string, inHunks bool) (bool, error) {
	name := func(rest string) string {
		rest, _, _ = strings.Cut(rest, "\t")
		rest = strings.Trim(strings.TrimSpace(rest), `"`)
		if after, ok := strings.CutPrefix(rest, "a/"); ok {
			return after
		}
		after, _ := strings.CutPrefix(rest, "b/")
		return after
	}
	switch {
	case inHunks:
		return false, fmt.Errorf("a second file begins here; give one file a call")
	case strings.HasPrefix(l, "--- "):
		p.from = name(l[4:])
		p.create = p.from == "/dev/null"
		return true, nil
	case strings.HasPrefix(l, "+++ "):
		p.to = name(l[4:])
		p.remove = p.to == "/dev/null"
		return true, nil
	}
	return false, nil
}

func (h *patchHunk) add(l string, last *byte) error {
	kind, rest := byte(' '), ""
	if l != "" {
		kind, rest = l[0], l[1:]
	}
	switch kind {
	case ' ', '\t':
		if kind == '\t' {
			rest = l // the model left out the blank before a tab
		}
		h.old, h.new = append(h.old, rest), append(h.new, rest)
	case '-':
		h.old = append(h.old, rest)
	case '+':
		h.new = append(h.new, rest)
	case '\\':
		h.oldNoEOL = h.oldNoEOL || *last != '+'
		h.newNoEOL = h.newNoEOL || *last != '-'
	default:
		return fmt.Errorf("a line of a hunk begins with a blank, + or -, not %q", string([]rune(l)[:1]))
	}
	*last = kind
	return nil
}

// names checks that the diff is for this file.
func (p patch) names(path string) error {
	for _, n := range []string{p.from, p.to} {
		if n != "" && n != "/dev/null" && !sameFile(n, path) {
			return fmt.Errorf("the diff is for %s, but path says %s", n, path)
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	a, b = strings.TrimPrefix(a, "./"), strings.TrimPrefix(b, "./")
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// apply gives the splices that the hunks are, all in terms of the text before
// any, in ascending order. Each hunk is searched for after the one before it.
func (p patch) apply(text string) ([]matched, []string, error) {
	t := splitLines(text)
	var places []matched
	var notes []string
	from, drift := 0, 0
	for i, h := range p.hunks {
		at, how, err := h.locate(t, from, h.line-1+drift)
		if err != nil {
			return nil, nil, fmt.Errorf("hunk %d (%s): %w", i+1, clip(h.header, 60), err)
		}
		if how != "" {
			notes = append(notes, fmt.Sprintf("hunk %d: %s", i+1, how))
		}
		if h.line > 0 && len(h.old) > 0 {
			drift = at - (h.line - 1)
		}
		places = append(places, h.splice(t, at))
		from = at + len(h.old)
	}
	return places, notes, nil
}

// locate finds the line at which the hunk's old side stands: exactly, else
// with other blanks at line ends. Of several places only one that the header
// names exactly will do.
func (h patchHunk) locate(t lined, from, want int) (at int, how string, err error) {
	if len(h.old) == 0 {
		if len(t.lines) == 0 {
			return 0, "", nil
		}
		return 0, "", fmt.Errorf("it has no line of context, so its place can't be checked; add a line of what stands before or after")
	}
	same := func(s string) string { return s }
	for i, norm := range []func(string) string{same, trimRight} {
		var places []int
		for at := from; at+len(h.old) <= len(t.lines); at++ {
			if sameLines(t.lines[at:at+len(h.old)], h.old, norm) {
				places = append(places, at)
			}
		}
		if len(places) == 0 {
			continue
		}
		how := ""
		if i == 1 {
			how = "blanks at line ends differ"
		}
		for _, at := range places {
			if at == want || len(places) == 1 {
				if h.line > 0 && at != want {
					how = strings.TrimPrefix(how+fmt.Sprintf("; found at line %d instead of %d", at+1, want+1), "; ")
				}
				return at, how, nil
			}
		}
		var at []matched
		for _, n := range places {
			at = append(at, matched{start: t.starts[n]})
		}
		return 0, "", fmt.Errorf("its lines stand at %d places, and none is where its header says; give more context:%s",
			len(places), describePlaces(t.text, at))
	}
	if from > 0 {
		return 0, "", fmt.Errorf("its lines are not in the file after line %d, where the hunk before it ended.%s",
			from, describeNear(t.text, strings.Join(h.old, "\n")))
	}
	return 0, "", fmt.Errorf("its lines are not in the file.%s", describeNear(t.text, strings.Join(h.old, "\n")))
}

// splice keeps context lines as they stand in the file (their blanks may
// differ from the diff's) and leaves the final newline alone unless the diff
// says otherwise.
func (h patchHunk) splice(t lined, at int) matched {
	m := matched{start: len(t.text), end: len(t.text)}
	if at < len(t.lines) {
		m.start = t.starts[at]
	}
	end := at + len(h.old)
	if end < len(t.lines) {
		m.end = t.starts[end]
	}
	with := strings.Join(h.keepContext(t.lines[at:end]), "\n")
	atEOF := end >= len(t.lines)
	switch {
	case len(h.new) == 0:
	case !atEOF:
		with += "\n"
	case h.newNoEOL:
	case h.oldNoEOL || t.newline || len(t.lines) == 0:
		with += "\n"
	}
	m.with = with
	return m
}

// keepContext is the new side with each line of context as the file has it.
func (h patchHunk) keepContext(file []string) []string {
	out := append([]string(nil), h.new...)
	o, n := 0, 0
	for o < len(h.old) && n < len(h.new) && h.old[o] == h.new[n] {
		out[n] = file[o]
		o, n = o+1, n+1
	}
	for i, j := len(h.old)-1, len(h.new)-1; i >= o && j >= n && h.old[i] == h.new[j]; i, j = i-1, j-1 {
		out[j] = file[i]
	}
	return out
}
