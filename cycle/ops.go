package cycle

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Op is one change of a [Model]: what [State.Apply] tells and what [Reduce] does. It is the wire format
// of the agent/cycle notification. Ops must be applied in order and all of them; who misses one asks for the
// whole model again.
//
//	op        fields                                    what it does
//	--------  ----------------------------------------  -----------------------------------------------------------
//	cycle     cycle kind text                           appends a cycle: its id is cycle, its root has that id, kind
//	                                                    (direct or followUp) and text; its status is active, steps
//	                                                    begin with the root's non-steer step, rounds are empty.
//	                                                    The state becomes active
//	status    cycle status                              sets the cycle's status; it is closed. The state becomes idle
//	step      cycle step type id text kind?             appends a step, whose index is step. type is steer or ai-block;
//	                                                    of a block, kind id text are its text item's, groups are empty
//	text      cycle step text                           appends text to that step's text
//	call      cycle step group call type callId tool    appends a call, whose index is call, to that group of that step.
//	          args                                      Where call is 0 it first appends a group of that type, whose
//	                                                    index is group. The call's result is null
//	result    cycle step group call status text         sets that call's result
//	round     cycle n input                             appends a round; output and feedback are empty
//	output    cycle id                                  appends id to the last round's output
//	feedback  cycle id                                  appends id to the last round's feedback
//	push      id text                                   appends to the queue
//	pop       (none)                                    removes the first of the queue
//	queue     queued                                    replaces the whole queue (State never says so: it is for a
//	                                                    server that lets people edit follow-ups before they are logged)
//	anomaly   index reason                              appends to the anomalies
//
// step, group, call and index count from 0. Only the last cycle is ever addressed, and only while it is
// active. On the wire an op has exactly the fields of its row and "op" (kind? is absent from a steer). Who meets an
// op that is unknown or doesn't fit asks for the whole model.
type Op struct {
	Op     OpKind          `json:"op"`
	Cycle  string          `json:"cycle,omitempty"`
	Step   int             `json:"step,omitempty"`
	Group  int             `json:"group,omitempty"`
	Call   int             `json:"call,omitempty"`
	Type   string          `json:"type,omitempty"` // a StepType or a GroupType
	Kind   string          `json:"kind,omitempty"` // a RootKind or an OutputKind
	ID     string          `json:"id,omitempty"`
	CallID string          `json:"callId,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"`
	Status string          `json:"status,omitempty"` // a CycleStatus or a ResultStatus
	Text   string          `json:"text,omitempty"`
	N      int             `json:"n,omitempty"`
	Input  []string        `json:"input,omitempty"`
	Queued []Queued        `json:"queued,omitempty"`
	Index  int             `json:"index,omitempty"`
	Reason AnomalyReason   `json:"reason,omitempty"`
}

// OpKind tells what an Op does.
type OpKind string

// Kinds of ops.
const (
	OpCycle    OpKind = "cycle"
	OpStatus   OpKind = "status"
	OpStep     OpKind = "step"
	OpText     OpKind = "text"
	OpCall     OpKind = "call"
	OpResult   OpKind = "result"
	OpRound    OpKind = "round"
	OpOutput   OpKind = "output"
	OpFeedback OpKind = "feedback"
	OpPush     OpKind = "push"
	OpPop      OpKind = "pop"
	OpQueue    OpKind = "queue"
	OpAnomaly  OpKind = "anomaly"
)

// Reduce applies ops to m in order. It stops at the first that doesn't fit and says which and why: then m
// lacks ops, those before are applied, and the whole model is to be fetched again. An append costs the
// length of what is appended.
//
// A plain copy of a Model shares memory with it, so only one of the two may be reduced further.
func Reduce(m *Model, ops []Op) error {
	for i := range ops {
		if err := reduceOne(m, &ops[i]); err != nil {
			return fmt.Errorf("op %d (%s) doesn't fit the model: %w", i, ops[i].Op, err)
		}
	}
	return nil
}

func reduceOne(m *Model, op *Op) error {
	switch op.Op {
	case OpCycle:
		return reduceCycle(m, op)
	case OpPush:
		m.Queued = append(m.Queued, Queued{ID: op.ID, Text: op.Text})
		return nil
	case OpPop:
		if len(m.Queued) == 0 {
			return fmt.Errorf("the queue is empty")
		}
		m.Queued = m.Queued[1:]
		return nil
	case OpQueue:
		m.Queued = append([]Queued{}, op.Queued...)
		return nil
	case OpAnomaly:
		m.Anomalies = append(m.Anomalies, Anomaly{Index: op.Index, Reason: op.Reason})
		return nil
	}
	if m.State != StateActive || len(m.Cycles) == 0 || m.Cycles[len(m.Cycles)-1].ID != op.Cycle {
		return fmt.Errorf("cycle %q is not the active one", op.Cycle)
	}
	c := &m.Cycles[len(m.Cycles)-1]
	switch op.Op {
	case OpStatus:
		c.Status, m.State = CycleStatus(op.Status), StateIdle
		return nil
	case OpStep, OpText, OpCall, OpResult:
		return reduceSteps(c, op)
	case OpRound, OpOutput, OpFeedback:
		return reduceRounds(c, op)
	default:
		return fmt.Errorf("unknown kind of op")
	}
}

