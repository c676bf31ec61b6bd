package run

import (
	"fmt"

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
	m.emit(cycle.RunCutOff{RunID: r.ID, Time: in.At})
	m.stop(in.At, cycle.StopInterrupted, "the agent's process ended; resume to go on")
}

// goOn opens a cycle that goes on with an interrupted run. Where another run
// is active meanwhile (a follow-up that waits for the person since the crash),
// the continuation is the next in the queue.
func (m *machine) goOn(in Continue) error {
	if in.RunID == "" || m.s.Interrupted != in.RunID {
		return &Rejected{Code: "not_found", Message: fmt.Sprintf("Run %s is not active", in.RunID)}
	}
	sub := in.Submitted
	sub.Continues = in.RunID
	if !m.s.Active() {
		m.out.Kind, m.out.Before = "direct", 1
		m.open(in.At, in.ID, in.Text, cycle.DeliveryAuto, sub, nil)
		m.queueRun(cycle.RunQueued{RunID: in.NewRunID, TurnID: in.TurnID, CycleID: in.ID, Model: in.Model, Max: in.Max, Budget: in.Budget, IssueID: sub.IssueID, Time: in.At})
		return nil
	}
	if len(m.s.Queue) >= QueueMax {
		return &Rejected{Code: "invalid_state", Message: fmt.Sprintf("%d follow-ups wait already", QueueMax), Hint: "remove one, or wait for the run to end"}
	}
	m.out.Kind, m.out.Before = "followUp", 1
	m.emit(cycle.FollowUpQueued{ID: in.ID, Text: in.Text, TurnID: in.TurnID, RunID: in.NewRunID, Submitted: sub, Time: in.At})
	queue := m.s.Queued()
	if last := len(queue) - 1; last > 0 {
		m.emit(cycle.QueueChanged{Queue: append(queue[last:], queue[:last:last]...), Time: in.At})
	}
	return nil
}
