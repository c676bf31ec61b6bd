package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/rag"
)

// piece is a candidate together with what it becomes in the prompt. The
// planner sees the candidate only; render puts the chosen pieces together.
type piece struct {
	Candidate contextplan.Candidate `json:"candidate"`
	Role      model.Role            `json:"role"`
	Text      string                `json:"text"`
	Calls     []model.Call          `json:"calls,omitempty"`
	Carry     json.RawMessage       `json:"carry,omitempty"`
	CallID    string                `json:"callId,omitempty"`
	IsError   bool                  `json:"isError,omitempty"`
	Item      PlanItem              `json:"item"`

	// For compaction: where it comes from.
	turn  int       // index into the turns
	kind  entryKind // "" for what belongs to no turn
	words bool      // the person's own words
	ref   string    // its whole text, when this is head and tail of it
}

// seqStep leaves room between two places of the log for what belongs to them:
// evidence before a request, results after a reply.
const seqStep = 1000

// Priorities: higher is kept longer. Within equal priority what was sent
// already goes first, then the better score.
const (
	prioPerson    = 95.0 // the person's own words, of whatever turn
	prioSummary   = 92.0 // what stands for the history that left
	prioCurrent   = 90.0 // what was done in this turn
	prioMemory    = 80.0 // what the person said to remember
	prioAttached  = 88.0 // what the person put beside their message
	prioFocus     = 70.0 // what the person is looking at
	prioRetrieval = 60.0 // evidence for this turn
	prioHistory   = 55.0 // earlier turns, less prioAge for each turn in between
	prioAge       = 5.0
	prioFloor     = 10.0
	prioStale     = 5.0 // evidence of earlier turns: it stays where nothing else needs the room
)

// evidenceTurns is how many turns evidence stays eligible after the one that
// asked for it.
const evidenceTurns = 2

// snippet is a piece of evidence with its text.
type snippet struct {
	item  rag.Item
	text  string
	shown string // as the model sees it; "" until it is asked for: see evidenceText
}

// gathered is everything that a plan may be made from. Filling it needs I/O;
// pieces and the planner need none.
type gathered struct {
	system       string
	instructions []instruction
	pins         map[string]cycle.PinChanged // by candidate id
	pinned       []pinnedText
	evidence     map[string][]snippet  // by RetrievalSetID
	attachments  map[string][]attached // by message id
	memory       []remembered
	tokens       func(string) int
	now          int    // index of the current turn
	retrieval    string // the current turn's set, when the log does not have it yet
	sent         map[string]bool
	// prompt is how many tokens a prompt may have; compacted is a compaction
	// that is not in the log yet.
	prompt    int
	compacted *cycle.Compacted
}

type instruction struct{ path, text string }

type pinnedText struct {
	id, label, uri, text string
	start, end           int
}

// pieces makes every candidate of a branch, in no particular order.
func pieces(t *transcript, g gathered) []piece {
	out := []piece{g.make("system", contextplan.System, 0, model.RoleSystem, g.system, func(p *piece) {
		p.Candidate.Required = true
		p.Item.Label = "system prompt"
	})}
	for i, in := range g.instructions {
		out = append(out, g.make("instructions:"+in.path, contextplan.Instructions, i, model.RoleSystem,
			in.text, func(p *piece) {
				p.Candidate.Priority = prioCurrent
				p.Item.Label = in.path
			}))
	}
	for i, pin := range g.pinned {
		out = append(out, g.make(pin.id, contextplan.Pinned, i, model.RoleSystem,
			dataBlock("pinned by the person: "+pin.label, pin.text), func(p *piece) {
				p.Candidate.Pinned = true
				p.Item = PlanItem{Label: pin.label, URI: pin.uri, StartLine: pin.start, EndLine: pin.end, Pinned: true}
			}))
	}
	out = append(out, g.memoryPieces()...)
	out = append(out, g.summaries(t)...)
	for i := range t.turns {
		out = append(out, g.evidenceOf(t, i)...)
	}
	for i := range t.entries {
		list := g.entryPieces(t, &t.entries[i])
		for j := range list {
			if list[j].kind != entryEvidence { // an attachment is no words of the person
				list[j].turn, list[j].kind, list[j].words = t.entries[i].turn, t.entries[i].kind, t.entries[i].words
			}
		}
		out = append(out, list...)
	}
	supersede(t, g.now, out)
	keepWords(out, g.prompt/personShare)
	return g.applyPins(out)
}

// make builds a piece; its content hash and size come from its text.
func (g gathered) make(id string, s contextplan.Section, seq int, role model.Role, text string, more func(*piece)) piece {
	p := piece{
		Candidate: contextplan.Candidate{ID: id, Section: s, Seq: seq, Tokens: g.tokens(text) + messageOverheadTokens, Sent: g.sent[id]},
		Role:      role, Text: text,
	}
	if more != nil {
		more(&p)
	}
	return p
}

// messageOverheadTokens is what a message costs beside its text: role markers
// and separators, in every provider's template about this much.
const messageOverheadTokens = 4

