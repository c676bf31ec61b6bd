package toolstest

import (
	"context"
	"fmt"
	"sync"

	"github.com/agent-lsp/agent-lsp/tools"
)

// Asker answers questions in order and remembers them. With no answer left it
// says no.
type Asker struct {
	mu      sync.Mutex
	Answers []tools.Answer
	Asked   []tools.Question
}

// Ask implements tools.Asker.
func (a *Asker) Ask(ctx context.Context, q tools.Question) (tools.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Asked = append(a.Asked, q)
	if len(a.Answers) == 0 {
		return tools.Answer{}, ctx.Err()
	}
	next := a.Answers[0]
	a.Answers = a.Answers[1:]
	return next, ctx.Err()
}

// Shell is a tools.Shell made of a function.
type Shell func(context.Context, tools.Command) (tools.CommandResult, error)

// Run implements tools.Shell.
func (s Shell) Run(ctx context.Context, c tools.Command) (tools.CommandResult, error) {
	return s(ctx, c)
}

// Archive is a scratchpad in memory: ref → content.
type Archive map[string]string

// Get implements tools.Archive.
func (a Archive) Get(_ context.Context, ref string, offset, limit int) ([]byte, int, error) {
	s, ok := a[ref]
	if !ok {
		return nil, 0, fmt.Errorf("there is no %s", ref)
	}
	from := min(offset, len(s))
	return []byte(s[from:min(len(s), from+limit)]), len(s), nil
}
