package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/store"
	"github.com/agent-lsp/agent-lsp/tools"
)

//go:embed prompts/route.md
var promptRoute string

// Limits and thresholds of routing.
const (
	routeWait      = 5 * time.Second // of the router's call; then all tools are offered
	routeCacheMax  = 512             // inputs whose route is remembered
	routeInputMax  = 4000            // bytes of the input that the router reads
	fastWordsMax   = 16              // a longer turn never takes the fast path
	fastScoreMax   = 0.1             // a turn of a higher tool-need score never does
	downgradeScore = 0.1             // a broad route with a lower score becomes conversational
	broadRoute     = 3               // categories from which on a route is broad; none = all
	routerAlias    = "small"         // the model that routes, where one has this name
	builtinModel   = "builtin"
)

// routing is what a route is decided from.
type routing struct {
	asked   asked
	input   string
	builtin bool
	// knows tells whether the workspace defines a symbol of that name.
	knows func(word string) bool
}

// decide gives the route as far as rules can. sure is false where a router
// should be asked; the route is then what holds without one.
func (x routing) decide() (r cycle.Routed, sure bool) {
	score, why := x.toolNeed()
	r = cycle.Routed{Route: cycle.RouteTools, Score: score, Categories: categoryNames(x.asked.Categories)}
	chat := func(method, reason string) (cycle.Routed, bool) {
		r.Route, r.Categories, r.Method, r.Reason = cycle.RouteChat, nil, method, reason
		return r, true
	}
	switch {
	case x.asked.Chat && len(x.asked.Categories) == 0 && len(x.asked.Action) == 0:
		return chat("action", "asked for with #chat")
	case len(x.asked.Action) > 0:
		r.Categories = categoryNames(append(slices.Clone(x.asked.Action), x.asked.Categories...))
		r.Method, r.Reason = "action", x.asked.Pill+" names its categories"
		return r, true
	case len(x.asked.Categories) > 0:
		r.Method, r.Reason = "action", strings.Join(x.asked.Tags, ", ")+" named them"
		return r, true
	case x.asked.Data != "" || len(x.asked.Mentions) > 0 && score <= fastScoreMax:
		r.Score = needStart
	case smallTalk(x.input):
		return chat("fast-path", "small talk")
	}
	switch {
	case x.builtin:
		r.Method, r.Reason = "builtin", "the embedded model knows only what it finds in the workspace"
		return r, true
	case r.Score <= fastScoreMax && len(strings.Fields(x.input)) <= fastWordsMax && conceptual.MatchString(oneLower(x.input)):
		return chat("fast-path", "a short conceptual question: "+why)
	}
	r.Method, r.Reason = "rules", "all tools: "+why
	return x.calibrate(r), false
}

// calibrate downgrades a broad route of a turn that hardly needs tools.
func (x routing) calibrate(r cycle.Routed) cycle.Routed {
	if r.Route == cycle.RouteTools && (len(r.Categories) == 0 || len(r.Categories) >= broadRoute) && r.Score <= downgradeScore {
		_, why := x.toolNeed()
		r.Route, r.Categories = cycle.RouteChat, nil
		r.Method, r.Reason = "score", fmt.Sprintf("the need for tools is %.2f: %s", r.Score, why)
	}
	return r
}

func categoryNames(list []tools.Category) []string {
	var out []string
	for _, c := range allCategories {
		if slices.Contains(list, c) {
			out = append(out, string(c))
		}
	}
	return out
}

