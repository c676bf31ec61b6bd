// Package text is the arithmetic of text: where something is, how two texts
// differ, and what becomes of a change when the text under it moves.
//
// # What it does
//
// Byte spans, positions of the editor protocol (0-based line and column in
// UTF-8, UTF-16 or UTF-32 units), edits that replace spans, line differences,
// composition and rebasing of edits, three-way merges, unified diffs, hashes;
// and the one list of names that look like credentials.
// All functions are pure; all of them take any byte string, valid UTF-8 or not.
//
// # What it doesn't do
//
// It decodes no encodings, knows no files and no hunks under review (package
// cycle/review does), and never guesses: where two changes touch, that is a
// conflict and is said so.
//
// # Invariants
//
//   - TEXT-1 Apply(a, Diff(a, b)) == b (TestDiffThenApplyGivesTheOther, FuzzDiff).
//   - TEXT-2 Apply(Apply(a, e), Invert(a, e)) == a (TestInvertGoesBack).
//   - TEXT-3 Apply(Apply(a, e), f) == Apply(a, Compose(a, e, f)) (TestComposeIsOneStep).
//   - TEXT-4 rebasing is symmetric: either order of two changes that do not
//     conflict gives the same text (TestRebaseEitherOrder).
//   - TEXT-5 Merge agrees with git merge-file on the committed table (TestMergeLikeGit).
//   - TEXT-6 offsets and positions are inverse on every boundary (TestPositionsThereAndBack).
//   - TEXT-7 a name that only hides what it is, is judged as what it is
//     (TestSecretPath, FuzzSecretPath).
//
// # Reading order
//
// span.go, edit.go, diff.go, rebase.go, merge.go, position.go, unified.go; secret.go.
package text
