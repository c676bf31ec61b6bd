package agent

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/rag"
)

// stateCommand is a slash command that is answered at once, without a model.
type stateCommand struct {
	name, args, words string
	run               func(e *Engine, ctx context.Context, s *session, t *timeline, arg string) (string, error)
}

// stateCommands are tried by their exact first word.
func stateCommands() []stateCommand {
	return []stateCommand{
		{"/help", "", "what the commands do", (*Engine).cmdHelp},
		{"/model", "[name]", "show the models, or choose one", (*Engine).cmdModel},
		{"/status", "", "model, mode, session, requests, average time", (*Engine).cmdStatus},
		{"/config", "", "the effective settings", (*Engine).cmdConfig},
		{"/session", "", "this session and its latest entries", (*Engine).cmdSession},
		{"/mode", "[planning|executing]", "show the mode, or set it; planning neither writes nor executes", (*Engine).cmdMode},
		{"/tools", "", "the tools that the model may ask for", (*Engine).cmdTools},
		{"/context", "", "what the last model call saw, and why", (*Engine).cmdContext},
		{"/compact", "", "archive and summarise the older part of the conversation now", (*Engine).cmdCompact},
		{"/branch", "[name]", "the branches; with a name: switch to it, or fork it from here", (*Engine).cmdBranch},
		{"/undo", "[what]", "put files back as before the last turn; what: conversation, both, preview, reject, redo", (*Engine).cmdUndo},
		{"/new", "[title]", "begin a new session", (*Engine).cmdNew},
		{"/cost", "", "tokens and money of this session", (*Engine).cmdCost},
		{"/workflow", "[edit 2 text|add text|drop 2|approve]", "the checklist of the last workflow; change or approve a proposed one", (*Engine).cmdWorkflow},
		{"/memory", "[add text|forget ID|forget all]", "what is remembered between turns; add or forget a note", (*Engine).cmdMemory},
		{"/pin", "[path[:10-20]|-path]", "show what is pinned; keep a file or lines of it in every plan, or no longer", (*Engine).cmdPin},
		{"/trust", "[on|off]", "whether AGENTS.md, commands and skills of this workspace are followed", (*Engine).cmdTrust},
	}
}

// isCommand tells whether a message begins with a slash and a word.
func isCommand(input string) bool {
	w := firstWord(input)
	return len(w) > 1 && w[0] == '/' && !strings.Contains(w[1:], "/") && w[1] != ' '
}

func isStateCommand(word string) bool {
	return slices.ContainsFunc(stateCommands(), func(c stateCommand) bool { return c.name == word })
}

func firstWord(s string) string {
	f := strings.Fields(s)
	if len(f) == 0 {
		return ""
	}
	return f[0]
}

// command answers a state command. It makes no turn and no cycle; that it was
// asked and answered is in the log.
func (e *Engine) command(ctx context.Context, s *session, t *timeline, p *SubmitParams, begun time.Time) (*SubmitResult, error) {
	word := firstWord(p.Input)
	list := stateCommands()
	i := slices.IndexFunc(list, func(c stateCommand) bool { return c.name == word })
	if i < 0 {
		return nil, &Error{Code: CodeBadRequest, Message: fmt.Sprintf("%s is no command", word), Hint: "did you mean " + e.nearestCommand(word) + "? /help lists them all"}
	}
	arg := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(p.Input), word))
	was := e.branchNow(s)
	answer, err := list[i].run(e, ctx, s, t, arg)
	branch := t.branch
	if now := e.branchNow(s); now != was { // the command switched: who asked goes along
		branch = now
	}
	ok := err == nil
	if err != nil {
		answer = err.Error()
	}
	took := e.now().Sub(begun)
	if err := t.record(ctx, cycle.CommandAnswered{Input: p.Input, Answer: answer, OK: ok, MS: float64(took.Microseconds()) / 1000, Time: e.now()}); err != nil {
		return nil, err
	}
	res := &Response{Content: answer, Type: "command", Confidence: 1, Success: ok, ExecutionTime: took.Milliseconds(),
		Metadata: ResponseMetadata{AgentProcessingTime: took.Milliseconds(), RequestCount: e.requests(t), SessionID: s.row.ID, Source: p.Source,
			PlanIDs: []string{}, RetrievalSetIDs: []string{}, Classification: &Classification{Type: "command", Confidence: 1, Method: "state-command"}}}
	if !ok {
		res.Error = answer
	}
	return &SubmitResult{SessionID: s.row.ID, BranchID: branch, Kind: "direct", Response: res}, nil
}

// branchNow is the session's current branch.
func (e *Engine) branchNow(s *session) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return s.row.Branch
}

