package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is the server that ask starts for itself.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.ReadCloser
	stderr tail
}

// How long the server may take to end once nobody talks to it any more.
const childEndWait = 8 * time.Second

// startChild starts this same program as a server, in a process group of its
// own, so that Ctrl-C in the terminal reaches ask alone.
func startChild(dir string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program can't find itself to start its server: %w", err)
	}
	c := &child{cmd: exec.Command(program, "serve")}
	c.cmd.Dir = dir
	c.cmd.Stderr = &c.stderr
	ownGroup(c.cmd)
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("the server can't be started: %w", err)
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("the server can't be started: %w", err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the server can't be started: %w", err)
	}
	return c, nil
}

// Read, Write and Close make the child a connection.
func (c *child) Read(p []byte) (int, error)  { return c.out.Read(p) }
func (c *child) Write(p []byte) (int, error) { return c.in.Write(p) }
func (c *child) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }

// wait lets the server end by itself for a while, then ends it. One that has
// said goodbye stays: other windows' runs go on in it.
func (c *child) wait(goodbye bool) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.cmd.Wait() // how it ended was told already, or doesn't matter any more
	}()
	select {
	case <-ended:
	case <-time.After(childEndWait):
		if !goodbye {
			c.kill()
			<-ended
		}
	}
}

// kill ends the server and all that it started at once.
func (c *child) kill() { killGroup(c.cmd) }

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailMax bounds it.
const tailMax = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if n := len(t.text) - tailMax; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
