package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sourcegraph/conc/iter"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
)

//go:embed prompts/summarise.md
var promptSummarise string

// SummaryMark begins every summary. No summary is ever part of the source of
// another one.
const SummaryMark = "[CONVERSATION SUMMARY]"

// Limits of one compaction.
const (
	chunksMax      = 12              // pieces that the source is cut into for the model; what is over is listed by rule
	chunkShare     = 2               // a piece is at most half of the model's window
	chunksAtOnce   = 4               // calls under way at the same time
	reduceMax      = 2               // rounds in which partial summaries are put together
	summariseWait  = 2 * time.Minute // of one call
	refsInSummary  = 20              // results that a summary names by their own ref
	summariseAlias = "small"         // the model that summarises, where one has this name
)

// compact archives what leaves, whole, and makes the summary that stands for
// it. The model's failure is no failure of the compaction: the summary is made
// by rule then, and says so.
func (t *timeline) compact(ctx context.Context, r run.Run, list []piece, chosen []leaving, prompt int) (*cycle.Compacted, error) {
	c := &cycle.Compacted{RunID: r.ID, Ref: t.e.parts.NewID("sum"), Covers: []string{}, Time: t.e.now()}
	leave := []piece{}
	for _, u := range chosen {
		for _, p := range u.pieces {
			leave = append(leave, p)
			c.Covers = append(c.Covers, p.Candidate.ID)
			c.TokensIn += p.Candidate.Tokens
		}
	}
	again, earlier := t.resummarised(list)
	for _, ref := range earlier {
		c.Covers = append(c.Covers, "summary:"+ref)
	}
	var labels []string
	t.view(func() {
		for _, x := range t.script.turns {
			labels = append(labels, firstLine(x.input))
		}
	})
	archived := ""
	for _, ref := range earlier {
		archived += "What came before is archived at ref:" + ref + "\n"
	}
	archived += strings.Join(sourceOf(leave, labels, true), "\n")
	if err := t.e.parts.Store.Archive(ctx, t.session, c.Ref, []byte(archived)); err != nil {
		return nil, storeError(err)
	}
	t.e.telemetry(t, r.TurnID, "Summarising older history")

	all := append(again, leave...)
	s := &summariser{t: t, run: r, ref: c.Ref, want: min(max(prompt/summaryShare, summaryLeast), summaryLimit)}
	body, why := s.summary(ctx, sourceOf(all, labels, false))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if body == "" {
		body = clipTokens(extract(all, labels), s.want, t.e.counter(r.Model))
	}
	c.Summary = fmt.Sprintf("%s %s, %d items%s\n%s%s\nSource archived at ref:%s", SummaryMark, turnRange(all), len(all), why, body, keptRefs(all), c.Ref)
	c.Tokens = t.e.counter(r.Model)(c.Summary) + messageOverheadTokens
	return c, nil
}

// resummarised is what the present summaries stand for, when there are as many
// as may be beside each other: the next summary is made from their sources,
// never from them.
func (t *timeline) resummarised(list []piece) (again []piece, refs []string) {
	covered, gone := map[string]bool{}, map[string]bool{}
	t.view(func() {
		for _, c := range t.script.compactions {
			for _, id := range c.covers {
				gone[id] = true
			}
		}
		for _, c := range t.script.compactions {
			if gone["summary:"+c.ref] {
				continue
			}
			refs = append(refs, c.ref)
		}
		if len(refs) < summariesMax {
			refs = nil
			return
		}
		for id := range gone {
			covered[id] = true
		}
	})
	if refs == nil {
		return nil, nil
	}
	for _, p := range list {
		if covered[p.Candidate.ID] && p.Candidate.Section != contextplan.Summary {
			again = append(again, p)
		}
	}
	slices.SortFunc(again, func(a, b piece) int { return a.Candidate.Seq - b.Candidate.Seq })
	return again, refs
}

