package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/agent-lsp/agent-lsp/internal/llmtest"
)

// scripted is a person's folders whose default model is a real server that
// follows scripts; opus is the same server under another name.
func scripted(t *testing.T, scripts llmtest.Scripts) (env []string, proxy *llmtest.Proxy) {
	t.Helper()
	server := llmtest.Start(t, llmtest.Options{Scripts: llmtest.DefaultScripts().With(scripts)})
	proxy, address := llmtest.NewProxy(t, server.URL)
	env = home(t)
	for i, v := range env {
		if strings.HasPrefix(v, "AGENT_LSP_MODEL=") {
			env[i] = "AGENT_LSP_MODEL=work/small"
		}
	}
	setting(t, env, fmt.Sprintf(`permission_timeout = 60
[permissions]
allow = ["bash(sleep *)", "bash(true)"]
[aliases]
opus = "work/big"
small = "builtin" # routes; what the proxy sees is the run's own
[providers.work]
base_url = "%s/v1"
[models."work/small"]
context_window = 100000
[models."work/big"]
context_window = 100000
`, address))
	return env, proxy
}

// setting writes the person's settings.
func setting(t *testing.T, env []string, text string) {
	t.Helper()
	file := filepath.Join(folderOf(env, "XDG_CONFIG_HOME"), "agent-lsp", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func folderOf(env []string, name string) string {
	for _, v := range env {
		if dir, ok := strings.CutPrefix(v, name+"="); ok {
			return dir
		}
	}
	return ""
}

// loopMessage is a message of either topic.
type loopMessage struct {
	Type      string `json:"type"`
	Event     string `json:"event"`
	Reason    string `json:"reason"`
	RequestID string `json:"request_id"`
	RunID     string `json:"run_id"`
	Payload   struct {
		Status, Code, Message string
		Iteration             int
		PreviousModel         string `json:"previous_model"`
		NewModel              string `json:"new_model"`
		RunID                 string `json:"run_id"`
	} `json:"payload"`
	Stack []struct {
		ID         string
		Iter       int
		Model      string
		Paused     bool
		Escalation string `json:"escalation_reason"`
	} `json:"stack"`
	raw string
}

func loopOf(w wire) (m loopMessage, ok bool) {
	if w.Method != "loop:control" && w.Method != "loop:current" {
		return m, false
	}
	m.raw = string(w.Params)
	return m, json.Unmarshal(w.Params, &m) == nil
}

// request sends a REQUEST.
func (e *editor) request(id, command, run, payload string) {
	e.t.Helper()
	e.tell("loop:control", fmt.Sprintf(`{"schema":0,"type":"REQUEST","request_id":%q,"command":%q,"target":{"run_id":%q},"timestamp":"2026-01-01T00:00:00Z","payload":%s}`,
		id, command, run, payload))
}

// loop waits for a loop message from a place on.
func (e *editor) loop(from int, what string, fits func(loopMessage) bool) (int, loopMessage) {
	e.t.Helper()
	var got loopMessage
	at, _ := e.waitFrom(from, what, func(w wire) bool {
		m, ok := loopOf(w)
		if ok && fits(m) {
			got = m
			return true
		}
		return false
	})
	return at, got
}

// obeyed sends a REQUEST and wants ACK, then RESULT success, then what it
// causes on loop:current.
func (e *editor) obeyed(id, command, run, payload string, causes func(loopMessage) bool) loopMessage {
	e.t.Helper()
	from := e.here()
	e.request(id, command, run, payload)
	ack, _ := e.loop(from, "the ACK of "+command, func(m loopMessage) bool { return m.RequestID == id })
	result, r := e.loop(ack+1, "the RESULT of "+command, func(m loopMessage) bool { return m.RequestID == id })
	if m, _ := loopOf(e.messages()[ack]); m.Type != "ACK" || r.Type != "RESULT" || r.Payload.Status != "success" {
		e.t.Fatalf("%s: %s, then %s", command, m.raw, r.raw)
	}
	if caused, m := e.loop(from, "what "+command+" causes", causes); caused < result {
		e.t.Errorf("%s: %s came before the RESULT", command, m.raw)
	}
	return r
}

// refused sends a REQUEST and wants a RESULT with this code, with an ACK before
// it or without one.
func (e *editor) refused(id, command, run, code string, acked bool) {
	e.t.Helper()
	from := e.here()
	e.request(id, command, run, `{}`)
	at, r := e.loop(from, "the RESULT of "+command, func(m loopMessage) bool { return m.RequestID == id && m.Type == "RESULT" })
	if r.Payload.Status != "failure" || r.Payload.Code != code {
		e.t.Errorf("%s: %s, want %s", command, r.raw, code)
	}
	saw := false
	for _, w := range e.messages()[from:at] {
		m, ok := loopOf(w)
		saw = saw || ok && m.Type == "ACK" && m.RequestID == id
	}
	if saw != acked {
		e.t.Errorf("%s of %s: ACK %v, want %v", command, run, saw, acked)
	}
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// pauseHolds is how long a pause is watched.
const pauseHolds = 3 * time.Second

// TestARunObeys drives the real program with a slow model.
func TestARunObeys(t *testing.T) {
	t.Parallel()
	env, proxy := scripted(t, nil)
	proxy.Always(llmtest.Fault{Delay: 4 * time.Millisecond})
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	s := e.submit("go on [[script:reads]]", "")
	proxy.Await(t, 2)

	held := e.obeyed("pause-1", "pause", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "STATE" && len(m.Stack) == 1 && m.Stack[0].Paused })
	next := held.Payload.Iteration
	if next < 3 {
		t.Fatalf("paused before iteration %d after two model calls: %s", next, held.raw)
	}
	<-time.After(pauseHolds) // nothing is waited for: nothing may happen
	if n := len(proxy.Requests()); n != next-1 {
		t.Errorf("%d model calls while the run is paused before iteration %d", n, next)
	}
	from := e.here()
	e.request("pause-1", "pause", s.RunID, `{}`)
	_, again := e.loop(from, "the cached RESULT", func(m loopMessage) bool { return m.RequestID == "pause-1" })
	if again.raw != held.raw {
		t.Errorf("a retry got another RESULT:\n%s\n%s", held.raw, again.raw)
	}
	e.refused("pause-2", "pause", s.RunID, "invalid_state", true)

	up := e.obeyed("up-1", "escalate", s.RunID, `{"model":"opus","reason":"it is stuck"}`, func(m loopMessage) bool {
		return m.Event == "STATE" && len(m.Stack) == 1 && m.Stack[0].Model == "work/big" && m.Stack[0].Escalation == "it is stuck"
	})
	if up.Payload.PreviousModel != "work/small" || up.Payload.NewModel != "work/big" {
		t.Errorf("escalated: %s", up.raw)
	}
	from = e.here()
	e.request("up-2", "escalate", s.RunID, `{"model":"nobody/knows"}`)
	if _, m := e.loop(from, "the RESULT", func(m loopMessage) bool { return m.RequestID == "up-2" && m.Type == "RESULT" }); m.Payload.Code != "bad_request" || !strings.Contains(m.Payload.Message, "work/") {
		t.Errorf("an unknown model: %s", m.raw)
	}
	e.obeyed("resume-1", "resume", s.RunID, `{}`, func(m loopMessage) bool {
		return m.Event == "STATE" && len(m.Stack) == 1 && !m.Stack[0].Paused && m.Stack[0].Iter == next
	})
	var sent struct{ Model string }
	if err := json.Unmarshal(proxy.Await(t, next).Body, &sent); err != nil || sent.Model != "big" {
		t.Errorf("the next request names the model %q (%v)", sent.Model, err)
	}
	e.refused("resume-2", "resume", s.RunID, "invalid_state", true)
	e.refused("odd", "explode", s.RunID, "bad_request", false)
	malformed(e, s.RunID)
	e.obeyed("cancel-1", "cancel", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "ABORT" && m.Reason == "USER_CANCELLED" })
	for i, command := range []string{"pause", "resume", "cancel", "escalate"} {
		e.refused(fmt.Sprint("late-", i), command, s.RunID, "not_found", false)
		e.refused(fmt.Sprint("none-", i), command, "no-such-run", "not_found", false)
	}
	e.bye()
}

// malformed leaves out and bends every field of a REQUEST.
func malformed(e *editor, run string) {
	e.t.Helper()
	good := map[string]any{"schema": 0, "type": "REQUEST", "request_id": "m", "command": "pause", "target": map[string]any{"run_id": run},
		"timestamp": "2026-01-01T00:00:00Z", "payload": map[string]any{}}
	try := func(field string, bend func(map[string]any)) {
		m := map[string]any{}
		for k, v := range good {
			m[k] = v
		}
		bend(m)
		body, err := json.Marshal(m)
		if err != nil {
			e.t.Fatal(err)
		}
		from := e.here()
		e.tell("loop:control", string(body))
		_, r := e.loop(from, "the RESULT of "+string(body), func(m loopMessage) bool { return m.Type != "" })
		if r.Type != "RESULT" || r.Payload.Code != "bad_request" || !strings.Contains(r.Payload.Message, field) {
			e.t.Errorf("%s: %s, want bad_request that names %s", body, r.raw, field)
		}
	}
	for field := range good {
		try(field, func(m map[string]any) { delete(m, field) })
		try(field, func(m map[string]any) { m[field] = []int{1} })
	}
	try("run_id", func(m map[string]any) { m["target"] = map[string]any{} })
	try("request_id", func(m map[string]any) { m["request_id"] = strings.Repeat("x", 129) })
	try("schema", func(m map[string]any) { m["schema"] = 1 })
	try("schema", func(m map[string]any) { m["schema"] = "0" })
	try("target.run_id", func(m map[string]any) { m["target"] = map[string]any{"run_id": 5} })
	try("target.run_id", func(m map[string]any) { m["target"] = map[string]any{"Run_ID": run} })
	try("target.issue_id", func(m map[string]any) { m["target"] = map[string]any{"run_id": run, "issue_id": 5} })
	try("timestamp", func(m map[string]any) { m["timestamp"] = "yesterday" })
	for _, payload := range []any{map[string]any{}, map[string]any{"model": nil}, map[string]any{"model": 5}} {
		try("payload.model", func(m map[string]any) { m["command"], m["payload"] = "escalate", payload })
	}
	try("payload.reason", func(m map[string]any) {
		m["command"], m["payload"] = "escalate", map[string]any{"model": "opus", "reason": 5}
	})
}

// TestDuplicateInFlight: while a request is being carried out, the same id
// from another window is a duplicate. The store is held, so that the first
// can't end.
func TestDuplicateInFlight(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	setting(t, env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	a, b := startEditor(t, env, dir), startEditor(t, env, dir)
	a.hello(dir)
	b.hello(dir)
	s := a.submit(`run "sleep 990.5"`, "")
	waitRunning(t, "990.5")
	release := holdStore(t, env)
	a.request("one", "pause", s.RunID, `{}`)
	a.loop(0, "the ACK", func(m loopMessage) bool { return m.RequestID == "one" && m.Type == "ACK" })
	b.request("one", "pause", s.RunID, `{}`)
	_, dup := b.loop(0, "the answer", func(m loopMessage) bool { return m.RequestID == "one" })
	if dup.Type != "RESULT" || dup.Payload.Code != "duplicate" {
		t.Errorf("in flight: %s", dup.raw)
	}
	release()
	_, first := a.loop(0, "the RESULT", func(m loopMessage) bool { return m.RequestID == "one" && m.Type == "RESULT" })
	if first.Payload.Status != "success" {
		t.Errorf("the first: %s", first.raw)
	}
	from := b.here()
	b.request("one", "pause", s.RunID, `{}`)
	if _, m := b.loop(from, "the cached RESULT", func(m loopMessage) bool { return m.RequestID == "one" }); m.raw != first.raw {
		t.Errorf("another window's retry: %s", m.raw)
	}
	a.obeyed("end", "cancel", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "ABORT" })
	checkGone(t, "990.5")
}

// holdStore takes the store's write lock until release.
func holdStore(t *testing.T, env []string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: stateFile(t, env), RawQuery: "_txlock=immediate&_pragma=busy_timeout(5000)"}).String())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = tx.Rollback()
		db.Close()
	}
}

