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
	server := rpc.New(conn, rpc.Options{
		Version: version, Log: log, CacheDir: placesOf("").cache,
		Open: func(ctx context.Context, o rpc.InitOptions) (rpc.Engine, error) {
			dir := ""
			if len(o.Roots) > 0 {
				dir = o.Roots[0]
			}
			h, err := open(ctx, options{dir: dir, settings: o.Settings, log: func(f string, a ...any) { log.Warn(fmt.Sprintf(f, a...)) }})
			if err != nil {
				return nil, err
			}
			return &served{Engine: h.engine, house: h}, nil
		},
	})
	if err := server.Run(ctx); err != nil {
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
