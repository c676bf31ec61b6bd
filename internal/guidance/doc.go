// Package guidance reads what people write down for agents: instruction files
// (AGENTS.md, CLAUDE.md), commands and skills, of a workspace and of its user.
//
// # What it does
//
// Instructions collects the files that count for some paths, the most general
// first, so that the nearest one has the last word. Commands reads
// .agent-lsp/commands/*.md and the user's folder; Skills reads folders that
// hold a SKILL.md. Each says whether it came from the workspace.
//
// # What it doesn't do
//
// It doesn't decide what is trusted, puts nothing into a prompt and follows no
// link that leads out of the folder that it reads.
//
// # Invariants
//
//   - GUIDE-1 The nearer instruction file comes after the farther one, and one
//     kind of file counts per folder: TestNearestWins.
//   - GUIDE-2 Nothing outside the workspace is read for the workspace, links
//     included, and every file is bounded: TestLinksStayInside, TestBounds.
//   - GUIDE-3 Any bytes parse: a command with broken front matter is reported by
//     name and the others are read: TestBrokenCommand, FuzzParse.
//
// # Reading order
//
// front.go (the format), guidance.go (the places).
package guidance
