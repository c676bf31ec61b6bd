// Package edits is the ledger of the agent's edits: the only way in which it
// changes a text.
//
// # What it does
//
// A [Ledger] holds, for each file that the agent has touched, its review state
// (package cycle/review), and keeps that, the event log, the person's buffer
// and the disk in step. It is tools.Files for the tools, and answers the
// editors' questions about hunks, decisions and checkpoints.
//
// Every operation on a file goes the same way (operation.go):
//
//  1. take the file for this operation; others wait, the person's typing doesn't
//  2. take in what the person did since (the buffer, or else the disk)
//  3. compute the state after the operation: pure
//  4. record the state before and after: durable from here on
//  5. bring the text to the buffer (Editor.ApplyEdit, with the version that it
//     was computed for) or to the disk (atomic, only if it still holds what it
//     was computed from). Where the person was quicker: back to 3, over what
//     they typed, at most ApplyTriesMax times
//  6. record that it is there, or that it was withdrawn
//
// # After a crash
//
// [Ledger.Load] folds the recorded events and compares with the disk. A text
// is either as before an operation or as after it, never between:
//
//   - it is as after: the operation is finished.
//   - an agent's edit was recorded and the text is as before: the edit is
//     withdrawn; its tool call was never answered, and the model is told that
//     it failed.
//   - a decision or a restore was recorded and the text is as before: it is
//     finished now, for the person has asked for it.
//   - the text is as it would be without the agent's pending hunks (the buffer
//     was lost unsaved, or git restored the file): the hunks stay, held back
//     until accepted.
//   - it is something else: the person has changed it meanwhile, and their change
//     is taken as an edit of the text with the agent's hunks in it. Those that
//     are not there any more, or never came there, vanish by that.
//
// # What it doesn't do
//
// It matches no old text (tools do), asks for no permission (it refuses with
// *tools.PathError; whoever asked calls Permit), and doesn't watch the disk.
// What commands change behind it counts as the person's.
//
// # Invariants
//
//   - EDITS-1 no text is changed before the change is recorded (TestNothingBeforeTheJournal).
//   - EDITS-2 the shown text of every state is the buffer's, or the file's on
//     disk (TestRandomLedger).
//   - EDITS-3 what the person typed is in the buffer or in the state, whatever
//     happens, crashes included, until they delete it or accept a hunk that
//     takes it out (TestRandomLedger). A restore that would
//     take the last copy of a line of theirs leaves the file alone
//     (TestRestoreOfALineThatCameBack).
//   - EDITS-4 Load gives the state that was left (TestLoadIsTheLiveState).
//   - EDITS-5 nothing outside the workspace, in .git, or secret is touched
//     unless permitted (TestRefusals).
//   - EDITS-6 a write that is killed leaves the old file or the new one
//     (internal/workspace: TestKilledWrites).
//
// # Reading order
//
// api.go, ledger.go, change.go, operation.go, person.go, resolve.go, files.go,
// views.go, restore.go, history.go, load.go.
package edits
