package review

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// cut is a place in a gap: the gap in front of parts[gap] (the tail for
// gap == len(parts)), off bytes from its start. The gaps are the same in all
// of a file's texts, so a cut is a place in each of them.
type cut struct{ gap, off int }

func (c cut) before(o cut) bool { return c.gap < o.gap || c.gap == o.gap && c.off < o.off }

// region is a piece of a file from one gap to another, with the hunks between.
type region struct{ from, to cut }

// layout is where the hunks of a file lie in one of its texts.
type layout struct {
	text  string
	spans []text.Span
}

func (f File) layout(pick func(*Hunk) string) layout {
	l := layout{text: f.join(pick), spans: make([]text.Span, len(f.parts))}
	at := 0
	for i := range f.parts {
		at += len(f.parts[i].gap)
		n := len(pick(&f.parts[i].hunk))
		l.spans[i] = text.Span{Start: at, End: at + n}
		at += n
	}
	return l
}

// gapStart is the offset at which gap g begins.
func (l layout) gapStart(g int) int {
	if g == 0 {
		return 0
	}
	return l.spans[g-1].End
}

func (l layout) cut(g, offset int) cut { return cut{g, offset - l.gapStart(g)} }

// offset is the place of a cut in the layout's text.
func (l layout) offset(c cut) int { return l.gapStart(c.gap) + c.off }

// widen takes the hunks that a span reaches into, so that it begins and ends
// in a gap.
func (l layout) widen(lo, hi int, span text.Span) (int, int, text.Span) {
	for lo > 0 && l.spans[lo-1].End > span.Start {
		lo--
		span = span.Union(l.spans[lo])
	}
	for hi < len(l.spans) && l.spans[hi].Start < span.End {
		span = span.Union(l.spans[hi])
		hi++
	}
	return lo, hi, span
}

func (f File) gap(g int) string {
	if g == len(f.parts) {
		return f.tail
	}
	return f.parts[g].gap
}

// slice joins one text of a region.
func (f File) slice(r region, pick func(*Hunk) string) string {
	if r.from.gap == r.to.gap {
		return f.gap(r.from.gap)[r.from.off:r.to.off]
	}
	var b strings.Builder
	b.WriteString(f.gap(r.from.gap)[r.from.off:])
	for g := r.from.gap; g < r.to.gap; g++ {
		b.WriteString(pick(&f.parts[g].hunk))
		if g+1 < r.to.gap {
			b.WriteString(f.gap(g + 1))
		}
	}
	b.WriteString(f.gap(r.to.gap)[:r.to.off])
	return b.String()
}

// builder writes a new list of parts.
type builder struct {
	parts []part
	gap   strings.Builder
}

func (b *builder) hunk(h Hunk) {
	b.parts = append(b.parts, part{b.gap.String(), h})
	b.gap.Reset()
}

// copyTo copies gaps and hunks as they are, from one cut to another.
// gapText gives the text of a piece of a gap.
func (b *builder) copyTo(f File, from, to cut, gapText func(g, from, to int) string) {
	for from.gap < to.gap {
		b.gap.WriteString(gapText(from.gap, from.off, len(f.gap(from.gap))))
		b.hunk(f.parts[from.gap].hunk)
		from = cut{from.gap + 1, 0}
	}
	b.gap.WriteString(gapText(from.gap, from.off, to.off))
}

func (b *builder) finish(f File) File {
	f.parts, f.tail = b.parts, b.gap.String()
	return f
}

// settle takes out of the hunks what nobody disputes any more: lines that are
// the same in all texts go to the gaps, and with the last of them the hunk.
// A hunk that is a whole file stays while the file's existence is in question.
func (f File) settle() File {
	if !f.person && f.Base() != "" {
		f.person = true // they wrote something of their own into a file that the agent made
	}
	if !f.agent && f.Current() != "" {
		f.agent = true // or into one that the agent wants to delete
	}
	changed := false
	for i := range f.parts {
		h := &f.parts[i].hunk
		if h.Kind == KindLines {
			p, s := h.common()
			changed = changed || p > 0 || s > 0 || h.settled()
		} else if h.Kind == KindCreated && f.person || h.Kind == KindDeleted && f.agent {
			changed = true
		}
	}
	if !changed {
		return f
	}
	var b builder
	for i := range f.parts {
		b.gap.WriteString(f.parts[i].gap)
		h := f.parts[i].hunk
		if h.Kind == KindCreated && f.person || h.Kind == KindDeleted && f.agent {
			h.Kind = KindLines
		}
		if h.Kind != KindLines {
			b.hunk(h)
			continue
		}
		if h.settled() {
			b.gap.WriteString(h.Shown)
			continue
		}
		p, s := h.common()
		b.gap.WriteString(h.Base[:p])
		after := h.Base[len(h.Base)-s:]
		for _, t := range []*string{&h.Base, &h.Ref, &h.Shown, &h.Agent} {
			*t = (*t)[p : len(*t)-s]
		}
		b.hunk(h)
		b.gap.WriteString(after)
	}
	b.gap.WriteString(f.tail)
	return b.finish(f)
}

// settled says that accepting, rejecting and doing nothing are the same.
func (h *Hunk) settled() bool { return h.Shown == h.accepted() && h.Shown == h.rejected() }

// common gives how many bytes of whole lines all four texts begin and end with.
func (h *Hunk) common() (prefix, suffix int) {
	texts := [...]string{h.Ref, h.Shown, h.Agent}
	b := h.Base
	for prefix < len(b) {
		end := text.LineEnd(b, prefix)
		line := b[prefix:end]
		for _, t := range texts {
			if !strings.HasPrefix(t[prefix:], line) {
				line = ""
				break
			}
		}
		if line == "" || !strings.HasSuffix(line, "\n") {
			break
		}
		prefix = end
	}
	for suffix < len(b)-prefix {
		start := text.LineStart(b, len(b)-suffix-1)
		if start < prefix {
			break
		}
		line := b[start : len(b)-suffix]
		ok := true
		for _, t := range texts {
			at := len(t) - suffix - len(line)
			ok = ok && at >= prefix && t[at:len(t)-suffix] == line && text.AtLineStart(t, at)
		}
		if !ok {
			break
		}
		suffix = len(b) - start
	}
	return prefix, suffix
}
