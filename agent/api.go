package agent

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rag"
)

// This file is the one definition of what editors may ask and what they get:
// rpc registers these types under their method names, and the TypeScript, Lua,
// JSON Schema and Markdown faces of the protocol are generated from them.
// Fields may be added, never silently renamed. Every list is [] when empty.

// Position is a place in a document: 0-based line, and a column in the units
// that the session agreed on (UTF-16 unless said otherwise).
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a half-open piece of a document.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// lines are the first and the last line that a range holds something of, from 1.
// One that ends before the first character of a line doesn't hold that line.
func (r Range) lines() (first, last int) {
	first, last = r.Start.Line+1, r.End.Line+1
	if r.End.Character == 0 && last > first {
		last--
	}
	return first, last
}

// Attachment is something the person put beside their message.
type Attachment struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitempty"`
	Kind  string `json:"kind,omitempty"` // file (default), selection, diagnostics, image
}

// Focus is where the person is looking; retrieval and planning lean towards it.
type Focus struct {
	URI     string   `json:"uri,omitempty"`
	Range   *Range   `json:"range,omitempty"`
	Visible []string `json:"visible,omitempty"` // URIs of the documents in view
	Scope   []string `json:"scope,omitempty"`   // paths, globs, modules or symbols to keep to
}

// SubmitParams is a message from the person.
type SubmitParams struct {
	Input           string            `json:"input"`
	SessionID       string            `json:"sessionId,omitempty"` // absent: the workspace's latest session, or a new one
	BranchID        string            `json:"branchId,omitempty"`  // absent: the session's current branch
	Delivery        string            `json:"delivery,omitempty"`  // auto (default), steer, followUp
	Mode            string            `json:"mode,omitempty"`      // executing, planning; absent: the session's
	Durable         *bool             `json:"durable,omitempty"`   // false: a one-off question, never remembered
	Attachments     []Attachment      `json:"attachments,omitempty"`
	Focus           *Focus            `json:"focus,omitempty"`
	IssueID         string            `json:"issueId,omitempty"`
	Environment     map[string]string `json:"environment,omitempty"`
	Source          string            `json:"source"`                    // who asks: vscode, neovim, ask, …
	ClientRequestID string            `json:"clientRequestId,omitempty"` // the same id twice is the same message
	// Edits is how this message's edits land: review, ask, or hold (nothing is
	// written, hunks are only proposed). Absent: the session's setting.
	Edits string `json:"edits,omitempty"`
	// Model is this message's run's model, by name or alias; absent: the session's.
	Model string `json:"model,omitempty"`
	// Allow are permission rules for this message's run alone, such as
	// "bash(go test *)". What a rule denies stays denied.
	Allow []string `json:"allow,omitempty"`
}

// SubmitResult is given as soon as the message is durable.
type SubmitResult struct {
	SessionID     string       `json:"sessionId"`
	BranchID      string       `json:"branchId"`
	TurnID        string       `json:"turnId"`
	CycleID       string       `json:"cycleId"`
	RunID         string       `json:"runId,omitempty"`
	Kind          string       `json:"kind"`                    // direct, steer, followUp
	QueuePosition int          `json:"queuePosition,omitempty"` // 1 = next; of a followUp, or of a run that waits for a free slot
	Response      *Response    `json:"response,omitempty"`      // a state command's whole answer
	Chips         []cycle.Chip `json:"chips,omitempty"`         // what was found in the message beside its words
}

// Response is a finished answer.
type Response struct {
	Content       string           `json:"content"`
	Type          string           `json:"type"`          // command, prompt, workflow
	Confidence    float64          `json:"confidence"`    // 0 to 1
	ExecutionTime int64            `json:"executionTime"` // milliseconds
	Success       bool             `json:"success"`
	Error         string           `json:"error,omitempty"`
	Metadata      ResponseMetadata `json:"metadata"`
}

// ResponseMetadata says how an answer came to be.
type ResponseMetadata struct {
	Classification      *Classification `json:"classification,omitempty"`
	AgentProcessingTime int64           `json:"agentProcessingTime"` // milliseconds
	RequestCount        int             `json:"requestCount"`
	SessionID           string          `json:"sessionId"`
	Source              string          `json:"source"`
	TurnID              string          `json:"turnId,omitempty"`
	PlanIDs             []string        `json:"planIds"`
	RetrievalSetIDs     []string        `json:"retrievalSetIds"`
	ErrorType           string          `json:"errorType,omitempty"`
	FailedAt            string          `json:"failedAt,omitempty"`
	Workflow            *cycle.Workflow `json:"workflow,omitempty"`
}

