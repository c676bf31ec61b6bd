package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.lsp.dev/jsonrpc2"
	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/agent"
)

func delta(session string, rev, size int) *message {
	return &message{method: "agent/cycle", session: session, bytes: size, params: jsonrpc2.RawMessage(fmt.Sprintf(`{"sessionId":%q,"rev":%d}`, session, rev))}
}

func drainAll(o *outbox) (out []string) {
	for m := o.next(); m != nil; m = o.next() {
		data, _ := json.Marshal(m.params)
		if raw, ok := m.params.(jsonrpc2.RawMessage); ok {
			data = raw
		}
		out = append(out, m.method+" "+string(data))
	}
	return out
}

// TestOutboxOverflow fills the queue of a client that doesn't read: each
// session keeps its newest delta, so that the next rev shows the gap.
func TestOutboxOverflow(t *testing.T) {
	for _, test := range []struct {
		name string
		size int
		n    int
	}{{"by number", 1, OutboxDeltas}, {"by bytes", OutboxBytes / 4, 4}} {
		t.Run(test.name, func(t *testing.T) {
			o := newOutbox()
			o.put(delta("quiet", 1, test.size))
			o.put(&message{method: "kept", kept: true, params: 1})
			for rev := range test.n {
				o.put(delta("busy", rev+1, test.size))
			}
			got := strings.Join(drainAll(o), "; ")
			if want := fmt.Sprintf(`agent/cycle {"sessionId":"quiet","rev":1}; kept 1; agent/cycle {"sessionId":"busy","rev":%d}`, test.n); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if o.bytes != 0 || o.deltas != 0 || o.others != 0 || len(o.latest) != 0 {
				t.Errorf("an empty queue counts %+v", o)
			}
		})
	}
}

// TestOutboxBounded holds the bounds, the order and the newest of everything
// for any sequence of messages.
func TestOutboxBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOutbox()
		newest := map[string]int{}
		for i := range rapid.IntRange(0, 300).Draw(t, "n") {
			session := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "session")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				o.put(delta(session, i, rapid.IntRange(0, OutboxBytes/2).Draw(t, "size")))
				newest["delta "+session] = i
			case 1:
				o.put(&message{method: "latest", key: session, params: i})
				newest["latest "+session] = i
			case 2:
				o.put(&message{method: "kept", kept: true, params: i})
				newest["kept "] = i
			}
			if o.deltas > 3 && (o.deltas > OutboxDeltas || o.bytes > OutboxBytes) || o.others > OutboxMessages {
				t.Fatalf("%d deltas of %d bytes and %d others wait", o.deltas, o.bytes, o.others)
			}
		}
		last := map[string]int{}
		for m := o.next(); m != nil; m = o.next() {
			var n int
			group := m.method + " " + m.key
			if m.session != "" {
				group = "delta " + m.session
				var p struct{ Rev int }
				if err := json.Unmarshal(m.params.(jsonrpc2.RawMessage), &p); err != nil {
					t.Fatal(err)
				}
				n = p.Rev
			} else {
				n = m.params.(int)
			}
			if before, ok := last[group]; ok && before >= n {
				t.Fatalf("%s: %d after %d", group, n, before)
			}
			last[group] = n
		}
		for group, n := range newest {
			if last[group] != n {
				t.Fatalf("%s: the newest is %d, not %d", group, last[group], n)
			}
		}
	})
}

// TestOutboxLosesTheLeast fills the queue with messages that may be lost and
// such that may not.
func TestOutboxLosesTheLeast(t *testing.T) {
	o := newOutbox()
	for i := range OutboxMessages {
		o.put(&message{method: "log", params: i})
	}
	o.put(&message{method: "kept", kept: true, params: 0})
	if got := drainAll(o); len(got) != OutboxMessages || got[0] != "log 1" || got[len(got)-1] != "kept 0" {
		t.Errorf("%d messages, first %s", len(got), got[0])
	}
	for i := range OutboxMessages + 1 {
		o.put(&message{method: "kept", kept: true, params: i})
	}
	if got := drainAll(o); len(got) != OutboxMessages || got[0] != "kept 1" {
		t.Errorf("%d messages, first %s", len(got), got[0])
	}
}

