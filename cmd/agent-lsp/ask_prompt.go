package main

import (
	"context"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// prompt is a question to the person at the terminal: one key answers it, and
// for some keys a reason that is typed.
type prompt struct {
	box     []string // rows above the keys
	choices string   // the row that names the keys
	keys    string   // those that answer
	why     string   // those of keys that want a reason
	done    func(key rune, reason string)

	typing *typing
	chosen rune
}

// key takes a key.
func (p *prompt) key(k rune) {
	if p.typing != nil {
		if k == keyEscape {
			p.typing = nil
			return
		}
		if line, whole := p.typing.key(k); whole {
			p.done(p.chosen, line)
		}
		return
	}
	switch {
	case strings.ContainsRune(p.why, k):
		p.chosen, p.typing = k, &typing{}
	case strings.ContainsRune(p.keys, k):
		p.done(k, "")
	}
}

func (p *prompt) rows(a *ask) []string {
	last := a.pal.wait(p.choices)
	if p.typing != nil {
		last = a.pal.wait("why? ") + cycle.Clean(p.typing.text)
	}
	return append(slices.Clone(p.box), last)
}

// question is a permission that the server asks for.
type question struct {
	params agent.PermissionParams
	reply  chan agent.PermissionResult // capacity 1
	asked  bool                        // the step tree has shown it waiting
}

// refusal is a permission that nobody could be asked for.
type refusal struct {
	tool, what string
	rules      []string // that would permit it
}

// permission answers agent/permission. It runs on a goroutine of its own.
func (a *ask) permission(ctx context.Context, p agent.PermissionParams) (agent.PermissionResult, error) {
	q := &question{params: p, reply: make(chan agent.PermissionResult, 1)}
	a.post(func() { a.consider(q) })
	select {
	case r := <-q.reply:
		return r, nil
	case <-a.ctx.Done():
		return agent.PermissionResult{}, a.ctx.Err()
	case <-ctx.Done():
		return agent.PermissionResult{}, ctx.Err()
	}
}

// consider puts a permission to the person, or refuses it where there is nobody.
func (a *ask) consider(q *question) {
	if a.tty != nil {
		a.asked = append(a.asked, q)
		a.nextQuestion()
		return
	}
	a.refused = append(a.refused, refusal{tool: q.params.Tool, what: firstRow(q.params.Title), rules: rulesOf(q.params)})
	q.reply <- agent.PermissionResult{OptionID: optionOf(q.params, "reject_once"),
		Reason: "nobody is at the terminal to ask; the person may run it again with --allow"}
}

// nextQuestion shows the first question that waits, if none is shown.
func (a *ask) nextQuestion() {
	if a.prompt != nil || len(a.asked) == 0 {
		return
	}
	q := a.asked[0]
	p := q.params
	keys, choices := "yn", "[y] once  "
	if rules := rulesOf(p); len(rules) > 0 {
		keys += "a"
		choices += "[a] always: " + strings.Join(rules, ", ") + "  "
	}
	choices += "[n] no  [N] no, because…"
	a.prompt = &prompt{box: a.permissionBox(p), choices: a.pal.plain(choices), keys: keys, why: "N", done: func(k rune, reason string) {
		kind := map[rune]string{'y': "allow_once", 'a': "allow_always", 'n': "reject_once", 'N': "reject_once"}[k]
		a.settle(q, agent.PermissionResult{OptionID: optionOf(p, kind), Reason: reason})
	}}
}

// settle answers a question and goes on with the next.
func (a *ask) settle(q *question, r agent.PermissionResult) {
	q.reply <- r
	if len(a.asked) > 0 && a.asked[0] == q {
		a.prompt = nil
	}
	a.asked = slices.DeleteFunc(a.asked, func(x *question) bool { return x == q })
	a.nextQuestion()
}

// dropQuestions takes back what needs no answer any more: its call is over.
func (a *ask) dropQuestions() {
	for _, q := range slices.Clone(a.asked) {
		state := a.follow.meta.Calls[q.params.ToolCallID].State
		switch {
		case state == "asking":
			q.asked = true
		case state == "running" && !q.asked, state == "":
		default:
			a.settle(q, agent.PermissionResult{}) // no option: nobody has answered here
		}
	}
}

// permissionBox is the look of a permission, without its keys.
func (a *ask) permissionBox(p agent.PermissionParams) []string {
	inner := min(a.columns()-4, boxColumnsMax)
	title := " " + p.Tool + " wants to run "
	var body []string
	for _, row := range append(cleanRows(p.Title), cleanRows(p.Detail)...) {
		if row != "" && !slices.Contains(body, row) {
			body = append(body, row)
		}
	}
	if p.Destructive {
		body = append(body, "this may destroy what can't be had back")
	}
	if len(body) > boxRowsMax {
		body = append(body[:boxRowsMax], "…")
	}
	rule := func(left, text, right string) string {
		return a.pal.wait(a.pal.plain(left + text + strings.Repeat("─", max(0, inner+2-cycle.Columns(text))) + right))
	}
	rows := []string{rule("┌", title, "┐")}
	edge := a.pal.wait(a.pal.plain("│"))
	for _, row := range body {
		row = cutANSI(row, inner, a.pal.sign("…", "..."))
		rows = append(rows, edge+" "+row+strings.Repeat(" ", max(0, inner-cycle.Columns(row)))+" "+edge)
	}
	rows = append(rows, rule("└", "", "┘"))
	if p.Diff != "" {
		rows = append(a.pal.diff(p.Diff), rows...)
	}
	return rows
}

// Limits of the box.
const (
	boxColumnsMax = 76
	boxRowsMax    = 12
)

// optionOf finds the option of a kind.
func optionOf(p agent.PermissionParams, kind string) string {
	for _, o := range p.Options {
		if o.Kind == kind {
			return o.ID
		}
	}
	return kind
}

// rulesOf reads the rules out of an option's name, one a line behind the words:
// "Always allow bash(go build *) = allow".
func rulesOf(p agent.PermissionParams) []string {
	var rules []string
	for _, o := range p.Options {
		if o.Kind != "allow_always" {
			continue
		}
		for rule := range strings.SplitSeq(strings.TrimPrefix(o.Name, "Always allow "), "\n") {
			if rule = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rule), "= allow")); rule != "" {
				rules = append(rules, cycle.Clean(rule))
			}
		}
	}
	return rules
}

// choose asks the person for a key.
func (a *ask) choose(choices, keys, why string) (key rune, reason string, err error) {
	done := false
	a.prompt = &prompt{choices: a.pal.plain(choices), keys: keys, why: why, done: func(k rune, r string) {
		key, reason, done, a.prompt = k, r, true, nil
	}}
	for len(a.ahead) > 0 && !done {
		next := a.ahead[0]
		a.ahead = a.ahead[1:]
		a.prompt.key(next) // done takes the prompt away
	}
	err = a.until(func() bool { return done })
	a.prompt = nil
	return key, reason, err
}
