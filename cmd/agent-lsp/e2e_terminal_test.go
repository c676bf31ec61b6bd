//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// person sits at a terminal: a real one of the kernel's, drawn by vt.
type person struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	exit chan error

	mu      sync.Mutex
	changed *sync.Cond
	screen  *vt
	ended   bool
}

// sitDown starts the program in a terminal of that size.
func sitDown(t *testing.T, env []string, dir string, columns, rows int, args ...string) *person {
	t.Helper()
	master, slave := openPTY(t, columns, rows)
	p := &person{t: t, tty: master, screen: newVT(columns, rows), exit: make(chan error, 1)}
	p.changed = sync.NewCond(&p.mu)
	p.cmd = exec.Command(binary, args...)
	p.cmd.Dir, p.cmd.Env = dir, env
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			p.mu.Lock()
			p.screen.write(string(buf[:n]))
			p.ended = err != nil
			p.changed.Broadcast()
			p.mu.Unlock()
			if err != nil { // EIO: the program is gone
				return
			}
		}
	}()
	go func() { p.exit <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it has ended unless the test failed
		<-read
		master.Close()
	})
	return p
}

// openPTY makes a terminal.
func openPTY(t *testing.T, columns, rows int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system gives no terminals: %v", err)
	}
	var n, unlock uint32
	size := [4]uint16{uint16(rows), uint16(columns)}
	control := func(request uintptr, arg unsafe.Pointer) {
		raw, err := master.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var errno syscall.Errno
		if err := raw.Control(func(fd uintptr) { _, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)) }); err != nil || errno != 0 {
			t.Fatalf("the terminal can't be set up: %v %v", err, errno)
		}
	}
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&n))
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// sees waits until the screen, or what has scrolled off it, shows a text.
func (p *person) sees(text string) {
	p.t.Helper()
	late := false
	timer := time.AfterFunc(answerWithin, func() {
		p.mu.Lock()
		late = true
		p.changed.Broadcast()
		p.mu.Unlock()
	})
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !strings.Contains(p.screen.text(), text) {
		if late || p.ended {
			p.t.Fatalf("%q never came (ended: %v); the terminal shows\n%s", text, p.ended, p.screen.text())
		}
		p.changed.Wait()
	}
}

// types presses keys.
func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the program's end and gives its exit code and the terminal.
func (p *person) ends() (code int, text string) {
	p.t.Helper()
	select {
	case <-p.exit:
	case <-time.After(answerWithin):
		p.t.Fatalf("it doesn't end; the terminal shows\n%s", p.shows())
	}
	return p.cmd.ProcessState.ExitCode(), p.shows()
}

func (p *person) shows() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.screen.text()
}

// TestTerminalReview: hunk by hunk, with keys and a reason.
func TestTerminalReview(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.txt": "one hello\n2\n3\n4\n5\n6\n7\n8\n9\nten hello\n", "b.txt": "hello\n"})
	p := sitDown(t, home(t), dir, 100, 40, "ask", `replace "hello" with "goodbye" in a.txt`)
	p.sees("hunk 1 of 2  a.txt:1")
	p.sees("+one goodbye")
	p.sees("[y] accept")
	p.types("?")
	p.sees("y accept, n reject")
	p.types("N")
	p.sees("why?")
	p.types("keep it\ry") // who knows what comes types ahead
	code, text := p.ends()
	if code != 0 || !strings.Contains(text, "1 hunk accepted, 1 hunk rejected") {
		t.Errorf("exit %d\n%s", code, text)
	}
	if n := strings.Count(text, "▾ replace"); n != 1 || strings.Contains(text, "Ctrl-C stops") || strings.Contains(text, "[y] accept") {
		t.Errorf("the tree is drawn %d times, or something of the live rows is left:\n%s", n, text)
	}
	if got, want := readFile(t, filepath.Join(dir, "a.txt")), "one hello\n2\n3\n4\n5\n6\n7\n8\n9\nten goodbye\n"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
}

// TestTerminalSteersAndStops: a permission is asked in a box, a typed line
// steers, Ctrl-C cancels the run and what it runs.
func TestTerminalSteersAndStops(t *testing.T) {
	t.Parallel()
	dir, nap := writeFiles(t, map[string]string{"a.txt": "hello\n"}), longNap(t)
	p := sitDown(t, home(t), dir, 90, 30, "ask", `run "sleep `+nap+`"`)
	p.sees("┌ bash wants to run ─")
	p.sees("│ sleep " + nap)
	p.sees("asks you")
	p.types("y")
	p.sees("type to steer, Ctrl-C stops")
	p.types("be quick")
	p.sees("› be quick")
	p.types("!\x7f\r")
	p.sees("↳ you: be quick")
	p.types("\x03")
	code, text := p.ends()
	if code != 130 || !strings.Contains(text, "– interrupted") || strings.Count(text, "✎ Running") != 1 {
		t.Errorf("exit %d\n%s", code, text)
	}
	checkGone(t, nap)
}

// TestTerminalRefuses: no, because… reaches the model; a small terminal and
// ASCII do too.
func TestTerminalRefuses(t *testing.T) {
	t.Parallel()
	dir := writeFiles(t, map[string]string{"a.txt": "hello\n"})
	p := sitDown(t, home(t), dir, 46, 12, "ask", "--ascii", "--no-color", `run "touch made"`)
	p.sees("bash wants to run")
	p.types("N")
	p.sees("why?")
	p.types("not today\r")
	code, text := p.ends()
	if code != 0 || !strings.Contains(text, "not today") || !strings.Contains(text, "/ bash") || strings.ContainsAny(text, "⊘▾✎·…│") {
		t.Errorf("exit %d\n%s", code, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("it ran")
	}
}
