// Package cycle holds the log's vocabulary and what it means: the request-cycle model. It is pure: no clock, no
// I/O, no goroutines; the same events give the same bytes on every machine.
//
// # What it does
//
//   - [Event]: the facts of a log. Four kinds are the model's (event.go); the rest, whose types begin with
//     "agent-lsp/", belong to the run (event_run.go) and the projection passes over them.
//   - [ParseLog], [ParseLine], [Encode]: events as JSON lines. The four kinds are read strictly, for they may come
//     from anywhere; [Decode] reads this program's own store.
//   - [Project]: the model of a whole log. This is the definition.
//   - [State]: the same, one event at a time and at a cost that doesn't grow with the log, told as ops.
//   - [Reduce]: what an editor does with ops. [Coalesce] makes a burst of deltas one op.
//   - [JSON], [Text], [ProjectLog]: the model for programs, for people, and the command that prints it.
//
// The model in short. A user message that finds the agent idle opens a cycle; one that finds it active steers the
// cycle or waits in the queue. A run-stop, whatever its reason, closes the cycle and at once promotes the head of
// the queue. A cycle is seen twice: as steps (the root, the steers, and blocks of one text and the tool calls that
// follow it, adjacent calls of a kind grouped) and as rounds (one model call each: input, output, feedback).
//
//	    user-message                     user-message: steer (a step) or follow-up (queued)
//	   ┌────────────►┐                 ┌──┐ agent-output, tool-result
//	idle             active ───────────┘◄─┘
//	   └◄────────────┘ run-stop, queue empty
//	                 └──┐ run-stop, queue not empty: the head is the root of the next cycle
//	                 ◄──┘
//
// # What it doesn't do
//
// It doesn't validate a log: an event that can't be where it is becomes an anomaly and changes nothing else. It
// doesn't run anything, knows no durations, tokens or plans, and never edits history.
//
// # Decisions where the model leaves room
//
//   - A log's index counts the events of the four kinds, from 0. Runtime events are as if they weren't there, so a
//     log projects the same with and without them.
//   - A call's scope is its cycle: a result for a call of an earlier cycle, or while idle, is for an unknown call.
//   - A text item goes on only within its cycle; with the same id and another kind it is another item. Going on
//     makes no step, no round and no block: calls that follow still go to the latest block, or after a user step to a
//     new one. A round number on it says nothing.
//   - A bare call's block has an assistant item with id "" that is in no round's output.
//   - The id and text of a tool call say nothing.
//   - Where some outputs carry round numbers and some don't: one without begins a round when the current round has
//     feedback. The first output of a cycle begins its number's round, or round 1 when its number is below 1.
//   - A steer before the first output is input of the first round and feedback of none.
//
// # Invariants
//
//   - Agreement: at every prefix of every log Project, State and Reduce of State's ops give the same model, which is
//     also an independent oracle's: TestAgreement, FuzzProject, TestStories.
//   - Constant cost: Apply and Reduce cost the length of what is new: TestStreamingIsLinear, BenchmarkApply.
//   - Snapshots stay: no later Apply changes what Model returned, nor the other way round: TestAgreement, TestSnapshotsAreApart.
//   - Round trip: what Encode writes ParseLine reads as the same event, and Encode refuses what ParseLine would:
//     TestRoundTrip, TestEncodeRefuses, FuzzParseLog.
//   - Passing over: runtime events change nothing: TestRuntimeEventsArePassedOver.
//   - Published shape: fields and their order, of the model and of each op: TestPublishedShape, TestOpTable.
//   - Settled rows: of a growing tree they come first, each with a name of its own: TestSettledRowsComeFirst.
//   - Safe to draw: no text of a log reaches a terminal as a control sequence: TestTextIsSafe.
//
// # Reading order
//
// event.go, model.go, project.go (the rules), ops.go (the table of ops), state.go, codec.go, log.go, text.go (with
// text_calls.go and text_line.go). Then testdata/*.txt: one story a file, with what it projects to. testdata/corpus has
// the same stories as JSON for the reducers of other languages.
package cycle
