package cycle

import (
	"encoding/json"
	"fmt"
)

// Decode reads an event of any kind from its stored form: the kind's name and
// the JSON that [Encode] made. It is how the store reads its own log; what
// comes from outside goes through [ParseLine], which knows the four kinds only.
// An unknown kind is an error that names it.
func Decode(kind string, data []byte) (Event, error) {
	read, ok := decoders[kind]
	if !ok {
		return nil, fmt.Errorf("unknown kind of event %q: the log was written by a newer version", kind)
	}
	e, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", kind, err)
	}
	return e, nil
}

// decoders has one entry for each kind; TestEveryKindDecodes holds it complete.
var decoders = map[string]func([]byte) (Event, error){}

// register makes a kind decodable. It is called from this package's variable
// initialisers only, so decoders never changes once main has begun.
func register[E Event]() struct{} {
	var zero E
	decoders[zero.Type()] = func(data []byte) (Event, error) {
		var e E
		err := json.Unmarshal(data, &e)
		return e, err
	}
	return struct{}{}
}

var _ = []struct{}{
	register[UserMessage](), register[AgentOutput](), register[ToolResult](), register[RunStop](),
	register[Submitted](), register[FollowUpQueued](), register[QueueChanged](), register[FollowUpPromoted](),
	register[RunQueued](), register[RunStarted](), register[IterationBegan](), register[RetrievalDone](),
	register[PlanMade](), register[ModelReplied](), register[UsageReported](), register[ModelFailed](),
	register[PermissionAsked](), register[PermissionAnswered](), register[RunPaused](), register[RunResumed](),
	register[RunEscalated](), register[ControlDone](), register[Compacted](), register[TurnDone](),
	register[Classified](), register[SettingChanged](), register[PinChanged](), register[BranchForked](),
	register[CommandAnswered](), register[CallsBegan](), register[IterationDropped](), register[VerdictsTold](),
	register[FeedbackTold](),
	register[RunCutOff](),
}
