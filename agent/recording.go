package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
)

// The name and version of the format of an exported run.
const (
	RecordingFormat  = "agent-lsp-run"
	RecordingVersion = 1
)

// recordedArchiveMax bounds what an export holds of outputs that were too long
// for a prompt, in bytes; the replay needs none of them.
const recordedArchiveMax = 4 << 20

// Recording is a run with all that is needed to drive it again, on any machine:
// the branch's log before it, its own events, and what it read of the world.
type Recording struct {
	Format    string `json:"format"`
	Version   int    `json:"version"`
	Program   string `json:"program"` // version of the agent-lsp that ran it
	RunID     string `json:"runId"`
	TurnID    string `json:"turnId"`
	SessionID string `json:"sessionId"`
	BranchID  string `json:"branchId"`
	Model     string `json:"model"`
	Max       int    `json:"max"` // iterations
	Mode      string `json:"mode"`
	// Root was the workspace's folder; nothing is read there.
	Root string `json:"root"`
	// Config is the settings in force when the run was exported.
	Config Settings `json:"config"`
	// Redacted counts the secrets that were taken out. Where it isn't 0 the
	// events are those of a replay of what was left.
	Redacted int `json:"redacted"`

	History []json.RawMessage          `json:"history"` // events before the run
	Events  []json.RawMessage          `json:"events"`
	Plans   []RecordedPlan             `json:"plans"`
	Rounds  []RecordedRound            `json:"rounds"`
	Edits   []RecordedEdit             `json:"edits"`
	Sets    map[string]json.RawMessage `json:"retrieval"` // RetrievalSets by id
	Texts   map[string]json.RawMessage `json:"evidence"`  // the text of their items, by the set's id
	Archive map[string]string          `json:"archive"`   // by ref
}

// RecordedPlan is one plan of the run with what it was made from. The
// candidates' text is in the round that it was sent in.
type RecordedPlan struct {
	PlanID       string            `json:"planId"`
	Call         int               `json:"call"`
	Plan         contextplan.Plan  `json:"plan"`
	Input        contextplan.Input `json:"input"`
	Surroundings *surroundings     `json:"surroundings,omitempty"` // absent: a call beside the conversation
}

// RecordedRound is one model call, as it was sent and answered. Response is
// null where the reply never came whole.
type RecordedRound struct {
	Round    int             `json:"round"`
	PlanID   string          `json:"planId"`
	Model    string          `json:"model"`
	Request  model.Request   `json:"request"`
	Response json.RawMessage `json:"response"`
}

// recordedReply is a Response.
type recordedReply struct {
	Text   string        `json:"text"`
	Calls  []run.NewCall `json:"calls"`
	Finish model.Finish  `json:"finish"`
	Usage  model.Usage   `json:"usage"`
}

// RecordedEdit is an event of a file under review, with the review's states
// before and after.
type RecordedEdit struct {
	Event json.RawMessage `json:"event"`
	Pre   string          `json:"pre,omitempty"`
	Post  string          `json:"post,omitempty"`
}

// Export gathers a run by its id, or the beginning of one; "" is the latest of
// the workspace. Secrets are taken out: those that secrets names, and whatever
// looks like a key. When that changed anything the events are made anew by a
// replay, so that the export replays like any other.
func (e *Engine) Export(ctx context.Context, runID string, secrets []string) (*Recording, error) {
	rec, err := e.Record(ctx, runID)
	if err != nil {
		return nil, err
	}
	if rec, err = redact(rec, secrets); err != nil || rec.Redacted == 0 {
		return rec, err
	}
	return rec, rec.renew(ctx)
}

// renew makes a recording's events and requests anew, after what they follow
// from was changed: a redaction, or a change of the program that is meant.
func (r *Recording) renew(ctx context.Context) error {
	again, err := replay(ctx, r, true)
	if err != nil {
		return err
	}
	if again.Stopped != "" {
		return &Error{Code: CodeInvalidState, Message: "run " + r.RunID + " does not come to its end any more: " + again.Stopped}
	}
	r.Events = again.events
	return nil
}

