package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/mcp"
)

// openMCP starts the configured servers in the background. Commands run in an
// empty folder of ours, so that no file of the workspace (an .npmrc, a
// node_modules) can change what they do.
func openMCP(set map[string]config.MCP, registry *tools.Registry, root, cache string, log func(string, ...any)) *mcp.Pool {
	var servers []mcp.Server
	for _, name := range slices.Sorted(maps.Keys(set)) {
		c := set[name]
		if c.Off {
			continue
		}
		s := mcp.Server{Name: name, Command: c.Command, Env: c.Env, PassEnv: c.PassEnv, URL: c.URL, Timeout: time.Duration(c.Timeout) * time.Second}
		for _, a := range c.Args {
			s.Args = append(s.Args, strings.ReplaceAll(a, "${workspace}", root))
		}
		if c.BearerEnv != "" {
			s.Bearer = os.Getenv(c.BearerEnv)
		}
		servers = append(servers, s)
	}
	dir := filepath.Join(cache, "mcp")
	if len(servers) > 0 {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			log("MCP servers are not started: %v", err)
			servers = nil
		}
	}
	return mcp.Open(mcp.Options{Servers: servers, Registry: registry, Dir: dir, Environ: os.Environ(), Version: version, Log: log})
}

// mcpFindings waits until every server has answered or failed once.
func (h *house) mcpFindings(ctx context.Context) []finding {
	if h.mcp == nil || h.mcp.Settled(ctx) != nil {
		return nil
	}
	var list []finding
	for _, s := range h.mcp.States() {
		f := finding{Name: "MCP server " + s.Name, OK: s.State == mcp.Ready, Says: s.State + ": " + s.Says}
		if f.OK {
			f.Says = fmt.Sprintf("%s; %d tools", s.Says, s.Tools)
		} else {
			f.Do = "see mcp." + s.Name + " in " + config.UserPath() + "; everything else works without it"
		}
		if len(s.LeftOut) > 0 {
			f.Says += "; left out: " + strings.Join(s.LeftOut, "; ")
		}
		list = append(list, f)
	}
	return list
}
