package tools

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Limits of the supervisor.
const (
	execRequestMax = 16 << 20
	killRounds     = 200 // times that the supervisor looks for processes to kill
	killPause      = 2 * time.Millisecond
	killPatience   = 5 // rounds in which what ends by itself isn't counted
	lifeFD         = 3
	reportFD       = 4
)

// startIsolated starts the supervisor in a session of its own: it has no
// terminal, and a signal to our group doesn't reach it. Where the kernel lets us
// it gets what is wanted besides: mounts of its own, to guard files by, and an
// empty network, whose loopback its commands can use among themselves.
func startIsolated(build func() *exec.Cmd, want isolation) (cmd *exec.Cmd, got isolation, err error) {
	for _, got := range []isolation{want, {network: want.network}} {
		if got == (isolation{}) {
			continue
		}
		cmd = build()
		attr := &syscall.SysProcAttr{Setsid: true}
		if got.network {
			attr.Cloneflags |= syscall.CLONE_NEWNET
		}
		if got.mounts {
			attr.Cloneflags |= syscall.CLONE_NEWNS
		}
		if uid := os.Geteuid(); uid != 0 {
			attr.Cloneflags |= syscall.CLONE_NEWUSER
			attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
			attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
			attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN} // to bring loopback up, and to mount
		}
		cmd.SysProcAttr = attr
		if cmd.Start() == nil {
			return cmd, got, nil
		}
	}
	cmd = build()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, isolation{}, cmd.Start()
}

// killGroup kills a process group; one that is gone is fine.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// ExecMain is the supervisor: what our binary does when it is started with the
// hidden argument __exec. It must be called first thing in main, before
// anything else is opened. Stdout and stderr are the command's; it reads the
// request from descriptor 3 and writes the report to 4.
func ExecMain(args []string) int {
	if code, mine := goCacheMain(args); mine {
		return code
	}
	// Nothing but the three standard descriptors goes on to commands, whatever
	// we were given by whoever started the agent.
	if unix.CloseRange(lifeFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) != nil {
		syscall.CloseOnExec(lifeFD)
		syscall.CloseOnExec(reportFD)
	}
	life, report := os.NewFile(lifeFD, "life"), os.NewFile(reportFD, "report")
	if life == nil || report == nil {
		os.Stderr.WriteString("__exec is for agent-lsp's own use\n")
		return 2
	}
	rep := supervise(life)
	if err := json.NewEncoder(report).Encode(rep); err != nil {
		return 1
	}
	return 0
}

func supervise(life *os.File) execReport {
	in := bufio.NewReaderSize(life, 64<<10)
	line, err := readRequest(in)
	if err != nil {
		return execReport{ExitCode: -1, Error: "no command came: " + err.Error()}
	}
	var req execRequest
	if err := json.Unmarshal(line, &req); err != nil {
		return execReport{ExitCode: -1, Error: "the command can't be read: " + err.Error()}
	}
	// Orphans become our children, so that none can slip away.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return execReport{ExitCode: -1, Error: "the supervisor can't adopt processes: " + err.Error()}
	}
	// No other process of this user may look into us.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	if req.Isolated {
		loopbackUp()
	}
	guarded := req.Mounts && mountGuards(req.ReadOnly, req.Secret) == nil
	started := make(chan startedCommand)
	go startCommand(req, started)
	c := <-started
	if c.err != nil {
		return execReport{ExitCode: -1, Error: "bash could not be started: " + c.err.Error()}
	}
	over := make(chan struct{})
	go func() { // the agent closes the pipe to cancel; the kernel does when it dies
		_, _ = in.ReadByte()
		endAll(c.pid, over)
	}()
	rep := execReport{Sandboxed: c.sandboxed, Note: c.note, Guarded: guarded && c.sandboxed}
	rep.ExitCode, rep.Signal = reap(c.pid)
	close(over)
	rep.Ended = killRest()
	return rep
}

func readRequest(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < execRequestMax {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	return nil, errors.New("it is too long")
}

type startedCommand struct {
	pid       int
	sandboxed bool
	note      string
	err       error
}

// startCommand confines one thread of ours and starts bash from it, so that
// bash is confined and we are not: then it can't signal us either. The thread
// stays until the end, because the death of a parent's thread is the death of
// the parent to PDEATHSIG.
func startCommand(req execRequest, started chan<- startedCommand) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// Signals to a process are judged by its first thread: not this one.
		again := make(chan struct{})
		go func() { defer close(again); startCommand(req, started) }()
		<-again
		return
	}
	var c startedCommand
	if req.Sandbox {
		c.sandboxed, c.note = confine(req)
	} else {
		c.note = "not sandboxed: switched off in the settings"
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		bash, err = exec.LookPath("sh")
	}
	if err != nil {
		started <- startedCommand{err: err}
		return
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		started <- startedCommand{err: err}
		return
	}
	defer null.Close()
	c.pid, c.err = syscall.ForkExec(bash, []string{"bash", "--noprofile", "--norc", "-c", req.Line}, &syscall.ProcAttr{
		Dir: req.Dir, Env: setenv(req.Env, "PWD", req.Dir), Files: []uintptr{null.Fd(), 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	started <- c
	select {} // keep the thread
}

// reap waits for every child until the command itself is over.
func reap(pid int) (code int, signal string) {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return -1, ""
		case got == pid && ws.Exited():
			return ws.ExitStatus(), ""
		case got == pid && ws.Signaled():
			return 128 + int(ws.Signal()), ws.Signal().String()
		}
	}
}

// endAll asks everything to end, waits the grace, and kills it.
func endAll(pid int, over <-chan struct{}) {
	_ = syscall.Kill(-pid, syscall.SIGTERM)
	for _, p := range descendants(os.Getpid()) {
		_ = syscall.Kill(p, syscall.SIGTERM)
		_ = syscall.Kill(p, syscall.SIGCONT)
	}
	select {
	case <-over:
		return
	case <-time.After(ShellGrace):
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for _, p := range descendants(os.Getpid()) {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
}

// killRest ends what is left once the command is over and says how many there
// were. New ones may appear while it looks, so it looks again until it has no
// children any more.
func killRest() (n int) {
	for round := range killRounds {
		for {
			var ws syscall.WaitStatus
			got, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
			if err == syscall.ECHILD {
				return n
			}
			if got <= 0 {
				break
			}
		}
		if round >= killPatience {
			left := descendants(os.Getpid())
			n = max(n, len(left))
			for _, p := range left {
				_ = syscall.Kill(p, syscall.SIGKILL)
			}
		}
		time.Sleep(killPause) // there is no event for "all children are gone"
	}
	return n
}

// descendants gives every process below one, by /proc.
func descendants(of int) (found []int) {
	children := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		// pid (name) state ppid …; the name may hold anything, brackets too.
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" {
			continue
		}
		if ppid, err := strconv.Atoi(fields[1]); err == nil {
			children[ppid] = append(children[ppid], pid)
		}
	}
	work := []int{of}
	for len(work) > 0 {
		next := children[work[0]]
		work = append(work[1:], next...)
		found = append(found, next...)
	}
	return found
}
