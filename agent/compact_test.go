package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

// conversation is a scripted model in a long talk: it reads, greps, answers at
// length, and summarises when it is asked to.
type conversation struct {
	mu        sync.Mutex
	window    int
	requests  []model.Request // for answers
	sources   []string        // of summaries
	summaries []string
	broken    bool // it can't summarise
	steps     func(turn int) int
	step      int
	turn      int
}

func (c *conversation) reply(_ int, req model.Request) (string, []model.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(req.Messages[0].Text, "[SUMMARISE]") {
		c.sources = append(c.sources, req.Messages[1].Text)
		if c.broken {
			return "", nil
		}
		s := fmt.Sprintf("- summary number %d: things were read and found at a.go:3", len(c.summaries)+1)
		c.summaries = append(c.summaries, s)
		return s, nil
	}
	c.requests = append(c.requests, req)
	if c.step++; c.step <= c.steps(c.turn) {
		return fmt.Sprintf("turn %d, step %d: I look. %s", c.turn, c.step, strings.Repeat("thinking aloud ", 20)),
			[]model.Call{call(c.step, "read", fmt.Sprintf(`{"path":"big.go","offset":%d,"limit":60}`, c.turn%40+c.step)),
				call(c.step+100, "grep", fmt.Sprintf(`{"pattern":"line%d"}`, c.turn))}
	}
	return fmt.Sprintf("Answer %d: %s", c.turn, strings.Repeat("it is so because of that, see a.go:3. ", 25)), nil
}

// talk holds a conversation of that many turns and gives the words of the person.
func (c *conversation) talk(g *rig, from, to int) (said []string) {
	for i := from; i < to; i++ {
		c.mu.Lock()
		c.turn, c.step = i, 0
		c.mu.Unlock()
		text := fmt.Sprintf("Question %d: what of «part %d»,\n\ttabs, and trailing space? ", i, i)
		said = append(said, text)
		res := g.submit(SubmitParams{Input: text})
		if out := g.ended(res.TurnID); out.Type != "result" {
			g.t.Fatalf("turn %d: %s", i, out.Error)
		}
	}
	return said
}

func newConversation(t *testing.T, window int, prepare ...func(*rig)) (*conversation, *rig) {
	c := &conversation{window: window, steps: func(turn int) int { return turn % 4 }}
	g := newRig(t, c.reply, prepare...)
	var big strings.Builder
	for i := range 200 {
		fmt.Fprintf(&big, "// line%d says something of no great interest but some length\n", i)
	}
	g.write("big.go", big.String())
	g.window = window
	return c, g
}

// plans are all stored plans of main, in the order in which they were made.
func (g *rig) plans() []planRecord { return g.plansOf("main") }

func (g *rig) plansOf(branch string) []planRecord {
	g.t.Helper()
	ctx := context.Background()
	var out []planRecord
	for stored, err := range g.store.Events(ctx, g.session(), branch) {
		if err != nil {
			g.t.Fatal(err)
		}
		if made, ok := stored.Event.(cycle.PlanMade); ok {
			r, err := g.engine.record(ctx, made.PlanID)
			if err != nil {
				g.t.Fatal(err)
			}
			out = append(out, r)
		}
	}
	return out
}

func (g *rig) compactions() []cycle.Compacted {
	var out []cycle.Compacted
	for stored, err := range g.store.Events(context.Background(), g.session(), "main") {
		if err != nil {
			g.t.Fatal(err)
		}
		if c, ok := stored.Event.(cycle.Compacted); ok {
			out = append(out, c)
		}
	}
	return out
}

func (g *rig) session() string {
	s, err := g.engine.session(context.Background(), "")
	if err != nil {
		g.t.Fatal(err)
	}
	return s.row.ID
}

