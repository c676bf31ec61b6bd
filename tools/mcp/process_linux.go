package mcp

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup also has the command killed when the agent dies: one that doesn't
// notice the end of its input would stay.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