func (g gathered) age(turn int) int { return max(0, g.now-turn) }

func (g gathered) historyPriority(turn int) float64 {
	if g.age(turn) == 0 {
		return prioCurrent
	}
	return max(prioFloor, prioHistory-prioAge*float64(g.age(turn)-1))
}

// summaries are the compactions; each supersedes what it covers.
func (g gathered) summaries(t *transcript) []piece {
	list := t.compactions
	if c := g.compacted; c != nil {
		list = append(slices.Clip(list), compaction{ref: c.Ref, summary: c.Summary, covers: c.Covers})
	}
	var out []piece
	for i, c := range list {
		out = append(out, g.make("summary:"+c.ref, contextplan.Summary, i, model.RoleSystem, c.summary, func(p *piece) {
			p.Candidate.Priority = prioSummary
			p.Candidate.Supersedes = c.covers
			p.Item.Label = fmt.Sprintf("summary of %d items, source at ref:%s", len(c.covers), c.ref)
		}))
	}
	return out
}

// evidenceOf is a turn's retrieval set. It stands right before the turn's
// request, and stays eligible for evidenceTurns turns.
func (g gathered) evidenceOf(t *transcript, at int) []piece {
	x := t.turns[at]
	id := x.retrieval
	if at == g.now && g.retrieval != "" {
		id = g.retrieval
	}
	set := g.evidence[id]
	if x.rootEntry < 0 {
		return nil
	}
	base := t.entries[x.rootEntry].place * seqStep
	var out []piece
	for i, s := range set {
		section, prio := contextplan.Retrieval, prioRetrieval
		if g.age(at) > 0 {
			prio = prioStale
		}
		ttl := max(0, evidenceTurns-g.age(at)) // an old set may be here because a new turn found the same
		it, seen := s.item, s.candidate(section, 0)
		out = append(out, g.make(seen.ID+"@"+x.id, section, base-seqStep/2+i, model.RoleUser, evidenceText(s), func(p *piece) {
			c := &p.Candidate
			c.Priority, c.Score = prio, it.Score
			c.TTL = &ttl
			c.Span, c.ContentHash = seen.Span, seen.ContentHash
			p.turn, p.kind = at, entryEvidence
			p.Item = PlanItem{Label: fmt.Sprintf("%s:%d-%d", it.Path, it.StartLine, it.EndLine), URI: it.Path,
				StartLine: it.StartLine, EndLine: it.EndLine, Why: it.Why}
		}))
	}
	return out
}

// evidenceText shows a span with its line numbers, so that answers can cite them.
func evidenceText(s snippet) string {
	if s.shown != "" {
		return s.shown
	}
	const width = 6 // of a line's number, at least
	b := make([]byte, 0, len(s.text)+len(s.text)/2)
	n := s.item.StartLine
	for line := range strings.SplitSeq(strings.TrimSuffix(s.text, "\n"), "\n") {
		if len(b) > 0 {
			b = append(b, '\n')
		}
		digits := strconv.Itoa(n)
		for range width - len(digits) {
			b = append(b, ' ')
		}
		b = append(append(append(b, digits...), '\t'), line...)
		n++
	}
	return dataBlock(fmt.Sprintf("%s:%d-%d", s.item.Path, s.item.StartLine, s.item.EndLine), string(b))
}

// entryPieces are the messages of the conversation. A reply and its results
// are one group: a call never goes without its result.
func (g gathered) entryPieces(t *transcript, x *entry) []piece {
	place := x.place
	if place == unplaced {
		place = t.next
	}
	seq := place * seqStep
	switch x.kind {
	case entryUser, entrySteer, entryNote, entryStep:
		text := string(x.text)
		if x.kind == entryNote {
			text = "[NOTE] " + text
		}
		if x.kind == entryUser {
			text = t.turns[x.turn].prompt(text)
		}
		return append(g.attachedPieces(t, x), g.make(x.id, contextplan.History, seq, model.RoleUser, text, func(p *piece) {
			c := &p.Candidate
			c.Priority = g.historyPriority(x.turn)
			if x.kind != entryNote && g.age(x.turn) == 0 { // of this turn: what was asked, and the steps of it
				c.Section, c.Required = contextplan.Request, true
			}
			p.Item.Label = firstLine(string(x.text))
		}))
	}
	if len(x.text) == 0 && len(x.calls) == 0 || !x.done {
		return nil
	}
	reply := g.make(x.id, contextplan.History, seq, model.RoleAssistant, string(x.text), func(p *piece) {
		p.Candidate.Priority = g.historyPriority(x.turn)
		p.Item.Label = firstLine(string(x.text))
		p.Carry = x.carry
		p.Candidate.Tokens += g.tokens(string(x.carry))
		for _, c := range x.calls {
			p.Calls = append(p.Calls, model.Call{ID: c.id, Name: c.tool, Args: c.args})
			p.Candidate.Tokens += g.tokens(c.tool) + g.tokens(string(c.args)) + messageOverheadTokens
		}
		if p.Item.Label == "" && len(x.calls) > 0 {
			p.Item.Label = x.calls[0].tool + " " + x.calls[0].title
		}
	})
	out := []piece{reply}
	for i, c := range x.calls {
		text, failed := "no result", true
		if c.result != nil {
			text, failed = c.result.Text, c.result.Status != cycle.ResultOK
		}
		out = append(out, g.make("result:"+c.id, contextplan.History, seq+1+i, model.RoleTool, text, func(p *piece) {
			p.Candidate.Priority = g.historyPriority(x.turn)
			p.CallID, p.IsError = c.id, failed
			if c.result != nil {
				p.ref = c.result.Ref
			}
			p.Item.Label = c.tool + " " + c.title
		}))
	}
	if text := reflections(x.calls); text != "" {
		out = append(out, g.make("reflection:"+x.id, contextplan.Reflection, seq+1+len(x.calls), model.RoleUser, text, func(p *piece) {
			p.Candidate.Priority = g.historyPriority(x.turn)
			p.Item.Label = "reflection on " + x.calls[0].tool
		}))
	}
	if len(out) > 1 {
		for i := range out {
			out[i].Candidate.Group = "episode:" + x.id
		}
	}
	return out
}

