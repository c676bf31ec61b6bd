package edits

import (
	"context"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Journal is the workspace's log. Record returns when the event is durable.
// Events of all sessions of a workspace are loaded in the order of recording.
type Journal interface {
	Record(ctx context.Context, e cycle.Event) error
}

// Blobs stores bytes under their sha256 (hex), durably, before Put returns.
type Blobs interface {
	Put(data []byte) (hash string, err error)
	Get(hash string) ([]byte, error)
}

// Editor is the person's editor. nil where there is none: then everything is
// read from and written to the disk.
type Editor interface {
	// ApplyEdit asks the editor to make edits (workspace/applyEdit) as one
	// undo step per document. It must be refused when a document's version
	// isn't DocEdit.Version any more: then applied is false and err is nil.
	// The editor's own didChange for it reaches Ledger.DidChange before or
	// after ApplyEdit returns; the ledger copes with both. DidChange never
	// waits for an ApplyEdit that is under way.
	ApplyEdit(ctx context.Context, label string, docs []DocEdit) (applied bool, err error)
}

// Saver is an Editor that can also save a document. After an edit to a buffer
// that had no unsaved changes, the ledger asks for a save, so that tests and
// compilers see the edit. A document that is at another version by then must
// not be saved: the person has typed, and when that is saved is up to them.
type Saver interface {
	SaveDoc(ctx context.Context, uri string, version int32) (saved bool, err error)
}

// DocEdit is what to change in one open document. Edits refer to the document
// at Version, are ordered and don't overlap.
type DocEdit struct {
	URI, Path string
	Version   int32
	Edits     []RangeEdit
}

// RangeEdit replaces a range by text.
type RangeEdit struct {
	At  text.Places
	New string
}

// Mode says how the agent's edits land.
type Mode string

// The modes.
const (
	ModeReview Mode = "review" // in the text at once, hunks pending
	ModeAsk    Mode = "ask"    // nothing is written until accepted
	ModeHold   Mode = "hold"   // as ask, of one message: for clients that only want to see; what they leave undecided stays proposed
)

// Scope says for whom a set of calls works: it is stamped on the hunks.
type Scope struct {
	SessionID, BranchID, TurnID string
	Mode                        Mode // "" = ModeReview
}

// Config is what a ledger needs.
type Config struct {
	Journal   Journal
	Blobs     Blobs
	Workspace *workspace.Workspace
	Editor    Editor           // may be nil; see SetEditor
	Now       func() time.Time // stamps events; nil = time.Now
	Salt      string           // makes this process's ids different from any other's; \"\" = random
	Changed   func(c Changed)  // called after hunks changed, one call at a time, newest state last; must neither block nor call the ledger; may be nil
}

// Status of a hunk.
type Status string

// The statuses.
const (
	StatusPending  Status = "pending"
	StatusConflict Status = "conflict" // the person changed the same lines; both texts are kept
)

// HunkView is a hunk as editors show it.
type HunkView struct {
	HunkID, EditID, SessionID, TurnID, CallID string
	EditIDs, TurnIDs                          []string // all that shaped it, oldest first
	URI, Path                                 string
	At                                        text.Places // in the text that the person sees: over NewText, or over BaseText when Held
	BaseText, NewText                         string
	Status                                    Status
	Held                                      bool   // not in the text until accepted
	File                                      string // "created", "deleted": the hunk is the whole file; else ""
	Version                                   *int32 // of the open document; nil when it isn't open
}

// Filter chooses hunks; empty fields choose all.
type Filter struct {
	SessionID, Path, EditID, TurnID string // Path: workspace-relative, absolute or file URI
	HunkIDs                         []string
}

// Decision is the person's word.
type Decision string

// The decisions.
const (
	Accept Decision = "accept"
	Reject Decision = "reject"
)

// ResolveRequest decides hunks. At least one of HunkIDs, EditID, Path, TurnID
// or All must be given; several narrow each other down.
type ResolveRequest struct {
	SessionID string
	HunkIDs   []string
	EditID    string
	Path      string // workspace-relative, absolute or file URI
	TurnID    string
	All       bool
	Decision  Decision
	Reason    string
}

// Outcomes of a decision on a hunk.
const (
	OutcomeResolved = "resolved"
	OutcomeConflict = "conflict" // decided, but both texts had to be kept; or it could not be done: Detail says which
)

// ResolveResult is what became of one hunk.
type ResolveResult struct {
	HunkID, Outcome, Detail string
}

// Changed tells which files' hunks changed; Hunks is what pends in them now.
type Changed struct {
	SessionIDs []string // of the hunks that changed, sorted
	Paths      []string
	URIs       []string // of Paths, same order
	Hunks      []HunkView
	Pending    int // in all files
}

// Verdict is one decision, for telling the model and for the Outcome.
type Verdict struct {
	Seq                                       int // grows by one
	HunkID, EditID, SessionID, TurnID, CallID string
	Path                                      string
	Line                                      int    // 0-based
	Decision                                  string // "accept", "reject", "undo-reject", "restore"
	Outcome, Reason                           string
	Edited                                    bool // the person had changed the agent's text
	Time                                      time.Time
}

// FileChange is what restoring a checkpoint does to one file.
type FileChange struct {
	Path           string
	Added, Removed int
	Skipped        string // why it is left alone; "" when it is restored
}

// Checkpoint is the touched files as they stood before a turn.
type Checkpoint struct {
	TurnID, SessionID string
	Time              time.Time
	Files             []FileChange // what restoring it now would do
}

// Restored is what a restore did.
type Restored struct {
	OpID    string // for RedoRestore
	TurnID  string
	Files   []FileChange
	Skipped []FileChange
}

// surface is all that a Ledger offers, in one place. Everything is safe for
// concurrent use. Paths may be workspace-relative, absolute, or file URIs.
type surface interface {
	// Files is the workspace as the tools of one turn see it; it implements
	// tools.Files.
	Files(s Scope) *Files
	// Load rebuilds the ledger from the workspace's recorded events, once,
	// before anything else. See doc.go for what it finishes and withdraws.
	Load(ctx context.Context, events []cycle.Event) error

	// The person's side, called in the order of the editor's messages. None of
	// them blocks on an ApplyEdit that is under way.
	DidOpen(uri string, version int32, text string) error
	DidChange(uri string, version int32, changes []workspace.Change, enc text.Encoding) error // enc: of the changes' ranges; "" = UTF-16
	DidSave(uri string) error
	DidClose(uri string) error
	DidRename(oldURI, newURI string) error
	DiskChanged(paths []string) // absolute or workspace-relative; folders are ignored
	SetEditor(e Editor)
	Permit(path string, a workspace.Access) error // the person allowed it; until the ledger ends
	OpenDocs() []string                           // paths of the documents that are open in the editor, sorted
	SetRoots(dirs []string) error                 // the workspace's folders from now on

	Hunks(f Filter) []HunkView // in path order, then from top to bottom
	Pending() (hunks, files int)
	Resolve(ctx context.Context, r ResolveRequest) ([]ResolveResult, error)
	UndoReject(ctx context.Context) ([]ResolveResult, error)
	Verdicts(since int) []Verdict // those with Seq > since

	Checkpoints(sessionID string) []Checkpoint // oldest first
	PreviewRestore(turnID string) (Restored, error)
	RestoreTurn(ctx context.Context, turnID string) (Restored, error)
	RedoRestore(ctx context.Context, opID string) (Restored, error)
	LastRestore(sessionID string) string // of a session, that was not taken back; "" for none
	// TurnDiff is the unified diff of what a turn did to each file it touched.
	TurnDiff(turnID string) map[string]string
}
