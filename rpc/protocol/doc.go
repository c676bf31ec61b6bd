// Package protocol is the wire between the agent and its clients, written down
// once: what a client may ask ([Server]), what it is told ([Notifications]),
// what it is asked ([Requests]), and the messages of the two control topics
// ([ControlMessage], [LoopEvent]).
//
// # What it does
//
// It names every method, in the first line of the comment of a Go method, and
// every payload, as a Go type. From that, gen writes the dispatch table and
// the typed client of package rpc, the TypeScript and Lua types of the editor
// plugins, docs/protocol.schema.json and docs/protocol.md:
//
//	go generate ./rpc/...
//
// # What it doesn't do
//
// Framing, dispatch and queues are package rpc's; standard LSP is
// go.lsp.dev/protocol's.
//
// # Invariants
//
//   - Generated: every generated face equals what gen writes now
//     (TestGenerated in gen).
//   - Tolerant: unknown fields and methods are passed over, so that fields may
//     be added; none is ever renamed (TestWireCorpus in rpc).
//   - Lists: every list is [] when empty, never null (TestEmptyLists in rpc).
//
// # Reading order
//
// server.go, client.go, loop.go; then gen/main.go.
package protocol

//go:generate go run ./gen -root ../..
