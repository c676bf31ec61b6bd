package main

import (
	"os"

	"github.com/agent-lsp/agent-lsp/tools"
)

// execArg is the hidden argument under which this program supervises one
// shell command.
const execArg = "__exec"

// newShell makes the shell of a workspace: sandboxed where the system can.
func newShell(root string) (tools.Shell, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return tools.NewShell(tools.ShellOptions{Self: []string{self, execArg}, Roots: []string{root}}), nil
}
