package run

import (
	"fmt"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// OrphanText is what the model is told of a call that a crash cut off. Such a
// call is never made again by itself.
const OrphanText = "interrupted: the agent's process ended while this call ran; whether it took effect is not known"

// UnansweredText is what the model is told of a call that still waited for the
// person's answer: it may make it again, and they are asked again.
const UnansweredText = "interrupted: the agent's process ended before the person answered; the call was not made"

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
			m.orphan(m.openCalls(), in.At)
		}
		m.orphan(r.Open, in.At) // of a reply that never came whole
		switch m.s.Phase {
		case Preparing, Calling, Backoff:
			m.dropIteration(in.At)
		}
		m.wish(AcquireSlot{RunID: r.ID})
		return
	}
	m.orphan(append(m.openCalls(), r.Open...), in.At)
	m.emit(cycle.RunCutOff{RunID: r.ID, Time: in.At})
	m.stop(in.At, cycle.StopInterrupted, "the agent's process ended; resume to go on")
}

// orphan ends calls that nobody makes any more.
func (m *machine) orphan(calls []Call, at time.Time) {
	for _, c := range calls {
		text := OrphanText
		if slices.Contains(m.s.Run.Asking, c.ID) {
			text = UnansweredText
		}
		m.emit(cycle.ToolResult{CallID: c.ID, Status: cycle.ResultError, Text: text, Time: at})
	}
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