// Classification says what kind of input a message is.
type Classification struct {
	Type       string         `json:"type"`       // command, prompt, workflow
	Confidence float64        `json:"confidence"` // 0 to 1
	Method     string         `json:"method"`     // rule-based, state-command
	Metadata   map[string]any `json:"metadata,omitempty"`
}

// SessionRef names a session, and a branch of it.
type SessionRef struct {
	SessionID string `json:"sessionId,omitempty"` // absent: the workspace's latest
	BranchID  string `json:"branchId,omitempty"`  // absent: the session's current
}

// SessionInfo is a session without its content.
type SessionInfo struct {
	SessionID string       `json:"sessionId"`
	Title     string       `json:"title"`
	BranchID  string       `json:"branchId"` // the current one
	Branches  []BranchInfo `json:"branches"`
	Created   string       `json:"created"`    // RFC 3339
	LastUsed  string       `json:"lastActive"` // RFC 3339
	Turns     int          `json:"turns"`
	Model     string       `json:"model"`
	Mode      string       `json:"mode"` // executing, planning
}

// BranchInfo is a named timeline.
type BranchInfo struct {
	BranchID string `json:"branchId"`
	Name     string `json:"name"`
	Parent   string `json:"parent,omitempty"`
	ForkTurn string `json:"forkTurnId,omitempty"`
	Turns    int    `json:"turns"`
	Active   bool   `json:"active"` // a run is going on
}

// BranchForkParams asks for a branch from branchId (absent: the current one).
type BranchForkParams struct {
	SessionRef
	FromTurnID string `json:"fromTurnId,omitempty"` // absent: the latest turn that has ended
	Name       string `json:"name,omitempty"`       // absent: made from the parent's
}

// BranchList is a session's branches, main first.
type BranchList struct {
	SessionID string       `json:"sessionId"`
	Current   string       `json:"current"` // where messages without a branchId go
	Branches  []BranchInfo `json:"branches"`
}

// BranchCompareParams names two branches by id or name.
type BranchCompareParams struct {
	SessionID string `json:"sessionId,omitempty"`
	A         string `json:"a,omitempty"` // absent: the current one
	B         string `json:"b,omitempty"` // absent: the current one
}

// BranchComparison is the latest turns of two branches side by side. Evidence
// is path:start-end.
type BranchComparison struct {
	SessionID string                `json:"sessionId"`
	A         BranchSide            `json:"a"`
	B         BranchSide            `json:"b"`
	Shared    []string              `json:"shared"` // evidence of both
	OnlyA     []string              `json:"onlyA"`
	OnlyB     []string              `json:"onlyB"`
	Plans     *contextplan.PlanDiff `json:"plans,omitempty"` // from A's last plan to B's
}

// BranchSide is one branch in a comparison.
type BranchSide struct {
	Branch         BranchInfo     `json:"branch"`
	TurnID         string         `json:"turnId,omitempty"` // absent: nothing was asked yet
	Input          string         `json:"input"`
	RetrievalSetID string         `json:"retrievalSetId,omitempty"`
	Evidence       []string       `json:"evidence"`
	PlanID         string         `json:"planId,omitempty"`
	Calls          []TraceCall    `json:"calls"`
	Usage          []UsageReport  `json:"usage"`
	Outcome        *OutcomeResult `json:"outcome,omitempty"`
	Diffs          []BranchDiff   `json:"diffs"` // of a fork: all that it has changed; of main: what the turn did
}

// BranchDiff is what a branch did to a file.
type BranchDiff struct {
	Path    string `json:"path"`
	Diff    string `json:"diff"` // unified
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
}

// BranchAdopted says what became of each file that a branch had changed.
type BranchAdopted struct {
	SessionID string        `json:"sessionId"`
	BranchID  string        `json:"branchId"`
	Files     []AdoptedFile `json:"files"`
}

