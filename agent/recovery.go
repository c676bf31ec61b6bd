package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
)

// Start takes up what the last process left: controls that may be retried are
// remembered, and every branch with an active, paused or waiting run is
// opened, so that the run has its slot and clients hear of it when they attach.
// It is called once, before the first Attach; an Observer never calls it.
func (e *Engine) Start(ctx context.Context) error {
	done, err := e.parts.Store.ControlsSince(ctx, e.now().Add(-dedupWindow), dedupMax)
	if err != nil {
		return storeError(err)
	}
	for _, c := range done {
		e.desk.settle(c.RequestID, c.Result, c.Time)
	}
	list, err := e.parts.Store.Unfinished(ctx)
	if err != nil {
		return storeError(err)
	}
	for _, b := range list {
		if _, err := e.timeline(ctx, b.Session, b.Branch); err != nil {
			e.logf("session %s: its run could not be taken up: %v", b.Session, err) // the others can
		}
	}
	return nil
}

// continuation is the input that goes on with an interrupted run: the turn's
// own message again, after all that the run did, which the model sees.
func (t *timeline) continuation(runID, model string) (run.Continue, error) {
	e := t.e
	in := run.Continue{At: e.now(), RunID: runID, ID: e.parts.NewID("m"), TurnID: e.parts.NewID("t"), NewRunID: e.parts.NewID("r"),
		Model: model, Max: e.settings().stepsMax(), Budget: e.settings().Budget}
	found := false
	var rest *cycle.Workflow
	t.view(func() {
		for _, x := range t.script.turns {
			if x.run == runID {
				found, in.Text, in.Submitted, rest = true, x.input, x.submitted, x.workflow
			}
		}
	})
	if !found {
		return in, &Error{Code: CodeNotFound, Message: fmt.Sprintf("Run %s is not active", runID)}
	}
	if w := rest; w != nil { // the steps that are done are not done again
		extra := readExtra(in.Submitted.Extra)
		extra.Workflow = w
		body, err := json.Marshal(extra)
		if err != nil {
			return in, err
		}
		in.Submitted.Extra = body
	}
	in.Submitted.ClientRequestID, in.Submitted.TurnID, in.Submitted.MessageID = "", in.TurnID, in.ID
	return in, nil
}

// goOn carries out a resume of a run that a crash cut off.
func (e *Engine) goOn(ctx context.Context, t *timeline, msg controlMessage, from Client, reply func(controlResult) json.RawMessage) error {
	name := e.settings().Model
	if s, err := e.session(ctx, t.session); err == nil && s.row.Model != "" {
		name = s.row.Model
	}
	m, err := e.parts.Models.Resolve(ctx, name)
	if err != nil {
		return noModel(err)
	}
	var result json.RawMessage
	_, err = t.send(ctx, request{
		with: func(s run.State) (run.Input, []cycle.Event, error) {
			in, err := t.continuation(msg.Target.RunID, m.Name)
			if err != nil {
				return nil, nil, err
			}
			ready, err := run.Step(s, in)
			if err != nil {
				return nil, nil, toError(err)
			}
			r := controlResult{Status: statusSuccess, Iteration: ready.Before, RunID: in.NewRunID, Message: "goes on as run " + in.NewRunID}
			if ready.Kind == "followUp" {
				r.Message += ", once the active run has ended"
			}
			result = reply(r)
			return in, []cycle.Event{cycle.ControlDone{RequestID: msg.RequestID, Result: result, Time: e.now()}}, nil
		},
		answer: func(_ run.ReadyTo, err error) {
			if err == nil {
				e.desk.settle(msg.RequestID, result, e.now())
				from.Loop(topicControl, result)
			}
		},
	})
	return err
}

// interrupted is a branch's run that may be taken up again, if there is one.
func (t *timeline) interrupted() (RunInfo, bool) {
	var r RunInfo
	ok := false
	t.view(func() {
		if t.state.Interrupted == "" {
			return
		}
		for _, x := range t.script.turns {
			if x.run == t.state.Interrupted {
				ok = true
				r = RunInfo{RunID: x.run, SessionID: t.session, BranchID: t.branch, CycleID: x.cycle, State: "interrupted", Resumable: true,
					Max: t.e.settings().stepsMax(), Since: x.begun.UTC().Format(time.RFC3339)}
				if n := len(x.usage); n > 0 {
					r.Iter, r.Model = n, x.usage[n-1].Model
				}
			}
		}
	})
	return r, ok
}