// nearestCommand is the command with the smallest edit distance.
func (e *Engine) nearestCommand(word string) string {
	best, at := 1<<30, ""
	for _, c := range e.userCommands() {
		if d := distance(word, "/"+c.Name); d < best {
			best, at = d, "/"+c.Name
		}
	}
	for _, c := range stateCommands() {
		if d := distance(word, c.name); d < best {
			best, at = d, c.name
		}
	}
	return at
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// Commands lists the slash commands.
func (e *Engine) Commands(ctx context.Context, _ *Empty) (*CommandsResult, error) {
	out := &CommandsResult{Commands: []CommandInfo{}}
	for _, c := range stateCommands() {
		out.Commands = append(out.Commands, CommandInfo{Name: c.name, Description: c.words, Arguments: c.args, Kind: "state", Trusted: true})
	}
	trusted := e.trusted(ctx)
	for _, c := range e.userCommands() {
		out.Commands = append(out.Commands, CommandInfo{Name: "/" + c.Name, Description: c.Description, Arguments: c.Arguments, Kind: "user",
			Source: c.Path, Categories: c.Categories, Model: c.Model, Mode: c.Mode, Trusted: trusted || !c.Workspace})
	}
	return out, nil
}

func (e *Engine) cmdHelp(_ context.Context, _ *session, _ *timeline, _ string) (string, error) {
	var b strings.Builder
	b.WriteString("Commands:\n")
	for _, c := range stateCommands() {
		fmt.Fprintf(&b, "  %-32s %s\n", strings.TrimSpace(c.name+" "+c.args), c.words)
	}
	for _, c := range e.userCommands() {
		fmt.Fprintf(&b, "  %-32s %s (%s)\n", strings.TrimSpace("/"+c.Name+" "+c.Arguments), c.Description, c.Path)
	}
	if e.parts.Commands != nil {
		_, problems := e.parts.Commands()
		for _, p := range problems {
			fmt.Fprintf(&b, "  left out: %s\n", p)
		}
	}
	b.WriteString("Anything else is a request to the agent. While it works: a message steers it, a follow-up waits for it to end.")
	return b.String(), nil
}

func (e *Engine) cmdModel(ctx context.Context, s *session, _ *timeline, arg string) (string, error) {
	if arg != "" {
		m, err := e.parts.Models.Resolve(ctx, arg)
		if err != nil {
			return "", noModel(err)
		}
		if err := e.saveSession(ctx, s, func(row *store.Session) { row.Model = m.Name }); err != nil {
			return "", err
		}
		return "✅ Model changed to: " + m.Name, nil
	}
	name := s.row.Model
	if name == "" {
		name = e.settings().Model
	}
	r := e.modelsResult(ctx, name)
	var b strings.Builder
	fmt.Fprintf(&b, "📋 Current Model: %s\nAvailable Models:\n", r.Current)
	for _, m := range r.Models {
		mark := "❌"
		if m.Available {
			mark = "✅"
		}
		alias := ""
		if m.Alias != "" {
			alias = " (" + m.Alias + ")"
		}
		fmt.Fprintf(&b, "%s %s%s - %s\n", mark, m.Name, alias, m.Why)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func (e *Engine) cmdStatus(ctx context.Context, s *session, t *timeline, _ string) (string, error) {
	st, err := e.Status(ctx, &SessionRef{SessionID: s.row.ID, BranchID: t.branch})
	if err != nil {
		return "", err
	}
	mode := "ready"
	if st.State != "idle" {
		mode = st.State
	}
	last := st.LastActivity
	if last == "" {
		last = "never"
	}
	return fmt.Sprintf("📊 Agent Status:\n  Model: %s\n  Mode: %s (%s)\n  Session: %s\n  Conversation History: %d entries\n  Requests Processed: %d\n  Average Response Time: %dms\n  Last Activity: %s\n  Pending: %d hunks in %d files\n  Index: %s, %s files",
		st.Model, mode, st.Mode, shortID(s.row.ID), st.History, st.Requests, st.AverageMS, last, st.Pending, st.PendingFiles, st.Index.State, contextplan.Thousands(st.Index.Files)), nil
}

func (e *Engine) cmdConfig(ctx context.Context, _ *session, _ *timeline, _ string) (string, error) {
	c, err := e.Config(ctx, nil)
	if err != nil {
		return "", err
	}
	var names []string
	for name := range c.Settings {
		names = append(names, name)
	}
	sort.Strings(names)
	var b strings.Builder
	fmt.Fprintf(&b, "⚙️ Configuration:\n  Version: %s\n  Default Model: %s\n  Debug Mode: disabled\n  Max History: none, older history is summarised\n  Session Timeout: none\n", c.Version, e.modelsResult(ctx, e.settings().Model).Current)
	for _, name := range names {
		from := c.Sources[name]
		if from == "" {
			from = "default"
		}
		fmt.Fprintf(&b, "  %s: %v  (%s)\n", name, c.Settings[name], from)
	}
	var models []string
	for _, m := range e.parts.Models.List(ctx) {
		models = append(models, m.Name)
	}
	fmt.Fprintf(&b, "  Available Models: %s", strings.Join(models, ", "))
	return b.String(), nil
}

// recentEntries is how many entries /session shows.
const recentEntries = 5

func (e *Engine) cmdSession(_ context.Context, s *session, t *timeline, _ string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "💾 Session Information:\n  ID: %s\n  Title: %s\n  Created: %s\n  Last Active: %s\n", s.row.ID, s.row.Title,
		s.row.Created.UTC().Format(time.RFC3339), s.row.Used.UTC().Format(time.RFC3339))
	t.view(func() {
		fmt.Fprintf(&b, "  Conversation History: %d entries\n\nRecent entries:\n", len(t.script.entries))
		for _, x := range t.script.entries[max(0, len(t.script.entries)-recentEntries):] {
			kind := "user_input"
			if x.kind == entryReply {
				kind = "agent_response"
			}
			fmt.Fprintf(&b, "  %s [%s]: %s\n", t.script.turns[x.turn].begun.Local().Format("15:04:05"), kind, firstLine(string(x.text)))
		}
	})
	return strings.TrimRight(b.String(), "\n"), nil
}

func (e *Engine) cmdMode(ctx context.Context, s *session, _ *timeline, arg string) (string, error) {
	switch arg {
	case "":
		return "Mode: " + s.row.Mode + " (planning or executing)", nil
	case ModePlanning, ModeExecuting:
		if err := e.saveSession(ctx, s, func(row *store.Session) { row.Mode = arg }); err != nil {
			return "", err
		}
		return "✅ Mode changed to: " + arg, nil
	}
	return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown mode %q", arg), Hint: "planning or executing"}
}

func (e *Engine) cmdTools(ctx context.Context, s *session, _ *timeline, _ string) (string, error) {
	var b strings.Builder
	b.WriteString("Tools:\n")
	for _, x := range e.parts.Tools.Schemas(nil, s.row.Mode == ModePlanning) {
		fmt.Fprintf(&b, "  %-12s %-8s %s\n", x.Name, x.Category, firstLine(x.Description))
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

func (e *Engine) cmdContext(ctx context.Context, s *session, t *timeline, _ string) (string, error) {
	p, err := e.Plan(ctx, &PlanParams{SessionRef: SessionRef{SessionID: s.row.ID, BranchID: t.branch}})
	if err != nil {
		return "", err
	}
	return PlanText(p), nil
}

// PlanText is a plan in words: the context view of the terminal. What was
// found says by whom and in which place, instead of its score.
func PlanText(p *PlanResult) string {
	plan := p.Plan
	plan.Included = append([]contextplan.Item{}, p.Included...)
	for i, item := range plan.Included {
		if why := whyText(p.Labels[item.ID].Why); why != "" {
			plan.Included[i].Detail = why
		}
	}
	return contextplan.Text(plan, func(id string) string { return p.Labels[id].Label })
}

// whyMax is how many rankers are named for one item.
const whyMax = 3

// whyText says why something was found, in one line.
func whyText(list []rag.Why) string {
	var words []string
	for _, w := range list[:min(len(list), whyMax)] {
		words = append(words, fmt.Sprintf("%s #%d", w.Ranker, w.Rank))
	}
	return strings.Join(words, " · ")
}

func (e *Engine) cmdNew(ctx context.Context, _ *session, _ *timeline, arg string) (string, error) {
	s, err := e.newSession(ctx, arg, "")
	if err != nil {
		return "", err
	}
	return "New session " + s.row.ID, nil
}

func (e *Engine) cmdCost(_ context.Context, _ *session, t *timeline, _ string) (string, error) {
	var sum sums
	t.view(func() { sum = t.script.sums })
	return fmt.Sprintf("%s tokens, $%.4f: %s in %s", contextplan.Thousands(sum.tokens), sum.cost, counted(sum.calls, "model call"), counted(sum.requests, "request")), nil
}

// shortID is the beginning of an id, enough for a person.
func shortID(id string) string {
	const n = 10
	if len(id) > n {
		return id[:n] + "…"
	}
	return id
}
