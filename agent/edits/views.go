package edits

import (
	"slices"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle/review"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Hunks lists the hunks that wait.
func (l *Ledger) Hunks(f Filter) []HunkView {
	abs := ""
	if f.Path != "" {
		p, err := l.ws.Resolve(f.Path)
		if err != nil {
			return nil
		}
		abs = p.Abs
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []HunkView
	for _, file := range l.sorted() {
		if abs == "" || file.place.Abs == abs {
			for _, v := range l.views(file) {
				if f.wants(v) {
					out = append(out, v.HunkView)
				}
			}
		}
	}
	return out
}

// Pending counts the hunks that wait, and the files that they are in.
func (l *Ledger) Pending() (hunks, files int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.files {
		if n := f.state.Pending(); n > 0 {
			hunks += n
			files++
		}
	}
	return hunks, files
}

// sorted gives the files in path order. mu must be held.
func (l *Ledger) sorted() []*file {
	out := make([]*file, 0, len(l.files))
	for _, f := range l.files {
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].place.Path < out[j].place.Path })
	return out
}

// view is a HunkView with what filters go by.
type view struct {
	HunkView
	refs []review.Ref
	ids  []string
}

// views draws a file's hunks. mu must be held.
func (l *Ledger) views(f *file) []view {
	hunks := f.state.Hunks()
	if len(hunks) == 0 {
		return nil
	}
	index := text.NewIndex(f.state.Shown())
	uri := workspace.PathURI(f.place.Abs)
	var version *int32
	if doc, ok := l.ws.Doc(f.place); ok {
		uri, version = doc.URI, &doc.Version
	}
	out := make([]view, 0, len(hunks))
	for _, h := range hunks {
		last := h.Refs[len(h.Refs)-1]
		v := HunkView{
			HunkID: h.ID, EditID: last.EditID, SessionID: last.SessionID, TurnID: last.TurnID, CallID: last.CallID,
			URI: uri, Path: f.place.Path, At: index.Places(h.Span), BaseText: h.OldText, NewText: h.NewText,
			Status: StatusPending, Held: h.Held, File: string(h.Kind), Version: version,
		}
		for _, r := range h.Refs {
			v.EditIDs = appendNew(v.EditIDs, r.EditID)
			v.TurnIDs = appendNew(v.TurnIDs, r.TurnID)
		}
		if h.Conflict {
			v.Status = StatusConflict
		}
		out = append(out, view{v, h.Refs, append([]string{h.ID}, h.Merged...)})
	}
	return out
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (f Filter) wants(v view) bool {
	any := func(is func(review.Ref) bool) bool { return slices.ContainsFunc(v.refs, is) }
	return (f.SessionID == "" || any(func(r review.Ref) bool { return r.SessionID == f.SessionID })) &&
		(f.EditID == "" || any(func(r review.Ref) bool { return r.EditID == f.EditID })) &&
		(f.TurnID == "" || any(func(r review.Ref) bool { return r.TurnID == f.TurnID })) &&
		(f.HunkIDs == nil || slices.ContainsFunc(f.HunkIDs, func(id string) bool { return slices.Contains(v.ids, id) }))
}

// tell reports that the hunks of files changed; before holds the sessions that
// had hunks in them. No locks may be held.
func (l *Ledger) tell(before map[string]bool, files ...*file) {
	if l.changed == nil || len(files) == 0 {
		return
	}
	l.telling.Lock() // the last report is of the last state
	defer l.telling.Unlock()
	var c Changed
	sessions := map[string]bool{}
	for s := range before {
		sessions[s] = true
	}
	l.mu.Lock()
	slices.SortFunc(files, func(a, b *file) int { return strings.Compare(a.place.Path, b.place.Path) })
	for _, f := range files {
		uri := workspace.PathURI(f.place.Abs)
		if doc, ok := l.ws.Doc(f.place); ok {
			uri = doc.URI
		}
		c.Paths, c.URIs = append(c.Paths, f.place.Path), append(c.URIs, uri)
		for _, v := range l.views(f) {
			c.Hunks = append(c.Hunks, v.HunkView)
			sessions[v.SessionID] = true
		}
	}
	for _, f := range l.files {
		c.Pending += f.state.Pending()
	}
	l.mu.Unlock()
	for s := range sessions {
		c.SessionIDs = append(c.SessionIDs, s)
	}
	slices.Sort(c.SessionIDs)
	l.changed(c)
}

// sessionsOf gives the sessions that have hunks in a file. mu must be held.
func (f *file) sessionsOf() map[string]bool {
	out := map[string]bool{}
	for _, h := range f.state.Hunks() {
		for _, r := range h.Refs {
			out[r.SessionID] = true
		}
	}
	return out
}