// sourceOf is pieces as text, one block each, under the request that they
// belong to. Whole is for the archive; for the model, evidence is named only,
// and so is a result whose text is archived elsewhere.
func sourceOf(list []piece, labels []string, whole bool) []string {
	var out []string
	last := -1
	for _, p := range list {
		head, turnBefore := "", last
		if p.turn != last && p.turn < len(labels) {
			head = fmt.Sprintf("assistant: (turn %d, on the request “%s”)\n", p.turn+1, labels[p.turn])
			last = p.turn
		}
		switch {
		case p.Candidate.Section == contextplan.Reflection && !whole: // the results say it
			last = turnBefore
		case p.kind == entryEvidence && !whole:
			out = append(out, head+"tool: evidence "+p.Item.Label)
		case p.kind == entryEvidence:
			out = append(out, head+"tool: evidence\n"+p.Text)
		case p.Role == model.RoleTool && p.ref != "" && !whole:
			out = append(out, head+"tool: "+p.Item.Label+"\n[Full result saved as ref:"+p.ref+"]")
		case p.Role == model.RoleTool:
			status := ""
			if p.IsError {
				status = " (failed)"
			}
			out = append(out, head+"tool: "+p.Item.Label+status+"\n"+p.Text)
		default:
			b := head + "assistant: " + p.Text
			for _, c := range p.Calls {
				b += "\nassistant: calls " + c.Name + " " + string(c.Args)
			}
			out = append(out, b)
		}
	}
	return out
}

func turnRange(list []piece) string {
	from, to := list[0].turn, list[0].turn
	for _, p := range list {
		from, to = min(from, p.turn), max(to, p.turn)
	}
	if from == to {
		return fmt.Sprintf("turn %d", from+1)
	}
	return fmt.Sprintf("turns %d to %d", from+1, to+1)
}

// keptRefs names the results that are archived on their own.
func keptRefs(list []piece) string {
	var refs []string
	for _, p := range list {
		if p.ref != "" {
			refs = append(refs, p.Item.Label+" at ref:"+p.ref)
		}
	}
	if len(refs) == 0 {
		return ""
	}
	return "\nFull results: " + strings.Join(refs[max(0, len(refs)-refsInSummary):], ", ")
}

