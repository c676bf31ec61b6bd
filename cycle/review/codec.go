package review

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// codecVersion is the first field of an encoded state; another one is refused.
const codecVersion = 1

// stored is the head of an encoded state: everything but the texts, whose
// bytes follow it in the order gap, base, ref, shown, agent of each part, then
// the tail. Texts are no JSON strings because they may hold any bytes.
type stored struct {
	Version int          `json:"v"`
	Person  bool         `json:"person,omitempty"`
	Shown   bool         `json:"shown,omitempty"`
	Agent   bool         `json:"agent,omitempty"`
	Parts   []storedPart `json:"parts,omitempty"`
	Tail    int          `json:"tail"`
}

type storedPart struct {
	Gap  int        `json:"gap"`
	Hunk storedHunk `json:"hunk"`
}

type storedHunk struct {
	ID     string      `json:"id"`
	Refs   []Ref       `json:"refs"`
	Merged []string    `json:"merged,omitempty"`
	Kind   Kind        `json:"kind,omitempty"`
	Held   bool        `json:"held,omitempty"`
	Group  string      `json:"group,omitempty"`
	Texts  [4]int      `json:"texts"` // lengths; a text that is the same as the one before it has -1
	Was    *storedHunk `json:"was,omitempty"`
}

// Encode writes a state. The same state gives the same bytes.
func (f File) Encode() []byte {
	var body bytes.Buffer
	s := stored{Version: codecVersion, Person: f.person, Shown: f.shown, Agent: f.agent, Tail: len(f.tail)}
	for _, p := range f.parts {
		body.WriteString(p.gap)
		s.Parts = append(s.Parts, storedPart{len(p.gap), *storeHunk(&p.hunk, &body)})
	}
	body.WriteString(f.tail)
	head, err := json.Marshal(s)
	if err != nil { // can't be: nothing in it can fail
		return nil
	}
	return append(append(head, '\n'), body.Bytes()...)
}

func storeHunk(h *Hunk, body *bytes.Buffer) *storedHunk {
	s := &storedHunk{ID: h.ID, Refs: h.Refs, Merged: h.Merged, Kind: h.Kind, Held: h.Held, Group: h.Group}
	last := ""
	for i, t := range [...]string{h.Base, h.Ref, h.Shown, h.Agent} {
		if i > 0 && t == last {
			s.Texts[i] = -1
			continue
		}
		s.Texts[i] = len(t)
		body.WriteString(t)
		last = t
	}
	if h.Was != nil {
		s.Was = storeHunk(h.Was, body)
	}
	return s
}

// Decode reads what Encode wrote. Anything else is an error.
func Decode(data []byte) (File, error) {
	head, body, ok := bytes.Cut(data, []byte("\n"))
	var s stored
	if err := json.Unmarshal(head, &s); err != nil || !ok {
		return File{}, errors.New("not a review state")
	}
	if s.Version != codecVersion {
		return File{}, fmt.Errorf("a review state of version %d; this program reads version %d", s.Version, codecVersion)
	}
	r := reader{rest: string(body)}
	f := File{person: s.Person, shown: s.Shown, agent: s.Agent}
	for i := range s.Parts {
		gap := r.take(s.Parts[i].Gap)
		f.parts = append(f.parts, part{gap, r.hunk(&s.Parts[i].Hunk)})
	}
	f.tail = r.take(s.Tail)
	if r.bad || r.rest != "" {
		return File{}, errors.New("a review state whose texts are not as long as it says")
	}
	if err := f.Check(); err != nil {
		return File{}, fmt.Errorf("a review state that can't be: %w", err)
	}
	return f, nil
}

type reader struct {
	rest string
	bad  bool
}

func (r *reader) take(n int) string {
	if n < 0 || n > len(r.rest) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) hunk(s *storedHunk) Hunk {
	h := Hunk{ID: s.ID, Refs: s.Refs, Merged: s.Merged, Kind: s.Kind, Held: s.Held, Group: s.Group}
	last := ""
	for i, t := range []*string{&h.Base, &h.Ref, &h.Shown, &h.Agent} {
		if i == 0 || s.Texts[i] >= 0 {
			last = r.take(s.Texts[i])
		}
		*t = last
	}
	if s.Was != nil {
		was := r.hunk(s.Was)
		h.Was = &was
	}
	return h
}
