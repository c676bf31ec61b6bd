package review

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// User is what the person did to the text that they see: edits of Shown(). The
// error is text.Check's.
func (f File) User(edits []text.Edit) (File, error) {
	l := f.layout(func(h *Hunk) string { return h.Shown })
	if err := text.Check(len(l.text), edits); err != nil {
		return f, err
	}
	if !f.shown {
		// Typing into a file that isn't there makes it.
		now, err := text.Apply(l.text, edits)
		if err != nil || now == "" {
			return f, err
		}
		return f.UserCreate(now), nil
	}
	edits = byLines(l.text, edits)
	if len(edits) == 0 {
		return f, nil
	}
	if len(f.parts) == 0 {
		now, err := text.Apply(f.tail, edits)
		f.tail = now
		return f, err
	}
	u := userEdit{f: f, l: l}
	for _, e := range edits {
		u.place(e)
	}
	return u.rebuild().settle(), nil
}

// UserText is User with the whole new text.
func (f File) UserText(now string) File {
	out, err := f.User(text.Diff(f.Shown(), now))
	if err != nil { // can't be: the edits are Diff's
		return f
	}
	return out
}

// UserDelete is the person deleting the file: nothing is left to decide.
func (f File) UserDelete() File { return File{} }

// UserCreate is the person making a file that wasn't there: one that never
// was, one that the agent deleted, or one that the agent holds ready.
func (f File) UserCreate(s string) File {
	if f.shown {
		return f.UserText(s)
	}
	for i := range f.parts {
		if h := f.parts[i].hunk; h.Kind == KindCreated || h.Kind == KindDeleted {
			h.Shown = s
			h.Kind = KindLines
			f.person, f.shown, f.agent = true, true, true
			f.parts, f.tail = []part{{hunk: h}}, ""
			return f.settle()
		}
	}
	return New(s)
}

// byLines makes edits fit the rules for lines: what doesn't change is taken
// off, edits that share a line become one, and an insertion that begins with a
// line's end becomes one of whole lines behind it.
func byLines(s string, edits []text.Edit) []text.Edit {
	var out []text.Edit
	for _, e := range edits {
		e = text.Trim(s, e)
		if e.Start == e.End && e.New == "" {
			continue
		}
		if n := len(out); n > 0 {
			p := out[n-1]
			if a, b := lineSpan(s, p), lineSpan(s, e); a.Overlaps(b) || a == b {
				out[n-1] = text.Edit{Start: p.Start, End: e.End, New: p.New + s[p.End:e.Start] + e.New}
				continue
			}
		}
		out = append(out, e)
	}
	for i := range out {
		if e := toLineStart(s, out[i]); i+1 == len(out) || e.Start <= out[i+1].Start {
			out[i] = e
		}
	}
	return out
}

// toLineStart turns "\nnew" put in front of a line's end into "new\n" put
// behind it, which is the same text.
func toLineStart(s string, e text.Edit) text.Edit {
	if e.Start != e.End {
		return e
	}
	for _, end := range []string{"\r\n", "\n"} {
		if strings.HasPrefix(s[e.Start:], end) && strings.HasPrefix(e.New, end) && !text.AtLineStart(s, e.Start) {
			at := e.Start + len(end)
			return text.Edit{Start: at, End: at, New: e.New[len(end):] + end}
		}
	}
	return e
}

// wholeLines says whether an edit inserts or deletes whole lines only.
func wholeLines(s string, e text.Edit) bool {
	if !text.AtLineStart(s, e.Start) {
		return false
	}
	if e.Start == e.End {
		return strings.HasSuffix(e.New, "\n")
	}
	return e.New == "" && (text.AtLineStart(s, e.End) || e.End == len(s))
}

// lineSpan is the lines of s that an edit changes: none (an empty span) when it
// inserts whole lines.
func lineSpan(s string, e text.Edit) text.Span {
	if wholeLines(s, e) {
		return e.Span()
	}
	start := text.LineStart(s, e.Start)
	if e.End > e.Start && text.AtLineStart(s, e.End) && strings.HasSuffix(e.New, "\n") {
		return text.Span{Start: start, End: e.End}
	}
	return text.Span{Start: start, End: text.LineEnd(s, e.End)}
}

// userEdit sorts the person's edits into gaps, hunks and regions.
type userEdit struct {
	f       File
	l       layout
	regions []region    // in order, apart from each other: to become one hunk each
	edits   []text.Edit // in order, none of them across the end of a hunk
	homes   []int       // of each edit: 2*gap, or 2*hunk+1
}

// place finds out where an edit belongs.
func (u *userEdit) place(e text.Edit) {
	lines := lineSpan(u.l.text, e)
	lo, hi := u.hit(lines, e)
	if lo == hi {
		u.put(e, 2*u.gapOf(e))
		return
	}
	if e.New == "" && wholeLines(u.l.text, e) {
		u.split(e)
		return
	}
	span := lines
	for i := lo; i < hi; i++ {
		span = span.Union(u.l.spans[i])
	}
	lo, hi, span = u.l.widen(lo, hi, span)
	u.region(region{u.l.cut(lo, span.Start), u.l.cut(hi, span.End)})
	u.put(e, 2*lo+1)
}

func (u *userEdit) put(e text.Edit, home int) {
	u.edits = append(u.edits, e)
	u.homes = append(u.homes, home)
}

// region adds a region, or lets the last one grow.
func (u *userEdit) region(r region) {
	if n := len(u.regions); n > 0 && (r.from.gap < u.regions[n-1].to.gap || r.from.before(u.regions[n-1].to)) {
		last := &u.regions[n-1]
		if r.from.before(last.from) {
			last.from = r.from
		}
		if last.to.before(r.to) {
			last.to = r.to
		}
		return
	}
	u.regions = append(u.regions, r)
}

