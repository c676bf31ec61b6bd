package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rag"
)

// inputMax bounds what the commands read from standard input.
const inputMax = 1 << 30

func readInput(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, inputMax+1))
	if err == nil && len(data) > inputMax {
		err = fmt.Errorf("the input is larger than %d bytes", inputMax)
	}
	return data, err
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

type cycleCmd struct {
	View  string `enum:",steps,rounds,all" default:"" help:"steps, rounds or all (the default; steps with --text)."`
	Text  bool   `help:"Draw the tree for a person."`
	ASCII bool   `name:"ascii" help:"With --text: plain ASCII."`
	Auto  string `enum:"steer,followUp" default:"steer" help:"What a message with delivery auto is while a run is active."`
}

// Run projects an event log.
func (c cycleCmd) Run(s streams) error {
	in, err := readInput(s.in)
	if err != nil {
		return err
	}
	out, err := cycle.ProjectLog(in, cycle.LogOptions{View: cycle.View(c.View), Text: c.Text, ASCII: c.ASCII, Policy: cycle.Policy{Auto: cycle.Delivery(c.Auto)}})
	if _, werr := s.out.Write(out); werr != nil {
		return werr
	}
	return err
}

type planCmd struct {
	Task  string `arg:"" optional:"" help:"The task to plan for."`
	Stdin bool   `help:"Read budget and candidates as JSON from standard input."`
	JSON  bool   `name:"json" help:"Print JSON."`
	Model string `help:"Plan for this model."`
}

// Run shows a plan.
func (c planCmd) Run(ctx context.Context, s streams) error {
	if c.Stdin {
		in, err := readInput(s.in)
		if err != nil {
			return err
		}
		out, err := contextplan.Run(in, c.JSON)
		if _, werr := s.out.Write(out); werr != nil {
			return werr
		}
		return err
	}
	if c.Task == "" {
		return fmt.Errorf(`plan needs a task, as in: agent-lsp plan "fix the flaky test"; or --stdin`)
	}
	return withEngine(ctx, s, options{model: c.Model}, func(h *house) error {
		if err := h.ready(ctx, s.err); err != nil {
			return err
		}
		p, err := h.engine.PlanPreview(ctx, &agent.SubmitParams{Input: c.Task, Source: "plan"})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, p)
		}
		_, err = io.WriteString(s.out, agent.PlanText(p))
		return err
	})
}

type searchCmd struct {
	Query []string `arg:"" optional:"" help:"What to look for."`
	K     int      `short:"k" default:"20" help:"How many results."`
	JSON  bool     `name:"json" help:"Print the RetrievalSet as JSON."`
	Batch bool     `help:"Answer JSON lines {id, dir, query, k} from standard input."`
}

// Run searches the current folder.
func (c searchCmd) Run(ctx context.Context, s streams) error {
	if c.Batch {
		return batch(ctx, s)
	}
	query := strings.Join(c.Query, " ")
	if query == "" {
		return fmt.Errorf(`search needs a query, as in: agent-lsp search "connection pool timeout"`)
	}
	return withEngine(ctx, s, options{}, func(h *house) error {
		if err := h.ready(ctx, s.err); err != nil {
			return err
		}
		set, err := h.engine.Search(ctx, &agent.SearchParams{Query: query, K: c.K})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, set)
		}
		_, err = io.WriteString(s.out, rag.SearchText(*set))
		return err
	})
}

