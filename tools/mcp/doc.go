// Package mcp offers the tools of configured servers of the Model Context
// Protocol (MCP) as tools of ours.
//
// # What it does
//
// Open starts every configured server in the background, over stdio or HTTP,
// and puts its tools into a registry as mcp__SERVER__TOOL. Each server has one
// goroutine, which connects, lists, notices death and hanging, and starts the
// server again, a bounded number of times. A call goes to the session that is
// up at that moment; while there is none it fails at once, in words.
//
// # What it doesn't do
//
// It decides no permission: nothing that a server says of itself (hints,
// annotations, titles) is believed, and none of its tools counts as read-only.
// It gives a server nothing but calls: no roots, no sampling by our model, no
// questions to the person. It is no sandbox: a server is a program that the
// person chose, and runs as one.
//
// # Invariants
//
//   - A server costs its own tools only: huge, slow, dying or lying, the others
//     go on, and Open never waits. (TestHostile, TestNeverAnswers,
//     TestRealServerKilled)
//   - Every limit has a name, and what was left out is told. (TestHostile)
//   - The name of a tool depends on its server's and its own alone; it never is
//     the name of one of ours, nor of another server's. (TestNames, FuzzName)
//   - Descriptions and results are marked as data and hold no invisible text. (TestResults, FuzzClean)
//   - Nothing that a server started in its process group outlives Close. (TestCloseKillsTheGroup)
//   - Credentials reach a server only when its settings name them, and never
//     come back in a result or an error. (TestEnvironment, TestHTTP)
//
// # Reading order
//
// server.go (settings, limits), pool.go, life.go, tool.go, clean.go; process.go
// and http.go are the two ways to reach a server.
package mcp
