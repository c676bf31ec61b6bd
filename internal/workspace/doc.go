// Package workspace knows the files of a folder: which of them there are, which
// must not be looked at, and which have just changed.
//
// # What it does
//
// A Scanner enumerates a folder by git's ignore rules (through git itself where
// there is a work tree, by its own reading of .gitignore elsewhere), leaves out
// what is secret, binary, huge or not a regular file, and reads files without
// ever leaving the folder. A Watcher says in batches which paths have changed.
//
// # What it doesn't do
//
// It never writes, follows no symbolic link, runs no program that the folder
// names, and keeps no copy of any file.
//
// # Invariants
//
//   - SCAN-1: the same tree gives the same list, sorted by path (TestScanIsSorted).
//   - SCAN-2: git and the walk without git agree on what is ignored (TestGitAndWalkAgree).
//   - SCAN-3: no secret file is ever listed or read (TestSecretsNeverListed).
//   - SCAN-4: nothing outside the folder is listed or read, whatever links say (TestLinksStayInside).
//   - WATCH-1: a change is told of, however many changes there are: what cannot be
//     told one by one comes as a rescan (TestOverflowAsksForRescan).
//   - WATCH-2: closing a Watcher ends its goroutines (TestMain, by goleak).
//
// # Reading order
//
// scan.go, scan_secret.go, ignore.go, watch.go.
package workspace
