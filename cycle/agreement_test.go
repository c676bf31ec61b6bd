package cycle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAgreement: at every prefix of any log the reference, the incremental state, an editor that reduces the
// ops from the wire one by one, an editor that gets them coalesced in batches, and an oracle that shares no code
// with them see the same model.
func TestAgreement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(eventGen, 0, 60).Draw(t, "events")
		policy := Policy{Auto: rapid.SampledFrom([]Delivery{"", DeliveryAuto, DeliverySteer, DeliveryFollowUp}).Draw(t, "auto")}
		checkAgreement(t, events, policy, rapid.Uint64().Draw(t, "seed"))
	})
}

// FuzzProject is TestAgreement with logs that the fuzzer steers to: two bytes an event.
func FuzzProject(f *testing.F) {
	f.Add([]byte{}, false)
	f.Add([]byte{0, 0, 4, 0, 5, 1, 9, 0, 10, 0, 1, 1, 6, 3, 12, 0}, false)
	f.Add([]byte{0, 0, 0, 1, 0, 2, 5, 0, 5, 4, 12, 0, 7, 0, 13, 1, 9, 1}, true)
	f.Fuzz(func(t *testing.T, script []byte, queue bool) {
		const eventsMax = 80
		var events []Event
		for len(script) >= 2 && len(events) < eventsMax {
			events = append(events, eventOf(script[0], script[1]))
			script = script[2:]
		}
		policy := Policy{}
		if queue {
			policy.Auto = DeliveryFollowUp
		}
		checkAgreement(t, events, policy, uint64(len(events)))
	})
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkAgreement(t failer, events []Event, policy Policy, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 1))
	state := NewState(policy)
	editor, batched := NewModel(), NewModel()
	var batch []Op
	type kept struct {
		model Model
		json  string
	}
	var snapshots []kept
	for n := 0; ; n++ {
		prefix := events[:n]
		want := oracle(t, prefix, policy)
		same := func(who string, m Model) {
			t.Helper()
			if got := viaJSON(t, m); !cmp.Equal(want, got) {
				t.Fatalf("%s disagrees with the oracle after %d events (-oracle +%s):\n%s", who, n, who, cmp.Diff(want, got))
			}
		}
		same("Project", Project(prefix, policy))
		same("State", state.Model())
		same("editor", editor)
		if rnd.IntN(3) == 0 {
			if err := Reduce(&batched, Coalesce(batch)); err != nil {
				t.Fatalf("coalesced ops up to event %d: %v", n, err)
			}
			batch = nil
			same("batched editor", batched)
		}
		if rnd.IntN(5) == 0 {
			m := state.Model()
			snapshots = append(snapshots, kept{m, mustJSON(t, m)})
		}
		checkQueries(t, state)
		if n == len(events) {
			break
		}
		ops := state.Apply(events[n])
		if err := Reduce(&editor, overTheWire(t, ops)); err != nil {
			t.Fatalf("ops of event %d: %v", n, err)
		}
		batch = append(batch, ops...)
	}
	for i, s := range snapshots {
		if now := mustJSON(t, s.model); now != s.json {
			t.Fatalf("snapshot %d changed:\nwas %s\nis  %s", i, s.json, now)
		}
	}
}

// TestSnapshotsAreApart: a snapshot and the state that it was taken from go on in different ways, at the same
// time, and each stays right.
func TestSnapshotsAreApart(t *testing.T) {
	// Lists of three have room for a fourth: whoever appends in place writes into the other's list.
	round := 1 // all in one
	grow := func(n int, mark string) (events []Event) {
		for i := range n {
			id := fmt.Sprint(mark, i)
			events = append(events,
				AgentOutput{ID: "o", Output: OutputAssistant, Text: mark, Round: &round},
				AgentOutput{Output: OutputToolCall, CallID: id, Tool: "ls", Round: &round},
				ToolResult{CallID: id, Status: ResultOK, Text: mark},
				ToolResult{CallID: id, Status: ResultOK},
				UserMessage{ID: id, Text: mark, Delivery: DeliveryFollowUp})
		}
		return events
	}
	before := append([]Event{UserMessage{ID: "m1"}}, grow(3, "a")...)
	checkApart(t, before, grow(1, "b"), grow(1, "c"))

	rapid.Check(t, func(t *rapid.T) {
		long := rapid.SliceOfN(eventGen, 0, 60)
		checkApart(t, long.Draw(t, "before"), long.Draw(t, "one"), long.Draw(t, "other"))
	})
}

func checkApart(t failer, before, one, other []Event) {
	t.Helper()
	state, twin := NewState(Policy{}), NewState(Policy{})
	for _, e := range before {
		state.Apply(e)
		twin.Apply(e)
	}
	var ops []Op
	for _, e := range other {
		ops = append(ops, twin.Apply(e)...)
	}
	snapshot := state.Model()
	done := make(chan error)
	go func() { done <- Reduce(&snapshot, ops) }()
	for _, e := range one {
		state.Apply(e)
	}
	if err := <-done; err != nil {
		t.Fatalf("%v", err)
	}
	for _, c := range []struct {
		who   string
		model Model
		log   []Event
	}{{"state", state.Model(), slices.Concat(before, one)}, {"snapshot", snapshot, slices.Concat(before, other)}} {
		if want, got := mustJSON(t, Project(c.log, Policy{})), mustJSON(t, c.model); want != got {
			t.Fatalf("%s\n%s\nwant\n%s", c.who, got, want)
		}
	}
}

