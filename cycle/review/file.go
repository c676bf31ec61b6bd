package review

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Ref says which of the agent's edits shaped a hunk.
type Ref struct {
	EditID    string `json:"e"`
	SessionID string `json:"s,omitempty"`
	TurnID    string `json:"t,omitempty"`
	CallID    string `json:"c,omitempty"`
}

// Kind tells hunks that are whole files from others.
type Kind string

// The kinds.
const (
	KindLines    Kind = ""         // some lines of a file
	KindCreated  Kind = "created"  // the agent made the file
	KindDeleted  Kind = "deleted"  // the agent deleted the file
	kindRejected Kind = "rejected" // not a hunk any more: the place where a reject can be undone
)

// Hunk is one piece of the agent's work that waits for the person. Base, Ref,
// Shown and Agent are whole lines, but for the last of a file.
type Hunk struct {
	ID     string
	Refs   []Ref    // oldest first, never empty
	Merged []string // ids of the hunks that this one has absorbed
	Kind   Kind
	Held   bool // put into the buffer only when accepted

	Base, Ref, Shown, Agent string

	// Of a kindRejected: the hunk as it was, and the reject it belongs to. All
	// four texts are what the reject left.
	Was   *Hunk
	Group string
}

// part is a gap and the hunk behind it.
type part struct {
	gap  string
	hunk Hunk
}

// File is a file under review. The zero value is a file that doesn't exist.
// Files are values: no operation changes its receiver.
type File struct {
	// Whether the file exists for the person (were all rejected), in the buffer
	// or on disk now, and for the agent (were all accepted).
	person, shown, agent bool

	parts []part
	tail  string
}

// New is a file that holds s, with nothing to review.
func New(s string) File { return File{person: true, shown: true, agent: true, tail: s} }

// PersonExists tells whether the file is there once everything is rejected.
func (f File) PersonExists() bool { return f.person }

// ShownExists tells whether the file is in the buffer or on disk now.
func (f File) ShownExists() bool { return f.shown }

// AgentExists tells whether the file is there once everything is accepted.
func (f File) AgentExists() bool { return f.agent }

// Shown is the text that the buffer or the file on disk has now.
func (f File) Shown() string { return f.join(func(h *Hunk) string { return h.Shown }) }

// Current is the text as the agent sees it: with all its hunks.
func (f File) Current() string { return f.join((*Hunk).accepted) }

// Person is the person's text: what rejecting everything leaves.
func (f File) Person() string { return f.join((*Hunk).rejected) }

// Base is the text that the hunks are a change of: the person's text without
// what they changed inside hunks.
func (f File) Base() string { return f.join(func(h *Hunk) string { return h.Base }) }

func (f File) join(pick func(*Hunk) string) string {
	if len(f.parts) == 0 {
		return f.tail
	}
	var b strings.Builder
	for i := range f.parts {
		b.WriteString(f.parts[i].gap)
		b.WriteString(pick(&f.parts[i].hunk))
	}
	b.WriteString(f.tail)
	return b.String()
}

// Pending is the number of hunks to decide.
func (f File) Pending() int {
	n := 0
	for i := range f.parts {
		if f.parts[i].hunk.Kind != kindRejected {
			n++
		}
	}
	return n
}

// View is a hunk as it is shown.
type View struct {
	Hunk
	Span     text.Span // in Shown()
	OldText  string    // what rejecting brings back
	NewText  string    // what is in the buffer; of a held hunk what accepting brings
	Conflict bool      // deciding it keeps both texts
}

// Hunks lists what waits for the person, from top to bottom.
func (f File) Hunks() []View {
	var out []View
	at := 0
	for i := range f.parts {
		h := f.parts[i].hunk
		at += len(f.parts[i].gap)
		span := text.Span{Start: at, End: at + len(h.Shown)}
		at = span.End
		if h.Kind == kindRejected {
			continue
		}
		v := View{Hunk: h, Span: span, OldText: h.Base, NewText: h.Shown, Conflict: h.conflict()}
		if h.Held {
			v.OldText, v.NewText = h.Shown, h.accepted()
		}
		out = append(out, v)
	}
	return out
}

// Answers says whether the hunk has the id, or absorbed the one that had it.
func (h *Hunk) Answers(id string) bool { return h.ID == id || slices.Contains(h.Merged, id) }

// Equal says whether two states are the same in everything.
func (f File) Equal(g File) bool {
	return f.person == g.person && f.shown == g.shown && f.agent == g.agent && f.tail == g.tail &&
		slices.EqualFunc(f.parts, g.parts, func(a, b part) bool { return a.gap == b.gap && a.hunk.equal(b.hunk) })
}

func (h Hunk) equal(o Hunk) bool {
	if (h.Was == nil) != (o.Was == nil) || h.Was != nil && !h.Was.equal(*o.Was) {
		return false
	}
	return h.ID == o.ID && h.Kind == o.Kind && h.Held == o.Held && h.Group == o.Group &&
		h.Base == o.Base && h.Ref == o.Ref && h.Shown == o.Shown && h.Agent == o.Agent &&
		slices.Equal(h.Refs, o.Refs) && slices.Equal(h.Merged, o.Merged)
}

// Check says which invariant is broken. It is for tests and for states read
// from a store.
func (f File) Check() error {
	seen := map[string]bool{}
	for i := range f.parts {
		h := &f.parts[i].hunk
		if h.ID == "" || len(h.Refs) == 0 {
			return fmt.Errorf("hunk %d (%q) has no id or no edit", i, h.ID)
		}
		for _, id := range append([]string{h.ID}, h.Merged...) {
			if seen[id] {
				return fmt.Errorf("the id %s belongs to two hunks", id)
			}
			seen[id] = true
		}
		switch h.Kind {
		case kindRejected:
			if h.Was == nil || h.Base != h.Shown || h.Ref != h.Shown || h.Agent != h.Shown {
				return fmt.Errorf("the rejected hunk %s has more than one text", h.ID)
			}
		case KindCreated, KindDeleted, KindLines:
			if h.Was != nil {
				return fmt.Errorf("the pending hunk %s was rejected", h.ID)
			}
		default:
			return fmt.Errorf("the hunk %s is of the unknown kind %q", h.ID, h.Kind)
		}
		if !h.Held && h.Kind != kindRejected && h.Ref != h.Agent {
			return fmt.Errorf("the hunk %s is shown, but isn't the agent's text", h.ID)
		}
	}
	if !f.shown && f.Shown() != "" || !f.person && f.Base() != "" || !f.agent && f.agentText() != "" {
		return errors.New("a file that isn't there has text")
	}
	if f.Pending() == 0 && (f.person != f.shown || f.shown != f.agent) {
		return errors.New("with nothing to decide, the file is there for one and not for the other")
	}
	return nil
}

// agentText is the text that the agent wants, before what the person did to it.
func (f File) agentText() string { return f.join(func(h *Hunk) string { return h.Agent }) }

// Plain says that there is nothing in the state but the text.
func (f File) Plain() bool { return len(f.parts) == 0 && f.person == f.shown && f.shown == f.agent }
