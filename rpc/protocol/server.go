package protocol

import (
	"context"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/rag"
)

// Version is the protocol's version; a client that asks for a newer one gets
// an error naming both.
const Version = 1

// Server is what an editor may ask beyond standard LSP. The first line of each
// method's comment is its wire name; the comment is its documentation. The
// engine implements it; method tables, TypeScript, Lua, JSON Schema and
// docs/protocol.md are generated from it.
type Server interface {
	// agent/submit
	// Takes a message. Returns as soon as it is durable; work flows as
	// notifications. A state command's whole answer is in response.
	Submit(context.Context, *agent.SubmitParams) (*agent.SubmitResult, error)

	// agent/session/new
	// Makes a session with one branch, main.
	SessionNew(context.Context, *agent.SessionNewParams) (*agent.SessionInfo, error)
	// agent/session/list
	// Lists the workspace's sessions, latest first.
	SessionList(context.Context, *agent.Empty) (*agent.SessionList, error)
	// agent/session/load
	// Gives a session's step trees, pending hunks and run; never traces.
	SessionLoad(context.Context, *agent.SessionRef) (*agent.SessionLoaded, error)
	// agent/session/rename
	// Gives a session a title.
	SessionRename(context.Context, *agent.SessionRenameParams) (*agent.SessionInfo, error)
	// agent/session/delete
	// Deletes a session that has no active run and no pending hunks.
	SessionDelete(context.Context, *agent.SessionRef) (*agent.Empty, error)

	// agent/branch/fork
	// Begins a branch at the end of a turn; its edits are kept in a working
	// copy of its own. It does not switch to it.
	BranchFork(context.Context, *agent.BranchForkParams) (*agent.BranchInfo, error)
	// agent/branch/list
	// Lists a session's branches, main first.
	BranchList(context.Context, *agent.SessionRef) (*agent.BranchList, error)
	// agent/branch/switch
	// Makes a branch, by id or name, the one that messages go to.
	BranchSwitch(context.Context, *agent.SessionRef) (*agent.BranchList, error)
	// agent/branch/compare
	// Puts two branches' latest turns side by side: retrieval, plan, trace,
	// usage, outcome and diff.
	BranchCompare(context.Context, *agent.BranchCompareParams) (*agent.BranchComparison, error)
	// agent/branch/adopt
	// Lands what a branch has changed as pending hunks.
	BranchAdopt(context.Context, *agent.SessionRef) (*agent.BranchAdopted, error)

	// agent/queue
	// Lists the queued follow-ups in order.
	Queue(context.Context, *agent.SessionRef) (*agent.QueueResult, error)
	// agent/queue/edit
	// Replaces a queued follow-up's text.
	QueueEdit(context.Context, *agent.QueueEditParams) (*agent.QueueResult, error)
	// agent/queue/remove
	// Removes a queued follow-up.
	QueueRemove(context.Context, *agent.QueueEditParams) (*agent.QueueResult, error)
	// agent/queue/move
	// Moves a queued follow-up to another place.
	QueueMove(context.Context, *agent.QueueEditParams) (*agent.QueueResult, error)

	// agent/complete
	// Completes /commands, @mentions and #tags at an offset of the prompt.
	Complete(context.Context, *agent.CompleteParams) (*agent.CompleteResult, error)

	// agent/cycles
	// Gives the projection of a branch: step trees, rounds, queue, anomalies.
	Cycles(context.Context, *agent.CyclesParams) (*agent.CyclesResult, error)

	// agent/plan
	// Gives a stored ContextPlan; without an id the branch's latest.
	Plan(context.Context, *agent.PlanParams) (*agent.PlanResult, error)
	// agent/plan/diff
	// Says what differs between two plans, and why.
	PlanDiff(context.Context, *agent.PlanDiffParams) (*contextplan.PlanDiff, error)
	// agent/plan/preview
	// Says what would be sent for this input, without calling a model.
	PlanPreview(context.Context, *agent.SubmitParams) (*agent.PlanResult, error)
	// agent/retrieval
	// Gives a stored RetrievalSet.
	Retrieval(context.Context, *agent.RetrievalParams) (*rag.Set, error)
	// agent/search
	// Searches the index; the result is stored as a RetrievalSet.
	Search(context.Context, *agent.SearchParams) (*rag.Set, error)
	// agent/trace
	// Gives the ToolTrace, UsageReports and raw rounds of a turn or run.
	Trace(context.Context, *agent.TraceParams) (*agent.TraceResult, error)
	// agent/outcome
	// Gives a turn's response, decisions and applied diffs.
	Outcome(context.Context, *agent.TurnParams) (*agent.OutcomeResult, error)

	// agent/workflow
	// Gives the checklist of a turn's workflow; without an id the latest.
	Workflow(context.Context, *agent.TurnParams) (*agent.WorkflowResult, error)
	// agent/workflow/edit
	// Replaces the steps of a proposed workflow.
	WorkflowEdit(context.Context, *agent.WorkflowEditParams) (*agent.WorkflowResult, error)
	// agent/workflow/approve
	// Carries a proposed workflow out, as a new turn in executing mode.
	WorkflowApprove(context.Context, *agent.TurnParams) (*agent.SubmitResult, error)

	// agent/edits
	// Lists pending hunks; ranges are in the buffer as it is now.
	Edits(context.Context, *agent.EditsParams) (*agent.EditsResult, error)
	// agent/edits/resolve
	// Accepts or rejects hunks.
	EditsResolve(context.Context, *agent.ResolveParams) (*agent.ResolveResult, error)
	// agent/edits/undoReject
	// Brings back the hunks of the last reject that was not undone yet.
	EditsUndoReject(context.Context, *agent.Empty) (*agent.ResolveResult, error)
	// agent/checkpoint/list
	// Lists the workspace's checkpoints, latest first.
	CheckpointList(context.Context, *agent.SessionRef) (*agent.CheckpointList, error)
	// agent/checkpoint/restore
	// Puts files, the conversation or both back as they stood before a turn; says
	// beforehand what would change; itself undoable, by redo.
	CheckpointRestore(context.Context, *agent.RestoreParams) (*agent.RestoreResult, error)

	// agent/pin
	// Pins a message, file or range; exclude keeps it out instead.
	Pin(context.Context, *agent.PinParams) (*agent.PinResult, error)
	// agent/unpin
	// Removes a pin or exclusion.
	Unpin(context.Context, *agent.PinParams) (*agent.PinResult, error)
	// agent/ttl
	// Sets after how many turns something leaves the context.
	TTL(context.Context, *agent.PinParams) (*agent.PinResult, error)

	// agent/scratchpad
	// Reads archived content in pages.
	Scratchpad(context.Context, *agent.ScratchpadParams) (*agent.ScratchpadResult, error)

	// agent/memory/list
	// Lists the durable notes, each with the turn that it is from.
	MemoryList(context.Context, *agent.Empty) (*agent.MemoryResult, error)
	// agent/memory/edit
	// Changes a note, or adds one.
	MemoryEdit(context.Context, *agent.MemoryEditParams) (*agent.MemoryResult, error)
	// agent/memory/forget
	// Forgets a note, or all of them.
	MemoryForget(context.Context, *agent.MemoryForgetParams) (*agent.MemoryResult, error)

	// agent/models
	// Lists the models with why each is available or not.
	Models(context.Context, *agent.Empty) (*agent.ModelsResult, error)
	// agent/model/set
	// Chooses a session's model.
	ModelSet(context.Context, *agent.ModelSetParams) (*agent.ModelsResult, error)
	// agent/status
	// Says what is going on.
	Status(context.Context, *agent.SessionRef) (*agent.StatusResult, error)
	// agent/config
	// Gives the effective settings, secrets left out.
	Config(context.Context, *agent.Empty) (*agent.ConfigResult, error)
	// agent/tools
	// Lists the tools.
	Tools(context.Context, *agent.Empty) (*agent.ToolsResult, error)
	// agent/commands
	// Lists the slash commands.
	Commands(context.Context, *agent.Empty) (*agent.CommandsResult, error)
}
