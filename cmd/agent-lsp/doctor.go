package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/rag"
)

type doctorCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// finding is one line of the doctor: what was looked at, how it is, and what
// to do when it isn't well.
type finding struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Says string `json:"says"`
	Do   string `json:"do,omitempty"`
}

// Run looks at everything that the agent needs. It exits with 1 when something
// keeps it from working.
func (c doctorCmd) Run(ctx context.Context, s streams) error {
	list := []finding{{Name: "version", OK: true, Says: version}, configFinding()}
	h, err := open(ctx, options{})
	if err != nil {
		list = append(list, finding{Name: "engine", Says: err.Error(), Do: "see the message; agent-lsp can't work here"})
		if err := c.print(s.out, list); err != nil {
			return err
		}
		return exitError(1)
	}
	defer h.close()
	if err := h.ready(ctx, s.err); err != nil {
		return err
	}
	list = append(list, h.findings(ctx)...)
	return c.print(s.out, list)
}

func configFinding() finding {
	path := config.UserPath()
	if _, err := os.Stat(path); err != nil {
		return finding{Name: "settings", OK: true, Says: "none of your own; defaults apply", Do: "write " + path + " to change them"}
	}
	return finding{Name: "settings", OK: true, Says: path}
}

func (h *house) findings(ctx context.Context) []finding {
	list := []finding{
		{Name: "workspace", OK: true, Says: h.space.Roots()[0]},
		{Name: "state", OK: true, Says: h.store.Path()},
	}
	for _, w := range h.config.Warnings {
		list = append(list, finding{Name: "settings", OK: true, Says: w})
	}
	st := h.index.Status()
	index := finding{Name: "index", OK: st.State == rag.StateReady, Says: fmt.Sprintf("%s: %d files, %d chunks", st.State, st.Files, st.Chunks)}
	if st.Message != "" {
		index.Says += "; " + st.Message
	}
	if !index.OK {
		index.Do = "searching works with what is there; deleting " + placesOf(h.space.Roots()[0]).index + " builds the index anew"
	}
	list = append(list, index)
	git := finding{Name: "git", OK: true, Says: "found"}
	if _, err := exec.LookPath("git"); err != nil {
		git = finding{Name: "git", OK: true, Says: "not on the PATH", Do: "install git to have history as a signal of the search"}
	}
	list = append(list, git)
	list = append(list, h.mcpFindings(ctx)...)
	current, err := h.catalog.Resolve(ctx, h.config.Model)
	if err != nil {
		list = append(list, finding{Name: "model", Says: err.Error(), Do: "choose another: AGENT_LSP_MODEL, or model = \"…\" in the settings"})
	} else {
		list = append(list, finding{Name: "model", OK: true, Says: current.Name})
	}
	for _, m := range h.catalog.List(ctx) {
		f := finding{Name: "  " + m.Name, OK: m.Available, Says: m.Why}
		if cal := h.engine.Calibration(m.Name); cal != "" {
			f.Says += "; " + cal
		}
		list = append(list, f)
	}
	return list
}

func (c doctorCmd) print(w io.Writer, list []finding) error {
	if c.JSON {
		return printJSON(w, list)
	}
	for _, f := range list {
		mark := "✓"
		if !f.OK {
			mark = "✗"
		}
		line := fmt.Sprintf("%s %-28s %s", mark, f.Name, f.Says)
		if f.Do != "" {
			line += "  → " + f.Do
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

var _ agent.Models = models{}
