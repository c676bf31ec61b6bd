package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/tools"
)

// callModel asks the model and streams its reply into the log, coalesced: at
// most about thirty pieces a second, however fast the model is.
func (t *timeline) callModel(ctx context.Context, fx run.CallModel, messages []model.Message) {
	m, err := t.e.parts.Models.Resolve(ctx, fx.Run.Model)
	if err != nil {
		t.post(failedPreparing(t.e.now(), fx.Epoch, noModel(err)))
		return
	}
	req := model.Request{Model: m.ID, Messages: messages, Tools: t.e.world.tools(t, fx.Run)}
	if err := t.storeRound(ctx, fx, m.Name, req, nil); err != nil {
		t.post(failedPreparing(t.e.now(), fx.Epoch, err))
		return
	}
	chat := t.conversational(fx.Run)
	s := streaming{t: t, fx: fx, name: m.Name, begun: time.Now(), base: t.e.parts.NewID("o"), held: chat}
	err = s.read(ctx, m.Model.Stream(ctx, req))
	s.release()
	s.flush()
	if ctx.Err() != nil {
		return // the run was cancelled; what came of it is in the log
	}
	if err != nil {
		t.post(t.failedCall(fx, err))
		return
	}
	estimated := t.estimate(fx.PlanID, ctx)
	t.e.calibrate(m.Name, estimated, s.done.Usage)
	usage := cycle.UsageReported{PlanID: fx.PlanID, Model: m.Name, Estimated: estimated,
		Input: s.done.Usage.Input, Output: s.done.Usage.Output, CacheRead: s.done.Usage.CacheRead, CacheWrite: s.done.Usage.CacheWrite,
		CostUSD: cost(m.Caps, s.done.Usage), Reported: s.done.Usage.Reported,
		MS: time.Since(s.begun).Milliseconds(), FirstMS: s.first.Milliseconds()}
	calls := t.e.world.calls(t, fx.Run, s.done.Calls)
	if err := t.storeRound(ctx, fx, m.Name, req, map[string]any{"text": s.text.String(), "reasoning": s.reasoning.String(), "calls": calls, "finish": s.done.Finish, "usage": s.done.Usage}); err != nil {
		t.post(failedPreparing(t.e.now(), fx.Epoch, err))
		return
	}
	again := false
	if chat {
		if again, err = t.reroute(ctx, fx.Run, s.text.String(), len(calls)); err != nil {
			t.post(failedPreparing(t.e.now(), fx.Epoch, err))
			return
		}
	}
	out := run.Replied{At: t.e.now(), Epoch: fx.Epoch, Finish: string(s.done.Finish), Calls: calls, Carry: s.done.Carry, Usage: usage, Again: again}
	if !again {
		drop := false
		if out.Then, drop, out.Again, out.Stop = t.advance(fx.Run, s.text.String(), len(calls)); drop {
			out.Calls = nil
		}
	}
	t.post(out)
}

// streaming turns deltas into log entries.
type streaming struct {
	t     *timeline
	fx    run.CallModel
	name  string
	begun time.Time
	first time.Duration
	base  string // of the ids of this reply's text items
	n     int    // text items so far
	held  bool   // a reply that may only ask for tools is not shown until it is clear that it does not

	// mu guards what follows: a provider that falls silent must not hold back
	// what it has said, so a timer flushes too.
	mu              sync.Mutex
	timer           *time.Timer      // runs while something is pending
	kind            cycle.OutputKind // of the open item
	pending         strings.Builder  // not yet in the log
	last            time.Time
	text, reasoning strings.Builder
	done            *model.Done
}

