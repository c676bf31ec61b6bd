package cycle

import (
	"encoding/json"
	"fmt"
	"time"
)

// Meta is what was measured and decided beside the request cycles: how long,
// how much, what waits for whom. It is a projection of its own, because the
// model of request cycles reads four kinds of event only; the step tree of an
// editor shows both. Keys are cycle ids and call ids.
type Meta struct {
	Cycles map[string]CycleMeta `json:"cycles"`
	Calls  map[string]CallMeta  `json:"calls"`
}

// CycleMeta is what is known of one cycle beside its steps. Times are RFC 3339
// with milliseconds, tokens are counts, money is US dollars.
type CycleMeta struct {
	TurnID         string `json:"turnId"`
	RunID          string `json:"runId"`
	State          string `json:"state"` // waiting, running, paused, asking, done
	Model          string `json:"model"`
	Iter           int    `json:"iter"`
	Max            int    `json:"max"`
	Started        string `json:"started,omitempty"`
	Ended          string `json:"ended,omitempty"`
	ElapsedMS      int64  `json:"elapsedMs"` // final once Ended is set
	PlanID         string `json:"planId,omitempty"`
	RetrievalSetID string `json:"retrievalSetId,omitempty"`
	ContextItems   int    `json:"contextItems"`
	ContextTokens  int    `json:"contextTokens"`
	ContextBudget  int    `json:"contextBudget"`
	// Plans are the ids of every plan of the cycle in order.
	Plans []string `json:"plans"`
	// Tokens is input and output over all calls, as the provider counted.
	Tokens  int     `json:"tokens"`
	CostUSD float64 `json:"costUsd"`
	Stop    string  `json:"stop,omitempty"` // the run-stop's message
	Notes   []Note  `json:"notes"`
	// Unread are steers that no model call has read yet; when the cycle is
	// over, the person is offered to send them again.
	Unread []string `json:"unread"`
	// Route is CONVERSATIONAL_ONLY or the categories of tools that the model
	// is told of, in words; RouteWhy is the reason.
	Route    string `json:"route,omitempty"`
	RouteWhy string `json:"routeWhy,omitempty"`
	// Chips are what the turn's message says beside its words.
	Chips []Chip `json:"chips,omitempty"`
	// Workflow is the checklist that the turn goes through, live.
	Workflow *Workflow `json:"workflow,omitempty"`
}

// Note is a visible event of a run that is no step: a retry, a compaction, an
// escalation.
type Note struct {
	Kind string `json:"kind"` // retry, compaction, escalation, resumed
	Text string `json:"text"`
	Ref  string `json:"ref,omitempty"`
}

// CallMeta is what is known of one tool call beside its arguments and result.
type CallMeta struct {
	Title    string          `json:"title"`
	State    string          `json:"state"` // running, asking, ok, error, refused, cancelled
	Started  string          `json:"started,omitempty"`
	MS       int64           `json:"ms"`
	Ref      string          `json:"ref,omitempty"`
	Detail   json.RawMessage `json:"detail,omitempty" ts:"unknown"`
	Question string          `json:"question,omitempty"` // what the person is asked
	Why      string          `json:"why,omitempty"`      // why it was refused
	Subtask  *SubtaskMeta    `json:"subtask,omitempty"`
}

// SubtaskMeta is where the subtask that a call began stands.
type SubtaskMeta struct {
	ID      string   `json:"id"`
	Iter    int      `json:"iter"`
	Max     int      `json:"max"`
	Model   string   `json:"model"`
	Calls   []string `json:"calls"` // what it asked for so far, the latest last; the oldest give way
	Asked   int      `json:"asked"` // how many calls in all
	Tokens  int      `json:"tokens"`
	CostUSD float64  `json:"costUsd"`
	Done    bool     `json:"done"`
}

// subtaskCallsMax bounds what is shown of a subtask's calls; the oldest give way.
const subtaskCallsMax = 20

// MetaOp replaces one entry of a Meta.
type MetaOp struct {
	Cycle     string     `json:"cycle,omitempty"`
	CycleMeta *CycleMeta `json:"cycleMeta,omitempty"`
	Call      string     `json:"call,omitempty"`
	CallMeta  *CallMeta  `json:"callMeta,omitempty"`
}

