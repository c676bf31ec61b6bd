package agent

import (
	"context"
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// workspaceLog is where the events of edits are kept: hunks belong to files,
// which all sessions share.
const (
	workspaceLog    = "workspace"
	workspaceBranch = "edits"
)

// NewJournal is the ledger's journal in a store.
func NewJournal(s *store.Store) edits.Journal { return journal{s} }

type journal struct{ s *store.Store }

// Record implements edits.Journal.
func (j journal) Record(ctx context.Context, e cycle.Event) error {
	return j.s.Append(context.WithoutCancel(ctx), workspaceLog, workspaceBranch, e)
}

// JournalEvents reads what a ledger recorded, in order.
func JournalEvents(ctx context.Context, s *store.Store) ([]cycle.Event, error) {
	var out []cycle.Event
	for e, err := range s.Events(ctx, workspaceLog, workspaceBranch) {
		if err != nil {
			return nil, err
		}
		out = append(out, e.Event)
	}
	return out, nil
}

// NewBlobs is the ledger's snapshots in a store.
func NewBlobs(s *store.Store) edits.Blobs { return blobs{s} }

type blobs struct{ s *store.Store }

// Put implements edits.Blobs.
func (b blobs) Put(data []byte) (string, error) { return b.s.PutBlob(context.Background(), data) }

// Get implements edits.Blobs.
func (b blobs) Get(hash string) ([]byte, error) { return b.s.Blob(context.Background(), hash) }

// clientEditor is an attached client as the ledger's editor.
type clientEditor struct{ c Client }

func editorOf(c Client) edits.Editor { return clientEditor{c} }

// ApplyEdit implements edits.Editor.
func (x clientEditor) ApplyEdit(ctx context.Context, label string, docs []edits.DocEdit) (bool, error) {
	ok, _, err := x.c.ApplyEdit(ctx, WorkspaceEditFor(x.c, label, docs))
	return ok, err
}

// SaveDoc implements edits.Saver.
func (x clientEditor) SaveDoc(ctx context.Context, uri string, version int32) (bool, error) {
	return SaveBy(ctx, x.c, uri, version)
}

// OpSave is the op of agent/editor that saves a document at one version.
const OpSave = "save"

// SaveBy asks a client to save a document that is still at a version; saved is
// false where it can't, or the person has typed since.
func SaveBy(ctx context.Context, c Client, uri string, version int32) (saved bool, err error) {
	v := int(version)
	answer, err := c.Editor(ctx, EditorParams{Op: OpSave, URI: uri, Version: &v})
	if errors.Is(err, ErrUnsupported) {
		return false, nil
	}
	return string(answer) == "true", err
}

func fromTextRange(r text.Range) Range {
	return Range{Start: Position{Line: r.Start.Line, Character: r.Start.Col}, End: Position{Line: r.End.Line, Character: r.End.Col}}
}

func toTextRange(r Range) text.Range {
	return text.Range{Start: text.Position{Line: r.Start.Line, Col: r.Start.Character}, End: text.Position{Line: r.End.Line, Col: r.End.Character}}
}

// EditsHappened is the ledger's callback: hunks were added, rebased or resolved.
func (e *Engine) EditsHappened(c edits.Changed) {
	e.each(func(to Client) { to.EditsChanged(editsChangedFor(to, c)) })
}

func editsChangedFor(to Client, c edits.Changed) EditsChanged {
	n := EditsChanged{URIs: append([]string{}, c.URIs...), Hunks: toHunks(c.Hunks, text.Encoding(to.Caps().Encoding)), Pending: c.Pending}
	if len(c.SessionIDs) > 0 {
		n.SessionID = c.SessionIDs[len(c.SessionIDs)-1]
	}
	if len(n.URIs) == 0 {
		for _, h := range n.Hunks {
			if !slices.Contains(n.URIs, h.URI) {
				n.URIs = append(n.URIs, h.URI)
			}
		}
	}
	return n
}

func toHunks(list []edits.HunkView, enc text.Encoding) []Hunk {
	out := []Hunk{}
	for _, h := range list {
		x := Hunk{HunkID: h.HunkID, EditID: h.EditID, TurnID: h.TurnID, CallID: h.CallID, URI: h.URI, Path: h.Path, Range: fromTextRange(h.At.In(enc)),
			BaseText: h.BaseText, NewText: h.NewText, Status: string(h.Status), Held: h.Held, File: h.File}
		if h.Version != nil {
			v := int(*h.Version)
			x.Version = &v
		}
		out = append(out, x)
	}
	return out
}

// Edits lists pending hunks.
func (e *Engine) Edits(ctx context.Context, p *EditsParams) (*EditsResult, error) {
	return &EditsResult{Hunks: toHunks(e.parts.Edits.Hunks(edits.Filter{SessionID: p.SessionID, Path: p.URI}), encodingOf(ctx))}, nil
}

// EditsResolve accepts or rejects hunks.
func (e *Engine) EditsResolve(ctx context.Context, p *ResolveParams) (*ResolveResult, error) {
	switch p.Decision {
	case string(edits.Accept), string(edits.Reject):
	default:
		return nil, &Error{Code: CodeBadRequest, Message: "field decision must be accept or reject"}
	}
	if len(p.HunkIDs) == 0 && p.EditID == "" && p.URI == "" && p.TurnID == "" && !p.All {
		return nil, &Error{Code: CodeBadRequest, Message: "nothing says which hunks", Hint: "give hunkIds, editId, uri, turnId or all"}
	}
	list, err := e.parts.Edits.Resolve(context.WithoutCancel(ctx), edits.ResolveRequest{SessionID: p.SessionID, HunkIDs: p.HunkIDs, EditID: p.EditID,
		Path: p.URI, TurnID: p.TurnID, All: p.All, Decision: edits.Decision(p.Decision), Reason: p.Reason})
	if err != nil {
		return nil, err
	}
	return toResolved(list), nil
}

// EditsUndoReject brings back the hunks of the last reject.
func (e *Engine) EditsUndoReject(ctx context.Context, _ *Empty) (*ResolveResult, error) {
	list, err := e.parts.Edits.UndoReject(context.WithoutCancel(ctx))
	if err != nil {
		return nil, editError(err)
	}
	return toResolved(list), nil
}

// editError is a refusal of the ledger as editors hear it.
func editError(err error) error {
	if errors.Is(err, edits.ErrStore) {
		return storeError(err)
	}
	return &Error{Code: CodeInvalidState, Message: err.Error()}
}

func toResolved(list []edits.ResolveResult) *ResolveResult {
	out := &ResolveResult{Results: []Resolved{}}
	for _, r := range list {
		out.Results = append(out.Results, Resolved{HunkID: r.HunkID, Outcome: r.Outcome, Detail: r.Detail})
	}
	return out
}

// fileOutcomes says what a turn did to each file, and what became of it.
func (e *Engine) fileOutcomes(turnID string) []FileOutcome {
	diffs := e.parts.Edits.TurnDiff(turnID)
	pending, decided := map[string]int{}, map[string]map[string]int{}
	for _, h := range e.parts.Edits.Hunks(edits.Filter{TurnID: turnID}) {
		pending[h.Path]++
		if h.Status == edits.StatusConflict {
			addTo(decided, h.Path, "conflict")
		}
	}
	for _, v := range e.parts.Edits.Verdicts(0) {
		if v.TurnID == turnID {
			addTo(decided, v.Path, v.Decision)
		}
	}
	out := []FileOutcome{}
	for file, diff := range diffs {
		f := FileOutcome{Path: file, Diff: diff, Hunks: pending[file]}
		for what, n := range decided[file] {
			if what == "accept" || what == "reject" {
				f.Hunks += n
			}
		}
		f.Status = fileStatus(pending[file], decided[file])
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out
}

func addTo(m map[string]map[string]int, a, b string) {
	if m[a] == nil {
		m[a] = map[string]int{}
	}
	m[a][b]++
}

func fileStatus(pending int, decided map[string]int) string {
	switch {
	case decided["conflict"] > 0:
		return "conflict"
	case pending > 0:
		return "pending"
	case decided["accept"] > 0 && decided["reject"] > 0:
		return "mixed"
	case decided["reject"] > 0:
		return "rejected"
	}
	return "accepted"
}

// DidOpen tells that the editor holds a document.
func (e *Engine) DidOpen(uri, _ string, version int32, content string) {
	e.docError(uri, e.parts.Edits.DidOpen(uri, version, content))
	e.touched(uri)
}

// DidChange tells of the person's typing.
func (e *Engine) DidChange(uri string, version int32, changes []ContentChange, encoding string) error {
	list := make([]workspace.Change, len(changes))
	for i, c := range changes {
		list[i].Text = c.Text
		if c.Range != nil {
			r := toTextRange(*c.Range)
			list[i].Range = &r
		}
	}
	if err := e.parts.Edits.DidChange(uri, version, list, text.Encoding(encoding)); err != nil {
		return &Error{Code: CodeBadRequest, Message: err.Error(), Hint: "close the document and open it again"}
	}
	e.touched(uri)
	return nil
}

// DidSave tells that the editor wrote a document.
func (e *Engine) DidSave(uri string) {
	e.docError(uri, e.parts.Edits.DidSave(uri))
	e.touched(uri)
}

// DidClose tells that the editor holds a document no more.
func (e *Engine) DidClose(uri string) {
	e.docError(uri, e.parts.Edits.DidClose(uri))
	e.touched(uri)
}

// DidChangeFiles tells of changes on disk.
func (e *Engine) DidChangeFiles(uris []string) {
	e.parts.Edits.DiskChanged(uris)
	for _, u := range uris {
		e.touched(u)
	}
}

// DidRename tells that the person renamed a file or folder in the editor: what
// is under review moves along.
func (e *Engine) DidRename(oldURI, newURI string) {
	e.docError(newURI, e.parts.Edits.DidRename(oldURI, newURI))
	e.touched(oldURI)
	e.touched(newURI)
}

// touched tells the index that a file's text is another now.
func (e *Engine) touched(uri string) {
	if p := e.relative(uri); p != "" && e.parts.Touched != nil {
		e.parts.Touched(p)
	}
}

func (e *Engine) docError(uri string, err error) {
	if err != nil {
		e.logf("%s: %v", uri, err)
	}
}

// relative is a file's path inside the workspace with slashes, "" if it is
// outside. It takes URIs, absolute paths and paths that are relative already.
func (e *Engine) relative(uri string) string {
	p := uri
	if strings.HasPrefix(uri, "file:") {
		var err error
		if p, err = workspace.URIPath(uri); err != nil {
			return ""
		}
	}
	if !path.IsAbs(p) {
		return p
	}
	for _, root := range e.rootsNow() {
		if rest, ok := strings.CutPrefix(p, root+"/"); ok {
			return rest
		}
	}
	return ""
}

// uri is a workspace path as a file URI.
func (e *Engine) uri(p string) string {
	if !path.IsAbs(p) {
		p = path.Join(e.parts.Root, p)
	}
	return workspace.PathURI(p)
}

func (e *Engine) rootsNow() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.roots
}

// SetRoots replaces the workspace's folders. The one that the engine was opened
// for stays the first, whatever the editor says: its state and index are there.
// Tools, reviews and permissions know the others; the index doesn't.
func (e *Engine) SetRoots(paths []string) {
	roots := []string{e.parts.Root}
	for _, p := range paths {
		if p = tools.ResolveLinks(p); !slices.Contains(roots, p) {
			roots = append(roots, p)
		}
	}
	if err := e.parts.Edits.SetRoots(roots); err != nil {
		e.logf("the workspace's folders stay as they were: %v", err)
		return
	}
	e.mu.Lock()
	e.roots = roots
	e.mu.Unlock()
}
