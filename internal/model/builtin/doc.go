// Package builtin is the embedded model: a deterministic, rule-based, offline
// engine behind the same interface as every other model. It is what answers
// when nothing else is configured.
//
// # What it does
//
// It reads a request as any model gets it (system message, conversation,
// evidence, tool results, tool schemas) and streams a reply: a sentence and
// tool calls, several independent ones side by side, or the final answer. It
// answers where, what, how, why, which and who-calls questions by search,
// grep and reading, with path:line citations of lines that it saw; renames
// symbols, replaces text, creates files, inserts and deletes lines and
// definitions, applies pasted diffs; runs the project's tests; lists, counts
// and shows. For the agent it makes extractive summaries, titles and routes
// (see MarkSummarise, MarkTitle, MarkRoute). Everything else it declines
// plainly, with the places that the request is about and how to connect a model.
//
// # What it doesn't do
//
// It has no access to the workspace but through the tools that the request
// offers, no network, no clock, no randomness and no memory: it writes no new
// code, guesses between no two places, and renames nothing whose uses can't be
// told from text alone (it lists the places and asks for a narrower scope).
//
// # Invariants
//
//   - BUILTIN-1 A reply is a pure function of its request: the same messages
//     give the same next step, after a crash or on replay too. TestResume,
//     FuzzStream.
//   - BUILTIN-2 Every request ends within roundsMax replies with calls, whatever
//     the tools answer; an edit is tried at most retriesMax times more.
//     FuzzStream, TestRetriesAreBounded.
//   - BUILTIN-3 Calls are only of tools that the request offers, with JSON
//     arguments. FuzzStream, TestDialogues/planning.
//   - BUILTIN-4 A cited line was shown by a tool, and the quoted text stands at
//     it. TestQuestions.
//   - BUILTIN-5 Nothing in evidence or tool results is taken as a request.
//     TestDialogues/joined.
//   - BUILTIN-6 A refusal is reported and not tried again. TestDialogues/tests_refused,
//     TestRetriesAreBounded.
//   - BUILTIN-7 Losing early results to a compaction costs time only: the work is
//     looked at again and not done twice. TestCompaction.
//
// # Reading order
//
// builtin.go (the reply), transcript.go (what the messages say), parse.go,
// rules.go and rules_ask.go (the grammar, a table), calls.go (a plan replayed
// over the transcript), plan.go (from intent to plan); then a plan each:
// ask.go with concept.go, corpus.go, evidence.go, answer.go and explain.go,
// uses.go; rename.go with rename_shape.go, rename_uses.go and lex.go; edits.go
// with land.go, lines.go, delete.go, diff.go; runtests.go, project.go, talk.go,
// summary.go. results.go parses what tools print, source.go knows languages,
// lexicon.go knows words.
package builtin
