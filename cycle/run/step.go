package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// ReadyTo is what must be done, in this order: append Events to the log, fold
// them, then start Effects.
type ReadyTo struct {
	Events  []cycle.Event
	Effects []Effect
	// Kind is how a Submit was taken: direct, steer, followUp.
	Kind string
	// Before is the iteration that a pause or resume concerns.
	Before int
}

// Rejected says that an input can't be had in the present state. Nothing
// happened.
type Rejected struct {
	Code    string // invalid_state, not_found, bad_request
	Message string
	Hint    string
}

func (r *Rejected) Error() string { return r.Message }

// Step decides. An outcome of an older epoch gives an empty ReadyTo: it is
// neither an error nor news. Illegal inputs give *Rejected and no consequence.
func Step(s State, in Input) (ReadyTo, error) {
	if s.Phase == "" {
		s.Phase = Idle
	}
	m := &machine{s: s}
	err := m.step(in)
	if err != nil {
		return ReadyTo{}, err
	}
	return m.out, nil
}

// machine accumulates one step: each event is folded as it is emitted, so that
// later decisions of the same step see its consequence.
type machine struct {
	s   State
	out ReadyTo
}

func (m *machine) emit(e cycle.Event) {
	m.s = m.s.Apply(e)
	m.out.Events = append(m.out.Events, e)
}

func (m *machine) wish(e Effect) { m.out.Effects = append(m.out.Effects, e) }

func (m *machine) step(in Input) error {
	switch in := in.(type) {
	case Submit:
		return m.submit(in)
	case SlotGranted:
		if m.s.Phase == Waiting && m.s.Run.ID == in.RunID {
			m.emit(cycle.RunStarted{RunID: in.RunID, Time: in.At})
			m.iterate(in.At)
		}
	case Prepared:
		m.prepared(in)
	case Output:
		if m.s.Phase == Calling && in.Epoch == m.s.Epoch && in.Text != "" {
			m.emit(cycle.AgentOutput{ID: in.ID, Output: in.Kind, Text: in.Text, Time: in.At})
		}
	case Replied:
		m.replied(in)
	case Failed:
		m.failed(in)
	case Answered:
		m.settled(in)
	case RetryDue:
		m.retryDue(in)
	case ToolDone:
		m.toolDone(in)
	case Note:
		return m.note(in)
	case Pause:
		return m.pause(in)
	case Resume:
		return m.resume(in)
	case Cancel:
		return m.cancel(in)
	case Escalate:
		return m.escalate(in)
	case Continue:
		return m.goOn(in)
	case EditQueue:
		m.emit(cycle.QueueChanged{Queue: in.Queue, Time: in.At})
	case Recover:
		m.recover(in)
	default:
		return &Rejected{Code: "bad_request", Message: fmt.Sprintf("unknown input %T", in)}
	}
	return nil
}

// submit takes a message: the root of a new cycle, a steer, or a follow-up.
func (m *machine) submit(in Submit) error {
	if !m.s.Active() {
		m.out.Kind = "direct"
		m.open(in.At, in.ID, in.Text, cycle.DeliveryAuto, in.Submitted, in.Classified)
		m.queueRun(cycle.RunQueued{RunID: in.RunID, TurnID: in.TurnID, CycleID: in.ID, Model: in.Model, Max: in.Max, Budget: in.Budget, IssueID: in.IssueID, Time: in.At})
		return nil
	}
	if in.Delivery == cycle.DeliveryFollowUp || in.Delivery != cycle.DeliverySteer && in.AutoIsFollowUp {
		if len(m.s.Queue) >= QueueMax {
			return &Rejected{Code: "invalid_state", Message: fmt.Sprintf("%d follow-ups wait already", QueueMax),
				Hint: "remove one, or wait for the run to end"}
		}
		m.out.Kind = "followUp"
		m.emit(cycle.FollowUpQueued{ID: in.ID, Text: in.Text, TurnID: in.TurnID, RunID: in.RunID, Submitted: in.Submitted, Time: in.At})
		return nil
	}
	if len(m.s.Run.Unread) >= SteersMax {
		return &Rejected{Code: "invalid_state", Message: fmt.Sprintf("%d steers wait for the next model call already", SteersMax),
			Hint: "wait for the run to read them"}
	}
	m.out.Kind = "steer"
	sub := in.Submitted
	sub.TurnID = m.s.Run.TurnID
	m.open(in.At, in.ID, in.Text, cycle.DeliverySteer, sub, nil)
	return nil
}

// open writes a message down.
func (m *machine) open(at time.Time, id, text string, d cycle.Delivery, sub cycle.Submitted, class *cycle.Classified) {
	sub.MessageID, sub.Time = id, at
	m.emit(sub)
	if class != nil {
		m.emit(*class)
	}
	m.emit(cycle.UserMessage{ID: id, Text: text, Delivery: d, Time: at})
}

