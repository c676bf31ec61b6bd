package rpc

import (
	"context"
	"fmt"
	"strings"

	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
)

// lensParams and actionParams leave the client's URIs as they are; see sync.go.
type (
	lensParams struct {
		TextDocument documentID `json:"textDocument"`
	}
	actionParams struct {
		TextDocument documentID  `json:"textDocument"`
		Range        agent.Range `json:"range"`
		Context      struct {
			Diagnostics []diagnostic         `json:"diagnostics"`
			Only        []lsp.CodeActionKind `json:"only"`
			TriggerKind int                  `json:"triggerKind"` // 1 invoked, 2 automatic
		} `json:"context"`
	}
	diagnostic struct {
		Range   agent.Range `json:"range"`
		Message any         `json:"message"` // text, or since LSP 3.18 markup
		Source  string      `json:"source"`
	}
)

// automatic is the trigger of a request that nobody made: an editor looks
// whether to show a light bulb.
const automatic = 2

// codeLens puts the decisions over every pending hunk of a document.
func (s *Server) codeLens(ctx context.Context, p *lensParams) ([]lsp.CodeLens, error) {
	e, err := s.gate.wait(ctx)
	if err != nil {
		return nil, err
	}
	edits, err := e.Edits(ctx, &agent.EditsParams{URI: p.TextDocument.URI})
	if err != nil {
		return nil, err
	}
	out := []lsp.CodeLens{}
	for _, h := range edits.Hunks {
		at := lsp.Range{Start: toPosition(agent.Position{Line: h.Range.Start.Line}), End: toPosition(agent.Position{Line: h.Range.Start.Line})}
		for _, c := range hunkCommands(h, len(edits.Hunks)) {
			out = append(out, lsp.CodeLens{Range: at, Command: c})
		}
	}
	return out, nil
}

// hunkCommands are the decisions on a hunk and on its file, which has n.
func hunkCommands(h agent.Hunk, n int) []lsp.Command {
	hunk := []lsp.LSPAny{raw(commandArgs{HunkIDs: []string{h.HunkID}})}
	file := []lsp.LSPAny{raw(commandArgs{URI: h.URI})}
	mark := ""
	if h.Status == "conflict" {
		mark = " (conflict)"
	}
	tip := fmt.Sprintf("%d pending in this file", n)
	return []lsp.Command{
		{Title: "Accept" + mark, Command: "agent.accept", Arguments: hunk},
		{Title: "Reject" + mark, Command: "agent.reject", Arguments: hunk},
		{Title: "Accept file", Command: "agent.acceptFile", Arguments: file, Tooltip: &tip},
		{Title: "Reject file", Command: "agent.rejectFile", Arguments: file, Tooltip: &tip},
	}
}

// codeAction offers what the agent can do with the selection or the problems
// in it, and the decisions on the hunks that it touches.
func (s *Server) codeAction(ctx context.Context, p *actionParams) ([]lsp.CommandOrCodeAction, error) {
	name := p.TextDocument.URI
	if p.Context.TriggerKind != automatic {
		s.docs.pointAt(name, p.Range.Start)
	}
	actions := []lsp.CodeAction{}
	if e, err := s.gate.wait(ctx); err != nil {
		return nil, err
	} else if edits, err := e.Edits(ctx, &agent.EditsParams{URI: name}); err != nil {
		s.log.Warn("pending hunks can't be listed", "uri", name, "error", err)
	} else {
		for _, h := range edits.Hunks {
			if overlaps(h.Range, p.Range) || h.Range.Start.Line == p.Range.Start.Line {
				actions = append(actions, hunkActions(h, len(edits.Hunks))...)
			}
		}
	}
	selected := p.Range.Start != p.Range.End
	if selected || len(p.Context.Diagnostics) > 0 || p.Context.TriggerKind != automatic {
		actions = append(actions, askActions(p)...)
	}
	out := []lsp.CommandOrCodeAction{}
	for i := range actions {
		switch a := &actions[i]; {
		case !wanted(*a.Kind, p.Context.Only):
		case s.peer.caps.codeActionLiterals:
			out = append(out, a)
		default:
			out = append(out, &a.Command)
		}
	}
	return out, nil
}