// AdoptedFile is one file of an adopted branch: now pending hunks, or skipped.
type AdoptedFile struct {
	Path    string `json:"path"`
	EditID  string `json:"editId,omitempty"`
	Hunks   int    `json:"hunks"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Rebased bool   `json:"rebased,omitempty"` // moved over what had changed meanwhile
	Skipped string `json:"skipped,omitempty"` // why it was left alone
}

// SessionNewParams makes a session.
type SessionNewParams struct {
	Title string `json:"title,omitempty"`
	Mode  string `json:"mode,omitempty"`
}

// SessionList is the workspace's sessions, latest first.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// SessionRenameParams gives a session a title.
type SessionRenameParams struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
}

// SessionLoaded is a session's state without traces.
type SessionLoaded struct {
	SessionInfo
	Cycles CyclesResult `json:"cycles"`
	Edits  EditsResult  `json:"edits"`
	Run    *RunInfo     `json:"run,omitempty"`
}

// RunInfo is a run as controllers see it.
type RunInfo struct {
	RunID     string `json:"runId"`
	SessionID string `json:"sessionId"`
	BranchID  string `json:"branchId"`
	CycleID   string `json:"cycleId"`
	State     string `json:"state"`              // waiting, running, paused; interrupted: cut off by a crash, see resumable
	Position  int    `json:"position,omitempty"` // in the queue for a free slot; 1 = next
	Iter      int    `json:"iter"`
	Max       int    `json:"max"`
	Model     string `json:"model"`
	Since     string `json:"since"` // RFC 3339
	// WaitingFor says what a run that asks the person waits for.
	WaitingFor string `json:"waitingFor,omitempty"`
	// Resumable is set on an interrupted run that may be taken up again.
	Resumable bool `json:"resumable,omitempty"`
}

// CyclesParams asks for the projection of a branch.
type CyclesParams struct {
	SessionRef
	View  string `json:"view,omitempty"`  // steps (default), rounds, all
	After string `json:"after,omitempty"` // only cycles after this one
}

// CyclesResult is the projection, and beside it what was measured: Meta is
// keyed by cycle id and by call id.
type CyclesResult struct {
	Rev       int64             `json:"rev"`
	SessionID string            `json:"sessionId"`
	BranchID  string            `json:"branchId"`
	State     string            `json:"state"` // idle, active
	Cycles    []json.RawMessage `json:"cycles" ts:"Cycle[]"`
	Queued    []cycle.Queued    `json:"queued"`
	Anomalies []cycle.Anomaly   `json:"anomalies"`
	Meta      cycle.Meta        `json:"meta"`
}

// CycleNotification carries step-tree deltas. Rev grows by one per message per
// session; who sees a gap asks agent/cycles.
type CycleNotification struct {
	SessionID string         `json:"sessionId"`
	BranchID  string         `json:"branchId"`
	CycleID   string         `json:"cycleId"`
	Rev       int64          `json:"rev"`
	Ops       []cycle.Op     `json:"ops"`
	Meta      []cycle.MetaOp `json:"meta,omitempty"`
}

// QueueEditParams changes a queued follow-up; To is a 0-based position.
type QueueEditParams struct {
	SessionRef
	ID    string `json:"id"`
	Input string `json:"input,omitempty"` // agent/queue/edit
	To    int    `json:"to,omitempty"`    // agent/queue/move
}

// QueueResult is the queued follow-ups in order.
type QueueResult struct {
	SessionID string         `json:"sessionId"`
	BranchID  string         `json:"branchId"`
	Paused    bool           `json:"paused"` // after a stop the queue waits until resumed
	Queued    []cycle.Queued `json:"queued"`
}

// CompleteParams asks for completions at a byte offset of the prompt.
type CompleteParams struct {
	SessionRef
	Text   string `json:"text"`
	Offset int    `json:"offset"`
}

// CompleteResult is completions; Start is where the completed word begins.
type CompleteResult struct {
	Start int          `json:"start"`
	Items []Completion `json:"items"`
}

// Completion is one proposal.
type Completion struct {
	Insert string `json:"insert"`
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	Kind   string `json:"kind"` // command, file, symbol, mention, tag
}

// PlanParams names a plan; without an id, the branch's latest.
type PlanParams struct {
	SessionRef
	PlanID string `json:"planId,omitempty"`
	Call   int    `json:"call,omitempty"` // 1 = the turn's first model call; 0 = the latest
}

// PlanResult is a stored ContextPlan with what is needed to show it.
type PlanResult struct {
	contextplan.Plan
	SessionID      string              `json:"sessionId"`
	BranchID       string              `json:"branchId"`
	TurnID         string              `json:"turnId"`
	RunID          string              `json:"runId"`
	RetrievalSetID string              `json:"retrievalSetId,omitempty"`
	Model          string              `json:"model"`
	Call           int                 `json:"call"` // which model call of the turn, from 1
	Sections       []SectionSum        `json:"sections"`
	Labels         map[string]PlanItem `json:"labels"` // by candidate id
	// Replay says what building the plan again from its stored inputs gave: identical or differs. A preview isn't checked.
	Replay string `json:"replay,omitempty"`
}

// SectionSum is a section's share of a plan.
type SectionSum struct {
	Section string `json:"section"`
	Tokens  int    `json:"tokens"`
	Items   int    `json:"items"`
}

// PlanItem says what a candidate is, for a person.
type PlanItem struct {
	Label     string    `json:"label"`
	URI       string    `json:"uri,omitempty"`
	StartLine int       `json:"startLine,omitempty"` // 1-based
	EndLine   int       `json:"endLine,omitempty"`
	Why       []rag.Why `json:"why,omitempty"`
	Pinned    bool      `json:"pinned,omitempty"`
}

// PlanDiffParams compares two plans.
type PlanDiffParams struct {
	A string `json:"a"`
	B string `json:"b"`
}

// RetrievalParams names a RetrievalSet.
type RetrievalParams struct {
	RetrievalSetID string `json:"retrievalSetId"`
}

// SearchParams is a query to the index.
type SearchParams struct {
	Query string   `json:"query"`
	K     int      `json:"k,omitempty"`     // 0 = 20
	Scope []string `json:"scope,omitempty"` // paths or globs to keep to
}

// TraceParams names a turn or a run; without either, the branch's latest turn.
type TraceParams struct {
	SessionRef
	TurnID string `json:"turnId,omitempty"`
	RunID  string `json:"runId,omitempty"`
}

// TraceResult is what ran: loaded on demand only.
type TraceResult struct {
	TurnID string        `json:"turnId"`
	RunID  string        `json:"runId"`
	Calls  []TraceCall   `json:"calls"`
	Usage  []UsageReport `json:"usage"`
	Rounds []TraceRound  `json:"rounds"`
	Routes []TraceRoute  `json:"routes"`
}

// TraceRoute says which tools a turn's model was told of, why, and how long it
// took to decide. The last one held.
type TraceRoute struct {
	Route      string   `json:"route"`      // CONVERSATIONAL_ONLY, TOOLS
	Categories []string `json:"categories"` // none with TOOLS = all
	Method     string   `json:"method"`     // action, fast-path, router, cache, rules, builtin, score, need-tools
	Reason     string   `json:"reason"`
	Score      float64  `json:"score"` // how probable it is that tools are needed, 0 to 1
	Model      string   `json:"model,omitempty"`
	MS         float64  `json:"ms"`
}

// TraceCall is one row of a ToolTrace.
type TraceCall struct {
	CallID string          `json:"callId"`
	Tool   string          `json:"tool"`
	Title  string          `json:"title"`
	Args   json.RawMessage `json:"args" ts:"unknown"`
	Status string          `json:"status"`
	Text   string          `json:"text"`
	Ref    string          `json:"ref,omitempty"`
	MS     int64           `json:"ms"`
	Round  int             `json:"round"`
}

// TraceRound is one model call: what was sent and what came back.
type TraceRound struct {
	Round    int             `json:"round"`
	PlanID   string          `json:"planId"`
	Request  json.RawMessage `json:"request" ts:"unknown"`
	Response json.RawMessage `json:"response" ts:"unknown"`
}

// UsageReport is what one model call cost. Tokens; milliseconds; US dollars.
type UsageReport struct {
	Round      int     `json:"round"`
	PlanID     string  `json:"planId"`
	Model      string  `json:"model"`
	Estimated  int     `json:"estimated"` // our estimate of the input
	Input      int     `json:"input"`
	Output     int     `json:"output"`
	CacheRead  int     `json:"cacheRead"`
	CacheWrite int     `json:"cacheWrite"`
	MS         int64   `json:"ms"`
	FirstMS    int64   `json:"firstMs"` // until the first delta
	CostUSD    float64 `json:"costUsd"`
	Reported   bool    `json:"reported"`
}

// TurnParams names a turn; without an id, the branch's latest.
type TurnParams struct {
	SessionRef
	TurnID string `json:"turnId,omitempty"`
}

// OutcomeResult is what came of a turn.
type OutcomeResult struct {
	TurnID    string        `json:"turnId"`
	BranchID  string        `json:"branchId"`
	Response  *Response     `json:"response,omitempty"`
	Decisions []Decision    `json:"decisions"`
	Edits     []FileOutcome `json:"edits"`
}

// WorkflowResult is a turn's checklist; Text is it in words.
type WorkflowResult struct {
	SessionID string         `json:"sessionId"`
	BranchID  string         `json:"branchId"`
	TurnID    string         `json:"turnId"`
	Workflow  cycle.Workflow `json:"workflow"`
	Text      string         `json:"text"`
}

// WorkflowEditParams replaces the steps of a proposed workflow; without a turn,
// of the branch's latest.
type WorkflowEditParams struct {
	SessionRef
	TurnID string               `json:"turnId,omitempty"`
	Steps  []WorkflowStepParams `json:"steps"`
}

// WorkflowStepParams is one step as the person wants it; what is absent is made
// from the goal.
type WorkflowStepParams struct {
	Goal   string `json:"goal"`
	Check  string `json:"check,omitempty"`  // replied, edited, command-ok
	OnFail string `json:"onFail,omitempty"` // stop, retry, skip
	Budget int    `json:"budget,omitempty"` // iterations
}

// Decision is the person's word on a hunk.
type Decision struct {
	HunkID   string `json:"hunkId"`
	Path     string `json:"path"`
	Decision string `json:"decision"` // accept, reject
	Reason   string `json:"reason,omitempty"`
	Time     string `json:"time"`
}

// FileOutcome is what a turn changed in one file.
type FileOutcome struct {
	Path   string `json:"path"`
	Status string `json:"status"` // pending, accepted, rejected, mixed, conflict
	Hunks  int    `json:"hunks"`
	Diff   string `json:"diff"` // unified
}

// EditsParams asks for pending hunks.
type EditsParams struct {
	SessionID string `json:"sessionId,omitempty"`
	URI       string `json:"uri,omitempty"`
}

// EditsResult is pending hunks in path order, then from top to bottom.
type EditsResult struct {
	Hunks []Hunk `json:"hunks"`
}

// Hunk is the smallest piece of an edit that can be accepted or rejected.
// Range is in the buffer as it is now, over the lines of NewText.
type Hunk struct {
	HunkID   string `json:"hunkId"`
	EditID   string `json:"editId"`
	TurnID   string `json:"turnId"`
	CallID   string `json:"callId,omitempty"`
	URI      string `json:"uri"`
	Path     string `json:"path"` // workspace-relative
	Range    Range  `json:"range"`
	BaseText string `json:"baseText"`
	NewText  string `json:"newText"`
	Status   string `json:"status"`            // pending, conflict
	Held     bool   `json:"held,omitempty"`    // not in the buffer until accepted (ask mode); Range is over BaseText
	File     string `json:"file,omitempty"`    // created, deleted: the hunk is the whole file
	Version  *int   `json:"version,omitempty"` // of the open document that Range is in
}

// ResolveParams decides hunks. One of HunkIDs, EditID, URI, TurnID, All says which.
type ResolveParams struct {
	SessionID string   `json:"sessionId,omitempty"`
	HunkIDs   []string `json:"hunkIds,omitempty"`
	EditID    string   `json:"editId,omitempty"`
	URI       string   `json:"uri,omitempty"`
	TurnID    string   `json:"turnId,omitempty"`
	All       bool     `json:"all,omitempty"`
	Decision  string   `json:"decision"` // accept, reject
	Reason    string   `json:"reason,omitempty"`
}

// ResolveResult says what became of each hunk.
type ResolveResult struct {
	Results []Resolved `json:"results"`
}

// Resolved is one hunk's end.
type Resolved struct {
	HunkID  string `json:"hunkId"`
	Outcome string `json:"outcome"` // resolved, conflict
	Detail  string `json:"detail,omitempty"`
}

// EditsChanged tells that hunks were added, rebased or resolved; Hunks is
// what pends in the named documents now.
type EditsChanged struct {
	SessionID string   `json:"sessionId"`
	URIs      []string `json:"uris"`
	Hunks     []Hunk   `json:"hunks"`
	Pending   int      `json:"pending"` // in all files
}

// CheckpointList is the workspace before each turn.
type CheckpointList struct {
	Checkpoints []Checkpoint `json:"checkpoints"`
}

// Checkpoint is the touched files as they stood before a turn.
type Checkpoint struct {
	TurnID string           `json:"turnId"`
	Time   string           `json:"time"`
	Title  string           `json:"title"`
	Files  []CheckpointFile `json:"files"`
}

// CheckpointFile is one file of a checkpoint: what restoring it would change.
type CheckpointFile struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
	Skipped string `json:"skipped,omitempty"`
}

// RestoreParams puts files, the conversation or both back as they stood before
// a turn, or takes such a restore back.
type RestoreParams struct {
	SessionRef
	TurnID string `json:"turnId,omitempty"` // absent: the latest turn that changed files; of the conversation alone, the latest
	What   string `json:"what,omitempty"`   // files (default), conversation, both
	DryRun bool   `json:"dryRun,omitempty"` // only say what would change
	Redo   string `json:"redo,omitempty"`   // the restoreId of the restore to take back; then only this counts
}

// RestoreResult says what was put back, and what was left alone and why.
type RestoreResult struct {
	TurnID    string           `json:"turnId"`
	RestoreID string           `json:"restoreId,omitempty"` // takes it back, as redo; absent of a dry run
	Restored  []CheckpointFile `json:"restored"`
	Skipped   []CheckpointFile `json:"skipped"`
	BranchID  string           `json:"branchId,omitempty"` // where the conversation goes on; the one it was on is kept
	Turns     int              `json:"turns,omitempty"`    // that the conversation goes back over
}

// PinParams pins, unpins or ages something.
type PinParams struct {
	SessionRef
	MessageID string `json:"messageId,omitempty"`
	URI       string `json:"uri,omitempty"`
	Range     *Range `json:"range,omitempty"`
	TTL       *int   `json:"ttl,omitempty"` // turns; agent/ttl only
	Exclude   bool   `json:"exclude,omitempty"`
}

// PinResult is the branch's pins after the change.
type PinResult struct {
	Pins []Pin `json:"pins"`
}

// Pin is one pinned, aged or excluded thing.
type Pin struct {
	ID       string `json:"id"`
	Label    string `json:"label"`
	Pinned   bool   `json:"pinned"`
	Excluded bool   `json:"excluded"`
	TTL      *int   `json:"ttl,omitempty"`
}

// ScratchpadParams reads archived content. Offset and Limit are in bytes.
type ScratchpadParams struct {
	Ref    string `json:"ref"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"` // 0 = 32 KiB
}

