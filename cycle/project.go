package cycle

import (
	"cmp"
	"slices"
	"strings"
)

// Project is the request-cycle model of a whole log, said as plainly as it can be: cut the log into cycles,
// then look at each cycle twice, once for its steps and once for its rounds. It is the definition; [State]
// arrives at the same one event at a time. Every list of events has a projection.
func Project(events []Event, policy Policy) Model {
	m := NewModel()
	parts, queued, anomalies := cut(events, policy)
	for i, p := range parts {
		admitted, faults := admit(p.events)
		anomalies = append(anomalies, faults...)
		c := RequestCycle{
			ID:     p.root.ID,
			Root:   Root{ID: p.root.ID, Kind: p.kind, Text: p.root.Text},
			Status: p.status,
			Steps:  stepsOf(p.root, admitted),
			Rounds: roundsOf(p.root, admitted),
		}
		if i == len(parts)-1 && p.open {
			m.State = StateActive
		}
		m.Cycles = append(m.Cycles, c)
	}
	for _, q := range queued {
		m.Queued = append(m.Queued, Queued{ID: q.ID, Text: q.Text})
	}
	slices.SortFunc(anomalies, func(a, b Anomaly) int { return cmp.Compare(a.Index, b.Index) })
	m.Anomalies = append(m.Anomalies, anomalies...)
	return m
}

// part is the stretch of a log that makes one cycle.
type part struct {
	root   UserMessage
	kind   RootKind
	status CycleStatus
	open   bool // no run-stop yet
	events []indexed
}

// indexed is an event with its place among the log's events of the four kinds.
type indexed struct {
	Event
	index int
}

// cut finds where cycles begin and end, which messages steer and which wait. Steers, outputs and results of a
// cycle go into its part in order; a follow-up is in no cycle until it is a root.
func cut(events []Event, policy Policy) (parts []part, queued []UserMessage, anomalies []Anomaly) {
	index := -1
	known := map[string]bool{}
	active := false
	open := func(root UserMessage, kind RootKind) {
		parts = append(parts, part{root: root, kind: kind, status: CycleActive, open: true})
		active = true
	}
	fault := func(reason AnomalyReason) { anomalies = append(anomalies, Anomaly{index, reason}) }
	keep := func(e Event) {
		p := &parts[len(parts)-1]
		p.events = append(p.events, indexed{e, index})
	}
	for _, e := range events {
		if !isSeed(e) {
			continue
		}
		index++
		switch e := e.(type) {
		case UserMessage:
			if known[e.ID] {
				fault(DuplicateMessageID)
				continue
			}
			known[e.ID] = true
			switch {
			case !active:
				open(e, RootDirect)
			case policy.queues(e.Delivery):
				queued = append(queued, e)
			default:
				keep(e)
			}
		case AgentOutput:
			if active {
				keep(e)
			} else {
				fault(OutputWhileIdle)
			}
		case ToolResult:
			if active {
				keep(e)
			} else {
				fault(ResultForUnknownCall)
			}
		case RunStop:
			if !active {
				fault(StopWhileIdle)
				continue
			}
			p := &parts[len(parts)-1]
			p.status, p.open, active = CycleStatus(e.Reason), false, false
			if len(queued) > 0 {
				open(queued[0], RootFollowUp)
				queued = queued[1:]
			}
		}
	}
	return parts, queued, anomalies
}

// admit leaves out of a cycle's events the calls whose id was used before and the results that answer no
// call, or one that has its answer.
func admit(events []indexed) (admitted []Event, anomalies []Anomaly) {
	answered := map[string]bool{} // by callId; present when called
	for _, e := range events {
		switch x := e.Event.(type) {
		case AgentOutput:
			if x.Output == OutputToolCall {
				if _, called := answered[x.CallID]; called {
					anomalies = append(anomalies, Anomaly{e.index, DuplicateCallID})
					continue
				}
				answered[x.CallID] = false
			}
		case ToolResult:
			done, called := answered[x.CallID]
			if !called {
				anomalies = append(anomalies, Anomaly{e.index, ResultForUnknownCall})
				continue
			}
			if done {
				anomalies = append(anomalies, Anomaly{e.index, ResultAlreadyGiven})
				continue
			}
			answered[x.CallID] = true
		}
		admitted = append(admitted, e.Event)
	}
	return admitted, anomalies
}