// hunkActions are hunkCommands under titles that stand alone in a menu.
func hunkActions(h agent.Hunk, n int) []lsp.CodeAction {
	titles := []string{"Agent: accept hunk", "Agent: reject hunk", "Agent: accept file", "Agent: reject file"}
	var out []lsp.CodeAction
	for i, c := range hunkCommands(h, n) {
		out = append(out, action(titles[i], lsp.CodeActionKindQuickFix, c))
	}
	return out
}

// askActions are the questions that need no typing, and the one that does.
func askActions(p *actionParams) []lsp.CodeAction {
	focus := &agent.Focus{URI: p.TextDocument.URI, Range: &p.Range}
	attach := []agent.Attachment{}
	if p.Range.Start != p.Range.End {
		attach = append(attach, agent.Attachment{URI: p.TextDocument.URI, Range: &p.Range, Kind: "selection"})
	}
	ask := func(title string, kind lsp.CodeActionKind, input string) lsp.CodeAction {
		return action(title, kind, lsp.Command{Command: "agent.submit", Arguments: []lsp.LSPAny{
			raw(commandArgs{Input: input, Focus: focus, Attachments: attach}),
		}})
	}
	what := "the selected code"
	if len(attach) == 0 {
		what = fmt.Sprintf("the code at line %d", p.Range.Start.Line+1)
	}
	fixKind, fix := lsp.CodeActionKindRefactorRewrite, "Fix what is wrong with "+what+"."
	if problems := p.Context.Diagnostics; len(problems) > 0 {
		fixKind, fix = lsp.CodeActionKindQuickFix, "Fix "+describe(problems)
	}
	edit := action("Agent: edit with instruction…", lsp.CodeActionKindRefactorRewrite, lsp.Command{
		Command: "agent.edit", Arguments: []lsp.LSPAny{raw(commandArgs{Focus: focus, Attachments: attach})},
	})
	return []lsp.CodeAction{
		ask("Agent: fix", fixKind, fix),
		ask("Agent: explain", lsp.CodeActionKindRefactor, "Explain "+what+"."),
		ask("Agent: write a test", lsp.CodeActionKindRefactor, "Write a test for "+what+"."),
		edit,
	}
}

// problemsMax bounds the diagnostics that one "fix" names.
const problemsMax = 20

// describe says what a person would copy from the list of problems.
func describe(problems []diagnostic) string {
	var b strings.Builder
	if len(problems) == 1 {
		b.WriteString("this problem:")
	} else {
		b.WriteString("these problems:")
	}
	for i, d := range problems {
		if i == problemsMax {
			fmt.Fprintf(&b, "\nand %d more", len(problems)-i)
			break
		}
		text, ok := d.Message.(string)
		if markup, isMap := d.Message.(map[string]any); !ok && isMap {
			text, _ = markup["value"].(string)
		}
		fmt.Fprintf(&b, "\nline %d: %s", d.Range.Start.Line+1, cut(text, promptBytes/4))
		if d.Source != "" {
			fmt.Fprintf(&b, " (%s)", d.Source)
		}
	}
	return b.String()
}

func action(title string, kind lsp.CodeActionKind, c lsp.Command) lsp.CodeAction {
	c.Title = title
	return lsp.CodeAction{Title: title, Kind: &kind, Command: c}
}

// wanted tells whether a kind is among those asked for; refactor asks for
// refactor.rewrite too.
func wanted(kind lsp.CodeActionKind, only []lsp.CodeActionKind) bool {
	for _, o := range only {
		if o == "" || kind == o || strings.HasPrefix(string(kind), string(o)+".") {
			return true
		}
	}
	return len(only) == 0
}
