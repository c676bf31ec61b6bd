package cycle

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
)

// mixedLog is a log of n events as a busy session writes it: cycles of 200 events with streamed text, calls in
// pairs, results, now and then a steer and a follow-up.
func mixedLog(n int) []Event {
	events := make([]Event, 0, n+200)
	args := json.RawMessage(`{"path":"net/transport.go","offset":200}`)
	for cycle := 0; len(events) < n; cycle++ {
		events = append(events, UserMessage{ID: fmt.Sprintf("m%d", cycle), Text: "fix the flaky test"})
		for i := 0; i < 12; i++ {
			for d := 0; d < 10; d++ {
				events = append(events, AgentOutput{ID: fmt.Sprintf("o%d", i), Output: OutputAssistant, Text: "some words "})
			}
			a, b := fmt.Sprintf("c%d", 2*i), fmt.Sprintf("c%d", 2*i+1)
			events = append(events,
				AgentOutput{Output: OutputToolCall, CallID: a, Tool: "read", Args: args},
				AgentOutput{Output: OutputToolCall, CallID: b, Tool: "bash", Args: args},
				ToolResult{CallID: b, Status: ResultOK, Text: "ok"},
				ToolResult{CallID: a, Status: ResultOK, Text: "package net"})
		}
		if cycle%5 == 0 {
			events = append(events, UserMessage{ID: fmt.Sprintf("s%d", cycle), Text: "only the client", Delivery: DeliverySteer})
		}
		events = append(events, RunStop{Reason: StopCompleted})
	}
	return events[:n]
}

// streamLog is one cycle with one text item of n deltas.
func streamLog(n int) []Event {
	events := make([]Event, 0, n)
	events = append(events, UserMessage{ID: "m1", Text: "tell me everything"})
	for len(events) < n {
		events = append(events, AgentOutput{ID: "o1", Output: OutputAssistant, Text: "word "})
	}
	return events
}

var logs = []struct {
	name string
	make func(int) []Event
}{{"mixed", mixedLog}, {"stream", streamLog}}

// BenchmarkApply's events/s must not fall with the length of the log.
func BenchmarkApply(b *testing.B) {
	for _, l := range logs {
		for _, n := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", l.name, n), func(b *testing.B) {
				events := l.make(n)
				b.ReportAllocs()
				for b.Loop() {
					s := NewState(Policy{})
					for _, e := range events {
						s.Apply(e)
					}
				}
				perSecond(b, n)
			})
		}
	}
}

// BenchmarkReduce is an editor's share: ops one event at a time.
func BenchmarkReduce(b *testing.B) {
	for _, l := range logs {
		b.Run(l.name, func(b *testing.B) {
			const n = 100_000
			var ops [][]Op
			s := NewState(Policy{})
			for _, e := range l.make(n) {
				ops = append(ops, s.Apply(e))
			}
			for b.Loop() {
				m := NewModel()
				for _, o := range ops {
					if err := Reduce(&m, o); err != nil {
						b.Fatal(err)
					}
				}
			}
			perSecond(b, n)
		})
	}
}

func BenchmarkProject(b *testing.B) {
	for _, l := range logs {
		b.Run(l.name, func(b *testing.B) {
			const n = 1_000_000
			events := l.make(n)
			for b.Loop() {
				Project(events, Policy{})
			}
			perSecond(b, n)
		})
	}
}

// BenchmarkProjectLog is the whole command, from JSON lines to JSON.
func BenchmarkProjectLog(b *testing.B) {
	const n = 100_000
	var log []byte
	for _, e := range mixedLog(n) {
		line, err := Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		log = append(append(log, line...), '\n')
	}
	b.SetBytes(int64(len(log)))
	for b.Loop() {
		if _, err := ProjectLog(log, LogOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b, n)
}

// BenchmarkModel is a snapshot of a long session.
func BenchmarkModel(b *testing.B) {
	s := NewState(Policy{})
	for _, e := range mixedLog(100_000) {
		s.Apply(e)
	}
	for b.Loop() {
		s.Model()
	}
}

func perSecond(b *testing.B, n int) {
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// TestStreamingIsLinear: a delta costs its own length, not that of the text before it, in the state and in an
// editor, also while snapshots are taken. Bytes allocated tell it without a clock: if each delta copied the
// text, this would be 25 KB and more an event.
func TestStreamingIsLinear(t *testing.T) {
	const n, bytesPerEventMax = 10_000, 2_000
	events := streamLog(n)
	allocated := func(work func()) float64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		work()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / n
	}
	var ops [][]Op
	s := NewState(Policy{})
	if got := allocated(func() {
		for _, e := range events {
			ops = append(ops, s.Apply(e))
			_ = s.Model()
		}
	}); got > bytesPerEventMax {
		t.Errorf("Apply and a snapshot allocate %.0f bytes an event, %d are allowed", got, bytesPerEventMax)
	}
	m := NewModel()
	if got := allocated(func() {
		for _, o := range ops {
			if err := Reduce(&m, o); err != nil {
				t.Fatal(err)
			}
		}
	}); got > bytesPerEventMax {
		t.Errorf("Reduce allocates %.0f bytes an event, %d are allowed", got, bytesPerEventMax)
	}
	if got := allocated(func() { Project(events, Policy{}) }); got > bytesPerEventMax {
		t.Errorf("Project allocates %.0f bytes an event, %d are allowed", got, bytesPerEventMax)
	}
}
