package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
)

// tape is a recording as the world of a replay: it answers what the run asks
// with what was answered then. conduct.go says in which order.
type tape struct {
	rec  *Recording
	want []cycle.Event // the run's events

	mu      sync.Mutex
	at      int // of the event in want that comes next
	e       *Engine
	streams int            // main model calls begun
	sums    int            // summaries begun
	asked   map[string]int // permissions asked for, by call
	spare   int            // ids that the recording doesn't know
	found   []Difference   // of what isn't an event
	known   chan struct{}  // closed when the engine has the branch
	drove   chan struct{}  // closed when the run has been driven
	loose   bool           // the recording's own ids may be stale: it is made anew
	result  drive
}

// errNotRecorded is what a run is told where the recording has no answer.
var errNotRecorded = errors.New("the recording has no answer to this")

func newTape(rec *Recording) (*tape, error) {
	want, err := decodeEvents(rec.Events)
	if err != nil {
		return nil, err
	}
	return &tape{rec: rec, want: want, asked: map[string]int{}, known: make(chan struct{}), drove: make(chan struct{})}, nil
}

// next is the first event from the present place on that fits.
func (w *tape) next(fits func(cycle.Event) bool) cycle.Event {
	w.mu.Lock()
	at := w.at
	w.mu.Unlock()
	if i := slices.IndexFunc(w.want[at:], fits); i >= 0 {
		return w.want[at+i]
	}
	return nil
}

// now is when the event that comes next was recorded.
func (w *tape) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return timeOf(w.want[min(w.at, len(w.want)-1)])
}

func timeOf(e cycle.Event) time.Time {
	var t struct{ Time time.Time }
	if line, err := cycle.Encode(e); err == nil {
		_ = json.Unmarshal(line, &t) // an event without a time has the zero one
	}
	return t.Time
}

// newID gives the id that was made then. Asking twice at the same place gives
// the same.
func (w *tape) newID(prefix string) string {
	id := ""
	w.next(func(e cycle.Event) bool {
		switch e := e.(type) {
		case cycle.Submitted:
			id = map[string]string{"m": e.MessageID, "t": e.TurnID}[prefix]
		case cycle.FollowUpQueued:
			id = map[string]string{"m": e.ID, "t": e.TurnID, "r": e.RunID}[prefix]
		case cycle.RunQueued:
			id = map[string]string{"r": e.RunID}[prefix]
		case cycle.AgentOutput:
			if e.Output != cycle.OutputToolCall && !strings.HasPrefix(e.ID, stepPrefix) {
				id = map[string]string{"o": strings.TrimSuffix(e.ID, e.ID[strings.LastIndexByte(e.ID, '.')+1:])}[prefix]
				id = strings.TrimSuffix(id, ".")
			}
		case cycle.Compacted:
			id = map[string]string{"sum": e.Ref}[prefix]
		}
		return id != ""
	})
	if id == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.spare++
		id = prefix + "-replayed-" + strconv.Itoa(w.spare)
	}
	return id
}

// plan is the recorded plan of a model call of the run.
func (w *tape) plan(call int) *RecordedPlan {
	for i := range w.rec.Plans {
		if p := &w.rec.Plans[i]; p.Call == call && p.Surroundings != nil {
			return p
		}
	}
	return nil
}

func (w *tape) surroundings(_ context.Context, t *timeline, r run.Run) (surroundings, error) {
	p := w.plan(r.Calls + 1)
	if p == nil {
		return surroundings{}, w.failure()
	}
	w.e.mu.Lock()
	w.e.estimator = p.Surroundings.Estimator
	w.e.mu.Unlock()
	return *p.Surroundings, nil
}

// route is where the turn went. Whether a model was asked for it is not asked
// again: what it cost is a fact of the recording.
func (w *tape) route(ctx context.Context, t *timeline, r run.Run) (cycle.Routed, error) {
	e := w.next(func(e cycle.Event) bool { x, ok := e.(cycle.Routed); return ok && x.RunID == r.ID })
	if x, ok := e.(cycle.Routed); ok {
		return x, nil
	}
	if w.loose { // it was recorded before there were routes
		return t.findRoute(ctx, r)
	}
	return cycle.Routed{}, errNotRecorded
}

// workflow is the steps that the turn went through.
func (w *tape) workflow(ctx context.Context, t *timeline, r run.Run, x turn) (cycle.Workflow, bool) {
	e := w.next(func(e cycle.Event) bool { p, ok := e.(cycle.WorkflowPlanned); return ok && p.TurnID == r.TurnID })
	if p, ok := e.(cycle.WorkflowPlanned); ok {
		return p.Workflow, true
	}
	return cycle.Workflow{}, false
}

