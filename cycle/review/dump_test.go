package review

import (
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// dump draws a state for golden files: gaps as they are, hunks with their base
// (-), the agent's text (+) and, where it is another one, what is shown (!).
func dump(f File) string {
	var b strings.Builder
	if !f.person || !f.shown || !f.agent {
		fmt.Fprintf(&b, "exists: person=%v shown=%v agent=%v\n", f.person, f.shown, f.agent)
	}
	lines := func(prefix, s string) {
		for _, l := range text.Lines(s) {
			b.WriteString(prefix + strings.ReplaceAll(strings.TrimSuffix(l, "\n"), "\r", "\\r"))
			if !strings.HasSuffix(l, "\n") {
				b.WriteString("\\")
			}
			b.WriteByte('\n')
		}
	}
	for _, p := range f.parts {
		lines("  ", p.gap)
		h := p.hunk
		fmt.Fprintf(&b, "[%s", h.ID)
		for _, m := range h.Merged {
			b.WriteString("+" + m)
		}
		for _, r := range h.Refs {
			b.WriteString(" " + r.EditID)
		}
		if h.Kind != "" {
			b.WriteString(" " + string(h.Kind))
		}
		if h.Held {
			b.WriteString(" held")
		}
		if h.conflict() {
			b.WriteString(" conflict")
		}
		b.WriteString("]\n")
		if h.Kind == kindRejected {
			lines("x ", h.Shown)
			continue
		}
		lines("- ", h.Base)
		lines("+ ", h.Agent)
		if h.Shown != h.Agent {
			lines("! ", h.Shown)
		}
	}
	lines("  ", f.tail)
	return b.String()
}