// applyPins carries out what the person said of single candidates.
func (g gathered) applyPins(list []piece) []piece {
	out := list[:0]
	for _, p := range list {
		pin, ok := g.pins[p.Candidate.ID]
		if ok && pin.Excluded && !p.Candidate.Required {
			zero := 0
			p.Candidate.TTL = &zero
		}
		if ok && pin.Pinned {
			p.Candidate.Pinned, p.Item.Pinned = true, true
		}
		if ok && pin.TTL != nil && !p.Candidate.Required {
			p.Candidate.TTL = pin.TTL
		}
		out = append(out, p)
	}
	return out
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		s = s[:i]
	}
	const labelMax = 80
	if r := []rune(s); len(r) > labelMax {
		return string(r[:labelMax-1]) + "…"
	}
	return s
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// render puts the included pieces together as messages. Adjacent pieces of the
// same voice become one message, because many models' templates want the
// voices to alternate. Same plan, same bytes.
func render(plan contextplan.Plan, byID map[string]piece) []model.Message {
	var out []model.Message
	for i, it := range plan.Included {
		p := byID[it.ID]
		if plan.Overflow != nil && plan.Overflow.Candidate == it.ID {
			p.Text = cutTo(p.Text, plan.Overflow.From, plan.Overflow.To)
		}
		last := len(out) - 1
		if (p.Role == model.RoleUser || p.Role == model.RoleSystem) && last >= 0 && out[last].Role == p.Role {
			out[last].Text += "\n\n" + p.Text
		} else {
			out = append(out, model.Message{Role: p.Role, Text: p.Text, Calls: p.Calls, Carry: p.Carry, CallID: p.CallID, IsError: p.IsError})
		}
		for _, b := range plan.Breakpoints {
			if b == i {
				out[len(out)-1].CacheBreak = true
			}
		}
	}
	return out
}

// cutTo keeps the share of a text that its budget allows, head and tail, with
// a line between them that says so.
func cutTo(text string, from, to int) string {
	if from <= 0 || to >= from {
		return text
	}
	keep := len(text) * to / from
	const mark = "\n[… cut to fit the model's context window …]\n"
	keep = max(0, keep-len(mark))
	head := keep * 2 / 3
	return strings.ToValidUTF8(text[:head], "") + mark + strings.ToValidUTF8(text[len(text)-(keep-head):], "")
}

// planRecord is what is stored with a plan: enough to build it again and to
// show it.
type planRecord struct {
	Plan           contextplan.Plan  `json:"plan"`
	Input          contextplan.Input `json:"input"`
	Pieces         map[string]string `json:"pieces"` // candidate id → blob of its piece
	SessionID      string            `json:"sessionId"`
	BranchID       string            `json:"branchId"`
	TurnID         string            `json:"turnId"`
	RunID          string            `json:"runId"`
	RetrievalSetID string            `json:"retrievalSetId"`
	Model          string            `json:"model"`
	Call           int               `json:"call"`
	ToolTokens     int               `json:"toolTokens,omitempty"`   // what the tools' schemas cost beside the plan
	Surroundings   string            `json:"surroundings,omitempty"` // blob: all else that the plan was made from
}

func encodePiece(p piece) ([]byte, error) {
	p.Candidate = contextplan.Candidate{ID: p.Candidate.ID}
	return json.Marshal(p)
}

// sections sums a plan up by section, in the order of the prompt.
func sections(plan contextplan.Plan) []SectionSum {
	out := []SectionSum{}
	for _, s := range contextplan.Sections() {
		sum := SectionSum{Section: string(s)}
		for _, it := range plan.Included {
			if it.Section == s {
				sum.Items++
				sum.Tokens += it.Tokens
			}
		}
		if sum.Items > 0 {
			out = append(out, sum)
		}
	}
	return out
}
