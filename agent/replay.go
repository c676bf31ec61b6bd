package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Replayed is what came of driving a recorded run again.
type Replayed struct {
	RunID       string       `json:"runId"`
	Identical   bool         `json:"identical"` // but for times
	Events      int          `json:"events"`    // compared
	Requests    int          `json:"requests"`  // to the model
	Edits       int          `json:"edits"`     // made again from the text before them
	Differences []Difference `json:"differences"`
	// Stopped says why the replay did not come to the end.
	Stopped string `json:"stopped,omitempty"`

	events []json.RawMessage
}

// Difference is one thing that did not come out as recorded.
type Difference struct {
	What     string `json:"what"`             // event, request, edit
	Number   int    `json:"number,omitempty"` // of the event in the run, or of the model call; from 1
	Type     string `json:"type,omitempty"`   // of the event
	Field    string `json:"field,omitempty"`
	Recorded any    `json:"recorded,omitempty"`
	Replayed any    `json:"replayed,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// String says it in a line.
func (d Difference) String() string {
	switch {
	case d.Field != "":
		return fmt.Sprintf("%s %d (%s), %s: recorded %s, replayed %s", d.What, d.Number, d.Type, d.Field, short(d.Recorded), short(d.Replayed))
	case d.Number > 0:
		return fmt.Sprintf("%s %d: %s", d.What, d.Number, d.Detail)
	}
	return d.What + ": " + d.Detail
}

func short(v any) string {
	const longest = 120
	body, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if r := []rune(string(body)); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return string(body)
}

// eventDifference names the first field in which two events differ.
func eventDifference(n int, want, got cycle.Event) Difference {
	d := Difference{What: "event", Number: n, Type: want.Type()}
	a, err := timeless(want)
	if err != nil {
		d.Detail = err.Error()
		return d
	}
	b, err := timeless(got)
	if err != nil {
		d.Detail = err.Error()
		return d
	}
	fields := slices.Sorted(maps.Keys(a))
	for f := range b {
		if _, ok := a[f]; !ok {
			fields = append(fields, f)
		}
	}
	slices.Sort(fields)
	for _, f := range fields {
		x, _ := json.Marshal(a[f]) // they were JSON
		y, _ := json.Marshal(b[f])
		if string(x) != string(y) {
			d.Field, d.Recorded, d.Replayed = f, a[f], b[f]
			return d
		}
	}
	return d
}

// ReadRecording reads an exported run.
func ReadRecording(data []byte) (*Recording, error) {
	var rec Recording
	if err := json.Unmarshal(data, &rec); err != nil {
		return nil, fmt.Errorf("this is no exported run: %w", err)
	}
	switch {
	case rec.Format != RecordingFormat:
		return nil, fmt.Errorf("this is no exported run: its format is %q, not %q", rec.Format, RecordingFormat)
	case rec.Version != RecordingVersion:
		return nil, fmt.Errorf("the run was exported in version %d of the format; this agent-lsp reads version %d", rec.Version, RecordingVersion)
	}
	return &rec, nil
}

// Replay drives a recorded run again: the same machine, driver and planner,
// over a store of its own, with the recorded answers of the model, the tools
// and the person. It touches nothing else.
func Replay(ctx context.Context, rec *Recording) (*Replayed, error) { return replay(ctx, rec, false) }

func replay(ctx context.Context, rec *Recording, loose bool) (*Replayed, error) {
	for _, p := range rec.Plans {
		if p.Call > 0 && p.Surroundings == nil {
			return nil, &Error{Code: CodeInvalidState, Message: "run " + rec.RunID + " was made by an agent-lsp that did not keep what its plans were made from; it can't be replayed"}
		}
	}
	if len(rec.Events) == 0 {
		return nil, &Error{Code: CodeBadRequest, Message: "the recording has no events"}
	}
	dir, err := os.MkdirTemp("", "agent-lsp-replay-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	w, err := newTape(rec)
	if err != nil {
		return nil, err
	}
	w.loose = loose
	st, err := store.Open(ctx, filepath.Join(dir, "state.db"))
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := rec.restore(ctx, st); err != nil {
		return nil, err
	}
	if err := w.play(ctx, st, dir); err != nil {
		return nil, err
	}
	return w.summary()
}

// restore puts what was there before the run into a store.
func (r *Recording) restore(ctx context.Context, st *store.Store) error {
	before, err := decodeEvents(r.History)
	if err != nil {
		return err
	}
	if err := st.PutSession(ctx, store.Session{ID: r.SessionID, Title: "replay", Branch: mainBranch, Model: r.Model, Mode: r.Mode}); err != nil {
		return err
	}
	if err := st.PutBranch(ctx, store.Branch{Session: r.SessionID, ID: mainBranch, Name: mainBranch}); err != nil {
		return err
	}
	if err := st.Append(ctx, r.SessionID, mainBranch, before...); err != nil {
		return err
	}
	for kind, list := range map[store.Kind]map[string]json.RawMessage{store.KindRetrieval: r.Sets, store.KindEvidence: r.Texts} {
		for id, body := range list {
			if err := st.Put(ctx, store.Artifact{Kind: kind, ID: id, Session: r.SessionID, Branch: mainBranch, Body: body}); err != nil {
				return err
			}
		}
	}
	return nil
}

// play drives the run in an engine of its own.
func (w *tape) play(ctx context.Context, st *store.Store, dir string) error {
	empty := filepath.Join(dir, "workspace")
	if err := os.Mkdir(empty, 0o700); err != nil {
		return err
	}
	space, err := workspace.Open([]string{empty})
	if err != nil {
		return err
	}
	defer space.Close()
	settings := w.rec.Config
	settings.Model, settings.StepsMax, settings.OutputBytes = w.rec.Model, w.rec.Max, 0
	w.e = New(Parts{
		Root: w.rec.Root, Store: st, Index: recordedIndex{w}, Models: recordedModels{w}, Tools: tools.NewRegistry(), Settings: settings,
		Edits:   edits.New(edits.Config{Journal: NewJournal(st), Blobs: NewBlobs(st), Workspace: space}),
		Version: w.rec.Program, Now: w.now, NewID: w.newID, world: w,
	})
	defer w.e.Close()
	if _, err := w.e.timeline(ctx, w.rec.SessionID, mainBranch); err != nil {
		return err
	}
	close(w.known)
	select {
	case <-w.drove:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// summary compares, once the run has been driven.
func (w *tape) summary() (*Replayed, error) {
	out := &Replayed{RunID: w.rec.RunID, Events: len(w.result.events), Requests: w.streams, Differences: []Difference{}, Stopped: w.result.stopped}
	var err error
	if out.events, err = encodeEvents(w.result.events); err != nil {
		return nil, err
	}
	w.mu.Lock()
	out.Differences = append(append(out.Differences, w.result.differ...), w.found...)
	w.mu.Unlock()
	for _, x := range w.rec.Edits {
		made, differs, err := x.again()
		if err != nil {
			return nil, err
		}
		if made {
			out.Edits++
		}
		if differs != "" {
			out.Differences = append(out.Differences, Difference{What: "edit", Detail: differs})
		}
	}
	out.Identical = out.Stopped == "" && len(out.Differences) == 0
	return out, nil
}

// again makes a recorded edit anew from the text before it.
func (x RecordedEdit) again() (made bool, differs string, err error) {
	list, err := decodeEvents([]json.RawMessage{x.Event})
	if err != nil {
		return false, "", err
	}
	e, ok := list[0].(cycle.HunksProposed)
	if !ok || x.Post == "" {
		return false, "", nil
	}
	differs, err = edits.Again(e, x.Pre, x.Post)
	return true, differs, err
}

// Text says for a person what came of a replay.
func (r *Replayed) Text() string {
	var b strings.Builder
	for _, d := range r.Differences {
		fmt.Fprintln(&b, d)
	}
	if r.Stopped != "" {
		fmt.Fprintf(&b, "the replay ended early: %s\n", r.Stopped)
	}
	word := "identical"
	if !r.Identical {
		word = "different"
	}
	fmt.Fprintf(&b, "%s: run %s, %d events, %d model requests, %d edits\n", word, r.RunID, r.Events, r.Requests, r.Edits)
	return b.String()
}

// nobody is a client who hears nothing and answers nothing.
type nobody struct{}

func (nobody) Caps() ClientCaps             { return ClientCaps{Client: "replay"} }
func (nobody) Cycle(CycleNotification)      {}
func (nobody) Stream(StreamChunk)           {}
func (nobody) EditsChanged(EditsChanged)    {}
func (nobody) Index(IndexStatus)            {}
func (nobody) Loop(string, json.RawMessage) {}
func (nobody) Permission(context.Context, PermissionParams) (PermissionResult, error) {
	return PermissionResult{}, ErrUnsupported
}
func (nobody) ApplyEdit(context.Context, WorkspaceEdit) (bool, string, error) {
	return false, "", ErrUnsupported
}
func (nobody) ShowDocument(context.Context, string, bool) error { return ErrUnsupported }
func (nobody) Editor(context.Context, EditorParams) (json.RawMessage, error) {
	return nil, ErrUnsupported
}
