package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Input is everything that can make the machine move: a closed sum.
type Input interface{ isInput() }

// Submit is a message from the person. IDs are made by the caller.
type Submit struct {
	At                time.Time
	ID, TurnID, RunID string
	Text              string
	Delivery          cycle.Delivery
	Submitted         cycle.Submitted
	Classified        *cycle.Classified
	Model             string
	Max               int // iterations
	Budget            cycle.Budget
	AutoIsFollowUp    bool
	PromotedModel     string // unused unless the message is queued
	IssueID           string
}

// SlotGranted says that a waiting run may begin.
type SlotGranted struct {
	At    time.Time
	RunID string
}

// Prepared is the outcome of a Prepare effect: what it found out, and the plan.
type Prepared struct {
	At        time.Time
	Epoch     int
	Retrieval *cycle.RetrievalDone
	Compacted *cycle.Compacted
	Plan      cycle.PlanMade
}

// Output is a piece of text or reasoning of the reply under way.
type Output struct {
	At    time.Time
	Epoch int
	ID    string
	Kind  cycle.OutputKind
	Text  string
}

// Replied ends a model call that came whole. Titles are the calls in words.
type Replied struct {
	At     time.Time
	Epoch  int
	Finish string
	Calls  []NewCall
	Carry  json.RawMessage // what the model wants back with the reply
	Usage  cycle.UsageReported
	// Again says that a reply without calls does not end the run: it asked for
	// tools, or the workflow has another step. Then are facts that belong
	// between the reply and what comes next.
	Again bool
	Then  []cycle.Event
	// Stop, when set, ends the run with this failure.
	Stop string
}

// Answered is the pipeline's own answer to a turn that needs no model: the
// run is over with it. Failure, when set, is why it is none.
type Answered struct {
	At      time.Time
	Epoch   int
	ID      string
	Text    string
	Failure string
}

// NewCall is one tool call of a reply. Refusal, when set, is the result that it
// gets at once instead of being run: unknown tool, arguments that are no JSON.
type NewCall struct {
	ID, Tool, Title string
	Args            json.RawMessage
	Refusal         string
}

// Failed is the outcome of a Prepare or CallModel effect that went wrong.
// RetryIn > 0 says that the same may succeed after that long.
type Failed struct {
	At      time.Time
	Epoch   int
	Kind    string
	Message string
	RetryIn time.Duration
	Retry   bool
}

// RetryDue says that a backoff is over.
type RetryDue struct {
	At    time.Time
	Epoch int
}

// ToolDone is the outcome of one tool call.
type ToolDone struct {
	At     time.Time
	Epoch  int
	Result cycle.ToolResult
}

// Note records a fact that the machine does not decide about (a permission
// asked or answered, hunks, a pin). It is refused for the kinds it owns.
type Note struct {
	Event cycle.Event
}

// Pause, Resume, Cancel and Escalate are the person's controls. RequestID and
// Result belong to the message that asked, if one did.
type (
	Pause struct {
		At    time.Time
		RunID string
	}
	Resume struct {
		At    time.Time
		RunID string
	}
	Cancel struct {
		At      time.Time
		RunID   string
		Message string
	}
	Escalate struct {
		At            time.Time
		RunID         string
		Model, Reason string
	}
)

// Continue takes up a run that a crash cut off: a new cycle goes on from its
// log. IDs are made by the caller.
type Continue struct {
	At                   time.Time
	RunID                string // the interrupted one
	ID, TurnID, NewRunID string
	Text                 string
	Submitted            cycle.Submitted
	Model                string
	Max                  int
	Budget               cycle.Budget
}

// EditQueue replaces the order and texts of the queue.
type EditQueue struct {
	At    time.Time
	Queue []cycle.Queued
}

// Recover comes first after a log was loaded: nothing is under way any more.
type Recover struct{ At time.Time }

func (Submit) isInput()      {}
func (SlotGranted) isInput() {}
func (Prepared) isInput()    {}
func (Output) isInput()      {}
func (Replied) isInput()     {}
func (Failed) isInput()      {}
func (Answered) isInput()    {}
func (RetryDue) isInput()    {}
func (ToolDone) isInput()    {}
func (Note) isInput()        {}
func (Pause) isInput()       {}
func (Resume) isInput()      {}
func (Cancel) isInput()      {}
func (Escalate) isInput()    {}
func (Continue) isInput()    {}
func (EditQueue) isInput()   {}
func (Recover) isInput()     {}

// Effect is a wish that the driver fulfils: a closed sum. Outcomes come back
// with the effect's Epoch.
type Effect interface{ isEffect() }

// AcquireSlot asks for one of the places for active runs; the answer is
// SlotGranted, now or later.
type AcquireSlot struct{ RunID string }

// ReleaseSlot gives a run's place, or its place in the queue for one, back.
type ReleaseSlot struct{ RunID string }

// Prepare asks for retrieval, compaction and a plan; the answer is Prepared or Failed.
type Prepare struct {
	Epoch int
	Run   Run
	First bool // the run's first iteration: retrieve
}

// CallModel asks the model; the answers are Output…, then Replied or Failed.
type CallModel struct {
	Epoch  int
	Run    Run
	PlanID string
}

// RunCalls runs a batch; each call is answered by a ToolDone.
type RunCalls struct {
	Epoch int
	Run   Run
	Calls []Call
}

// Wait asks for a RetryDue after that long.
type Wait struct {
	Epoch int
	For   time.Duration
}

// Abandon ends everything that bears this epoch, at once.
type Abandon struct{ Epoch int }

// Finish says that a run is over; the driver answers the person and makes what
// is derived in the background.
type Finish struct {
	Run    Run
	Reason cycle.StopReason
	Why    string
}

func (AcquireSlot) isEffect() {}
func (ReleaseSlot) isEffect() {}
func (Prepare) isEffect()     {}
func (CallModel) isEffect()   {}
func (RunCalls) isEffect()    {}
func (Wait) isEffect()        {}
func (Abandon) isEffect()     {}
func (Finish) isEffect()      {}

func callKey(tool string, args json.RawMessage) string {
	return tool + "\x00" + shortHash(string(args))
}

// shortHash is enough to tell results of one run apart.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:12])
}
