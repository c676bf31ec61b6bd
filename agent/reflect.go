package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/tools"
)

// After each batch of calls the model gets a short assessment of each, made by
// rules from what the tools reported: a stable state to reason from, instead of
// raw text alone. It is a function of the log, so it is the same in every later
// request, and it goes with its calls or not at all.

// reflectionMark begins the note.
const reflectionMark = "[TOOL REFLECTION]"

// Limits of a reflection.
const (
	findingMax     = 120 // characters
	ledgerLinesMax = 400 // of the run's ledger; the oldest give way
)

// reflection is the assessment of one call.
type reflection struct{ tool, status, finding, next string }

// reflect judges a call by its result.
func reflect(c entryCall) reflection {
	r := reflection{tool: c.tool, status: "error", finding: "no result"}
	if c.result == nil {
		r.next = "ask again if it is still needed"
		return r
	}
	var d tools.Detail
	_ = json.Unmarshal(c.result.Detail, &d) // no detail: the text says it
	r.finding = d.Summary
	if r.finding == "" {
		r.finding = firstLine(c.result.Text)
	}
	switch {
	case d.Refused != "" || d.Blocked:
		r.status, r.next = "blocked", "do something else, or say what is in the way"
		if d.Refused != "" {
			r.finding = d.Refused
		}
	case c.result.Status == cycle.ResultCancelled:
		r.finding, r.next = "cancelled", "it did not end; ask again only if it is still needed"
	case c.result.Status == cycle.ResultError:
		r.next = nextAfterError(c.tool)
	case c.result.Ref != "":
		r.status, r.next = "partial", "page through ref:"+c.result.Ref+" with scratchpad, or narrow it down"
	case d.Truncated:
		r.status, r.next = "partial", "narrow it down, or page on"
	default:
		r.status, r.next = "ok", nextAfterOK(c.tool, d)
	}
	r.finding = clipWords(r.finding, findingMax)
	return r
}

func nextAfterError(tool string) string {
	switch tool {
	case "edit", "write":
		return "read the lines again, then repeat the edit"
	case "bash":
		return "find the cause in the output"
	case "read", "ls":
		return "check the path"
	}
	return "change the arguments"
}

func nextAfterOK(tool string, d tools.Detail) string {
	switch tool {
	case "edit", "write":
		return "check it"
	case "grep", "find", "search", "symbols", "references":
		if d.Matches == 0 && len(d.Paths) == 0 {
			return "look for something else"
		}
	}
	return "use it"
}

func clipWords(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func (r reflection) String() string {
	return fmt.Sprintf("tool=%s status=%s finding=%q next_action=%q", r.tool, r.status, r.finding, r.next)
}

// reflections is the note on a batch; "" until every call has its result.
func reflections(calls []entryCall) string {
	if len(calls) == 0 {
		return ""
	}
	lines := []string{reflectionMark}
	for _, c := range calls {
		if c.result == nil {
			return ""
		}
		lines = append(lines, reflect(c).String())
	}
	return strings.Join(lines, "\n")
}

// LedgerRef is where the scratchpad keeps what a run did, step by step.
func LedgerRef(runID string) string { return "run_step_ledger-" + runID }

// writeLedger brings a run's ledger up to date.
func (t *timeline) writeLedger(ctx context.Context, turnID, runID string) error {
	var lines []string
	t.view(func() {
		step := 0
		for i := range t.script.entries {
			x := &t.script.entries[i]
			if x.kind != entryReply || !x.done || t.script.turns[x.turn].id != turnID {
				continue
			}
			step++
			for _, c := range x.calls {
				lines = append(lines, fmt.Sprintf("step %d: %s %s", step, reflect(c), c.title))
			}
		}
	})
	if len(lines) == 0 {
		return nil
	}
	lines = lines[max(0, len(lines)-ledgerLinesMax):]
	return storeError(t.e.parts.Store.Rewrite(ctx, t.session, LedgerRef(runID), []byte(strings.Join(lines, "\n")+"\n")))
}