func (m *machine) queueRun(q cycle.RunQueued) {
	m.emit(q)
	m.wish(AcquireSlot{RunID: q.RunID})
}

func (m *machine) retryDue(in RetryDue) {
	if m.s.Phase != Backoff || in.Epoch != m.s.Epoch {
		return
	}
	if m.s.Run.Paused {
		m.dropIteration(in.At)
		return
	}
	if why := m.s.Run.spent(in.At); why != "" {
		m.stop(in.At, cycle.StopError, why)
		return
	}
	m.wish(Prepare{Epoch: m.s.Epoch, Run: m.s.Run})
}

// dropIteration goes back to before the current iteration.
func (m *machine) dropIteration(at time.Time) {
	r := m.s.Run
	m.emit(cycle.IterationDropped{RunID: r.ID, N: r.Iter, Steers: r.Read, Time: at})
}

// iterate begins the next iteration, unless the run is paused.
func (m *machine) iterate(at time.Time) {
	r := m.s.Run
	if r.Paused {
		return
	}
	if why := r.spent(at); why != "" {
		m.stop(at, cycle.StopError, why)
		return
	}
	final := r.Iter >= r.Max
	m.emit(cycle.IterationBegan{RunID: r.ID, N: r.Iter + 1, Steers: r.Unread, Final: final, Time: at})
	m.wish(Prepare{Epoch: m.s.Epoch, Run: m.s.Run, First: r.Iter == 0})
}

func (m *machine) prepared(in Prepared) {
	if in.Epoch != m.s.Epoch || m.s.Phase != Preparing && m.s.Phase != Backoff {
		return
	}
	if m.s.Run.Paused { // paused while the plan was made: nothing new starts
		m.dropIteration(in.At)
		return
	}
	if in.Retrieval != nil {
		m.emit(*in.Retrieval)
	}
	if in.Compacted != nil {
		m.emit(*in.Compacted)
	}
	in.Plan.Call = m.s.Run.Calls + 1
	m.emit(in.Plan)
	m.wish(CallModel{Epoch: m.s.Epoch, Run: m.s.Run, PlanID: in.Plan.PlanID})
}

func (m *machine) replied(in Replied) {
	if in.Epoch != m.s.Epoch || m.s.Phase != Calling {
		return
	}
	if m.s.Run.Final { // the self-assessment has no tools
		in.Calls = nil
	}
	ids := []string{}
	for _, c := range in.Calls {
		m.emit(cycle.AgentOutput{Output: cycle.OutputToolCall, CallID: c.ID, Tool: c.Tool, Args: c.Args, Title: c.Title, Time: in.At})
		ids = append(ids, c.ID)
	}
	u := in.Usage
	u.RunID, u.TurnID, u.Call, u.Time = m.s.Run.ID, m.s.Run.TurnID, m.s.Run.Calls, in.At
	m.emit(u)
	m.emit(cycle.ModelReplied{RunID: m.s.Run.ID, Call: m.s.Run.Calls, Finish: in.Finish, Calls: ids, Carry: in.Carry, Time: in.At})
	for _, e := range in.Then {
		m.emit(e)
	}
	if in.Stop != "" && len(m.s.Run.Unread) == 0 {
		m.stop(in.At, cycle.StopError, in.Stop)
		return
	}
	if len(ids) == 0 {
		m.answered(in)
		return
	}
	for _, c := range in.Calls {
		refusal := c.Refusal
		if refusal == "" && m.s.Run.repeated(callKey(c.Tool, c.Args)) {
			refusal = fmt.Sprintf("refused: this call was made %d times with the same arguments and gave the same result each time; do something else, or say what is in the way", RepeatsMax)
		}
		if refusal != "" {
			m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultError, Text: refusal, Time: in.At})
		}
	}
	m.act(in.At)
}

// act starts the calls of the batch that have no result yet, unless the run is
// paused; a batch without any goes on to the next iteration.
func (m *machine) act(at time.Time) {
	calls := m.openCalls()
	if len(calls) == 0 {
		m.iterate(at)
		return
	}
	if m.s.Run.Paused {
		return
	}
	ids := []string{}
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	m.emit(cycle.CallsBegan{RunID: m.s.Run.ID, Calls: ids, Time: at})
	m.wish(RunCalls{Epoch: m.s.Epoch, Run: m.s.Run, Calls: calls})
}

// openCalls is the calls that have no result.
func (m *machine) openCalls() []Call {
	return slices.DeleteFunc(slices.Clone(m.s.Run.Pending), func(c Call) bool { return c.Done })
}