// Record gathers a run as it is in the store, secrets included.
func (e *Engine) Record(ctx context.Context, runID string) (*Recording, error) {
	at, err := e.parts.Store.FindRun(ctx, runID)
	if err != nil {
		return nil, storeError(err)
	}
	s, err := e.parts.Store.Session(ctx, at.Session)
	if err != nil {
		return nil, storeError(err)
	}
	var log []cycle.Event
	for stored, err := range e.history(ctx, at.Session, at.Branch) {
		if err != nil {
			return nil, storeError(err)
		}
		log = append(log, stored.Event)
	}
	rec := &Recording{Format: RecordingFormat, Version: RecordingVersion, Program: e.parts.Version, RunID: at.Run, SessionID: at.Session, BranchID: at.Branch,
		Mode: s.Mode, Root: e.parts.Root, Config: e.settings(), Edits: []RecordedEdit{}, Sets: map[string]json.RawMessage{}, Texts: map[string]json.RawMessage{}, Archive: map[string]string{}}
	before, own, err := cutRun(log, rec)
	if err != nil {
		return nil, err
	}
	if rec.History, err = encodeEvents(before); err != nil {
		return nil, err
	}
	if rec.Events, err = encodeEvents(own); err != nil {
		return nil, err
	}
	for _, gather := range []func(context.Context, *Recording, []cycle.Event) error{e.gatherPlans, e.gatherRounds, e.gatherEdits, e.gatherArchive} {
		if err := gather(ctx, rec, own); err != nil {
			return nil, err
		}
	}
	return rec, e.gatherSets(ctx, rec, append(before, own...))
}

// cutRun finds a run in its branch's log: what came before it, and its events,
// from the message that it answers (or from when it was promoted) to its end.
func cutRun(log []cycle.Event, rec *Recording) (before, own []cycle.Event, err error) {
	queued := slices.IndexFunc(log, func(e cycle.Event) bool {
		q, ok := e.(cycle.RunQueued)
		return ok && q.RunID == rec.RunID
	})
	if queued < 0 {
		return nil, nil, &Error{Code: CodeNotFound, Message: "the log of run " + rec.RunID + " is not on its branch"}
	}
	q := log[queued].(cycle.RunQueued)
	rec.TurnID, rec.Model, rec.Max = q.TurnID, q.Model, q.Max
	start := queued + 1
	for i := queued - 1; i >= 0; i-- {
		if _, stop := log[i].(cycle.RunStop); stop { // it was promoted by the stop of the run before
			break
		}
		if s, ok := log[i].(cycle.Submitted); ok && s.MessageID == q.CycleID {
			start = i
			break
		}
	}
	end, done := len(log), false
	for i := queued + 1; i < len(log); i++ {
		if _, ok := log[i].(cycle.RunStop); !ok {
			continue
		}
		end, done = i+1, true
		for end < len(log) { // what the stop was written down with
			_, queuedNext := log[end].(cycle.RunQueued)
			control, ok := log[end].(cycle.ControlDone)
			if !queuedNext && !(ok && commandOf(control.Result) == commandCancel) {
				break
			}
			end++
		}
		break
	}
	own = slices.Clone(log[start:end])
	for _, e := range log[end:] {
		if d, ok := e.(cycle.TurnDone); ok && done && d.RunID == rec.RunID {
			own = append(own, d)
			break
		}
	}
	return log[:start], own, nil
}

// commandOf is the command that a RESULT is about.
func commandOf(result json.RawMessage) string {
	var m struct{ Command string }
	_ = json.Unmarshal(result, &m) // our own message; without a command it is none
	return m.Command
}

