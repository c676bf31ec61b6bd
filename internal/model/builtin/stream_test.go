package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

func TestStreamIsWhole(t *testing.T) {
	s := newShop(map[string]string{"a.go": "package a\n\n// Timeout bounds it.\nconst Timeout = 3\n"})
	var text string
	var args = map[int]string{}
	var done *model.Done
	req := model.Request{Messages: []model.Message{user("where is the Timeout set?")}, Tools: s.tools()}
	for d, err := range New().Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if done != nil {
			t.Fatal("a delta after Done")
		}
		text += d.Text
		if c := d.CallDelta; c != nil {
			args[c.Index] += c.Args
		}
		done = d.Done
	}
	if done == nil || done.Finish != model.FinishCalls || len(done.Calls) < 2 || text == "" {
		t.Fatalf("done %+v, text %q: want several calls side by side, and a word on them", done, text)
	}
	for i, c := range done.Calls {
		if args[i] != string(c.Args) || !json.Valid(c.Args) {
			t.Errorf("call %d streamed %q, done says %q", i, args[i], c.Args)
		}
	}
	if done.Usage.Input == 0 || done.Usage.CostUSD != 0 || done.Usage.Reported {
		t.Errorf("usage %+v: want an estimate that costs nothing", done.Usage)
	}
	if c := Caps(); c.ContextWindow != 32768 || !c.Local || !c.Tools {
		t.Errorf("caps %+v", c)
	}
}

func TestStreamObeysItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range New().Stream(ctx, model.Request{Messages: []model.Message{user("what can you do?")}}) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n != 4 {
		t.Errorf("ended after %d deltas with %v", n, last)
	}
	for range New().Stream(t.Context(), model.Request{Messages: []model.Message{user("what can you do?")}}) {
		break // breaking out must not panic
	}
}

// TestResume cuts a conversation after each message and asks again: the same
// messages always lead to the same next step, and calls whose results are
// missing are asked again.
func TestResume(t *testing.T) {
	s := newShop(map[string]string{"a.go": "package a\n\nfunc one() {}\n\nfunc two() { one() }\n"})
	whole := s.converse(t, []model.Message{{Role: model.RoleSystem, Text: "x"}, user("who calls one() and rename one to uno")}, s.tools())
	s.files["a.go"] = "package a\n\nfunc one() {}\n\nfunc two() { one() }\n"
	for cut := 2; cut < len(whole); cut++ {
		if whole[cut].Role != model.RoleAssistant {
			continue
		}
		r := reply(model.Request{Messages: whole[:cut], Tools: s.tools()})
		if r.text != whole[cut].Text || !reflect.DeepEqual(r.calls, whole[cut].Calls) {
			t.Errorf("after %d messages it says %q %v, before it said %q %v", cut, r.text, r.calls, whole[cut].Text, whole[cut].Calls)
		}
		if n := len(whole[cut].Calls); n > 1 { // a crash lost the last result
			r := reply(model.Request{Messages: whole[:cut+n], Tools: s.tools()})
			if len(r.calls) != 1 || callKey(r.calls[0].Name, r.calls[0].Args) != callKey(whole[cut].Calls[n-1].Name, whole[cut].Calls[n-1].Args) {
				t.Errorf("after a lost result it asks %v", r.calls)
			}
		}
	}
}

// TestCompaction drops the first episodes of a finished rename: the engine
// looks again, sees that nothing is left to do, and ends.
func TestCompaction(t *testing.T) {
	s := newShop(map[string]string{"a.go": "package a\n\nfunc one() {}\n\nfunc two() { one() }\n"})
	m := s.converse(t, []model.Message{user("rename one to uno")}, s.tools())
	cut := append([]model.Message{user("[CONVERSATION SUMMARY]\n- a.go was edited"), m[0]}, m[len(m)-3:len(m)-1]...)
	again := s.converse(t, cut, s.tools())
	text := again[len(again)-1].Text
	if s.files["a.go"] != "package a\n\nfunc uno() {}\n\nfunc two() { uno() }\n" || !strings.Contains(text, "nothing was changed") {
		t.Errorf("%s\n%s", text, s.files["a.go"])
	}
}

func TestRetriesAreBounded(t *testing.T) {
	s := newShop(map[string]string{"a.txt": "foo foo2\nbar foo\n"})
	s.refuse["edit"] = "edit: a.txt: oldText stands at 2 places. Nothing was changed."
	text := s.ask(t, "replace foo with baz in a.txt")
	edits := 0
	for _, c := range s.calls {
		if strings.HasPrefix(c, "edit ") {
			edits++
		}
	}
	if edits != retriesMax+1 || !strings.Contains(text, "Not changed") {
		t.Errorf("%d edits; %s", edits, text)
	}
	s.calls = nil
	s.refuse["edit"] = "edit: permission refused: no"
	s.ask(t, "replace foo with baz in a.txt")
	edits = 0
	for _, c := range s.calls {
		if strings.HasPrefix(c, "edit ") {
			edits++
		}
	}
	if edits != 1 {
		t.Errorf("a refused edit was tried %d times", edits)
	}
}