// TestAppendText: copies of a step that share their text's memory don't write into each other's text.
func TestAppendText(t *testing.T) {
	a := ResolutionStep{Text: "a"}
	a.appendText("b")
	b := a
	a.appendText("c")
	b.appendText("d")
	a.appendText("e")
	if a.Text != "abce" || b.Text != "abd" {
		t.Errorf("texts are %q and %q, want abce and abd", a.Text, b.Text)
	}
	a.Text = "else"
	a.appendText("!")
	if a.Text != "else!" {
		t.Errorf("text is %q, want else!", a.Text)
	}
}

// checkQueries compares the state's quick answers with its model.
func checkQueries(t failer, s *State) {
	t.Helper()
	m := s.Model()
	current := ""
	if m.State == StateActive {
		current = m.Cycles[len(m.Cycles)-1].ID
	}
	if s.Active() != (m.State == StateActive) || s.CurrentCycle() != current {
		t.Fatalf("Active %v, CurrentCycle %q in a model that is %s in %q", s.Active(), s.CurrentCycle(), m.State, current)
	}
	if !cmp.Equal(s.Queue(), m.Queued) {
		t.Fatalf("Queue %v, in the model %v", s.Queue(), m.Queued)
	}
	for _, q := range m.Queued {
		if !s.HasMessage(q.ID) {
			t.Fatalf("HasMessage(%q) is false for a queued message", q.ID)
		}
	}
	for _, c := range m.Cycles {
		for _, step := range c.Steps {
			if step.Type != StepAIBlock && !s.HasMessage(step.ID) {
				t.Fatalf("HasMessage(%q) is false for a step", step.ID)
			}
		}
	}
	if s.HasMessage("never sent") {
		t.Fatalf("HasMessage is true for a message that wasn't sent")
	}
}

// overTheWire is what an editor gets of ops.
func overTheWire(t failer, ops []Op) []Op {
	t.Helper()
	data, err := json.Marshal(ops)
	if err != nil {
		t.Fatalf("ops don't marshal: %v", err)
	}
	var out []Op
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("ops don't unmarshal: %v", err)
	}
	return out
}

func mustJSON(t failer, m Model) string {
	t.Helper()
	data, err := JSON(m, ViewAll)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(data)
}

// viaJSON is a model as a stranger sees it.
func viaJSON(t failer, m Model) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustJSON(t, m)), &v); err != nil {
		t.Fatalf("%v", err)
	}
	return v
}

// Few ids and many kinds, so that every collision is common.
var (
	messageIDs = []string{"m1", "m2", "m3", "m4", "m5", "m6", "x"}
	outputIDs  = []string{"o1", "o2", "x"}
	callIDs    = []string{"c1", "c2", "c3", "x"}
	toolNames  = []string{"ls", "read", "grep", "find", "write", "edit", "bash", "lsp", "Read"}
	deltas     = []string{"", "a", "b\n", "ü", "<&>"}
)

var eventGen = rapid.Custom(func(t *rapid.T) Event {
	return eventOf(rapid.Byte().Draw(t, "kind"), rapid.Byte().Draw(t, "what"))
})

// eventOf makes an event of two bytes: a kind, and everything else.
func eventOf(kind, what byte) Event {
	pick := func(list []string, salt int) string { return list[(int(what)+salt)%len(list)] }
	var round *int
	if kind >= 128 {
		n := int(what>>4) - 2
		round = &n
	}
	switch kind % 14 {
	case 0, 1:
		return UserMessage{ID: pick(messageIDs, 0), Text: pick(deltas, 1)}
	case 2:
		return UserMessage{ID: pick(messageIDs, 0), Text: "steer", Delivery: DeliverySteer}
	case 3:
		return UserMessage{ID: pick(messageIDs, 0), Text: "then", Delivery: DeliveryFollowUp}
	case 4, 5:
		return AgentOutput{ID: pick(outputIDs, 0), Output: OutputAssistant, Text: pick(deltas, 2), Round: round}
	case 6:
		return AgentOutput{ID: pick(outputIDs, 0), Output: OutputReasoning, Text: pick(deltas, 3), Round: round}
	case 7, 8:
		e := AgentOutput{Output: OutputToolCall, CallID: pick(callIDs, 0), Tool: toolNames[int(what/4)%len(toolNames)], Round: round}
		if what&1 == 1 {
			e.Args = json.RawMessage(`{"path":"<a>"}`)
		}
		return e
	case 9, 10, 12:
		return ToolResult{CallID: pick(callIDs, 0), Status: []ResultStatus{ResultOK, ResultError, ResultCancelled}[what%3], Text: pick(deltas, 4)}
	case 11:
		return passedOver{}
	default:
		return RunStop{Reason: []StopReason{StopCompleted, StopInterrupted, StopError}[what%3]}
	}
}

// passedOver is a runtime event of no meaning.
type passedOver struct{}

func (passedOver) Type() string { return RuntimePrefix + "passed-over" }
func (passedOver) isEvent()     {}

// TestRuntimeEventsArePassedOver: a log projects the same with and without them, anomalies' indexes included.
func TestRuntimeEventsArePassedOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(eventGen, 0, 60).Draw(t, "events")
		var seeds []Event
		for _, e := range events {
			if isSeed(e) {
				seeds = append(seeds, e)
			}
		}
		with, without := mustJSON(t, Project(events, Policy{})), mustJSON(t, Project(seeds, Policy{}))
		if with != without {
			t.Fatalf("with runtime events\n%s\nwithout\n%s", with, without)
		}
	})
}
