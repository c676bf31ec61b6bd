package main

import (
	"context"
	"fmt"
	"io"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc"
)

// What changes branches goes through the folder's server, as an editor's
// requests do: the engine that runs the folder is the only one that writes.

type branchForkCmd struct {
	Name    string `arg:"" optional:"" help:"The new branch's name; made from the parent's when left out."`
	From    string `placeholder:"TURN" help:"Fork at the end of this turn; the latest that has ended when left out."`
	Branch  string `help:"The parent's name or id; the session's current branch when left out."`
	Switch  bool   `help:"Switch to it, too: messages go there from then on."`
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run forks a branch.
func (c branchForkCmd) Run(ctx context.Context, s streams) error {
	return withServer(ctx, func(client *rpc.Client) error {
		ref := agent.SessionRef{SessionID: c.Session, BranchID: c.Branch}
		b, err := client.BranchFork(ctx, &agent.BranchForkParams{SessionRef: ref, FromTurnID: c.From, Name: c.Name})
		if err != nil {
			return explain(err)
		}
		if c.Switch {
			if _, err := client.BranchSwitch(ctx, &agent.SessionRef{SessionID: c.Session, BranchID: b.BranchID}); err != nil {
				return explain(err)
			}
		}
		if c.JSON {
			return printJSON(s.out, b)
		}
		then := "; agent-lsp branches switch " + b.Name + " sends messages there"
		if c.Switch {
			then = ", where messages go now"
		}
		_, err = fmt.Fprintf(s.out, "%s: forked from %s with %s%s\n", b.Name, b.Parent, plural(b.Turns, "turn"), then)
		return err
	})
}

type branchSwitchCmd struct {
	Branch  string `arg:"" help:"The branch's name or id."`
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run makes a branch the one that messages go to.
func (c branchSwitchCmd) Run(ctx context.Context, s streams) error {
	return withServer(ctx, func(client *rpc.Client) error {
		list, err := client.BranchSwitch(ctx, &agent.SessionRef{SessionID: c.Session, BranchID: c.Branch})
		if err != nil {
			return explain(err)
		}
		if c.JSON {
			return printJSON(s.out, list)
		}
		_, err = fmt.Fprintln(s.out, agent.BranchesText(list))
		return err
	})
}

type branchAdoptCmd struct {
	Branch  string `arg:"" help:"The name or id of the branch whose changes you want."`
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run lands what a branch has changed as hunks to review.
func (c branchAdoptCmd) Run(ctx context.Context, s streams) error {
	return withServer(ctx, func(client *rpc.Client) error {
		got, err := client.BranchAdopt(ctx, &agent.SessionRef{SessionID: c.Session, BranchID: c.Branch})
		if err != nil {
			return explain(err)
		}
		if c.JSON {
			return printJSON(s.out, got)
		}
		return printAdopted(s.out, got)
	})
}

// printAdopted says what became of each file, and how to go on.
func printAdopted(w io.Writer, got *agent.BranchAdopted) error {
	hunks := 0
	for _, f := range got.Files {
		hunks += f.Hunks
		line := fmt.Sprintf("⧗ %s  %s to review (+%d −%d)", f.Path, plural(f.Hunks, "hunk"), f.Added, f.Removed)
		switch {
		case f.Skipped != "":
			line = fmt.Sprintf("⊘ %s  left alone: %s", f.Path, f.Skipped)
		case f.Rebased:
			line += ", moved over what had changed meanwhile"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	last := "the branch has changed nothing"
	if hunks > 0 {
		last = "accept or reject in the editor, or: agent-lsp ask --session " + got.SessionID + "   (with --yes: accepts all)"
	} else if len(got.Files) > 0 {
		last = "nothing was adopted"
	}
	_, err := fmt.Fprintln(w, last)
	return err
}

// withServer makes requests of the current folder's server. One is started for
// them; where another serves the folder already, it passes them on.
func withServer(ctx context.Context, f func(*rpc.Client) error) error {
	dir, err := workingDir()
	if err != nil {
		return err
	}
	c, err := startChild(dir)
	if err != nil {
		return err
	}
	client := rpc.Dial(c, rpc.Handlers{})
	said := false
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		c.wait(client.Close(bye) == nil && said)
	}()
	if _, err := client.Hello(ctx, rpc.Hello{Name: "branches", Version: version, RootURI: string(uri.File(dir))}); err != nil {
		if why := c.stderr.String(); why != "" {
			return fmt.Errorf("the server does not answer: %s", why)
		}
		return fmt.Errorf("the server does not answer: %w", explain(err))
	}
	said = true
	return f(client)
}
