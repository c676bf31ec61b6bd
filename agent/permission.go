package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/tools"
)

// The options of a permission.
const (
	optionOnce   = "allow_once"
	optionAlways = "allow_always"
	optionNo     = "reject_once"
)

// question is a permission that waits for its answer. Every client that can
// answer is asked, those that come later too; the first answer counts, and the
// others' questions are taken back. A client that goes has answered nothing:
// the question then waits for the next one.
type question struct {
	params PermissionParams
	ctx    context.Context // its end takes the question back; the cause is what clients are told
	got    chan PermissionResult
	none   chan struct{} // closed when nobody is left who could answer
	asked  int           // who could still answer; guarded by Engine.mu
	left   bool          // one of the asked went away; guarded by Engine.mu
}

// Withdrawn is the cause with which a client's Permission is taken back: what
// became of the question meanwhile, in words for the person.
type Withdrawn struct{ Verdict string }

func (w Withdrawn) Error() string { return "the question was settled: " + w.Verdict }

// askPerson asks every client that can answer. No answer in time, or nobody to
// ask, is no, and unasked says why.
func (e *Engine) askPerson(ctx context.Context, r run.Run, q tools.Question) (a tools.Answer, always string, unasked error) {
	p := PermissionParams{RunID: r.ID, ToolCallID: q.CallID, Tool: q.Tool, Title: q.Title, Detail: q.Detail, Diff: q.Diff, Destructive: q.Destructive,
		Options: []PermissionOption{{ID: optionOnce, Kind: optionOnce, Name: "Allow once"}}}
	if q.Rule != "" && !q.Destructive {
		p.Options = append(p.Options, PermissionOption{ID: optionAlways, Kind: optionAlways, Name: "Always allow " + q.Rule})
	}
	p.Options = append(p.Options, PermissionOption{ID: optionNo, Kind: optionNo, Name: "No"})
	limit := e.settings().permissionWait()
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	asking, settle := context.WithCancelCause(ctx)
	defer settle(Withdrawn{"nobody answered in time, or the run is over"})
	open := &question{params: p, ctx: asking, got: make(chan PermissionResult, 1), none: make(chan struct{})}
	if !e.putQuestion(open) {
		return tools.Answer{}, "", errors.New("no attached client answers permissions")
	}
	defer e.dropQuestion(open)
	select {
	case res := <-open.got:
		if res.OptionID == optionNo {
			settle(Withdrawn{"it was rejected"})
			return tools.Answer{Reason: res.Reason}, "", nil
		}
		settle(Withdrawn{"it was allowed"})
		if res.OptionID == optionAlways {
			return tools.Answer{Allow: true, Always: true}, q.Rule, nil
		}
		return tools.Answer{Allow: true}, "", nil
	case <-open.none:
		return tools.Answer{}, "", errors.New("no attached client could answer")
	case <-ctx.Done():
		return tools.Answer{}, "", fmt.Errorf("no answer within %s", limit)
	}
}

// putQuestion asks everybody; false where there is nobody to ask.
func (e *Engine) putQuestion(q *question) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id := 0; id < e.nextID; id++ {
		if c, ok := e.clients[id]; ok {
			e.askClient(q, c)
		}
	}
	if q.asked > 0 {
		e.questions = append(e.questions, q)
	}
	return q.asked > 0
}

func (e *Engine) dropQuestion(q *question) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.questions = slices.DeleteFunc(e.questions, func(x *question) bool { return x == q })
}

// askClient asks one client, if it can be asked. An answer that was not offered
// is none. Engine.mu must be held.
func (e *Engine) askClient(q *question, c Client) {
	if caps := c.Caps(); !caps.Permission && !caps.Plain {
		return
	}
	select {
	case <-q.none:
		return
	default:
	}
	q.asked++
	e.running.Add(1)
	go func() {
		defer e.running.Done()
		res, err := c.Permission(q.ctx, q.params)
		if err == nil && slices.ContainsFunc(q.params.Options, func(o PermissionOption) bool { return o.ID == res.OptionID }) {
			select {
			case q.got <- res:
			default: // another one was first
			}
			return
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		q.left = q.left || errors.Is(err, ErrGone)
		if q.asked--; q.asked == 0 && !q.left {
			close(q.none)
		}
	}()
}
