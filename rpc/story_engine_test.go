package rpc

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// storyEngine answers every message with one whole run, told to all clients.
type storyEngine struct{ *fakeEngine }

func newStoryEngine() *storyEngine { return &storyEngine{newFakeEngine()} }

func (s *storyEngine) Submit(ctx context.Context, p *agent.SubmitParams) (*agent.SubmitResult, error) {
	r, err := s.fakeEngine.Submit(ctx, p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	clients := append([]agent.Client{}, s.clients...)
	s.mu.Unlock()
	go func() {
		for _, c := range clients {
			s.tell(ctx, c, r, p.Input)
		}
	}()
	return r, nil
}

func (s *storyEngine) tell(ctx context.Context, c agent.Client, r *agent.SubmitResult, input string) {
	state := cycle.NewState(cycle.Policy{})
	rev := int64(0)
	for _, e := range []cycle.Event{
		cycle.UserMessage{ID: r.CycleID, Text: input, Delivery: cycle.DeliveryAuto},
		cycle.AgentOutput{ID: "o1", Output: cycle.OutputAssistant, Text: "It is in "},
		cycle.AgentOutput{ID: "o1", Output: cycle.OutputAssistant, Text: "main.go:1."},
		cycle.RunStop{Reason: cycle.StopCompleted},
	} {
		rev++
		c.Cycle(agent.CycleNotification{SessionID: r.SessionID, BranchID: r.BranchID, CycleID: r.CycleID, Rev: rev, Ops: state.Apply(e)})
	}
	chunk := agent.StreamChunk{SessionID: r.SessionID, BranchID: r.BranchID, TurnID: r.TurnID}
	chunk.Type, chunk.Content = "processing", "Searching 12 files"
	c.Stream(chunk)
	if c.Caps().Permission {
		answer, err := c.Permission(context.WithoutCancel(ctx), agent.PermissionParams{RunID: r.RunID, Tool: "bash", Title: "Run tests", Options: []agent.PermissionOption{{ID: "yes", Kind: "allow_once", Name: "Allow"}}})
		if err != nil {
			answer.OptionID = err.Error()
		}
		c.Loop("loop:current", json.RawMessage(`{"schema":1,"event":"STATE","run_id":"run-1","reason":"`+answer.OptionID+`","stack":[]}`))
	}
	chunk.Type, chunk.Content, chunk.IsComplete = "result", "It is in main.go:1.", true
	c.Stream(chunk)
}
