package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/cycle"
	machine "github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/llmtest"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

var (
	crashKills = flag.Int("crash.kills", 12, "how often TestCrash kills the program")
	crashSeed  = flag.Uint64("crash.seed", 0, "the seed of the first workspace; 0: another each time")
)

// killsPerWorkspace is how many lives one workspace has, so that logs grow.
const killsPerWorkspace = 20

// TestCrash kills the real program at random moments of random runs: kill -9,
// nothing flushed. After each restart the log folds, what the server shows is a
// fresh fold of it, every acknowledged message is there, every file is as it
// was before or after an edit, and no command is left.
func TestCrash(t *testing.T) {
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	var sum crashSum
	for n := 0; sum.kills < *crashKills; n++ {
		crashWorkspace(t, seed+uint64(n), min(killsPerWorkspace, *crashKills-sum.kills), &sum)
		if t.Failed() {
			t.Fatalf("after %d kills; again: go test ./cmd/agent-lsp -run TestCrash -crash.seed %d", sum.kills, seed+uint64(n))
		}
	}
	t.Logf("%d kills, seeds from %d: %d messages acknowledged and all there; %d events fold; %d runs cut off, %d taken up; %d edits of files",
		sum.kills, seed, sum.acknowledged, sum.events, sum.cut, sum.resumed, sum.edited)
}

type crashSum struct{ kills, acknowledged, events, cut, resumed, edited int }

// victim is a workspace that dies again and again.
type victim struct {
	t    *testing.T
	rng  *rand.Rand
	dir  string
	env  []string
	sum  *crashSum
	seen crashSum // in the log so far
	acks []string // clientRequestIds of messages that were acknowledged in any life
	runs []string // that were acknowledged, latest last
	last []string // sessions
	nap  string   // the argument of this workspace's commands
}

// crashLines is the length of a workspace's files: enough that a torn write
// would show.
const crashLines = 400

func crashWorkspace(t *testing.T, seed uint64, kills int, sum *crashSum) {
	files := map[string]string{}
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		files[name] = strings.Repeat("value 0 of "+name+"\n", crashLines)
	}
	v := &victim{t: t, rng: rand.New(rand.NewPCG(seed, 1)), dir: writeFiles(t, files), env: home(t), sum: sum,
		nap: fmt.Sprintf("7%06d.5", seed%1_000_000)}
	setting(t, v.env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	for life := range kills {
		v.live()
		sum.kills++
		v.checkDead()
		if t.Failed() {
			t.Errorf("seed %d, life %d", seed, life+1)
			return
		}
	}
	v.checkAlive()
}

// live is one life: start, see that everything is there, do random things, and
// die in the middle of them.
func (v *victim) live() {
	e := startEditor(v.t, v.env, v.dir)
	dies := time.Duration(v.rng.Int64N(int64(700 * time.Millisecond)))
	timer := time.AfterFunc(dies, func() { _ = e.cmd.Process.Kill() }) // the server alone: what it started must see to itself
	defer timer.Stop()
	root, _ := json.Marshal("file://" + v.dir)
	v.say(e, "initialize", `{"processId":null,"rootUri":`+string(root)+`,"capabilities":{},"initializationOptions":{"agentLsp":{"client":"test","protocolVersion":1,"permission":true}}}`)
	v.tell(e, "initialized", `{}`)
	type sent struct{ id, client string }
	var list []sent
	for !over(e) {
		if id, client := v.act(e); client != "" {
			list = append(list, sent{id, client})
		}
		<-time.After(time.Duration(v.rng.Int64N(int64(40 * time.Millisecond)))) // the person's pace
	}
	answers := map[string]wire{}
	for _, w := range e.messages() {
		if w.Method == "" && w.Error == nil {
			answers[string(w.ID)] = w
		}
	}
	for _, s := range list {
		w, ok := answers[s.id]
		if !ok {
			continue
		}
		var r struct {
			submitted
			Response json.RawMessage
		}
		if w.into(v.t, &r); r.Response == nil {
			if r.TurnID == "" || r.RunID == "" || r.CycleID == "" {
				v.t.Errorf("an acknowledgement lacks ids: %s", w.raw)
			}
			v.acks = append(v.acks, s.client)
			v.sum.acknowledged++
			v.runs = append(v.runs, r.RunID)
			if !slices.Contains(v.last, r.SessionID) {
				v.last = append(v.last, r.SessionID)
			}
		}
	}
}

func over(e *editor) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// say sends a request without waiting; nobody may be there any more.
func (v *victim) say(e *editor, method, params string) (id string) {
	e.nextID++
	id = fmt.Sprint(e.nextID)
	v.write(e, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`)
	return id
}

func (v *victim) tell(e *editor, method, params string) {
	v.write(e, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`)
}

