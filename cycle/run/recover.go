package run

import (
	"github.com/agent-lsp/agent-lsp/cycle"
)

// OrphanText is what the model is told of a call that a crash cut off. Such a
// call is never made again by itself.
const OrphanText = "interrupted: the agent's process ended while this call ran; whether it took effect is not known"

// recover takes stock after a crash: nothing that the log shows as under way
// is. A paused run stays paused; a run that waited for its slot asks again; a
// run that was running is closed as interrupted, and may be resumed.
func (m *machine) recover(in Recover) {
	if !m.s.Active() {
		return
	}
	r := m.s.Run
	if m.s.Phase == Waiting {
		m.wish(AcquireSlot{RunID: r.ID})
		return
	}
	began := m.s.Phase == Acting
	if r.Paused {
		if began {
			for _, c := range m.openCalls() {
				m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultError, Text: OrphanText, Time: in.At})
			}
		}
		for _, c := range r.Open { // of a reply that never came whole
			m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultError, Text: OrphanText, Time: in.At})
		}
		switch m.s.Phase {
		case Preparing, Calling, Backoff:
			m.dropIteration(in.At)
		}
		m.wish(AcquireSlot{RunID: r.ID})
		return
	}
	for _, c := range append(m.openCalls(), r.Open...) {
		m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultError, Text: OrphanText, Time: in.At})
	}
	m.stop(in.At, cycle.StopInterrupted, "the agent's process ended; resume to go on")
}
