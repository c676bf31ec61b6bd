package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestRelayFraming: what a broken or hostile stream gets is the same in the
// window that serves the folder and in one that is relayed to it.
func TestRelayFraming(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"first", "second"} {
		t.Run(where+" window", func(t *testing.T) {
			t.Parallel()
			dir, env := writeFiles(t, map[string]string{"a.txt": "hello\n"}), home(t)
			if where == "second" {
				first := startEditor(t, env, dir)
				first.hello(dir)
				first.ready()
			}
			open := func() *editor {
				e := startEditor(t, env, dir)
				e.hello(dir)
				return e
			}
			const asked = 20
			for name, end := range map[string]string{"the end": "", "no header": "garbage here\r\n\r\n{}", "half a message": "Content-Length: 90\r\n\r\n{",
				"an endless header": "X-Y: " + strings.Repeat("a", 200<<10) + "\r\n", "no length": "Content-Type: x\r\n\r\n{}"} {
				e := open()
				for i := range asked {
					e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"s%d","method":"agent/search","params":{"query":"hello"}}`, i))
				}
				_, _ = io.WriteString(e.in, end) // it may be refused before it is read to its end
				_ = e.in.Close()
				for i := range asked { // what was asked before is answered
					w := e.wait("an answer", func(w wire) bool { return w.Method == "" && string(w.ID) == fmt.Sprintf(`"s%d"`, i) })
					if w.Error != nil {
						t.Errorf("%s: %s", name, w.raw)
					}
				}
				e.wait1(t, name, end != "")
			}
			e := open()
			const limit = 64 << 20
			e.send(`{"jsonrpc":"2.0","id":"big","method":"agent/submit","params":{"source":"test","input":"` + strings.Repeat("x", limit) + `"}}`)
			w := e.wait("a refusal", func(w wire) bool { return w.Method == "" && string(w.ID) == `"big"` })
			if w.Error == nil || w.Error.Code != -32600 || w.Error.Data.Code != "bad_request" {
				t.Errorf("a message over the limit: %s", w.raw)
			}
			e.bye()
		})
	}
}

// wait1 waits until the server has ended, with 1 as its exit code or with 0.
func (e *editor) wait1(t *testing.T, name string, broken bool) {
	t.Helper()
	_ = e.cmd.Wait()
	if code := e.cmd.ProcessState.ExitCode(); (code == 1) != broken || code > 1 {
		t.Errorf("%s: exit %d", name, code)
	}
}