// ScratchpadResult is one page.
type ScratchpadResult struct {
	Ref    string `json:"ref"`
	Text   string `json:"text"`
	Offset int    `json:"offset"`
	Total  int    `json:"total"` // bytes
	Lines  int    `json:"lines"` // in all
}

// MemoryResult is the durable notes, oldest first.
type MemoryResult struct {
	On    bool         `json:"on"` // false: switched off in the settings; nothing is used or added
	Notes []MemoryNote `json:"notes"`
}

// MemoryNote is one note with the turn that it is from.
type MemoryNote struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"` // fact, decision, preference
	Text      string `json:"text"`
	SessionID string `json:"sessionId,omitempty"`
	TurnID    string `json:"turnId,omitempty"`
	BranchID  string `json:"branchId,omitempty"` // set: it holds on that branch of that session only
	Time      string `json:"time"`               // RFC 3339
}

// MemoryEditParams changes a note; without an id it adds one.
type MemoryEditParams struct {
	ID   string `json:"id,omitempty"`
	Text string `json:"text"`
	Kind string `json:"kind,omitempty"`
}

// MemoryForgetParams forgets one note, or all.
type MemoryForgetParams struct {
	ID  string `json:"id,omitempty"`
	All bool   `json:"all,omitempty"`
}

// ModelInfo says of a model whether it can be used, and why not.
type ModelInfo struct {
	Name          string `json:"name"` // provider/name
	Alias         string `json:"alias,omitempty"`
	Available     bool   `json:"available"`
	Current       bool   `json:"current"`
	Why           string `json:"why"`
	ContextWindow int    `json:"contextWindow"` // tokens; 0 = unknown
	Local         bool   `json:"local"`
}

