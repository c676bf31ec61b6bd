// Package llmtest gives tests a real inference server that says exactly what a
// script says, and a proxy that breaks it on demand.
//
// # What it does
//
// [WriteModel] writes a language model of a few megabytes, as a GGUF file,
// whose weights hold the scripts: llama-server tokenises, samples, parses tool
// calls, streams and counts tokens for real, and yet every reply is known.
// [Start] and [Shared] run that server. [Proxy] stands before it, records what
// the client sent and adds the failures that no local server produces.
//
// A user message that holds [[script:NAME]] starts the script NAME; its step k
// answers after k assistant turns with tool calls. The last marker counts, and
// user messages without one (steers, notes) change nothing. Without any marker
// the model babbles words by letter frequency and stops after some 50 tokens.
// A script with a `when-system` line answers, marker or not, when the system
// message holds that text: for routers, titles and summaries.
//
// A token of prompt is 3 to 4 bytes of English or code; [Server.Tokens] counts
// exactly. Replies are cut into tokens of 2 to 5 bytes.
//
// # Writing a script
//
// A new script is a file in scripts/ (for all tests) or a value of [Scripts]
// (for one test, see [Call] and [Think]). The file is a txtar archive: comment
// lines first, then a section per step, named 0, 1, … or a range as 0-19, in
// which {n} is the step's number and {n1} that number plus one. In a section:
//
//	@call NAME {"arg": "…"}   a tool call; arguments in the schema's own order
//	@think TEXT               reasoning, at the start
//	@repeat 40 TEXT {i}       a line, 40 times
//	@babble                   as the last line: go on babbling, never end
//
// Before the first section `loop` makes the steps start again after the last,
// and `when-system: TEXT` is described above.
//
// Pitfall: the server holds tool calls to a grammar made from the tools that
// the client sent. A call of a tool that was not sent, or whose arguments do
// not fit its schema (order of keys included), comes out bent: the client sent
// another schema than the script was written for.
//
// # What it doesn't do
//
// It does not install llama-server (see testenv) and it is no mock: there is no
// second implementation of any provider's protocol in it.
//
// # Invariants
//
//   - LLM-1 The same scripts give the same bytes: TestModelIsDeterministic.
//   - LLM-2 Every script is replayed exactly at temperature 1 whatever the
//     seed: TestEveryScriptIsReplayed.
//   - LLM-3 No server outlives its test process, however that ends:
//     TestServerDiesWithItsProcess.
//   - LLM-4 The proxy passes bytes through unchanged unless told otherwise:
//     TestProxyIsTransparent.
//
// # Reading order
//
// scripts.go, model.go, merges.go, gguf.go, server.go, proxy.go, fault.go.
package llmtest
