package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestPermissionOfMany: every window that can answer is asked, one that comes
// later too; the first answer counts, the others' questions are taken back, and
// who answers all the same is told that it was too late.
func TestPermissionOfMany(t *testing.T) {
	t.Parallel()
	dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
	windows := make([]*editor, 4)
	for i := range windows {
		windows[i] = startEditor(t, env, dir)
	}
	first, second, watcher, plain := windows[0], windows[1], windows[2], windows[3]
	first.hello(dir)
	first.ready()
	second.hello(dir)
	watcher.okay("initialize", fmt.Sprintf(`{"rootUri":%q,"capabilities":{},"initializationOptions":{"agentLsp":{"client":"watcher","protocolVersion":1}}}`, "file://"+dir), nil)
	plain.okay("initialize", fmt.Sprintf(`{"rootUri":%q,"capabilities":{}}`, "file://"+dir), nil)
	for _, w := range []*editor{watcher, plain} {
		w.tell("initialized", `{}`)
		w.okay("agent/status", `{}`, nil) // it is attached
	}
	plain.okay("agent/status", `{}`, nil)

	s := first.submit(`run "echo once"`, "")
	ofFirst := first.wait("a question", is("agent/permission"))
	ofSecond := second.wait("a question", is("agent/permission"))
	ofPlain := plain.wait("a question", is("window/showMessageRequest"))
	third := startEditor(t, env, dir)
	third.hello(dir)
	ofThird := third.wait("the question that waits", is("agent/permission"))
	answer := func(w *editor, q wire, result string) {
		w.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + result + `}`)
	}
	answer(third, ofThird, `null`)                    // no answer
	answer(first, ofFirst, `{"optionId":"whatever"}`) // nor this
	answer(second, ofSecond, `{"optionId":"allow_once"}`)
	taken := func(w *editor, q wire) {
		t.Helper()
		w.wait("the question's end", func(m wire) bool {
			return m.Method == "$/cancelRequest" && strings.Contains(string(m.Params), `"id":`+string(q.ID))
		})
	}
	taken(plain, ofPlain)
	if got := first.done(s.TurnID); !strings.Contains(string(got.Params), `"success":true`) || !strings.Contains(string(got.Params), "once") {
		t.Errorf("the run that was allowed: %s", got.Params)
	}
	answer(plain, ofPlain, `{"title":"No"}`)
	plain.wait("a word about the late answer", func(m wire) bool {
		return m.Method == "window/showMessage" && strings.Contains(string(m.Params), "too late, it was allowed: bash echo once")
	})

	from, fromSecond, fromThird, fromPlain := first.here(), second.here(), third.here(), plain.here()
	s = first.submit(`run "echo twice"`, "")
	_, ofFirst = first.waitFrom(from, "a question", is("agent/permission"))
	_, ofSecond = second.waitFrom(fromSecond, "a question", is("agent/permission"))
	_, ofThird = third.waitFrom(fromThird, "a question", is("agent/permission"))
	plain.waitFrom(fromPlain, "a question", is("window/showMessageRequest"))
	answer(first, ofFirst, `{"optionId":"reject_once","reason":"not today"}`)
	taken(second, ofSecond)
	taken(third, ofThird)
	if got := first.done(s.TurnID); !strings.Contains(string(got.Params), "not today") {
		t.Errorf("the run that was refused: %s", got.Params)
	}
	fromSecond, fromThird = second.here(), third.here()
	answer(third, ofThird, `{"optionId":""}`) // it only closes its card
	answer(second, ofSecond, `{"optionId":"allow_once"}`)
	_, late := second.waitFrom(fromSecond, "a word about the late answer", is("window/showMessage"))
	if !strings.Contains(string(late.Params), "too late, it was rejected: bash echo twice") {
		t.Errorf("a late answer is told %s", late.Params)
	}
	third.okay("agent/status", `{}`, nil) // what a closed card caused would be out
	for _, m := range append(third.messages()[fromThird:], watcher.messages()...) {
		if m.Method == "window/showMessage" || m.Method == "agent/permission" || m.Method == "window/showMessageRequest" {
			t.Errorf("a window was asked or told for nothing: %s", m.raw)
		}
	}
	for _, w := range []*editor{third, plain, watcher, second, first} {
		w.bye()
	}
}