// ModelsResult is every model known here.
type ModelsResult struct {
	Current string      `json:"current"`
	Models  []ModelInfo `json:"models"`
}

// ModelSetParams chooses a session's model.
type ModelSetParams struct {
	SessionRef
	Model string `json:"model"`
}

// StatusResult is what the status line and /status show.
type StatusResult struct {
	State        string      `json:"state"` // starting, idle, running, paused, waiting
	SessionID    string      `json:"sessionId"`
	BranchID     string      `json:"branchId"`
	Model        string      `json:"model"`
	Mode         string      `json:"mode"`
	Pending      int         `json:"pending"` // hunks
	PendingFiles int         `json:"pendingFiles"`
	History      int         `json:"history"` // entries
	Requests     int         `json:"requests"`
	AverageMS    int64       `json:"averageMs"`
	LastActivity string      `json:"lastActivity,omitempty"`
	Runs         []RunInfo   `json:"runs"`
	Index        IndexStatus `json:"index"`
	CostUSD      float64     `json:"costUsd"`
	Tokens       int         `json:"tokens"`
	Version      string      `json:"version"`
	Tips         []string    `json:"tips"` // three things to try in this repository
}

// IndexStatus is agent/index's payload.
type IndexStatus struct {
	State   string `json:"state"` // indexing, ready, degraded
	Files   int    `json:"files"`
	Chunks  int    `json:"chunks"`
	Done    int    `json:"done"`
	Total   int    `json:"total"`
	Message string `json:"message,omitempty"`
}

