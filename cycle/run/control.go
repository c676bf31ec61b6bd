package run

import (
	"fmt"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Controls says which control is allowed in which condition of a run. It is
// the whole policy: step and docs/control.md (printed from it) obey it.
var Controls = []struct {
	Condition string // of the run
	Allowed   map[string]string
}{
	{"waiting", map[string]string{"pause": "waits for its slot, then for resume", "cancel": "leaves the queue", "escalate": "begins with the new model"}},
	{"running", map[string]string{"pause": "stops before its next iteration", "cancel": "stops at once", "escalate": "from its next model call on"}},
	{"paused", map[string]string{"resume": "goes on", "cancel": "stops at once", "escalate": "from its next model call on"}},
}

// condition is the row of Controls that a state is in.
func (s State) condition() string {
	switch {
	case !s.Active():
		return "idle"
	case s.Run.Paused:
		return "paused"
	case s.Phase == Waiting:
		return "waiting"
	}
	return "running"
}

// allowed checks a control against the table.
func (s State) allowed(command, runID string) error {
	if !s.Active() || s.Run.ID != runID {
		return &Rejected{Code: "not_found", Message: fmt.Sprintf("Run %s is not active", runID)}
	}
	for _, row := range Controls {
		if row.Condition == s.condition() {
			if _, ok := row.Allowed[command]; ok {
				return nil
			}
		}
	}
	return &Rejected{Code: "invalid_state", Message: fmt.Sprintf("Run %s is %s: it can't be %s", runID, s.condition(), pastTense[command])}
}

var pastTense = map[string]string{"pause": "paused", "resume": "resumed", "cancel": "cancelled", "escalate": "escalated"}

func (m *machine) pause(in Pause) error {
	if err := m.s.allowed("pause", in.RunID); err != nil {
		return err
	}
	m.out.Before = m.nextIteration()
	m.emit(cycle.RunPaused{RunID: in.RunID, Before: m.out.Before, Time: in.At})
	return nil
}

// nextIteration is the one that a pause holds back.
func (m *machine) nextIteration() int {
	if m.s.Phase == Gated {
		return m.s.Run.Iter
	}
	return m.s.Run.Iter + 1
}

func (m *machine) resume(in Resume) error {
	if err := m.s.allowed("resume", in.RunID); err != nil {
		return err
	}
	m.out.Before = m.nextIteration()
	m.emit(cycle.RunResumed{RunID: in.RunID, Time: in.At})
	switch m.s.Phase {
	case Ready:
		m.iterate(in.At)
	case Gated:
		m.act(in.At)
	}
	return nil
}

func (m *machine) cancel(in Cancel) error {
	if err := m.s.allowed("cancel", in.RunID); err != nil {
		return err
	}
	why := in.Message
	if why == "" {
		why = "stopped by the person"
	}
	m.stop(in.At, cycle.StopInterrupted, why)
	return nil
}

func (m *machine) escalate(in Escalate) error {
	if err := m.s.allowed("escalate", in.RunID); err != nil {
		return err
	}
	m.emit(cycle.RunEscalated{RunID: in.RunID, Previous: m.s.Run.Model, New: in.Model, Reason: in.Reason, Time: in.At})
	return nil
}
