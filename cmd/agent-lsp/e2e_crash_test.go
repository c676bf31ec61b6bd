package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// loaded is what agent/session/load gives.
type loaded struct {
	SessionID string
	Cycles    struct {
		State  string
		Cycles []cycle.RequestCycle
	}
	Edits struct{ Hunks []json.RawMessage }
}

// TestKilledServerLosesNothing: kill -9 in the middle of a run; after a
// restart the session has the same cycles and pending hunks, what was under
// way is closed as interrupted, and nothing is run again on its own.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	dir, env, nap := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t), longNap(t)
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	s := e.submit(`replace "hello" with "goodbye" in a.txt`, "")
	e.done(s.TurnID)
	here := e.here()
	second := e.submit(`run "sleep `+nap+`"`, `,"sessionId":"`+s.SessionID+`"`)
	e.permit(here, "allow_once")
	e.waitFrom(here, "the running command", func(w wire) bool {
		return w.Method == "agent/cycle" && strings.Contains(string(w.Params), `"state":"running"`) && strings.Contains(string(w.Params), `"call"`)
	})
	var before loaded
	e.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &before)
	if before.Cycles.State != "active" || len(before.Cycles.Cycles) != 2 || len(before.Edits.Hunks) != 1 {
		t.Fatalf("before: %s", mustJSON(t, before))
	}
	e.kill()
	checkGone(t, nap)

	e = startEditor(t, env, dir)
	e.hello(dir)
	var after loaded
	e.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &after)
	if d := cmp.Diff(mustJSON(t, before.Edits), mustJSON(t, after.Edits)); d != "" {
		t.Errorf("the pending hunks (-before +after):\n%s", d)
	}
	if after.Cycles.State != "idle" || len(after.Cycles.Cycles) != 2 {
		t.Fatalf("after: %s", mustJSON(t, after.Cycles))
	}
	if d := cmp.Diff(mustJSON(t, before.Cycles.Cycles[0]), mustJSON(t, after.Cycles.Cycles[0])); d != "" {
		t.Errorf("the finished cycle (-before +after):\n%s", d)
	}
	was, is := before.Cycles.Cycles[1], after.Cycles.Cycles[1]
	if is.Status != cycle.CycleInterrupted || is.ID != was.ID || len(is.Steps) < len(was.Steps) {
		t.Errorf("the killed cycle: %s", mustJSON(t, is))
	}
	for i, step := range was.Steps {
		if is.Steps[i].Text != step.Text {
			t.Errorf("step %d was %q and is %q", i, step.Text, is.Steps[i].Text)
		}
	}
	for _, w := range e.messages() {
		if w.Method == "agent/permission" {
			t.Error("the killed command was begun again")
		}
	}
	third := e.submit("where is goodbye?", `,"sessionId":"`+s.SessionID+`"`)
	if e.done(third.TurnID); third.TurnID == second.TurnID {
		t.Error("the session doesn't go on with a turn of its own")
	}
	e.okay("agent/edits/resolve", `{"all":true,"decision":"reject"}`, nil)
	if got := readFile(t, filepath.Join(dir, "a.txt")); got != "hello\n" {
		t.Errorf("after the rejection the file is %q", got)
	}
	e.bye()
}

// longNap is the argument of a sleep that is no other test's.
func longNap(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("600.%d%d", os.Getpid(), naps.Add(1))
}

var naps atomic.Int32

// checkGone waits until no process has this argument any more.
func checkGone(t *testing.T, arg string) {
	t.Helper()
	end := time.Now().Add(answerWithin)
	for {
		left := running(t, arg)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still running: %q", left)
		}
		time.Sleep(10 * time.Millisecond) // the system tells nobody when somebody else's child ends
	}
}

// running are the command lines of processes that have this argument.
func running(t *testing.T, arg string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range lines {
		data, err := os.ReadFile(name)
		if words := strings.Split(string(data), "\x00"); err == nil && len(words) > 1 && words[0] == "sleep" && words[1] == arg {
			out = append(out, strings.Join(words, " "))
		}
	}
	return out
}

// TestInterruptedAsk: a signal cancels the run through the protocol; the one
// JSON object still comes, and the exit code is the shell's for Ctrl-C.
func TestInterruptedAsk(t *testing.T) {
	t.Parallel()
	dir, env, nap := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t), longNap(t)
	cmd := exec.Command(binary, "ask", "--json", "--allow", "bash(sleep *)", `run "sleep `+nap+`"`)
	cmd.Dir, cmd.Env = dir, env
	var stdout, stderr tailless
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(answerWithin, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	for begun := time.Now(); len(running(t, nap)) == 0 && time.Since(begun) < answerWithin; {
		time.Sleep(10 * time.Millisecond) // the system tells nobody when somebody else's child begins
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code says it
	var a answered
	if err := json.Unmarshal(stdout, &a); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || a.Cycle.Status != cycle.CycleInterrupted || a.Response.Success {
		t.Errorf("exit %d, cycle %s, success %v\n%s", code, a.Cycle.Status, a.Response.Success, stderr)
	}
	checkGone(t, nap)
}
