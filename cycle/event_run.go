package cycle

import (
	"encoding/json"
	"time"
)

// The events of a run. Each is a fact that the run machine (cycle/run) folds
// and that the projection of request cycles passes over. Time is when the
// event was recorded; it never decides anything.

// Submitted goes with a user message and says what else came with it.
type Submitted struct {
	MessageID       string          `json:"messageId"`
	TurnID          string          `json:"turnId"`
	ClientRequestID string          `json:"clientRequestId,omitempty"`
	Source          string          `json:"source,omitempty"`
	Mode            string          `json:"mode,omitempty"`
	Edits           string          `json:"edits,omitempty"`
	IssueID         string          `json:"issueId,omitempty"`
	OneOff          bool            `json:"oneOff,omitempty"`
	Continues       string          `json:"continues,omitempty"` // the interrupted run that this message goes on with
	Extra           json.RawMessage `json:"extra,omitempty"`     // attachments, focus, environment as they came
	Time            time.Time       `json:"time,omitzero"`
}

// FollowUpQueued makes a follow-up durable. Its user message enters the log
// right before the run-stop that promotes it, because until then the person
// may edit, move or remove it.
type FollowUpQueued struct {
	ID        string    `json:"id"`
	Text      string    `json:"text"`
	TurnID    string    `json:"turnId"`
	RunID     string    `json:"runId"`
	Submitted Submitted `json:"submitted"`
	Time      time.Time `json:"time,omitzero"`
}

// QueueChanged replaces the order and texts of the queued follow-ups. IDs that
// are missing were removed by the person.
type QueueChanged struct {
	Queue []Queued  `json:"queue"`
	Time  time.Time `json:"time,omitzero"`
}

// FollowUpPromoted names the follow-up whose user message follows.
type FollowUpPromoted struct {
	ID   string    `json:"id"`
	Time time.Time `json:"time,omitzero"`
}

// RunQueued says that a run waits for a free slot.
type RunQueued struct {
	RunID   string    `json:"runId"`
	TurnID  string    `json:"turnId"`
	CycleID string    `json:"cycleId"`
	Model   string    `json:"model"`
	Max     int       `json:"max"` // iterations
	Budget  Budget    `json:"budget,omitzero"`
	IssueID string    `json:"issueId,omitempty"`
	Held    bool      `json:"held,omitempty"` // promoted after a stop: waits for the person to resume
	Time    time.Time `json:"time,omitzero"`
}

// Budget is what a run may use up; a zero part has no limit.
type Budget struct {
	Tokens  int     `json:"tokens,omitempty"` // input and output of all its model calls
	USD     float64 `json:"usd,omitempty"`
	Seconds int     `json:"seconds,omitempty"` // since it has its slot, pauses left out
}

// RunStarted says that a run has its slot.
type RunStarted struct {
	RunID string    `json:"runId"`
	Time  time.Time `json:"time,omitzero"`
}