// stateFile is the only workspace's state.
func stateFile(t *testing.T, env []string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folderOf(env, "XDG_STATE_HOME"), "agent-lsp", "*.db"))
	if err != nil || len(list) != 1 {
		t.Fatalf("state files %v, %v", list, err)
	}
	return list[0]
}

// waitRunning waits until a sleep with this argument runs.
func waitRunning(t *testing.T, arg string) {
	t.Helper()
	end := time.Now().Add(answerWithin)
	for len(running(t, arg)) == 0 {
		if time.Now().After(end) {
			t.Fatalf("no process sleep %s", arg)
		}
		<-time.After(5 * time.Millisecond) // the system tells nobody when somebody else's child begins
	}
}

// cancelWithin is how long a running command may survive its cancellation;
// the best of a few tries counts, for the machine does other things as well.
const (
	cancelWithin = 200 * time.Millisecond
	cancelTries  = 5
)

func TestCancelKillsTheCommand(t *testing.T) {
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	setting(t, env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	e := startEditor(t, env, dir)
	e.hello(dir)
	var took []time.Duration
	for i := range cancelTries {
		arg := fmt.Sprintf("1000.%d", i+1)
		s := e.submit(`run "sleep `+arg+`"`, "")
		waitRunning(t, arg)
		begun := time.Now()
		e.obeyed(arg, "cancel", s.RunID, `{}`, func(m loopMessage) bool { return m.Event == "ABORT" && m.RunID == s.RunID })
		for len(running(t, arg)) > 0 {
			if time.Since(begun) > answerWithin {
				t.Fatalf("sleep %s survives its cancellation", arg)
			}
			<-time.After(time.Millisecond)
		}
		took = append(took, time.Since(begun))
		if took[i] <= cancelWithin {
			break
		}
	}
	t.Logf("from the REQUEST to the end of the process: %v", took)
	if took[len(took)-1] > cancelWithin {
		t.Errorf("never within %s: %v", cancelWithin, took)
	}
	e.bye()
}

// TestThirteenRuns: ten run, three wait with their positions, all finish.
func TestThirteenRuns(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	e := startEditor(t, env, dir)
	e.hello(dir)
	const all, at = 13, 10
	var runs []submitted
	for i := range all {
		var session struct{ SessionID string }
		e.okay("agent/session/new", `{}`, &session)
		var s struct {
			submitted
			QueuePosition int
		}
		e.okay("agent/submit", fmt.Sprintf(`{"source":"test","sessionId":%q,"input":"run \"sleep 0.0%d\""}`, session.SessionID, i+1), &s)
		if want := max(0, i+1-at); s.QueuePosition != want {
			t.Errorf("run %d: position %d, want %d", i+1, s.QueuePosition, want)
		}
		runs = append(runs, s.submitted)
	}
	from := 0
	for range at { // each run asks whether its command may run, and holds its place meanwhile
		place, _ := e.waitFrom(from, "a question", is("agent/permission"))
		from = place + 1
	}
	var status struct {
		Runs []struct {
			RunID, State string
			Position     int
		}
	}
	e.okay("agent/status", `{}`, &status)
	states := map[string]int{}
	for _, r := range status.Runs {
		states[r.State]++
		if want := 0; r.State == "running" && r.Position != want {
			t.Errorf("a running run has position %d", r.Position)
		}
	}
	if states["running"] != at || states["waiting"] != all-at {
		t.Errorf("the runs: %v", states)
	}
	from = 0
	for range all {
		at, w := e.waitFrom(from, "a question", is("agent/permission"))
		e.send(`{"jsonrpc":"2.0","id":` + string(w.ID) + `,"result":{"optionId":"allow_once"}}`)
		from = at + 1
	}
	for _, s := range runs {
		if got := e.done(s.TurnID); !strings.Contains(string(got.Params), `"success":true`) {
			t.Errorf("turn %s: %s", s.TurnID, got.Params)
		}
	}
	e.bye()
}
