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
// A Workspace is the same files as tools reach them: it resolves paths and says
// which may be touched, keeps the editor's buffers, and replaces files as a
// whole, only while they are what they were.
//
// # What it doesn't do
//
// Scanners and Watchers never write and follow no symbolic link. Nothing here
// runs a program that the folder names, asks the person, or keeps a copy of a
// file that isn't open in the editor.
//
// # Invariants
//
//   - SCAN-1: the same tree gives the same list, sorted by path (TestScanIsSorted).
//   - SCAN-2: git and the walk without git agree on what is ignored (TestGitAndWalkAgree).
//   - SCAN-3: no secret file is ever listed or read (TestSecretsNeverListed).
//   - SCAN-4: nothing outside the folder is listed or read, whatever links say (TestLinksStayInside).
//   - PATH-1: what is outside, secret, or git's own is refused, however the path
//     is spelled (TestConfinement); what was resolved is what is opened, whatever
//     is swapped in meanwhile (TestLinkSwappedIn).
//   - WRITE-1: a process that is killed leaves the old file or the new one
//     (TestKilledWrites); other bytes than expected are never replaced (TestWriteDisk).
//   - DOCS-1: a buffer's text is the editor's, in any encoding (TestOverlayFollowsTheEditor).
//   - WATCH-1: a change is told of, however many changes there are: what cannot be
//     told one by one comes as a rescan (TestOverflowAsksForRescan).
//   - WATCH-2: closing a Watcher ends its goroutines (TestMain, by goleak).
//
// # Reading order
//
// path.go, files.go, overlay.go, atomic.go; scan.go, scan_secret.go, ignore.go,
// watch.go.
package workspace
