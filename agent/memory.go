package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Memory is durable notes: what the person said that holds beyond a turn. They
// are found by rules in the person's own messages, never in data, kept in a log
// of the workspace with the turn that they are from, and come back as
// candidates of later plans.

// memoryLog is where the notes' events are kept: they belong to the workspace.
const (
	memoryLog    = "memory"
	memoryBranch = "workspace"
)

// Limits of the memory.
const (
	notesMax     = 500 // notes; the oldest give way
	noteMax      = 400 // characters of one
	notesOfTurn  = 5   // notes that one message may make
	recalledMax  = 8   // notes in one plan
	recallTokens = 600 // of them together
)

// Kinds of notes.
const (
	noteFact       = "fact"
	noteDecision   = "decision"
	notePreference = "preference"
)

// remembering are the sentences that make a note, and of which kind.
var remembering = []struct {
	kind  string
	match *regexp.Regexp
}{
	{noteFact, regexp.MustCompile(`(?i)^(?:please )?(?:remember|note|keep in mind|don't forget)(?: that)?[,:]? (.{8,})$`)},
	{notePreference, regexp.MustCompile(`(?i)^((?:please )?(?:always|never) .{6,})$`)},
	{notePreference, regexp.MustCompile(`(?i)^((?:i|we) (?:prefer|like|want|always|never|don't like|hate|would rather) .{6,})$`)},
	{notePreference, regexp.MustCompile(`(?i)^((?:from now on|in this (?:project|repo|repository|codebase)|in general)[,:]? .{6,})$`)},
	{noteDecision, regexp.MustCompile(`(?i)^((?:we|i)(?:'ve| have)? (?:decided|agreed|chose|settled)\b.{6,})$`)},
	{noteDecision, regexp.MustCompile(`(?i)^(let's (?:go with|use|stick with|keep) .{4,})$`)},
	{noteFact, regexp.MustCompile(`(?i)^((?:our|the project's|this project's|the team's) .{3,60} (?:is|are|lives?|runs?|uses?) .{4,})$`)},
	{noteFact, regexp.MustCompile(`(?i)^(we (?:use|run|deploy|support|target|develop) .{4,})$`)},
}

var sentenceEnd = regexp.MustCompile(`[.!]\s+|\n+|[.!]$`)

// notesIn finds what is to be remembered of a message. Quoted and fenced text
// is not the person's own.
func notesIn(input string) (out []cycle.MemoryChanged) {
	text := fenced.ReplaceAllString(input, "\n")
	for _, sentence := range sentenceEnd.Split(text, -1) {
		sentence = strings.TrimSpace(sentence)
		if strings.HasPrefix(sentence, ">") || strings.HasSuffix(sentence, "?") || len([]rune(sentence)) > noteMax {
			continue
		}
		for _, r := range remembering {
			if m := r.match.FindStringSubmatch(sentence); m != nil {
				out = append(out, cycle.MemoryChanged{Kind: r.kind, Text: strings.TrimSpace(m[1]), Branch: r.kind == noteDecision})
				break
			}
		}
		if len(out) == notesOfTurn {
			break
		}
	}
	return out
}

var fenced = regexp.MustCompile("(?s)```.*?```|<data.*?</data>")

// memory is the notes by id, in order of arrival.
type memory struct {
	notes []cycle.MemoryChanged
}

func (m *memory) apply(e cycle.MemoryChanged) {
	i := slices.IndexFunc(m.notes, func(n cycle.MemoryChanged) bool { return n.ID == e.ID })
	switch {
	case e.Forgotten && i >= 0:
		m.notes = slices.Delete(m.notes, i, i+1)
	case e.Forgotten:
	case i >= 0:
		m.notes[i] = e
	default:
		m.notes = append(m.notes, e)
		m.notes = m.notes[max(0, len(m.notes)-notesMax):]
	}
}

// holds tells whether a note says the same already, on the same branch.
func (m *memory) holds(n cycle.MemoryChanged) bool {
	key := normalWords(n.Text)
	return slices.ContainsFunc(m.notes, func(x cycle.MemoryChanged) bool {
		return normalWords(x.Text) == key && (!x.Branch || x.SessionID == n.SessionID && x.BranchID == n.BranchID)
	})
}

func normalWords(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127) }), " ")
}

