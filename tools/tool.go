package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Category groups tools for routing: a turn's route names the categories whose
// tools the model gets.
type Category string

// The categories.
const (
	CategoryRead   Category = "read"   // looks at the workspace
	CategorySearch Category = "search" // finds things in the workspace's index
	CategoryWrite  Category = "write"  // changes files
	CategoryShell  Category = "shell"  // runs commands
	CategoryWeb    Category = "web"    // leaves the machine
	CategoryMeta   Category = "meta"   // the agent's own notes and subtasks
)

// Spec is what is known of a tool without running it.
type Spec struct {
	Name        string
	Description string // the words that the model reads
	Category    Category
	ReadOnly    bool // may run beside any other call and needs no permission inside the workspace
	Schema      json.RawMessage
	Timeout     time.Duration // 0 = none but the run's own
	OutputMax   int           // bytes of Result.Text that go to the model; the rest is archived by the caller
}

// Tool is one thing that a model may ask for. Run gets arguments that are a
// JSON object; it validates them itself and reports what is wrong as a Result
// with StatusError, in words for the model. Run obeys ctx at once and is safe
// for concurrent use.
type Tool interface {
	Spec() Spec
	// Title is the one line that the step tree shows for a call with these
	// arguments, without the tool's name: `"backoff" in net/`.
	Title(args json.RawMessage) string
	Run(ctx context.Context, env Env, args json.RawMessage) Result
}

// Status is how a call ended, in the words of the event log.
type Status string

// The three ends of a call.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
)

// Result is what a call gives. Text goes to the model; Detail is for people
// (step tree, trace) and never holds anything that Text must not.
type Result struct {
	Status Status
	Text   string
	Detail Detail
	Media  []Media // images, for models that can look at them; Text names each
}

// Media is something that isn't text.
type Media struct {
	MIME string
	Data []byte
}

// Detail is the structured side of a result: what the step tree and the
// reflection notes are made from.
type Detail struct {
	Summary   string   `json:"summary,omitempty"` // "9 matches", "exit 1", "+6 −2"
	Paths     []string `json:"paths,omitempty"`   // workspace-relative, with :start-end where known
	Matches   int      `json:"matches,omitempty"`
	Truncated bool     `json:"truncated,omitempty"` // the tool's own limit cut the result; Text says how to get more
	ExitCode  *int     `json:"exitCode,omitempty"`
	Sandboxed *bool    `json:"sandboxed,omitempty"`
	Sandbox   string   `json:"sandbox,omitempty"` // what kept the command in its place, and what didn't
	PutBack   []string `json:"putBack,omitempty"` // guarded files that it changed, and what was done about each
	EditID    string   `json:"editId,omitempty"`
	HunkIDs   []string `json:"hunkIds,omitempty"`
	Added     int      `json:"added,omitempty"`   // lines
	Removed   int      `json:"removed,omitempty"` // lines
	Refused   string   `json:"refused,omitempty"` // why permission was refused
	Blocked   bool     `json:"blocked,omitempty"` // could not be done as things stand; trying again is no use
}

// Env is what a call may touch. Everything that a tool knows of the world
// comes through it, so that one set of tools serves every door.
type Env struct {
	Root   string // absolute path of the first workspace root, symlinks resolved
	Roots  []string
	CallID string
	Files  Files
	Search Searcher // nil where nothing is indexed
	Shell  Shell    // nil where no commands can be run
	Asker  Asker
	// Archive is where large results were put; nil where nothing is kept.
	Archive Archive
	// Seen remembers what the model has read, so that write and edit can say
	// what changed since; nil switches that off.
	Seen *Seen
	// Opens gives, for a command line that was permitted, which guarded paths it
	// may change, or read where they are secret; nil opens none. See
	// Policy.Opens.
	Opens func(line string) func(abs string, write bool) bool
	// Edited says that the person has a file open; nil says it of none.
	Edited func(abs string) bool
	// Output streams a running command's output to the step tree. It may be
	// called from any goroutine until Run returns. Never nil.
	Output func(chunk string)
}

// File is one file as the agent sees it: the editor's unsaved buffer where
// there is one, the agent's own pending edits included.
type File struct {
	Path    string // workspace-relative with forward slashes; absolute when outside
	Data    []byte // exact bytes: BOM, CRLF and encoding as they are
	Hash    string // sha256 of Data, hex
	Unsaved bool   // Data comes from an editor's unsaved buffer
	Pending int    // pending hunks of the agent's in it
	Mode    uint32 // permission bits; 0 for a buffer that is on no disk yet
}

// Info is a directory entry.
type Info struct {
	Path  string // workspace-relative with forward slashes
	Dir   bool
	Size  int64
	Link  bool // a symbolic link; Path is the link's own
	MTime time.Time
}

