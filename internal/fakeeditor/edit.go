package fakeeditor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/agent-lsp/agent-lsp/agent"
)

// step is one undo step: the texts before it.
type step struct {
	label  string
	before map[string]string
}

// commit makes changes of open documents one undo step and tells the server.
// Nothing is changed if any doesn't fit. Who calls holds editing, so that
// changes go out in the order of versions.
func (e *Editor) commit(ctx context.Context, label string, changes map[string][]change) error {
	after, before := map[string]string{}, map[string]string{}
	for uri, list := range changes {
		text, _, ok := e.Text(uri)
		if !ok {
			return fmt.Errorf("%s is not open", uri)
		}
		before[uri] = text
		for _, c := range list {
			from, err := e.offset(text, c.Range.Start)
			if err != nil {
				return fmt.Errorf("%s: %w", uri, err)
			}
			to, err := e.offset(text, c.Range.End)
			if err != nil || to < from {
				return fmt.Errorf("%s: the range %v is no range (%v)", uri, c.Range, err)
			}
			text = text[:from] + c.Text + text[to:]
		}
		after[uri] = text
	}
	versions := map[string]int32{}
	e.update(func() {
		e.undo = append(e.undo, step{label, before})
		for uri, text := range after {
			e.docs[uri].text = text
			e.docs[uri].version++
			versions[uri] = e.docs[uri].version
		}
	})
	for _, uri := range slices.Sorted(maps.Keys(changes)) {
		if err := e.tell(ctx, uri, versions[uri], changes[uri]); err != nil {
			return err
		}
	}
	return nil
}

func (e *Editor) tell(ctx context.Context, uri string, version int32, changes any) error {
	return e.Notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument": map[string]any{"uri": uri, "version": version}, "contentChanges": changes,
	})
}

// Undo takes the latest step back, in all of its documents, and gives its label.
func (e *Editor) Undo(ctx context.Context) (label string, err error) {
	e.editing.Lock()
	defer e.editing.Unlock()
	e.mu.Lock()
	if len(e.undo) == 0 {
		e.mu.Unlock()
		return "", fmt.Errorf("there is nothing to undo")
	}
	last := e.undo[len(e.undo)-1]
	e.mu.Unlock()
	versions := map[string]int32{}
	e.update(func() {
		e.undo = e.undo[:len(e.undo)-1]
		for uri, text := range last.before {
			if d := e.docs[uri]; d != nil {
				d.text = text
				d.version++
				versions[uri] = d.version
			}
		}
	})
	for _, uri := range slices.Sorted(maps.Keys(versions)) {
		if err := e.tell(ctx, uri, versions[uri], []map[string]string{{"text": last.before[uri]}}); err != nil {
			return "", err
		}
	}
	return last.label, nil
}

// workspaceEdit is what this editor understands of workspace/applyEdit.
type workspaceEdit struct {
	Label string `json:"label"`
	Edit  struct {
		Changes         map[string][]textEdit `json:"changes"`
		DocumentChanges []struct {
			Kind         string `json:"kind"`
			TextDocument struct {
				URI     string `json:"uri"`
				Version *int32 `json:"version"`
			} `json:"textDocument"`
			Edits []textEdit `json:"edits"`
		} `json:"documentChanges"`
		ChangeAnnotations map[string]json.RawMessage `json:"changeAnnotations"`
	} `json:"edit"`
}

type textEdit struct {
	Range        agent.Range `json:"range"`
	NewText      string      `json:"newText"`
	AnnotationID string      `json:"annotationId"`
}

// apply applies a workspace edit to all documents, or says why to none.
func (e *Editor) apply(ctx context.Context, w workspaceEdit) error {
	e.editing.Lock()
	defer e.editing.Unlock()
	edits := map[string][]textEdit{}
	maps.Copy(edits, w.Edit.Changes)
	for _, d := range w.Edit.DocumentChanges {
		uri := d.TextDocument.URI
		if d.Kind != "" {
			return fmt.Errorf("the resource operation %s was not offered", d.Kind)
		}
		if _, version, open := e.Text(uri); d.TextDocument.Version != nil && (!open || version != *d.TextDocument.Version) {
			return fmt.Errorf("%s is at version %d, not %d", uri, version, *d.TextDocument.Version)
		}
		for _, t := range d.Edits {
			if _, known := w.Edit.ChangeAnnotations[t.AnnotationID]; t.AnnotationID != "" && !known {
				return fmt.Errorf("the annotation %q is not described", t.AnnotationID)
			}
		}
		edits[uri] = append(edits[uri], d.Edits...)
	}
	changes := map[string][]change{}
	for uri, list := range edits {
		if _, _, open := e.Text(uri); !open {
			if err := e.openForEdit(ctx, uri); err != nil {
				return err
			}
		}
		// From the last to the first: none moves what comes before it.
		slices.SortStableFunc(list, func(a, b textEdit) int { return compare(b.Range.Start, a.Range.Start) })
		for i, t := range list {
			if i > 0 && compare(t.Range.End, list[i-1].Range.Start) > 0 {
				return fmt.Errorf("edits of %s overlap", uri)
			}
			changes[uri] = append(changes[uri], change{t.Range, t.NewText})
		}
	}
	return e.commit(ctx, w.Label, changes)
}

// openForEdit opens a document that an edit is for, as editors do.
func (e *Editor) openForEdit(ctx context.Context, uri string) error {
	data, err := os.ReadFile(Path(uri))
	if err != nil {
		return err
	}
	return e.OpenText(ctx, uri, "", string(data))
}

func compare(a, b agent.Position) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Character - b.Character
}
