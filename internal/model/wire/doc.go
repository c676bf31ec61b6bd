// Package wire is what all clients of model servers share: how long they wait,
// how much they take, and what a failure means, whatever API the server speaks.
//
// # What it does
//
// [Limits] are the timeouts and bounds of one client; [Transport] and [Watch]
// hold them. [Server] turns failures into a *model.Error with a kind, words and
// a hint: a status with a body in any of the shapes that servers have, an error
// event within a stream, a broken connection. [Object] checks the arguments of
// a tool call, [Cost] prices a call.
//
// # What it doesn't do
//
// It speaks no API and sends nothing. It never retries.
//
// # Invariants
//
//   - WIRE-1 No key, and nothing that looks like one, is in any message:
//     FuzzError in internal/model/openai, TestKeyNeverLeaks there and in
//     internal/model/anthropic.
//   - WIRE-2 A server can't make a client wait longer than its limit, however
//     long it asks for: TestMatrix of internal/model (429 asking for an hour).
//   - WIRE-3 What is no JSON object never becomes arguments: TestArguments.
//
// # Reading order
//
// limits.go, failure.go, arguments.go, cost.go.
package wire
