package edits

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Files is the workspace as the tools of one turn see it: the disk, over it the
// editor's buffers, over them the agent's own pending edits.
type Files struct {
	l     *Ledger
	scope Scope
}

var _ tools.Files = (*Files)(nil)

// Files gives the workspace for a turn.
func (l *Ledger) Files(s Scope) *Files {
	if s.Mode == "" {
		s.Mode = ModeReview
	}
	return &Files{l, s}
}

// Read gives a file as the agent sees it.
func (fs *Files) Read(ctx context.Context, path string) (tools.File, error) {
	p, err := fs.place(path, workspace.AccessRead)
	if err != nil {
		return tools.File{}, err
	}
	f, err := fs.l.acquire(ctx, p)
	if err != nil {
		return tools.File{}, err
	}
	defer fs.l.release(f)
	if err := fs.l.sync(f); err != nil {
		return tools.File{}, toolError(err)
	}
	fs.l.mu.Lock()
	defer fs.l.mu.Unlock()
	if !f.state.AgentExists() {
		hint := ""
		if f.state.PersonExists() {
			hint = "you deleted it; the person has not decided yet"
		}
		return tools.File{}, &tools.PathError{Path: p.Path, Reason: workspace.ReasonNotFound, Hint: hint}
	}
	out := tools.File{Path: p.Path, Data: f.bytes(f.state.Current()), Pending: f.state.Pending(), Mode: uint32(f.mode)}
	out.Hash = text.Hash(out.Data)
	if doc, open := fs.l.ws.Doc(p); open {
		out.Unsaved = doc.Dirty() || f.disk == workspace.NoFile
	}
	return out, nil
}

// bytes is a text as it is on disk.
func (f *file) bytes(s string) []byte {
	return f.form.Join(s)
}

// Stat looks at a path as the agent sees it.
func (fs *Files) Stat(_ context.Context, path string) (tools.Info, error) {
	p, err := fs.place(path, workspace.AccessRead)
	if err != nil {
		return tools.Info{}, err
	}
	info, err := fs.l.ws.Stat(p)
	over, ok := fs.l.overlay(p)
	switch {
	case ok && over.gone:
		return tools.Info{}, &tools.PathError{Path: p.Path, Reason: workspace.ReasonNotFound, Hint: "you deleted it; the person has not decided yet"}
	case ok:
		return tools.Info{Path: p.Path, Size: int64(over.size), MTime: info.MTime}, nil
	case err != nil:
		return tools.Info{}, toolError(err)
	}
	return toolInfo(info), nil
}

func toolInfo(i workspace.Info) tools.Info {
	return tools.Info{Path: i.Path, Dir: i.Dir, Size: i.Size, Link: i.Link, MTime: i.MTime}
}

// over is what buffers and pending edits make of a file.
type over struct {
	gone bool
	size int
}

// overlay says what buffers and pending edits make of a place; ok is false when
// there are none.
func (l *Ledger) overlay(p workspace.Place) (over, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.files[p.Abs]; f != nil && f.known && !f.state.Plain() {
		return over{gone: !f.state.AgentExists(), size: len(f.state.Current())}, true
	}
	if doc, ok := l.ws.Doc(p); ok {
		return over{size: len(doc.Text)}, true
	}
	return over{}, false
}

// overlaid lists all places that buffers and pending edits say something about,
// by path.
func (l *Ledger) overlaid() map[string]over {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]over{}
	for _, d := range l.ws.Docs() {
		out[d.Place.Path] = over{size: len(d.Text)}
	}
	for _, f := range l.files {
		if f.known && !f.state.Plain() {
			out[f.place.Path] = over{gone: !f.state.AgentExists(), size: len(f.state.Current())}
		}
	}
	return out
}

// List gives the entries of a folder as the agent sees it.
func (fs *Files) List(_ context.Context, dir string) ([]tools.Info, error) {
	p, err := fs.place(dir, workspace.AccessRead)
	if err != nil {
		return nil, err
	}
	entries, _, err := fs.l.ws.ListDir(p)
	overs := fs.l.overlaid()
	var out []tools.Info
	seen := map[string]bool{}
	for _, e := range entries {
		if o, ok := overs[e.Path]; ok {
			if o.gone {
				continue
			}
			e.Size = int64(o.size)
		}
		seen[e.Path] = true
		out = append(out, toolInfo(e))
	}
	// What isn't on disk yet: files, and the folders on the way to them.
	prefix := p.Path + "/"
	if p.Path == "." {
		prefix = ""
	}
	for name, o := range overs {
		rest, below := strings.CutPrefix(name, prefix)
		if !below || o.gone || prefix == "" && path.IsAbs(name) {
			continue
		}
		first, _, deeper := strings.Cut(rest, "/")
		info := tools.Info{Path: prefix + first, Dir: deeper}
		if !deeper {
			info.Size = int64(o.size)
		}
		if !seen[info.Path] {
			seen[info.Path] = true
			out = append(out, info)
		}
	}
	if err != nil && len(out) == 0 {
		return nil, toolError(err)
	}
	slices.SortFunc(out, func(a, b tools.Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Walk visits the files below a folder, in path order, until fn returns false.
func (fs *Files) Walk(ctx context.Context, dir string, fn func(tools.Info) bool) error {
	p, err := fs.place(dir, workspace.AccessRead)
	if err != nil {
		return err
	}
	overs := fs.l.overlaid()
	var extra []tools.Info // not on disk
	for name, o := range overs {
		below := p.Path == "." && !path.IsAbs(name) || name == p.Path || strings.HasPrefix(name, p.Path+"/")
		if !below || o.gone || workspace.IsSecret(name) {
			continue
		}
		if q, err := fs.l.ws.Resolve(name); err == nil {
			if _, err := fs.l.ws.Stat(q); err != nil {
				extra = append(extra, tools.Info{Path: name, Size: int64(o.size)})
			}
		}
	}
	slices.SortFunc(extra, func(a, b tools.Info) int { return strings.Compare(a.Path, b.Path) })
	stopped := false
	visit := func(i tools.Info) bool {
		stopped = stopped || !fn(i)
		return !stopped
	}
	err = fs.l.ws.Walk(ctx, p, func(i workspace.Info) bool {
		for len(extra) > 0 && extra[0].Path < i.Path {
			if !visit(extra[0]) {
				return false
			}
			extra = extra[1:]
		}
		o, ok := overs[i.Path]
		if ok && o.gone {
			return true
		}
		if ok {
			i.Size = int64(o.size)
		}
		return visit(toolInfo(i))
	})
	var pe *workspace.PathError
	if len(extra) > 0 && errors.As(err, &pe) && pe.Reason == workspace.ReasonNotFound {
		err = nil // the folder is only in buffers and pending edits
	}
	for _, i := range extra {
		if err != nil || stopped || !visit(i) {
			break
		}
	}
	return toolError(err)
}

// place resolves a path and asks whether it may be touched.
func (fs *Files) place(path string, a workspace.Access) (workspace.Place, error) {
	p, err := fs.l.ws.Resolve(path)
	if err == nil {
		err = fs.l.ws.May(p, a)
	}
	return p, toolError(err)
}
