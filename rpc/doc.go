// Package rpc is the door for editors: LSP over stdio, with the agent's own
// methods beside it. Call New with a connection and a way to open the engine,
// then Run. Dial is the other side, for the terminal.
//
// # What it does
//
// It reads and writes messages and survives bad ones; answers initialize at
// once while the engine opens; keeps document changes in order and requests
// cancellable and concurrent; shows the engine every client as an
// agent.Client, with a bounded queue to each; and gives clients without our
// plugin the same agent by LSP's own means: code lenses, code actions,
// commands, progress, messages with buttons, and answers as documents.
//
//	          read loop                 goroutines                 engine
//	bytes ──▶ stream ──▶ handle ──▶ notification: at once ──▶ gate ──▶ Documents
//	                       │
//	                       └──────▶ request: lane, slot ─────▶ gate ──▶ protocol.Server
//	bytes ◀── stream ◀── answers
//	                 ◀── outbox ◀── peer ◀──────────────────────────── agent.Client
//
// # What it doesn't do
//
// It has no policy, no prompts beyond the titles of its menus, and no
// conversion of columns: the engine has the text and converts. It is told each
// client's unit (agent.ClientCaps.Encoding) with every change of a document,
// and with every request in its context (agent.WithEncoding).
//
// # Invariants
//
//   - Survival: no message ends the connection, only a broken header does
//     (TestTranscripts/hostile, FuzzMessage, FuzzStream).
//   - Order: a request sees every change that was sent before it
//     (TestDocumentOrder); messages of the person don't overtake each other
//     (TestTranscripts/order).
//   - Early: initialize is answered before the engine is open
//     (TestTranscripts/opening).
//   - Bounded: what waits for a client that doesn't read is bounded, and
//     nothing of the engine waits for it (TestOutboxBounded, TestSlowClient).
//   - Gaps: dropped deltas show as a gap in rev (TestOutboxOverflow).
//   - AnswerFirst: a command is answered before anything is asked or shown
//     (TestTranscripts/plain-permission, TestTranscripts/commands).
//   - Owed: what was asked before the input ends is answered, or has two seconds
//     (TestTranscripts/owed, TestTranscripts/owed-late).
//   - Clean: nothing but the protocol goes to stdout, and the exit code is
//     LSP's (TestProcess).
//   - LastWords: what the engine said before the server ends still goes out
//     (TestLastWords).
//   - Lists: a list is never null (TestEmptyLists).
//   - Generated: methods_gen.go and the other faces are what the protocol
//     says (TestGenerated in protocol/gen).
//
// # Reading order
//
// engine.go, server.go, dispatch.go, gate.go, lane.go, sync.go; then peer.go,
// outbox.go, late.go; then hunks.go, command.go, answers.go, progress.go; framing.go, owed.go
// and wire.go as needed; client.go for the other side.
package rpc
