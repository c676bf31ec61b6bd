package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTwoServers: two windows on one folder. Both answer and hear of each
// other's runs; whichever is killed, the other goes on, with the documents as
// they are in its editor, and a third may come.
func TestTwoServers(t *testing.T) {
	for _, which := range []string{"first", "second"} {
		t.Run(which+" is killed", func(t *testing.T) {
			t.Parallel()
			dir, env := writeFiles(t, map[string]string{"a.txt": "hello\nünder\n", "b.txt": "hello\n"}), home(t)
			a, b := startEditor(t, env, dir), startEditor(t, env, dir)
			a.hello(dir)
			a.ready()
			b.hello(dir)
			s := a.submit(`replace "hello" with "goodbye" in b.txt`, "")
			a.done(s.TurnID)
			b.done(s.TurnID) // heard of in the other window
			openDoc(t, b, filepath.Join(dir, "a.txt"), "hello\nünder\n")
			b.tell("textDocument/didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":2},"contentChanges":[{"range":{"start":{"line":1,"character":1},"end":{"line":1,"character":2}},"text":" walrus "}]}`,
				"file://"+filepath.Join(dir, "a.txt")))
			finds(t, b, "walrus", "a.txt:2")
			dead, alive := a, b
			if which == "second" {
				dead, alive = b, a
			}
			dead.kill()
			q := again(t, alive, "where is goodbye?")
			if got := alive.done(q.TurnID); !strings.Contains(string(got.Params), `"success":true`) || !strings.Contains(string(got.Params), "b.txt:1") {
				t.Errorf("after the other is dead: %s", got.Params)
			}
			if which == "first" { // the one that took over was told of the text again
				finds(t, alive, "walrus", "a.txt:2")
			}
			third := startEditor(t, env, dir)
			third.hello(dir)
			var l loaded
			third.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &l)
			if len(l.Cycles.Cycles) < 2 || len(l.Edits.Hunks) != 1 {
				t.Errorf("a third window sees %s", mustJSON(t, l))
			}
			third.bye()
			alive.bye()
		})
	}
}

// TestFirstWindowLeaves: the first window's clean exit ends no run that another
// window waits for; its process goes when the run is done, and another serves.
func TestFirstWindowLeaves(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	setting(t, env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	a, b := startEditor(t, env, dir), startEditor(t, env, dir)
	a.hello(dir)
	a.ready()
	b.hello(dir)
	s := b.submit(`run "sleep 2.125"`, "")
	waitRunning(t, "2.125")
	a.bye() // returns when the process has ended
	if len(running(t, "2.125")) > 0 {
		t.Error("the first server ended before the run of the other window")
	}
	b.loop(0, "the end of the run", func(m loopMessage) bool {
		if m.RunID == s.RunID && m.Event == "ABORT" {
			t.Errorf("the run was cut off: %s", m.raw)
		}
		return m.RunID == s.RunID && (m.Event == "DONE" || m.Event == "ABORT")
	})
	if got := b.done(s.TurnID); !strings.Contains(string(got.Params), `"success":true`) {
		t.Errorf("the run's answer: %s", got.Params)
	}
	q := again(t, b, "where is hello?")
	if got := b.done(q.TurnID); !strings.Contains(string(got.Params), "a.txt:1") {
		t.Errorf("who serves now answers %s", got.Params)
	}
	b.bye()
}

// TestGuestSettings: what a later client asks for with its message holds for
// that message's run, and for nobody else's.
func TestGuestSettings(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	from := e.here()
	got := runIn(t, env, dir, "ask", "--json", "--allow", "bash(sleep 0.0625)", `run "sleep 0.0625"`)
	if got.code != 0 || !strings.Contains(got.stdout, `"success":true`) {
		t.Errorf("ask --allow beside a server: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	for _, w := range e.messages()[from:] {
		if w.Method == "agent/permission" {
			t.Errorf("the rule did not hold: %s", w.raw)
		}
	}
	from = e.here()
	s := e.submit(`run "sleep 0.0625"`, "") // the same command by another client
	e.permit(from, "reject_once")
	e.done(s.TurnID)
	if got := runIn(t, env, dir, "ask", "--json", "--model", "no/such-model", "hello there"); got.code == 0 {
		t.Errorf("ask --model of an unknown model: exit %d: %s", got.code, got.stdout)
	}
	if w := e.ask("agent/submit", `{"source":"test","input":"hello","allow":["bash("]}`); w.Error == nil || w.Error.Data.Code != "bad_request" {
		t.Errorf("a rule that is none: %s", w.raw)
	}
	e.bye()
}

// openDoc opens a document.
func openDoc(t *testing.T, e *editor, path, text string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"textDocument": map[string]any{"uri": "file://" + path, "languageId": "plaintext", "version": 1, "text": text}})
	if err != nil {
		t.Fatal(err)
	}
	e.tell("textDocument/didOpen", string(body))
}

// again submits until the answer is no error that may be retried: what the dead
// server had is answered so, and the next is taken by its successor.
func again(t *testing.T, e *editor, input string) (s submitted) {
	t.Helper()
	const tries = 3
	for range tries {
		w := e.ask("agent/submit", fmt.Sprintf(`{"source":"test","clientRequestId":"again","input":%q}`, input))
		if w.Error == nil {
			w.into(t, &s)
			return s
		}
		if !w.Error.Data.Retriable {
			t.Fatalf("submit: %s", w.raw)
		}
	}
	t.Fatalf("submit is refused %d times", tries)
	return s
}

// finds asks for a word until the answer names a place: the index follows an
// editor's typing by some milliseconds.
func finds(t *testing.T, e *editor, word, place string) {
	t.Helper()
	for end := time.Now().Add(answerWithin); ; {
		q := e.submit("where is "+word+"?", "")
		got := e.done(q.TurnID)
		if strings.Contains(string(got.Params), place) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is not found at %s: %s", word, place, got.Params)
		}
	}
}

// TestUnderWayWhenTheHolderDies: a request that the dead server had is answered
// with an error that may be retried, and its run is offered to be taken up.
func TestUnderWayWhenTheHolderDies(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	setting(t, env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	a, b := startEditor(t, env, dir), startEditor(t, env, dir)
	a.hello(dir)
	b.hello(dir)
	s := b.submit(`run "sleep 991.5"`, "")
	waitRunning(t, "991.5")
	release := holdStore(t, env)
	b.nextID++
	id := fmt.Sprint(b.nextID)
	b.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"agent/submit","params":{"source":"test","input":"hello","clientRequestId":"x"}}`)
	b.request("sure", "pause", s.RunID, `{}`)
	b.loop(0, "the ACK", func(m loopMessage) bool { return m.RequestID == "sure" && m.Type == "ACK" }) // the submit is further still
	a.kill()
	release()
	w := b.wait("an answer", func(w wire) bool { return w.Method == "" && string(w.ID) == id })
	if w.Error != nil && !w.Error.Data.Retriable {
		t.Errorf("the request under way: %s", w.raw)
	}
	checkGone(t, "991.5")
	b.loop(0, "the run's end", func(m loopMessage) bool { return m.RunID == s.RunID && m.Event == "ABORT" && m.Reason == "INTERRUPTED" })
	var status struct {
		Runs []struct {
			RunID, State string
			Resumable    bool
		}
	}
	b.okay("agent/status", `{}`, &status)
	if len(status.Runs) != 1 || status.Runs[0].RunID != s.RunID || !status.Runs[0].Resumable {
		t.Errorf("the runs: %+v", status.Runs)
	}
	b.bye()
}

// TestLookingBesideAServer: the commands that only look work beside a running
// server, and leave its runs alone.
func TestLookingBesideAServer(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	setting(t, env, "[permissions]\nallow = [\"bash(sleep *)\"]\n")
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	s := e.submit(`run "sleep 992.5"`, "")
	waitRunning(t, "992.5")
	for _, args := range [][]string{{"search", "hello"}, {"plan", "where is hello?"}, {"trace"}, {"sessions", "--json"}, {"ctl", "status"}} {
		if got := runIn(t, env, dir, args...); got.code != 0 {
			t.Errorf("%q: exit %d: %s", args, got.code, got.stderr)
		}
	}
	if got := runIn(t, env, dir, "ctl", "pause", "--json"); got.code != 0 || !strings.Contains(got.stdout, `"status":"success"`) {
		t.Errorf("ctl pause: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if len(running(t, "992.5")) == 0 {
		t.Error("looking ended the run's command")
	}
	if got := runIn(t, env, dir, "ask", "--json", "where is hello?"); got.code != 0 || !strings.Contains(got.stdout, "a.txt:1") {
		t.Errorf("ask beside a server: exit %d: %s%s", got.code, got.stdout, got.stderr)
	}
	if got := runIn(t, env, dir, "ctl", "cancel", s.RunID); got.code != 0 {
		t.Errorf("ctl cancel: exit %d: %s", got.code, got.stderr)
	}
	e.loop(0, "the end of the run", func(m loopMessage) bool { return m.Event == "ABORT" && m.RunID == s.RunID })
	if got := runIn(t, env, dir, "ctl", "cancel", s.RunID); got.code != 1 || !strings.Contains(got.stderr, "not_found") {
		t.Errorf("ctl cancel of a finished run: exit %d: %s", got.code, got.stderr)
	}
	checkGone(t, "992.5")
	e.bye()
	if got := runIn(t, env, dir, "ctl", "status"); got.code != 1 || !strings.Contains(got.stderr, "no agent-lsp serves") {
		t.Errorf("ctl without a server: exit %d: %s", got.code, got.stderr)
	}
}