// answer is the pipeline's own answer, where the run had no model call.
func (w *tape) answer(_ context.Context, _ *timeline, r run.Run) (text, failure string, ok bool, err error) {
	first := w.next(func(e cycle.Event) bool {
		switch e := e.(type) {
		case cycle.AgentOutput:
			return !strings.HasPrefix(e.ID, stepPrefix)
		case cycle.PlanMade, cycle.Routed, cycle.ModelFailed, cycle.IterationDropped, cycle.RunStop:
			return true
		}
		return false
	})
	out, ok := first.(cycle.AgentOutput)
	if !ok {
		return "", "", false, nil
	}
	if stop, ok := w.next(isStop).(cycle.RunStop); ok && stop.Reason == cycle.StopError {
		failure = stop.Message
	}
	return out.Text, failure, true, nil
}

// failure is the failure that comes next in the recording.
func (w *tape) failure() error {
	e := w.next(func(e cycle.Event) bool { _, ok := e.(cycle.ModelFailed); return ok })
	f, ok := e.(cycle.ModelFailed)
	switch {
	case !ok:
		return errNotRecorded
	case f.Kind == kindInternal:
		return errors.New(f.Message)
	}
	return replayed{&Error{Code: Code(f.Kind)}, f.Message}
}

// replayed is a failure in its recorded words.
type replayed struct {
	error
	words string
}

func (r replayed) Error() string { return r.words }
func (r replayed) Unwrap() error { return r.error }

// recordedFailure is a model's failure such that the same is decided about it.
func recordedFailure(f cycle.ModelFailed) error {
	if f.Kind == kindInternal {
		return errors.New(f.Message)
	}
	m := &model.Error{Kind: model.Kind(f.Kind), Message: f.Message, RetryAfter: time.Duration(f.RetryInMS) * time.Millisecond}
	if f.RetryInMS == 0 {
		m.RetryAfter = waitMax + 1 // it was not tried again
	}
	return replayed{m, f.Message}
}

func (w *tape) verdicts(_ *timeline, since int) (string, int) {
	e := w.next(func(e cycle.Event) bool {
		switch e.(type) {
		case cycle.VerdictsTold, cycle.PlanMade, cycle.ModelFailed, cycle.IterationDropped, cycle.RunStop:
			return true
		}
		return false
	})
	if v, ok := e.(cycle.VerdictsTold); ok {
		return v.Text, v.Through
	}
	return "", since
}

func (w *tape) feedback(_ context.Context, _ *timeline, r run.Run) string {
	e := w.next(func(e cycle.Event) bool {
		switch e.(type) {
		case cycle.FeedbackTold, cycle.PlanMade, cycle.ModelFailed, cycle.IterationDropped, cycle.RunStop:
			return true
		}
		return false
	})
	if f, ok := e.(cycle.FeedbackTold); ok && f.RunID == r.ID {
		return f.Text
	}
	return ""
}

// round is the recorded model call with a plan.
func (w *tape) round(planID string) *RecordedRound {
	for i := range w.rec.Rounds {
		if w.rec.Rounds[i].PlanID == planID {
			return &w.rec.Rounds[i]
		}
	}
	return nil
}

// roundOf is the recorded round of a call of the run, by its number.
func (w *tape) roundOf(call int) *RecordedRound {
	if p := w.plan(call); p != nil {
		return w.round(p.PlanID)
	}
	return nil
}

func (w *tape) tools(_ *timeline, r run.Run) []model.Tool {
	if x := w.roundOf(r.Calls); x != nil {
		return x.Request.Tools
	}
	return nil
}

func (w *tape) reply(call int) (out recordedReply) {
	if x := w.roundOf(call); x != nil && len(x.Response) > 0 {
		_ = json.Unmarshal(x.Response, &out) // what is no reply is none
		for i := range out.Calls {
			out.Calls[i].Args = compacted(out.Calls[i].Args)
		}
	}
	return out
}

func (w *tape) calls(_ *timeline, r run.Run, _ []model.Call) []run.NewCall {
	return w.reply(r.Calls).Calls
}

// readOnly lets all calls of a batch run at once: their order is the tape's.
func (w *tape) readOnly(string) bool { return true }

// call gives a call's recorded result, after the questions that it asked.
func (w *tape) call(ctx context.Context, t *timeline, r run.Run, c run.Call, _ tools.Files) cycle.ToolResult {
	for _, e := range w.want {
		switch e := e.(type) {
		case cycle.PermissionAsked:
			if e.CallID == c.ID {
				if _, err := (asker{t, r, c}).Ask(ctx, tools.Question{CallID: c.ID, Tool: e.Tool, Title: e.Title, Detail: e.Detail, Rule: e.Rule, Destructive: e.Destructive}); ctx.Err() != nil {
					return cycle.ToolResult{CallID: c.ID, Status: cycle.ResultCancelled, Text: err.Error()}
				}
			}
		case cycle.ToolResult:
			if e.CallID == c.ID {
				return e
			}
		}
	}
	<-ctx.Done() // it never ended
	return cycle.ToolResult{CallID: c.ID, Status: cycle.ResultCancelled}
}

