package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/tools"
)

// Instruction is a file of instructions, such as AGENTS.md.
type Instruction struct {
	Path      string `json:"path"`
	Text      string `json:"text"`
	Workspace bool   `json:"workspace,omitempty"` // it belongs to the workspace, not to its user
}

// UserCommand is a pill: a named prompt that is asked for as /name args.
type UserCommand struct {
	Name, Description, Arguments string // the name without the slash
	Categories                   []string
	Model, Mode                  string
	Body                         string
	Path                         string
	Workspace                    bool
}

// Skill is know-how that the model may read when it needs it.
type Skill struct {
	Name, Description, Body, Path string
	Workspace                     bool
}

// settingTrust is where the store keeps that the person trusts the workspace.
const settingTrust = "workspace.trusted"

// trusted tells whether the person said that what the workspace's files tell
// the agent may be followed.
func (e *Engine) trusted(ctx context.Context) bool {
	v, err := e.parts.Store.Setting(ctx, settingTrust)
	return err == nil && v == "yes"
}

// userCommands are the pills, skills included: a skill can be asked for by name.
func (e *Engine) userCommands() []UserCommand {
	var out []UserCommand
	if e.parts.Commands != nil {
		out, _ = e.parts.Commands()
	}
	for _, s := range e.skills() {
		if !slices.ContainsFunc(out, func(c UserCommand) bool { return c.Name == s.Name }) {
			out = append(out, UserCommand{Name: s.Name, Description: s.Description, Body: s.Body, Path: s.Path, Workspace: s.Workspace})
		}
	}
	return slices.DeleteFunc(out, func(c UserCommand) bool { return isStateCommand("/" + c.Name) })
}

func (e *Engine) skills() []Skill {
	if e.parts.Skills == nil {
		return nil
	}
	return e.parts.Skills()
}

// userCommand finds the pill that an input begins with.
func (e *Engine) userCommand(input string) (UserCommand, bool) {
	word := firstWord(input)
	if !isCommand(input) || isStateCommand(word) {
		return UserCommand{}, false
	}
	list := e.userCommands()
	i := slices.IndexFunc(list, func(c UserCommand) bool { return "/"+c.Name == word })
	if i < 0 {
		return UserCommand{}, false
	}
	return list[i], true
}

// usePill puts a pill's text and settings into what was asked. The text of a
// workspace that is not trusted is data, and its settings count for nothing.
func (a *asked) usePill(c UserCommand, input string, trusted bool) error {
	a.Pill = "/" + c.Name
	args := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(input), a.Pill))
	if c.Workspace && !trusted {
		a.Data, a.DataFrom = c.Body, c.Path
		return nil
	}
	a.Prompt = expand(c.Body, args)
	for _, name := range c.Categories {
		category := tools.Category(strings.ToLower(name))
		if !slices.Contains(allCategories, category) {
			return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("%s: there is no category %q", c.Path, name), Hint: "categories are " + words(allCategories)}
		}
		a.Action = append(a.Action, category)
	}
	switch c.Mode {
	case "", ModeExecuting:
	case ModePlanning:
		a.Planning = true
	default:
		return &Error{Code: CodeBadRequest, Message: fmt.Sprintf("%s: unknown mode %q", c.Path, c.Mode), Hint: "executing or planning"}
	}
	for _, m := range mentionsOf(c.Body) {
		if !slices.Contains(a.Mentions, m) {
			a.Mentions = append(a.Mentions, m)
		}
	}
	return nil
}

// allCategories in the order in which they are shown.
var allCategories = []tools.Category{tools.CategoryRead, tools.CategorySearch, tools.CategoryWrite, tools.CategoryShell, tools.CategoryWeb, tools.CategoryMeta}

func words[T ~string](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return strings.Join(out, ", ")
}

var argumentMark = regexp.MustCompile(`\$ARGUMENTS\b|\{\{\s*args\s*\}\}|\$[1-9]`)

