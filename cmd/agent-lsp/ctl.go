package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/share"
	"github.com/agent-lsp/agent-lsp/rpc"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// Times of a controller.
const (
	ackWait    = 30 * time.Second // then the same request is sent again
	resultWait = 30 * time.Second // after the ACK
	ctlTries   = 2
)

type ctlCmd struct {
	Pause    ctlRunCmd    `cmd:"" help:"Hold a run before its next model call or batch of tool calls."`
	Resume   ctlRunCmd    `cmd:"" help:"Let a paused run go on, or take up one that a crash cut off."`
	Cancel   ctlRunCmd    `cmd:"" help:"Stop a run at once, with everything that it started."`
	Escalate ctlEscalate  `cmd:"" help:"Give a run another model from its next call on."`
	Status   ctlStatusCmd `cmd:"" help:"List the runs of the folder."`
}

type ctlRunCmd struct {
	Run_ string `arg:"" name:"run" optional:"" help:"The run's id; it may be left out when there is only one."`
	JSON bool   `name:"json" help:"Print the RESULT as JSON."`
	word string
}

type ctlEscalate struct {
	ctlRunCmd
	Model  string `required:"" help:"A configured model or alias, such as opus."`
	Reason string `help:"Why; it is shown and kept."`
}

type ctlStatusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// AfterApply notes which of the commands it is: they differ by nothing else.
func (c *ctlCmd) AfterApply() error {
	c.Pause.word, c.Resume.word, c.Cancel.word = "pause", "resume", "cancel"
	return nil
}

// Run intervenes in a run.
func (c ctlRunCmd) Run(ctx context.Context, s streams) error {
	return control(ctx, s, protocol.ControlCommand(c.word), c.Run_, protocol.ControlPayload{}, c.JSON)
}

// Run escalates a run.
func (c ctlEscalate) Run(ctx context.Context, s streams) error {
	return control(ctx, s, protocol.CommandEscalate, c.Run_, protocol.ControlPayload{Model: c.Model, Reason: c.Reason}, c.JSON)
}

// Run lists runs.
func (c ctlStatusCmd) Run(ctx context.Context, s streams) error {
	k, err := newController(ctx)
	if err != nil {
		return err
	}
	defer k.close()
	status, err := k.client.Status(ctx, &agent.SessionRef{})
	if err != nil {
		return explain(err)
	}
	if c.JSON {
		return printJSON(s.out, map[string]any{"runs": status.Runs})
	}
	if len(status.Runs) == 0 {
		_, err := fmt.Fprintln(s.out, "no runs")
		return err
	}
	for _, r := range status.Runs {
		line := fmt.Sprintf("%s  %-11s  %2d of %d  %s", r.RunID, r.State, r.Iter, r.Max, r.Model)
		switch {
		case r.Position > 0:
			line += fmt.Sprintf("  (number %d in the queue)", r.Position)
		case r.WaitingFor != "":
			line += "  (waits for " + r.WaitingFor + ")"
		case r.Resumable:
			line += "  (agent-lsp ctl resume goes on with it)"
		}
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	return nil
}

// control sends a REQUEST and tells what came of it.
func control(ctx context.Context, s streams, word protocol.ControlCommand, runID string, p protocol.ControlPayload, asJSON bool) error {
	k, err := newController(ctx)
	if err != nil {
		return err
	}
	defer k.close()
	if runID == "" {
		if runID, err = k.onlyRun(ctx, word); err != nil {
			return err
		}
	}
	result, raw, err := k.request(ctx, word, runID, p)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		if _, err := s.out.Write(append(raw, '\n')); err != nil {
			return err
		}
	case result.Status == "success":
		if _, err := fmt.Fprintf(s.out, "%s: %s\n", runID, result.Message); err != nil {
			return err
		}
	default:
		fmt.Fprintf(s.err, "agent-lsp: %s (%s)\n", result.Message, result.Code)
	}
	if result.Status != "success" {
		return exitError(1)
	}
	return nil
}

// controller is a connection to the server of the current folder.
type controller struct {
	client *rpc.Client
	heard  chan heardControl
}

