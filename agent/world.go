package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/tools"
)

// world is what a run reads of the world beside its log, and who says which
// input is next. Everything else that a run does is a function of the log and
// of what comes through here (and through Parts.Models and Parts.Index), which
// is why a run can be driven again from a recording: see replay.go.
type world interface {
	// drive takes the timeline's inputs, one after the other, until its engine
	// closes.
	drive(t *timeline)
	// route decides which tools a turn's model is told of, once a run.
	route(ctx context.Context, t *timeline, r run.Run) (cycle.Routed, error)
	// answer is what a turn is answered without a model; see handled.
	answer(ctx context.Context, t *timeline, r run.Run) (text, failure string, ok bool, err error)
	// workflow is the steps of a turn; ok is false where there is one only.
	workflow(ctx context.Context, t *timeline, r run.Run, x turn) (w cycle.Workflow, ok bool)
	// surroundings is read once for each plan.
	surroundings(ctx context.Context, t *timeline, r run.Run) (surroundings, error)
	// verdicts is what the person decided about hunks after the one with the
	// number since, in words; last is the number of the latest.
	verdicts(t *timeline, since int) (said string, last int)
	// feedback is what the run's latest edits broke, in words; see verify.go.
	feedback(ctx context.Context, t *timeline, r run.Run) string
	// tools are what a run's model is told of.
	tools(t *timeline, r run.Run) []model.Tool
	// calls gives a reply's calls their ids, titles and refusals.
	calls(t *timeline, r run.Run, calls []model.Call) []run.NewCall
	readOnly(tool string) bool
	// call judges one call, asks the person if it must, and makes it.
	call(ctx context.Context, t *timeline, r run.Run, c run.Call, files tools.Files) cycle.ToolResult
	ask(ctx context.Context, r run.Run, q tools.Question) (a tools.Answer, always string, unasked error)
	// wait is false when ctx ended first.
	wait(ctx context.Context, d time.Duration) bool
	// giveUp cancels what is under way beside something that failed.
	giveUp(context.CancelFunc)
	// pace is the time between two streamed pieces of a reply.
	pace() time.Duration
}

// planOfCall is the key of the plan's id in the context of a summary's call:
// the text alone does not tell two attempts apart.
type planOfCall struct{}

// live is the world itself.
type live struct{ e *Engine }

func (live) drive(t *timeline) { t.loop() }

func (w live) route(ctx context.Context, t *timeline, r run.Run) (cycle.Routed, error) {
	return t.findRoute(ctx, r)
}

func (live) answer(ctx context.Context, t *timeline, r run.Run) (text, failure string, ok bool, err error) {
	return t.handled(ctx, r)
}

func (live) workflow(ctx context.Context, t *timeline, r run.Run, x turn) (cycle.Workflow, bool) {
	return t.extract(ctx, r, x)
}

func (w live) surroundings(ctx context.Context, t *timeline, r run.Run) (surroundings, error) {
	return t.look(ctx, r)
}

func (w live) verdicts(t *timeline, since int) (said string, last int) {
	var lines []string
	last = since
	for _, v := range w.e.parts.Edits.Verdicts(since) {
		last = v.Seq
		if v.SessionID == t.session {
			lines = append(lines, verdictLine(v))
		}
	}
	return strings.Join(lines, "\n"), last
}

func (w live) feedback(ctx context.Context, t *timeline, r run.Run) string {
	if t.copy != nil {
		return "" // a fork's files are in no editor and on no disk
	}
	return t.checks.feedback(ctx, w.e, r, t.e.parts.Edits.Files(t.scope(r)))
}

func (live) tools(t *timeline, r run.Run) []model.Tool { return t.toolSchemas(r) }

func (live) calls(t *timeline, r run.Run, calls []model.Call) []run.NewCall {
	return t.newCalls(r, calls)
}

func (w live) readOnly(tool string) bool {
	x, ok := w.e.parts.Tools.Get(tool)
	return ok && x.Spec().ReadOnly
}

func (live) call(ctx context.Context, t *timeline, r run.Run, c run.Call, files tools.Files) cycle.ToolResult {
	begun := time.Now()
	if x, ok := t.e.parts.Tools.Get(c.Tool); ok && x.Spec().Category == tools.CategoryWrite && t.copy == nil {
		t.checks.before(ctx, t.e, r, pathArg(c.Args), files)
	}
	res := t.runCall(ctx, r, c, files)
	if res.Detail.EditID != "" {
		t.checks.after(t.e, res.Detail.Paths)
	}
	return t.toolResult(ctx, c, res, time.Since(begun))
}

