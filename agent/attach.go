package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Limits of what a message brings along.
const (
	attachedLinesMax   = 400      // lines of one file or selection
	attachedBytesMax   = 48 << 10 // of one attachment's text
	attachedListMax    = 200      // entries of a folder
	attachedSymbolsMax = 3        // definitions of one symbol
	attachWait         = 20 * time.Second
)

// attached is one attachment as it was when its message was first read: what
// comes later to the file does not change what the model was shown.
type attached struct {
	Label string `json:"label"`
	Path  string `json:"path,omitempty"`
	Start int    `json:"start,omitempty"` // lines, from 1
	End   int    `json:"end,omitempty"`
	Text  string `json:"text"`
	Why   string `json:"why"` // mentioned, attached, selection
	// Missing says why there is no text; the model is told.
	Missing string `json:"missing,omitempty"`
}

// attach resolves what the turn's messages bring along that is not resolved
// yet, and keeps it. Messages that no model call has read are left for later.
func (t *timeline) attach(ctx context.Context, r run.Run) error {
	live := t.inbox != nil // a preview has no loop, asks nobody and keeps nothing
	type pending struct {
		id    string
		extra submitExtra
	}
	var todo []pending
	t.view(func() {
		for i := range t.script.entries {
			x := &t.script.entries[i]
			if x.kind != entryUser && x.kind != entrySteer || t.script.turns[x.turn].id != r.TurnID {
				continue
			}
			id := strings.TrimPrefix(x.id, "msg:")
			if extra := t.script.extraOf(id); !extra.empty() && t.attachments[id] == nil {
				todo = append(todo, pending{id, extra})
			}
		}
	})
	for _, p := range todo {
		list, err := t.attachedTo(ctx, r, p.id, p.extra, live)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.attachments[p.id] = list
		t.mu.Unlock()
	}
	return nil
}

// attachedTo is what a message brings along: as it was kept, else as it is now.
func (t *timeline) attachedTo(ctx context.Context, r run.Run, id string, extra submitExtra, live bool) ([]attached, error) {
	list := []attached{}
	if a, err := t.e.parts.Store.Get(ctx, store.KindAttached, id); err == nil && a.ID == id {
		return list, json.Unmarshal(a.Body, &list)
	}
	ctx, cancel := context.WithTimeout(ctx, attachWait)
	defer cancel()
	list = t.resolve(ctx, r, id, extra, live)
	if !live {
		return list, nil
	}
	body, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	return list, storeError(t.e.parts.Store.Put(context.WithoutCancel(ctx), store.Artifact{Kind: store.KindAttached, ID: id,
		Session: t.session, Branch: t.branch, Turn: r.TurnID, Run: r.ID, Body: body}))
}

// earlierAttached reads what the last turns' messages brought along, for a
// process that has only their log.
func (t *timeline) earlierAttached(ctx context.Context) error {
	var ids []string
	t.view(func() {
		now := t.script.current()
		for _, x := range t.script.entries {
			id := strings.TrimPrefix(x.id, "msg:")
			if (x.kind == entryUser || x.kind == entrySteer) && now-x.turn <= evidenceTurns && t.attachments[id] == nil && !t.script.extraOf(id).empty() {
				ids = append(ids, id)
			}
		}
	})
	for _, id := range ids {
		a, err := t.e.parts.Store.Get(ctx, store.KindAttached, id)
		list := []attached{}
		if err == nil && a.ID == id && json.Unmarshal(a.Body, &list) == nil {
			t.mu.Lock()
			t.attachments[id] = list
			t.mu.Unlock()
		}
	}
	return ctx.Err()
}

// recentAttached is what the messages of the last turns brought along.
func (t *transcript) recentAttached(all map[string][]attached) map[string][]attached {
	out := map[string][]attached{}
	for i := len(t.entries) - 1; i >= 0 && t.current()-t.entries[i].turn <= evidenceTurns; i-- {
		id := strings.TrimPrefix(t.entries[i].id, "msg:")
		if list, ok := all[id]; ok && len(list) > 0 {
			out[id] = list
		}
	}
	return out
}

