package agent

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// transcript is the log of a branch as the prompt needs it: a fold of events,
// like every projection. Places are the events' numbers in the branch's log;
// they are what candidates get their seq from, so they never change.
type transcript struct {
	next    int // number of the next event
	entries []entry
	turns   []turn
	// compactions in order of arrival.
	compactions []compaction
	sums        sums
	// extras is what came with each message, by its id.
	extras map[string]json.RawMessage
	// requestIDs finds the message that a clientRequestId made.
	requestIDs map[string]string
	// stops counts the turns that have ended; pinned is that count when a pin
	// was changed last, by candidate id. A TTL counts from there.
	stops  int
	told   int // the last verdict on a hunk that the model was told
	pinned map[string]int
}

// ttlLeft is what is left of a TTL that the person set.
func (t *transcript) ttlLeft(id string, ttl int) int {
	return max(0, ttl-(t.stops-t.pinned[id]))
}

// sums is what /status and /cost show.
type sums struct {
	requests int // that were answered, state commands included
	calls    int // of models, those of summaries and titles included
	time     time.Duration
	tokens   int
	cost     float64
	last     time.Time
}

// entryKind says what an entry is.
type entryKind string

// Kinds of entries.
const (
	entryUser  entryKind = "user"
	entrySteer entryKind = "steer"
	entryReply entryKind = "reply" // one model reply: text, reasoning and calls
	entryNote  entryKind = "note"  // something that the model must be told
	entryStep  entryKind = "step"  // a workflow's step begins
	// entryEvidence is no entry; pieces of evidence bear it.
	entryEvidence entryKind = "evidence"
)

// entry is one thing said or done.
type entry struct {
	kind  entryKind
	id    string // candidate id
	place int
	sent  int // a steer's own place in the log
	turn  int // index into turns
	text  []byte
	calls []entryCall
	carry json.RawMessage // what the model wants back with the reply
	// done marks a reply that came whole or was cut off for good: it will not
	// change any more.
	done bool
	cut  bool // the reply was cut off; its text is all there is
	// words marks what the person said, a decision with its reason included:
	// no compaction takes it.
	words bool
}

// entryCall is a tool call and its result.
type entryCall struct {
	id, tool string
	args     json.RawMessage
	title    string
	place    int // of the result
	result   *cycle.ToolResult
}

// turn is one root message and what came of it.
type turn struct {
	id, run, cycle string
	input          string
	submitted      cycle.Submitted
	retrieval      string   // RetrievalSetID
	plans          []string // in order of call
	usage          []cycle.UsageReported
	response       json.RawMessage
	class          *cycle.Classified
	route          *cycle.Routed  // the one that holds
	routes         []cycle.Routed // all of them, in order
	stop           cycle.StopReason
	failure        string // the kind of the last failure
	workflow       *cycle.Workflow
	stepPlace      int // where the workflow's current step began
	begun, ended   time.Time
	rootEntry      int
}

type compaction struct {
	ref, summary string
	covers       []string
	tokens       int
	place        int
}

func newTranscript() *transcript {
	return &transcript{requestIDs: map[string]string{}, pinned: map[string]int{}, extras: map[string]json.RawMessage{}}
}

