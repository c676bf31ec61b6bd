package rpc

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// BenchmarkInitialize is a whole connection: open, handshake, end.
func BenchmarkInitialize(b *testing.B) {
	for b.Loop() {
		near, far := net.Pipe()
		s := New(far, Options{Open: openFake(newFakeEngine())})
		done := make(chan error, 1)
		go func() { done <- s.Run(context.Background()) }()
		c := Dial(near, Handlers{})
		if _, err := c.Hello(b.Context(), Hello{Name: "bench"}); err != nil {
			b.Fatal(err)
		}
		if err := c.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}

// BenchmarkRequest is one round trip.
func BenchmarkRequest(b *testing.B) {
	c := connect(b, newFakeEngine(), Handlers{}, Hello{Name: "bench"})
	for b.Loop() {
		if _, err := c.Status(b.Context(), &agent.SessionRef{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDidChange is a change of a document, decoded and in order.
func BenchmarkDidChange(b *testing.B) {
	c := connect(b, silentEngine{newFakeEngine()}, Handlers{}, Hello{Name: "bench"})
	body := framed(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.go","version":7},"contentChanges":[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"text":"x"}]}}`)
	for b.Loop() {
		if _, err := io.WriteString(c.stream.conn, body); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.Status(b.Context(), &agent.SessionRef{}); err != nil {
		b.Fatal(err)
	}
}

// silentEngine takes changes and does nothing with them.
type silentEngine struct{ *fakeEngine }

func (silentEngine) DidChange(string, int32, []agent.ContentChange, string) error { return nil }

// BenchmarkCycle is a step-tree delta from the engine to a client that reads.
func BenchmarkCycle(b *testing.B) {
	engine := newFakeEngine()
	var seen atomic.Int64
	c := connect(b, engine, Handlers{Cycle: func(agent.CycleNotification) { seen.Add(1) }}, Hello{Name: "bench"})
	if _, err := c.Status(b.Context(), &agent.SessionRef{}); err != nil {
		b.Fatal(err)
	}
	n := agent.CycleNotification{SessionID: "s1", BranchID: "main", CycleID: "m1", Ops: []cycle.Op{{Op: cycle.OpText, Cycle: "m1", Step: 1, Text: "some words of an answer "}}}
	client := engine.client()
	for b.Loop() {
		n.Rev++
		client.Cycle(n)
	}
	b.ReportMetric(float64(seen.Load())/b.Elapsed().Seconds(), "seen/s")
}