// resolve reads every attachment and mention of a message, in order.
func (t *timeline) resolve(ctx context.Context, r run.Run, id string, extra submitExtra, live bool) []attached {
	e := t.e
	out := []attached{}
	for _, a := range extra.Attachments {
		switch a.Kind {
		case mentionDiagnostics:
			out = append(out, e.attachDiagnostics(ctx, a.URI, "attached"))
		default:
			start, end := 0, 0
			if a.Range != nil {
				start, end = a.Range.lines()
			}
			file := t.attachFile(ctx, e.relative(a.URI), start, end, "attached")
			if file.Missing != "" && file.Path != "" {
				if dir := e.attachFolder(strings.TrimSuffix(file.Path, "/"), e.parts.Paths(ctx)); dir.Text != "" {
					file, file.Why = dir, "attached"
				}
			}
			out = append(out, file)
		}
	}
	mentioned := false
	for i, m := range extra.Asked.Mentions {
		switch m.Kind {
		case mentionSelection:
			mentioned = true
			out = append(out, t.attachSelection(ctx, extra.Focus, "mentioned"))
		case mentionDiagnostics:
			uri := m.Text
			if uri == "" && extra.Focus != nil {
				uri = extra.Focus.URI
			}
			out = append(out, e.attachDiagnostics(ctx, uri, "mentioned"))
		case mentionDiff:
			out = append(out, t.attachDiff(ctx))
		case mentionURL:
			out = append(out, t.attachURL(ctx, r, fmt.Sprintf("at-%s-%d", id, i), m.Text, live))
		case mentionSymbol:
			out = append(out, t.attachSymbol(m.Text)...)
		default:
			out = append(out, t.attachPath(ctx, m)...)
		}
	}
	if f := extra.Focus; !mentioned && f != nil && f.URI != "" && f.Range != nil && f.Range.End.Line > f.Range.Start.Line {
		if a := t.attachSelection(ctx, f, "selection"); a.Missing == "" {
			out = append(out, a)
		}
	}
	var kept []attached
	for _, a := range out {
		if !slices.ContainsFunc(kept, func(b attached) bool {
			return a.Label == b.Label && a.Path == b.Path && a.Start == b.Start && a.End == b.End
		}) {
			kept = append(kept, a)
		}
	}
	if kept == nil {
		kept = []attached{}
	}
	return kept
}

// checkAttachments refuses what can't be attached while the person can still
// correct it: a file or folder that is not there, or not in the workspace.
func (e *Engine) checkAttachments(ctx context.Context, list []Attachment) error {
	for i, a := range list {
		scheme, _, ok := strings.Cut(a.URI, ":")
		if a.Kind == mentionDiagnostics || ok && scheme != "file" && !strings.Contains(scheme, "/") {
			continue // such as an editor's document without a file
		}
		p := e.relative(a.URI)
		if p == "" {
			return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("attachment %d, %s, is outside the workspace", i, a.URI), Hint: "attach a file of the workspace"}
		}
		if _, err := e.parts.SourceText(p); err != nil && e.attachFolder(strings.TrimSuffix(p, "/"), e.parts.Paths(ctx)).Text == "" {
			return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("attachment %d, %s, can't be read: %v", i, a.URI, err), Hint: "attach a file that is there"}
		}
	}
	return nil
}

// attachPath is a mentioned file or folder, or else the symbol of that name.
func (t *timeline) attachPath(ctx context.Context, m mention) []attached {
	e := t.e
	p := strings.TrimSuffix(m.Text, "/")
	paths := e.parts.Paths(ctx)
	if slices.Contains(paths, p) {
		return []attached{t.attachFile(ctx, p, m.Start, m.End, "mentioned")}
	}
	if dir := e.attachFolder(p, paths); dir.Text != "" {
		return []attached{dir}
	}
	var ends []string // the end of a path is enough where it is the only one
	for _, f := range paths {
		if strings.HasSuffix(f, "/"+p) {
			ends = append(ends, f)
		}
	}
	if len(ends) == 1 {
		return []attached{t.attachFile(ctx, ends[0], m.Start, m.End, "mentioned")}
	}
	if len(ends) > 1 {
		return []attached{{Label: m.label(), Why: "mentioned", Missing: "it may be " + strings.Join(ends[:min(len(ends), attachedSymbolsMax)], " or ") + "; write the whole path"}}
	}
	if !strings.Contains(p, "/") {
		if list := t.attachSymbol(m.Text); list[0].Missing == "" {
			return list
		}
	}
	return []attached{{Label: m.label(), Why: "mentioned", Missing: "there is no such file, folder or symbol in the workspace"}}
}

// attachFile is lines of a file as it is now, unsaved buffers included.
func (t *timeline) attachFile(_ context.Context, p string, start, end int, why string) attached {
	a := attached{Label: p, Path: p, Why: why}
	if p == "" {
		a.Label, a.Missing = "attachment", "it is outside the workspace"
		return a
	}
	if start < 1 {
		start, end = 1, attachedLinesMax
	}
	end = min(max(start, end), start+attachedLinesMax-1)
	text, start, ok := t.lines(p, start, end)
	if !ok || strings.TrimSpace(text) == "" {
		a.Missing = "it can't be read, or has no such lines"
		return a
	}
	text = cutBytes(text)
	a.Start, a.End = start, start+strings.Count(strings.TrimSuffix(text, "\n"), "\n")
	a.Text, a.Label = text, fmt.Sprintf("%s:%d-%d", p, a.Start, a.End)
	return a
}

