package cycle

import "slices"

// State is the projection of a log that is still being written. Apply costs the same however long the log
// is; [Project] says what it must arrive at. The zero value isn't ready: use [NewState].
//
// A State is used through its pointer and belongs to one goroutine; what Model and Queue return stays
// as it is and may go to others.
type State struct {
	policy   Policy
	model    Model               // changed by Reduce only, as every reader's is
	messages map[string]struct{} // ids of all user messages of the log
	seen     int                 // events of the four kinds so far
	open     openCycle           // about the active cycle; worth nothing while idle
}

// openCycle is what has to be known of the active cycle to place its next event.
type openCycle struct {
	texts map[textKey]int    // the step of each text item
	calls map[string]callRef // where each call is
	block int                // the ai-block that calls go to; 0 (the root's step) when there's none since the last user step
	early []string           // what the first round will be given; nil once it has begun
	fed   bool               // the current round has feedback
}

type textKey struct {
	kind OutputKind
	id   string
}

type callRef struct {
	step, group, call int
	answered          bool
}

// NewState is the state before any event.
func NewState(policy Policy) *State {
	return &State{policy: policy, model: NewModel(), messages: map[string]struct{}{}}
}

// Apply takes the next event of the log and returns what it changes, in the order of doing, as ops that
// have been applied already. It never fails: an event that can't be where it is becomes an anomaly.
// Runtime events change nothing.
func (s *State) Apply(e Event) []Op {
	var ops []Op
	switch e := e.(type) {
	case UserMessage:
		ops = s.userMessage(e)
	case AgentOutput:
		ops = s.agentOutput(e)
	case ToolResult:
		ops = s.toolResult(e)
	case RunStop:
		ops = s.runStop(e)
	default:
		return nil
	}
	s.seen++
	s.reduce(ops)
	return ops
}

// Active tells whether a cycle is open.
func (s *State) Active() bool { return s.model.State == StateActive }

// CurrentCycle is the id of the open cycle, or "" while idle.
func (s *State) CurrentCycle() string {
	if !s.Active() {
		return ""
	}
	return s.cycle().ID
}

// Queue lists the follow-ups that wait, the next one first. It is for reading only.
func (s *State) Queue() []Queued { return slices.Clip(s.model.Queued) }

// HasMessage tells whether a user message with this id is in the log, in whatever role.
func (s *State) HasMessage(id string) bool {
	_, ok := s.messages[id]
	return ok
}

// Model returns the projection so far, as a snapshot that no later Apply changes. It costs the number of
// cycles and the size of the open one (counted in steps and calls, not in bytes of text): closed cycles are
// shared between snapshots, so a snapshot may be reduced further but its closed cycles mustn't be written to.
func (s *State) Model() Model { return s.model.snapshot() }

func (s *State) cycle() *RequestCycle { return &s.model.Cycles[len(s.model.Cycles)-1] }

// reduce applies ops that Apply made. They fit by construction.
func (s *State) reduce(ops []Op) {
	if err := Reduce(&s.model, ops); err != nil {
		panic("cycle: State made ops that don't fit its own model: " + err.Error())
	}
}

func (s *State) anomaly(reason AnomalyReason) []Op {
	return []Op{{Op: OpAnomaly, Index: s.seen, Reason: reason}}
}

func (s *State) userMessage(e UserMessage) []Op {
	if s.HasMessage(e.ID) {
		return s.anomaly(DuplicateMessageID)
	}
	s.messages[e.ID] = struct{}{}
	if !s.Active() {
		return []Op{s.openCycle(e.ID, RootDirect, e.Text)}
	}
	if s.policy.queues(e.Delivery) {
		return []Op{{Op: OpPush, ID: e.ID, Text: e.Text}}
	}
	c := s.cycle()
	s.open.block = 0
	ops := []Op{{Op: OpStep, Cycle: c.ID, Step: len(c.Steps), Type: string(StepSteer), ID: e.ID, Text: e.Text}}
	if len(c.Rounds) == 0 {
		s.open.early = append(s.open.early, e.ID)
		return ops
	}
	s.open.fed = true
	return append(ops, Op{Op: OpFeedback, Cycle: c.ID, ID: e.ID})
}