// stepsOf makes the rows of the step tree. Results and the deltas of texts are gathered first, so that what
// is left is the order of rows, blocks and groups.
func stepsOf(root UserMessage, admitted []Event) []ResolutionStep {
	texts := map[textKey][]string{}
	results := map[string]*Result{}
	for _, e := range admitted {
		switch e := e.(type) {
		case AgentOutput:
			if e.Output != OutputToolCall {
				k := textKey{e.Output, e.ID}
				texts[k] = append(texts[k], e.Text)
			}
		case ToolResult:
			results[e.CallID] = &Result{Status: e.Status, Text: e.Text}
		}
	}
	steps := []ResolutionStep{{Type: StepNonSteer, ID: root.ID, Text: root.Text}}
	for _, e := range admitted {
		switch e := e.(type) {
		case UserMessage:
			steps = append(steps, ResolutionStep{Type: StepSteer, ID: e.ID, Text: e.Text})
		case AgentOutput:
			if e.Output != OutputToolCall {
				k := textKey{e.Output, e.ID}
				if deltas, first := texts[k]; first {
					delete(texts, k)
					steps = append(steps, ResolutionStep{
						Type: StepAIBlock, Kind: e.Output, ID: e.ID, Text: strings.Join(deltas, ""), Groups: []Group{},
					})
				}
				continue
			}
			if steps[len(steps)-1].Type != StepAIBlock {
				steps = append(steps, ResolutionStep{Type: StepAIBlock, Kind: OutputAssistant, Groups: []Group{}})
			}
			addCall(&steps[len(steps)-1], Call{CallID: e.CallID, Tool: e.Tool, Args: argsOf(e.Args), Result: results[e.CallID]})
		}
	}
	return steps
}

// addCall puts a call at the end of a block: into its last group if that is of the call's type, else into a new one.
func addCall(block *ResolutionStep, c Call) {
	typ := GroupOf(c.Tool)
	if n := len(block.Groups); n == 0 || block.Groups[n-1].Type != typ {
		block.Groups = append(block.Groups, Group{Type: typ})
	}
	g := &block.Groups[len(block.Groups)-1]
	g.Calls = append(g.Calls, c)
}

// roundsOf tells the model calls apart and what each was given, gave and got back.
func roundsOf(root UserMessage, admitted []Event) []InferenceRound {
	rounds := []InferenceRound{}
	input := []string{root.ID} // what the next round will be given
	begun := map[textKey]bool{}
	feed := func(id string) {
		input = append(input, id)
		if n := len(rounds); n > 0 {
			rounds[n-1].Feedback = append(rounds[n-1].Feedback, id)
		}
	}
	for _, e := range admitted {
		switch e := e.(type) {
		case UserMessage:
			feed(e.ID)
		case ToolResult:
			feed(e.CallID)
		case AgentOutput:
			id := e.CallID
			if e.Output != OutputToolCall {
				id = e.ID
				k := textKey{e.Output, e.ID}
				if begun[k] {
					continue
				}
				begun[k] = true
			}
			if n, begins := newRound(rounds, len(input) > 0, e.Round); begins {
				rounds = append(rounds, InferenceRound{N: n, Input: input, Output: []string{}, Feedback: []string{}})
				input = []string{}
			}
			last := &rounds[len(rounds)-1]
			last.Output = append(last.Output, id)
		}
	}
	return rounds
}

// newRound tells whether a new text item or call begins a round, and that round's number. The first output
// of a cycle always does. After that a number that the output carries decides: only a greater one than the
// current round's begins a round. Without a number, feedback in the current round does.
func newRound(rounds []InferenceRound, fed bool, given *int) (n int, begins bool) {
	if len(rounds) == 0 {
		if given != nil && *given > 0 {
			return *given, true
		}
		return 1, true
	}
	current := rounds[len(rounds)-1].N
	if given != nil {
		return *given, *given > current
	}
	return current + 1, fed
}