// AGENT-5: however long a conversation is, it never overflows, and nothing of
// it is lost.
func TestHundredTurns(t *testing.T) {
	const turns, window = 100, 16000
	c, g := newConversation(t, window)
	ctx := context.Background()
	pinned := "// pinned: αβγ\tuse spaces, not tabs   \n\nvar x = `raw`\n"
	g.write("pinned.go", pinned)
	said := c.talk(g, 0, 3)
	if _, err := g.engine.Pin(ctx, &PinParams{URI: "pinned.go"}); err != nil {
		t.Fatal(err)
	}
	pinnedReply := replyID(t, g)
	if _, err := g.engine.Pin(ctx, &PinParams{MessageID: pinnedReply}); err != nil {
		t.Fatal(err)
	}
	before := len(c.requests)
	said = append(said, c.talk(g, 3, turns)...)

	list := g.compactions()
	if len(list) < 3 {
		t.Fatalf("%d compactions in %d turns", len(list), turns)
	}
	checkSources(t, g, list, pinnedReply)
	for _, s := range c.sources {
		if strings.Contains(s, SummaryMark) || strings.Contains(s, "Question 1:") && strings.Contains(s, "trailing space?") {
			t.Errorf("a source of a summary holds a summary, or the person's own words: %.200q", s)
		}
	}
	plans := g.plans()
	if len(plans) != len(c.requests) {
		t.Fatalf("%d plans and %d requests", len(plans), len(c.requests))
	}
	for i, r := range plans {
		checkPlan(t, i, r, window)
	}
	asked := 0 // of the person's messages, in the request
	for i, req := range c.requests {
		text := textOf(req)
		if n := promptTokens(req); n > window-reserveOutputDefault {
			t.Fatalf("request %d has %d tokens", i, n)
		}
		for asked < turns && strings.Contains(text, said[asked]) {
			asked++
		}
		for n := range asked {
			if !strings.Contains(text, said[n]) {
				t.Fatalf("request %d lacks what the person said in turn %d", i, n)
			}
		}
		if i >= before && !strings.Contains(text, pinned) {
			t.Fatalf("request %d lacks the pinned file", i)
		}
		if i >= before && !strings.Contains(text, "Answer 2:") {
			t.Fatalf("request %d lacks the pinned reply", i)
		}
	}
	if asked != turns {
		t.Errorf("%d of %d messages reached the model", asked, turns)
	}
	checkPrefixes(t, c.requests, plans, list)
	for _, x := range list {
		if x.TokensIn-x.Tokens < (window-reserveOutputDefault)/6 {
			t.Errorf("%s makes room for %d tokens only: that is dribbling", x.Ref, x.TokensIn-x.Tokens)
		}
	}
	t.Logf("%d requests, %d compactions, %d calls for them", len(c.requests), len(list), len(c.sources))

	words := g.submit(SubmitParams{Input: "/context"}).Response.Content
	if !strings.Contains(words, "summary of") || !strings.Contains(words, "superseded") {
		t.Errorf("/context does not show the summary and what it stands for:\n%.2000s", words)
	}
	g.restart() // a fold of the log gives the same prompt
	g.open(c.reply)
	c.talk(g, turns, turns+1)
	if text := textOf(c.requests[len(c.requests)-1]); !strings.Contains(text, said[0]) || !strings.Contains(text, SummaryMark) {
		t.Error("after a restart the summary or the person's words are gone")
	}
}

func replyID(t *testing.T, g *rig) string {
	t.Helper()
	tl, err := g.engine.timeline(context.Background(), g.session(), "")
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	tl.view(func() {
		for _, x := range tl.script.entries {
			if strings.HasPrefix(string(x.text), "Answer 2:") {
				id = x.id
			}
		}
	})
	if id == "" {
		t.Fatal("no such reply")
	}
	return id
}

// checkSources: each archive holds, whole, what its summary stands for; that is
// neither pinned nor the person's nor a summary; nothing leaves twice.
func checkSources(t *testing.T, g *rig, list []cycle.Compacted, pinned string) {
	t.Helper()
	ctx := context.Background()
	texts := map[string]piece{}
	for _, r := range g.plans() {
		for id, hash := range r.Pieces {
			if _, ok := texts[id]; ok {
				continue
			}
			p, err := g.engine.pieceOf(ctx, hash)
			if err != nil {
				t.Fatal(err)
			}
			texts[id] = p
		}
	}
	left := map[string]bool{}
	for _, c := range list {
		data, err := g.store.Archived(ctx, c.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), SummaryMark) {
			t.Errorf("the archive %s holds a summary", c.Ref)
		}
		if !strings.HasPrefix(c.Summary, SummaryMark) || !strings.HasSuffix(c.Summary, "Source archived at ref:"+c.Ref) {
			t.Errorf("the summary is %q", c.Summary)
		}
		for _, id := range c.Covers {
			switch {
			case left[id]:
				t.Errorf("%s leaves twice", id)
			case id == pinned:
				t.Errorf("%s is pinned and leaves", id)
			case strings.HasPrefix(id, "msg:"):
				t.Errorf("%s is the person's own and leaves", id)
			case strings.HasPrefix(id, "summary:"):
				if !strings.Contains(string(data), "ref:"+strings.TrimPrefix(id, "summary:")) {
					t.Errorf("the archive %s does not say where the source of %s is", c.Ref, id)
				}
			case !strings.Contains(string(data), texts[id].Text):
				t.Errorf("the archive %s lacks the text of %s", c.Ref, id)
			}
			for _, call := range texts[id].Calls {
				if !strings.Contains(string(data), string(call.Args)) {
					t.Errorf("the archive %s lacks a call of %s", c.Ref, id)
				}
			}
			left[id] = true
		}
	}
}

