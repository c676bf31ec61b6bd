package protocol

// The two topics are notifications whose method is the topic's name.
const (
	TopicControl = "loop:control"
	TopicCurrent = "loop:current"
)

// ControlType is the kind of a message on loop:control.
type ControlType string

// Kinds of messages on loop:control.
const (
	ControlRequest ControlType = "REQUEST" // from the controller
	ControlAck     ControlType = "ACK"     // received, before anything is done
	ControlResult  ControlType = "RESULT"  // done, or why not
)

// ControlCommand is what a controller may ask of a run.
type ControlCommand string

// Commands of loop:control.
const (
	CommandPause    ControlCommand = "pause"    // stops before its next iteration
	CommandResume   ControlCommand = "resume"   // goes on
	CommandCancel   ControlCommand = "cancel"   // stops at once
	CommandEscalate ControlCommand = "escalate" // another model from its next call on
)

// ControlMessage is a message on loop:control. Its schema is 0.
type ControlMessage struct {
	Schema    int            `json:"schema"` // 0
	Type      ControlType    `json:"type"`
	RequestID string         `json:"request_id"` // 1 to 128 bytes; correlates, and makes a retry harmless for 5 minutes
	Command   ControlCommand `json:"command"`
	Target    ControlTarget  `json:"target"`
	Timestamp string         `json:"timestamp"` // RFC 3339, UTC
	Payload   ControlPayload `json:"payload"`
}

// ControlTarget names the run.
type ControlTarget struct {
	RunID   string `json:"run_id"`
	IssueID string `json:"issue_id,omitempty"`
}

// ControlPayload is a command's data in a REQUEST, what came of it in a
// RESULT, and {} elsewhere.
type ControlPayload struct {
	Model  string `json:"model,omitempty"`  // REQUEST escalate: a configured name or alias
	Reason string `json:"reason,omitempty"` // REQUEST escalate

	Status        string `json:"status,omitempty"`  // RESULT: success, failure
	Code          string `json:"code,omitempty"`    // RESULT failure: not_found, invalid_state, duplicate, bad_request
	Message       string `json:"message,omitempty"` // RESULT: for a person
	PreviousModel string `json:"previous_model,omitempty"`
	NewModel      string `json:"new_model,omitempty"`
}

// LoopEventType is the kind of a message on loop:current.
type LoopEventType string

// Kinds of messages on loop:current.
const (
	LoopState LoopEventType = "STATE" // iteration, paused, model or stack changed
	LoopAbort LoopEventType = "ABORT" // the run was stopped
	LoopDone  LoopEventType = "DONE"  // the run ended by itself
)

// LoopEvent is a message on loop:current. Its schema is 1.
type LoopEvent struct {
	Schema    int           `json:"schema"` // 1
	Event     LoopEventType `json:"event"`
	RunID     string        `json:"run_id"`
	UpdatedAt string        `json:"updated_at,omitempty"` // RFC 3339, UTC
	Reason    string        `json:"reason,omitempty"`     // ABORT: USER_CANCELLED, …
	Stack     []LoopFrame   `json:"stack"`                // outermost first
}

// LoopFrame is one level of what runs.
type LoopFrame struct {
	ID               string `json:"id"`
	Mode             string `json:"mode"` // chat, prompt, workflow, issue, subtask
	Iter             int    `json:"iter"`
	Max              int    `json:"max"`
	Model            string `json:"model"`
	IssueID          string `json:"issue_id,omitempty"`
	Paused           bool   `json:"paused,omitempty"`
	EscalationReason string `json:"escalation_reason,omitempty"`
}