func oneLower(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// The signals of the tool-need score. Each adds to where it starts.
const needStart = 0.35

type needSignal struct {
	words string
	adds  float64
	match *regexp.Regexp
}

var (
	// conceptual are questions about things that hold in any workspace.
	conceptual = regexp.MustCompile(`^(please )?(what('s| is| are| does)|why (is|are|do|does|would|should)|when (should|would|do)|explain|describe|define|tell me (about|a joke)|compare|difference|how (do|does|would|can|should) (i|you|one|people|we)\b|is it (ok|okay|good|bad|better)|which is better|give me an? (example|overview)|who (invented|wrote|made)|can you explain|thanks|thank you|translate|what would)`)

	needSignals = []needSignal{
		{"it names a file or folder", +0.5, regexp.MustCompile(`(^|[\s"'(])[\w.-]+/[\w./-]+|\b[\w-]+\.(go|ts|tsx|js|jsx|py|rs|java|c|h|cc|cpp|cs|rb|php|lua|sh|sql|md|json|toml|yaml|yml|txt|html|css|vue|kt|swift|mod|sum)\b|\b(makefile|dockerfile|readme|changelog)\b`)},
		{"it quotes code", +0.5, regexp.MustCompile("`[^`]+`|\\b\\w+\\(\\)|\\b\\w+::\\w+")},
		{"it speaks of this workspace", +0.4, regexp.MustCompile(`\b(this|our|my|the|these|all) (code|codebase|repo|repository|project|workspace|file|files|folder|function|functions|method|class|type|package|module|test|tests|build|bug|error|crash|server|client|config|configuration|branch|commit|diff|change|changes|api|endpoint|handler|selection|line|lines|script|schema|migration|dependency|dependencies|todo|todos|app|program|tool|parser|cache|index|retry|login|database|import|imports|log|logs|logger|loop|struct|interface|benchmark|page|component|button|form)\b|\b(our|my) \w+|\bhere\b|\bworkspace\b|\bcodebase\b`)},
		{"it asks for work", +0.5, regexp.MustCompile(`(^|[.,;:]\s*|\band\s+|\bthen\s+|\bplease\s+|\b(can|could|would) you (please )?)(fix|add|implement|refactor|rename|replace|run|build|delete|remove|create|update|change|edit|move|extract|inline|insert|apply|revert|undo|migrate|port|upgrade|install|format|lint|debug|optimi[sz]e|clean|commit|deploy|write|generate|make|find|search|grep|list|show|open|read|count|check|verify|review|analy[sz]e|audit|profile|document|test|summari[sz]e|try|continue|use|set|turn|switch|put|split|merge|convert)\b`)},
		{"it asks where something is", +0.4, regexp.MustCompile(`\bwhere\b|\bwho (calls|uses)\b|\bwhich (file|function|package|test|line|module|method|class)\b|\bhow many\b|\bused\b|\bdefined\b|\bcalled\b|\bimplemented\b|\bhandled\b`)},
		{"it refers to what was said", +0.3, regexp.MustCompile(`^(it|that|this|they|and|but|so|now|again|also|instead)\b|\b(it|that one|do it|the same|them)\b`)},
		{"it asks a question of general form", -0.1, conceptual},
		{"it compares or explains terms", -0.2, regexp.MustCompile(`\b(difference between|versus|vs\.?|pros and cons|best practices?|in general|concept of|meaning of|stand for|trade-?offs?|history of|example of|idiomatic|rule of thumb)\b`)},
		{"it does a sum", -0.2, regexp.MustCompile(`\b\d+ ?[-+*/^%] ?\d+\b`)},
		{"it is about a thing of the trade", -0.2, regexp.MustCompile(`\b(golang|go|rust|python|typescript|javascript|java|c\+\+|haskell|kotlin|swift|sql|http|https|tcp|udp|tls|rest|graphql|grpc|json|yaml|regex|unicode|utf-8|docker|kubernetes|git|linux|monads?|closures?|mutex(es)?|deadlocks?|race conditions?|big o|recursion|pointers?|generics|polymorphism|inheritance|async|await|goroutines?|channels?|promises?|hash (map|table)s?|binary (tree|search)|quicksort|mergesort|cap theorem|acid|solid|dependency injection|design patterns?|microservices?|idempoten(t|cy)|eventual consistency|garbage collect(ion|or)|semver|oauth|jwt|csrf|xss|cors)\b`)},
	}
	codeWord = regexp.MustCompile(`\b([a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|\w+_\w+|[a-z]\w*\.[A-Z]\w*)\b`)
	// tradeNames look like identifiers and are none.
	tradeNames = regexp.MustCompile(`\b(TypeScript|JavaScript|GraphQL|GitHub|GitLab|PostgreSQL|MySQL|OAuth\d?|DevOps|CoffeeScript|WebSockets?|OpenAPI|IntelliJ|macOS|iOS|LaTeX)\b`)
	anyWord    = regexp.MustCompile(`\b[A-Za-z_]\w{2,}\b`)
)

// toolNeed is how probable it is that a turn needs tools, 0 to 1, and the
// signals that say so.
func (x routing) toolNeed() (float64, string) {
	score := needStart
	low := oneLower(x.input)
	var why []string
	add := func(words string, by float64) {
		score += by
		why = append(why, fmt.Sprintf("%s (%+.2f)", words, by))
	}
	for _, s := range needSignals {
		if s.match.MatchString(low) {
			add(s.words, s.adds)
		}
	}
	if codeWord.MatchString(tradeNames.ReplaceAllString(x.input, "")) {
		add("it holds an identifier", +0.4)
	}
	if w := x.known(); w != "" {
		add("the workspace defines "+w, +0.6)
	}
	if len(why) == 0 {
		why = []string{"nothing in it tells"}
	}
	return float64(int(max(0, min(1, score))*100+0.5)) / 100, strings.Join(why, ", ")
}

// known is the first word of the input that is a symbol of the workspace. A
// word of plain prose counts only when it is written as the symbol is.
func (x routing) known() string {
	if x.knows == nil {
		return ""
	}
	for i, w := range anyWord.FindAllString(x.input, knownWordsMax) {
		plain := w == strings.ToLower(w) || i == 0 && w[1:] == strings.ToLower(w[1:])
		if !plain && x.knows(w) {
			return w
		}
	}
	return ""
}

// knownWordsMax bounds the words that are looked up.
const knownWordsMax = 40

// routeOf decides where a run's turn goes, once a turn, and writes it down.
func (t *timeline) routeOf(ctx context.Context, r run.Run) error {
	x, ok := t.turnOf(r.TurnID, "")
	if !ok || x.route != nil && x.route.RunID == r.ID {
		return nil
	}
	routed, err := t.e.world.route(ctx, t, r)
	if err != nil {
		return err
	}
	if err := t.record(ctx, routed); err != nil {
		return err
	}
	t.tellRoute(r, routed)
	return nil
}

// findRoute decides it by rules, and by the router where they leave it open.
func (t *timeline) findRoute(ctx context.Context, r run.Run) (cycle.Routed, error) {
	x, ok := t.turnOf(r.TurnID, "")
	if !ok {
		return cycle.Routed{}, fmt.Errorf("there is no turn %s", r.TurnID)
	}
	begun := time.Now()
	d := t.e.routing(x, r)
	routed, sure := d.decide()
	if !sure {
		routed = t.e.askRouter(ctx, t, r, d, routed)
	}
	routed.TurnID, routed.RunID, routed.Chips, routed.Time = r.TurnID, r.ID, d.asked.chips(), t.e.now()
	routed.MS = float64(time.Since(begun).Microseconds()) / 1000
	return routed, ctx.Err()
}

// routing is the facts about a turn.
func (e *Engine) routing(x turn, r run.Run) routing {
	return routing{asked: x.extra().Asked, input: x.prompt(x.input), builtin: r.Model == builtinModel, knows: func(w string) bool {
		list, err := e.parts.Index.Definition(w)
		return err == nil && len(list) > 0
	}}
}

// tellRoute is the telemetry line of a route, with the count of its tools.
func (t *timeline) tellRoute(r run.Run, routed cycle.Routed) {
	if routed.Route == cycle.RouteChat {
		t.e.telemetry(t, r.TurnID, "Routing to CONVERSATIONAL_ONLY: no tools")
		return
	}
	t.e.telemetry(t, r.TurnID, fmt.Sprintf("Routing to %s tools: %d of them", routed.Words(), len(t.toolSchemas(r))))
}

// askRouter asks the small model for the categories, unless the same input was
// routed before. Whatever goes wrong, the route by rules holds.
func (e *Engine) askRouter(ctx context.Context, t *timeline, r run.Run, d routing, byRules cycle.Routed) cycle.Routed {
	m, err := e.parts.Models.Resolve(ctx, routerAlias)
	if err != nil || m.Name == builtinModel { // its rules are no judge of what another model needs
		byRules.Reason += "; no model is named " + routerAlias
		return byRules
	}
	out := byRules
	out.Method, out.Model, out.Route = "router", m.Name, cycle.RouteTools
	key := hashOf(m.Name + "\x00" + d.input)
	e.mu.Lock()
	kept, ok := e.routes[key]
	e.mu.Unlock()
	if ok {
		out.Method, out.Categories, out.Reason = "cache", kept, "the same input was routed before"
	} else {
		list, err := e.callRouter(ctx, t, r, m, d.input)
		if err != nil {
			byRules.Reason += "; " + m.Name + " did not route: " + firstLine(err.Error())
			return byRules
		}
		e.mu.Lock()
		if len(e.routes) >= routeCacheMax {
			clear(e.routes)
		}
		e.routes[key] = list
		e.mu.Unlock()
		out.Categories, out.Reason = list, m.Name+" said so"
	}
	if slices.Contains(out.Categories, cycle.RouteChat) {
		out.Categories = nil
		if d.asked.Data == "" && len(d.asked.Mentions) == 0 {
			out.Route = cycle.RouteChat
		}
		return out
	}
	return d.calibrate(out)
}

// callRouter makes the one call at temperature 0.
func (e *Engine) callRouter(ctx context.Context, t *timeline, r run.Run, m ResolvedModel, input string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, routeWait)
	defer cancel()
	reply, err := e.ask(ctx, t, r, m, "route", promptRoute, strings.ToValidUTF8(input[:min(len(input), routeInputMax)], ""))
	if err != nil {
		return nil, err
	}
	list := categoriesIn(reply)
	if list == nil {
		return nil, fmt.Errorf("its answer names no category: %q", firstLine(reply))
	}
	return list, nil
}

