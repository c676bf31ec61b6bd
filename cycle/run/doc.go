// Package run is the machine that decides what may happen next on a branch.
//
// # What it does
//
// Step takes the state and one input (a message, a control, the outcome of an
// effect) and answers what must be written down and then done. State.Apply
// folds what was written down. The driver (package agent) does, in this order:
//
//  1. append Ready.Events to the log, durably, in one transaction
//  2. fold them with Apply
//  3. send Ready.Result, then show the new view to every client
//  4. start Ready.Effects; their outcomes come back as inputs with their epoch
//
// # What it doesn't do
//
// It has no clock, no I/O, no goroutine and no identifier source: inputs carry
// them. It does not know what a plan, a prompt or a tool holds.
//
// # Invariants
//
//   - RUN-1 A rejected input has no consequence: TestRejectedHasNoConsequence.
//   - RUN-2 Replaying the events of any history gives the live state:
//     TestReplayEqualsLive, FuzzStep.
//   - RUN-3 An outcome of an older epoch changes nothing: TestLateOutcome.
//   - RUN-4 A run starts nothing while it is paused: TestPausedStartsNothing.
//   - RUN-5 An acknowledged steer is read by exactly one model call, or stays
//     marked unread in a cycle that was stopped: TestSteersAreRead.
//   - RUN-6 Follow-ups run in order, each once: TestFollowUpsInOrder.
//   - RUN-7 Every tool call has exactly one result before the next model call
//     begins and before its cycle closes: TestCallsAreAnswered.
//
// # Reading order
//
// state.go (the phases and their diagram), input.go, step.go, control.go
// (who may do what when), recover.go, slots.go.
package run