// extract is a summary made by rule: of each turn its request in short, the
// last thing that was said, and what was looked at. The newest comes first, so
// that a limit cuts the oldest.
func extract(list []piece, labels []string) string {
	type sum struct {
		said  string
		tools []string
	}
	byTurn := map[int]*sum{}
	var order []int
	for _, p := range list {
		s := byTurn[p.turn]
		if s == nil {
			s = &sum{}
			byTurn[p.turn] = s
			order = append(order, p.turn)
		}
		switch {
		case p.Role == model.RoleTool, p.kind == entryEvidence:
			s.tools = append(s.tools, p.Item.Label)
		case strings.TrimSpace(p.Text) != "":
			s.said = firstLine(p.Text)
		}
	}
	var b strings.Builder
	for _, turn := range slices.Backward(order) {
		s := byTurn[turn]
		label := ""
		if turn < len(labels) {
			label = labels[turn]
		}
		fmt.Fprintf(&b, "- turn %d (%s): %s\n", turn+1, label, s.said)
		if len(s.tools) > 0 {
			const named = 6
			fmt.Fprintf(&b, "  looked at: %s\n", strings.Join(s.tools[:min(len(s.tools), named)], ", "))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// clipTokens keeps whole lines up to a number of tokens, and says when it cut.
func clipTokens(s string, limit int, count func(string) int) string {
	if count(s) <= limit {
		return s
	}
	const mark = "\n[… the rest is in the archive …]"
	limit -= count(mark)
	var b strings.Builder
	for line := range strings.Lines(s) {
		n := count(line)
		if n > limit {
			if b.Len() == 0 { // one long line: its head
				b.WriteString(strings.ToValidUTF8(line[:len(line)*max(limit, 0)/n], ""))
			}
			break
		}
		limit -= n
		b.WriteString(line)
	}
	return strings.TrimRight(b.String(), "\n") + mark
}

// summariser asks a model for one summary: each chunk on its own, then the
// partial summaries together, until they are short enough.
type summariser struct {
	t    *timeline
	run  run.Run
	ref  string
	want int // tokens

	m     ResolvedModel
	count func(string) int
	calls int
}

// summary gives "" where no model could help; why says what a reader of the
// summary must know about how it was made.
func (s *summariser) summary(ctx context.Context, source []string) (body, why string) {
	byRule := func(err error) (string, string) {
		s.t.e.logf("a compaction's summary is made by rule: %v", err)
		return "", " (made by rule: the model could not summarise)"
	}
	var err error
	if s.m, err = s.resolve(ctx); err != nil {
		return byRule(err)
	}
	s.count = s.t.e.counter(s.m.Name)
	chunks := s.chunks(source)
	if len(chunks) > chunksMax {
		why = fmt.Sprintf(" (of %d parts the oldest %d are in the archive only)", len(chunks), len(chunks)-chunksMax)
		chunks = chunks[len(chunks)-chunksMax:]
	}
	for round := 0; ; round++ {
		parts, err := s.each(ctx, chunks)
		if err != nil {
			return byRule(err)
		}
		joined := strings.Join(parts, "\n")
		if len(parts) == 1 || s.count(joined) <= s.want || round == reduceMax {
			return clipTokens(joined, s.want, s.count), why
		}
		for i := range parts {
			parts[i] = "assistant: (part " + strconv.Itoa(i+1) + " of a long text, shortened)\n" + parts[i]
		}
		chunks = s.chunks(parts)
	}
}

// resolve finds the model that summarises: the one called small, else the run's.
func (s *summariser) resolve(ctx context.Context) (ResolvedModel, error) {
	m, err := s.t.e.parts.Models.Resolve(ctx, summariseAlias)
	if err != nil || m.Caps.ContextWindow == 0 {
		m, err = s.t.e.parts.Models.Resolve(ctx, s.run.Model)
	}
	if err == nil && m.Caps.ContextWindow == 0 {
		err = errors.New("the context window of " + m.Name + " is not known")
	}
	return m, err
}

// chunks joins blocks up to the size of a chunk; a block that is larger by
// itself is cut at lines, or inside a line that is larger still.
func (s *summariser) chunks(blocks []string) []string {
	size := max(1, (s.m.Caps.ContextWindow-s.count(promptSummarise))/chunkShare)
	var out []string
	var b strings.Builder
	used := 0
	flush := func() {
		if b.Len() > 0 {
			out = append(out, b.String())
			b.Reset()
			used = 0
		}
	}
	add := func(text string, n int) {
		if used > 0 && used+n > size {
			flush()
		}
		if b.Len() == 0 && !strings.HasPrefix(text, "assistant: ") {
			b.WriteString("assistant: (what was said goes on)\n")
		}
		b.WriteString(text)
		used += n
	}
	for _, block := range blocks {
		block += "\n"
		if n := s.count(block); n <= size {
			add(block, n)
			continue
		}
		for line := range strings.Lines(block) {
			for n := s.count(line); n > size; n = s.count(line) {
				at := max(1, len(line)*size/n)
				for at < len(line) && !utf8.RuneStart(line[at]) {
					at++
				}
				add(line[:at], size)
				line = line[at:]
			}
			add(line, s.count(line))
		}
	}
	flush()
	return out
}

// each summarises every chunk by a call of its own, some at once, in order.
func (s *summariser) each(ctx context.Context, chunks []string) ([]string, error) {
	type reply struct {
		text string
		err  error
	}
	first := s.calls
	s.calls += len(chunks)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs := make([]int, len(chunks))
	for i := range jobs {
		jobs[i] = i
	}
	got := iter.Mapper[int, reply]{MaxGoroutines: chunksAtOnce}.Map(jobs, func(i *int) reply {
		if ctx.Err() != nil {
			return reply{err: ctx.Err()}
		}
		text, err := s.ask(ctx, first+*i+1, chunks[*i])
		if err != nil {
			s.t.e.world.giveUp(cancel) // the rest would be for nothing
		}
		return reply{text, err}
	})
	var out []string
	var failed error
	for _, r := range got {
		if r.err != nil && (failed == nil || errors.Is(failed, context.Canceled)) {
			failed = r.err
		}
		out = append(out, r.text)
	}
	return out, failed
}

// ask makes one call. Like every model request it has a plan, and its raw
// round and its usage are kept.
func (s *summariser) ask(ctx context.Context, n int, text string) (string, error) {
	e := s.t.e
	ctx, cancel := context.WithTimeout(ctx, summariseWait)
	defer cancel()
	plan, err := s.plan(ctx, n, text)
	if err != nil {
		return "", err
	}
	zero := 0.0
	req := model.Request{Model: s.m.ID, MaxTokens: summaryLimit * 2, Temperature: &zero,
		Messages: []model.Message{{Role: model.RoleSystem, Text: promptSummarise}, {Role: model.RoleUser, Text: text}}}
	begun := time.Now()
	r, err := model.Collect(s.m.Name, s.m.Model.Stream(context.WithValue(ctx, planOfCall{}, plan.PlanID), req))
	if err != nil {
		return "", err
	}
	body, err := plainJSON(map[string]any{"round": 0, "planId": plan.PlanID, "model": s.m.Name, "request": req,
		"response": map[string]any{"text": r.Text, "finish": r.Done.Finish, "usage": r.Done.Usage}})
	if err != nil {
		return "", err
	}
	kept := context.WithoutCancel(ctx) // the call was made: its round and its usage are both kept, or a replay finds one without the other
	if err := e.parts.Store.Replace(kept, store.Artifact{Kind: store.KindRound, ID: s.ref + "/" + strconv.Itoa(n), Session: s.t.session, Branch: s.t.branch,
		Turn: s.run.TurnID, Run: s.run.ID, Body: body}); err != nil {
		return "", storeError(err)
	}
	u := r.Done.Usage
	if err := s.t.record(kept, cycle.UsageReported{RunID: s.run.ID, TurnID: s.run.TurnID, PlanID: plan.PlanID, Model: s.m.Name, Estimated: plan.Budget.Estimated,
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CostUSD: cost(s.m.Caps, u), Reported: u.Reported,
		MS: time.Since(begun).Milliseconds(), Time: e.now()}); err != nil {
		return "", err
	}
	return cleanSummary(r.Text)
}

// cleanSummary is a model's text as the body of a summary.
func cleanSummary(text string) (string, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, SummaryMark, ""))
	if text == "" {
		return "", errors.New("the model's summary is empty")
	}
	return text, nil
}

// plan is the ContextPlan of one call: the instruction and its chunk.
func (s *summariser) plan(ctx context.Context, n int, text string) (contextplan.Plan, error) {
	part := fmt.Sprintf("source:%s/%d", s.ref, n)
	byID := map[string]piece{
		"system": {Role: model.RoleSystem, Text: promptSummarise, Item: PlanItem{Label: "how to summarise"}},
		part:     {Role: model.RoleUser, Text: text, Item: PlanItem{Label: "part " + strconv.Itoa(n) + " of what leaves"}},
	}
	record := planRecord{SessionID: s.t.session, BranchID: s.t.branch, TurnID: s.run.TurnID, RunID: s.run.ID, Model: s.m.Name,
		Input: contextplan.Input{Budget: contextplan.Budget{ContextWindow: s.m.Caps.ContextWindow}, Candidates: []contextplan.Candidate{
			{ID: "system", Section: contextplan.System, Tokens: s.count(promptSummarise) + messageOverheadTokens, Required: true},
			{ID: part, Section: contextplan.History, Tokens: s.count(text) + messageOverheadTokens, Required: true},
		}}}
	var err error
	if record.Plan, err = contextplan.Build(record.Input); err != nil {
		return record.Plan, planError(err)
	}
	return record.Plan, s.t.e.storePlan(ctx, &record, byID)
}
