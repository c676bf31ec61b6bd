package agent

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
)

//go:embed prompts/agent.md
var promptAgent string

//go:embed prompts/chat.md
var promptChat string

//go:embed prompts/final.md
var promptFinal string

// submitExtra is what a Submitted event keeps of a message beside its text.
type submitExtra struct {
	Attachments []Attachment      `json:"attachments,omitempty"`
	Focus       *Focus            `json:"focus,omitempty"`
	Environment map[string]string `json:"environment,omitempty"`
	Asked       asked             `json:"asked,omitzero"`
	Allow       []string          `json:"allow,omitempty"` // permission rules for this message's run
	// Workflow is what the person approved, for a message that carries it out.
	Workflow *cycle.Workflow `json:"workflow,omitempty"`
}

// empty tells whether a message brings nothing along.
func (x submitExtra) empty() bool {
	return len(x.Attachments) == 0 && x.Focus == nil && len(x.Asked.Mentions) == 0
}

// prepare gathers evidence and makes the plan of the next model call. It is
// the prefetch half of planning: all I/O happens here, and the planner decides
// over what it brought.
func (t *timeline) prepare(ctx context.Context, fx run.Prepare) {
	out := run.Prepared{Epoch: fx.Epoch}
	err := t.tellVerdicts(ctx)
	if err == nil && fx.First {
		err = t.ensureClassified(ctx, fx.Run)
	}
	if err == nil && fx.First {
		text, failure, ok, fault := t.e.world.answer(ctx, t, fx.Run)
		if err = fault; ok && err == nil {
			t.post(run.Answered{At: t.e.now(), Epoch: fx.Epoch, ID: t.e.parts.NewID("o") + ".1", Text: text, Failure: failure})
			return
		}
	}
	if err == nil {
		err = t.tellFeedback(ctx, fx.Run)
	}
	if err == nil {
		err = t.routeOf(ctx, fx.Run)
	}
	if err == nil && fx.First {
		err = t.planWorkflow(ctx, fx.Run)
	}
	if err == nil && !fx.First {
		err = t.writeLedger(ctx, fx.Run.TurnID, fx.Run.ID)
	}
	var around surroundings
	if err == nil {
		around, err = t.e.world.surroundings(ctx, t, fx.Run)
	}
	if err == nil && (fx.First || t.rerouted(fx.Run)) {
		out.Retrieval, err = t.retrieve(ctx, fx.Run)
	}
	var d draft
	var record planRecord
	var messages []model.Message
	if err == nil {
		d, err = t.draft(ctx, fx.Run, around, out.Retrieval, nil)
	}
	if err == nil {
		out.Compacted, err = t.compaction(ctx, fx.Run, around, d)
	}
	if err == nil && out.Compacted != nil {
		d, err = t.draft(ctx, fx.Run, around, out.Retrieval, out.Compacted)
	}
	if err == nil {
		record, messages, err = t.plan(ctx, around, d)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		t.post(failedPreparing(t.e.now(), fx.Epoch, err))
		return
	}
	out.At = t.e.now()
	out.Plan = cycle.PlanMade{RunID: fx.Run.ID, TurnID: fx.Run.TurnID, PlanID: record.Plan.PlanID, RetrievalSetID: record.RetrievalSetID,
		Model: record.Model, Included: len(record.Plan.Included), Excluded: len(record.Plan.Excluded),
		Tokens: record.Plan.Budget.Estimated, Budget: record.Plan.Budget.Prompt, Time: out.At}
	t.e.telemetry(t, fx.Run.TurnID, fmt.Sprintf("Synthesizing from %d items, %s tokens, with %s", out.Plan.Included, contextplan.Thousands(out.Plan.Tokens), record.Model))
	t.mu.Lock()
	t.prompts[record.Plan.PlanID] = messages
	t.mu.Unlock()
	t.post(out)
}

// kindInternal is the kind of failures that are neither a model's nor of our
// own codes.
const kindInternal = "internal"

func failedPreparing(at time.Time, epoch int, err error) run.Failed {
	f := run.Failed{At: at, Epoch: epoch, Kind: kindInternal, Message: err.Error()}
	var e *Error
	if errors.As(err, &e) {
		f.Kind = string(e.Code)
	}
	return f
}