func TestMergeEdits(t *testing.T) {
	older := agent.EditsChanged{SessionID: "s", URIs: []string{"a", "b"}, Hunks: []agent.Hunk{{HunkID: "1", URI: "a"}, {HunkID: "2", URI: "b"}}, Pending: 2}
	newer := agent.EditsChanged{SessionID: "s", URIs: []string{"a"}, Hunks: []agent.Hunk{{HunkID: "3", URI: "a"}}, Pending: 5}
	got := mergeEdits(older, newer)
	if want := `{"sessionId":"s","uris":["a","b"],"hunks":[3 2],"pending":5}`; fmt.Sprintf(`{"sessionId":%q,"uris":["%s"],"hunks":[%s %s],"pending":%d}`, got.SessionID, strings.Join(got.URIs, `","`), got.Hunks[0].HunkID, got.Hunks[1].HunkID, got.Pending) != want {
		t.Errorf("got %+v", got)
	}
	if len(newer.Hunks) != 1 || len(newer.URIs) != 1 {
		t.Error("merging changed what was merged")
	}
}

// TestSlowClient has a client that reads nothing at all: the engine goes on,
// what waits stays bounded, and a client that reads again sees a gap in rev
// and everything that must not be lost.
func TestSlowClient(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near, far := net.Pipe()
		engine := newFakeEngine()
		s := New(far, Options{Open: openFake(engine)})
		done := make(chan error, 1)
		go func() { done <- s.Run(t.Context()) }()
		in := newStream(near)
		send := func(body string) { _, _ = io.WriteString(near, framed(body)) }
		send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{},"initializationOptions":{"agentLsp":{"client":"t","protocolVersion":1}}}}`)
		if _, _, err := in.readFrame(t.Context()); err != nil {
			t.Fatal(err)
		}
		send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
		synctest.Wait()
		c := engine.client()
		const many = 3 * OutboxDeltas
		for rev := range many {
			c.Cycle(agent.CycleNotification{SessionID: "s", Rev: int64(rev + 1)})
			c.Index(agent.IndexStatus{State: "indexing", Done: rev})
		}
		c.Loop("loop:control", json.RawMessage(`{"schema":0,"type":"RESULT"}`))
		if s.peer.out.deltas > OutboxDeltas {
			t.Errorf("%d deltas wait", s.peer.out.deltas)
		}
		var last, gaps int64
		var index, results int
		for results == 0 {
			body, _, err := in.readFrame(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var m struct {
				Method string
				Params struct {
					Rev  int64
					Done int
				}
			}
			if err := json.Unmarshal(body, &m); err != nil {
				t.Fatal(err)
			}
			switch m.Method {
			case "agent/cycle":
				if m.Params.Rev != last+1 {
					gaps++
				}
				last = m.Params.Rev
			case "agent/index":
				index++
			case "loop:control":
				results++
			}
		}
		if last != many || gaps == 0 || index > 3 {
			t.Errorf("last rev %d, %d gaps, %d index messages", last, gaps, index)
		}
		_ = near.Close()
		if err := <-done; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
}

// TestLastWords ends the server's own context right after its engine has said
// something: the client still hears all of it, and one that doesn't read holds
// up the end for two seconds at most.
func TestLastWords(t *testing.T) {
	for _, reads := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			near, far := net.Pipe()
			engine := newFakeEngine()
			ctx, stop := context.WithCancel(t.Context())
			s := New(far, Options{Open: openFake(engine)})
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			in := newStream(near)
			_, _ = io.WriteString(near, framed(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{},"initializationOptions":{"agentLsp":{"client":"t","protocolVersion":1}}}}`))
			if _, _, err := in.readFrame(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(near, framed(`{"jsonrpc":"2.0","method":"initialized","params":{}}`))
			synctest.Wait()
			const words = 100
			for i := range words {
				engine.client().Loop("loop:control", json.RawMessage(fmt.Sprintf(`{"request_id":"%d"}`, i)))
			}
			begun := time.Now()
			stop()
			heard := 0
			for reads {
				body, _, err := in.readFrame(t.Context())
				if err != nil {
					break
				}
				heard += bytes.Count(body, []byte("loop:control"))
			}
			if err := <-done; err != nil || reads && heard != words || time.Since(begun) > drainWait+forceWait {
				t.Errorf("reads %v: heard %d of %d, ended after %v with %v", reads, heard, words, time.Since(begun), err)
			}
			_ = near.Close()
		})
	}
}