// checkPlan: within budget, attributable, each candidate once with a reason,
// episodes whole.
func checkPlan(t *testing.T, i int, r planRecord, window int) {
	t.Helper()
	if r.Plan.Budget.Estimated > r.Plan.Budget.Prompt || r.Plan.Budget.Prompt > window {
		t.Fatalf("plan %d: %d tokens estimated, %d allowed", i, r.Plan.Budget.Estimated, r.Plan.Budget.Prompt)
	}
	if r.Plan.Overflow != nil {
		t.Fatalf("plan %d overflows", i)
	}
	in := map[string]bool{}
	seen := map[string]int{}
	for _, it := range r.Plan.Included {
		in[it.ID] = true
		seen[it.ID]++
		if it.Reason == "" || it.Detail == "" {
			t.Fatalf("plan %d: %s is in without a reason", i, it.ID)
		}
	}
	for _, it := range r.Plan.Excluded {
		seen[it.ID]++
		if it.Reason == "" || it.Detail == "" {
			t.Fatalf("plan %d: %s is out without a reason", i, it.ID)
		}
		if it.Section == contextplan.History && it.Reason == contextplan.ReasonBudget && it.Tokens > r.Plan.Budget.Prompt/leastShare {
			t.Fatalf("plan %d: %s of %d tokens is out for want of room; a compaction should have made it", i, it.ID, it.Tokens)
		}
	}
	groups := map[string]bool{}
	for _, c := range r.Input.Candidates {
		if seen[c.ID] != 1 {
			t.Fatalf("plan %d: %s is there %d times", i, c.ID, seen[c.ID])
		}
		if was, ok := groups[c.Group]; c.Group != "" && ok && was != in[c.ID] {
			t.Fatalf("plan %d: episode %s is split", i, c.Group)
		}
		groups[c.Group] = in[c.ID]
	}
}

// checkPrefixes: within a run each request begins with the one before, until a
// compaction; a compaction makes room for more than one request.
func checkPrefixes(t *testing.T, requests []model.Request, plans []planRecord, list []cycle.Compacted) {
	t.Helper()
	summaries := func(r planRecord) (out []string) {
		for _, it := range r.Plan.Included {
			if it.Section == contextplan.Summary {
				out = append(out, it.ID)
			}
		}
		return out
	}
	checked, broken := 0, 0
	for i := 1; i < len(plans); i++ {
		if plans[i].RunID != plans[i-1].RunID {
			continue
		}
		if !slices.Equal(summaries(plans[i]), summaries(plans[i-1])) {
			broken++
			continue
		}
		checked++
		if was, is := encode(t, requests[i-1]), encode(t, requests[i]); !strings.HasPrefix(is, was) {
			t.Fatalf("request %d (run %s, call %d) does not begin with the one before, and nothing was compacted", i, plans[i].RunID, plans[i].Call)
		}
	}
	if checked == 0 {
		t.Error("no run had two requests")
	}
	t.Logf("%d requests begin with the one before; %d of %d compactions were inside a run", checked, broken, len(list))
}

func textOf(req model.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteString(m.Text + "\n")
	}
	return b.String()
}

// One long run outgrows the window by itself: its own earlier episodes leave.
func TestLongRunCompactsItself(t *testing.T) {
	c, g := newConversation(t, 12000)
	c.steps = func(int) int { return 30 }
	c.talk(g, 0, 1)
	list := g.compactions()
	if len(list) == 0 {
		t.Fatal("no compaction in a run of 31 calls")
	}
	plans := g.plans()
	for i, r := range plans {
		checkPlan(t, i, r, 12000)
	}
	checkPrefixes(t, c.requests, plans, list)
	checkSources(t, g, list, "")
	cycles, err := g.engine.Cycles(context.Background(), &CyclesParams{View: "all"})
	if err != nil {
		t.Fatal(err)
	}
	notes := 0
	for _, m := range cycles.Meta.Cycles {
		for _, n := range m.Notes {
			if n.Kind == "compaction" && n.Ref != "" {
				notes++
			}
		}
	}
	if notes == 0 {
		t.Error("the step tree does not show the compaction")
	}
}