// apply folds one event. It is total.
func (t *transcript) apply(e cycle.Event) {
	place := t.next
	t.next++
	switch e := e.(type) {
	case cycle.FollowUpQueued:
		t.remember(e.Submitted.ClientRequestID, e.ID)
	case cycle.Submitted:
		t.remember(e.ClientRequestID, e.MessageID)
		if len(e.Extra) > 0 {
			t.extras[e.MessageID] = e.Extra
		}
		if n := len(t.turns); n == 0 || t.turns[n-1].id != e.TurnID {
			t.turns = append(t.turns, turn{id: e.TurnID, submitted: e, begun: e.Time, rootEntry: -1})
		}
	case cycle.UserMessage:
		t.user(place, e)
	case cycle.Classified:
		if x := t.turnByID(e.TurnID); x != nil {
			x.class = &e
		}
	case cycle.Routed:
		if x := t.turnByID(e.TurnID); x != nil {
			x.route, x.routes = &e, append(x.routes, e)
		}
	case cycle.WorkflowPlanned:
		if x := t.turnByID(e.TurnID); x != nil {
			w := e.Workflow
			x.workflow = &w
		}
	case cycle.WorkflowStepped:
		if x := t.turnByID(e.TurnID); x != nil && x.workflow != nil {
			w := x.workflow.Apply(e)
			x.workflow = &w
			if e.Status == cycle.StepRunning && e.Step <= len(w.Steps) {
				x.stepPlace = place
				t.step(place, stepOrder(w, e.Step-1))
			}
		}
	case cycle.RunQueued:
		if x := t.turnByID(e.TurnID); x != nil {
			x.run, x.cycle = e.RunID, e.CycleID
		}
	case cycle.IterationBegan:
		t.place(place, e.Steers)
	case cycle.RetrievalDone:
		if x := t.turnByID(e.TurnID); x != nil {
			x.retrieval = e.RetrievalSetID
		}
	case cycle.PlanMade:
		if x := t.turnByID(e.TurnID); x != nil {
			x.plans = append(x.plans, e.PlanID)
		}
	case cycle.AgentOutput:
		t.output(place, e)
	case cycle.ToolResult:
		t.result(place, e)
	case cycle.UsageReported:
		if x := t.turnByID(e.TurnID); x != nil && e.Call > 0 { // the others are calls beside the run
			x.usage = append(x.usage, e)
		}
		t.sums.calls++
		t.sums.tokens += e.Input + e.Output
		t.sums.cost += e.CostUSD
	case cycle.ModelReplied:
		if r := t.close(false); r != nil {
			r.carry = e.Carry
		}
	case cycle.ModelFailed:
		if n := len(t.turns); n > 0 {
			t.turns[n-1].failure = e.Kind
		}
		r := t.close(true)
		switch {
		case e.RetryInMS == 0:
			t.note(place, "The model call failed: "+e.Message)
		case r != nil && len(r.text) > 0:
			// Many servers take a conversation that ends with a reply as one to be
			// written on within that reply, where no call can begin. The next call
			// is the same iteration's, so this has its place at once.
			t.note(place, brokenOff)
			t.entries[len(t.entries)-1].place = place
		}
	case cycle.PinChanged:
		t.pinned[e.ID] = t.stops
	case cycle.RunStop:
		t.stops++
		t.close(true)
		t.placeUnread()
		t.stop(place, e)
	case cycle.TurnDone:
		if x := t.turnByID(e.TurnID); x != nil {
			x.response, x.ended = e.Response, e.Time
			t.sums.requests++
			t.sums.time += e.Time.Sub(x.begun)
			t.sums.last = e.Time
		}
	case cycle.CommandAnswered:
		t.sums.requests++
		t.sums.time += time.Duration(e.MS * float64(time.Millisecond))
		t.sums.last = e.Time
	case cycle.VerdictsTold:
		t.told = max(t.told, e.Through)
		t.note(place, e.Text)
		t.entries[len(t.entries)-1].words = true
	case cycle.FeedbackTold:
		t.note(place, e.Text)
	case cycle.Compacted:
		t.compactions = append(t.compactions, compaction{ref: e.Ref, summary: e.Summary, covers: e.Covers, tokens: e.Tokens, place: place})
	}
}

// extraOf is what came with a message beside its text. Submit wrote it; where
// it can't be read it is as good as none.
func (t *transcript) extraOf(messageID string) submitExtra { return readExtra(t.extras[messageID]) }

func readExtra(raw json.RawMessage) (x submitExtra) {
	if len(raw) > 0 && json.Unmarshal(raw, &x) != nil {
		return submitExtra{}
	}
	return x
}

// extra is what came with a turn's root message.
func (x *turn) extra() submitExtra { return readExtra(x.submitted.Extra) }

// prompt is what the model reads of the turn's root message: for a pill its
// text instead of its name.
func (x *turn) prompt(text string) (said string) {
	a := x.extra().Asked
	if x.workflow != nil && x.workflow.Status != cycle.WorkflowProposed {
		defer func() {
			said = "[WORKFLOW] The whole request, which is done step by step: " + strings.Join(strings.Fields(said), " ")
		}()
	}
	if a.Prompt != "" {
		text = a.Prompt
	}
	if a.Data != "" {
		text = dataBlock(a.DataFrom, a.Data) + "\n\n" + text
	}
	return text
}

// remember keeps a clientRequestId. The memory is bounded: past its limit no
// new ids are taken, and what is known stays known.
func (t *transcript) remember(clientID, messageID string) {
	if clientID != "" && len(t.requestIDs) < requestIDsMax {
		t.requestIDs[clientID] = messageID
	}
}

func (t *transcript) turnByID(id string) *turn {
	for i := len(t.turns) - 1; i >= 0; i-- {
		if t.turns[i].id == id {
			return &t.turns[i]
		}
	}
	return nil
}

// turnOfMessage is the turn that a message belongs to.
func (t *transcript) turnOfMessage(id string) *turn {
	for i := len(t.entries) - 1; i >= 0; i-- {
		if x := &t.entries[i]; x.id == "msg:"+id && x.turn < len(t.turns) {
			return &t.turns[x.turn]
		}
	}
	return nil
}

func (t *transcript) current() int { return len(t.turns) - 1 }