// ConfigResult is the effective settings, secrets left out.
type ConfigResult struct {
	Version  string            `json:"version"`
	Settings map[string]any    `json:"settings"`
	Sources  map[string]string `json:"sources"` // setting → where it came from
}

// ToolInfo describes a tool.
type ToolInfo struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Category    string          `json:"category"`
	ReadOnly    bool            `json:"readOnly"`
	Schema      json.RawMessage `json:"schema" ts:"unknown"`
}

// ToolsResult is the tools that there are.
type ToolsResult struct {
	Tools []ToolInfo `json:"tools"`
}

// CommandInfo describes a slash command.
type CommandInfo struct {
	Name        string `json:"name"` // with the slash
	Description string `json:"description"`
	Arguments   string `json:"arguments,omitempty"`
	Kind        string `json:"kind"` // state, user
	// Of a user's command:
	Source     string   `json:"source,omitempty"` // the file that it is from
	Categories []string `json:"categories,omitempty"`
	Model      string   `json:"model,omitempty"`
	Mode       string   `json:"mode,omitempty"`
	// Trusted is false for a command of a workspace that the person has not
	// trusted yet: its text is given to the model as data only.
	Trusted bool `json:"trusted"`
}

// CommandsResult is the slash commands that there are.
type CommandsResult struct {
	Commands []CommandInfo `json:"commands"`
}

