package run

import (
	"encoding/json"
	"slices"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Phase is where a run stands.
//
//	          submit            slot              pass the gate
//	idle ──────────────► waiting ─────► ready ───────────────────► preparing
//	 ▲                                   ▲  ▲                          │ planned
//	 │ completed, failed,                │  │ every call answered      ▼
//	 └─────── cancelled ◄── calling ◄────┼──┼───────────────────── calling
//	                           │         │  │                          │ replied with calls
//	                           │ failed, │  └──── acting ◄──── gated ◄─┘
//	                           └─ retry ─┘              pass the gate
//
// The gates are where a pause holds: before an iteration (ready) and before a
// batch of tool calls (gated).
type Phase string

// The phases.
const (
	Idle      Phase = "idle"      // no run
	Waiting   Phase = "waiting"   // the run waits for a free slot
	Ready     Phase = "ready"     // before an iteration
	Preparing Phase = "preparing" // retrieval, compaction and planning are under way
	Calling   Phase = "calling"   // a model call is under way
	Backoff   Phase = "backoff"   // a failed model call waits to be tried again
	Gated     Phase = "gated"     // the model asked for calls that have not begun
	Acting    Phase = "acting"    // tool calls are under way
)

// Limits of the machine.
const (
	QueueMax    = 100 // follow-ups that may wait on one branch
	AttemptsMax = 5   // tries of one model call
	RepeatsMax  = 2   // times that the same call may give the same result
	SteersMax   = 50  // steers that may wait for one model call
)

// State is a branch's state: a fold of its events. Its zero value is a branch
// on which nothing happened. It is a value: Step never changes its argument.
type State struct {
	Phase Phase
	Run   Run
	// Queue holds the follow-ups in order.
	Queue []FollowUp
	// Held says that the person stopped the last run while follow-ups waited:
	// the next one is promoted but waits for them to resume.
	Held bool
	// Interrupted is the run that a crash cut off and that may be taken up
	// again; "" when there is none, or the person has gone on.
	Interrupted string
	// Epoch numbers effects: it grows when what is under way is abandoned.
	Epoch int
}

// Run is the active run.
type Run struct {
	ID, TurnID, CycleID, IssueID string
	Model                        string
	Iter, Max                    int
	Budget                       cycle.Budget
	Spent                        Spent
	Final                        bool // the self-assessment at the step limit
	Paused                       bool
	Escalation                   string   // the reason of the last escalation
	Calls                        int      // model calls made
	Attempt                      int      // of the current model call, from 1
	Unread                       []string // steers that no model call has read
	Read                         []string // steers that the current iteration reads
	Pending                      []Call   // of the current batch, in order
	Open                         []Call   // calls of the reply that is still streaming
	Asking                       []string
	Seen                         []Repeat
}

// Call is one tool call of the batch under way.
type Call struct {
	ID, Tool string
	Args     json.RawMessage
	Done     bool
	Key      string // tool and arguments
}

// Repeat counts how often a call gave the same result.
type Repeat struct {
	Key, Result string
	Times       int
}

// FollowUp is a queued message.
type FollowUp struct {
	ID, Text, TurnID, RunID string
	Submitted               cycle.Submitted
}

// seenMax bounds the loop guard's memory; the oldest entries give way.
const seenMax = 256

// Active tells whether a cycle is open.
func (s State) Active() bool { return s.Phase != Idle && s.Phase != "" }

// Queued is the queue in the words of the protocol.
func (s State) Queued() []cycle.Queued {
	out := []cycle.Queued{}
	for _, f := range s.Queue {
		out = append(out, cycle.Queued{ID: f.ID, Text: f.Text})
	}
	return out
}

// Apply folds one event. It is total: an event that does not fit changes
// nothing, so that any old log folds.
func (s State) Apply(e cycle.Event) State {
	if s.Phase == "" {
		s.Phase = Idle
	}
	switch e := e.(type) {
	case cycle.RunQueued:
		s.Phase = Waiting
		s.Run = Run{ID: e.RunID, TurnID: e.TurnID, CycleID: e.CycleID, IssueID: e.IssueID,
			Model: e.Model, Max: e.Max, Budget: e.Budget, Paused: e.Held}
		s.Held = false
	case cycle.RunStarted:
		if s.Phase == Waiting {
			s.Phase = Ready
			s.Run.Spent = s.Run.Spent.apply(e)
		}
	case cycle.Submitted:
		if !s.Active() || e.Continues == s.Interrupted { // the person goes on, with that run or without it
			s.Interrupted = ""
		}
	case cycle.FollowUpQueued:
		if e.Submitted.Continues == s.Interrupted {
			s.Interrupted = ""
		}
		s.Queue = append(slices.Clip(s.Queue), FollowUp{ID: e.ID, Text: e.Text, TurnID: e.TurnID, RunID: e.RunID, Submitted: e.Submitted})
	case cycle.QueueChanged:
		s.Queue = reorder(s.Queue, e.Queue)
	case cycle.FollowUpPromoted:
		s.Queue = slices.DeleteFunc(slices.Clone(s.Queue), func(f FollowUp) bool { return f.ID == e.ID })
	case cycle.CommandAnswered, cycle.SettingChanged, cycle.PinChanged:
	default:
		if s.Active() {
			s = s.applyActive(e)
		}
	}
	return s
}

// applyActive folds the events of the active run.
func (s State) applyActive(e cycle.Event) State {
	r := &s.Run
	r.Spent = r.Spent.apply(e)
	switch e := e.(type) {
	case cycle.UserMessage:
		if e.Delivery == cycle.DeliverySteer && e.ID != r.CycleID {
			r.Unread = append(slices.Clip(r.Unread), e.ID)
		}
	case cycle.IterationBegan:
		s.Phase, r.Iter, r.Final, r.Attempt = Preparing, e.N, e.Final, 1
		r.Read, r.Unread, r.Pending, r.Open = e.Steers, nil, nil, nil
	case cycle.IterationDropped:
		s.Phase, r.Iter, r.Final = Ready, e.N-1, false
		r.Unread, r.Read = append(slices.Clone(e.Steers), r.Unread...), nil
	case cycle.CallsBegan:
		s.Phase = Acting
	case cycle.PlanMade:
		s.Phase, r.Calls = Calling, e.Call
		r.Open = nil
	case cycle.AgentOutput:
		if e.Output == cycle.OutputToolCall {
			r.Open = append(slices.Clip(r.Open), Call{ID: e.CallID, Tool: e.Tool, Args: e.Args, Key: callKey(e.Tool, e.Args)})
		}
	case cycle.ModelReplied:
		r.Pending, r.Open = slices.Clone(r.Open), nil
		s.Phase = Ready
		if len(e.Calls) > 0 {
			s.Phase = Gated
		}
	case cycle.ModelFailed:
		r.Open = nil
		if e.RetryInMS > 0 {
			s.Phase, r.Attempt = Backoff, e.Attempt+1
		}
	case cycle.ToolResult:
		s = s.applyResult(e)
	case cycle.PermissionAsked:
		r.Asking = append(slices.Clip(r.Asking), e.CallID)
	case cycle.PermissionAnswered:
		r.Asking = without(r.Asking, e.CallID)
	case cycle.RunCutOff:
		s.Interrupted = e.RunID
	case cycle.RunPaused:
		r.Paused = true
	case cycle.RunResumed:
		r.Paused = false
	case cycle.RunEscalated:
		r.Model, r.Escalation = e.New, e.Reason
	case cycle.RunStop:
		s.Phase, s.Run = Idle, Run{}
		s.Epoch++
	}
	return s
}

func (s State) applyResult(e cycle.ToolResult) State {
	r := &s.Run
	r.Asking = without(r.Asking, e.CallID)
	r.Pending = slices.Clone(r.Pending)
	open := 0
	for i := range r.Pending {
		c := &r.Pending[i]
		if c.ID == e.CallID && !c.Done {
			c.Done = true
			r.Seen = remember(r.Seen, c.Key, string(e.Status)+"\x00"+e.Text)
		}
		if !c.Done {
			open++
		}
	}
	if open == 0 && (s.Phase == Gated || s.Phase == Acting) {
		s.Phase = Ready
	}
	return s
}

// remember counts a result of a call.
func remember(seen []Repeat, key, result string) []Repeat {
	seen = slices.Clone(seen)
	sum := shortHash(result)
	for i := range seen {
		if seen[i].Key == key {
			if seen[i].Result == sum {
				seen[i].Times++
			} else {
				seen[i] = Repeat{Key: key, Result: sum, Times: 1}
			}
			return seen
		}
	}
	seen = append(seen, Repeat{Key: key, Result: sum, Times: 1})
	return seen[max(0, len(seen)-seenMax):]
}

func (r Run) repeated(key string) bool {
	for _, x := range r.Seen {
		if x.Key == key {
			return x.Times >= RepeatsMax
		}
	}
	return false
}

// reorder puts a queue into the order of the given list with its texts; what
// the list lacks is gone, what the queue lacks is passed over.
func reorder(queue []FollowUp, order []cycle.Queued) []FollowUp {
	out := make([]FollowUp, 0, len(queue))
	for _, q := range order {
		i := slices.IndexFunc(queue, func(f FollowUp) bool { return f.ID == q.ID })
		if i < 0 || slices.ContainsFunc(out, func(f FollowUp) bool { return f.ID == q.ID }) {
			continue
		}
		f := queue[i]
		f.Text = q.Text
		out = append(out, f)
	}
	return out
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return x == s })
}