// ask makes one call beside the run's own: at temperature 0, without tools. It
// is stored as a round of its own, and counted.
func (e *Engine) ask(ctx context.Context, t *timeline, r run.Run, m ResolvedModel, purpose, system, text string) (string, error) {
	zero := 0.0
	req := model.Request{Model: m.ID, Temperature: &zero, Messages: []model.Message{{Role: model.RoleSystem, Text: system}, {Role: model.RoleUser, Text: text}}}
	begun := time.Now()
	reply, err := model.Collect(m.Name, m.Model.Stream(ctx, req))
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]any{"round": 0, "purpose": purpose, "model": m.Name, "request": req, "response": map[string]any{"text": reply.Text, "usage": reply.Done.Usage}})
	if err != nil {
		return "", err
	}
	if err := e.parts.Store.Replace(ctx, store.Artifact{Kind: store.KindRound, ID: r.ID + "/" + purpose, Session: t.session, Branch: t.branch,
		Turn: r.TurnID, Run: r.ID, Body: body}); err != nil {
		return "", storeError(err)
	}
	u := reply.Done.Usage
	return reply.Text, t.record(ctx, cycle.UsageReported{RunID: r.ID, TurnID: r.TurnID, Model: m.Name, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead,
		CacheWrite: u.CacheWrite, CostUSD: cost(m.Caps, u), Reported: u.Reported, MS: time.Since(begun).Milliseconds(), Time: e.now()})
}