// notesMax bounds the notes of one cycle; the oldest give way.
const notesMax = 100

// MetaState folds events into a Meta. It is not safe for concurrent use.
type MetaState struct {
	meta    Meta
	started map[string]time.Time // by cycle
	paused  map[string]bool      // by cycle
}

// NewMetaState is the Meta of an empty log.
func NewMetaState() *MetaState {
	return &MetaState{
		meta:    Meta{Cycles: map[string]CycleMeta{}, Calls: map[string]CallMeta{}},
		started: map[string]time.Time{}, paused: map[string]bool{},
	}
}

// Meta is a copy of the current projection.
func (m *MetaState) Meta() Meta {
	out := Meta{Cycles: make(map[string]CycleMeta, len(m.meta.Cycles)), Calls: make(map[string]CallMeta, len(m.meta.Calls))}
	for k, v := range m.meta.Cycles {
		out.Cycles[k] = v
	}
	for k, v := range m.meta.Calls {
		out.Calls[k] = v
	}
	return out
}

// Apply folds one event. current is the id of the cycle that is open after the
// event (before it, for a run-stop), "" if none.
func (m *MetaState) Apply(current string, e Event) []MetaOp {
	switch e := e.(type) {
	case AgentOutput:
		if e.Output == OutputToolCall {
			return m.call(e.CallID, func(c *CallMeta) {
				c.Title, c.State, c.Started = e.Title, "running", stamp(e.Time)
			})
		}
		return nil
	case ToolResult:
		return m.call(e.CallID, func(c *CallMeta) {
			c.MS, c.Ref, c.Detail, c.Question = e.MS, e.Ref, e.Detail, ""
			if why := refusal(e.Detail); why != "" {
				c.State, c.Why = "refused", why
			}
			if c.State != "refused" {
				c.State = string(e.Status)
			}
		})
	case SubtaskStepped:
		return m.call(e.CallID, func(c *CallMeta) {
			sub := SubtaskMeta{ID: e.ID, Iter: e.N, Max: e.Max, Model: e.Model, Calls: []string{}, Asked: len(e.Calls), Tokens: e.Tokens, CostUSD: e.CostUSD, Done: e.Done}
			if was := c.Subtask; was != nil {
				sub.Calls = append(sub.Calls, was.Calls...)
				sub.Asked, sub.Tokens, sub.CostUSD = sub.Asked+was.Asked, sub.Tokens+was.Tokens, sub.CostUSD+was.CostUSD
			}
			sub.Calls = append(sub.Calls, e.Calls...)
			sub.Calls = sub.Calls[max(0, len(sub.Calls)-subtaskCallsMax):]
			c.Subtask = &sub
		})
	case PermissionAsked:
		ops := m.call(e.CallID, func(c *CallMeta) { c.State, c.Question = "asking", e.Title })
		return append(ops, m.cycle(current, func(c *CycleMeta) { c.State = "asking" })...)
	case PermissionAnswered:
		ops := m.call(e.CallID, func(c *CallMeta) {
			c.State, c.Question = "running", ""
			if !e.Allow {
				c.State, c.Why = "refused", e.Why
			}
		})
		return append(ops, m.cycle(current, func(c *CycleMeta) {
			c.State = "running"
			if m.paused[current] {
				c.State = "paused"
			}
		})...)
	default:
		return m.cycle(current, func(c *CycleMeta) { m.applyCycle(current, c, e) })
	}
}

