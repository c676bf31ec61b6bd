// Package fakeeditor is an editor without a screen, for tests that drive a
// real server. Call Connect to begin.
//
// # What it does
//
// It keeps documents with versions, in the position units that were agreed on;
// sends every change; applies workspace edits atomically, as one undo step,
// and only to the versions that they were made for; answers permissions by a
// script; records what it is told; and keeps the step trees of agent/cycle,
// asking again when it sees a gap in rev. It does what the LSP specification
// asks of a client, so that a server which is wrong fails against it.
//
// # What it doesn't do
//
// It shows nothing and decides nothing that its script doesn't say. It shares
// no framing or conversion code with the server.
//
// # Invariants
//
//   - Atomic: an edit is applied to all of its documents or to none (TestApplyEdit).
//   - Units: positions mean the same in UTF-8, UTF-16 and UTF-32 (TestOffsets).
//   - Gaps: after a gap in rev the step tree equals the server's (TestGap).
//
// # Reading order
//
// editor.go, document.go, edit.go, serve.go, tree.go.
package fakeeditor
