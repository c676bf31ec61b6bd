// Package frame reads the base protocol of editors: messages behind a
// Content-Length header.
//
// # What it does
//
// It reads one message after the other in bounded memory, and tells what ends
// the reading (a header that can't be read) from what doesn't (a message that
// is too long is passed over, with its id).
//
// # What it doesn't do
//
// It knows no JSON-RPC beyond the member id of a message that it passes over,
// and it writes nothing.
//
// # Invariants
//
//   - FRAME-1 a header block is read up to HeaderMax bytes, a message up to the
//     limit, and an announced length alone allocates nothing (TestMemory; TestFraming
//     and FuzzStream in package rpc, TestRelayFraming in internal/share).
//
// # Reading order
//
// frame.go.
package frame
