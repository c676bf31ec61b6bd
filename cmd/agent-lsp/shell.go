package main

import (
	"os"
	"path/filepath"

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
	return tools.NewShell(tools.ShellOptions{Self: []string{self, execArg}, Roots: []string{root},
		CacheDir: filepath.Join(placesOf(root).cache, "shell"), Kept: filepath.Join(placesOf(root).cache, "kept"), Secrets: secrets()}), nil
}

// secrets are the keys of models, which no command may see.
func secrets() []string {
	var out []string
	for _, name := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GROQ_API_KEY"} {
		if v := os.Getenv(name); v != "" {
			out = append(out, v)
		}
	}
	return out
}
