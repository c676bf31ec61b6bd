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
// TestSimulation holds them all, over thousands of random schedules with
// crashes in between; FuzzStep searches for more.
//
//   - RUN-1 A rejected input has no consequence, and Step never changes its
//     argument.
//   - RUN-2 Replaying the events of any history gives the live state, and the
//     projection of request cycles finds no anomaly in it.
//   - RUN-3 An outcome of an older epoch changes nothing.
//   - RUN-4 No model call and no tool call begins while a run is paused.
//   - RUN-5 An acknowledged steer is read by exactly one model call, or stays
//     marked unread in a cycle that was stopped.
//   - RUN-6 A queued follow-up runs exactly once, unless it was removed.
//   - RUN-7 Every tool call has exactly one result, before the next model call
//     begins and before its cycle closes.
//
// # Reading order
//
// state.go (the phases and their diagram), input.go, step.go, control.go
// (who may do what when), recover.go, slots.go.
package run
