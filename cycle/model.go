package cycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Model is the projection of a log: what a person is shown of it, and what analysis counts.
// Its JSON is the published shape. Lists are never nil in a Model that this package made.
type Model struct {
	State     Activity       `json:"state"`
	Cycles    []RequestCycle `json:"cycles"`
	Queued    []Queued       `json:"queued"`
	Anomalies []Anomaly      `json:"anomalies"`
}

// Activity tells whether a cycle is open.
type Activity string

// The two activities.
const (
	StateIdle   Activity = "idle"
	StateActive Activity = "active"
)

// NewModel is the projection of an empty log.
func NewModel() Model {
	return Model{State: StateIdle, Cycles: []RequestCycle{}, Queued: []Queued{}, Anomalies: []Anomaly{}}
}

// RequestCycle is one root message and all that was done for it up to the first run-stop. Its ID is its root's.
// A view leaves Steps or Rounds out by making it nil.
type RequestCycle struct {
	ID     string           `json:"id"`
	Root   Root             `json:"root"`
	Status CycleStatus      `json:"status"`
	Steps  []ResolutionStep `json:"steps,omitzero"`
	Rounds []InferenceRound `json:"rounds,omitzero"`
}

// Root is the message that a cycle resolves.
type Root struct {
	ID   string   `json:"id"`
	Kind RootKind `json:"kind"`
	Text string   `json:"text"`
}

// RootKind tells how a message became a root.
type RootKind string

// Kinds of roots.
const (
	RootDirect   RootKind = "direct"   // sent while idle
	RootFollowUp RootKind = "followUp" // queued while active, promoted by a run-stop
)

// CycleStatus is "active" or the reason of the run-stop that closed the cycle.
type CycleStatus string

// Statuses of a cycle.
const (
	CycleActive      CycleStatus = "active"
	CycleCompleted   CycleStatus = CycleStatus(StopCompleted)
	CycleInterrupted CycleStatus = CycleStatus(StopInterrupted)
	CycleError       CycleStatus = CycleStatus(StopError)
)

// StepType tells what a row of the step tree is.
type StepType string

// Types of steps.
const (
	StepNonSteer StepType = "non-steer" // the root message; always the first step and only that
	StepSteer    StepType = "steer"     // a message that joined the running cycle
	StepAIBlock  StepType = "ai-block"  // one text item and the tool calls that follow it
)

// ResolutionStep is one row of the step tree. For a user step ID and Text are the message's. For an
// ai-block they are its text item's, with Kind; a block that a bare tool call opened has an
// assistant item with an empty ID and an empty Text. On the wire the item is an object of its own.
type ResolutionStep struct {
	Type   StepType
	ID     string
	Text   string
	Kind   OutputKind // of an ai-block: assistant or reasoning; else empty
	Groups []Group    // of an ai-block; nil in a user step

	// tail holds the bytes of Text with room to grow, so that a delta costs its own length.
	tail *strings.Builder
}

// appendText joins a delta to the step's text at amortised constant cost per byte. Copies of a step may
// share a tail: the one that falls behind notices that the tail isn't its text any more and takes a new one.
// (Comparing equal strings that share their bytes is constant in Go.)
func (s *ResolutionStep) appendText(delta string) {
	if s.tail == nil || s.tail.String() != s.Text {
		s.tail = new(strings.Builder)
		s.tail.Grow(len(s.Text) + len(delta))
		s.tail.WriteString(s.Text)
	}
	s.tail.WriteString(delta)
	s.Text = s.tail.String()
}

// GroupType tells what the calls of a group have in common.
type GroupType string

// Types of groups.
const (
	GroupRead  GroupType = "read-group"
	GroupWrite GroupType = "write-group"
	GroupBash  GroupType = "bash-group"
	GroupOther GroupType = "other-group"
)

// GroupOf tells the type of group that a tool's calls belong to.
func GroupOf(tool string) GroupType {
	switch tool {
	case "ls", "read", "grep", "find":
		return GroupRead
	case "write", "edit":
		return GroupWrite
	case "bash":
		return GroupBash
	default:
		return GroupOther
	}
}

// Group is a run of adjacent calls of the same type inside a block.
type Group struct {
	Type  GroupType `json:"type"`
	Calls []Call    `json:"calls"`
}

// Call is one tool call. Result is nil until its result came.
type Call struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result *Result         `json:"result"`
}

// Result is how a call ended.
type Result struct {
	Status ResultStatus `json:"status"`
	Text   string       `json:"text"`
}

