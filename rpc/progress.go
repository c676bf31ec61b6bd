package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Tokens of the progress that we report.
const (
	indexToken = "agent-lsp/index"
	runToken   = "agent-lsp/run/" // and the run's id
)

// progress shows indexing and runs by the client's own means ($/progress). Runs
// are shown so to clients that draw no step tree; cancelling there cancels the run.
type progress struct {
	p *peer

	mu   sync.Mutex
	open map[string]*bar // by token
}

// bar is one progress that was begun, or is about to be.
type bar struct {
	begun  bool           // the client has accepted the token and was told to begin
	fields map[string]any // what to begin with
}

func newProgress(p *peer) *progress { return &progress{p: p, open: map[string]*bar{}} }

// index shows the index's progress.
func (g *progress) index(st agent.IndexStatus) {
	if st.State != "indexing" {
		g.end(indexToken, st.Message)
		return
	}
	text := st.Message
	report := map[string]any{}
	if st.Total > 0 {
		report["percentage"] = min(100, st.Done*100/st.Total)
		text = nameOr(text, fmt.Sprintf("%d of %d files", st.Done, st.Total))
	}
	g.report(indexToken, "Indexing", false, text, report)
}

// loop shows a run's iterations.
func (g *progress) loop(e protocol.LoopEvent) {
	if !g.p.caps.Plain && g.p.caps.Cycles {
		return // it draws the run itself
	}
	if e.Event != protocol.LoopState || len(e.Stack) == 0 {
		g.end(runToken+e.RunID, e.Reason)
		return
	}
	frame := e.Stack[len(e.Stack)-1]
	text := fmt.Sprintf("step %d of %d, %s", frame.Iter, frame.Max, frame.Model)
	if frame.Paused {
		text = "paused at " + text
	}
	g.report(runToken+e.RunID, "Agent", true, text, map[string]any{})
}

// chunk shows the telemetry line beside the only run that there is.
func (g *progress) chunk(c agent.StreamChunk) {
	if c.Type != "processing" || c.Content == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var only string
	for token := range g.open {
		if strings.HasPrefix(token, runToken) {
			if only != "" {
				return
			}
			only = token
		}
	}
	if b := g.open[only]; b != nil {
		g.update(only, b, map[string]any{"message": c.Content})
	}
}

// report begins a progress, or goes on with it.
func (g *progress) report(token, title string, cancellable bool, text string, fields map[string]any) {
	if !g.p.caps.progress {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	fields["message"] = text
	if b := g.open[token]; b != nil {
		g.update(token, b, fields)
		return
	}
	fields["kind"], fields["title"], fields["cancellable"] = "begin", title, cancellable
	b := &bar{fields: fields}
	g.open[token] = b
	g.p.s.background(func() { g.begin(token, b) })
}

// update reports, or changes what is still to be begun.
func (g *progress) update(token string, b *bar, fields map[string]any) {
	if !b.begun {
		maps.Copy(b.fields, fields)
		return
	}
	fields["kind"] = "report"
	g.put(token, fields, "progress/"+token)
}

// begin creates the token and then begins, if it isn't over by then.
func (g *progress) begin(token string, b *bar) {
	ctx, cancel := context.WithTimeout(g.p.s.ctx, createWait)
	defer cancel()
	err := g.p.call(ctx, lsp.MethodWindowWorkDoneProgressCreate, &lsp.WorkDoneProgressCreateParams{Token: lsp.String(token)}, nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.open[token] != b:
	case err != nil:
		delete(g.open, token)
	default:
		b.begun = true
		g.put(token, b.fields, "")
	}
}

// createWait is how long a client may take to accept a progress token.
const createWait = 10 * time.Second

func (g *progress) end(token, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.open[token]
	delete(g.open, token)
	if b == nil || !b.begun {
		return
	}
	fields := map[string]any{"kind": "end"}
	if text != "" {
		fields["message"] = text
	}
	g.put(token, fields, "")
}

// put queues a $/progress. Of those with a key only the newest matters.
func (g *progress) put(token string, value map[string]any, key string) {
	g.p.out.put(&message{
		method: lsp.MethodProgress, params: map[string]any{"token": token, "value": value}, key: key, kept: key == "",
	})
}

// progressCancelled serves window/workDoneProgress/cancel.
func (s *Server) progressCancelled(_ context.Context, p *struct {
	Token json.RawMessage `json:"token"`
}) error {
	var token string
	if json.Unmarshal(p.Token, &token) != nil {
		return nil // a number: none of ours
	}
	if run, ok := strings.CutPrefix(token, runToken); ok {
		return s.queueControl(s.controlRequest(protocol.CommandCancel, run, protocol.ControlPayload{}))
	}
	return nil
}

// controlRequest makes a REQUEST as a controller would send it.
func (s *Server) controlRequest(command protocol.ControlCommand, run string, payload protocol.ControlPayload) json.RawMessage {
	return json.RawMessage(raw(protocol.ControlMessage{
		Type: protocol.ControlRequest, RequestID: uuid.NewString(), Command: command,
		Target: protocol.ControlTarget{RunID: run}, Timestamp: time.Now().UTC().Format(time.RFC3339), Payload: payload,
	}))
}

// control serves loop:control.
func (s *Server) control(_ context.Context, params jsonrpc2.RawMessage) (any, error) {
	s.peer.speaks.Store(true)
	return nil, s.queueControl(append(json.RawMessage(nil), params...))
}

// queueControl hands a message to the engine in its turn. When too many wait,
// so does the reader.
func (s *Server) queueControl(m json.RawMessage) error {
	select {
	case s.controls <- m:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}