func (v *victim) write(e *editor, body string) {
	_, _ = fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(body), body) // it may be dead by now
}

// marker makes an id or a word that nothing else has.
func (v *victim) marker() string { return fmt.Sprintf("%08x", v.rng.Uint32()) }

// act does something that a person might. A message has the ids of its request.
func (v *victim) act(e *editor) (id, client string) {
	session := ""
	if len(v.last) > 0 && v.rng.IntN(4) > 0 {
		session = `,"sessionId":"` + v.last[v.rng.IntN(len(v.last))] + `"`
	}
	submit := func(input, more string) (string, string) {
		text, _ := json.Marshal(input)
		client := "client-" + v.marker()
		return v.say(e, "agent/submit", `{"source":"test","clientRequestId":"`+client+`","input":`+string(text)+session+more+`}`), client
	}
	file := []string{"a.txt", "b.txt", "c.txt"}[v.rng.IntN(3)]
	switch v.rng.IntN(12) {
	case 0, 1, 2:
		return submit(fmt.Sprintf(`replace "value %d" with "value %d" in %s`, v.value(file), v.rng.IntN(1000), file), "")
	case 3:
		return submit("where is value "+v.marker()+"?", `,"delivery":"followUp"`)
	case 4:
		return submit("look at "+file+" as well, "+v.marker(), `,"delivery":"steer"`)
	case 5:
		return submit(`run "sleep `+v.nap+`"`, "")
	case 6:
		return v.say(e, "agent/session/new", `{}`), ""
	case 7:
		return v.say(e, "agent/edits/resolve", `{"all":true,"decision":"`+[]string{"accept", "reject"}[v.rng.IntN(2)]+`"}`), ""
	case 8, 9:
		command := []string{"pause", "resume", "cancel"}[v.rng.IntN(3)]
		if n := len(v.runs); n > 0 {
			target := v.runs[n-1-v.rng.IntN(min(n, 4))] // of late: it may be paused, or cut off
			e.nextID++
			v.tell(e, "loop:control", fmt.Sprintf(`{"schema":0,"type":"REQUEST","request_id":"%s","command":%q,"target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":{}}`,
				v.marker(), command, target))
		}
		return "", ""
	default:
		return submit("where is value?", "")
	}
}

// value is the number that a file's lines have now, as far as can be told.
func (v *victim) value(file string) (n int) {
	data, err := os.ReadFile(filepath.Join(v.dir, file))
	if err != nil {
		return 0
	}
	_, _ = fmt.Sscanf(string(data), "value %d", &n)
	return n
}

// checkDead looks at what a dead server left.
func (v *victim) checkDead() {
	t := v.t
	t.Helper()
	checkGone(t, v.nap)
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		data, err := os.ReadFile(filepath.Join(v.dir, name))
		if err != nil {
			t.Errorf("%s is gone: %v", name, err)
			continue
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines = lines[:len(lines)-1]
		for i, l := range lines {
			if len(lines) != crashLines || !bytes.Equal(l, lines[0]) || !bytes.HasSuffix(l, []byte(" of "+name+"\n")) {
				t.Errorf("%s is torn: line %d of %d is %q, the first %q", name, i+1, len(lines), l, lines[0])
				break
			}
		}
	}
	list, err := filepath.Glob(filepath.Join(folderOf(v.env, "XDG_STATE_HOME"), "agent-lsp", "*.db"))
	if err != nil || len(list) > 1 {
		t.Fatalf("state files %v, %v", list, err)
	}
	if len(list) == 0 { // it died before it began
		return
	}
	st, err := store.Open(context.Background(), list[0])
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	v.checkLog(st)
}

