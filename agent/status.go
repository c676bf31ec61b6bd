package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
)

// Status says what is going on.
func (e *Engine) Status(ctx context.Context, p *SessionRef) (*StatusResult, error) {
	out := &StatusResult{State: "idle", Version: e.parts.Version, Index: e.indexStatus(), Runs: e.runs(), Mode: ModeExecuting, Tips: e.tips()}
	out.Pending, out.PendingFiles = e.parts.Edits.Pending()
	s, err := e.session(ctx, p.SessionID)
	if err != nil && !(p.SessionID == "" && isCode(err, CodeNotFound)) {
		return nil, err
	}
	name := e.settings().Model
	if s != nil {
		t, err := e.timeline(ctx, s.row.ID, p.BranchID)
		if err != nil {
			return nil, err
		}
		out.SessionID, out.BranchID, out.Mode = s.row.ID, t.branch, s.row.Mode
		if s.row.Model != "" {
			name = s.row.Model
		}
		t.view(func() {
			sum := t.script.sums
			out.History, out.Requests, out.Tokens, out.CostUSD = len(t.script.entries), sum.requests, sum.tokens, sum.cost
			if sum.requests > 0 {
				out.AverageMS = sum.time.Milliseconds() / int64(sum.requests)
			}
			if !sum.last.IsZero() {
				out.LastActivity = sum.last.UTC().Format(time.RFC3339)
			}
			out.State = runState(t.state, out.Pending)
		})
	}
	if m, err := e.parts.Models.Resolve(ctx, name); err == nil {
		out.Model = m.Name
	}
	return out, nil
}

// runState is the one word of the status line.
func runState(s run.State, pending int) string {
	switch {
	case s.Active() && s.Run.Paused:
		return "paused"
	case s.Active() && len(s.Run.Asking) > 0:
		return "waiting"
	case s.Active() && s.Phase == run.Waiting:
		return "starting"
	case s.Active():
		return "running"
	}
	return "idle"
}

// runs lists the active and waiting runs of the workspace by start.
func (e *Engine) runs() []RunInfo {
	out := []RunInfo{}
	for _, t := range e.opened() {
		if r, ok := t.runInfo(); ok {
			r.Position = e.position(r.RunID)
			out = append(out, r)
		}
		if r, ok := t.interrupted(); ok {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].RunID < out[j].RunID })
	return out
}

// opened are the branches that were looked at so far.
func (e *Engine) opened() []*timeline {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.timelines))
}

// Busy tells whether a run goes on or waits for its slot, or is over and its
// clients have not been told everything yet. A paused run is not busy.
func (e *Engine) Busy(ctx context.Context) bool {
	busy := false
	for _, t := range e.opened() {
		// What the loop has begun is told when it takes the next input.
		if _, err := t.send(ctx, request{}); err != nil {
			continue
		}
		t.view(func() { busy = busy || t.state.Active() && !t.state.Run.Paused || t.answers > 0 })
	}
	return busy
}

// answering counts the turns whose answer is on its way to the clients.
func (t *timeline) answering(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answers += n
}

func (t *timeline) runInfo() (RunInfo, bool) {
	var r RunInfo
	ok := false
	t.view(func() {
		s := t.state
		if !s.Active() {
			return
		}
		ok = true
		r = RunInfo{RunID: s.Run.ID, SessionID: t.session, BranchID: t.branch, CycleID: s.Run.CycleID, State: "running",
			Iter: s.Run.Iter, Max: s.Run.Max, Model: s.Run.Model}
		switch {
		case s.Run.Paused:
			r.State = "paused"
		case s.Phase == run.Waiting:
			r.State = "waiting"
		}
		if len(s.Run.Asking) > 0 {
			r.WaitingFor = "permission"
		}
		if x := t.script.turnByID(s.Run.TurnID); x != nil {
			r.Since = x.begun.UTC().Format(time.RFC3339)
		}
	})
	return r, ok
}

// tips are three things to try that fit this repository.
func (e *Engine) tips() []string {
	if e.parts.Tips == nil {
		return []string{}
	}
	return e.parts.Tips()
}

func (e *Engine) indexStatus() IndexStatus {
	return fromIndex(e.parts.Index.Status())
}

func fromIndex(s rag.Status) IndexStatus {
	return IndexStatus{State: s.State, Files: s.Files, Chunks: s.Chunks, Done: s.Done, Total: s.Total, Message: s.Message}
}

// IndexHappened is the index's callback.
func (e *Engine) IndexHappened(s rag.Status) {
	n := fromIndex(s)
	e.each(func(c Client) { c.Index(n) })
}

// planning tells whether a timeline's session may neither write nor execute.
func (e *Engine) planning(t *timeline) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.sessions[t.session]
	return s != nil && s.row.Mode == ModePlanning
}