// A model that can't summarise costs the summary's quality, nothing else.
func TestCompactionWithoutModel(t *testing.T) {
	c, g := newConversation(t, 12000)
	c.broken = true
	said := c.talk(g, 0, 20)
	list := g.compactions()
	if len(list) == 0 {
		t.Fatal("no compaction in 20 turns")
	}
	for _, x := range list {
		if !strings.Contains(x.Summary, "made by rule") {
			t.Errorf("the summary does not say how it was made: %.200q", x.Summary)
		}
	}
	checkSources(t, g, list, "")
	last := textOf(c.requests[len(c.requests)-1])
	for i, s := range said {
		if !strings.Contains(last, s) {
			t.Errorf("what the person said in turn %d is gone", i)
		}
	}
}

// /compact makes room at once; every request of it is attributable.
func TestCompactCommand(t *testing.T) {
	c, g := newConversation(t, 64000)
	c.talk(g, 0, 6)
	if n := len(g.compactions()); n != 0 {
		t.Fatalf("%d compactions in a window that holds everything", n)
	}
	answer := g.submit(SubmitParams{Input: "/compact"}).Response
	list := g.compactions()
	if !answer.Success || len(list) != 1 || !strings.Contains(answer.Content, "ref:"+list[0].Ref) {
		t.Fatalf("%+v, %d compactions", answer, len(list))
	}
	c.talk(g, 6, 7)
	if text := textOf(c.requests[len(c.requests)-1]); !strings.Contains(text, list[0].Summary) || strings.Contains(text, "Answer 1:") {
		t.Error("the next request does not hold the summary instead of what it stands for")
	}
	again := g.submit(SubmitParams{Input: "/compact"}).Response
	if !again.Success || strings.Contains(string(must(g.store.Archived(context.Background(), g.compactions()[len(g.compactions())-1].Ref))), SummaryMark) {
		t.Errorf("again: %+v", again)
	}
	rounds, err := g.store.OfTurn(context.Background(), g.session(), store.KindRound, g.plans()[len(g.plans())-2].TurnID)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range rounds {
		var r struct{ PlanID string }
		if err := json.Unmarshal(a.Body, &r); err != nil || r.PlanID == "" {
			t.Errorf("round %s has no plan: %v", a.ID, err)
			continue
		}
		if _, err := g.engine.Plan(context.Background(), &PlanParams{PlanID: r.PlanID}); err != nil {
			t.Errorf("round %s: %v", a.ID, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Many summaries beside each other are replaced by one that is made from the
// sources, and everything they covered stays superseded.
func TestSummariesAreMadeAnew(t *testing.T) {
	c, g := newConversation(t, 64000)
	before := 0 // sources of the summaries before the last one
	for i := range summariesMax + 1 {
		c.talk(g, i*3, i*3+3)
		before = len(c.sources)
		if res := g.submit(SubmitParams{Input: "/compact"}).Response; !res.Success {
			t.Fatal(res.Error)
		}
	}
	list := g.compactions()
	last := list[len(list)-1]
	for _, x := range list[:summariesMax] {
		if !slices.Contains(last.Covers, "summary:"+x.Ref) {
			t.Errorf("the last summary does not replace summary:%s", x.Ref)
		}
	}
	var chunks strings.Builder // several are summarised at once, in whatever order
	for _, src := range c.sources[before:] {
		if !strings.Contains(src, "of a long text, shortened)") { // else it joins what was made of chunks
			chunks.WriteString(src)
		}
	}
	if src := chunks.String(); !strings.Contains(src, "Answer 0:") || strings.Contains(src, "summary number") {
		t.Errorf("the last summary is not made from the first turn's own text: %.300q", src)
	}
	checkSources(t, g, list, "")
	c.talk(g, 99, 100)
	text := textOf(c.requests[len(c.requests)-1])
	if strings.Count(text, SummaryMark) != 1 || strings.Contains(text, "Answer 0:") {
		t.Errorf("%d summaries are sent", strings.Count(text, SummaryMark))
	}
}

// What usage reports taught about a model's tokens is there after a restart.
func TestCalibrationSurvives(t *testing.T) {
	g := newRig(t, func(int, model.Request) (string, []model.Call) { return "ok", nil })
	g.ended(g.submit(SubmitParams{Input: "what is here?"}).TurnID)
	was := g.engine.Calibration("test/small")
	if was == "" {
		t.Fatal("nothing was learnt from a usage report")
	}
	g.restart()
	g.open(func(int, model.Request) (string, []model.Call) { return "ok", nil })
	if is := g.engine.Calibration("test/small"); is != was {
		t.Errorf("after a restart it is %q, before %q", is, was)
	}
}
