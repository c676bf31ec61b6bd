package rpc

import (
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// This file writes Markdown for people whose editor has no panel of ours.

// answerText is a cycle: the question, what was done, what was said.
func answerText(c cycle.RequestCycle, meta cycle.CycleMeta) string {
	var b strings.Builder
	for i, step := range c.Steps {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "# %s\n", firstLine(step.Text))
			if rest := strings.TrimSpace(strings.TrimPrefix(step.Text, firstLine(step.Text))); rest != "" {
				fmt.Fprintf(&b, "\n%s\n", quote(rest))
			}
		case step.Type == cycle.StepSteer:
			fmt.Fprintf(&b, "\n%s\n", quote("**You:** "+step.Text))
		case step.Kind == cycle.OutputReasoning:
			if step.Text != "" {
				fmt.Fprintf(&b, "\n%s\n", quote(step.Text))
			}
		case step.Text != "":
			fmt.Fprintf(&b, "\n%s\n", step.Text)
		}
		writeCalls(&b, step.Groups)
	}
	switch c.Status {
	case cycle.CycleActive:
		b.WriteString("\n*working…*\n")
	case cycle.CycleCompleted:
	default:
		fmt.Fprintf(&b, "\n**%s** %s\n", c.Status, meta.Stop)
	}
	if meta.Model != "" {
		fmt.Fprintf(&b, "\n---\n%s, %.1f s, %d tokens, context %d items\n", meta.Model, float64(meta.ElapsedMS)/1000, meta.Tokens, meta.ContextItems)
	}
	return b.String()
}

func writeCalls(b *strings.Builder, groups []cycle.Group) {
	for _, g := range groups {
		b.WriteString("\n")
		for _, call := range g.Calls {
			mark, text := "…", ""
			if call.Result != nil {
				mark = string(call.Result.Status)
				if call.Result.Status != cycle.ResultOK {
					text = ": " + cut(firstLine(call.Result.Text), 200)
				}
			}
			fmt.Fprintf(b, "- `%s` %s (%s)%s\n", call.Tool, cut(string(call.Args), 120), mark, text)
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}

// planText is a ContextPlan as tables.
func planText(r *agent.PlanResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Context of call %d\n\nPlan `%s`, %d of %d tokens, for %s.\n", r.Call, r.PlanID, r.Budget.Estimated, r.Budget.Prompt, r.Model)
	if r.Overflow != nil {
		fmt.Fprintf(&b, "\n**The message was cut** from %d to %d tokens.\n", r.Overflow.From, r.Overflow.To)
	}
	writeItems(&b, "Sent", r.Included, r.Labels)
	writeItems(&b, "Left out", r.Excluded, r.Labels)
	return b.String()
}

func writeItems(b *strings.Builder, title string, items []contextplan.Item, labels map[string]agent.PlanItem) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| section | item | tokens | why |\n| --- | --- | ---: | --- |\n", title)
	for _, it := range items {
		label := nameOr(labels[it.ID].Label, it.ID)
		if labels[it.ID].StartLine > 0 {
			label = fmt.Sprintf("%s:%d", label, labels[it.ID].StartLine)
		}
		fmt.Fprintf(b, "| %s | %s | %d | %s: %s |\n", it.Section, cell(label), it.Tokens, it.Reason, cell(it.Detail))
	}
}

func cell(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text)
}

// traceText is a ToolTrace as a list.
func traceText(r *agent.TraceResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Trace of %s\n", nameOr(r.RunID, r.TurnID))
	for _, c := range r.Calls {
		fmt.Fprintf(&b, "\n## %s (%s, %d ms)\n\n`%s`\n", nameOr(c.Title, c.Tool), c.Status, c.MS, cut(string(c.Args), 2000))
		if c.Text != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", cut(c.Text, 8000))
		}
	}
	if len(r.Usage) > 0 {
		b.WriteString("\n## Usage\n\n| call | model | estimated | input | output | ms |\n| ---: | --- | ---: | ---: | ---: | ---: |\n")
		for _, u := range r.Usage {
			fmt.Fprintf(&b, "| %d | %s | %d | %d | %d | %d |\n", u.Round, u.Model, u.Estimated, u.Input, u.Output, u.MS)
		}
	}
	return b.String()
}

// statusText is the status in one line.
func statusText(r *agent.StatusResult) string {
	text := fmt.Sprintf("agent-lsp: %s, %s", r.State, r.Model)
	if r.Pending > 0 {
		text += fmt.Sprintf(", %d changes in %d files wait for your decision", r.Pending, r.PendingFiles)
	}
	return text + fmt.Sprintf(", index %s (%d files)", r.Index.State, r.Index.Files)
}