// counter estimates tokens for a model, as calibrated by what it reported.
func (e *Engine) counter(modelName string) func(string) int {
	e.mu.Lock()
	est := e.estimator
	e.mu.Unlock()
	return func(s string) int { return est.Estimate(modelName, contextplan.Code, s) }
}

// calibrate learns from a model's own count.
func (e *Engine) calibrate(modelName string, estimated int, u model.Usage) {
	if !u.Reported || estimated <= 0 {
		return
	}
	e.mu.Lock()
	e.estimator = e.estimator.Calibrate(modelName, estimated, u.Input)
	body, err := json.Marshal(e.estimator)
	e.mu.Unlock()
	if err == nil {
		err = e.parts.Store.SetSetting(e.base, settingCalibration, string(body))
	}
	if err != nil && e.base.Err() == nil {
		e.logf("what was learnt about token counts is not kept: %v", err)
	}
}

// settingCalibration is where the store keeps what reports taught.
const settingCalibration = "calibration"

// learnt is the estimator as earlier processes left it; a fresh one where
// there is none that can be read.
func learnt(ctx context.Context, s *store.Store) contextplan.Estimator {
	var est contextplan.Estimator
	body, err := s.Setting(ctx, settingCalibration)
	if err != nil || body == "" || json.Unmarshal([]byte(body), &est) != nil {
		return contextplan.Estimator{}
	}
	return est
}

// toolTokens is what the tools' schemas cost, beside the plan.
func (t *timeline) toolTokens(m ResolvedModel, r run.Run) int {
	count := t.e.counter(m.Name)
	n := 0
	for _, s := range t.toolSchemas(r) {
		n += count(s.Name) + count(s.Description) + count(string(s.Schema)) + messageOverheadTokens
	}
	return n
}

// Models lists the models.
func (e *Engine) Models(ctx context.Context, _ *Empty) (*ModelsResult, error) {
	name := e.settings().Model
	if s, err := e.session(ctx, ""); err == nil && s.row.Model != "" {
		name = s.row.Model
	}
	return e.modelsResult(ctx, name), nil
}

func (e *Engine) modelsResult(ctx context.Context, name string) *ModelsResult {
	out := &ModelsResult{Models: e.parts.Models.List(ctx)}
	if m, err := e.parts.Models.Resolve(ctx, name); err == nil {
		out.Current = m.Name
	}
	for i := range out.Models {
		out.Models[i].Current = out.Models[i].Name == out.Current
	}
	return out
}

// ModelSet chooses a session's model.
func (e *Engine) ModelSet(ctx context.Context, p *ModelSetParams) (*ModelsResult, error) {
	if p.Model == "" {
		return nil, missing("model")
	}
	m, err := e.parts.Models.Resolve(ctx, p.Model)
	if err != nil {
		return nil, noModel(err)
	}
	s, err := e.session(ctx, p.SessionID)
	if p.SessionID == "" && isCode(err, CodeNotFound) {
		s, err = e.newSession(ctx, "", "")
	}
	if err != nil {
		return nil, err
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) { row.Model = m.Name }); err != nil {
		return nil, err
	}
	return e.modelsResult(ctx, m.Name), nil
}

// Config gives the effective settings.
func (e *Engine) Config(context.Context, *Empty) (*ConfigResult, error) {
	s := e.settings()
	e.mu.Lock()
	sources := e.sources
	e.mu.Unlock()
	return &ConfigResult{Version: e.parts.Version, Settings: map[string]any{
		"model": s.Model, "steps_max": s.stepsMax(), "budget_tokens": s.Budget.Tokens, "budget_usd": s.Budget.USD, "budget_seconds": s.Budget.Seconds, "runs_max": s.runsMax(), "edits": s.Edits, "permission_timeout": int(s.permissionWait().Seconds()),
		"evidence_tokens": s.evidenceTokens(), "output_bytes": s.outputBytes(), "allow": s.Allow, "ask": s.Ask, "deny": s.Deny,
		"enableCommands": on(s.EnableCommands), "enablePrompts": on(s.EnablePrompts), "enableWorkflows": on(s.EnableWorkflows), "memory": on(s.Memory),
	}, Sources: sources}, nil
}

// on reads a switch that is on unless it was switched off.
func on(v *bool) bool { return v == nil || *v }

// Tools lists the tools.
func (e *Engine) Tools(context.Context, *Empty) (*ToolsResult, error) {
	out := &ToolsResult{Tools: []ToolInfo{}}
	for _, s := range e.parts.Tools.Schemas(nil, false) {
		out.Tools = append(out.Tools, ToolInfo{Name: s.Name, Description: s.Description, Category: string(s.Category), ReadOnly: s.ReadOnly, Schema: s.Schema})
	}
	return out, nil
}