// expand puts a pill's arguments in their places: $ARGUMENTS or {{args}} is all
// of them, $1 to $9 one word each. A text without a place gets them at its end.
func expand(body, args string) string {
	if !argumentMark.MatchString(body) {
		if args == "" {
			return body
		}
		return body + "\n\n" + args
	}
	fields := strings.Fields(args)
	return argumentMark.ReplaceAllStringFunc(body, func(m string) string {
		n, err := strconv.Atoi(m[1:])
		switch {
		case err != nil:
			return args
		case n <= len(fields):
			return fields[n-1]
		}
		return ""
	})
}

// cmdTrust shows whether the workspace is trusted, or says so.
func (e *Engine) cmdTrust(ctx context.Context, _ *session, _ *timeline, arg string) (string, error) {
	switch arg {
	case "":
	case "on", "off":
		v := map[string]string{"on": "yes", "off": "no"}[arg]
		if err := e.parts.Store.SetSetting(ctx, settingTrust, v); err != nil {
			return "", storeError(err)
		}
	default:
		return "", &Error{Code: CodeBadRequest, Message: fmt.Sprintf("unknown word %q", arg), Hint: "/trust on or /trust off"}
	}
	if e.trusted(ctx) {
		return "This workspace is trusted: its AGENTS.md, commands and skills are followed. /trust off takes that back.", nil
	}
	return "This workspace is not trusted: its AGENTS.md, commands and skills are shown to the model as data only. /trust on changes that.", nil
}