// traceRoutes is a turn's routes for the trace.
func traceRoutes(list []cycle.Routed) []TraceRoute {
	out := []TraceRoute{}
	for _, r := range list {
		out = append(out, TraceRoute{Route: r.Route, Categories: append([]string{}, r.Categories...), Method: r.Method, Reason: r.Reason, Score: r.Score, Model: r.Model, MS: r.MS})
	}
	return out
}

// categoriesIn reads a router's answer: the JSON that it was asked for, with or
// without words around it, or the bare names. Prose narrows nothing, for "I will
// read the file first" says nothing of what else is needed: nil.
func categoriesIn(reply string) []string {
	if i := strings.LastIndex(reply, "</think>"); i >= 0 {
		reply = reply[i+len("</think>"):]
	}
	var said struct{ Categories []string }
	names := strings.FieldsFunc(reply, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	if i, j := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}'); i >= 0 && j > i {
		if json.Unmarshal([]byte(reply[i:j+1]), &said) != nil {
			return nil
		}
		names = said.Categories
	}
	found := map[string]bool{}
	for _, n := range names {
		n = strings.ToLower(strings.TrimSpace(n))
		if n != strings.ToLower(cycle.RouteChat) && !slices.Contains(allCategories, tools.Category(n)) {
			return nil
		}
		found[n] = true
	}
	if found[strings.ToLower(cycle.RouteChat)] && len(found) == 1 {
		return []string{cycle.RouteChat}
	}
	if found["write"] || found["shell"] { // who changes or runs must be able to look
		found["read"] = true
	}
	var out []string
	for _, c := range allCategories {
		if found[string(c)] {
			out = append(out, string(c))
		}
	}
	return out
}

