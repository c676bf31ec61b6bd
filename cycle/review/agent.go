package review

import (
	"errors"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// ErrUndecided is the refusal to hold back an edit over one of the agent's
// that is already in the file, where the two can't be told apart.
var ErrUndecided = errors.New("the agent's own creation or deletion of this file still waits for a decision")

// ErrExists and ErrAbsent say that a file is, or isn't, there for the agent.
var (
	ErrExists = errors.New("the file exists")
	ErrAbsent = errors.New("the file doesn't exist")
)

// Agent is an edit by the agent: now is the whole new Current(). held keeps it
// out of the shown text. id makes the id of a new hunk; an edit of lines that
// are in a hunk already becomes part of that hunk.
func (f File) Agent(now string, ref Ref, held bool, id func() string) (File, error) {
	if !f.agent {
		return f, ErrAbsent
	}
	l := f.layout((*Hunk).accepted)
	var regions []region
	var spans []text.Span // of the regions in l.text
	var edits [][]text.Edit
	for _, e := range text.Diff(l.text, now) {
		lo, hi, span := f.agentHit(l, e)
		r := region{l.cut(lo, span.Start), l.cut(hi, span.End)}
		if n := len(regions); n > 0 && r.from.gap < regions[n-1].to.gap {
			if regions[n-1].to.before(r.to) {
				regions[n-1].to, spans[n-1].End = r.to, span.End
			}
			edits[n-1] = append(edits[n-1], e)
			continue
		}
		regions, spans, edits = append(regions, r), append(spans, span), append(edits, []text.Edit{e})
	}
	if regions == nil {
		return f, nil
	}
	var b builder
	at := cut{}
	asIs := func(g, from, to int) string { return f.gap(g)[from:to] }
	for i, r := range regions {
		b.copyTo(f, at, r.from, asIs)
		piece, err := text.Apply(l.text[spans[i].Start:spans[i].End], shift(edits[i], -spans[i].Start))
		if err != nil {
			return f, err
		}
		b.hunk(f.agentHunk(r, piece, ref, held, id))
		at = r.to
	}
	b.copyTo(f, at, cut{len(f.parts), len(f.tail)}, asIs)
	return b.finish(f).settle(), nil
}

// agentHit finds the hunks that an edit of the agent's changes, and the span of
// them all: it builds on what it overlaps, on deletions at its edges, and on
// everything in a file that the agent itself made.
func (f File) agentHit(l layout, e text.Edit) (lo, hi int, span text.Span) {
	span = e.Span()
	lo = -1
	for i, s := range l.spans {
		h := &f.parts[i].hunk
		hit := s.Overlaps(e.Span())
		if h.Kind != kindRejected {
			hit = hit || s.Touches(e.Span()) && (s.Len() == 0 || h.Kind == KindCreated || s.End == len(l.text) && h.openEnd())
		}
		if !hit {
			continue
		}
		if lo < 0 {
			lo = i
		}
		hi = i + 1
		span = span.Union(s)
	}
	if lo < 0 {
		// Between two hunks that meet, it goes where a text would go.
		for lo = 0; lo < len(l.spans) && l.spans[lo].End <= e.Start && (l.spans[lo].Start < e.Start || l.spans[lo].Len() == 0); lo++ {
		}
		hi = lo
	}
	return l.widen(lo, hi, span)
}

// agentHunk is what the agent's new text makes of a region.
func (f File) agentHunk(r region, now string, ref Ref, held bool, id func() string) Hunk {
	folded := f
	folded.parts = append([]part(nil), f.parts...)
	for i := r.from.gap; i < r.to.gap; i++ {
		folded.parts[i].hunk = f.parts[i].hunk.fold()
	}
	h := folded.merge(r)
	if h.ID == "" {
		h.ID = id()
	}
	h.Refs = append(h.Refs[:len(h.Refs):len(h.Refs)], ref)
	h.Held = h.Held || held
	h.Agent = now
	if !h.Held {
		h.Shown = now
	}
	h.Ref = h.Shown
	return h
}

// Create is the agent making a file that isn't there for it.
func (f File) Create(content string, ref Ref, held bool, id func() string) (File, error) {
	if f.agent {
		return f, ErrExists
	}
	if f.person { // it was the agent that deleted it
		if held && !f.shown {
			return f, ErrUndecided
		}
		return New(f.Person()).Agent(content, ref, held, id)
	}
	h := Hunk{ID: id(), Refs: []Ref{ref}, Kind: KindCreated, Held: held, Agent: content}
	if !held {
		h.Ref, h.Shown = content, content
	}
	return File{agent: true, shown: !held, parts: []part{{hunk: h}}}, nil
}

// Delete is the agent deleting the file.
func (f File) Delete(ref Ref, held bool, id func() string) (File, error) {
	if !f.agent {
		return f, ErrAbsent
	}
	if !f.person && f.Person() == "" { // its own, and nothing of the person's in it
		if held && f.shown {
			return f, ErrUndecided
		}
		return File{}, nil
	}
	h := f.merge(region{cut{}, cut{len(f.parts), len(f.tail)}})
	if h.ID == "" {
		h.ID = id()
	}
	h.Refs = append(h.Refs[:len(h.Refs):len(h.Refs)], ref)
	h.Kind, h.Held = KindDeleted, held
	h.Base, h.Agent, h.Shown = f.Person(), "", ""
	if held {
		h.Shown = f.Shown()
	}
	h.Ref = h.Shown
	return File{person: true, shown: held, parts: []part{{hunk: h}}}, nil
}

// Withhold takes the agent's text out of what is shown, and keeps the hunks: for
// a buffer that was closed, or lost, before it was saved.
func (f File) Withhold() File {
	if !f.person || !f.agent {
		return f
	}
	f.parts = append([]part(nil), f.parts...)
	for i := range f.parts {
		h := f.parts[i].hunk.fold()
		if h.Kind != kindRejected {
			h.Held, h.Ref, h.Shown = true, h.Base, h.Base
		}
		f.parts[i].hunk = h
	}
	f.shown = true
	return f.settle()
}

func shift(edits []text.Edit, d int) []text.Edit {
	out := make([]text.Edit, len(edits))
	for i, e := range edits {
		out[i] = text.Edit{Start: e.Start + d, End: e.End + d, New: e.New}
	}
	return out
}