// heardControl is a message with its bytes as they came.
type heardControl struct {
	protocol.ControlMessage
	raw json.RawMessage
}

// newController finds the server of the current folder or of one above it.
func newController(ctx context.Context) (*controller, error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	conn, root, err := dialAbove(dir)
	if err != nil {
		return nil, err
	}
	k := &controller{heard: make(chan heardControl, 16)}
	k.client = rpc.Dial(conn, rpc.Handlers{Other: func(method string, params json.RawMessage) {
		if method != protocol.TopicControl {
			return
		}
		m := heardControl{raw: params}
		if json.Unmarshal(params, &m.ControlMessage) == nil {
			select {
			case k.heard <- m:
			default: // none of ours: we have one request under way
			}
		}
	}})
	if _, err := k.client.Hello(ctx, rpc.Hello{Name: "ctl", Version: version, RootURI: string(uri.File(root))}); err != nil {
		k.close()
		return nil, fmt.Errorf("the server does not answer: %w", explain(err))
	}
	return k, nil
}

func dialAbove(dir string) (net.Conn, string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		place, err := shareAt(at)
		if err == nil {
			var conn net.Conn
			if conn, err = share.Dial(place); err == nil {
				return conn, at, nil
			}
		}
		if err != nil && !errors.Is(err, share.ErrNobody) {
			return nil, "", err
		}
		if at == filepath.Dir(at) {
			return nil, "", fmt.Errorf("no agent-lsp serves %s; open it in an editor, or run agent-lsp ask", dir)
		}
	}
}

const ctlGoodbye = 2 * time.Second

func (k *controller) close() {
	ctx, cancel := context.WithTimeout(context.Background(), ctlGoodbye)
	defer cancel()
	_ = k.client.Close(ctx) // the request is answered; how the goodbye goes doesn't matter
}

// onlyRun is the one run that a command can mean.
func (k *controller) onlyRun(ctx context.Context, word protocol.ControlCommand) (string, error) {
	status, err := k.client.Status(ctx, &agent.SessionRef{})
	if err != nil {
		return "", explain(err)
	}
	var fits []string
	for _, r := range status.Runs {
		if !r.Resumable || word == protocol.CommandResume {
			fits = append(fits, r.RunID)
		}
	}
	switch len(fits) {
	case 0:
		return "", fmt.Errorf("there is no run to %s", word)
	case 1:
		return fits[0], nil
	}
	return "", fmt.Errorf("%d runs: say which to %s: %s", len(fits), word, strings.Join(fits, ", "))
}

// request sends a REQUEST, again with the same id when no ACK came in time.
func (k *controller) request(ctx context.Context, word protocol.ControlCommand, runID string, p protocol.ControlPayload) (protocol.ControlPayload, json.RawMessage, error) {
	id := uuid.NewString()
	for range ctlTries {
		m := protocol.ControlMessage{Type: protocol.ControlRequest, RequestID: id, Command: word, Target: protocol.ControlTarget{RunID: runID},
			Timestamp: time.Now().UTC().Format(time.RFC3339), Payload: p}
		if err := k.client.Control(ctx, m); err != nil {
			return protocol.ControlPayload{}, nil, fmt.Errorf("the server is gone: %w", err)
		}
		wait := time.NewTimer(ackWait)
		for waiting := true; waiting; {
			select {
			case h := <-k.heard:
				switch {
				case h.RequestID != id:
				case h.Type == protocol.ControlAck:
					wait.Reset(resultWait)
				case h.Type == protocol.ControlResult:
					wait.Stop()
					return h.Payload, h.raw, nil
				}
			case <-wait.C:
				waiting = false
			case <-k.client.Done():
				wait.Stop()
				return protocol.ControlPayload{}, nil, errors.New("the server went away before it answered; what it had written down counts: agent-lsp ctl status")
			case <-ctx.Done():
				wait.Stop()
				return protocol.ControlPayload{}, nil, ctx.Err()
			}
		}
	}
	return protocol.ControlPayload{}, nil, fmt.Errorf("the server did not answer within %s, twice; whether the run obeyed is not known: agent-lsp ctl status", ackWait)
}