// SessionNew makes a session.
func (e *Engine) SessionNew(ctx context.Context, p *SessionNewParams) (*SessionInfo, error) {
	switch p.Mode {
	case "", ModeExecuting, ModePlanning:
	default:
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown mode %q", p.Mode), Hint: "executing or planning"}
	}
	s, err := e.newSession(ctx, p.Title, p.Mode)
	if err != nil {
		return nil, err
	}
	return e.sessionInfo(ctx, s.row)
}

func (e *Engine) sessionInfo(ctx context.Context, row store.Session) (*SessionInfo, error) {
	out := &SessionInfo{SessionID: row.ID, Title: row.Title, BranchID: row.Branch, Branches: []BranchInfo{}, Model: row.Model, Mode: row.Mode,
		Created: row.Created.UTC().Format(time.RFC3339), LastUsed: row.Used.UTC().Format(time.RFC3339)}
	branches, err := e.parts.Store.Branches(ctx, row.ID)
	if err != nil {
		return nil, storeError(err)
	}
	for _, b := range branches {
		info, err := e.branchInfo(ctx, b)
		if err != nil {
			return nil, err
		}
		out.Turns = max(out.Turns, info.Turns)
		out.Branches = append(out.Branches, info)
	}
	return out, nil
}

// SessionList lists the sessions.
func (e *Engine) SessionList(ctx context.Context, _ *Empty) (*SessionList, error) {
	rows, err := e.parts.Store.Sessions(ctx)
	if err != nil {
		return nil, storeError(err)
	}
	out := &SessionList{Sessions: []SessionInfo{}}
	for _, row := range rows {
		info, err := e.sessionInfo(ctx, row)
		if err != nil {
			return nil, err
		}
		out.Sessions = append(out.Sessions, *info)
	}
	return out, nil
}

// SessionLoad gives a session's step trees, hunks and run; never traces.
func (e *Engine) SessionLoad(ctx context.Context, p *SessionRef) (*SessionLoaded, error) {
	t, err := e.timeline(ctx, p.SessionID, p.BranchID)
	if err != nil {
		return nil, err
	}
	s, err := e.session(ctx, t.session)
	if err != nil {
		return nil, err
	}
	info, err := e.sessionInfo(ctx, s.row)
	if err != nil {
		return nil, err
	}
	cycles, err := e.cyclesOf(t, "steps", "")
	if err != nil {
		return nil, err
	}
	out := &SessionLoaded{SessionInfo: *info, Cycles: *cycles, Edits: EditsResult{Hunks: toHunks(e.parts.Edits.Hunks(edits.Filter{}), encodingOf(ctx))}}
	if r, ok := t.runInfo(); ok {
		r.Position = e.position(r.RunID)
		out.Run = &r
	} else if r, ok := t.interrupted(); ok {
		out.Run = &r
	}
	return out, nil
}

// SessionRename gives a session a title.
func (e *Engine) SessionRename(ctx context.Context, p *SessionRenameParams) (*SessionInfo, error) {
	if p.Title == "" {
		return nil, &Error{Code: CodeBadRequest, Message: "the title is empty"}
	}
	s, err := e.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if err := e.saveSession(ctx, s, func(row *store.Session) { row.Title = p.Title }); err != nil {
		return nil, err
	}
	return e.sessionInfo(ctx, s.row)
}

// SessionDelete deletes a session that has no active run and no pending hunks.
func (e *Engine) SessionDelete(ctx context.Context, p *SessionRef) (*Empty, error) {
	if p.SessionID == "" {
		return nil, missing("sessionId")
	}
	t, err := e.timeline(ctx, p.SessionID, "")
	if err != nil {
		return nil, err
	}
	for _, r := range e.runs() { // of whatever branch
		if r.SessionID == t.session && r.State != "interrupted" {
			return nil, &Error{Code: CodeInvalidState, Message: "run " + r.RunID + " of this session is active", Hint: "cancel it first"}
		}
	}
	if n := len(e.parts.Edits.Hunks(edits.Filter{SessionID: p.SessionID})); n > 0 {
		return nil, &Error{Code: CodeInvalidState, Message: fmt.Sprintf("%d hunks of this session are not decided", n), Hint: "accept or reject them first"}
	}
	if err := e.parts.Store.DeleteSession(ctx, p.SessionID); err != nil {
		return nil, storeError(err)
	}
	e.mu.Lock()
	delete(e.sessions, p.SessionID)
	for key := range e.timelines {
		if strings.HasPrefix(key, p.SessionID+"/") {
			delete(e.timelines, key)
		}
	}
	e.mu.Unlock()
	return &Empty{}, nil
}

// Calibration says how well a model's tokens are estimated, "" before it
// reported any.
func (e *Engine) Calibration(modelName string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.estimator.Calibration(modelName)
	if c.Samples == 0 {
		return ""
	}
	return fmt.Sprintf("token estimates off by %.0f%% over %d calls", c.Error*100, c.Samples)
}
