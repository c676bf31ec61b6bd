package agent

import (
	"context"
	_ "embed"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

//go:embed prompts/title.md
var promptTitle string

// Limits of a title that a model makes.
const (
	titleWait  = 10 * time.Second
	titleRunes = 60
)

// nameSession gives a session that nobody named a better title than the first
// words of its first message: once, after its first turn, by the small model.
// Where there is none, the first words stay.
func (t *timeline) nameSession(ctx context.Context, r run.Run, x turn) {
	e := t.e
	s, err := e.session(ctx, t.session)
	first := false
	t.view(func() { first = len(t.script.turns) > 0 && t.script.turns[0].id == x.id })
	if err != nil || !first || r.Model == builtinModel {
		return
	}
	e.mu.Lock()
	auto := s.row.Title == titleOf(x.input)
	e.mu.Unlock()
	if !auto {
		return
	}
	m, err := e.parts.Models.Resolve(ctx, routerAlias)
	if err != nil {
		return
	}
	wait, cancel := context.WithTimeout(ctx, titleWait)
	defer cancel()
	reply, err := e.ask(wait, t, r, m, "title", promptTitle, x.input[:min(len(x.input), routeInputMax)])
	if err != nil {
		e.logf("session %s got no title: %v", t.session, err)
		return
	}
	title := titleFrom(reply)
	if title == "" {
		return
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) {
		if row.Title == titleOf(x.input) { // nobody named it meanwhile
			row.Title = title
		}
	}); err != nil {
		e.logf("%v", err)
		return
	}
	if err := t.record(ctx, cycle.SettingChanged{Name: "title", Value: title, Time: e.now()}); err != nil {
		e.logf("%v", err)
	}
}

// titleFrom is the one line of a model's answer.
func titleFrom(reply string) string {
	if i := strings.LastIndex(reply, "</think>"); i >= 0 {
		reply = reply[i+len("</think>"):]
	}
	title := strings.Trim(firstLine(reply), " \t\"'`#*.")
	if r := []rune(title); len(r) > titleRunes {
		title = string(r[:titleRunes-1]) + "…"
	}
	return title
}
