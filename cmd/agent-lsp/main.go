// Command agent-lsp is a coding agent for any editor: one binary, several doors
// to the same engine. See the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/agent-lsp/agent-lsp/tools"
)

// version is set by the linker for releases.
var version = "0.1.0-dev"

func main() {
	if len(os.Args) > 1 && os.Args[1] == execArg { // the supervisor of one shell command
		os.Exit(tools.ExecMain(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// streams are the program's world, so that a test can call it.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

type cli struct {
	Serve    serveCmd    `cmd:"" default:"withargs" help:"Serve an editor on stdio (the default)."`
	Ask      askCmd      `cmd:"" help:"Ask the agent from the terminal; shows the step tree, the plan and the hunks."`
	Search   searchCmd   `cmd:"" help:"Search the current folder; prints the RetrievalSet."`
	Plan     planCmd     `cmd:"" help:"Show what would be sent for a task, or plan candidates from standard input."`
	Cycle    cycleCmd    `cmd:"" help:"Project an event log from standard input into request cycles."`
	Replay   replayCmd   `cmd:"" help:"Build a stored plan, or drive a whole run, again and say whether it is identical."`
	Export   exportCmd   `cmd:"" help:"Write a run into one file, secrets taken out, that replays on any machine."`
	Diff     diffCmd     `cmd:"" help:"Say what differs between two plans, and why."`
	Trace    traceCmd    `cmd:"" help:"Show what ran in a turn."`
	Sessions sessionsCmd `cmd:"" help:"List the sessions of the current folder."`
	Branches branchesCmd `cmd:"" help:"The branches of a session: list, compare, fork, switch, adopt."`
	Ctl      ctlCmd      `cmd:"" help:"Pause, resume, cancel or escalate a run of the server that serves this folder; list its runs."`
	Doctor   doctorCmd   `cmd:"" help:"Say what is configured, reachable and indexed, and what to do about what isn't."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// exitError ends the program with a code, saying nothing more.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// run is the program as a function of its streams.
func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) (code int) {
	var c cli
	exited := false
	parser, err := kong.New(&c, kong.Name("agent-lsp"),
		kong.Description("A coding agent for any editor that shows its work. With no key and no server configured, the built-in offline model answers."),
		kong.UsageOnError(), kong.Writers(out, errw), kong.Exit(func(n int) { exited, code = true, n }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(streams{in, out, errw}))
	if err != nil {
		fmt.Fprintln(errw, "agent-lsp:", err)
		return 2
	}
	if len(args) == 1 && args[0] == "--version" {
		args = []string{"version"}
	}
	parsed, err := parser.Parse(args)
	if exited { // --help
		return code
	}
	if err != nil {
		fmt.Fprintln(errw, "agent-lsp:", err)
		fmt.Fprintln(errw, "agent-lsp --help lists the commands")
		return 2
	}
	err = parsed.Run()
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	fmt.Fprintln(errw, "agent-lsp:", err)
	return 1
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(s streams) error {
	_, err := fmt.Fprintln(s.out, "agent-lsp", version)
	return err
}
