// Package share lets several servers of one workspace be one: whoever holds
// the claim runs the engine and listens, the others relay.
//
// # What it does
//
// Try takes a workspace's claim, a lock that the system drops when its holder
// dies; Claim.Listen opens a socket of this user alone and writes its address
// beside the lock, where Dial finds it. A Relay passes an editor's messages to
// the claim's holder and back. When the holder dies it asks its Connector for
// the next one (which may be this process itself), says hello again in the
// editor's own words, opens the documents as they are now, and answers what was
// under way with an error that may be retried.
//
// # What it doesn't do
//
// It knows no method's meaning beyond the handshake, the document sync and the
// end of a connection, and it starts no engine.
//
// # Invariants
//
//   - SHARE-1 A workspace has one holder at a time; a claim is free as soon as
//     its holder is dead: TestClaim.
//   - SHARE-2 Only this user can reach the socket: TestSocketModes.
//   - SHARE-3 Every request of the editor gets exactly one answer, whichever
//     holder dies when: TestRelayAnswersOnce.
//   - SHARE-4 The next holder gets every open document with the text, the
//     version and the unsaved part that the editor has: TestDocuments.
//
// # Reading order
//
// claim.go, frame.go, relay.go, documents.go.
package share
