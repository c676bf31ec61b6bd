package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// connect puts a Client in front of a server with this engine.
func connect(t testing.TB, e Engine, h Handlers, hello Hello) *Client {
	near, far := net.Pipe()
	s := New(far, Options{Open: openFake(e)})
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	c := Dial(near, h)
	if _, err := c.Hello(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("the server ended: %v", err)
		}
	})
	return c
}

// TestClient asks, is told and is asked, as the terminal does.
func TestClient(t *testing.T) {
	type told struct {
		mu     sync.Mutex
		model  cycle.Model
		result chan string
		state  chan string
		asked  chan string
	}
	got := told{model: cycle.NewModel(), result: make(chan string, 1), state: make(chan string, 1), asked: make(chan string, 1)}
	c := connect(t, newStoryEngine(), Handlers{
		Cycle: func(n agent.CycleNotification) {
			got.mu.Lock()
			defer got.mu.Unlock()
			if err := cycle.Reduce(&got.model, n.Ops); err != nil {
				t.Error(err)
			}
		},
		Stream: func(s agent.StreamChunk) {
			if s.Type == "result" {
				got.result <- s.Content
			}
		},
		Current: func(e protocol.LoopEvent) { got.state <- e.Reason },
		Permission: func(_ context.Context, p agent.PermissionParams) (agent.PermissionResult, error) {
			got.asked <- p.Title
			return agent.PermissionResult{OptionID: p.Options[0].ID}, nil
		},
	}, Hello{Name: "test", Permission: true})
	r, err := c.Submit(t.Context(), &agent.SubmitParams{Input: "where?", Source: "test"})
	if err != nil || r.CycleID == "" {
		t.Fatalf("Submit gave %+v, %v", r, err)
	}
	if title, answer, result := <-got.asked, <-got.state, <-got.result; title != "Run tests" || answer != "yes" || result != "It is in main.go:1." {
		t.Errorf("asked %q, answered %q, told %q", title, answer, result)
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	if text := got.model.Cycles[0].Steps[1].Text; text != "It is in main.go:1." {
		t.Errorf("the step tree says %q", text)
	}
}

// TestClientErrors gets the server's errors back as what they were.
func TestClientErrors(t *testing.T) {
	c := connect(t, newFakeEngine(), Handlers{}, Hello{Name: "test"})
	_, err := c.Queue(t.Context(), &agent.SessionRef{})
	var e *agent.Error
	if !errors.As(err, &e) || *e != (agent.Error{Code: agent.CodeNotFound, Message: "there is no session", Hint: "submit something first", Retriable: true}) {
		t.Errorf("Queue gave %#v", err)
	}
	if err := c.Call(t.Context(), "agent/nonsense", nil, nil); !errors.Is(err, agent.ErrUnsupported) {
		t.Errorf("an unknown method gave %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Submit(ctx, &agent.SubmitParams{Input: "wait"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request that is given up gave %v", err)
	}
	if offer := methodNames; !slices.Contains(offer, "agent/submit") || len(offer) != len(methods) {
		t.Errorf("the offer is %v", offer)
	}
}

// TestClientWithoutHandlers is asked what it can't answer.
func TestClientWithoutHandlers(t *testing.T) {
	state := make(chan string, 1)
	c := connect(t, newStoryEngine(), Handlers{Current: func(e protocol.LoopEvent) { state <- e.Reason }}, Hello{Name: "test", Permission: true})
	if _, err := c.Submit(t.Context(), &agent.SubmitParams{Input: "where?"}); err != nil {
		t.Fatal(err)
	}
	if got := <-state; got != agent.ErrUnsupported.Error() {
		t.Errorf("the engine heard %q", got)
	}
}

// TestDocumentOrder sends many changes and asks in between: every request sees
// all changes that were sent before it, and the changes come in order.
func TestDocumentOrder(t *testing.T) {
	engine := newFakeEngine()
	c := connect(t, engine, Handlers{}, Hello{Name: "test"})
	notify := func(method string, params any) {
		if err := c.Notify(t.Context(), method, params); err != nil {
			t.Fatal(err)
		}
	}
	notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": "file:///a", "version": 0, "text": ""}})
	var wg sync.WaitGroup
	for v := 1; v <= 2000; v++ {
		notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": "file:///a", "version": v},
			"contentChanges": []any{map[string]any{"range": agent.Range{Start: agent.Position{Character: v - 1}, End: agent.Position{Character: v - 1}}, "text": "x"}},
		})
		if v%100 != 0 {
			continue
		}
		sent := make(chan struct{})
		wg.Go(func() {
			defer close(sent)
			r, err := c.Complete(t.Context(), &agent.CompleteParams{Text: "file:///a"})
			if err != nil || len(r.Items[0].Insert) < v {
				t.Errorf("after change %d the document has %d bytes (%v)", v, len(r.Items[0].Insert), err)
			}
		})
		<-sent
	}
	wg.Wait()
	if n := len(engine.text("file:///a")); n != 2000 {
		t.Errorf("the document has %d bytes", n)
	}
}