// tellVerdicts notes what the person decided about hunks since the model was
// last told.
func (t *timeline) tellVerdicts(ctx context.Context) error {
	t.e.mu.Lock()
	since := t.e.verdicts[t.session]
	t.e.mu.Unlock()
	t.view(func() { since = max(since, t.script.told) })
	said, last := t.e.world.verdicts(t, since)
	if said != "" {
		if err := t.record(ctx, cycle.VerdictsTold{Text: said, Through: last, Time: t.e.now()}); err != nil {
			return err
		}
	}
	t.e.mu.Lock()
	t.e.verdicts[t.session] = last
	t.e.mu.Unlock()
	return nil
}

func verdictLine(v edits.Verdict) string {
	s := fmt.Sprintf("The person's decision on a hunk of %s at line %d: %s", v.Path, v.Line+1, v.Decision)
	if v.Edited {
		s += ", after changing it"
	}
	if v.Reason != "" {
		s += ". Reason: " + v.Reason
	}
	return s
}

// retrieve makes the turn's RetrievalSet and stores it.
func (t *timeline) retrieve(ctx context.Context, r run.Run) (*cycle.RetrievalDone, error) {
	var text string
	var extra submitExtra
	t.view(func() {
		if x := t.script.turnByID(r.TurnID); x != nil {
			text = x.input
			extra = x.extra()
		}
	})
	if t.conversational(r) {
		return nil, nil
	}
	begun := time.Now()
	set, err := t.e.parts.Index.Search(ctx, t.e.query(text, extra))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t.e.logf("retrieval failed, the run goes on without evidence: %v", err)
		return nil, nil
	}
	if err := t.e.storeSet(ctx, t, r, set); err != nil {
		return nil, err
	}
	t.shown.found(set)
	t.e.telemetry(t, r.TurnID, fmt.Sprintf("Searching %s files: interrogating the index", contextplan.Thousands(t.e.parts.Index.Status().Files)))
	return &cycle.RetrievalDone{TurnID: r.TurnID, RetrievalSetID: set.RetrievalSetID, Query: text, Items: len(set.Items),
		MS: float64(time.Since(begun).Microseconds()) / 1000, Time: t.e.now()}, nil
}

// query leans the search towards where the person is looking.
func (e *Engine) query(text string, extra submitExtra) rag.Query {
	q := rag.Query{Text: text, K: EvidenceItems(e.settings().evidenceTokens())}
	if f := extra.Focus; f != nil {
		q.Focus.Scope = f.Scope
		if p := e.relative(f.URI); p != "" {
			q.Focus.Open = append(q.Focus.Open, p)
			if f.Range != nil && f.Range.End.Line > f.Range.Start.Line {
				first, last := f.Range.lines()
				q.Focus.Selection = &rag.Selection{Path: p, StartLine: first, EndLine: last}
			}
		}
		for _, u := range f.Visible {
			if p := e.relative(u); p != "" {
				q.Focus.Visible = append(q.Focus.Visible, p)
			}
		}
	}
	return q
}

func (e *Engine) storeSet(ctx context.Context, t *timeline, r run.Run, set rag.Set) error {
	body, err := json.Marshal(set)
	if err != nil {
		return err
	}
	a := store.Artifact{Kind: store.KindRetrieval, ID: set.RetrievalSetID, Body: body}
	if t != nil {
		a.Session, a.Branch, a.Turn, a.Run = t.session, t.branch, r.TurnID, r.ID
	}
	return storeError(e.parts.Store.Put(ctx, a))
}

// draft is a plan that nothing was done about yet: a compaction may follow.
type draft struct {
	list   []piece
	record planRecord
	unfit  error // what must be in does not fit
}

// draft gathers the candidates and lets the planner choose.
func (t *timeline) draft(ctx context.Context, r run.Run, around surroundings, retrieval *cycle.RetrievalDone, compacted *cycle.Compacted) (d draft, err error) {
	d.list, d.record, err = t.candidates(ctx, r, around, retrieval, compacted)
	if err == nil {
		d.record.Plan, d.unfit = contextplan.Build(d.record.Input)
	}
	return d, err
}

