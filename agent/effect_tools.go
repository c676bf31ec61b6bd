package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/tools"
)

// runCalls runs a batch. Calls that don't touch each other run at once; each
// result goes into the log as soon as it is there.
func (t *timeline) runCalls(ctx context.Context, fx run.RunCalls) {
	scope := t.scope(fx.Run)
	var files tools.Files = t.e.parts.Edits.Files(scope)
	if t.copy != nil {
		files = branchFiles{files, t.copy, fx.Run.TurnID}
	}
	calls := make([]tools.Call, len(fx.Calls))
	for i, c := range fx.Calls {
		calls[i] = tools.Call{Name: c.Tool, Path: pathArg(c.Args)}
		calls[i].ReadOnly = t.e.world.readOnly(c.Tool)
	}
	tools.Batch(ctx, calls, func(ctx context.Context, i int) tools.Result {
		res := t.e.world.call(ctx, t, fx.Run, fx.Calls[i], files)
		if ctx.Err() == nil {
			t.post(run.ToolDone{At: t.e.now(), Epoch: fx.Epoch, Result: res})
		}
		return tools.Result{Status: tools.Status(res.Status), Text: res.Text}
	})
}

// pathArg is the file that a call is about, "" if it names none.
func pathArg(args json.RawMessage) string {
	var a struct{ Path string }
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Path
}

// scope says for whom the calls of a run work.
func (t *timeline) scope(r run.Run) edits.Scope {
	s := edits.Scope{SessionID: t.session, BranchID: t.branch, TurnID: r.TurnID, Mode: edits.Mode(t.e.settings().Edits)}
	t.view(func() {
		if x := t.script.turnByID(r.TurnID); x != nil && x.submitted.Edits != "" {
			s.Mode = edits.Mode(x.submitted.Edits)
		}
	})
	return s
}

// runCall judges one call by the permission rules, asks if it must, and runs it.
func (t *timeline) runCall(ctx context.Context, r run.Run, c run.Call, files tools.Files) tools.Result {
	env := tools.Env{Root: t.e.parts.Root, Roots: t.e.rootsNow(), CallID: c.ID, Files: files, Search: t.e.searcher(t, r),
		Shell: t.e.parts.Shell, Asker: asker{t, r, c}, Archive: archive{t.e}, Seen: t.seen}
	if tool, ok := t.e.parts.Tools.Get(c.Tool); ok {
		spec := tool.Spec()
		if refused, ok := t.ownCopyOnly(spec); !ok {
			return refused
		}
		locate := tools.LocateIn(env.Roots)
		policy := t.e.parts.Permissions.Policy().With(t.ownRules(r.TurnID)...)
		policy.Planning = t.planningTurn(r.TurnID)
		env.Opens, env.Edited = policy.Opens, t.e.openInEditor
		permit := tools.Authorize(ctx, env, policy, spec, tool.Title(c.Args), c.Args, locate)
		if !permit.Allowed {
			return permit.Refusal
		}
		if len(permit.Save) > 0 {
			if err := t.e.parts.Permissions.Save(ctx, permit.Save); err != nil {
				t.e.logf("a permission could not be saved: %v", err)
			}
		}
		t.permitPaths(tools.NewRequest(spec, c.Args, locate), spec, permit)
	}
	if c.Tool == taskName {
		t.e.mu.Lock()
		t.e.subtasks[c.ID] = subtaskOf{t, r}
		t.e.mu.Unlock()
		defer func() {
			t.e.mu.Lock()
			delete(t.e.subtasks, c.ID)
			t.e.mu.Unlock()
		}()
	}
	return t.e.parts.Tools.Run(ctx, env, c.Tool, c.Args)
}

// openInEditor says whether the person has a file open.
func (e *Engine) openInEditor(abs string) bool {
	return slices.Contains(e.parts.Edits.OpenDocs(), e.relative(abs))
}

// ownRules are the rules that came with a turn's message. They hold for its run
// alone, whoever else uses this engine.
func (t *timeline) ownRules(turnID string) []tools.Rule {
	var list []string
	t.view(func() {
		if x := t.script.turnByID(turnID); x != nil {
			list = x.extra().Allow
		}
	})
	rules, err := ownRules(list)
	if err != nil { // Submit refused such
		t.e.logf("the rules of turn %s are passed over: %v", turnID, err)
	}
	return rules
}