// cmdPin shows the pins, pins something or takes it back.
func (e *Engine) cmdPin(ctx context.Context, s *session, t *timeline, arg string) (string, error) {
	p := PinParams{SessionRef: SessionRef{SessionID: s.row.ID, BranchID: t.branch}}
	var r *PinResult
	var err error
	if arg == "" {
		r = t.pinResult()
	} else {
		name, off := strings.CutPrefix(arg, "-")
		m := readMention(strings.TrimPrefix(strings.TrimSpace(name), "@"))
		switch {
		case strings.HasPrefix(m.Text, "msg:"), strings.HasPrefix(m.Text, "reply:"):
			p.MessageID = m.Text
		default:
			if p.URI = m.Text; !slices.Contains(e.parts.Paths(ctx), m.Text) {
				return "", &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no file %q in the workspace", m.Text), Hint: "/pin path, /pin path:10-20, /pin -path"}
			}
			if m.Start > 0 {
				p.Range = &Range{Start: Position{Line: m.Start - 1}, End: Position{Line: m.End - 1}}
			}
		}
		if off {
			r, err = e.Unpin(ctx, &p)
		} else {
			r, err = e.Pin(ctx, &p)
		}
	}
	if err != nil {
		return "", err
	}
	if len(r.Pins) == 0 {
		return "Nothing is pinned. /pin path keeps a file in every plan.", nil
	}
	var b strings.Builder
	for _, x := range r.Pins {
		what := "pinned"
		if x.Excluded {
			what = "kept out"
		} else if !x.Pinned {
			what = "expires"
		}
		fmt.Fprintf(&b, "%s: %s\n", what, x.Label)
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// guidance is what files tell the agent for a turn: instructions, and the
// names of the skills. It is read once a turn, so that requests only grow.
func (t *timeline) guidance(ctx context.Context, turnID string) []Instruction {
	t.mu.Lock()
	kept, ok := t.guided[turnID]
	t.mu.Unlock()
	if ok {
		return kept
	}
	e := t.e
	trusted := e.trusted(ctx)
	out := []Instruction{}
	for _, in := range e.parts.Instructions(t.pathsOf(turnID)) {
		text := "Instructions from " + in.Path + ". Follow them; where two differ, the later one is nearer and wins.\n" + in.Text
		if in.Workspace && !trusted {
			text = dataBlock("project instructions, "+in.Path, in.Text)
		}
		out = append(out, Instruction{Path: in.Path, Text: text, Workspace: in.Workspace})
	}
	var b strings.Builder
	for _, s := range e.skills() {
		if trusted || !s.Workspace {
			fmt.Fprintf(&b, "- %s: %s\n", s.Name, s.Description)
		}
	}
	if b.Len() > 0 {
		out = append(out, Instruction{Path: "skills", Text: "Skills: know-how that you can read with the skill tool before you do such work.\n" + strings.TrimRight(b.String(), "\n")})
	}
	t.mu.Lock()
	clear(t.guided)
	t.guided[turnID] = out
	t.mu.Unlock()
	return out
}

// pathsOf is the files that a turn's message is about, for instructions that
// stand nearer to them.
func (t *timeline) pathsOf(turnID string) []string {
	var extra submitExtra
	t.view(func() {
		if x := t.script.turnByID(turnID); x != nil {
			extra = x.extra()
		}
	})
	var out []string
	if extra.Focus != nil {
		if p := t.e.relative(extra.Focus.URI); p != "" {
			out = append(out, p)
		}
	}
	for _, a := range extra.Attachments {
		if p := t.e.relative(a.URI); p != "" {
			out = append(out, p)
		}
	}
	for _, m := range extra.Asked.Mentions {
		if m.Kind == mentionPath {
			out = append(out, m.Text)
		}
	}
	return out
}

type skillIn struct {
	Name string `json:"name" jsonschema:"the skill's name"`
}

// skillTool gives a skill's text on demand.
func skillTool(e *Engine) tools.Tool {
	return tools.Typed(tools.Spec{Name: skillName, Description: "Read a skill: know-how that the person wrote down for this kind of work. The list of skills is in your instructions.",
		Category: tools.CategoryMeta, ReadOnly: true, OutputMax: 32 << 10},
		func(in skillIn) string { return in.Name },
		func(ctx context.Context, _ tools.Env, in skillIn) tools.Result {
			var names []string
			for _, s := range e.skills() {
				if s.Workspace && !e.trusted(ctx) {
					continue
				}
				if s.Name == in.Name {
					return tools.Result{Status: tools.StatusOK, Text: s.Body, Detail: tools.Detail{Summary: s.Path}}
				}
				names = append(names, s.Name)
			}
			return tools.Fail(fmt.Sprintf("there is no skill %q; there are: %s", in.Name, strings.Join(names, ", ")), "unknown skill")
		})
}

const skillName = "skill"

// hasSkills tells whether the model is told of any skill.
func (e *Engine) hasSkills(ctx context.Context) bool {
	trusted := e.trusted(ctx)
	return slices.ContainsFunc(e.skills(), func(s Skill) bool { return trusted || !s.Workspace })
}

// planningTurn tells whether a run may neither write nor execute: by its
// session's mode, or by what its message asked for.
func (t *timeline) planningTurn(turnID string) bool {
	if t.e.planning(t) {
		return true
	}
	yes := false
	t.view(func() {
		if x := t.script.turnByID(turnID); x != nil {
			yes = x.extra().Asked.Planning
		}
	})
	return yes
}

// classifyAsked says what kind of input a message is; a pill is a command.
func classifyAsked(a asked, input string) Classification {
	if a.Pill != "" {
		return Classification{Type: "command", Confidence: 1, Method: "user-command", Metadata: map[string]any{"commandName": a.Pill}}
	}
	return classify(input)
}

// readPill takes an input apart, its pill included.
func (e *Engine) readPill(ctx context.Context, input string) (a asked, once bool, model string, err error) {
	a, once = readInput(input)
	if c, ok := e.userCommand(input); ok {
		trusted := e.trusted(ctx)
		if err = a.usePill(c, input, trusted); err == nil && (trusted || !c.Workspace) {
			model = c.Model
		}
	}
	return a, once, model, err
}
