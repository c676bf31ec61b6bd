//go:build unix && !linux

package tools

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// startIsolated starts the supervisor in a session of its own.
func startIsolated(build func() *exec.Cmd, _ isolation) (*exec.Cmd, isolation, error) {
	cmd := build()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, isolation{}, cmd.Start()
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// ExecMain is the supervisor: what our binary does when it is started with the
// hidden argument __exec. It must be called first thing in main. Descriptor 3
// gives the request and ends when the agent wants the end or has died; 4 takes
// the report. This system has no way to adopt processes that leave the group
// of the command; those in it are all ended.
func ExecMain(args []string) int {
	if code, mine := goCacheMain(args); mine {
		return code
	}
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	life, report := os.NewFile(3, "life"), os.NewFile(4, "report")
	if life == nil || report == nil {
		os.Stderr.WriteString("__exec is for agent-lsp's own use\n")
		return 2
	}
	if err := json.NewEncoder(report).Encode(supervise(bufio.NewReader(life))); err != nil {
		return 1
	}
	return 0
}

func supervise(life *bufio.Reader) execReport {
	var req execRequest
	line, err := life.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &req)
	}
	if err != nil {
		return execReport{ExitCode: -1, Error: "no command came: " + err.Error()}
	}
	rep := execReport{Note: "not sandboxed: switched off in the settings"}
	args := []string{"bash", "--noprofile", "--norc", "-c", req.Line}
	if req.Sandbox {
		args, rep.Sandboxed, rep.Note = seatbelt(req, args)
		rep.Guarded = rep.Sandboxed
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = req.Dir, setenv(req.Env, "PWD", req.Dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return execReport{ExitCode: -1, Error: "bash could not be started: " + err.Error()}
	}
	over := make(chan struct{})
	go func() {
		_, _ = life.ReadByte()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-over:
		case <-time.After(ShellGrace):
			killGroup(cmd.Process.Pid)
		}
	}()
	_ = cmd.Wait()
	close(over)
	killGroup(cmd.Process.Pid)
	rep.ExitCode = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		rep.ExitCode, rep.Signal = 128+int(ws.Signal()), ws.Signal().String()
	}
	return rep
}

// seatbelt puts the command into macOS's sandbox.
func seatbelt(req execRequest, args []string) ([]string, bool, string) {
	const program = "/usr/bin/sandbox-exec"
	if _, err := os.Stat(program); err != nil || runtime.GOOS != "darwin" {
		return args, false, "not sandboxed: this system has no sandbox that we know; the command could write anywhere and use the network"
	}
	var b strings.Builder
	b.WriteString("(version 1)(allow default)(deny file-write*)(allow file-write* (literal \"/dev/null\")(literal \"/dev/tty\")(subpath \"/dev/fd\")")
	for _, p := range append(req.Writable, "/private/tmp", "/private/var/tmp") {
		fmt.Fprintf(&b, "(subpath %s)", strconv.Quote(ResolveLinks(p)))
	}
	b.WriteString(")")
	for _, p := range req.Hidden {
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))", strconv.Quote(ResolveLinks(p)))
	}
	for _, p := range req.ReadOnly {
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))", strconv.Quote(p))
	}
	for _, p := range req.Secret {
		fmt.Fprintf(&b, "(deny file-read* file-write* (literal %s))", strconv.Quote(p))
	}
	note := "sandboxed: writes only in the workspace and temporary folders"
	if req.Network {
		note += ", network permitted"
	} else {
		b.WriteString("(deny network*)(allow network* (local ip \"localhost:*\"))(allow network* (remote ip \"localhost:*\"))")
		note += ", no network but loopback"
	}
	return append([]string{program, "-p", b.String()}, args...), true, note
}