// needTools is what the chat prompt lets a model say when it was routed wrongly.
const needTools = "NEED TOOLS"

// reroute repairs a wrong downgrade: once, because the next iteration has
// tools. It tells whether the reply is to be asked for again.
func (t *timeline) reroute(ctx context.Context, r run.Run, text string, calls int) (again bool, err error) {
	asks := strings.HasPrefix(strings.TrimSpace(text), needTools)
	if !asks && calls == 0 {
		return false, nil
	}
	routed := cycle.Routed{TurnID: r.TurnID, RunID: r.ID, Route: cycle.RouteTools, Method: "need-tools", Reason: "the model asked for tools", Score: 1, Time: t.e.now()}
	if err := t.record(ctx, routed); err != nil {
		return false, err
	}
	t.tellRoute(r, routed)
	return asks && calls == 0, nil
}

// rerouted tells whether a run got its tools late: it still needs evidence.
func (t *timeline) rerouted(r run.Run) (yes bool) {
	t.view(func() {
		x := t.script.turnByID(r.TurnID)
		yes = x != nil && x.retrieval == "" && x.route != nil && x.route.Method == "need-tools"
	})
	return yes
}

// conversational tells whether a call has no tools: by its turn's route, until
// somebody says more.
func (t *timeline) conversational(r run.Run) (yes bool) {
	t.view(func() {
		x := t.script.turnByID(r.TurnID)
		yes = x != nil && r.Iter <= 1 && x.route != nil && x.route.Route == cycle.RouteChat
	})
	return yes
}

// offered tells which categories a run's model is told of; nil = all.
func (t *timeline) offered(r run.Run) (list []tools.Category) {
	t.view(func() {
		x := t.script.turnByID(r.TurnID)
		if x == nil || x.route == nil {
			return
		}
		for _, c := range x.route.Categories {
			list = append(list, tools.Category(c))
		}
	})
	if len(list) > 0 {
		list = append(list, tools.CategoryMeta)
	}
	return list
}

// smallTalk tells whether a message needs no look at the workspace.
func smallTalk(s string) bool {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return (r < 'a' || r > 'z') && r != '\'' })
	if len(words) == 0 || len(words) > smallTalkWordsMax || strings.ContainsAny(s, "@/`") {
		return false
	}
	for _, w := range words {
		if !slices.Contains(smallTalkWords, w) {
			return false
		}
	}
	return true
}

const smallTalkWordsMax = 6

var smallTalkWords = strings.Fields("hi hello hey thanks thank you good morning evening afternoon bye ok okay cool great nice please yes no there agent well done how are what's up so much very perfect awesome")