// ask answers as the person did.
func (w *tape) ask(ctx context.Context, _ run.Run, q tools.Question) (tools.Answer, string, error) {
	w.mu.Lock()
	skip := w.asked[q.CallID]
	w.asked[q.CallID]++
	w.mu.Unlock()
	for _, e := range w.want {
		a, ok := e.(cycle.PermissionAnswered)
		if !ok || a.CallID != q.CallID {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		reason, no := strings.CutPrefix(a.Why, "the person said no")
		switch {
		case a.Allow:
			return tools.Answer{Allow: true, Always: a.Always != ""}, a.Always, nil
		case no:
			return tools.Answer{Reason: strings.TrimPrefix(reason, ": ")}, "", nil
		}
		return tools.Answer{}, "", errors.New(a.Why)
	}
	<-ctx.Done() // nobody had answered when it ended
	return tools.Answer{}, "", ctx.Err()
}

func (w *tape) wait(ctx context.Context, _ time.Duration) bool { return ctx.Err() == nil }

// giveUp cancels nothing: the recording says which calls came to their end.
func (w *tape) giveUp(context.CancelFunc) {}

func (w *tape) pace() time.Duration { return 0 }

// recordedModels is the models of a recording.
type recordedModels struct{ w *tape }

// Resolve implements Models.
func (m recordedModels) Resolve(_ context.Context, name string) (ResolvedModel, error) {
	if name == summariseAlias {
		for _, r := range m.w.rec.Rounds {
			if r.Round == 0 {
				return m.w.resolved(r.Model, r.Request.Model, m.w.window(r.PlanID)), nil
			}
		}
		return ResolvedModel{}, errNotRecorded
	}
	id, window := name, 0
	for _, r := range m.w.rec.Rounds {
		if r.Model == name {
			id = r.Request.Model
		}
	}
	for _, p := range m.w.rec.Plans {
		if p.Surroundings != nil && p.Surroundings.Model == name {
			window = p.Surroundings.Window
		}
	}
	return m.w.resolved(name, id, window), nil
}

func (w *tape) window(planID string) int {
	for _, p := range w.rec.Plans {
		if p.PlanID == planID {
			return p.Input.Budget.ContextWindow
		}
	}
	return 0
}

func (w *tape) resolved(name, id string, window int) ResolvedModel {
	return ResolvedModel{Name: name, ID: id, Model: model.Func(w.stream), Caps: model.Caps{ContextWindow: window, Tools: true}}
}

// List implements Models.
func (m recordedModels) List(context.Context) []ModelInfo {
	return []ModelInfo{{Name: m.w.rec.Model, Available: true}}
}

// stream is a recorded reply, in the pieces in which it went into the log.
func (w *tape) stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	if len(req.Messages) > 0 && req.Messages[0].Text == promptSummarise {
		return w.summaryStream(ctx, req)
	}
	w.mu.Lock()
	w.streams++
	nth := w.streams
	w.mu.Unlock()
	call, pieces, end := w.section(nth)
	if said := w.reply(call).Text; len(pieces) == 0 && said != "" { // it was not shown
		pieces = []cycle.AgentOutput{{Output: cycle.OutputAssistant, Text: said}}
	}
	w.compareRequest(call, req)
	return func(yield func(model.Delta, error) bool) {
		for _, p := range pieces {
			d := model.Delta{Text: p.Text}
			if p.Output == cycle.OutputReasoning {
				d = model.Delta{Reasoning: p.Text}
			}
			if !yield(d, nil) {
				return
			}
		}
		switch end := end.(type) {
		case cycle.ModelFailed:
			yield(model.Delta{}, recordedFailure(end))
		case cycle.UsageReported:
			u := w.reply(call).Usage
			u.CostUSD = end.CostUSD
			yield(model.Delta{Done: &model.Done{Finish: w.reply(call).Finish, Usage: u}}, nil)
		default: // it was cut off from outside
			<-ctx.Done()
			yield(model.Delta{}, ctx.Err())
		}
	}
}

