package review

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// accepted is what the hunk's place holds once it is accepted.
func (h *Hunk) accepted() string {
	s, _ := combine(h.Ref, h.Shown, h.Agent, false)
	return s
}

// rejected is what the hunk's place holds once it is rejected.
func (h *Hunk) rejected() string {
	s, _ := combine(h.Ref, h.Shown, h.Base, true)
	return s
}

// conflict says whether deciding the hunk keeps both texts.
func (h *Hunk) conflict() bool {
	if h.Ref == h.Shown || h.Kind == kindRejected {
		return false
	}
	_, a := combine(h.Ref, h.Shown, h.Agent, false)
	_, r := combine(h.Ref, h.Shown, h.Base, true)
	return a || r
}

// touched says whether the person changed something inside the hunk.
func (h *Hunk) touched() bool { return h.Ref != h.Shown }

// combine brings what the person did, ref to shown, together with another
// change, ref to other. Where the two meet, other's lines come first and the
// lines that the person changed are kept below them: that is a conflict.
// typedOnly is for taking the agent's text away again: lines out of which the
// person only deleted something are then nothing to keep.
func combine(ref, shown, other string, typedOnly bool) (result string, conflict bool) {
	switch {
	case shown == ref || shown == other:
		return other, false
	case other == ref:
		return shown, false
	}
	var out string
	for _, c := range text.MergeEdits(ref, text.Diff(ref, shown), text.Diff(ref, other)) {
		if !c.Conflict {
			out = joinLines(out, c.Text)
			continue
		}
		mine := changedLines(c.Base, c.Ours, typedOnly)
		conflict = conflict || mine != "" || !typedOnly
		out = joinLines(joinLines(out, c.Theirs), mine)
	}
	return out, conflict
}

// changedLines gives the lines of now that are not in old as they are.
func changedLines(old, now string, typedOnly bool) string {
	var b strings.Builder
	for _, e := range text.Diff(old, now) {
		if typedOnly && text.Trim(old, e).New == "" {
			continue
		}
		b.WriteString(e.New)
	}
	return b.String()
}

// joinLines puts b behind a, on a line of its own.
func joinLines(a, b string) string {
	if a == "" || b == "" || strings.HasSuffix(a, "\n") {
		return a + b
	}
	return a + eol(a+b) + b
}

// eol is the line ending that a text uses first, "\n" when it has none.
func eol(s string) string {
	if i := strings.IndexByte(s, '\n'); i > 0 && s[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// fold makes what the person did inside the hunk part of all its texts, so
// that the hunk can be built upon: its accepted and rejected texts stay what
// they were.
func (h Hunk) fold() Hunk {
	if h.touched() {
		h.Base, h.Agent, h.Ref = h.rejected(), h.accepted(), h.Shown
		if !h.Held {
			h.Agent = h.Ref
		}
	}
	return h
}