// Files is the workspace as tools see it. Paths are workspace-relative or
// absolute; what lies outside the roots after resolving symlinks and "..", or
// is secret-looking, fails with *PathError unless the person permitted it.
// Safe for concurrent use; changes to one file are applied in order of call.
type Files interface {
	Read(ctx context.Context, path string) (File, error)
	Stat(ctx context.Context, path string) (Info, error)
	List(ctx context.Context, dir string) ([]Info, error)
	// Walk visits files below dir (not folders) by the ignore rules, in path
	// order, until fn returns false.
	Walk(ctx context.Context, dir string, fn func(Info) bool) error
	// Change turns a file into new bytes. It is how every tool writes: the
	// change becomes hunks, which are in the store before anything is touched.
	// Base must be the bytes that the change was computed from; a file that
	// holds something else by now gives *StaleError, unless the change rebases
	// cleanly over what came in between.
	Change(ctx context.Context, c Change) (Applied, error)
}

// Change is one file's new content. New == nil deletes the file; Base == nil
// creates one that must not exist.
type Change struct {
	Path   string
	CallID string
	Base   []byte
	New    []byte
	Mode   uint32 // for a new file; 0 = 0644
}

// Applied says what became of a Change.
type Applied struct {
	EditID         string
	HunkIDs        []string
	Added, Removed int
	Rebased        bool   // the file had changed since it was read; the change was moved over
	Written        bool   // false in ask mode: nothing is written until accepted
	Note           string // for the model: "2 hunks wait for review", "rebased over the person's edit at line 12"
}

// reasonNotFound is the one reason after which a tool may create the file.
const reasonNotFound = "not found"

// PathError refuses a path. A path that doesn't exist has the Reason "not
// found", exactly: write and edit create files by it.
type PathError struct {
	Path   string
	Reason string // "outside the workspace", "a secret-looking file", "not found", "a folder", "a binary file"…
	Hint   string
}

func (e *PathError) Error() string {
	s := e.Path + ": " + e.Reason
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// StaleError says that a file no longer holds what a change was computed from.
type StaleError struct {
	Path string
	What string // what changed, with line numbers
}

func (e *StaleError) Error() string {
	return e.Path + " changed since it was read: " + e.What + "; read it again and repeat the edit"
}

// Hit is one search result as the search tool shows it.
type Hit struct {
	Path               string
	StartLine, EndLine int
	Score              float64
	Symbol, Why, Text  string
}

// Location is a place in a file: 1-based line and column (in runes).
type Location struct {
	Path      string
	Line, Col int
	Text      string // the whole line
	Symbol    string // the enclosing definition, where known
	Kind      string // "definition", "reference"
}

// Searcher is the workspace's index as the search, symbols and references
// tools need it.
type Searcher interface {
	// Search also returns the id of the RetrievalSet that it stored.
	Search(ctx context.Context, query string, k int) (hits []Hit, setID string, err error)
	Symbols(ctx context.Context, query string, limit int) ([]Location, error)
	Definitions(ctx context.Context, name string) ([]Location, error)
	References(ctx context.Context, name string, limit int) ([]Location, error)
}

// Command is one shell command to run.
type Command struct {
	Line    string
	Dir     string // absolute, inside the workspace
	Timeout time.Duration
	Output  func(chunk string)
	Network bool // the person permitted a command that needs the network
	// Opens says which guarded paths the command may change, or read where they
	// are secret; nil opens none. Edited says which files the person has open:
	// a change of one is taken for theirs.
	Opens  func(abs string, write bool) bool
	Edited func(abs string) bool
}

// CommandResult is how a command ended.
type CommandResult struct {
	Output    string // stdout and stderr in order of arrival, whole up to ShellOutputMax
	Truncated bool
	ExitCode  int // -1 when killed
	TimedOut  bool
	Sandboxed bool
	Note      string   // "sandboxed: writes only here, no network", or why not
	PutBack   []string // guarded files that it changed, and what was done about each, in words
	Hidden    []string // secret-looking files that it could not read, relative to their root
}

// Shell runs commands in their own process group; ctx cancels by killing the
// whole group.
type Shell interface {
	Run(ctx context.Context, c Command) (CommandResult, error)
}

// Asker asks the person for permission. It blocks until they answered, the
// configured time is over (then the answer is no), or ctx ends.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one request for permission.
type Question struct {
	CallID, Tool  string
	Title, Detail string
	Diff          string
	Rule          string // the exact rule that "always" would save, "" where always is not offered
	Destructive   bool
}

// Answer is the person's word.
type Answer struct {
	Allow  bool
	Always bool
	Reason string
}