// read consumes the stream. A stream without a finish is a failure, whatever
// came before.
func (s *streaming) read(ctx context.Context, stream func(func(model.Delta, error) bool)) error {
	for d, err := range stream {
		if err != nil {
			return err
		}
		if s.first == 0 {
			s.first = max(time.Since(s.begun), time.Microsecond)
		}
		switch {
		case d.Text != "":
			s.text.WriteString(d.Text)
			s.add(cycle.OutputAssistant, d.Text)
		case d.Reasoning != "":
			s.reasoning.WriteString(d.Reasoning)
			s.add(cycle.OutputReasoning, d.Reasoning)
		case d.Done != nil:
			s.done = d.Done
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return &model.Error{Kind: model.CutOff, Model: s.name, Message: "the stream ended without a finish", Hint: "it is tried again"}
}

// add buffers a piece; a change of voice begins a new text item.
func (s *streaming) add(kind cycle.OutputKind, text string) {
	if s.held && kind == cycle.OutputAssistant {
		if said := strings.TrimSpace(s.text.String()); strings.HasPrefix(needTools, said) || strings.HasPrefix(said, needTools) {
			return
		}
		s.held, text = false, s.text.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind != s.kind {
		s.put()
		s.kind = kind
		s.n++
	}
	s.pending.WriteString(text)
	pace := s.t.e.world.pace()
	switch since := time.Since(s.last); {
	case since >= pace:
		s.put()
	case s.timer == nil:
		s.timer = time.AfterFunc(pace-since, s.flush)
	}
}

// release lets a held reply go that was no request for tools after all.
func (s *streaming) release() {
	if said := strings.TrimSpace(s.text.String()); s.held && said != "" && !strings.HasPrefix(said, needTools) {
		s.held = false
		s.add(cycle.OutputAssistant, s.text.String())
	}
}

func (s *streaming) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put()
}

// put writes down what is pending; mu is held.
func (s *streaming) put() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	if s.pending.Len() == 0 {
		return
	}
	s.t.post(run.Output{At: s.t.e.now(), Epoch: s.fx.Epoch, ID: s.base + "." + strconv.Itoa(s.n), Kind: s.kind, Text: s.pending.String()})
	s.pending.Reset()
	s.last = time.Now()
}

// newCalls gives a reply's calls their ids and titles. What can't be run gets
// its refusal here, in words for the model.
func (t *timeline) newCalls(r run.Run, calls []model.Call) []run.NewCall {
	var out []run.NewCall
	for _, c := range calls {
		n := run.NewCall{ID: t.e.parts.NewID("c"), Tool: c.Name, Args: c.Args, Title: t.e.parts.Tools.Title(c.Name, c.Args)}
		switch {
		case c.Invalid != "":
			n.Args = json.RawMessage("{}")
			n.Refusal = "the arguments could not be read: " + c.Invalid + "; send a JSON object that fits the tool's schema"
		case !json.Valid(c.Args):
			n.Args = json.RawMessage("{}")
			n.Refusal = "the arguments are no JSON; send a JSON object that fits the tool's schema"
		default:
			n.Args = compacted(c.Args)
		}
		out = append(out, n)
	}
	return out
}

// compacted is JSON without spaces, as the log keeps it: what is sent to the
// model again must not depend on whether the process was restarted.
func compacted(args json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, args) != nil {
		return args
	}
	return b.Bytes()
}

// plainJSON is JSON in which nothing is escaped for HTML: raw JSON in it keeps
// its bytes.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Backoff of failed model calls.
const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 30 * time.Second
	waitMax      = 2 * time.Minute // longest retry-after that is obeyed
)

// failedCall is a failed model call as an input: whether and when to try again.
func (t *timeline) failedCall(fx run.CallModel, err error) run.Failed {
	f := run.Failed{At: t.e.now(), Epoch: fx.Epoch, Kind: kindInternal, Message: err.Error()}
	var e *model.Error
	if !errors.As(err, &e) {
		return f
	}
	f.Kind = string(e.Kind)
	f.Retry = e.Retriable() && e.RetryAfter <= waitMax
	f.RetryIn = e.RetryAfter
	if f.RetryIn == 0 {
		d := min(backoffFirst<<min(fx.Run.Attempt, 6)/2, backoffMax)
		f.RetryIn = d/2 + rand.N(d/2) // jitter, so that ten runs don't come back at once
	}
	return f
}

func cost(c model.Caps, u model.Usage) float64 {
	if u.CostUSD > 0 {
		return u.CostUSD
	}
	return c.Cost(u)
}

// storeRound keeps a raw request, and its reply once there is one.
func (t *timeline) storeRound(ctx context.Context, fx run.CallModel, name string, req model.Request, reply any) error {
	body, err := plainJSON(map[string]any{"round": fx.Run.Calls, "planId": fx.PlanID, "model": name, "request": req, "response": reply})
	if err != nil {
		return err
	}
	return storeError(t.e.parts.Store.Replace(ctx, store.Artifact{Kind: store.KindRound, ID: roundID(fx.Run.ID, fx.Run.Calls),
		Session: t.session, Branch: t.branch, Turn: fx.Run.TurnID, Run: fx.Run.ID, Body: body}))
}

func roundID(runID string, call int) string {
	n := strconv.Itoa(call)
	return runID + "/" + strings.Repeat("0", max(0, 4-len(n))) + n
}

// estimate is what the request was thought to cost: the plan and the tools'
// schemas.
func (t *timeline) estimate(planID string, ctx context.Context) int {
	r, err := t.e.record(ctx, planID)
	if err != nil {
		return 0
	}
	return r.Plan.Budget.Estimated + r.ToolTokens
}

// toolSchemas are the tools that a run's model is told of: none in the
// self-assessment and in small talk, read-only ones in planning.
func (t *timeline) toolSchemas(r run.Run) []model.Tool {
	if r.Final || t.conversational(r) {
		return nil
	}
	out := []model.Tool{}
	for _, s := range t.e.parts.Tools.Schemas(t.offered(r), t.planningTurn(r.TurnID)) {
		if s.Name == skillName && !t.e.hasSkills(t.e.base) {
			continue
		}
		out = append(out, toolSchema(s))
	}
	return out
}

func toolSchema(s tools.Spec) model.Tool {
	return model.Tool{Name: s.Name, Description: s.Description, Schema: s.Schema}
}
