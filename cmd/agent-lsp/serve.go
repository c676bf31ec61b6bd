package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/agent-lsp/agent-lsp/rpc"
)

type serveCmd struct {
	Stdio bool   `help:"Speak on standard input and output; always so, the flag is for editors that insist on it."`
	Log   string `env:"AGENT_LSP_LOG" help:"Write a log to this file. Keys and file contents are never logged."`
}

// Run serves one editor until it says exit or goes away.
func (c serveCmd) Run(ctx context.Context, s streams) error {
	log := slog.New(slog.DiscardHandler)
	if c.Log != "" {
		f, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("the log can't be written: %w", err)
		}
		defer f.Close()
		log = slog.New(slog.NewTextHandler(f, nil))
	}
	var conn io.ReadWriteCloser = pipe{s.in, s.out} // a test's own streams
	if s.in == os.Stdin {
		conn = rpc.Stdio()
	}
	if err := serveShared(ctx, conn, log); err != nil {
		fmt.Fprintln(s.err, "agent-lsp:", err)
		return exitError(1)
	}
	return nil
}

// pipe makes a connection of two streams.
type pipe struct {
	io.Reader
	io.Writer
}

// Close closes what can be closed.
func (p pipe) Close() error {
	if c, ok := p.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