type replayCmd struct {
	Plan string `arg:"" optional:"" help:"The plan's id, or its beginning."`
	Run_ string `name:"run" placeholder:"RUN|FILE" help:"Drive a whole run again instead: its id, or a file that export wrote."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run builds a plan again, or drives a run again.
func (c replayCmd) Run(ctx context.Context, s streams) error {
	switch {
	case c.Run_ != "" && c.Plan != "":
		return errors.New("replay takes a plan or --run, not both")
	case c.Run_ != "":
		return replayRun(ctx, s, c.Run_, c.JSON)
	case c.Plan == "":
		return errors.New("replay needs a plan's id, or --run with a run's id or an exported file")
	}
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		same, diff, err := h.engine.Replay(ctx, c.Plan)
		if err != nil {
			return err
		}
		switch {
		case c.JSON:
			err = printJSON(s.out, map[string]any{"identical": same, "diff": diff})
		case same:
			_, err = fmt.Fprintln(s.out, "identical")
		default:
			_, err = io.WriteString(s.out, contextplan.DiffText(diff, nil))
		}
		if err == nil && !same {
			return exitError(1)
		}
		return err
	})
}

type diffCmd struct {
	A    string `arg:"" help:"A plan's id, or its beginning."`
	B    string `arg:"" help:"Another plan's."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run compares two plans.
func (c diffCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		d, err := h.engine.PlanDiff(ctx, &agent.PlanDiffParams{A: c.A, B: c.B})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, d)
		}
		_, err = io.WriteString(s.out, contextplan.DiffText(*d, nil))
		return err
	})
}

type traceCmd struct {
	Turn    string `arg:"" optional:"" help:"A turn's id; the latest when left out."`
	Run_    string `name:"run" help:"A run's id instead."`
	Ref     string `help:"Print what a ref of the step tree holds instead: a long result, or what left the context."`
	Session string `help:"The session's id; the latest when left out."`
	JSON    bool   `name:"json" help:"Print everything as JSON, raw rounds included."`
}

// Run shows a trace.
func (c traceCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		if c.Ref != "" {
			return printArchived(ctx, h.engine, s.out, strings.TrimPrefix(c.Ref, "ref:"))
		}
		t, err := h.engine.Trace(ctx, &agent.TraceParams{SessionRef: agent.SessionRef{SessionID: c.Session}, TurnID: c.Turn, RunID: c.Run_})
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, t)
		}
		w := bufio.NewWriter(s.out)
		fmt.Fprintf(w, "turn %s · run %s\n", t.TurnID, t.RunID)
		for _, r := range t.Routes {
			to := cycle.Routed{Route: r.Route, Categories: r.Categories}
			fmt.Fprintf(w, "⇢ route  %s · %s  (%s, need %.2f, %.1f ms)\n", to.Words(), r.Reason, r.Method, r.Score, r.MS)
		}
		for _, call := range t.Calls {
			fmt.Fprintf(w, "  %2d  %-9s %-10s %8d ms  %s\n", call.Round, call.Status, call.Tool, call.MS, call.Title)
		}
		for _, u := range t.Usage {
			fmt.Fprintf(w, "  %2d  %s  in %d (estimated %d, cached %d)  out %d  %d ms  $%.4f\n", u.Round, u.Model, u.Input, u.Estimated, u.CacheRead, u.Output, u.MS, u.CostUSD)
		}
		return w.Flush()
	})
}

// printArchived prints all that a ref holds, page by page.
func printArchived(ctx context.Context, e *agent.Engine, w io.Writer, ref string) error {
	for from := 0; ; {
		page, err := e.Scratchpad(ctx, &agent.ScratchpadParams{Ref: ref, Offset: from})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, page.Text); err != nil {
			return err
		}
		if from += len(page.Text); page.Text == "" || from >= page.Total {
			return nil
		}
	}
}

type sessionsCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists sessions.
func (c sessionsCmd) Run(ctx context.Context, s streams) error {
	return withEngine(ctx, s, options{still: true}, func(h *house) error {
		list, err := h.engine.SessionList(ctx, nil)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, list)
		}
		for _, x := range list.Sessions {
			fmt.Fprintf(s.out, "%s  %s  %3d turns  %s\n", x.SessionID, x.LastUsed, x.Turns, x.Title)
		}
		return nil
	})
}

func workingDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the current folder can't be read: %w", err)
	}
	return dir, nil
}
