// Package agent is the driver: it writes down what the machine decides, does
// what the machine wishes, and shows everybody what came of it.
//
// # What it does
//
// An Engine is one workspace's agent. Submit takes a message; a timeline (one
// goroutine a branch) hands it to cycle/run, appends the events, folds them,
// publishes the change and starts the effects: prepare (retrieve and plan),
// call the model, run the tools. The outcomes come back as inputs.
//
// After edits it tells the model what they broke (verify.go).
//
// # What it doesn't do
//
// It has no policy of its own about what may happen next (cycle/run), about
// what the model sees (contextplan), about how text changes (agent/edits) or
// about what is permitted (tools). It knows no JSON-RPC (rpc).
//
// # Invariants
//
//   - AGENT-1 Events are durable before they are folded, folded before they
//     are published, published before their effects start: timeline.handle,
//     TestPersistBeforeActing.
//
//   - AGENT-2 Within a run each request begins with the whole previous one,
//     until a compaction or a decision of the person: TestRequestsOnlyGrow.
//
//   - AGENT-3 A RESULT goes out before the loop:current event that it causes:
//     TestControlOrder.
//
//   - AGENT-4 Every model request is attributable to a branch, a turn, a plan
//     and a retrieval set: TestAttribution.
//
//   - AGENT-5 However long a conversation is, no prompt overflows, what the
//     person said and pinned is in each of them, what left is archived whole,
//     and no summary is the source of another: TestHundredTurns.
//
//   - AGENT-6 A fork sees what its parent was at the fork point, and touches no
//     file of the person's until it is adopted: TestForkHistory,
//     TestForkIsIsolatedUntilAdopted.
//
//   - AGENT-7 A run is a function of its branch's log and of what comes through
//     world.go: driven again from a recording it makes the same events, requests
//     and hunks: TestRecordedRuns. No export holds a secret: TestExportHasNoSecrets.
//
//   - AGENT-8 Whatever breaks on the way to the model, and wherever, no tool call
//     runs twice or half: TestNoCallRunsTwice.
//
//   - AGENT-PIPE-1 A turn's route, its workflow's steps and what it brought along
//     are durable before they are acted on, and a run with them replays
//     identically: TestWorkflowRuns, TestSubtasks, TestMemory.
//
//   - AGENT-PIPE-2 A wrong downgrade to no tools repairs itself, unseen:
//     TestWrongDowngradeHeals.
//
//   - AGENT-PIPE-3 Whatever a workspace's files say is data until the person
//     trusts it: TestPills.
//
// # Reading order
//
// api.go (what can be asked), submit.go with mentions.go and pills.go, route.go, workflow.go, timeline.go, effect_prepare.go with
// context.go and compact.go, effect_model.go, effect_tools.go, review.go, control.go,
// branches.go; then world.go, recording.go, tape.go, conduct.go, replay.go.
package agent