// StreamChunk is agent/stream's payload: the request pipeline's chunks and the
// telemetry line.
type StreamChunk struct {
	SessionID  string          `json:"sessionId"`
	BranchID   string          `json:"branchId"`
	TurnID     string          `json:"turnId"`
	Type       string          `json:"type"` // classification, processing, result, error
	Content    string          `json:"content"`
	IsComplete bool            `json:"isComplete"`
	Error      string          `json:"error,omitempty"`
	Metadata   *StreamMetadata `json:"metadata,omitempty"`
}

// StreamMetadata goes with a chunk.
type StreamMetadata struct {
	Classification *Classification `json:"classification,omitempty"`
	Response       *Response       `json:"response,omitempty"`
	ElapsedMS      int64           `json:"elapsedMs,omitempty"`
}

// PermissionParams asks the person whether a tool may run.
type PermissionParams struct {
	RunID       string             `json:"runId"`
	ToolCallID  string             `json:"toolCallId"`
	Tool        string             `json:"tool"`
	Title       string             `json:"title"`
	Detail      string             `json:"detail"`
	Diff        string             `json:"diff,omitempty"`
	Destructive bool               `json:"destructive,omitempty"`
	Options     []PermissionOption `json:"options"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once, reject_always
	Name string `json:"name"` // with the exact rule that "always" saves
}

// PermissionResult is the person's answer. All clients are asked, and the first
// answer counts; an id that was not offered, such as "", is none.
type PermissionResult struct {
	OptionID string `json:"optionId"`
	Reason   string `json:"reason,omitempty"`
}

// Empty is the params or result of methods that have none.
type Empty struct{}