// user records a message. A promoted follow-up's message comes before the
// run-stop of the turn before it; its Submitted has already opened its turn.
func (t *transcript) user(place int, e cycle.UserMessage) {
	if len(t.turns) == 0 {
		t.turns = append(t.turns, turn{id: e.ID, rootEntry: -1})
	}
	kind, at, sent := entryUser, t.current(), place
	if e.Delivery == cycle.DeliverySteer && t.turns[at].rootEntry >= 0 {
		kind, place = entrySteer, unplaced
	} else {
		t.turns[at].input, t.turns[at].rootEntry = e.Text, len(t.entries)
	}
	x := entry{kind: kind, id: "msg:" + e.ID, place: place, sent: sent, turn: at, done: true, words: true}
	x.text = append(x.text, e.Text...)
	t.entries = append(t.entries, x)
}

// reply is the open reply of the current model call, made when needed.
func (t *transcript) reply(place int, id string) *entry {
	if n := len(t.entries); n > 0 && t.entries[n-1].kind == entryReply && !t.entries[n-1].done {
		return &t.entries[n-1]
	}
	for i := len(t.entries) - 1; i >= 0 && i >= len(t.entries)-1-replyReachMax; i-- { // a steer may have come in between
		if t.entries[i].kind == entryReply && !t.entries[i].done {
			return &t.entries[i]
		}
	}
	t.entries = append(t.entries, entry{kind: entryReply, id: "reply:" + id, place: place, turn: max(0, t.current())})
	return &t.entries[len(t.entries)-1]
}

// replyReachMax is how many messages may come between the pieces of a reply.
const replyReachMax = 64

func (t *transcript) output(place int, e cycle.AgentOutput) {
	if strings.HasPrefix(e.ID, stepPrefix) { // for the person; the model has the step itself
		return
	}
	switch e.Output {
	case cycle.OutputAssistant:
		r := t.reply(place, e.ID)
		r.text = append(r.text, e.Text...)
	case cycle.OutputToolCall:
		r := t.reply(place, e.CallID)
		r.calls = append(r.calls, entryCall{id: e.CallID, tool: e.Tool, args: e.Args, title: e.Title})
	}
}

func (t *transcript) result(place int, e cycle.ToolResult) {
	for i := len(t.entries) - 1; i >= 0; i-- {
		for j := range t.entries[i].calls {
			if c := &t.entries[i].calls[j]; c.id == e.CallID && c.result == nil {
				c.result, c.place = &e, place
				return
			}
		}
	}
}

// close ends the open reply, if there is one.
func (t *transcript) close(cut bool) *entry {
	for i := len(t.entries) - 1; i >= 0 && i >= len(t.entries)-1-replyReachMax; i-- {
		if r := &t.entries[i]; r.kind == entryReply && !r.done {
			r.done, r.cut = true, cut
			return r
		}
	}
	return nil
}

func (t *transcript) stop(place int, e cycle.RunStop) {
	at := t.current()
	for at > 0 && t.turns[at].run == "" { // a promoted follow-up's turn is open already
		at--
	}
	if at >= 0 {
		t.turns[at].stop, t.turns[at].ended = e.Reason, e.Time
	}
	if e.Reason != cycle.StopCompleted {
		t.note(place, "The run was "+string(e.Reason)+": "+e.Message+". What was under way did not end.")
	}
}

// note records something that the model must be told with its next call.
func (t *transcript) note(place int, text string) {
	x := entry{kind: entryNote, id: "note:" + strconv.Itoa(place), place: unplaced, turn: max(0, t.current()), done: true}
	x.text = append(x.text, text...)
	t.entries = append(t.entries, x)
}

// brokenOff is what the model is told where its reply broke in its middle.
const brokenOff = "Your reply above broke off before its end, and nothing that it may have asked for was done. Go on."

// step records what the model is told of a workflow's step. It is the person's
// own request, so no compaction takes it.
func (t *transcript) step(place int, text string) {
	t.entries = append(t.entries, entry{kind: entryStep, id: "step:" + strconv.Itoa(place), place: place, turn: max(0, t.current()), done: true, words: true, text: []byte(text)})
}

// unplaced marks what no plan holds yet. It gets its place with the iteration
// that reads it, so that a later plan only ever appends to an earlier one.
const unplaced = -1

// place puts the named steers and all waiting notes where iteration begins.
func (t *transcript) place(place int, steers []string) {
	for i := range t.entries {
		x := &t.entries[i]
		if x.place == unplaced && x.kind == entryNote || x.kind == entrySteer && slices.Contains(steers, x.id[len("msg:"):]) {
			x.place = place
		}
	}
}

// placeUnread puts the steers that a stop left unread where they were sent. Else
// they would come last in every later plan, as if the person had just said them.
func (t *transcript) placeUnread() {
	for i := range t.entries {
		if x := &t.entries[i]; x.kind == entrySteer && x.place == unplaced {
			x.place = x.sent
		}
	}
}

// lastReply is the last assistant text of a turn.
func (t *transcript) lastReply(turnID string) string {
	for i := len(t.entries) - 1; i >= 0; i-- {
		x := &t.entries[i]
		if x.kind == entryReply && len(x.text) > 0 && t.turns[x.turn].id == turnID {
			return string(x.text)
		}
	}
	return ""
}