// hit gives the hunks that an edit of these lines is inside of.
func (u *userEdit) hit(lines text.Span, e text.Edit) (lo, hi int) {
	first := true
	for i, s := range u.l.spans {
		h := &u.f.parts[i].hunk
		if !s.Overlaps(lines) && !joins(s, e, lines) && !(s.End == len(u.l.text) && growsEnd(s, e) && h.openEnd()) {
			continue
		}
		if first {
			lo, first = i, false
		}
		hi = i + 1
	}
	return lo, hi
}

// joins says that an edit takes the line's end away in front of an empty hunk.
func joins(s text.Span, e text.Edit, lines text.Span) bool {
	return s.Len() == 0 && e.End == s.Start && e.Start < e.End && !strings.HasSuffix(e.New, "\n") && lines.Start < e.Start
}

// growsEnd says that an edit puts something behind, or into, a hunk at the end
// of the text.
func growsEnd(s text.Span, e text.Edit) bool {
	return e.New != "" && e.End >= s.Start && (e.Start > s.Start || s.Len() == 0)
}

// openEnd says that one of the hunk's texts ends without a line's end, so that
// what is put behind it would become part of its last line.
func (h *Hunk) openEnd() bool {
	for _, t := range [...]string{h.Base, h.Ref, h.Shown, h.Agent} {
		if t != "" && !strings.HasSuffix(t, "\n") {
			return true
		}
	}
	return false
}

// gapOf finds the gap of an edit that is inside no hunk: behind hunks that end
// where it begins, in front of those that begin there.
func (u *userEdit) gapOf(e text.Edit) int {
	g := 0
	for g < len(u.l.spans) && u.l.spans[g].End <= e.Start && (u.l.spans[g].Start < e.Start || u.l.spans[g].Len() == 0) {
		g++
	}
	return g
}

// split cuts a deletion of whole lines at the ends of hunks.
func (u *userEdit) split(e text.Edit) {
	at := e.Start
	cutTo := func(end, home int) {
		if end = min(end, e.End); at < end {
			u.put(text.Edit{Start: at, End: end}, home)
			at = end
		}
	}
	for i, s := range u.l.spans {
		cutTo(s.Start, 2*i)
		cutTo(s.End, 2*i+1)
	}
	cutTo(e.End, 2*len(u.l.spans))
}

// rebuild makes the new file.
func (u *userEdit) rebuild() File {
	f := u.f
	done := make([]bool, len(u.edits))
	// within applies the edits with a home in [lo, hi] that lie in a span of
	// the shown text.
	within := func(lo, hi int, span text.Span) string {
		var list []text.Edit
		for i, e := range u.edits {
			if !done[i] && u.homes[i] >= lo && u.homes[i] <= hi && e.Start >= span.Start && e.End <= span.End {
				list = append(list, text.Edit{Start: e.Start - span.Start, End: e.End - span.Start, New: e.New})
				done[i] = true
			}
		}
		if list == nil {
			return u.l.text[span.Start:span.End]
		}
		s, err := text.Apply(u.l.text[span.Start:span.End], list)
		if err != nil { // can't be: the edits were checked and are in order
			return u.l.text[span.Start:span.End]
		}
		return s
	}
	gapText := func(g, from, to int) string {
		start := u.l.gapStart(g)
		return within(2*g, 2*g, text.Span{Start: start + from, End: start + to})
	}
	var b builder
	at := cut{}
	copyTo := func(to cut) {
		for at.gap < to.gap {
			b.gap.WriteString(gapText(at.gap, at.off, len(f.gap(at.gap))))
			h := f.parts[at.gap].hunk
			s := within(2*at.gap+1, 2*at.gap+1, u.l.spans[at.gap])
			if h.Kind == kindRejected && s != h.Shown {
				b.gap.WriteString(s) // what was rejected there can't come back
			} else {
				h.Shown = s
				b.hunk(h)
			}
			at = cut{at.gap + 1, 0}
		}
		b.gap.WriteString(gapText(at.gap, at.off, to.off))
		at = to
	}
	for _, r := range u.regions {
		copyTo(r.from)
		h := f.merge(r)
		h.Shown = within(2*r.from.gap, 2*r.to.gap, text.Span{Start: u.l.offset(r.from), End: u.l.offset(r.to)})
		if h.ID == "" { // nothing in it but places of rejected hunks
			b.gap.WriteString(h.Shown)
		} else {
			b.hunk(h)
		}
		at = r.to
	}
	copyTo(cut{len(f.parts), len(f.tail)})
	return b.finish(f)
}

// merge makes one hunk of a region's hunks and the text between them.
func (f File) merge(r region) Hunk {
	out := Hunk{}
	for i := r.from.gap; i < r.to.gap; i++ {
		h := f.parts[i].hunk
		if h.Kind == kindRejected {
			continue
		}
		if out.ID == "" {
			out.ID, out.Kind = h.ID, h.Kind
		} else {
			out.Merged = append(out.Merged[:len(out.Merged):len(out.Merged)], h.ID)
		}
		out.Merged = append(out.Merged[:len(out.Merged):len(out.Merged)], h.Merged...)
		out.Refs = append(out.Refs[:len(out.Refs):len(out.Refs)], h.Refs...)
		out.Held = out.Held || h.Held
	}
	out.Base = f.slice(r, func(h *Hunk) string { return h.Base })
	out.Ref = f.slice(r, func(h *Hunk) string { return h.Ref })
	out.Shown = f.slice(r, func(h *Hunk) string { return h.Shown })
	out.Agent = f.slice(r, func(h *Hunk) string { return h.Agent })
	return out
}
