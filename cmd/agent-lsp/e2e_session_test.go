package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/llmtest"
)

// command sends a state command.
func (e *editor) command(input string) agent.Response {
	e.t.Helper()
	var r struct{ Response *agent.Response }
	e.okay("agent/submit", `{"source":"test","input":`+strconv.Quote(input)+`}`, &r)
	if r.Response == nil {
		e.t.Fatalf("%s gives no response", input)
	}
	return *r.Response
}

var countOf = regexp.MustCompile(`(?:Requests Processed: |in )(\d+)`)

// TestSixtyTurns: a long session of turns, steers, follow-ups, state commands, a
// command of one's own and memory; the server is killed and opened again, and
// everything is there, counted to the request.
func TestSixtyTurns(t *testing.T) {
	t.Parallel()
	env, _ := scripted(t, llmtest.Scripts{
		"answer": llmtest.Texts("Noted."),
		"nap":    llmtest.Texts(llmtest.Call("bash", `{"command": "sleep 0.3"}`), "Rested."),
	})
	commands := filepath.Join(folderOf(env, "XDG_CONFIG_HOME"), "agent-lsp", "commands")
	if err := os.MkdirAll(commands, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(commands, "note.md"), []byte("---\ndescription: note something\ncategories: [read]\n---\nNote $ARGUMENTS [[script:answer]]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	turns, requests, session := 0, 0, ""
	turn := func(s submitted) {
		session = s.SessionID
		turns, requests = turns+1, requests+1
		if r := e.response(s.TurnID); !r.Success || r.Metadata.RequestCount != requests {
			t.Errorf("turn %d is number %d of the requests, want %d: %+v", turns, r.Metadata.RequestCount, requests, r)
		}
	}
	for turns < 60 {
		switch turns % 6 {
		case 0:
			turn(e.submit(fmt.Sprintf("look at line %d [[script:answer]]. Remember that number %d is odd", turns, turns), ""))
		case 1:
			turn(e.submit("/note the weather", ""))
		case 2: // a steer that the run reads, and a follow-up that waits for its end
			s := e.submit("rest [[script:nap]]", "")
			steer := e.submit("not too long", `,"delivery":"steer"`)
			next := e.submit("go on [[script:answer]]", `,"delivery":"followUp"`)
			if steer.Kind != "steer" || next.Kind != "followUp" {
				t.Fatalf("%+v, %+v", steer, next)
			}
			turn(s)
			turn(next)
		case 4:
			for _, c := range []string{"/status", "/model", "/mode", "/session", "/cost", "/memory"} {
				if r := e.command(c); !r.Success {
					t.Errorf("%s: %+v", c, r)
				}
				requests++
			}
			turn(e.submit("hi there", ""))
		default:
			turn(e.submit("and @main.go:3? [[script:answer]]", ""))
		}
	}
	var before, after struct{ Cycles []any }
	e.okay("agent/cycles", `{"view":"all"}`, &before)
	cost := e.command("/cost").Content
	requests++
	e.kill()
	e = startEditor(t, env, dir)
	e.hello(dir)
	e.okay("agent/cycles", `{"view":"all","sessionId":"`+session+`"}`, &after)
	if fmt.Sprint(before) != fmt.Sprint(after) || len(after.Cycles) != turns {
		t.Errorf("%d cycles before, %d after the kill, want %d that are the same", len(before.Cycles), len(after.Cycles), turns)
	}
	var notes agent.MemoryResult
	e.okay("agent/memory/list", `{}`, &notes)
	if len(notes.Notes) != 10 {
		t.Errorf("%d notes, want 10: %+v", len(notes.Notes), notes.Notes)
	}
	var took []time.Duration
	for _, c := range []string{"/status", "/cost", "/session"} {
		begun := time.Now()
		r := e.command(c)
		took = append(took, time.Since(begun))
		if m := countOf.FindStringSubmatch(r.Content); m != nil && m[1] != strconv.Itoa(requests) {
			t.Errorf("%s counts %s requests, want %d", c, m[1], requests)
		} else if m == nil && c != "/session" {
			t.Errorf("%s has no count: %s", c, r.Content)
		}
		requests++
		t.Logf("%s\n%s", c, r.Content)
	}
	again := e.command("/cost").Content
	if strings.Fields(cost)[0] != strings.Fields(again)[0] {
		t.Errorf("the tokens were %s and are %s", cost, again)
	}
	t.Logf("%d turns, %d requests; commands took %v", turns, requests+1, took)
	e.bye()
}

// TestStateCommandsAreQuick measures them through the real server, with the
// protocol and the store: the usual one is far below what a person notices. The
// 95th percentile is printed.
func TestStateCommandsAreQuick(t *testing.T) {
	env := home(t)
	dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
	e := startEditor(t, env, dir)
	e.hello(dir)
	e.ready()
	e.response(e.submit("show main.go", "").TurnID)
	const rounds, p50Max = 40, 25 * time.Millisecond // of the median: the slowest of a few says what else the machine was doing
	for _, c := range []string{"/status", "/model", "/config", "/session", "/mode", "/help", "/tools", "/context", "/cost", "/memory", "/pin"} {
		var took []time.Duration
		for range rounds {
			begun := time.Now()
			if r := e.command(c); !r.Success {
				t.Fatalf("%s: %+v", c, r)
			}
			took = append(took, time.Since(begun))
		}
		slices.Sort(took)
		p50, p95 := took[rounds/2], took[rounds*95/100]
		t.Logf("%-9s p50 %v  p95 %v", c, p50.Round(10*time.Microsecond), p95.Round(10*time.Microsecond))
		if p50 > p50Max {
			t.Errorf("%s: p50 %v", c, p50)
		}
	}
	e.bye()
}