// IterationBegan opens iteration N of a run. Steers are the ids of the steers
// that its model call reads. Final marks the self-assessment at the step limit.
type IterationBegan struct {
	RunID  string    `json:"runId"`
	N      int       `json:"n"`
	Steers []string  `json:"steers,omitempty"`
	Final  bool      `json:"final,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// RetrievalDone names the RetrievalSet of a turn.
type RetrievalDone struct {
	TurnID         string    `json:"turnId"`
	RetrievalSetID string    `json:"retrievalSetId"`
	Query          string    `json:"query"`
	Items          int       `json:"items"`
	MS             float64   `json:"ms"`
	Time           time.Time `json:"time,omitzero"`
}

// PlanMade names the ContextPlan of the next model call.
type PlanMade struct {
	RunID          string    `json:"runId"`
	TurnID         string    `json:"turnId"`
	PlanID         string    `json:"planId"`
	RetrievalSetID string    `json:"retrievalSetId,omitempty"`
	Call           int       `json:"call"` // model call of the run, from 1
	Model          string    `json:"model"`
	Included       int       `json:"included"`
	Excluded       int       `json:"excluded"`
	Tokens         int       `json:"tokens"`
	Budget         int       `json:"budget"`
	MS             float64   `json:"ms"`
	Time           time.Time `json:"time,omitzero"`
}

// ModelReplied ends a model call whose reply came whole. Calls are the ids of
// the tool calls that it asks for, in order; their agent-outputs precede it.
type ModelReplied struct {
	RunID  string   `json:"runId"`
	Call   int      `json:"call"`
	Finish string   `json:"finish"`
	Calls  []string `json:"calls,omitempty"`
	// Carry is what the model wants back with this reply, unchanged.
	Carry json.RawMessage `json:"carry,omitempty"`
	Time  time.Time       `json:"time,omitzero"`
}

// CallsBegan says that the calls of a reply were started: from here on a crash
// leaves them orphaned.
type CallsBegan struct {
	RunID string    `json:"runId"`
	Calls []string  `json:"calls"`
	Time  time.Time `json:"time,omitzero"`
}

// IterationDropped takes back an iteration whose model call was not made or
// did not end: by a pause before it, or by a crash in a paused run. Its steers
// are unread again.
type IterationDropped struct {
	RunID  string    `json:"runId"`
	N      int       `json:"n"`
	Steers []string  `json:"steers,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// UsageReported is what a model call cost. Tokens; milliseconds; US dollars.
type UsageReported struct {
	RunID      string    `json:"runId"`
	TurnID     string    `json:"turnId"`
	PlanID     string    `json:"planId"`
	Call       int       `json:"call"`
	Model      string    `json:"model"`
	Estimated  int       `json:"estimated"`
	Input      int       `json:"input"`
	Output     int       `json:"output"`
	CacheRead  int       `json:"cacheRead"`
	CacheWrite int       `json:"cacheWrite"`
	MS         int64     `json:"ms"`
	FirstMS    int64     `json:"firstMs"`
	CostUSD    float64   `json:"costUsd"`
	Reported   bool      `json:"reported"`
	Time       time.Time `json:"time,omitzero"`
}

// ModelFailed says that a model call failed; RetryInMS > 0 says that it is
// tried again after that long.
type ModelFailed struct {
	RunID     string    `json:"runId"`
	Call      int       `json:"call"`
	Attempt   int       `json:"attempt"` // 1 = the first try
	Kind      string    `json:"kind"`
	Message   string    `json:"message"`
	RetryInMS int64     `json:"retryInMs,omitempty"`
	Time      time.Time `json:"time,omitzero"`
}

// PermissionAsked says that a call waits for the person.
type PermissionAsked struct {
	CallID      string    `json:"callId"`
	Tool        string    `json:"tool"`
	Title       string    `json:"title"`
	Detail      string    `json:"detail,omitempty"`
	Rule        string    `json:"rule,omitempty"`
	Destructive bool      `json:"destructive,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

// PermissionAnswered is the answer, or the lack of one.
type PermissionAnswered struct {
	CallID string    `json:"callId"`
	Allow  bool      `json:"allow"`
	Always string    `json:"always,omitempty"` // the rule that was saved
	Why    string    `json:"why,omitempty"`    // "the person", "no answer in time", "no client to ask"…
	Time   time.Time `json:"time,omitzero"`
}

// RunPaused holds a run before iteration Before.
type RunPaused struct {
	RunID  string    `json:"runId"`
	Before int       `json:"before"`
	Time   time.Time `json:"time,omitzero"`
}

// RunResumed lets a paused run go on.
type RunResumed struct {
	RunID string    `json:"runId"`
	Time  time.Time `json:"time,omitzero"`
}

// RunCutOff says that the process ended while a run was active. The run-stop
// that follows closes its cycle; the run may be taken up again.
type RunCutOff struct {
	RunID string    `json:"runId"`
	Time  time.Time `json:"time,omitzero"`
}

// RunEscalated switches a run's model from its next call on.
type RunEscalated struct {
	RunID    string    `json:"runId"`
	Previous string    `json:"previous"`
	New      string    `json:"new"`
	Reason   string    `json:"reason,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// ControlDone keeps the RESULT of a control request, so that a retry gets the
// same bytes.
type ControlDone struct {
	RequestID string          `json:"requestId"`
	Result    json.RawMessage `json:"result"`
	Time      time.Time       `json:"time,omitzero"`
}

// Compacted says that part of the history was archived and summarised.
type Compacted struct {
	RunID    string    `json:"runId,omitempty"`
	Ref      string    `json:"ref"` // the archived source
	Summary  string    `json:"summary"`
	Covers   []string  `json:"covers"` // candidate ids that the summary supersedes
	TokensIn int       `json:"tokensIn"`
	Tokens   int       `json:"tokens"`
	Time     time.Time `json:"time,omitzero"`
}

// TurnDone closes a turn with its response.
type TurnDone struct {
	TurnID   string          `json:"turnId"`
	RunID    string          `json:"runId"`
	Response json.RawMessage `json:"response"`
	Time     time.Time       `json:"time,omitzero"`
}

// Classified says what kind of input a turn's message is.
type Classified struct {
	TurnID     string    `json:"turnId"`
	Kind       string    `json:"kind"`
	Confidence float64   `json:"confidence"`
	Method     string    `json:"method"`
	Time       time.Time `json:"time,omitzero"`
}

// SettingChanged records a session's own setting (title, model, mode).
type SettingChanged struct {
	Name  string    `json:"name"`
	Value string    `json:"value"`
	Time  time.Time `json:"time,omitzero"`
}

// PinChanged pins, unpins, excludes or ages a candidate or a file.
type PinChanged struct {
	ID       string    `json:"id"`
	Label    string    `json:"label,omitempty"`
	Pinned   bool      `json:"pinned"`
	Excluded bool      `json:"excluded"`
	TTL      *int      `json:"ttl,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// BranchForked opens a branch whose history is its parent's up to a turn.
type BranchForked struct {
	BranchID string    `json:"branchId"`
	Name     string    `json:"name"`
	Parent   string    `json:"parent"`
	TurnID   string    `json:"turnId"` // the last turn that both share
	Time     time.Time `json:"time,omitzero"`
}

// VerdictsTold is what the model is told of the person's decisions on hunks.
type VerdictsTold struct {
	Text    string    `json:"text"`
	Through int       `json:"through,omitempty"` // the last verdict that it is about
	Time    time.Time `json:"time,omitzero"`
}

// FeedbackTold is what the model is told of what its edits broke: problems that
// were not reported before them.
type FeedbackTold struct {
	RunID  string    `json:"runId"`
	TurnID string    `json:"turnId"`
	Text   string    `json:"text"`
	Time   time.Time `json:"time,omitzero"`
}

// CommandAnswered records a state command and its answer; it makes no cycle.
type CommandAnswered struct {
	Input  string    `json:"input"`
	Answer string    `json:"answer"`
	OK     bool      `json:"ok"`
	MS     float64   `json:"ms"`
	Time   time.Time `json:"time,omitzero"`
}

func (Submitted) Type() string          { return RuntimePrefix + "submitted" }
func (FollowUpQueued) Type() string     { return RuntimePrefix + "followup-queued" }
func (QueueChanged) Type() string       { return RuntimePrefix + "queue-changed" }
func (FollowUpPromoted) Type() string   { return RuntimePrefix + "followup-promoted" }
func (RunQueued) Type() string          { return RuntimePrefix + "run-queued" }
func (RunStarted) Type() string         { return RuntimePrefix + "run-started" }
func (IterationBegan) Type() string     { return RuntimePrefix + "iteration-began" }
func (RetrievalDone) Type() string      { return RuntimePrefix + "retrieval-done" }
func (PlanMade) Type() string           { return RuntimePrefix + "plan-made" }
func (ModelReplied) Type() string       { return RuntimePrefix + "model-replied" }
func (CallsBegan) Type() string         { return RuntimePrefix + "calls-began" }
func (IterationDropped) Type() string   { return RuntimePrefix + "iteration-dropped" }
func (UsageReported) Type() string      { return RuntimePrefix + "usage-reported" }
func (ModelFailed) Type() string        { return RuntimePrefix + "model-failed" }
func (PermissionAsked) Type() string    { return RuntimePrefix + "permission-asked" }
func (PermissionAnswered) Type() string { return RuntimePrefix + "permission-answered" }
func (RunPaused) Type() string          { return RuntimePrefix + "run-paused" }
func (RunResumed) Type() string         { return RuntimePrefix + "run-resumed" }
func (RunCutOff) Type() string          { return RuntimePrefix + "run-cut-off" }
func (RunEscalated) Type() string       { return RuntimePrefix + "run-escalated" }
func (ControlDone) Type() string        { return RuntimePrefix + "control-done" }
func (Compacted) Type() string          { return RuntimePrefix + "compacted" }
func (TurnDone) Type() string           { return RuntimePrefix + "turn-done" }
func (Classified) Type() string         { return RuntimePrefix + "classified" }
func (SettingChanged) Type() string     { return RuntimePrefix + "setting-changed" }
func (PinChanged) Type() string         { return RuntimePrefix + "pin-changed" }
func (BranchForked) Type() string       { return RuntimePrefix + "branch-forked" }
func (VerdictsTold) Type() string       { return RuntimePrefix + "verdicts-told" }
func (FeedbackTold) Type() string       { return RuntimePrefix + "feedback-told" }
func (CommandAnswered) Type() string    { return RuntimePrefix + "command-answered" }

func (Submitted) isEvent()          {}
func (FollowUpQueued) isEvent()     {}
func (QueueChanged) isEvent()       {}
func (FollowUpPromoted) isEvent()   {}
func (RunQueued) isEvent()          {}
func (RunStarted) isEvent()         {}
func (IterationBegan) isEvent()     {}
func (RetrievalDone) isEvent()      {}
func (PlanMade) isEvent()           {}
func (ModelReplied) isEvent()       {}
func (CallsBegan) isEvent()         {}
func (IterationDropped) isEvent()   {}
func (UsageReported) isEvent()      {}
func (ModelFailed) isEvent()        {}
func (PermissionAsked) isEvent()    {}
func (PermissionAnswered) isEvent() {}
func (RunPaused) isEvent()          {}
func (RunResumed) isEvent()         {}
func (RunCutOff) isEvent()          {}
func (RunEscalated) isEvent()       {}
func (ControlDone) isEvent()        {}
func (Compacted) isEvent()          {}
func (TurnDone) isEvent()           {}
func (Classified) isEvent()         {}
func (SettingChanged) isEvent()     {}
func (PinChanged) isEvent()         {}
func (BranchForked) isEvent()       {}
func (VerdictsTold) isEvent()       {}
func (FeedbackTold) isEvent()       {}
func (CommandAnswered) isEvent()    {}
