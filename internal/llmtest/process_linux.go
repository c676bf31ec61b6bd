package llmtest

import (
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the child when the thread that starts it ends.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // fails only where it is gone already
}
