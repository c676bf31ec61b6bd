// Package openai talks to every server that speaks OpenAI's chat completions
// (OpenAI, Groq, llama.cpp, vLLM, and any base URL), and to Ollama in its own
// tongue.
//
// # What it does
//
// [Client] is a model.Model: it maps a request, streams the reply and says how
// it ended. Servers differ in small ways (reasoning in three places, tool calls
// whole or in pieces, errors in five shapes); all of them end here as the same
// deltas and the same kinds of failure. [Detect] finds the servers on this
// machine, and [Client.Models] asks a server what it has and how large its
// context window is.
//
// Ollama is not spoken to through its /v1: there the context window cannot be
// set, and a prompt that is too long is cut without a word. Its own /api/chat
// takes options.num_ctx, which is sent with every request, and is told not to
// truncate.
//
// # What it doesn't do
//
// It never retries: that is the agent's policy, because the person must see
// it. It doesn't count tokens before a call, and doesn't run tools.
//
// # Invariants
//
//   - OPENAI-1 A reply without a finish reason is a failure of kind cut_off,
//     however cleanly its stream ends; the partial text was yielded:
//     TestMatrix of internal/model (clean end, reset), FuzzReply.
//   - OPENAI-2 A reply that its output limit cut has no calls:
//     TestMatrix of internal/model (truncated call), FuzzReply.
//   - OPENAI-3 Arguments that are no JSON object never reach a tool as such:
//     the call says why in Invalid: TestArguments, FuzzReply.
//   - OPENAI-4 The key is in the Authorization header and nowhere else, not
//     even where the server repeats it: TestKeyNeverLeaks.
//   - OPENAI-5 Cancelling closes the connection at once: TestMatrix of
//     internal/model (cancel).
//   - OPENAI-6 Nothing that a server sends grows memory without bound:
//     TestLimits.
//
// # Reading order
//
// client.go, request.go, sse.go, reply.go, calls.go, think.go, failure.go, ollama.go, discover.go.
package openai