// recall chooses the notes for a request: preferences hold always, the others
// where they share words with it. Most fitting first, then the newest.
func (m *memory) recall(request, session, branch string, before time.Time, tokens func(string) int) []remembered {
	want := contentWords(request)
	type scored struct {
		remembered
		at int
	}
	var list []scored
	for i, n := range m.notes {
		if n.Branch && (n.SessionID != session || n.BranchID != branch) || !n.Time.Before(before) {
			continue
		}
		words := contentWords(n.Text)
		shared := 0
		for w := range words {
			if want[w] {
				shared++
			}
		}
		score := float64(shared) / float64(max(1, min(len(words), len(want))))
		if n.Kind == notePreference {
			score += 0.5
		}
		if score > 0 {
			list = append(list, scored{remembered{ID: n.ID, Kind: n.Kind, Text: n.Text, TurnID: n.TurnID, Score: float64(int(score*100)) / 100}, i})
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].Score != list[j].Score {
			return list[i].Score > list[j].Score
		}
		return list[i].at > list[j].at
	})
	var out []remembered
	left := recallTokens
	for _, s := range list {
		if n := tokens(s.Text); n <= left && len(out) < recalledMax {
			left -= n
			out = append(out, s.remembered)
		}
	}
	slices.SortFunc(out, func(a, b remembered) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// remembered is a note in a plan.
type remembered struct {
	ID     string  `json:"id"`
	Kind   string  `json:"kind"`
	Text   string  `json:"text"`
	TurnID string  `json:"turnId,omitempty"`
	Score  float64 `json:"score"`
}

var dullWords = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("the a an and or of to in on for with is are be it this that i we you me my our please do does how what where why when which can could should would not no use file code") {
		m[w] = true
	}
	return m
}()

func contentWords(s string) map[string]bool {
	out := map[string]bool{}
	for w := range strings.FieldsSeq(normalWords(s)) {
		if !dullWords[w] && len(w) > 2 {
			out[strings.TrimSuffix(w, "s")] = true
		}
	}
	return out
}

// loadMemory reads the notes of a workspace.
func (e *Engine) loadMemory(ctx context.Context) {
	for stored, err := range e.parts.Store.Events(ctx, memoryLog, memoryBranch) {
		if err != nil {
			e.logf("the notes can't be read: %v", err)
			return
		}
		if n, ok := stored.Event.(cycle.MemoryChanged); ok {
			e.memory.apply(n)
		}
	}
}

// changeMemory makes a change of the notes durable, then folds it.
func (e *Engine) changeMemory(ctx context.Context, list ...cycle.MemoryChanged) error {
	e.memoryMu.Lock()
	defer e.memoryMu.Unlock()
	for _, n := range list {
		if err := e.parts.Store.Append(ctx, memoryLog, memoryBranch, n); err != nil {
			return storeError(err)
		}
		e.memory.apply(n)
	}
	return nil
}

// ingest remembers what a durable turn's messages said, once the turn is over.
func (t *timeline) ingest(ctx context.Context, x turn) {
	e := t.e
	if !on(e.settings().Memory) || x.submitted.OneOff {
		return
	}
	var said []string
	t.view(func() {
		for i := range t.script.entries {
			if en := &t.script.entries[i]; (en.kind == entryUser || en.kind == entrySteer) && t.script.turns[en.turn].id == x.id {
				said = append(said, string(en.text))
			}
		}
	})
	var fresh []cycle.MemoryChanged
	for _, text := range said {
		for _, n := range notesIn(text) {
			n.ID, n.SessionID, n.BranchID, n.TurnID, n.Time = e.parts.NewID("n"), t.session, t.branch, x.id, e.now()
			e.memoryMu.Lock()
			known := e.memory.holds(n)
			e.memoryMu.Unlock()
			if !known {
				fresh = append(fresh, n)
			}
		}
	}
	if err := e.changeMemory(ctx, fresh...); err != nil {
		e.logf("what turn %s said could not be remembered: %v", x.id, err)
	}
}

// recalled are the notes for a run's plans: those from before its turn.
func (t *timeline) recalled(turnID string, tokens func(string) int) []remembered {
	x, ok := t.turnOf(turnID, "")
	if !ok || !on(t.e.settings().Memory) {
		return nil
	}
	t.e.memoryMu.Lock()
	defer t.e.memoryMu.Unlock()
	return t.e.memory.recall(x.input, t.session, t.branch, x.begun, tokens)
}