// checkLog folds every branch's log, and looks for what was acknowledged.
func (v *victim) checkLog(st *store.Store) {
	t, ctx := v.t, context.Background()
	t.Helper()
	sessions, err := st.Sessions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	seen := crashSum{} // of the whole log; what the latest life added is told by the difference
	for _, s := range sessions {
		state, model := machine.State{}, cycle.NewState(cycle.Policy{})
		for stored, err := range st.Events(ctx, s.ID, "main") {
			if err != nil {
				t.Fatalf("the log does not fold: %v", err)
			}
			seen.events++
			state = state.Apply(stored.Event)
			model.Apply(stored.Event)
			switch e := stored.Event.(type) {
			case cycle.Submitted:
				there[e.ClientRequestID] = true
				if e.Continues != "" {
					seen.resumed++
				}
			case cycle.RunCutOff:
				seen.cut++
			case cycle.ToolResult:
				if e.Status == cycle.ResultOK && bytes.Contains(e.Detail, []byte("edit")) {
					seen.edited++
				}
			case cycle.FollowUpQueued:
				there[e.Submitted.ClientRequestID] = true
			}
		}
		if a := model.Model().Anomalies; len(a) > 0 {
			t.Errorf("session %s: the log has anomalies: %+v", s.ID, a)
		}
		if model.Active() != state.Active() {
			t.Errorf("session %s: the projection is active=%v, the machine %v", s.ID, model.Active(), state.Active())
		}
	}
	v.sum.events += seen.events - v.seen.events
	v.sum.cut += seen.cut - v.seen.cut
	v.sum.resumed += seen.resumed - v.seen.resumed
	v.sum.edited += seen.edited - v.seen.edited
	v.seen = seen
	for _, client := range v.acks {
		if !there[client] {
			t.Errorf("message %s was acknowledged and is lost", client)
		}
	}
}

// checkAlive starts the server once more: what it shows is a fresh fold of its
// log, and all that it offers can be taken up.
func (v *victim) checkAlive() {
	t := v.t
	e := startEditor(t, v.env, v.dir)
	e.hello(v.dir)
	st, err := store.Open(context.Background(), stateFile(t, v.env))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for _, session := range v.last {
		v.compare(e, st, session)
	}
	e.okay("agent/edits/resolve", `{"all":true,"decision":"reject"}`, nil)
	e.bye()
	v.checkDead()
}

// compareTries bounds the wait for a moment at which nothing is written.
const compareTries = 200

func (v *victim) compare(e *editor, st *store.Store, session string) {
	v.t.Helper()
	for range compareTries {
		before := foldFresh(v.t, st, session)
		var got struct{ Cycles []cycle.RequestCycle }
		e.okay("agent/cycles", `{"view":"all","sessionId":"`+session+`"}`, &got)
		if foldFresh(v.t, st, session) != before {
			continue // a run goes on
		}
		var want struct{ Cycles []cycle.RequestCycle }
		if err := json.Unmarshal([]byte(before), &want); err != nil {
			v.t.Fatal(err)
		}
		if d := cmp.Diff(mustJSON(v.t, want.Cycles), mustJSON(v.t, got.Cycles)); d != "" {
			v.t.Errorf("session %s (-fresh fold +server):\n%s", session, d)
		}
		return
	}
	v.t.Errorf("session %s is never still", session)
}

// foldFresh projects a session's log from its beginning.
func foldFresh(t *testing.T, st *store.Store, session string) string {
	t.Helper()
	state := cycle.NewState(cycle.Policy{})
	for stored, err := range st.Events(context.Background(), session, "main") {
		if err != nil {
			t.Fatal(err)
		}
		state.Apply(stored.Event)
	}
	data, err := cycle.JSON(state.Model(), cycle.ViewAll)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestKilledMidAnswer: kill -9 in the middle of a streamed answer. All that the
// editor had seen of it is there, the run is offered, and taking it up goes on
// in a cycle of its own, whose model is told.
func TestKilledMidAnswer(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, nil)
	proxy.Always(llmtest.Fault{Delay: 5 * time.Millisecond})
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	s := e.submit("count [[script:slow]]", "")
	pieces := 0
	e.wait("some of the answer", func(w wire) bool {
		if w.Method == "agent/cycle" && strings.Contains(string(w.Params), `"op":"text"`) {
			pieces++
		}
		return pieces == 12
	})
	_ = e.cmd.Process.Kill()
	for !over(e) {
		<-time.After(time.Millisecond)
	}
	seen := longestText(t, e, s.SessionID)

	e = startEditor(t, env, dir)
	e.hello(dir)
	var l struct {
		loaded
		Run struct {
			RunID, State string
			Resumable    bool
		}
	}
	e.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &l)
	c := l.Cycles.Cycles[0]
	kept := c.Steps[len(c.Steps)-1].Text
	if !strings.HasPrefix(kept, seen) || !strings.Contains(seen, "Line 3:") {
		t.Errorf("the editor had seen %d bytes, %d are kept:\n%q\n%q", len(seen), len(kept), seen, kept)
	}
	t.Logf("%d bytes seen before the kill, %d kept", len(seen), len(kept))
	if !l.Run.Resumable || l.Run.RunID != s.RunID || c.Status != cycle.CycleInterrupted {
		t.Errorf("the run is not offered: %+v, %s", l.Run, c.Status)
	}
	n := len(proxy.Requests())
	proxy.Always(llmtest.Fault{})
	from := e.here()
	e.request("go-on", "resume", s.RunID, `{}`)
	ack, _ := e.loop(from, "the ACK", func(m loopMessage) bool { return m.RequestID == "go-on" && m.Type == "ACK" })
	_, r := e.loop(ack, "the RESULT", func(m loopMessage) bool { return m.RequestID == "go-on" && m.Type == "RESULT" })
	if r.Payload.Status != "success" || r.Payload.RunID == "" || r.Payload.RunID == s.RunID {
		t.Fatalf("resume: %s", r.raw)
	}
	body := string(proxy.Await(t, n+1).Body)
	for _, want := range []string{"Line 3:", "was interrupted", "count [[script:slow]]"} {
		if !strings.Contains(body, want) {
			t.Errorf("the model isn't told of %q", want)
		}
	}
	e.loop(from, "the end of the run that goes on", func(m loopMessage) bool { return m.Event == "DONE" && m.RunID == r.Payload.RunID })
	e.refused("once-more", "resume", s.RunID, "not_found", false)
	e.bye()
}

