package main

import (
	"context"
	"fmt"
	"io"

	"github.com/agent-lsp/agent-lsp/agent"
)

type branchesCmd struct {
	List    branchListCmd    `cmd:"" default:"withargs" help:"List the branches of a session."`
	Compare branchCompareCmd `cmd:"" help:"Put the latest turns of two branches side by side."`
	Fork    branchForkCmd    `cmd:"" help:"Begin a branch at the end of a turn; its edits are kept in a working copy of its own."`
	Switch  branchSwitchCmd  `cmd:"" help:"Make a branch the one that messages go to."`
	Adopt   branchAdoptCmd   `cmd:"" help:"Land what a branch has changed as hunks to review."`
}

type branchListCmd struct {
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run lists a session's branches.
func (c branchListCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		list, err := h.engine.BranchList(ctx, &agent.SessionRef{SessionID: c.Session})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, list)
		}
		_, err = fmt.Fprintln(s.out, agent.BranchesText(list))
		return err
	})
}

type branchCompareCmd struct {
	A       string `arg:"" help:"A branch's name or id."`
	B       string `arg:"" optional:"" help:"Another's; the current one when left out."`
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run compares two branches.
func (c branchCompareCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		both, err := h.engine.BranchCompare(ctx, &agent.BranchCompareParams{SessionID: c.Session, A: c.A, B: c.B})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, both)
		}
		_, err = io.WriteString(s.out, agent.CompareText(both))
		return err
	})
}