func cutBytes(s string) string {
	if len(s) <= attachedBytesMax {
		return s
	}
	s = s[:attachedBytesMax]
	return s[:strings.LastIndexByte(s, '\n')+1]
}

// attachFolder lists the files below a folder.
func (e *Engine) attachFolder(dir string, paths []string) attached {
	var b strings.Builder
	n := 0
	for _, f := range paths {
		if strings.HasPrefix(f, dir+"/") || dir == "." {
			if n++; n <= attachedListMax {
				b.WriteString(f + "\n")
			}
		}
	}
	if n > attachedListMax {
		fmt.Fprintf(&b, "[%d more]\n", n-attachedListMax)
	}
	return attached{Label: "@" + dir + "/", Text: b.String(), Why: "mentioned"}
}

// attachSymbol is the definitions of a symbol.
func (t *timeline) attachSymbol(name string) []attached {
	e := t.e
	list, err := e.parts.Index.Definition(name)
	if err != nil || len(list) == 0 {
		return []attached{{Label: "@symbol:" + name, Why: "mentioned", Missing: "no definition of it is indexed"}}
	}
	var out []attached
	for _, s := range list[:min(len(list), attachedSymbolsMax)] {
		out = append(out, t.attachFile(context.Background(), s.Path, s.StartLine, s.EndLine, "mentioned"))
	}
	return out
}

func (t *timeline) attachSelection(ctx context.Context, f *Focus, why string) attached {
	e := t.e
	if f == nil || f.URI == "" || f.Range == nil {
		return attached{Label: "@selection", Why: why, Missing: "nothing is selected in the editor"}
	}
	first, last := f.Range.lines()
	return t.attachFile(ctx, e.relative(f.URI), first, last, why)
}

// attachDiagnostics asks the editors for what their language servers report.
func (e *Engine) attachDiagnostics(ctx context.Context, uri, why string) attached {
	a := attached{Label: "@diagnostics", Why: why}
	if uri != "" {
		if p := e.relative(uri); p != "" {
			a.Label, uri = "@diagnostics:"+p, e.uri(p)
		}
	}
	var asking []Client
	e.each(func(c Client) {
		if slices.Contains(c.Caps().EditorOps, "diagnostics") {
			asking = append(asking, c)
		}
	})
	for _, c := range asking {
		raw, err := c.Editor(ctx, EditorParams{Op: "diagnostics", URI: uri})
		if err == nil {
			if a.Text = diagnosticsText(raw, e.relative); a.Text == "" {
				a.Text = "no problems are reported\n"
			}
			return a
		}
	}
	a.Missing = "no attached editor reports diagnostics"
	return a
}

// diagnosticsText shows an editor's answer as path:line: severity: message.
// The answer is a list of diagnostics, of {uri, diagnostics}, or an object that
// holds one of these under diagnostics or items.
func diagnosticsText(raw json.RawMessage, relative func(string) string) string {
	type diagnostic struct {
		URI      string
		Range    Range
		Severity int
		Message  string
		Source   string
		// Diagnostics is set where the entry is a document's list.
		Diagnostics []struct {
			Range    Range
			Severity int
			Message  string
			Source   string
		}
	}
	var list []diagnostic
	if json.Unmarshal(raw, &list) != nil {
		var object struct{ Diagnostics, Items []diagnostic }
		if json.Unmarshal(raw, &object) != nil {
			return ""
		}
		list = append(object.Diagnostics, object.Items...)
	}
	var b strings.Builder
	line := func(uri string, r Range, severity int, source, message string) {
		name := [...]string{"problem", "error", "warning", "info", "hint"}[max(0, min(severity, 4))]
		at := relative(uri)
		if at != "" {
			at += ":"
		}
		if source != "" {
			source = " [" + source + "]"
		}
		fmt.Fprintf(&b, "%s%d: %s: %s%s\n", at, r.Start.Line+1, name, strings.Join(strings.Fields(message), " "), source)
	}
	for _, d := range list {
		if d.Message != "" {
			line(d.URI, d.Range, d.Severity, d.Source, d.Message)
		}
		for _, x := range d.Diagnostics {
			line(d.URI, x.Range, x.Severity, x.Source, x.Message)
		}
	}
	return cutBytes(b.String() + "\n")[:min(len(b.String()), attachedBytesMax)]
}