// InferenceRound is one model call. N counts from 1 unless the outputs carried numbers of their own.
//
// Input is what the model was given since the round before: the root's id and the steers that came
// before any output in the first round, the feedback of the round before in a later one. Output has
// the ids of text items and calls. Feedback has the callIds of results and the ids of steers. All are
// in order of arrival.
type InferenceRound struct {
	N        int      `json:"n"`
	Input    []string `json:"input"`
	Output   []string `json:"output"`
	Feedback []string `json:"feedback"`
}

// Queued is a follow-up that waits for its run-stop.
type Queued struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Anomaly is an event that came when it couldn't and changed nothing else. Index is the event's place,
// counted from 0, among the log's events of the four kinds: the others are passed over in counting too.
type Anomaly struct {
	Index  int           `json:"index"`
	Reason AnomalyReason `json:"reason"`
}

// AnomalyReason is the fault of an event's order.
type AnomalyReason string

// Reasons of anomalies.
const (
	OutputWhileIdle      AnomalyReason = "output-while-idle"
	StopWhileIdle        AnomalyReason = "stop-while-idle"
	ResultForUnknownCall AnomalyReason = "result-for-unknown-call"
	ResultAlreadyGiven   AnomalyReason = "result-already-given"
	DuplicateMessageID   AnomalyReason = "duplicate-message-id"
	DuplicateCallID      AnomalyReason = "duplicate-call-id"
)

// argsOf is a call's arguments as the model shows them: absent and null are the empty object.
func argsOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// userStepWire and blockWire are the two shapes of a step on the wire.
type (
	userStepWire struct {
		Type StepType `json:"type"`
		ID   string   `json:"id"`
		Text string   `json:"text"`
	}
	blockWire struct {
		Type   StepType     `json:"type"`
		Text   textItemWire `json:"text"`
		Groups []Group      `json:"groups"`
	}
	textItemWire struct {
		Kind OutputKind `json:"kind"`
		ID   string     `json:"id"`
		Text string     `json:"text"`
	}
)

// MarshalJSON writes the published shape of a step.
func (s ResolutionStep) MarshalJSON() ([]byte, error) {
	if s.Type != StepAIBlock {
		return marshal(userStepWire{s.Type, s.ID, s.Text})
	}
	groups := s.Groups
	if groups == nil {
		groups = []Group{}
	}
	return marshal(blockWire{s.Type, textItemWire{s.Kind, s.ID, s.Text}, groups})
}

// UnmarshalJSON reads the published shape of a step.
func (s *ResolutionStep) UnmarshalJSON(data []byte) error {
	var head struct {
		Type StepType `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	switch head.Type {
	case StepNonSteer, StepSteer:
		var w userStepWire
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
		*s = ResolutionStep{Type: w.Type, ID: w.ID, Text: w.Text}
		return nil
	case StepAIBlock:
		var w blockWire
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
		if w.Groups == nil {
			w.Groups = []Group{}
		}
		*s = ResolutionStep{Type: w.Type, ID: w.Text.ID, Text: w.Text.Text, Kind: w.Text.Kind, Groups: w.Groups}
		return nil
	default:
		return fmt.Errorf("a step's type must be %s, %s or %s, not %q", StepNonSteer, StepSteer, StepAIBlock, head.Type)
	}
}

// marshal is json.Marshal without the escapes that are only needed inside HTML.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// snapshot copies what later ops may change: the list of cycles and the insides of the last one. Everything
// else is shared, for it is only ever appended to or replaced.
func (m *Model) snapshot() Model {
	out := Model{State: m.State, Queued: slices.Clip(m.Queued), Anomalies: slices.Clip(m.Anomalies)}
	out.Cycles = make([]RequestCycle, len(m.Cycles))
	copy(out.Cycles, m.Cycles)
	if n := len(out.Cycles); n > 0 && m.State == StateActive {
		out.Cycles[n-1] = out.Cycles[n-1].clone()
	}
	return out
}

func (c RequestCycle) clone() RequestCycle {
	c.Steps = slices.Clone(c.Steps)
	for i := range c.Steps {
		s := &c.Steps[i]
		s.tail = nil
		s.Groups = slices.Clone(s.Groups)
		for j := range s.Groups {
			s.Groups[j].Calls = slices.Clone(s.Groups[j].Calls)
		}
	}
	c.Rounds = slices.Clone(c.Rounds)
	for i := range c.Rounds {
		r := &c.Rounds[i]
		r.Output, r.Feedback = slices.Clip(r.Output), slices.Clip(r.Feedback)
	}
	return c
}
