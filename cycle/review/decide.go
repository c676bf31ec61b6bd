package review

import "github.com/agent-lsp/agent-lsp/internal/text"

// RejectsKeptMax is how many rejected hunks of a file can be brought back;
// older ones are let go from the top of the file down.
const RejectsKeptMax = 64

// Decided is what became of one hunk.
type Decided struct {
	Hunk     Hunk      // as it was
	Span     text.Span // of its place in the shown text afterwards
	Conflict bool      // both texts were kept
	Edited   bool      // the person had changed something inside
}

// Accept makes the hunks that match part of the person's text.
func (f File) Accept(match func(*Hunk) bool) (File, []Decided) {
	return f.decide(match, func(h Hunk) (string, *Hunk) { return h.accepted(), nil }, func(g *File, h Hunk, result string) {
		switch {
		case h.Kind == KindCreated:
			g.person, g.shown, g.agent = true, true, true
		case h.Kind == KindDeleted && result == "" && !h.touched():
			*g = File{}
		case h.Kind == KindDeleted:
			g.person, g.shown, g.agent = true, true, true
		}
	})
}

// Reject takes the hunks that match out again. group names this reject for
// UndoReject.
func (f File) Reject(match func(*Hunk) bool, group string) (File, []Decided) {
	out, done := f.decide(match, func(h Hunk) (string, *Hunk) {
		s := h.rejected()
		was := h
		return s, &Hunk{ID: h.ID, Merged: h.Merged, Refs: h.Refs, Kind: kindRejected, Base: s, Ref: s, Shown: s, Agent: s, Was: &was, Group: group}
	}, func(g *File, h Hunk, result string) {
		switch h.Kind {
		case KindDeleted:
			g.shown, g.agent = true, true
		case KindCreated:
			there := g.Person() != ""
			g.person, g.shown, g.agent = there, there, there
		}
	})
	return out.keepRejects(group), done
}

// decide puts a result, and perhaps the memory of a hunk, in the place of each
// hunk that matches. exists says what that means for the file's existence.
func (f File) decide(match func(*Hunk) bool, result func(Hunk) (string, *Hunk), exists func(*File, Hunk, string)) (File, []Decided) {
	var b builder
	var done []Decided
	var whole []int // of done: the hunks that are the whole file
	at := 0
	for i := range f.parts {
		h := f.parts[i].hunk
		b.gap.WriteString(f.parts[i].gap)
		at += len(f.parts[i].gap)
		if h.Kind == kindRejected || !match(&h) {
			b.hunk(h)
			at += len(h.Shown)
			continue
		}
		s, memory := result(h)
		done = append(done, Decided{Hunk: h, Span: text.Span{Start: at, End: at + len(s)}, Conflict: h.conflict() && !(memory == nil && !h.Held), Edited: h.touched()})
		if h.Kind != KindLines {
			whole = append(whole, len(done)-1)
		}
		if memory != nil {
			b.hunk(*memory)
		} else {
			b.gap.WriteString(s)
		}
		at += len(s)
	}
	if done == nil {
		return f, nil
	}
	b.gap.WriteString(f.tail)
	out := b.finish(f)
	for _, i := range whole {
		exists(&out, done[i].Hunk, out.Shown())
	}
	return out.settle(), done
}

// UndoReject brings the hunks of a reject back, as far as their places are as
// the reject left them.
func (f File) UndoReject(group string) (File, []Decided) {
	alone := true // nothing but the places of this reject is in the file
	for i := range f.parts {
		alone = alone && f.parts[i].gap == "" && f.parts[i].hunk.Group == group
	}
	alone = alone && f.tail == ""
	out := f
	out.parts = append([]part(nil), f.parts...)
	var done []Decided
	at := 0
	for i := range out.parts {
		p := &out.parts[i]
		at += len(p.gap)
		if p.hunk.Kind == kindRejected && p.hunk.Group == group && (p.hunk.Was.Kind != KindDeleted || alone) {
			h := *p.hunk.Was
			switch {
			case h.Kind == KindDeleted:
				out.agent, out.shown = false, h.Held
			case h.Kind == KindCreated && alone && !f.shown:
				out.agent, out.shown = true, !h.Held || h.Shown != ""
			case h.Kind == KindCreated:
				h.Kind = KindLines
			}
			p.hunk = h
			done = append(done, Decided{Hunk: h, Span: text.Span{Start: at, End: at + len(h.Shown)}})
		}
		at += len(p.hunk.Shown)
	}
	if done == nil {
		return f, nil
	}
	if !out.agent && !out.shown && !out.person || !f.shown && !alone {
		return f, nil
	}
	return out.settle(), done
}

// keepRejects lets go of the rejected hunks beyond RejectsKeptMax, those of
// group last.
func (f File) keepRejects(group string) File {
	n := 0
	for i := range f.parts {
		if f.parts[i].hunk.Kind == kindRejected {
			n++
		}
	}
	if n <= RejectsKeptMax {
		return f
	}
	var b builder
	for i := range f.parts {
		h := f.parts[i].hunk
		b.gap.WriteString(f.parts[i].gap)
		if h.Kind == kindRejected && n > RejectsKeptMax && h.Group != group {
			b.gap.WriteString(h.Shown)
			n--
			continue
		}
		b.hunk(h)
	}
	b.gap.WriteString(f.tail)
	return b.finish(f)
}

// Rejects says whether something of the reject can still be brought back.
func (f File) Rejects(group string) bool {
	for i := range f.parts {
		if f.parts[i].hunk.Kind == kindRejected && f.parts[i].hunk.Group == group {
			return true
		}
	}
	return false
}
