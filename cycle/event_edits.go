package cycle

import "time"

// The events of edits under review. Every one that changes a text is recorded
// before the text is touched, with the review state of each file before and
// after, so that a fold over them knows what every file should hold, and a
// crash in between is seen and repaired. States are stored as blobs and named
// by their hash; the hash of the text that the person's buffer or file should
// show goes with them ("" = there is no file).

// FileStep is what one operation makes of one file.
type FileStep struct {
	Path      string `json:"path"`               // workspace-relative
	Pre       string `json:"pre"`                // blob of the review state before, the person's edits until now included
	Post      string `json:"post"`               // and after
	PreShown  string `json:"preShown"`           // hash of the text in the buffer or file before
	PostShown string `json:"postShown"`          // and after
	InBuffer  bool   `json:"inBuffer,omitempty"` // what is shown is in an editor's buffer, and may be on disk or not
	Added     int    `json:"added"`              // lines, PreShown to PostShown
	Removed   int    `json:"removed"`
	Mode      uint32 `json:"mode,omitempty"` // permission bits of the file, 0 = not known
	Form      string `json:"form,omitempty"` // utf-8-bom, utf-16le or utf-16be; else the bytes are the text
}

// HunkNote says which hunk, for readers of the log that don't open blobs.
type HunkNote struct {
	HunkID    string `json:"hunkId"`
	EditID    string `json:"editId"`
	SessionID string `json:"sessionId"`
	TurnID    string `json:"turnId"`
	CallID    string `json:"callId,omitempty"`
	Path      string `json:"path"`
	Line      int    `json:"line"` // 0-based, in the text after the step
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
}

// HunksProposed is an edit by the agent. Mode says whether it goes into the
// text at once (review) or waits (ask, hold).
type HunksProposed struct {
	EditID    string     `json:"editId"`
	SessionID string     `json:"sessionId"`
	BranchID  string     `json:"branchId,omitempty"`
	TurnID    string     `json:"turnId"`
	CallID    string     `json:"callId"`
	Mode      string     `json:"mode"`
	Rebased   bool       `json:"rebased,omitempty"` // over what the person changed since the file was read
	Hunks     []HunkNote `json:"hunks"`
	File      FileStep   `json:"file"`
	Time      time.Time  `json:"time,omitzero"`
}

// EditApplied says that an operation's text is in the buffer ("editor") or in
// the file ("disk").
type EditApplied struct {
	OpID  string    `json:"opId"` // an EditID, or the OpID of a decision, an undo or a restore
	Path  string    `json:"path"`
	Where string    `json:"where"`
	Time  time.Time `json:"time,omitzero"`
}

// EditWithdrawn says that an operation's text did not get where it should, and
// that the file's review state is the one before it.
type EditWithdrawn struct {
	OpID string    `json:"opId"`
	Path string    `json:"path"`
	Why  string    `json:"why"`
	Time time.Time `json:"time,omitzero"`
}

// StepAmended replaces the step of one file in an operation that was recorded
// but could not be made as it was, because the person had typed meanwhile.
type StepAmended struct {
	OpID string    `json:"opId"`
	File FileStep  `json:"file"`
	Time time.Time `json:"time,omitzero"`
}

// FileRenamed moves the review state of a file along with the file.
type FileRenamed struct {
	From string    `json:"from"`
	To   string    `json:"to"`
	Time time.Time `json:"time,omitzero"`
}

// HunkDecided is the person's word on one hunk. Outcome is "resolved", or
// "conflict" where both texts had to be kept. Edited says that the person had
// changed the agent's text before.
type HunkDecided struct {
	HunkNote
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
}

// HunksDecided is one accept or reject, of any number of hunks.
type HunksDecided struct {
	OpID      string        `json:"opId"`
	SessionID string        `json:"sessionId,omitempty"`
	Decision  string        `json:"decision"` // accept, reject
	Reason    string        `json:"reason,omitempty"`
	Hunks     []HunkDecided `json:"hunks"`
	Files     []FileStep    `json:"files"`
	Time      time.Time     `json:"time,omitzero"`
}

// RejectUndone brings the hunks of the last reject back.
type RejectUndone struct {
	OpID   string        `json:"opId"`
	Undoes string        `json:"undoes"` // the reject's OpID
	Hunks  []HunkDecided `json:"hunks"`
	Files  []FileStep    `json:"files"`
	Time   time.Time     `json:"time,omitzero"`
}

// FilesRestored puts files back as they stood before a turn, or takes that
// back (Undoes is the other restore's OpID).
type FilesRestored struct {
	OpID      string     `json:"opId"`
	SessionID string     `json:"sessionId,omitempty"`
	TurnID    string     `json:"turnId"`
	Undoes    string     `json:"undoes,omitempty"`
	Files     []FileStep `json:"files"`
	Skipped   []string   `json:"skipped,omitempty"` // paths that no longer held what was last written
	Time      time.Time  `json:"time,omitzero"`
}

// FileSynced records what the person did to a file with hunks under review,
// when it was saved: Pre is the state last recorded.
type FileSynced struct {
	File FileStep  `json:"file"`
	Time time.Time `json:"time,omitzero"`
}

func (HunksProposed) Type() string { return RuntimePrefix + "hunks-proposed" }
func (EditApplied) Type() string   { return RuntimePrefix + "edit-applied" }
func (EditWithdrawn) Type() string { return RuntimePrefix + "edit-withdrawn" }
func (HunksDecided) Type() string  { return RuntimePrefix + "hunks-decided" }
func (RejectUndone) Type() string  { return RuntimePrefix + "reject-undone" }
func (FilesRestored) Type() string { return RuntimePrefix + "files-restored" }
func (FileSynced) Type() string    { return RuntimePrefix + "file-synced" }

func (StepAmended) Type() string { return RuntimePrefix + "step-amended" }
func (FileRenamed) Type() string { return RuntimePrefix + "file-renamed" }

func (StepAmended) isEvent()   {}
func (FileRenamed) isEvent()   {}
func (HunksProposed) isEvent() {}
func (EditApplied) isEvent()   {}
func (EditWithdrawn) isEvent() {}
func (HunksDecided) isEvent()  {}
func (RejectUndone) isEvent()  {}
func (FilesRestored) isEvent() {}
func (FileSynced) isEvent()    {}

var _ = []struct{}{
	register[HunksProposed](), register[EditApplied](), register[EditWithdrawn](), register[HunksDecided](),
	register[RejectUndone](), register[FilesRestored](), register[FileSynced](),
	register[StepAmended](), register[FileRenamed](),
}
