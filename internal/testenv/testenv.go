package testenv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Dir is the folder that holds what the install scripts fetched:
// $AGENT_LSP_TESTENV, or .cache/testenv of the repository that the current
// directory is in.
func Dir() (string, error) {
	if d := os.Getenv("AGENT_LSP_TESTENV"); d != "" {
		return filepath.Abs(d)
	}
	d, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(d, "go.mod")); err == nil {
			return filepath.Join(d, ".cache", "testenv"), nil
		}
		up := filepath.Dir(d)
		if up == d {
			return "", errors.New("not inside the repository: set AGENT_LSP_TESTENV")
		}
		d = up
	}
}

// program is one thing that a test may need and where it is looked for.
type program struct {
	name    string // as an error names it
	path    string // below Dir; empty = looked up on PATH
	command string // on PATH
	script  string // what installs it
}

var (
	llamaServer = program{name: "llama-server", path: "llama-server/llama-server", script: "install-llama-server.sh"}
	neovim      = program{name: "Neovim", path: "neovim/bin/nvim", script: "install-editors.sh"}
	neovimOld   = program{name: "Neovim 0.10", path: "neovim-trixie/bin/nvim", script: "SUITE=trixie install-editors.sh"}
	miniTest    = program{name: "mini.test", path: "neovim/usr/share/neovim-mini.test/lua/mini/test.lua", script: "install-editors.sh"}
	chromium    = program{name: "Chromium", command: "chromium", script: "install-browser.sh"}
	mcpServer   = program{name: "the MCP reference servers", path: "mcp/node_modules/@modelcontextprotocol", script: "install-mcp.sh"}
	tmux        = program{name: "tmux", command: "tmux", script: "install-browser.sh"}
)

func (p program) find() (string, error) {
	if p.path == "" {
		found, err := exec.LookPath(p.command)
		if err != nil {
			return "", p.missing(err)
		}
		return found, nil
	}
	dir, err := Dir()
	if err != nil {
		return "", err
	}
	found := filepath.Join(dir, filepath.FromSlash(p.path))
	if _, err := os.Stat(found); err != nil {
		return "", p.missing(err)
	}
	return found, nil
}

func (p program) missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		err = errors.New("not installed")
	}
	return fmt.Errorf("%s: %w; run `make test-env` (or internal/testenv/%s)", p.name, err, p.script)
}

func must(t testing.TB, p program) string {
	t.Helper()
	found, err := p.find()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// FindLlamaServer is [LlamaServer] for callers without a test: TestMain,
// benchmark programs.
func FindLlamaServer() (string, error) { return llamaServer.find() }

// LlamaServer is the path of llama.cpp's server.
func LlamaServer(t testing.TB) string { t.Helper(); return must(t, llamaServer) }

// Neovim is the path of the newest supported nvim (0.12).
func Neovim(t testing.TB) string { t.Helper(); return must(t, neovim) }

// NeovimOld is the path of the oldest supported nvim (0.10). It is installed
// by hand only, with SUITE=trixie.
func NeovimOld(t testing.TB) string { t.Helper(); return must(t, neovimOld) }

// MiniTest is the folder to put on Neovim's runtimepath for require("mini.test").
func MiniTest(t testing.TB) string {
	t.Helper()
	return filepath.Dir(filepath.Dir(filepath.Dir(must(t, miniTest))))
}

// Chromium is the path of the system's chromium.
func Chromium(t testing.TB) string { t.Helper(); return must(t, chromium) }

// Tmux is the path of the system's tmux.
func Tmux(t testing.TB) string { t.Helper(); return must(t, tmux) }

// MCPServer is the script, for node, of one of the Model Context Protocol's
// reference servers: everything, filesystem.
func MCPServer(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(must(t, mcpServer), "server-"+name, "dist", "index.js")
}