// memoryPieces are the recalled notes as candidates.
func (g gathered) memoryPieces() []piece {
	var out []piece
	for i, n := range g.memory {
		out = append(out, g.make("memory:"+n.ID, contextplan.Memory, i, model.RoleSystem, fmt.Sprintf("The person said in an earlier turn (%s): %s", n.Kind, n.Text), func(p *piece) {
			p.Candidate.Priority, p.Candidate.Score = prioMemory, n.Score
			p.Candidate.ContentHash = hashOf("memory\x00" + normalWords(n.Text))
			p.Item.Label = n.Kind + ": " + firstLine(n.Text)
		}))
	}
	return out
}

// MemoryList lists the notes, oldest first.
func (e *Engine) MemoryList(context.Context, *Empty) (*MemoryResult, error) {
	e.memoryMu.Lock()
	defer e.memoryMu.Unlock()
	out := &MemoryResult{On: on(e.settings().Memory), Notes: []MemoryNote{}}
	for _, n := range e.memory.notes {
		x := MemoryNote{ID: n.ID, Kind: n.Kind, Text: n.Text, SessionID: n.SessionID, TurnID: n.TurnID, Time: n.Time.UTC().Format(time.RFC3339)}
		if n.Branch {
			x.BranchID = n.BranchID
		}
		out.Notes = append(out.Notes, x)
	}
	return out, nil
}

// MemoryEdit changes a note's text, or adds a note when it has no id.
func (e *Engine) MemoryEdit(ctx context.Context, p *MemoryEditParams) (*MemoryResult, error) {
	text := strings.TrimSpace(p.Text)
	if text == "" || len([]rune(text)) > noteMax {
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("a note has 1 to %d characters", noteMax), Hint: "agent/memory/forget removes one"}
	}
	n := cycle.MemoryChanged{ID: e.parts.NewID("n"), Kind: noteFact}
	if p.ID != "" {
		var err error
		if n, err = e.note(p.ID); err != nil {
			return nil, err
		}
	}
	switch p.Kind {
	case "":
	case noteFact, noteDecision, notePreference:
		n.Kind = p.Kind
	default:
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown kind %q", p.Kind), Hint: "fact, decision or preference"}
	}
	n.Text, n.Time = text, e.now()
	if err := e.changeMemory(ctx, n); err != nil {
		return nil, err
	}
	return e.MemoryList(ctx, nil)
}

// MemoryForget forgets a note, or all of them.
func (e *Engine) MemoryForget(ctx context.Context, p *MemoryForgetParams) (*MemoryResult, error) {
	var gone []cycle.MemoryChanged
	if p.All {
		e.memoryMu.Lock()
		gone = slices.Clone(e.memory.notes)
		e.memoryMu.Unlock()
	} else if p.ID == "" {
		return nil, missing("id")
	} else {
		n, err := e.note(p.ID)
		if err != nil {
			return nil, err
		}
		gone = append(gone, n)
	}
	for i := range gone { // the text goes too: forgotten is forgotten
		gone[i] = cycle.MemoryChanged{ID: gone[i].ID, Forgotten: true, Time: e.now()}
	}
	if err := e.changeMemory(ctx, gone...); err != nil {
		return nil, err
	}
	return e.MemoryList(ctx, nil)
}

func (e *Engine) note(id string) (cycle.MemoryChanged, error) {
	e.memoryMu.Lock()
	defer e.memoryMu.Unlock()
	i := slices.IndexFunc(e.memory.notes, func(n cycle.MemoryChanged) bool { return n.ID == id })
	if i < 0 {
		return cycle.MemoryChanged{}, &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no note %q", id), Hint: "agent/memory/list lists them"}
	}
	return e.memory.notes[i], nil
}

// cmdMemory lists the notes, adds one or forgets one.
func (e *Engine) cmdMemory(ctx context.Context, _ *session, _ *timeline, arg string) (string, error) {
	verb, rest, _ := strings.Cut(arg, " ")
	var r *MemoryResult
	var err error
	switch verb {
	case "":
		r, err = e.MemoryList(ctx, nil)
	case "add":
		r, err = e.MemoryEdit(ctx, &MemoryEditParams{Text: rest})
	case "forget":
		r, err = e.MemoryForget(ctx, &MemoryForgetParams{ID: strings.TrimSpace(rest), All: strings.TrimSpace(rest) == "all"})
	default:
		err = &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown word %q", verb), Hint: "/memory, /memory add text, /memory forget ID, /memory forget all"}
	}
	if err != nil {
		return "", err
	}
	if len(r.Notes) == 0 {
		return "Nothing is remembered.", nil
	}
	var b strings.Builder
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "%s  %s: %s\n", n.ID, n.Kind, n.Text)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}
