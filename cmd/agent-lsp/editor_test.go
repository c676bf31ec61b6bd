package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// editor is an editor's side of the wire, written by hand: it knows nothing of
// our client, so that a mistake in that can't hide one in the server.
type editor struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser

	mu      sync.Mutex
	changed *sync.Cond
	got     []wire
	ended   bool
	nextID  int
}

// wire is one message.
type wire struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
		Data    struct {
			Code, Hint string
			Retriable  bool
		}
	} `json:"error"`
	raw string
}

// into reads params or result.
func (w wire) into(t *testing.T, v any) {
	t.Helper()
	data := w.Params
	if w.Method == "" {
		data = w.Result
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%v in %s", err, w.raw)
	}
}

// startEditor starts the server as an editor would.
func startEditor(t *testing.T, env []string, dir string) *editor {
	t.Helper()
	e := &editor{t: t, cmd: exec.Command(binary, "--stdio")}
	e.changed = sync.NewCond(&e.mu)
	e.cmd.Dir, e.cmd.Env = dir, env
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() { defer close(read); e.read(out) }()
	t.Cleanup(func() {
		_ = e.in.Close() // the server ends with its input
		late := time.AfterFunc(answerWithin, e.kill)
		<-read
		_ = e.cmd.Wait()
		late.Stop()
	})
	return e
}

// kill is kill -9 of the server and all that it started in its group.
func (e *editor) kill() { _ = syscall.Kill(-e.cmd.Process.Pid, syscall.SIGKILL) }

// answerWithin bounds every wait for a message.
const answerWithin = 2 * time.Minute

func (e *editor) read(out io.Reader) {
	r := textproto.NewReader(bufio.NewReader(out))
	for {
		head, err := r.ReadMIMEHeader()
		if err != nil {
			break
		}
		n, err := strconv.Atoi(head.Get("Content-Length"))
		if err != nil {
			break
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r.R, body); err != nil {
			break
		}
		w := wire{raw: string(body)}
		if json.Unmarshal(body, &w) != nil {
			w.Method = "not JSON"
		}
		e.mu.Lock()
		e.got = append(e.got, w)
		e.changed.Broadcast()
		e.mu.Unlock()
	}
	e.mu.Lock()
	e.ended = true
	e.changed.Broadcast()
	e.mu.Unlock()
}

func (e *editor) send(message string) {
	e.t.Helper()
	if _, err := fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(message), message); err != nil {
		e.t.Fatalf("the server reads no more: %v", err)
	}
}

// ask sends a request and waits for its answer.
func (e *editor) ask(method, params string) wire {
	e.t.Helper()
	e.nextID++
	id := strconv.Itoa(e.nextID)
	e.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return e.wait("the answer to "+method, func(w wire) bool { return w.Method == "" && string(w.ID) == id })
}

// okay is ask for what must not fail; it reads the result into v.
func (e *editor) okay(method, params string, v any) {
	e.t.Helper()
	w := e.ask(method, params)
	if w.Error != nil {
		e.t.Fatalf("%s: %s", method, w.raw)
	}
	if v != nil {
		w.into(e.t, v)
	}
}

func (e *editor) tell(method, params string) {
	e.t.Helper()
	e.send(`{"jsonrpc":"2.0","method":"` + method + `","params":` + params + `}`)
}

// wait waits for the first message of all so far that fits.
func (e *editor) wait(what string, fits func(wire) bool) wire {
	e.t.Helper()
	_, w := e.waitFrom(0, what, fits)
	return w
}

// waitFrom is wait for messages from a place on; it gives the place.
func (e *editor) waitFrom(from int, what string, fits func(wire) bool) (int, wire) {
	e.t.Helper()
	late := false
	timer := time.AfterFunc(answerWithin, func() {
		e.mu.Lock()
		late = true
		e.changed.Broadcast()
		e.mu.Unlock()
	})
	defer timer.Stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := from; ; i++ {
		for i >= len(e.got) {
			if late || e.ended {
				e.t.Fatalf("%s never came (server ended: %v); the latest messages:\n%s", what, e.ended, e.dump())
			}
			e.changed.Wait()
		}
		if fits(e.got[i]) {
			return i, e.got[i]
		}
	}
}

// dump is the end of the transcript.
func (e *editor) dump() string {
	var b strings.Builder
	for _, w := range e.got[max(0, len(e.got)-20):] {
		b.WriteString(w.raw[:min(len(w.raw), 400)] + "\n")
	}
	return b.String()
}

// messages are those that came so far.
func (e *editor) messages() []wire {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]wire{}, e.got...)
}

// hello does the handshake.
func (e *editor) hello(dir string) wire {
	e.t.Helper()
	root, err := json.Marshal("file://" + dir)
	if err != nil {
		e.t.Fatal(err)
	}
	w := e.ask("initialize", `{"processId":null,"rootUri":`+string(root)+`,"capabilities":{},"initializationOptions":{"agentLsp":{"client":"test","protocolVersion":1,"permission":true}}}`)
	e.tell("initialized", `{}`)
	return w
}

// bye ends the server as an editor does.
func (e *editor) bye() {
	e.t.Helper()
	e.okay("shutdown", `null`, nil)
	e.tell("exit", `null`)
	if err := e.cmd.Wait(); err != nil {
		e.t.Errorf("exit after shutdown: %v", err)
	}
}

// is fits messages of a method.
func is(method string) func(wire) bool { return func(w wire) bool { return w.Method == method } }

// ready waits for the index.
func (e *editor) ready() {
	e.t.Helper()
	e.wait("a ready index", func(w wire) bool {
		return w.Method == "agent/index" && strings.Contains(string(w.Params), `"state":"ready"`)
	})
}

// submitted is the answer to agent/submit.
type submitted struct{ SessionID, BranchID, TurnID, CycleID, RunID, Kind string }

// submit sends a message.
func (e *editor) submit(input, more string) submitted {
	e.t.Helper()
	text, err := json.Marshal(input)
	if err != nil {
		e.t.Fatal(err)
	}
	var s submitted
	e.okay("agent/submit", `{"source":"test","input":`+string(text)+more+`}`, &s)
	return s
}

// done waits for a turn's answer.
func (e *editor) done(turn string) wire {
	e.t.Helper()
	return e.wait("the answer of turn "+turn, func(w wire) bool {
		var c struct {
			TurnID, Type string
			IsComplete   bool
		}
		return w.Method == "agent/stream" && json.Unmarshal(w.Params, &c) == nil && c.TurnID == turn && c.IsComplete && (c.Type == "result" || c.Type == "error")
	})
}

// permit answers the next permission that was asked for from a place on.
func (e *editor) permit(from int, option string) {
	e.t.Helper()
	_, w := e.waitFrom(from, "a permission", is("agent/permission"))
	e.send(`{"jsonrpc":"2.0","id":` + string(w.ID) + `,"result":{"optionId":"` + option + `"}}`)
}