// longestText is the assistant's text as the editor's deltas made it.
func longestText(t *testing.T, e *editor, session string) (text string) {
	t.Helper()
	model := cycle.NewModel()
	for _, w := range e.messages() {
		var n struct {
			SessionID string
			Ops       []cycle.Op
		}
		if w.Method != "agent/cycle" {
			continue
		}
		if w.into(t, &n); n.SessionID != session {
			continue
		}
		if err := cycle.Reduce(&model, n.Ops); err != nil {
			t.Fatal(err)
		}
	}
	steps := model.Cycles[0].Steps
	return steps[len(steps)-1].Text
}

// TestKilledMidCommand: kill -9 while a command runs. The finished result is
// there, the command is gone, and who goes on is told that it was cut off.
func TestKilledMidCommand(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, llmtest.Scripts{"two-calls": llmtest.Texts(
		llmtest.Call("read", `{"path": "main.go", "offset": 7, "limit": 1}`),
		llmtest.Call("bash", `{"command": "sleep 993.5"}`),
		"That is enough.",
	)})
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	s := e.submit("go [[script:two-calls]]", "")
	waitRunning(t, "993.5")
	_ = e.cmd.Process.Kill()
	checkGone(t, "993.5")
	e = startEditor(t, env, dir)
	e.hello(dir)
	var l loaded
	e.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &l)
	text := mustJSON(t, l.Cycles)
	for _, want := range []string{"line 7", machine.OrphanText} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is lost: %s", want, text)
		}
	}
	if len(running(t, "993.5")) > 0 {
		t.Error("the command was begun again by itself")
	}
	n := len(proxy.Requests())
	if got := runIn(t, env, dir, "ctl", "resume", "--json"); got.code != 0 {
		t.Fatalf("ctl resume: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	body := string(proxy.Await(t, n+1).Body)
	for _, want := range []string{"line 7", "interrupted: the agent's process ended while this call ran"} {
		if !strings.Contains(body, want) {
			t.Errorf("the model isn't told of %q", want)
		}
	}
	e.bye() // ends what the script, which begins anew, may have asked for meanwhile
	checkGone(t, "993.5")
}

// TestPausedStaysPaused: kill -9 of a paused run. A STATE says so at once, a
// retried request gets the same RESULT, and resume goes on.
func TestPausedStaysPaused(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, nil)
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	proxy.Always(llmtest.Fault{Delay: 3 * time.Millisecond})
	s := e.submit("go on [[script:reads]]", "")
	proxy.Await(t, 2)
	held := e.obeyed("hold", "pause", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "STATE" && len(m.Stack) == 1 && m.Stack[0].Paused })
	_ = e.cmd.Process.Kill()

	e = startEditor(t, env, dir)
	e.hello(dir)
	at, state := e.loop(0, "the STATE of the paused run", func(m loopMessage) bool { return m.Event == "STATE" })
	if state.RunID != s.RunID || !state.Stack[0].Paused {
		t.Errorf("after the restart: %s", state.raw)
	}
	e.request("hold", "pause", s.RunID, `{}`)
	if _, m := e.loop(at, "the cached RESULT", func(m loopMessage) bool { return m.RequestID == "hold" }); m.raw != held.raw {
		t.Errorf("the dedup cache is lost:\n%s\n%s", held.raw, m.raw)
	}
	n := len(proxy.Requests())
	proxy.Always(llmtest.Fault{})
	e.obeyed("on", "resume", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "STATE" && !m.Stack[0].Paused })
	proxy.Await(t, n+1)
	e.loop(at, "the end", func(m loopMessage) bool { return m.Event == "DONE" && m.RunID == s.RunID })
	e.bye()
}