// TestManyRequests keeps more requests waiting than run at a time.
func TestManyRequests(t *testing.T) {
	engine := newFakeEngine()
	c := connect(t, engine, Handlers{}, Hello{Name: "test"})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 3 * RequestsRunning {
		wg.Go(func() {
			if _, err := c.Submit(ctx, &agent.SubmitParams{Input: "wait"}); !errors.Is(err, context.Canceled) {
				t.Errorf("gave %v", err)
			}
		})
	}
	if _, err := c.Status(t.Context(), &agent.SessionRef{}); err != nil {
		t.Error(err)
	}
	cancel()
	wg.Wait()
}

// serve starts the test binary as a server on its standard streams.
func serve(t *testing.T, in string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "RPC_TEST_SERVE=1")
	cmd.Stdin = strings.NewReader(in)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":null,"rootUri":null,"capabilities":{}}}`

// TestProcess holds the exit codes, and that nothing but the protocol goes to
// the standard output.
func TestProcess(t *testing.T) {
	for _, test := range []struct {
		name, in, stderr string
		code             int
	}{
		{"shutdown, exit", framed(hello) + framed(`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`) + framed(`{"jsonrpc":"2.0","method":"exit"}`), "", 0},
		{"exit alone", framed(hello) + framed(`{"jsonrpc":"2.0","method":"exit"}`), "exit came without shutdown", 1},
		{"end of input", framed(hello), "", 0},
		{"broken header", framed(hello) + "nonsense\r\n\r\n", `"nonsense" is no header field`, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errs, code := serve(t, test.in)
			if code != test.code || !strings.Contains(errs, test.stderr) {
				t.Errorf("exit code %d, said %q; want %d and %q", code, errs, test.code, test.stderr)
			}
			checkFrames(t, out)
			if !strings.Contains(out, `"serverInfo"`) {
				t.Errorf("initialize was not answered: %q", out)
			}
		})
	}
}

// TestPythonClient runs the example of docs/protocol.md.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	cmd := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "client.py"), "where is main?", os.Args[0])
	cmd.Env = append(os.Environ(), "RPC_TEST_SERVE=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if out.String() != "It is in main.go:1.\n" || !strings.Contains(errs.String(), "Searching 12 files") {
		t.Errorf("printed %q and %q", out.String(), errs.String())
	}
}

// TestEmptyLists encodes nil lists and maps: a client never sees null for one.
func TestEmptyLists(t *testing.T) {
	for _, v := range []any{
		&agent.StatusResult{}, &agent.PlanResult{}, &agent.CyclesResult{}, &agent.SessionLoaded{}, &agent.TraceResult{}, &agent.ConfigResult{},
		agent.EditsChanged{}, agent.CycleNotification{}, agent.PermissionParams{},
	} {
		data, err := encode(v)
		if err != nil {
			t.Errorf("%T: %v", v, err)
		}
		var fields map[string]any
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			if value == nil && name != "overflow" {
				t.Errorf("%T: %s is null in %s", v, name, data)
			}
		}
	}
	bad, err := encode(agent.Hunk{BaseText: "a\xffb"})
	if err != nil || !json.Valid(bad) || !strings.Contains(string(bad), "a\ufffdb") {
		t.Errorf("text that is no UTF-8 gave %s, %v", bad, err)
	}
}