// settled ends a run with the pipeline's own answer. A steer that came
// meanwhile stays marked unread.
func (m *machine) settled(in Answered) {
	if in.Epoch != m.s.Epoch || m.s.Phase != Preparing {
		return
	}
	if in.Text != "" {
		m.emit(cycle.AgentOutput{ID: in.ID, Output: cycle.OutputAssistant, Text: in.Text, Time: in.At})
	}
	reason := cycle.StopCompleted
	if in.Failure != "" {
		reason = cycle.StopError
	}
	m.stop(in.At, reason, in.Failure)
}

// answered handles a reply without calls: the run is complete, unless a steer
// came that nobody has read yet, or there is more to do.
func (m *machine) answered(in Replied) {
	at := in.At
	if len(m.s.Run.Unread) > 0 || in.Again && !m.s.Run.Final {
		m.iterate(at)
		return
	}
	reason, why := cycle.StopCompleted, ""
	switch in.Finish {
	case "length":
		why = "the answer was cut at the model's output limit"
	case "filter":
		reason, why = cycle.StopError, "the model's provider refused to answer"
	}
	m.stop(at, reason, why)
}

func (m *machine) failed(in Failed) {
	if in.Epoch != m.s.Epoch {
		return
	}
	switch m.s.Phase {
	case Preparing, Calling, Backoff:
	default:
		return
	}
	r := m.s.Run
	ev := cycle.ModelFailed{RunID: r.ID, Call: r.Calls, Attempt: r.Attempt, Kind: in.Kind, Message: in.Message, Time: in.At}
	if in.Retry && r.Attempt < AttemptsMax {
		ev.RetryInMS = max(1, in.RetryIn.Milliseconds())
		m.emit(ev)
		m.wish(Wait{Epoch: m.s.Epoch, For: in.RetryIn})
		return
	}
	m.emit(ev)
	m.stop(in.At, cycle.StopError, in.Message)
}

func (m *machine) toolDone(in ToolDone) {
	if in.Epoch != m.s.Epoch || m.s.Phase != Acting {
		return
	}
	if !slices.ContainsFunc(m.openCalls(), func(c Call) bool { return c.ID == in.Result.CallID }) {
		return
	}
	in.Result.Time = in.At
	m.emit(in.Result)
	if len(m.openCalls()) == 0 {
		m.iterate(in.At)
	}
}

func (m *machine) note(in Note) error {
	switch e := in.Event.(type) {
	case cycle.UserMessage, cycle.AgentOutput, cycle.ToolResult, cycle.RunStop, cycle.RunQueued, cycle.RunStarted,
		cycle.IterationBegan, cycle.PlanMade, cycle.ModelReplied, cycle.ModelFailed, cycle.RunPaused, cycle.RunResumed,
		cycle.RunEscalated, cycle.RunCutOff, cycle.FollowUpQueued, cycle.FollowUpPromoted, cycle.QueueChanged, cycle.Submitted, cycle.CallsBegan, cycle.IterationDropped:
		return &Rejected{Code: "bad_request", Message: "the machine itself decides about " + e.Type()}
	}
	m.emit(in.Event)
	return nil
}

// stop closes the cycle and promotes the next follow-up. Calls without a
// result get one first: cancelled.
func (m *machine) stop(at time.Time, reason cycle.StopReason, why string) {
	r := m.s.Run
	for _, c := range append(m.openCalls(), r.Open...) {
		m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultCancelled, Text: "cancelled before it ended", Time: at})
	}
	m.wish(Abandon{Epoch: m.s.Epoch})
	m.wish(ReleaseSlot{RunID: r.ID})
	if len(m.s.Queue) == 0 {
		m.emit(cycle.RunStop{Reason: reason, Message: why, Time: at})
		m.wish(Finish{Run: r, Reason: reason, Why: why})
		return
	}
	next := m.s.Queue[0]
	m.emit(cycle.FollowUpPromoted{ID: next.ID, Time: at})
	sub := next.Submitted
	sub.MessageID, sub.Time = next.ID, at
	m.emit(sub)
	m.emit(cycle.UserMessage{ID: next.ID, Text: next.Text, Delivery: cycle.DeliveryFollowUp, Time: at})
	m.emit(cycle.RunStop{Reason: reason, Message: why, Time: at})
	m.wish(Finish{Run: r, Reason: reason, Why: why})
	// A stop that was no completion pauses the queue, visibly: the promoted
	// run waits for the person.
	m.queueRun(cycle.RunQueued{RunID: next.RunID, TurnID: next.TurnID, CycleID: next.ID, Model: r.Model, Max: r.Max, Budget: r.Budget,
		IssueID: next.Submitted.IssueID, Held: reason != cycle.StopCompleted, Time: at})
}