func TestUtilities(t *testing.T) {
	sys := func(s string) model.Message { return model.Message{Role: model.RoleSystem, Text: s} }
	talk := []model.Message{user("Rename a to b in x/y.go"), {Role: model.RoleAssistant, Text: "Renamed the function `a` to `b`: 3 places in 1 file."},
		{Role: model.RoleTool, Text: "--- FAIL: TestX\nexit 1"}, user("always keep the old name in tests")}
	got := reply(model.Request{Messages: append([]model.Message{sys(MarkSummarise + " Summarise.")}, talk...)}).text
	for _, want := range []string{"Rename a to b", "x/y.go", "always keep the old name in tests", "--- FAIL: TestX", "Renamed the function"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary lacks %q:\n%s", want, got)
		}
	}
	for in, want := range map[string]string{
		"Could you please tell me where the idle connection timeout of a Transport is applied?": "Idle connection timeout of Transport is",
		"fix it": "Fix it", "": "New session", "rename readCookies to parseCookies": "Rename readCookies to parseCookies",
	} {
		if got := reply(model.Request{Messages: []model.Message{sys(MarkTitle), user(in)}}).text; got != want || len(strings.Fields(got)) > titleWords {
			t.Errorf("title of %q is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"hi":                  `{"categories":["CONVERSATIONAL_ONLY"]}`,
		"where is X defined?": `{"categories":["read","search"]}`,
		"run the tests":       `{"categories":["read","shell"]}`,
		"rename foo to bar":   `{"categories":["read","search","write"]}`,
		"fix the flaky tests": `{"categories":["read","search","write","shell"]}`,
	} {
		if got := reply(model.Request{Messages: []model.Message{sys(MarkRoute), user(in)}}).text; got != want {
			t.Errorf("route of %q is %s, want %s", in, got, want)
		}
	}
}

// FuzzStream feeds arbitrary messages and arbitrary tool results: every reply
// ends with Done, calls are only of offered tools with JSON arguments, equal
// messages give equal replies, and a request ends within roundsMax rounds.
func FuzzStream(f *testing.F) {
	f.Add("where is the timeout applied?", "a.go:1-9  f  (bm25)\n     1\tfunc f() {}\n", "", byte(3), true)
	f.Add("rename the function f to g everywhere", "a.go:1:func f() {}\na.go:2:\tf()\n", "only a.go", byte(9), false)
	f.Add("delete the function f in a.go", "a.go:1:func f() {}\n     1\tfunc f() {}\n", "", byte(0), true)
	f.Add("insert \"x\" at the end of a.go", "     1\ta\n[lines 1-1 of 3; go on]\n", "stop", byte(1), true)
	f.Add("run the tests", "go.mod\nMakefile\n", "[TOOL REFLECTION] x", byte(2), false)
	f.Add("replace foo with bar", "a.go:1:foo foobar\na.go:2:foo foobar\n", "", byte(7), true)
	f.Add("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "ok", "", byte(0), true)
	f.Fuzz(func(t *testing.T, request, result, second string, fail byte, also bool) {
		s := newShop(nil)
		tools := s.tools()
		offered := newToolbox(tools)
		messages := []model.Message{user(request)}
		if also {
			messages = append(messages, user(second), user(request))
		}
		for round := 0; ; round++ {
			if round > roundsMax {
				t.Fatalf("no end after %d rounds", round)
			}
			req := model.Request{Messages: messages, Tools: tools}
			r, err := model.Collect(Name, New().Stream(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			if again := reply(req); again.text != r.Text || len(again.calls) != len(r.Done.Calls) {
				t.Fatal("two replies to the same messages differ")
			}
			messages = append(messages, model.Message{Role: model.RoleAssistant, Text: r.Text, Calls: r.Done.Calls})
			if len(r.Done.Calls) == 0 {
				if strings.TrimSpace(r.Text) == "" {
					t.Fatal("an empty answer")
				}
				return
			}
			if len(r.Done.Calls) > callsPerRound {
				t.Fatalf("%d calls", len(r.Done.Calls))
			}
			for i, c := range r.Done.Calls {
				if !offered.has(c.Name) || !json.Valid(c.Args) {
					t.Fatalf("bad call %s %s", c.Name, c.Args)
				}
				text := result
				if i%2 == 1 {
					text = fmt.Sprint(second, "\n", result)
				}
				messages = append(messages, model.Message{Role: model.RoleTool, CallID: c.ID, Text: text, IsError: fail>>(i%8)&1 == 1})
			}
			if also && round == 1 {
				messages = append(messages, user(second))
			}
		}
	})
}
