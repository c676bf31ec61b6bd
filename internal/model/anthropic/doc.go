// Package anthropic talks to servers of the Messages API: Anthropic itself, and
// every server that speaks /v1/messages.
//
// # What it does
//
// [Client] is a model.Model: it maps a request, streams text, reasoning and
// calls, and says how the reply ended. Signed reasoning goes into Done.Carry and
// comes back with the reply's message, in its place among the texts and calls,
// because the models refuse to go on in a tool loop without it. The breakpoints
// of the context plan (Message.CacheBreak) become cache_control.
//
// # What it doesn't do
//
// It never retries: that is the agent's policy, because the person must see it.
// It uses no server-side tools.
//
// # Invariants
//
//   - ANTHROPIC-1 A reply without message_stop is a failure of kind cut_off,
//     however cleanly its stream ends; the partial text was yielded:
//     TestMatrix of internal/model (clean end, reset), FuzzReply.
//   - ANTHROPIC-2 A reply that its output limit cut has no calls: TestMatrix
//     of internal/model (truncated call), FuzzReply.
//   - ANTHROPIC-3 The key is in its header and nowhere else: TestKeyNeverLeaks.
//   - ANTHROPIC-4 Cancelling closes the connection at once: TestMatrix of
//     internal/model (cancel).
//   - ANTHROPIC-5 Nothing that a server sends grows memory without bound:
//     TestLimits.
//   - ANTHROPIC-6 What was signed goes back byte for byte, to the model that
//     signed it and within the conversation in which it did, and to no other:
//     TestCarry.
//
// # Reading order
//
// client.go, request.go, carry.go, reply.go.
package anthropic
