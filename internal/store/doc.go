// Package store keeps everything that must survive: the event log, artifacts,
// file snapshots, archived outputs and sessions, in one SQLite file per
// workspace.
//
// # What it does
//
// Append writes events in one transaction and returns when they are durable
// against the death of the process. Events reads them back in order, decoded
// into today's types. Artifacts and snapshots are stored under ids that are
// content hashes or unique names, so writing twice is writing once.
//
// # What it doesn't do
//
// It decides nothing, derives nothing and never holds an API key. It knows
// cycle's events only by their stored form.
//
// # Invariants
//
//   - STORE-1 What Append returned nil for is there after kill -9: TestKill.
//   - STORE-2 Events come back in the order in which they were appended, equal
//     to what went in: TestAppendEvents.
//   - STORE-3 The file is 0600, its folder 0700: TestModes.
//
// # Reading order
//
// store.go, events.go, artifacts.go, sessions.go.
package store