// section is the nth model call of the run in the log: its number, the pieces
// of its text, and the event that ended it.
func (w *tape) section(nth int) (call int, pieces []cycle.AgentOutput, end cycle.Event) {
	for _, e := range w.want {
		switch e := e.(type) {
		case cycle.PlanMade:
			if nth--; nth == 0 {
				call = e.Call
			}
		case cycle.AgentOutput:
			if nth == 0 && e.Output != cycle.OutputToolCall {
				pieces = append(pieces, e)
			}
		case cycle.UsageReported:
			if nth == 0 && e.Call == call {
				return call, pieces, e
			}
		case cycle.ModelFailed, cycle.IterationDropped, cycle.RunStop:
			if nth == 0 {
				return call, pieces, e
			}
		}
	}
	return call, pieces, nil
}

// compareRequest notes where a request is not the one that was sent.
func (w *tape) compareRequest(call int, req model.Request) {
	x := w.roundOf(call)
	if x == nil {
		return
	}
	if w.loose {
		w.mu.Lock()
		x.Request = req
		w.mu.Unlock()
		return
	}
	was, err := plainJSON(x.Request)
	if err != nil {
		return
	}
	is, err := plainJSON(req)
	if err != nil {
		return
	}
	if string(was) != string(is) {
		w.differ(Difference{What: "request", Number: call, Detail: firstDifference(string(was), string(is))})
	}
}

func (w *tape) differ(d Difference) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.found = append(w.found, d)
}

// summaryStream is the recorded summary that was made by the same plan.
func (w *tape) summaryStream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	w.mu.Lock()
	nth := w.sums
	w.sums++
	w.mu.Unlock()
	var sums []RecordedRound
	for _, r := range w.rec.Rounds {
		if r.Round == 0 {
			sums = append(sums, r)
		}
	}
	plan, _ := ctx.Value(planOfCall{}).(string)
	i := slices.IndexFunc(sums, func(r RecordedRound) bool { return r.PlanID == plan })
	if w.loose { // the plans are other ones now
		i = slices.IndexFunc(sums, func(r RecordedRound) bool {
			return len(r.Request.Messages) == len(req.Messages) && r.Request.Messages[len(req.Messages)-1].Text == req.Messages[len(req.Messages)-1].Text
		})
		if i < 0 {
			i = nth
		}
		if i < len(sums) {
			w.rename(sums[i].PlanID, plan)
		}
	}
	return func(yield func(model.Delta, error) bool) {
		if i < 0 || i >= len(sums) {
			yield(model.Delta{}, errNotRecorded)
			return
		}
		var r recordedReply
		if err := json.Unmarshal(sums[i].Response, &r); err != nil {
			yield(model.Delta{}, err)
			return
		}
		if yield(model.Delta{Text: r.Text}, nil) {
			yield(model.Delta{Done: &model.Done{Finish: r.Finish, Usage: r.Usage}}, nil)
		}
	}
}

// rename gives a recorded round the id of the plan that is made in its place.
func (w *tape) rename(was, is string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.rec.Rounds {
		if w.rec.Rounds[i].PlanID == was {
			w.rec.Rounds[i].PlanID = is
		}
	}
	for i := range w.rec.Plans {
		if w.rec.Plans[i].PlanID == was {
			w.rec.Plans[i].PlanID = is
		}
	}
}

// recordedIndex is the index of a recording: it found what it found then.
type recordedIndex struct{ w *tape }

// Search implements Retriever.
func (x recordedIndex) Search(context.Context, rag.Query) (rag.Set, error) {
	e := x.w.next(func(e cycle.Event) bool {
		switch e.(type) {
		case cycle.RetrievalDone, cycle.PlanMade, cycle.RunStop:
			return true
		}
		return false
	})
	d, ok := e.(cycle.RetrievalDone)
	if !ok {
		return rag.Set{}, errNotRecorded
	}
	return x.w.rec.set(d.RetrievalSetID)
}

// Symbols implements Retriever.
func (recordedIndex) Symbols(string, int) []rag.Symbol { return nil }

// Definition implements Retriever.
func (recordedIndex) Definition(string) ([]rag.Symbol, error) { return nil, errNotRecorded }

// References implements Retriever.
func (recordedIndex) References(context.Context, string, int) ([]rag.Location, bool, error) {
	return nil, false, errNotRecorded
}

// Status implements Retriever.
func (recordedIndex) Status() rag.Status { return rag.Status{State: rag.StateReady} }

// firstDifference says where two texts begin to differ.
func firstDifference(was, is string) string {
	const around = 40
	at := 0
	for at < len(was) && at < len(is) && was[at] == is[at] {
		at++
	}
	cut := func(s string) string {
		return strings.ToValidUTF8(s[max(0, min(at, len(s))-around):min(len(s), at+around)], "")
	}
	return fmt.Sprintf("at byte %d: recorded …%s…, replayed …%s…", at, cut(was), cut(is))
}
