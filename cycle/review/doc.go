// Package review is what stands between an agent's edit and the person's file:
// the state of one file under review, as a pure value.
//
// # What it does
//
// A [File] is a text cut into gaps, which nobody disputes, and hunks, which
// wait for the person. A hunk holds four texts of the same place:
//
//	base    what was there before the agent came
//	agent   what the agent wants there
//	shown   what the person's buffer (or the file on disk) has there now
//	ref     what shown was when the agent last put or saw it there
//
// In review mode the agent's text is put into the buffer at once (ref = agent);
// in ask mode it is held back (ref = base). Whatever the person does is the
// step from ref to shown, and everything else follows by three-way merge:
//
//	accepting gives  merge(ref; shown, agent)    which is also what the agent sees
//	rejecting gives  merge(ref; shown, base)     which is the person's text
//
// Where a merge is not clean the hunk is a conflict: the result then holds
// both texts, and the hunk says so. Nothing is ever dropped to make a merge
// come out.
//
// The operations: [File.Agent], [File.Create], [File.Delete] by the agent;
// [File.User], [File.UserCreate], [File.UserDelete] by the person;
// [File.Accept], [File.Reject], [File.UndoReject]. Each returns a new value.
// [Timeline] knows the undo and redo of the person's editor from new edits.
//
// # What it doesn't do
//
// It touches no disk, no editor and no log, and makes up no ids: agent/edits
// does that.
//
// # Rules of thumb for the person's edits
//
// They are judged by lines, as the person reads. Whole lines put before, after
// or between hunks, and any change to lines outside hunks, go to the gaps: to
// the person's text and the agent's alike. Whole lines deleted across hunks
// leave the base of those hunks to be decided. A change to a line of a hunk, or
// one that joins a hunk's line with another, is inside the hunk, which grows to
// whole lines if need be. When the hunk is rejected afterwards, the lines that
// the person changed stay, below the text that comes back.
//
// # Invariants
//
//   - REVIEW-1 base + hunks == current, for each of the four texts, after any
//     sequence of operations (TestRandomOperations, Check).
//   - REVIEW-2 rejecting everything gives the person's text exactly: what they
//     had, with all their edits (TestRejectingAllGivesThePersonsText).
//   - REVIEW-3 no character that the person typed is missing, whatever the
//     agent, accepts, rejects and undos do, until they delete it or accept a
//     hunk that takes it out. What they had deleted and a reject brought back is
//     deleted again once they undo that reject (TestRandomOperations).
//   - REVIEW-4 ids are stable: a hunk keeps its id until it is decided, or
//     absorbed by another, which then answers to it (TestIDsAreStable).
//   - REVIEW-5 an editor's undo of an application leads back to the state
//     before it (TestTimeline).
//   - REVIEW-6 Decode(Encode(f)) == f (TestCodec, FuzzDecode).
//   - REVIEW-7 undoing a reject right away leaves what was there before it
//     (TestRandomOperations).
//
// # Reading order
//
// file.go, combine.go, user.go, agent.go, decide.go, timeline.go, codec.go.
package review
