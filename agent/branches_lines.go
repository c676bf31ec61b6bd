package agent

import (
	"path"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// lines reads a range of a file as this branch has it; 1-based, both ends
// included. The range is one of the person's tree, as the index has it: where
// the branch changed the file, the same lines are elsewhere, from line at on.
func (t *timeline) lines(p string, start, end int) (words string, at int, ok bool) {
	return t.linesBy(t.e.lines, p, start, end)
}

// linesOnce is lines for many ranges: each file of the tree is read once.
func (t *timeline) linesOnce() func(p string, start, end int) (words string, at int, ok bool) {
	tree := t.e.linesOnce()
	return func(p string, start, end int) (string, int, bool) { return t.linesBy(tree, p, start, end) }
}

func (t *timeline) linesBy(tree func(string, int, int) (string, bool), p string, start, end int) (words string, at int, ok bool) {
	if t.copy != nil {
		t.copy.mu.Lock()
		f := t.copy.files[path.Clean(p)]
		var now []byte
		if f != nil {
			now = f.now
		}
		t.copy.mu.Unlock()
		if f != nil {
			tree, _ := t.e.parts.SourceText(p) // no file in the tree: every line is the branch's
			return movedLines(string(tree), string(now), start, end)
		}
	}
	words, ok = tree(p, start, end)
	return words, start, ok
}

// movedLines finds in now what was lines start to end of was. Where was is
// nothing, the lines are those of now.
func movedLines(was, now string, start, end int) (words string, at int, ok bool) {
	if was == "" {
		was = now
	}
	old := text.Lines(was)
	if start < 1 || start > len(old) {
		return "", 0, false
	}
	first, last := start-1, min(max(start, end), len(old))
	from := len(strings.Join(old[:first], ""))
	to := from + len(strings.Join(old[first:last], ""))
	edits := text.Diff(was, now)
	from = text.LineStart(now, text.MoveOffset(from, edits, true))
	if last == len(old) {
		to = len(now)
	} else {
		to = text.MoveOffset(to, edits, false)
	}
	return now[from:max(from, to)], strings.Count(now[:from], "\n") + 1, to > from
}