// attachDiff is what differs from the last commit.
func (t *timeline) attachDiff(ctx context.Context) attached {
	a := attached{Label: "@diff", Why: "mentioned"}
	if t.e.parts.Shell == nil {
		a.Missing = "no commands can be run here"
		return a
	}
	res, err := t.e.parts.Shell.Run(ctx, tools.Command{Line: "git --no-optional-locks diff HEAD --no-color --no-ext-diff --stat --patch", Dir: t.e.parts.Root,
		Timeout: attachWait, Output: func(string) {}})
	switch {
	case err != nil:
		a.Missing = err.Error()
	case res.ExitCode != 0:
		a.Missing = "git diff failed: " + firstLine(res.Output)
	case strings.TrimSpace(res.Output) == "":
		a.Text = "nothing differs from the last commit\n"
	default:
		a.Text = cutBytes(res.Output)
	}
	return a
}

// attachURL fetches a page, with the person's permission.
func (t *timeline) attachURL(ctx context.Context, r run.Run, callID, url string, live bool) attached {
	a := attached{Label: "@" + url, Why: "mentioned"}
	if !live {
		a.Missing = "it is fetched, with your permission, when the message is sent"
		return a
	}
	fetch, ok := t.e.parts.Tools.Get("fetch")
	if !ok {
		fetch = t.e.fetch
	}
	args, err := json.Marshal(map[string]string{"url": url})
	if err != nil {
		a.Missing = err.Error()
		return a
	}
	roots := t.e.rootsNow()
	env := tools.Env{Root: t.e.parts.Root, Roots: roots, CallID: callID, Asker: asker{t, r, run.Call{ID: callID, Tool: "fetch"}}, Output: func(string) {}}
	policy := t.e.parts.Permissions.Policy()
	permit := tools.Authorize(ctx, env, policy, fetch.Spec(), fetch.Title(args), args, tools.LocateIn(roots))
	if !permit.Allowed {
		a.Missing = firstLine(permit.Refusal.Text)
		return a
	}
	if len(permit.Save) > 0 {
		if err := t.e.parts.Permissions.Save(ctx, permit.Save); err != nil {
			t.e.logf("a permission could not be saved: %v", err)
		}
	}
	res := fetch.Run(ctx, env, args)
	if res.Status != tools.StatusOK {
		a.Missing = firstLine(res.Text)
		return a
	}
	a.Text = cutBytes(res.Text + "\n")
	return a
}

// attachedPieces are a message's attachments as candidates. They stand right
// before the message, and stay eligible as long as evidence does.
func (g gathered) attachedPieces(t *transcript, x *entry) []piece {
	place := x.place
	if place == unplaced {
		place = t.next
	}
	id := strings.TrimPrefix(x.id, "msg:")
	var out []piece
	for i, a := range g.attachments[id] {
		ttl := max(0, evidenceTurns-g.age(x.turn))
		text := fmt.Sprintf("[NOTE] %s (%s): %s", a.Label, a.Why, a.Missing)
		name := fmt.Sprintf("focus:%s@%s", a.Label, id)
		switch {
		case a.Missing == "" && a.Path != "":
			text = evidenceText(snippet{item: rag.Item{Path: a.Path, StartLine: a.Start, EndLine: a.End}, text: a.Text})
		case a.Missing == "":
			text = dataBlock(a.Label, strings.TrimSuffix(a.Text, "\n"))
		}
		out = append(out, g.make(name, contextplan.Focus, place*seqStep-attachedBefore+i, model.RoleUser, text, func(p *piece) {
			c := &p.Candidate
			c.Priority, c.Score = prioAttached-float64(g.age(x.turn))*prioAge, 1
			if a.Why == "selection" {
				c.Priority = prioFocus - float64(g.age(x.turn))*prioAge
			}
			c.TTL = &ttl
			if a.Path != "" && a.Missing == "" {
				c.Span = &contextplan.Span{Path: a.Path, Start: a.Start, End: a.End}
				c.ContentHash = hashOf(a.Path + "\x00" + a.Text)
				p.Item.URI, p.Item.StartLine, p.Item.EndLine = a.Path, a.Start, a.End
			}
			p.turn, p.kind = x.turn, entryEvidence
			p.Item.Label = a.Label
			p.Item.Why = []rag.Why{{Ranker: a.Why, Rank: i + 1, Score: 1}}
		}))
	}
	return out
}

// attachedBefore leaves room for attachmentsMax attachments between a turn's
// evidence and its message.
const attachedBefore = 3 * attachmentsMax
