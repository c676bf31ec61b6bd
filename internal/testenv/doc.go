// Package testenv finds the programs that tests drive for real: llama-server,
// Neovim, mini.test, Chromium and tmux.
//
// # What it does
//
// The install scripts beside it put them under .cache/testenv of the repository
// (AGENT_LSP_TESTENV overrides the folder) or, for system packages, install
// them with apt; `make test-env` runs them all. The functions return the path
// of a program.
//
// # What it doesn't do
//
// It installs nothing by itself, and it never skips: a test whose program is
// missing fails and says which command installs it, so that no green run hides
// a suite that did not run.
//
// # Invariants
//
//   - ENV-1 What is missing fails with the command that installs it:
//     TestMissingNamesTheCommand.
//   - ENV-2 What is returned runs on this machine: TestInstalledRun.
//
// # Reading order
//
// testenv.go, install-all.sh, lib.sh, then one install script.
package testenv