func (s *State) openCycle(id string, kind RootKind, text string) Op {
	s.open = openCycle{texts: map[textKey]int{}, calls: map[string]callRef{}, early: []string{id}}
	return Op{Op: OpCycle, Cycle: id, Kind: string(kind), Text: text}
}

func (s *State) agentOutput(e AgentOutput) []Op {
	if !s.Active() {
		return s.anomaly(OutputWhileIdle)
	}
	if e.Output == OutputToolCall {
		return s.toolCall(e)
	}
	c := s.cycle()
	key := textKey{e.Output, e.ID}
	if step, ok := s.open.texts[key]; ok {
		if e.Text == "" {
			return nil
		}
		return []Op{{Op: OpText, Cycle: c.ID, Step: step, Text: e.Text}}
	}
	ops := s.beginRound(e.Round)
	s.open.block = len(c.Steps)
	s.open.texts[key] = s.open.block
	return append(ops,
		Op{Op: OpStep, Cycle: c.ID, Step: s.open.block, Type: string(StepAIBlock), Kind: string(e.Output), ID: e.ID, Text: e.Text},
		Op{Op: OpOutput, Cycle: c.ID, ID: e.ID})
}

func (s *State) toolCall(e AgentOutput) []Op {
	if _, ok := s.open.calls[e.CallID]; ok {
		return s.anomaly(DuplicateCallID)
	}
	c := s.cycle()
	ops := s.beginRound(e.Round)
	var groups []Group
	if s.open.block == 0 {
		s.open.block = len(c.Steps)
		ops = append(ops, Op{Op: OpStep, Cycle: c.ID, Step: s.open.block, Type: string(StepAIBlock), Kind: string(OutputAssistant)})
	} else {
		groups = c.Steps[s.open.block].Groups
	}
	typ := GroupOf(e.Tool)
	at := callRef{step: s.open.block, group: len(groups)}
	if n := len(groups); n > 0 && groups[n-1].Type == typ {
		at.group, at.call = n-1, len(groups[n-1].Calls)
	}
	s.open.calls[e.CallID] = at
	return append(ops,
		Op{Op: OpCall, Cycle: c.ID, Step: at.step, Group: at.group, Call: at.call, Type: string(typ), CallID: e.CallID, Tool: e.Tool, Args: argsOf(e.Args)},
		Op{Op: OpOutput, Cycle: c.ID, ID: e.CallID})
}

// beginRound returns the op that begins a round at a new text item or call, if one begins there: see newRound.
func (s *State) beginRound(given *int) []Op {
	c := s.cycle()
	if len(c.Rounds) == 0 {
		n := 1
		if given != nil && *given > 0 {
			n = *given
		}
		op := Op{Op: OpRound, Cycle: c.ID, N: n, Input: s.open.early}
		s.open.early = nil
		return []Op{op}
	}
	last := &c.Rounds[len(c.Rounds)-1]
	n := last.N + 1
	switch {
	case given == nil && !s.open.fed:
		return nil
	case given != nil && *given <= last.N:
		return nil
	case given != nil:
		n = *given
	}
	s.open.fed = false
	return []Op{{Op: OpRound, Cycle: c.ID, N: n, Input: slices.Clip(last.Feedback)}}
}

func (s *State) toolResult(e ToolResult) []Op {
	if !s.Active() {
		return s.anomaly(ResultForUnknownCall)
	}
	at, ok := s.open.calls[e.CallID]
	if !ok {
		return s.anomaly(ResultForUnknownCall)
	}
	if at.answered {
		return s.anomaly(ResultAlreadyGiven)
	}
	at.answered = true
	s.open.calls[e.CallID] = at
	s.open.fed = true
	id := s.cycle().ID
	return []Op{
		{Op: OpResult, Cycle: id, Step: at.step, Group: at.group, Call: at.call, Status: string(e.Status), Text: e.Text},
		{Op: OpFeedback, Cycle: id, ID: e.CallID},
	}
}

func (s *State) runStop(e RunStop) []Op {
	if !s.Active() {
		return s.anomaly(StopWhileIdle)
	}
	ops := []Op{{Op: OpStatus, Cycle: s.cycle().ID, Status: string(e.Reason)}}
	if len(s.model.Queued) == 0 {
		s.open = openCycle{}
		return ops
	}
	next := s.model.Queued[0]
	return append(ops, Op{Op: OpPop}, s.openCycle(next.ID, RootFollowUp, next.Text))
}