func (w live) ask(ctx context.Context, r run.Run, q tools.Question) (tools.Answer, string, error) {
	return w.e.askPerson(ctx, r, q)
}

func (live) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (live) giveUp(cancel context.CancelFunc) { cancel() }

func (live) pace() time.Duration { return deltaEvery * time.Millisecond }

// surroundings is all that a plan is made from beside the branch's log and the
// evidence. It is stored with the plan, so that the plan can be made again.
type surroundings struct {
	System       string                `json:"system"` // the prompt
	Instructions []Instruction         `json:"instructions,omitempty"`
	Pinned       []storedPin           `json:"pinned,omitempty"`
	Memory       []remembered          `json:"memory,omitempty"`
	Attached     map[string][]attached `json:"attached,omitempty"` // by message id
	Model        string                `json:"model"`
	Window       int                   `json:"window"`     // tokens
	Reserve      int                   `json:"reserve"`    // of the window, for the answer
	ToolTokens   int                   `json:"toolTokens"` // what the tools' schemas cost
	Estimator    contextplan.Estimator `json:"estimator"`  // as calibrated then
	// EvidenceTokens is what one RetrievalSet may take.
	EvidenceTokens int `json:"evidenceTokens"`
}

type storedPin struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	URI   string `json:"uri"`
	Text  string `json:"text"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

func fromPinned(in []storedPin) []pinnedText {
	var out []pinnedText
	for _, p := range in {
		out = append(out, pinnedText{id: p.ID, label: p.Label, uri: p.URI, text: p.Text, start: p.Start, end: p.End})
	}
	return out
}

// counter estimates tokens for the model.
func (s surroundings) counter() func(string) int {
	return func(text string) int { return s.Estimator.Estimate(s.Model, contextplan.Code, text) }
}

// prompt is how many tokens of the window a prompt may have.
func (s surroundings) prompt() int { return s.Window - s.Reserve - s.ToolTokens }

// keep stores it. Where nothing changed since the plan before, nothing is added.
func (s surroundings) keep(ctx context.Context, st *store.Store) (hash string, err error) {
	body, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	hash, err = st.PutBlob(ctx, body)
	return hash, storeError(err)
}

// look reads the surroundings as they are.
func (t *timeline) look(ctx context.Context, r run.Run) (surroundings, error) {
	e := t.e
	m, err := e.parts.Models.Resolve(ctx, r.Model)
	if err != nil {
		return surroundings{}, noModel(err)
	}
	if m.Caps.ContextWindow == 0 {
		return surroundings{}, &Error{Code: CodeNoModel, Message: "the context window of " + m.Name + " is not known",
			Hint: fmt.Sprintf(`set it: [models.%q] context_window = …`, m.Name)}
	}
	out := surroundings{System: promptAgent, Model: m.Name, Window: m.Caps.ContextWindow, Reserve: reserveOf(m), ToolTokens: t.toolTokens(m, r),
		Instructions: t.guidance(ctx, r.TurnID)}
	out.EvidenceTokens = min(e.settings().evidenceTokens(), max(0, out.prompt()/evidenceShareMax))
	switch {
	case r.Final:
		out.System = promptAgent + "\n" + promptFinal
	case t.conversational(r):
		out.System = promptChat
	}
	e.mu.Lock()
	out.Estimator = e.estimator
	e.mu.Unlock()
	out.Memory = t.recalled(r.TurnID, func(s string) int { return contextplan.EstimateTokens(contextplan.Prose, s) })
	if err := errors.Join(t.attach(ctx, r), t.earlierAttached(ctx)); err != nil {
		return out, err
	}
	pins := map[string]cycle.PinChanged{}
	t.view(func() {
		for id, p := range t.pins {
			pins[id] = p
		}
		out.Attached = t.script.recentAttached(t.attachments)
	})
	for _, p := range t.pinnedTexts(pins) {
		out.Pinned = append(out.Pinned, storedPin{ID: p.id, Label: p.label, URI: p.uri, Text: p.text, Start: p.start, End: p.end})
	}
	return out, nil
}

// readSurroundings reads what keep stored.
func readSurroundings(ctx context.Context, st *store.Store, hash string) (s surroundings, err error) {
	body, err := st.Blob(ctx, hash)
	if err != nil {
		return s, storeError(err)
	}
	return s, json.Unmarshal(body, &s)
}
