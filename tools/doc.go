// Package tools is what a model may ask for: files, search, commands, and the
// judgement of whether it may.
//
// # What it does
//
// A Tool has a Spec (name, words for the model, JSON schema made from the Go
// struct of its arguments) and Run. Everything that a tool knows of the world
// comes through Env: Files is the workspace with unsaved buffers and pending
// edits, Searcher the index, Shell the commands, Archive the large texts that
// were put away. A Registry runs calls by name; Batch runs several at once.
// Whatever a model sends, and whatever goes wrong, is a Result in words for it.
//
// Edits are matched in steps that may fail but don't guess (match.go), and
// change their region only: encoding, line endings and the final newline are
// the file's.
//
// Decide judges a call by rules, purely; a command line is parsed and every
// command in it judged (ParseShell). Authorize asks the person where the rules
// say so.
//
// A guard stands around each command for what is dangerous inside the workspace:
// what its line doesn't name of git's hooks and settings, editors' settings and
// secret files stays as it was (guard.go).
//
// NewShell runs commands below a supervisor, a second process of the same
// binary (ExecMain), which confines them by Landlock and an empty network and
// ends all that they started: when they are over, when they are cancelled, and
// when the agent dies.
//
// # What it doesn't do
//
// It writes no file: a tool hands a Change to Files, whose owner makes hunks
// of it. It keeps no state but Seen, what the model has read. It doesn't cut a
// result to a model's budget: Spec.OutputMax says where the caller should
// archive the rest. The sandbox doesn't keep commands from reading what isn't
// hidden, and not from talking to local sockets that are files (a Docker or
// D-Bus socket that the user may open): Landlock can't, before version 9.
//
// # Invariants
//
//   - Every call gets a Result, never a panic. (FuzzArguments, TestRegistrySurvives)
//   - Argument names don't change. (TestArgumentNames)
//   - In planning no tool that writes or runs is offered or allowed. (TestSchemas, TestPlanningAndTrust)
//   - An edit changes its region only, or nothing at all. (TestEditChangesItsRegionOnly, FuzzEdit)
//   - An edit never chooses between two places. (TestNeverGuesses)
//   - A diff applied is the text that it was made for. (TestPatchIsTheDiff)
//   - Any bytes come back in the form they had. (FuzzTextForm)
//   - No command is allowed by default; one is allowed only if every command in it is. (TestCommandTables, FuzzDecide)
//   - A rule that restricts never makes a verdict milder. (TestRestrictingNeverLoosens)
//   - What "always" would save allows the command that was asked about, and no other command beside it. (TestSuggestions, FuzzDecide)
//   - Where a link leads is where a path is. (TestSymlinks)
//   - Nothing that a command started outlives it, a cancel, or kill -9 of the agent. (TestShellCancelLeavesNothing, TestShellEndsBackground, TestShellDiesWithAgent)
//   - In the sandbox nothing outside the workspace is written, no hidden file is read, no key is in the environment, no network is reached. (TestShellSandbox, TestCleanEnvironment)
//   - What other programs obey is after a command as it was before, unless the line names it; secret files are hidden where the system can. (TestGuard, TestGuardOpens, TestEscapes in agent)
//   - Nothing is put back that another command was permitted to change, or that the person has open. (TestGuardsBesideEachOther)
//   - What may be added to a git configuration runs nothing. (TestHarmlessGit, FuzzHarmlessGit)
//   - A syntax error is reported exactly where a language's own parser finds one. (FuzzSyntax)
//   - A batch has the outcome that its file calls would have had in sequence. (TestBatchAsInSequence)
//
// # Reading order
//
// tool.go, typed.go, registry.go; read.go as the pattern of a tool; edit.go
// with match.go, indent.go and patch.go; permission.go, rules.go,
// permission_bash.go, shellparse.go; shell.go, exec_linux.go, sandbox_linux.go;
// guard.go, guard_linux.go, guard_compare.go, guard_open.go; batch.go.
package tools