func reduceCycle(m *Model, op *Op) error {
	if m.State == StateActive {
		return fmt.Errorf("a cycle is active already")
	}
	m.State = StateActive
	m.Cycles = append(m.Cycles, RequestCycle{
		ID:     op.Cycle,
		Root:   Root{ID: op.Cycle, Kind: RootKind(op.Kind), Text: op.Text},
		Status: CycleActive,
		Steps:  []ResolutionStep{{Type: StepNonSteer, ID: op.Cycle, Text: op.Text}},
		Rounds: []InferenceRound{},
	})
	return nil
}

func reduceSteps(c *RequestCycle, op *Op) error {
	if op.Op == OpStep {
		if op.Step != len(c.Steps) {
			return fmt.Errorf("step %d can't follow %d steps", op.Step, len(c.Steps))
		}
		s := ResolutionStep{Type: StepType(op.Type), ID: op.ID, Text: op.Text, Kind: OutputKind(op.Kind)}
		if s.Type == StepAIBlock {
			s.Groups = []Group{}
		}
		c.Steps = append(c.Steps, s)
		return nil
	}
	if op.Step < 0 || op.Step >= len(c.Steps) {
		return fmt.Errorf("there is no step %d", op.Step)
	}
	s := &c.Steps[op.Step]
	if op.Op == OpText {
		s.appendText(op.Text)
		return nil
	}
	if s.Type != StepAIBlock {
		return fmt.Errorf("step %d is no ai-block", op.Step)
	}
	if op.Op == OpCall && op.Call == 0 {
		if op.Group != len(s.Groups) {
			return fmt.Errorf("group %d can't follow %d groups", op.Group, len(s.Groups))
		}
		s.Groups = append(s.Groups, Group{Type: GroupType(op.Type), Calls: []Call{}})
	}
	if op.Group < 0 || op.Group >= len(s.Groups) {
		return fmt.Errorf("there is no group %d in step %d", op.Group, op.Step)
	}
	return reduceCalls(&s.Groups[op.Group], op)
}

func reduceCalls(g *Group, op *Op) error {
	if op.Op == OpCall {
		if op.Call != len(g.Calls) {
			return fmt.Errorf("call %d can't follow %d calls", op.Call, len(g.Calls))
		}
		g.Calls = append(g.Calls, Call{CallID: op.CallID, Tool: op.Tool, Args: argsOf(op.Args)})
		return nil
	}
	if op.Call < 0 || op.Call >= len(g.Calls) {
		return fmt.Errorf("there is no call %d in group %d of step %d", op.Call, op.Group, op.Step)
	}
	g.Calls[op.Call].Result = &Result{Status: ResultStatus(op.Status), Text: op.Text}
	return nil
}

func reduceRounds(c *RequestCycle, op *Op) error {
	if op.Op == OpRound {
		c.Rounds = append(c.Rounds, InferenceRound{
			N: op.N, Input: append([]string{}, op.Input...), Output: []string{}, Feedback: []string{},
		})
		return nil
	}
	if len(c.Rounds) == 0 {
		return fmt.Errorf("the cycle has no round")
	}
	r := &c.Rounds[len(c.Rounds)-1]
	if op.Op == OpOutput {
		r.Output = append(r.Output, op.ID)
	} else {
		r.Feedback = append(r.Feedback, op.ID)
	}
	return nil
}

// Coalesce joins the text ops for one step into the first of them, or into the step op that opened it, so
// that a burst of deltas becomes one op. Reducing the result gives the same model. It doesn't change its argument.
func Coalesce(ops []Op) []Op {
	type place struct {
		cycle string
		step  int
	}
	out := make([]Op, 0, len(ops))
	first := map[place]int{}    // where in out the text of a step goes
	parts := map[int][]string{} // by index in out, all its text in pieces
	for _, op := range ops {
		at := place{op.Cycle, op.Step}
		if i, ok := first[at]; ok && op.Op == OpText {
			parts[i] = append(parts[i], op.Text)
			continue
		}
		if op.Op == OpText || op.Op == OpStep {
			first[at] = len(out)
			parts[len(out)] = []string{op.Text}
		}
		out = append(out, op)
	}
	for i, p := range parts {
		if len(p) > 1 {
			out[i].Text = strings.Join(p, "")
		}
	}
	return out
}