// applyCycle folds an event that concerns the cycle as a whole.
func (m *MetaState) applyCycle(id string, c *CycleMeta, e Event) {
	switch e := e.(type) {
	case RunQueued:
		c.TurnID, c.RunID, c.Model, c.Max, c.State = e.TurnID, e.RunID, e.Model, e.Max, "waiting"
		if e.Held {
			c.State, m.paused[id] = "paused", true
		}
	case RunStarted:
		c.Started = stamp(e.Time)
		if !m.paused[id] {
			c.State = "running"
		}
		m.started[id] = e.Time
	case IterationBegan:
		c.Iter, c.Unread = e.N, []string{}
	case IterationDropped:
		c.Iter, c.Unread = e.N-1, append(append([]string{}, e.Steers...), c.Unread...)
	case RetrievalDone:
		c.RetrievalSetID = e.RetrievalSetID
	case PlanMade:
		c.PlanID, c.ContextItems, c.ContextTokens, c.ContextBudget = e.PlanID, e.Included, e.Tokens, e.Budget
		c.Plans = append(c.Plans[:len(c.Plans):len(c.Plans)], e.PlanID)
	case Routed:
		c.Route, c.RouteWhy = e.Words(), e.Reason
		if len(e.Chips) > 0 { // a second route is of the same message
			c.Chips = e.Chips
		}
	case WorkflowPlanned:
		w := e.Workflow
		c.Workflow = &w
	case WorkflowStepped:
		if c.Workflow != nil {
			w := c.Workflow.Apply(e)
			c.Workflow = &w
		}
	case UsageReported:
		c.Tokens += e.Input + e.Output
		c.CostUSD += e.CostUSD
	case ModelFailed:
		if e.RetryInMS > 0 {
			c.note(Note{Kind: "retry", Text: e.Message + ", trying again"})
		}
	case Compacted:
		c.note(Note{Kind: "compaction", Text: fmt.Sprintf("%s of %s tokens left the context for a summary of %s", count(len(e.Covers), "item"), shortCount(e.TokensIn), shortCount(e.Tokens)), Ref: e.Ref})
	case RunPaused:
		c.State, m.paused[id] = "paused", true
	case RunResumed:
		c.State = "running"
		delete(m.paused, id)
	case RunEscalated:
		c.Model = e.New
		c.note(Note{Kind: "escalation", Text: e.Previous + " → " + e.New + reasonSuffix(e.Reason)})
	case UserMessage:
		if e.Delivery == DeliverySteer && e.ID != id {
			c.Unread = append(c.Unread[:len(c.Unread):len(c.Unread)], e.ID)
		}
	case RunStop:
		delete(m.paused, id)
		c.State, c.Ended, c.Stop = "done", stamp(e.Time), e.Message
		if t, ok := m.started[id]; ok {
			c.ElapsedMS = e.Time.Sub(t).Milliseconds()
			delete(m.started, id)
		}
	}
}

func (c *CycleMeta) note(n Note) {
	notes := append(c.Notes[:len(c.Notes):len(c.Notes)], n)
	c.Notes = notes[max(0, len(notes)-notesMax):]
}

// cycle changes one cycle's entry and tells the change, if there was one.
func (m *MetaState) cycle(id string, change func(*CycleMeta)) []MetaOp {
	if id == "" {
		return nil
	}
	before, ok := m.meta.Cycles[id]
	if !ok {
		before = CycleMeta{State: "waiting", Plans: []string{}, Notes: []Note{}, Unread: []string{}}
	}
	after := before
	change(&after)
	if ok && equalCycle(before, after) {
		return nil
	}
	m.meta.Cycles[id] = after
	return []MetaOp{{Cycle: id, CycleMeta: &after}}
}

func (m *MetaState) call(id string, change func(*CallMeta)) []MetaOp {
	c := m.meta.Calls[id]
	change(&c)
	m.meta.Calls[id] = c
	return []MetaOp{{Call: id, CallMeta: &c}}
}

// equalCycle compares by what applyCycle can change. Lists only ever grow or
// are replaced, so lengths and the scalars tell.
func equalCycle(a, b CycleMeta) bool {
	lists := len(a.Plans) == len(b.Plans) && len(a.Notes) == len(b.Notes) && len(a.Unread) == len(b.Unread)
	a.Plans, a.Notes, a.Unread = b.Plans, b.Notes, b.Unread
	if !lists {
		return false
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// refusal is why a call was not permitted, "" if it was.
func refusal(detail json.RawMessage) string {
	var d struct {
		Refused string `json:"refused"`
	}
	if len(detail) == 0 || json.Unmarshal(detail, &d) != nil {
		return ""
	}
	return d.Refused
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
