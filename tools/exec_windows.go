package tools

import (
	"errors"
	"os"
	"os/exec"
)

// startIsolated says that commands can't be run here: without a way to confine
// them and to end all that they start, running them isn't safe.
func startIsolated(func() *exec.Cmd, isolation) (*exec.Cmd, isolation, error) {
	return nil, isolation{}, errors.New("commands are run on Linux and macOS only; use the file tools, or run agent-lsp in WSL")
}

func killGroup(int) {}

// ExecMain does nothing on this system.
func ExecMain([]string) int {
	os.Stderr.WriteString("__exec is not for this system\n")
	return 2
}
