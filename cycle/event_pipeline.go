package cycle

import (
	"strings"
	"time"
)

// The events of the pipeline round a run: where a turn was routed, the
// workflow that it goes through, what its subtasks did, and what is remembered.

// Routed says which tools a turn's model is told of, and why.
type Routed struct {
	TurnID string `json:"turnId"`
	RunID  string `json:"runId"`
	// Route is CONVERSATIONAL_ONLY (no tools, chat prompt) or TOOLS.
	Route string `json:"route"`
	// Categories are the tools' categories in order; none with TOOLS = all.
	Categories []string `json:"categories,omitempty"`
	// Method says who decided: action, fast-path, router, cache, rules, builtin, score, need-tools.
	Method string  `json:"method"`
	Reason string  `json:"reason"`
	Score  float64 `json:"score"` // how probable it is that tools are needed, 0 to 1
	Model  string  `json:"model,omitempty"`
	// Chips are what the turn's message says beside its words.
	Chips []Chip    `json:"chips,omitempty"`
	MS    float64   `json:"ms"`
	Time  time.Time `json:"time,omitzero"`
}

// Chip is a pill, tag or mention of a message.
type Chip struct {
	Kind   string `json:"kind"` // pill, tag, mention
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
}

// The routes.
const (
	RouteChat  = "CONVERSATIONAL_ONLY"
	RouteTools = "TOOLS"
	RouteAll   = "ALL" // in words: every category
)

// Words is the route as it is shown: CONVERSATIONAL_ONLY, ALL or the
// categories.
func (r Routed) Words() string {
	switch {
	case r.Route == RouteChat:
		return r.Route
	case len(r.Categories) == 0:
		return RouteAll
	}
	return strings.ToUpper(strings.Join(r.Categories, ", "))
}

// WorkflowPlanned sets a turn's whole workflow; a later one replaces it.
type WorkflowPlanned struct {
	TurnID   string    `json:"turnId"`
	Workflow Workflow  `json:"workflow"`
	Time     time.Time `json:"time,omitzero"`
}

// WorkflowStepped changes the status of one step.
type WorkflowStepped struct {
	TurnID string    `json:"turnId"`
	Step   int       `json:"step"` // from 1
	Status string    `json:"status"`
	Note   string    `json:"note,omitempty"`
	Try    int       `json:"try,omitempty"`
	Iter   int       `json:"iter"` // the run's iterations before it
	Time   time.Time `json:"time,omitzero"`
}

// Workflow is an ordered list of steps, as the person sees and edits it.
type Workflow struct {
	Goal   string         `json:"goal"`   // the whole request in one line
	Status string         `json:"status"` // proposed, running, done, failed
	Method string         `json:"method"` // rules, model, person
	Steps  []WorkflowStep `json:"steps"`
}

// WorkflowStep is one line of the checklist.
type WorkflowStep struct {
	Goal  string   `json:"goal"`
	Tools []string `json:"tools"` // categories; none = all of the turn's
	// Check says when the step is done: replied, edited, command-ok, looked.
	Check   string `json:"check"`
	OnFail  string `json:"onFail"` // stop, retry, skip
	Budget  int    `json:"budget"` // iterations
	Status  string `json:"status"` // pending, running, done, failed, skipped
	Try     int    `json:"try,omitempty"`
	Note    string `json:"note,omitempty"`
	Started int    `json:"started,omitempty"` // the run's iterations before it
}

// The statuses of a workflow and of its steps.
const (
	StepPending      = "pending"
	StepRunning      = "running"
	StepDone         = "done"
	StepFailed       = "failed"
	StepSkipped      = "skipped"
	WorkflowProposed = "proposed"
	WorkflowRunning  = "running"
	WorkflowDone     = "done"
	WorkflowFailed   = "failed"
)

// Apply folds a change of one step into a copy of the workflow. A step that
// there is not changes nothing.
func (w Workflow) Apply(e WorkflowStepped) Workflow {
	if e.Step < 1 || e.Step > len(w.Steps) {
		return w
	}
	w.Steps = append([]WorkflowStep{}, w.Steps...)
	s := &w.Steps[e.Step-1]
	s.Status, s.Note = e.Status, e.Note
	switch e.Status {
	case StepRunning:
		s.Try, s.Started = e.Try, e.Iter
		w.Status = WorkflowRunning
	case StepFailed:
		w.Status = WorkflowFailed
	}
	done := 0
	for _, s := range w.Steps {
		if s.Status == StepDone || s.Status == StepSkipped {
			done++
		}
	}
	if done == len(w.Steps) {
		w.Status = WorkflowDone
	}
	return w
}

// SubtaskStepped says where a subtask stands: a bounded, read-only loop that
// a call of the run began.
type SubtaskStepped struct {
	RunID  string   `json:"runId"`
	CallID string   `json:"callId"`
	ID     string   `json:"id"`
	N      int      `json:"n"` // its iteration
	Max    int      `json:"max"`
	Model  string   `json:"model"`
	PlanID string   `json:"planId,omitempty"`
	Calls  []string `json:"calls,omitempty"` // what it asks for, in words
	// Tokens and CostUSD are what this iteration's model call took.
	Tokens  int       `json:"tokens,omitempty"`
	CostUSD float64   `json:"costUsd,omitempty"`
	Done    bool      `json:"done,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

// MemoryChanged adds, changes or forgets a durable note. The last event of an
// id counts.
type MemoryChanged struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind"` // fact, decision, preference
	Text      string    `json:"text"`
	SessionID string    `json:"sessionId,omitempty"` // where it was said
	BranchID  string    `json:"branchId,omitempty"`
	TurnID    string    `json:"turnId,omitempty"`
	Branch    bool      `json:"branch,omitempty"` // holds on that branch only
	Forgotten bool      `json:"forgotten,omitempty"`
	Time      time.Time `json:"time,omitzero"`
}

func (Routed) Type() string          { return RuntimePrefix + "routed" }
func (WorkflowPlanned) Type() string { return RuntimePrefix + "workflow-planned" }
func (WorkflowStepped) Type() string { return RuntimePrefix + "workflow-stepped" }
func (SubtaskStepped) Type() string  { return RuntimePrefix + "subtask-stepped" }
func (MemoryChanged) Type() string   { return RuntimePrefix + "memory-changed" }

func (Routed) isEvent()          {}
func (WorkflowPlanned) isEvent() {}
func (WorkflowStepped) isEvent() {}
func (SubtaskStepped) isEvent()  {}
func (MemoryChanged) isEvent()   {}

var _ = []struct{}{
	register[Routed](), register[WorkflowPlanned](), register[WorkflowStepped](), register[SubtaskStepped](), register[MemoryChanged](),
}
