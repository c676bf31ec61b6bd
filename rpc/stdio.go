package rpc

import (
	"errors"
	"io"
	"os"
)

// stdout keeps the process's first os.Stdout: were it collected, its
// finalizer would close the descriptor that the connection writes to.
var stdout *os.File

// Stdio is the process's own streams as a connection. From then on os.Stdout
// is the standard error output, so that nothing but the protocol goes to the
// standard output. Call it once.
func Stdio() io.ReadWriteCloser {
	c := &stdio{in: pollable(os.Stdin, "stdin"), out: pollable(os.Stdout, "stdout")}
	stdout, os.Stdout = os.Stdout, os.Stderr
	return c
}

type stdio struct{ in, out *os.File }

func (s *stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s *stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s *stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }
