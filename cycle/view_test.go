package cycle

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const shapeLog = `{"type":"user-message","id":"m1","text":"a"}
{"type":"agent-output","id":"o1","output":"assistant","text":"<b>"}
{"type":"agent-output","output":"tool-call","callId":"c1","tool":"grep","args":{"z":1,"a":2}}
{"type":"agent-output","output":"tool-call","callId":"c2","tool":"bash"}
{"type":"tool-result","callId":"c1","status":"ok","text":"d","ms":3}
{"type":"user-message","id":"m2","text":"e"}
{"type":"user-message","id":"m3","delivery":"followUp"}
{"type":"tool-result","callId":"c9","status":"ok"}
`

// TestPublishedShape holds the fields of the output and their order, in each view, to the byte.
func TestPublishedShape(t *testing.T) {
	steps := `"steps":[{"type":"non-steer","id":"m1","text":"a"},` +
		`{"type":"ai-block","text":{"kind":"assistant","id":"o1","text":"<b>"},` +
		`"groups":[{"type":"read-group","calls":[{"callId":"c1","tool":"grep","args":{"z":1,"a":2},"result":{"status":"ok","text":"d"}}]},` +
		`{"type":"bash-group","calls":[{"callId":"c2","tool":"bash","args":{},"result":null}]}]},` +
		`{"type":"steer","id":"m2","text":"e"}]`
	rounds := `"rounds":[{"n":1,"input":["m1"],"output":["o1","c1","c2"],"feedback":["c1","m2"]}]`
	head := `{"state":"active","cycles":[{"id":"m1","root":{"id":"m1","kind":"direct","text":"a"},"status":"active",`
	tail := `}],"queued":[{"id":"m3","text":""}],"anomalies":[{"index":7,"reason":"result-for-unknown-call"}]}` + "\n"
	for view, want := range map[View]string{
		"":         head + steps + "," + rounds + tail,
		ViewAll:    head + steps + "," + rounds + tail,
		ViewSteps:  head + steps + tail,
		ViewRounds: head + rounds + tail,
	} {
		got, err := ProjectLog([]byte(shapeLog), LogOptions{View: view})
		if err != nil || string(got) != want {
			t.Errorf("view %q, %v:\n%s", view, err, cmp.Diff(want, string(got)))
		}
	}
	empty, err := ProjectLog(nil, LogOptions{})
	if want := `{"state":"idle","cycles":[],"queued":[],"anomalies":[]}` + "\n"; err != nil || string(empty) != want {
		t.Errorf("of nothing: %s, %v", empty, err)
	}
	blank, err := ProjectLog([]byte(`{"type":"user-message","id":"m1"}`), LogOptions{})
	if want := `{"state":"active","cycles":[{"id":"m1","root":{"id":"m1","kind":"direct","text":""},"status":"active",` +
		`"steps":[{"type":"non-steer","id":"m1","text":""}],"rounds":[]}],"queued":[],"anomalies":[]}` + "\n"; err != nil || string(blank) != want {
		t.Errorf("of a message: %s, %v", blank, err)
	}
}

func TestProjectLogErrors(t *testing.T) {
	out, err := ProjectLog([]byte(shapeLog+"nonsense\n"+shapeLog), LogOptions{View: ViewRounds})
	if err == nil || !strings.HasPrefix(err.Error(), "line 9: malformed JSON") {
		t.Errorf("error %v, want one that names line 9", err)
	}
	if before, _ := ProjectLog([]byte(shapeLog), LogOptions{View: ViewRounds}); !bytes.Equal(before, out) {
		t.Errorf("what came before the bad line isn't printed: %s", out)
	}
	if out, err := ProjectLog(nil, LogOptions{View: "tree"}); err == nil || out != nil {
		t.Errorf("an unknown view gives %s, %v", out, err)
	}
}

// TestModelReadsBack: a client gets the model it was sent, and can go on from it.
func TestModelReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := rapid.SliceOfN(eventGen, 0, 60).Draw(t, "events")
		cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
		state := NewState(Policy{})
		for _, e := range events[:cut] {
			state.Apply(e)
		}
		var client Model
		if err := json.Unmarshal([]byte(mustJSON(t, state.Model())), &client); err != nil {
			t.Fatalf("%v", err)
		}
		snapshot := state.Model()
		for _, e := range events[cut:] {
			ops := state.Apply(e)
			if err := Reduce(&client, overTheWire(t, ops)); err != nil {
				t.Fatalf("%v", err)
			}
			if err := Reduce(&snapshot, ops); err != nil {
				t.Fatalf("%v", err)
			}
		}
		want := viaJSON(t, state.Model())
		if got := viaJSON(t, client); !cmp.Equal(want, got) {
			t.Fatalf("client and server differ (-server +client):\n%s", cmp.Diff(want, got))
		}
		if got := viaJSON(t, snapshot); !cmp.Equal(want, got) {
			t.Fatalf("server and snapshot reduced further differ (-server +snapshot):\n%s", cmp.Diff(want, got))
		}
	})
}

// TestOpTable: an op marshals with exactly the fields that the table at Op says, and each kind has a row.
func TestOpTable(t *testing.T) {
	source, err := os.ReadFile("ops.go")
	if err != nil {
		t.Fatal(err)
	}
	table := map[OpKind]map[string]bool{} // field → may be absent
	var last OpKind
	word := regexp.MustCompile(`^[a-zA-Z]+\??$`)
	for line := range strings.Lines(string(source)) {
		row, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "//\t")
		if !ok || strings.HasPrefix(row, "--") || strings.HasPrefix(row, "op ") {
			continue
		}
		row += strings.Repeat(" ", 60)
		if kind := strings.TrimSpace(row[:10]); kind != "" {
			last = OpKind(kind)
			table[last] = map[string]bool{}
		}
		for _, f := range strings.Fields(row[10:52]) {
			if word.MatchString(f) {
				table[last][strings.TrimSuffix(f, "?")] = strings.HasSuffix(f, "?")
			}
		}
	}
	kinds := []OpKind{OpCycle, OpStatus, OpStep, OpText, OpCall, OpResult, OpRound, OpOutput, OpFeedback, OpPush, OpPop, OpQueue, OpAnomaly}
	if len(table) != len(kinds) {
		t.Errorf("the table has %d rows, there are %d kinds", len(table), len(kinds))
	}
	for _, kind := range kinds {
		data, err := json.Marshal(Op{Op: kind})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		delete(got, "op")
		for f, optional := range table[kind] {
			if _, ok := got[f]; !ok && !optional {
				t.Errorf("op %s lacks %s: %s", kind, f, data)
			}
			delete(got, f)
		}
		if len(got) > 0 {
			t.Errorf("op %s has fields that aren't in the table: %v", kind, got)
		}
	}
}

func TestReduceRefuses(t *testing.T) {
	start := []Op{
		{Op: OpCycle, Cycle: "m1", Kind: "direct"},
		{Op: OpStep, Cycle: "m1", Step: 1, Type: "ai-block", Kind: "assistant", ID: "o1"},
		{Op: OpCall, Cycle: "m1", Step: 1, Type: "read-group", CallID: "c1", Tool: "ls"},
	}
	for want, ops := range map[string][]Op{
		`op 0 (cycle) doesn't fit the model: a cycle is active already`:                {{Op: OpCycle, Cycle: "m2"}},
		`op 0 (text) doesn't fit the model: cycle "m2" is not the active one`:          {{Op: OpText, Cycle: "m2"}},
		`op 1 (text) doesn't fit the model: cycle "m1" is not the active one`:          {{Op: OpStatus, Cycle: "m1", Status: "error"}, {Op: OpText, Cycle: "m1"}},
		`op 0 (step) doesn't fit the model: step 3 can't follow 2 steps`:               {{Op: OpStep, Cycle: "m1", Step: 3}},
		`op 0 (text) doesn't fit the model: there is no step 2`:                        {{Op: OpText, Cycle: "m1", Step: 2}},
		`op 0 (text) doesn't fit the model: there is no step -1`:                       {{Op: OpText, Cycle: "m1", Step: -1}},
		`op 0 (call) doesn't fit the model: step 0 is no ai-block`:                     {{Op: OpCall, Cycle: "m1"}},
		`op 0 (call) doesn't fit the model: group 0 can't follow 1 groups`:             {{Op: OpCall, Cycle: "m1", Step: 1}},
		`op 0 (call) doesn't fit the model: there is no group 1 in step 1`:             {{Op: OpCall, Cycle: "m1", Step: 1, Group: 1, Call: 1}},
		`op 0 (call) doesn't fit the model: call 2 can't follow 1 calls`:               {{Op: OpCall, Cycle: "m1", Step: 1, Call: 2}},
		`op 0 (result) doesn't fit the model: there is no call 1 in group 0 of step 1`: {{Op: OpResult, Cycle: "m1", Step: 1, Call: 1}},
		`op 0 (feedback) doesn't fit the model: the cycle has no round`:                {{Op: OpFeedback, Cycle: "m1"}},
		`op 0 (pop) doesn't fit the model: the queue is empty`:                         {{Op: OpPop}},
		`op 0 (dance) doesn't fit the model: unknown kind of op`:                       {{Op: "dance", Cycle: "m1"}},
	} {
		m := NewModel()
		if err := Reduce(&m, start); err != nil {
			t.Fatal(err)
		}
		if err := Reduce(&m, ops); err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	m := NewModel()
	queue := []Queued{{"m2", "b"}, {"m1", "a"}}
	if err := Reduce(&m, overTheWire(t, []Op{{Op: OpPush, ID: "m1", Text: "a"}, {Op: OpQueue, Queued: queue}})); err != nil || !cmp.Equal(m.Queued, queue) {
		t.Errorf("the queue op left %v, %v", m.Queued, err)
	}
}

func TestCoalesce(t *testing.T) {
	text := func(cycle string, step int, s string) Op { return Op{Op: OpText, Cycle: cycle, Step: step, Text: s} }
	ops := []Op{
		text("m1", 1, "a"), text("m1", 2, "x"), text("m1", 1, "b"), {Op: OpFeedback, Cycle: "m1", ID: "c1"}, text("m1", 2, "y"),
		{Op: OpStatus, Cycle: "m1", Status: "completed"}, {Op: OpCycle, Cycle: "m2"},
		{Op: OpStep, Cycle: "m2", Step: 1, Type: "ai-block", Text: "p"}, text("m2", 1, "q"), text("m2", 1, "r"),
	}
	before := len(ops)
	want := []Op{
		text("m1", 1, "ab"), text("m1", 2, "xy"), {Op: OpFeedback, Cycle: "m1", ID: "c1"},
		{Op: OpStatus, Cycle: "m1", Status: "completed"}, {Op: OpCycle, Cycle: "m2"},
		{Op: OpStep, Cycle: "m2", Step: 1, Type: "ai-block", Text: "pqr"},
	}
	if got := Coalesce(ops); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if len(ops) != before || ops[0].Text != "a" {
		t.Error("Coalesce changed its argument")
	}
}

// TestTextIsSafe: whatever is in a log, drawing it writes printable characters and line breaks only.
func TestTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\x1b]0;x\a", "\u009b31m", "\u202e", "a\rb", "\x00", "\n\n", "\u2028", "\xff"}))
		raw, err := json.Marshal(map[string]string{"path": s.Draw(t, "path")})
		if err != nil {
			t.Fatal(err)
		}
		events := []Event{
			UserMessage{ID: s.Draw(t, "m1"), Text: s.Draw(t, "root")},
			UserMessage{ID: "m2", Text: s.Draw(t, "steer")},
			UserMessage{ID: "m3", Text: s.Draw(t, "queued"), Delivery: DeliveryFollowUp},
			AgentOutput{ID: s.Draw(t, "o1"), Output: OutputAssistant, Text: s.Draw(t, "text")},
			AgentOutput{Output: OutputToolCall, CallID: s.Draw(t, "c1"), Tool: s.Draw(t, "tool"), Args: raw},
			ToolResult{CallID: "c2", Status: ResultError, Text: "nobody's"},
		}
		events = append(events, ToolResult{CallID: events[4].(AgentOutput).CallID, Status: ResultError, Text: s.Draw(t, "result")})
		for _, ascii := range []bool{false, true} {
			checkSafe(t, Text(Project(events, Policy{}), TextOptions{View: ViewAll, ASCII: ascii}))
		}
	})
}

func checkSafe(t failer, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != zeroWidthJoiner && !unicode.IsPrint(r) {
			t.Fatalf("the tree holds %U: %q", r, text)
		}
	}
}

// TestTextASCII: the ASCII glyphs are ASCII, and draw the same rows.
func TestTextASCII(t *testing.T) {
	log := shapeLog + `{"type":"tool-result","callId":"c2","status":"error","text":"1\n2\n3\n4"}` + "\n" + `{"type":"run-stop","reason":"interrupted"}`
	got, err := ProjectLog([]byte(log), LogOptions{Text: true, ASCII: true, View: ViewAll})
	want := `v a                                                               interrupted
  * <b>
    > grep   1  {"z":1,"a":2}
    x bash   1                                                    failed
        | 1
        | 2
        | 3
        | ... 1 more line
  -> you: e                                                       steer
  @ round 1  in m1  out o1, c1, c2  back c1, m2, c2
v                                                                 follow-up, active
! event 7: result for unknown call
`
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(got)))
	}
	for _, view := range []View{"", ViewSteps, ViewRounds} {
		out, err := ProjectLog([]byte(log), LogOptions{Text: true, View: view})
		if hasSteps, hasRounds := bytes.Contains(out, []byte("✎ <b>")), bytes.Contains(out, []byte("round 1")); err != nil || hasSteps != (view != ViewRounds) || hasRounds != (view == ViewRounds) {
			t.Errorf("view %q: %v\n%s", view, err, out)
		}
	}
}
