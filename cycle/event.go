package cycle

import (
	"encoding/json"
	"time"
)

// Event is one fact of the log. It is a closed sum: every variant lives in this package.
// Variants are used as values, never as pointers.
//
// Four kinds are the request-cycle model's own and are declared in this file. All others have a
// Type that begins with [RuntimePrefix]; the projection passes over them as if they weren't there.
type Event interface {
	// Type is the value of the event's "type" field on the wire.
	Type() string
	isEvent()
}

// RuntimePrefix begins the type of every event that isn't one of the model's four kinds.
const RuntimePrefix = "agent-lsp/"

// The types of the four kinds that the projection reads.
const (
	TypeUserMessage = "user-message"
	TypeAgentOutput = "agent-output"
	TypeToolResult  = "tool-result"
	TypeRunStop     = "run-stop"
)

// isSeed tells whether e is of one of the four kinds: the projection passes over everything else.
func isSeed(e Event) bool {
	switch e.(type) {
	case UserMessage, AgentOutput, ToolResult, RunStop:
		return true
	default:
		return false
	}
}

// Delivery is what the author of a message that arrives while a run is active wants done with it.
type Delivery string

// Deliveries. An absent delivery is DeliveryAuto.
const (
	DeliveryAuto     Delivery = "auto"     // by the configured [Policy]
	DeliverySteer    Delivery = "steer"    // into the current cycle, now
	DeliveryFollowUp Delivery = "followUp" // the root of a later cycle
)

// UserMessage is something that the person said. IDs are unique in a log.
type UserMessage struct {
	ID       string    `json:"id"`
	Text     string    `json:"text"`
	Delivery Delivery  `json:"delivery,omitempty"`
	Time     time.Time `json:"time,omitzero"`
}

// OutputKind tells what an AgentOutput is.
type OutputKind string

// Kinds of agent output.
const (
	OutputAssistant OutputKind = "assistant"
	OutputReasoning OutputKind = "reasoning"
	OutputToolCall  OutputKind = "tool-call"
)

// AgentOutput is a piece of assistant text, a piece of reasoning, or one tool call.
//
// A text output needs an ID; several with the same ID and kind in one cycle are deltas of one text
// item. A tool call needs a CallID, unique in its cycle, and a Tool; its ID and Text say nothing.
type AgentOutput struct {
	ID     string          `json:"id,omitempty"`
	Output OutputKind      `json:"output"`
	Text   string          `json:"text,omitempty"`
	CallID string          `json:"callId,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`  // a JSON object; absent is {}
	Round  *int            `json:"round,omitempty"` // the model call that it came from, counted from 1 in its cycle; nil when unknown
	Title  string          `json:"title,omitempty"` // a call in words; not part of the projection
	Time   time.Time       `json:"time,omitzero"`
}

// ResultStatus tells how a tool call ended.
type ResultStatus string

// Statuses of a tool result.
const (
	ResultOK        ResultStatus = "ok"
	ResultError     ResultStatus = "error"
	ResultCancelled ResultStatus = "cancelled"
)

// ToolResult answers the call of the current cycle that has its CallID. MS, Ref and Detail are for
// other readers of the log than the projection.
type ToolResult struct {
	CallID string          `json:"callId"`
	Status ResultStatus    `json:"status"`
	Text   string          `json:"text"`
	MS     int64           `json:"ms,omitempty"`     // how long the call took, in milliseconds
	Ref    string          `json:"ref,omitempty"`    // the scratchpad key of the whole output when Text is a part of it
	Detail json.RawMessage `json:"detail,omitempty"` // the tool's own data
	Time   time.Time       `json:"time,omitzero"`
}

// StopReason tells why a run ended. The three are one class of boundary: each closes the cycle.
type StopReason string

// Reasons of a run-stop.
const (
	StopCompleted   StopReason = "completed"
	StopInterrupted StopReason = "interrupted"
	StopError       StopReason = "error"
)

// RunStop closes the active cycle.
type RunStop struct {
	Reason  StopReason `json:"reason"`
	Message string     `json:"message,omitempty"`
	Time    time.Time  `json:"time,omitzero"`
}

func (UserMessage) Type() string { return TypeUserMessage }
func (AgentOutput) Type() string { return TypeAgentOutput }
func (ToolResult) Type() string  { return TypeToolResult }
func (RunStop) Type() string     { return TypeRunStop }

func (UserMessage) isEvent() {}
func (AgentOutput) isEvent() {}
func (ToolResult) isEvent()  {}
func (RunStop) isEvent()     {}

// Policy decides what the projection isn't told by the events themselves. The zero value is the default.
type Policy struct {
	// Auto is what happens to a message with delivery auto while a run is active:
	// DeliveryFollowUp queues it, anything else steers with it.
	Auto Delivery
}

// queues tells whether a message with delivery d that arrives while a run is active waits in the queue.
func (p Policy) queues(d Delivery) bool {
	switch d {
	case DeliverySteer:
		return false
	case DeliveryFollowUp:
		return true
	default:
		return p.Auto == DeliveryFollowUp
	}
}
