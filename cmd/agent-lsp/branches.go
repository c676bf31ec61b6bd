package main

import (
	"context"
	"fmt"

	"github.com/agent-lsp/agent-lsp/agent"
)

type branchesCmd struct {
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run lists a session's branches.
func (c branchesCmd) Run(ctx context.Context, s streams) error {
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