func encodeEvents(list []cycle.Event) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, 0, len(list))
	for _, e := range list {
		line, err := cycle.Encode(e)
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

func decodeEvents(lines []json.RawMessage) ([]cycle.Event, error) {
	out := make([]cycle.Event, 0, len(lines))
	for i, line := range lines {
		kind, err := cycle.TypeOf(line)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		e, err := cycle.Decode(kind, line)
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// gatherPlans reads the run's plans in the order in which they were made.
func (e *Engine) gatherPlans(ctx context.Context, rec *Recording, own []cycle.Event) error {
	rec.Plans = []RecordedPlan{}
	add := func(id string, call int) error {
		r, err := e.record(ctx, id)
		if err != nil {
			return err
		}
		p := RecordedPlan{PlanID: id, Call: call, Plan: r.Plan, Input: r.Input}
		if r.Surroundings != "" {
			s, err := readSurroundings(ctx, e.parts.Store, r.Surroundings)
			if err != nil {
				return err
			}
			p.Surroundings = &s
		}
		rec.Plans = append(rec.Plans, p)
		return nil
	}
	for _, ev := range own {
		var err error
		switch ev := ev.(type) {
		case cycle.PlanMade:
			err = add(ev.PlanID, ev.Call)
		case cycle.UsageReported:
			if ev.Call == 0 && ev.PlanID != "" { // of a summary
				err = add(ev.PlanID, 0)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) gatherRounds(ctx context.Context, rec *Recording, _ []cycle.Event) error {
	list, err := e.parts.Store.OfTurn(ctx, rec.SessionID, store.KindRound, rec.TurnID)
	if err != nil {
		return storeError(err)
	}
	rec.Rounds = []RecordedRound{}
	for _, a := range list {
		var r RecordedRound
		if err := json.Unmarshal(a.Body, &r); err != nil {
			return fmt.Errorf("round %s can't be read: %w", a.ID, err)
		}
		if a.Run == rec.RunID {
			rec.Rounds = append(rec.Rounds, r)
		}
	}
	return nil
}

// gatherSets reads the RetrievalSets that plans of the run may hold evidence of.
func (e *Engine) gatherSets(ctx context.Context, rec *Recording, log []cycle.Event) error {
	var ids []string
	for _, ev := range log {
		if d, ok := ev.(cycle.RetrievalDone); ok {
			ids = append(ids, d.RetrievalSetID)
		}
	}
	for _, id := range ids[max(0, len(ids)-evidenceTurns-1):] {
		set, err := e.parts.Store.Get(ctx, store.KindRetrieval, id)
		if err != nil {
			return storeError(err)
		}
		rec.Sets[id] = set.Body
		if text, err := e.parts.Store.Get(ctx, store.KindEvidence, id); err == nil { // absent: no plan was made of it
			rec.Texts[id] = text.Body
		}
	}
	return nil
}

// gatherArchive reads the long inputs and outputs of the run.
func (e *Engine) gatherArchive(ctx context.Context, rec *Recording, own []cycle.Event) error {
	left := recordedArchiveMax
	for _, ev := range own {
		ref := ""
		must := false
		switch ev := ev.(type) {
		case cycle.ToolResult:
			ref = ev.Ref
		case cycle.UserMessage:
			ref, must = archivedInput(ev.Text), true
		case cycle.FollowUpQueued:
			ref, must = archivedInput(ev.Text), true
		}
		if ref == "" || rec.Archive[ref] != "" {
			continue
		}
		data, err := e.parts.Store.Archived(ctx, ref)
		if err != nil {
			return storeError(err)
		}
		if must || len(data) <= left {
			rec.Archive[ref] = string(data)
			left -= len(data)
		}
	}
	return nil
}

// archivedInput is the ref of a message that was too long for a prompt, "" for
// any other.
func archivedInput(text string) string {
	const mark = "\n[Full result saved as ref:"
	i := strings.LastIndex(text, mark)
	if i < 0 || !strings.HasSuffix(text, "]") {
		return ""
	}
	return strings.TrimSuffix(text[i+len(mark):], "]")
}

// gatherEdits reads what the run's calls did to files.
func (e *Engine) gatherEdits(ctx context.Context, rec *Recording, _ []cycle.Event) error {
	events, err := JournalEvents(ctx, e.parts.Store)
	if err != nil {
		return storeError(err)
	}
	ops := map[string]bool{}
	add := func(ev cycle.Event, steps ...cycle.FileStep) error {
		line, err := cycle.Encode(ev)
		if err != nil {
			return err
		}
		x := RecordedEdit{Event: line}
		if len(steps) == 1 {
			if x.Pre, err = e.parts.Edits.StoredState(steps[0].Pre); err != nil {
				return err
			}
			if x.Post, err = e.parts.Edits.StoredState(steps[0].Post); err != nil {
				return err
			}
		}
		rec.Edits = append(rec.Edits, x)
		return nil
	}
	for _, ev := range events {
		var err error
		switch ev := ev.(type) {
		case cycle.HunksProposed:
			if ev.TurnID == rec.TurnID {
				ops[ev.EditID] = true
				err = add(ev, ev.File)
			}
		case cycle.EditApplied:
			if ops[ev.OpID] {
				err = add(ev)
			}
		case cycle.EditWithdrawn:
			if ops[ev.OpID] {
				err = add(ev)
			}
		case cycle.StepAmended:
			if ops[ev.OpID] {
				err = add(ev, ev.File)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// set is a recorded RetrievalSet.
func (r *Recording) set(id string) (set rag.Set, err error) {
	body, ok := r.Sets[id]
	if !ok {
		return set, fmt.Errorf("the recording has no retrieval set %s", id)
	}
	return set, json.Unmarshal(body, &set)
}
