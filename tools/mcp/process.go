package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/tools"
)

// hiddenMin is the length below which a credential is not looked for: it would
// remove half of a text.
const hiddenMin = 6

func (s Server) argv() []string { return append([]string{s.Command}, s.Args...) }

// environment is what a command's own would be, and what the settings add.
func (s Server) environment(environ []string) []string {
	env := tools.CleanEnvironment(environ, nil)
	for _, name := range s.PassEnv {
		if v, ok := lookup(environ, name); ok {
			env = append(env, name+"="+v)
		}
	}
	for name, v := range s.Env {
		env = append(env, name+"="+v)
	}
	return env
}

// secrets are the values that the server knows from us and must not repeat.
func (s Server) secrets(environ []string) []string {
	var out []string
	if len(s.Bearer) >= hiddenMin {
		out = append(out, s.Bearer)
	}
	for _, name := range s.PassEnv {
		if v, ok := lookup(environ, name); ok && len(v) >= hiddenMin {
			out = append(out, v)
		}
	}
	return out
}

func lookup(environ []string, name string) (value string, ok bool) {
	for _, kv := range environ {
		if v, is := strings.CutPrefix(kv, name+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// process is a command in a process group of its own.
type process struct {
	in, out *os.File
	tail    *tail
	cmd     *exec.Cmd
	gone    chan struct{} // closed when the command itself is over
	grace   time.Duration
	once    sync.Once
}

// start runs a command. Its standard error is kept in part.
func start(argv, env []string, dir string, grace time.Duration) (*process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, err
	}
	p := &process{in: inW, out: outR, tail: &tail{}, gone: make(chan struct{}), grace: grace, cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = inR, outW, p.tail
	p.cmd.WaitDelay = grace // for what inherited its standard error
	ownGroup(p.cmd)
	err = p.cmd.Start()
	inR.Close()
	outW.Close()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, fmt.Errorf("%s can't be started: %w", argv[0], err)
	}
	go p.reap()
	return p, nil
}

// reap waits for the command; what it leaves behind in its group goes too, so
// that the other end of the pipe is closed.
func (p *process) reap() {
	_ = p.cmd.Wait() // how it ended doesn't matter: it is gone
	killGroup(p.cmd.Process)
	close(p.gone)
	timer := time.NewTimer(p.grace) // what is in the pipe may be read until then
	defer timer.Stop()
	<-timer.C
	p.out.Close()
}

// end asks by closing the input, then kills the group.
func (p *process) end() {
	p.once.Do(func() {
		p.in.Close()
		timer := time.NewTimer(p.grace)
		defer timer.Stop()
		select {
		case <-p.gone:
		case <-timer.C:
			killGroup(p.cmd.Process)
			<-p.gone
		}
		p.out.Close()
	})
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-stderrMax):]...)
	t.buf = append(t.buf[:0:0], t.buf[max(0, len(t.buf)-stderrMax):]...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