// plan stores a ContextPlan with its inputs and renders it.
func (t *timeline) plan(ctx context.Context, around surroundings, d draft) (record planRecord, _ []model.Message, err error) {
	record = d.record
	if d.unfit != nil {
		return record, nil, planError(d.unfit)
	}
	byID := make(map[string]piece, len(d.list))
	for _, p := range d.list {
		byID[p.Candidate.ID] = p
	}
	if record.Surroundings, err = around.keep(ctx, t.e.parts.Store); err != nil {
		return record, nil, err
	}
	if err := t.e.storePlan(ctx, &record, byID); err != nil {
		return record, nil, err
	}
	t.mu.Lock()
	t.sent = map[string]bool{}
	for _, it := range record.Plan.Included {
		t.sent[it.ID] = true
	}
	t.mu.Unlock()
	return record, render(record.Plan, byID), nil
}

func planError(err error) error {
	var o *contextplan.OverflowError
	if errors.As(err, &o) {
		return &Error{Code: CodeBudgetOverflow, Message: err.Error(), Hint: "shorten the request, unpin something, or choose a model with a larger context window"}
	}
	return err
}

func noModel(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeNoModel, Message: err.Error(), Hint: "/model lists the models"}
}

// candidates gathers everything that the plan may hold: the planner's input,
// and what becomes of each candidate in the prompt.
func (t *timeline) candidates(ctx context.Context, r run.Run, around surroundings, retrieval *cycle.RetrievalDone, compacted *cycle.Compacted) ([]piece, planRecord, error) {
	record := planRecord{SessionID: t.session, BranchID: t.branch, TurnID: r.TurnID, RunID: r.ID, Model: around.Model, Call: r.Calls + 1, ToolTokens: around.ToolTokens,
		Input: contextplan.Input{Budget: contextplan.Budget{ContextWindow: around.Window, ReserveOutput: around.Reserve + around.ToolTokens}}}
	g := gathered{system: around.System, tokens: around.counter(), pins: map[string]cycle.PinChanged{}, sent: map[string]bool{}, evidence: map[string][]snippet{},
		prompt: record.Input.Budget.Prompt(), compacted: compacted, pinned: fromPinned(around.Pinned), attachments: around.Attached, memory: around.Memory}
	for _, in := range around.Instructions {
		g.instructions = append(g.instructions, instruction{in.Path, in.Text})
	}
	var sets []string
	t.view(func() {
		g.now = t.script.current()
		for id, pin := range t.pins {
			if pin.TTL != nil {
				left := t.script.ttlLeft(id, *pin.TTL)
				pin.TTL = &left
			}
			g.pins[id] = pin
		}
		for id := range t.sent {
			g.sent[id] = true
		}
		for i, x := range t.script.turns {
			if x.id == r.TurnID {
				g.now = i
				if retrieval != nil {
					x.retrieval = retrieval.RetrievalSetID // the fold has it with the plan
					g.retrieval = retrieval.RetrievalSetID
				}
				record.RetrievalSetID = x.retrieval
			}
			if x.retrieval != "" {
				sets = append(sets, x.retrieval)
			}
		}
	})
	for _, id := range sets[max(0, len(sets)-evidenceTurns-1):] {
		list, err := t.evidence(ctx, id, around.EvidenceTokens, g.tokens)
		if err != nil {
			return nil, record, err
		}
		g.evidence[id] = list
	}
	var list []piece
	t.view(func() { list = pieces(t.script, g) })
	for _, p := range list {
		record.Input.Candidates = append(record.Input.Candidates, p.Candidate)
	}
	record.Input.Budget.ReserveOutput += runway(list, g)
	return list, record, nil
}

// evidence reads the text of a stored RetrievalSet's items, the best first,
// up to left tokens. The text is kept with the set, so that a plan can be built
// again after the files have changed; a fork that has changed files keeps its
// own.
func (t *timeline) evidence(ctx context.Context, setID string, left int, tokens func(string) int) ([]snippet, error) {
	kept := setID
	if t.copy.changed() {
		kept += "@" + t.branch
	}
	if list, ok := t.shown.get(kept); ok {
		return list, nil
	}
	out, err := t.readEvidence(ctx, setID, kept, left, tokens)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].shown = evidenceText(out[i])
	}
	t.shown.put(kept, out)
	return out, nil
}

