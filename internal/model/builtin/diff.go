package builtin

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A change replaces lines [at, at+remove) of a file by insert.
type change struct {
	at, remove int
	insert     []string
}

const diffContext = 3

// unified writes changes, sorted by line, as a diff of one file. known holds
// the text of the lines around each change.
func unified(file string, known map[int]string, changes []change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", file, file)
	shift := 0
	for i := 0; i < len(changes); {
		j := i + 1 // changes whose context touches are one hunk
		for j < len(changes) && changes[j].at-(changes[j-1].at+changes[j-1].remove) <= 2*diffContext && span(known, changes[j-1].at+changes[j-1].remove, changes[j].at) {
			j++
		}
		shift += hunk(&b, known, changes[i:j], shift)
		i = j
	}
	return b.String()
}

// span says whether the lines [from, to) are all known.
func span(known map[int]string, from, to int) bool {
	for n := from; n < to; n++ {
		if _, ok := known[n]; !ok {
			return false
		}
	}
	return true
}

func hunk(b *strings.Builder, known map[int]string, changes []change, shift int) int {
	first, last := changes[0], changes[len(changes)-1]
	from := first.at
	for from > 1 && first.at-from < diffContext && span(known, from-1, from) {
		from--
	}
	to := last.at + last.remove
	for to-(last.at+last.remove) < diffContext && span(known, to, to+1) {
		to++
	}
	var body strings.Builder
	added, n := 0, from
	for _, c := range changes {
		for ; n < c.at; n++ {
			body.WriteString(" " + known[n] + "\n")
		}
		for ; n < c.at+c.remove; n++ {
			body.WriteString("-" + known[n] + "\n")
		}
		for _, l := range c.insert {
			body.WriteString("+" + l + "\n")
		}
		added += len(c.insert) - c.remove
	}
	for ; n < to; n++ {
		body.WriteString(" " + known[n] + "\n")
	}
	oldLen := to - from
	fmt.Fprintf(b, "@@ -%d,%d +%d,%d @@\n%s", from, oldLen, from+shift, oldLen+added, body.String())
	return added
}

// A filePatch is the part of a pasted diff that is about one file.
type filePatch struct {
	path           string
	text           string
	create, remove bool
	added          []string // the new file's lines, when it creates one
	hunks          int
}

var diffHead = regexp.MustCompile(`(?m)^(?:diff --git |--- \S.*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)`)

// readDiff finds a pasted unified diff in a message, fenced or bare.
func readDiff(message string) (string, bool) {
	if len(message) > inputMax {
		message = message[:inputMax]
	}
	message = strings.ReplaceAll(message, "\r\n", "\n")
	for _, m := range fenceText.FindAllStringSubmatch(message, -1) {
		if diffHead.MatchString(m[1]) && len(splitDiff(m[1])) > 0 {
			return m[1] + "\n", true
		}
	}
	at := regexp.MustCompile(`(?m)^(?:diff --git |--- \S.*\n\+\+\+ )`).FindStringIndex(message)
	if at == nil {
		return "", false
	}
	d := message[at[0]:]
	return strings.TrimRight(d, "\n") + "\n", len(splitDiff(d)) > 0
}

var hunkRange = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// splitDiff cuts a diff into files. Lines that belong to no hunk or header
// (prose around a pasted diff) are dropped.
func splitDiff(d string) []filePatch {
	var out []filePatch
	lines := strings.Split(d, "\n")
	var cur *filePatch
	old, new := 0, 0 // lines that the open hunk still wants
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if cur != nil && (old > 0 || new > 0) {
			switch {
			case l == "" || l[0] == ' ' || l[0] == '\t':
				old, new = old-1, new-1
			case l[0] == '-':
				old--
			case l[0] == '+':
				new--
				cur.added = append(cur.added, l[1:])
			case l[0] == '\\':
			default:
				old, new = 0, 0
				i--
				continue
			}
			cur.text += l + "\n"
			continue
		}
		if strings.HasPrefix(l, "--- ") && i+1 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") {
			from, to := diffName(l[4:]), diffName(lines[i+1][4:])
			p := filePatch{path: to, create: from == "/dev/null", remove: to == "/dev/null"}
			if p.remove {
				p.path = from
			}
			p.text = l + "\n" + lines[i+1] + "\n"
			out = append(out, p)
			cur = &out[len(out)-1]
			i++
			continue
		}
		if m := hunkRange.FindStringSubmatch(l); m != nil && cur != nil {
			old, new = hunkCount(m[1]), hunkCount(m[2])
			cur.hunks++
			cur.text += l + "\n"
			continue
		}
		if strings.HasPrefix(l, `\ No newline`) && cur != nil {
			cur.text += l + "\n"
		}
	}
	kept := out[:0]
	for _, p := range out {
		if p.path != "" && p.path != "/dev/null" && (p.hunks > 0 || p.remove) {
			kept = append(kept, p)
		}
	}
	return kept
}

func hunkCount(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > inputMax {
		return 0
	}
	return n
}

func diffName(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = strings.Trim(strings.TrimSpace(s), `"`)
	if s == "/dev/null" || s == "" {
		return s
	}
	if strings.HasPrefix(s, "a/") || strings.HasPrefix(s, "b/") {
		s = s[2:]
	}
	return clean(s)
}

// applyPatch lands a pasted diff, one edit call a file.
func (r *run) applyPatch(it intent) (string, bool) {
	if !r.box.has("edit") {
		return noTool("edit", "apply the diff"), true
	}
	files := splitDiff(it.text)
	if len(files) == 0 {
		return "I see no unified diff with file names in your message; each file begins with `--- a/path` and `+++ b/path`.", true
	}
	var calls []call
	for _, f := range files {
		if f.create && r.box.has("write") {
			calls = append(calls, r.write(f.path, strings.Join(f.added, "\n")+"\n"))
		} else {
			calls = append(calls, r.patch(f.path, f.text))
		}
	}
	if len(calls) > callsPerRound {
		return fmt.Sprintf("The diff touches %s; I apply at most %d at once. Please cut it up.", plural(len(files), "file"), callsPerRound), true
	}
	got, ok := r.do("Applying the diff to "+plural(len(files), "file")+".", calls...)
	if !ok {
		return "", false
	}
	var done, failed []string
	for i, g := range got {
		if g.failed {
			failed = append(failed, "- `"+files[i].path+"`: "+clip(strings.Join(strings.Fields(g.text), " "), 300))
		} else {
			done = append(done, fmt.Sprintf("- `%s`: %s", files[i].path, plural(max2(1, files[i].hunks), "hunk")))
		}
	}
	var b strings.Builder
	if len(done) > 0 {
		b.WriteString("Applied the diff:\n" + strings.Join(done, "\n"))
	}
	if len(failed) > 0 {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString("These did not apply, and nothing was changed in them:\n" + strings.Join(failed, "\n"))
	}
	return b.String(), true
}