// permitPaths opens what the person, or a rule of theirs that names it, has just
// allowed and the ledger would refuse: paths outside the workspace,
// secret-looking ones, git's own and the settings of editors. That a tool may
// write at all opens none of these.
func (t *timeline) permitPaths(req tools.Request, spec tools.Spec, permit tools.Permit) {
	named := permit.Asked || strings.Contains(permit.Decision.Rule, "(")
	access := workspace.AccessRead
	if !spec.ReadOnly {
		access = workspace.AccessWrite
	}
	for _, target := range req.Targets {
		if named || target.Outside || target.Secret {
			if err := t.e.parts.Edits.Permit(target.Abs, access); err != nil {
				t.e.logf("%s: %v", target.Abs, err)
			}
		}
	}
}

// asker asks the person, durably: that it was asked, and what was said.
type asker struct {
	t *timeline
	r run.Run
	c run.Call
}

// Ask implements tools.Asker.
func (a asker) Ask(ctx context.Context, q tools.Question) (tools.Answer, error) {
	e := a.t.e
	if err := a.t.record(ctx, cycle.PermissionAsked{CallID: a.c.ID, Tool: q.Tool, Title: q.Title, Detail: q.Detail, Rule: q.Rule, Destructive: q.Destructive, Time: e.now()}); err != nil {
		return tools.Answer{}, err
	}
	answer, always, unasked := e.world.ask(ctx, a.r, q)
	if ctx.Err() != nil {
		return tools.Answer{}, ctx.Err()
	}
	why := "the person"
	switch {
	case unasked != nil:
		why = unasked.Error()
	case !answer.Allow && answer.Reason != "":
		why = "the person said no: " + answer.Reason
	case !answer.Allow:
		why = "the person said no"
	}
	if err := a.t.record(ctx, cycle.PermissionAnswered{CallID: a.c.ID, Allow: answer.Allow, Always: always, Why: why, Time: e.now()}); err != nil {
		return tools.Answer{}, err
	}
	return answer, unasked
}

// toolResult is a result as the log keeps it. A text over the limit is
// archived first; the model gets its head, its tail and where the rest is.
func (t *timeline) toolResult(ctx context.Context, c run.Call, res tools.Result, took time.Duration) cycle.ToolResult {
	detail, err := json.Marshal(res.Detail)
	if err != nil {
		detail = nil
	}
	out := cycle.ToolResult{CallID: c.ID, Status: cycle.ResultStatus(res.Status), Text: res.Text, MS: took.Milliseconds(), Detail: detail}
	limit := t.e.settings().outputBytes()
	if len(res.Text) <= limit {
		return out
	}
	ref := "out-" + strings.TrimPrefix(c.ID, "c")
	if err := t.e.parts.Store.Archive(ctx, t.session, ref, []byte(res.Text)); err != nil {
		t.e.logf("%v", err)
	} else {
		out.Ref = ref
	}
	out.Text = sandwich(res.Text, limit, out.Ref)
	return out
}

// sandwich is the head and the tail of a text with what is between them said.
func sandwich(text string, limit int, ref string) string {
	head, tail := limit*2/3, limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	at := len(text) - tail
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	lines := strings.Count(text, "\n") + 1
	left := strings.Count(text[head:at], "\n")
	note := fmt.Sprintf("\n[… %s of %s lines left out, %s bytes in all …]\n", contextplan.Thousands(left), contextplan.Thousands(lines), contextplan.Thousands(len(text)))
	full := "\n[Full result could not be archived]"
	if ref != "" {
		full = "\n[Full result saved as ref:" + ref + "]"
	}
	return text[:head] + note + text[at:] + full
}

// archive is the scratchpad as the tools see it.
type archive struct{ e *Engine }

// Get implements tools.Archive.
func (a archive) Get(ctx context.Context, ref string, offset, limit int) ([]byte, int, error) {
	data, err := a.e.parts.Store.Archived(ctx, strings.TrimPrefix(ref, "ref:"))
	if err != nil {
		return nil, 0, err
	}
	from := min(max(0, offset), len(data))
	to := len(data)
	if limit > 0 {
		to = min(from+limit, len(data))
	}
	return data[from:to], len(data), nil
}