// readEvidence reads it from the store, or from the files, and keeps it there.
func (t *timeline) readEvidence(ctx context.Context, setID, kept string, left int, tokens func(string) int) ([]snippet, error) {
	e := t.e
	a, err := e.parts.Store.Get(ctx, store.KindRetrieval, setID)
	if err != nil {
		return nil, storeError(err)
	}
	set, ok := t.shown.latest(setID)
	if !ok {
		if err := json.Unmarshal(a.Body, &set); err != nil {
			return nil, &Error{Code: CodeStoreUnavailable, Message: "retrieval set " + setID + " can't be read: " + err.Error()}
		}
	}
	if is, err := e.parts.Store.Get(ctx, store.KindEvidence, kept); err == nil {
		var list []storedSnippet
		if json.Unmarshal(is.Body, &list) == nil {
			return fromStored(list), nil
		}
	}
	out, err := chooseEvidence(evidenceSnippets(set.Items, t.linesOnce()), left, tokens)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(toStored(out))
	if err != nil {
		return nil, err
	}
	a.Kind, a.ID, a.Body = store.KindEvidence, kept, body
	return out, storeError(e.parts.Store.Put(ctx, a))
}

// shownEvidence keeps what was read of the latest RetrievalSets, for every
// call of a run plans with them anew. Safe for concurrent use.
type shownEvidence struct {
	mu   sync.Mutex
	set  rag.Set // found last; its text is read next
	sets map[string][]snippet
}

// shownMax is more than the sets that one plan may hold.
const shownMax = 2 * (evidenceTurns + 1)

func (s *shownEvidence) found(set rag.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set = set
}

func (s *shownEvidence) latest(id string) (rag.Set, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set, s.set.RetrievalSetID == id
}

func (s *shownEvidence) get(key string) ([]snippet, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.sets[key]
	return list, ok
}

func (s *shownEvidence) put(key string, list []snippet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil || len(s.sets) >= shownMax {
		s.sets = map[string][]snippet{}
	}
	s.sets[key] = list
}

type storedSnippet struct {
	Item rag.Item `json:"item"`
	Text string   `json:"text"`
}

func toStored(in []snippet) []storedSnippet {
	out := []storedSnippet{}
	for _, s := range in {
		out = append(out, storedSnippet{s.item, s.text})
	}
	return out
}

func fromStored(in []storedSnippet) []snippet {
	var out []snippet
	for _, s := range in {
		out = append(out, snippet{item: s.Item, text: s.Text})
	}
	return out
}

// lines reads a range of a file as it is now; 1-based, both ends included.
func (e *Engine) lines(path string, start, end int) (string, bool) {
	return e.linesOnce()(path, start, end)
}

// linesOnce is lines for many ranges: each file is read once.
func (e *Engine) linesOnce() func(path string, start, end int) (string, bool) {
	type file struct {
		text   string
		starts []int // of its lines, and its end
	}
	files := map[string]file{}
	return func(path string, start, end int) (string, bool) {
		f, ok := files[path]
		if !ok {
			if data, err := e.parts.SourceText(path); err == nil {
				f.text, f.starts = string(data), lineStarts(data)
			}
			files[path] = f
		}
		lines := len(f.starts) - 1
		if start < 1 || start > lines {
			return "", false
		}
		return strings.Clone(f.text[f.starts[start-1]:f.starts[max(start-1, min(end, lines))]]), true // not the whole file for a part
	}
}

// lineStarts is where the lines of a text begin, and its end. After a final line feed
// there is one more line, an empty one.
func lineStarts(text []byte) []int {
	out := make([]int, 1, 2+bytes.Count(text, []byte{'\n'}))
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], '\n')
		if i < 0 {
			return append(out, len(text))
		}
		at += i + 1
		out = append(out, at)
	}
}

// storePlan keeps a plan with all that is needed to build and show it again.
func (e *Engine) storePlan(ctx context.Context, record *planRecord, byID map[string]piece) error {
	ids, bodies := make([]string, 0, len(byID)), make([][]byte, 0, len(byID))
	for id, p := range byID {
		body, err := encodePiece(p)
		if err != nil {
			return err
		}
		ids, bodies = append(ids, id), append(bodies, body)
	}
	hashes, err := e.parts.Store.PutBlobs(ctx, bodies)
	if err != nil {
		return storeError(err)
	}
	record.Pieces = make(map[string]string, len(byID))
	for i, id := range ids {
		record.Pieces[id] = hashes[i]
	}
	body, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return storeError(e.parts.Store.Put(ctx, store.Artifact{Kind: store.KindPlan, ID: record.Plan.PlanID,
		Session: record.SessionID, Branch: record.BranchID, Turn: record.TurnID, Run: record.RunID, Body: body}))
}
