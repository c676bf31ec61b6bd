package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/tools"
)

// After edits the model is told what it broke: what the editor's language
// servers report now and did not report before, or, where no editor can say,
// what the configured check command says. Of files that are in no editor, and
// without such a command, it is told what our own parsers find.

// Limits of the feedback on edits.
const (
	checkedDocsMax  = 16                     // open documents that are asked about
	checkShownMax   = 20                     // problems, or lines of a check's output, in one feedback
	checkLineMax    = 300                    // bytes of one of them
	checkAskMax     = 2 * time.Second        // for the editor to answer about one document
	checkSettle     = 300 * time.Millisecond // for language servers to take an edit in
	checkEvery      = 50 * time.Millisecond  // how often they are asked in that time
	checkCommandMax = time.Minute            // of the check command
	OpDiagnostics   = "diagnostics"          // of agent/editor
)

// checks is what a timeline knows of the problems in its workspace. It is the
// live world's: a replay takes what was told from the log.
type checks struct {
	mu      sync.Mutex
	run     string                    // the run that the rest is about
	wrote   bool                      // something was written since the last look
	paths   []string                  // all that the run wrote
	editor  map[string]int            // problems that were there or are told, without their places, by how often
	command map[string]int            // lines of the check's output, likewise
	syntax  map[string]map[string]int // by path: what our parsers find in it, likewise
}

// before looks at what is wrong already, once in a run, right before its first
// write; and in each file right before the first write to it.
func (c *checks) before(ctx context.Context, e *Engine, r run.Run, writes string, files tools.Files) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != r.ID {
		c.begin(ctx, e, r)
	}
	if p := path.Clean(e.relative(writes)); c.syntax[p] == nil {
		c.syntax[p] = tally(syntaxOf(ctx, files, p))
	}
}

func (c *checks) begin(ctx context.Context, e *Engine, r run.Run) {
	c.run, c.wrote, c.paths, c.command, c.syntax = r.ID, false, nil, nil, map[string]map[string]int{}
	found, answered := e.problems(ctx, nil)
	c.editor = tally(found)
	if !answered {
		if lines, ok := e.check(ctx); ok {
			c.command = tallyLines(lines)
		}
	}
}

// after notes a write.
func (c *checks) after(e *Engine, paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = true
	for _, p := range paths {
		p = path.Clean(e.relative(p))
		if !slices.Contains(c.paths, p) {
			c.paths = append(c.paths, p)
		}
	}
}

// feedback is what is wrong now and was not before, in words; "" for nothing.
// It waits a little after a write, for language servers take their time; what
// they report later still is told before the run's next call.
func (c *checks) feedback(ctx context.Context, e *Engine, r run.Run, files tools.Files) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.run != r.ID || len(c.paths) == 0 {
		return ""
	}
	wrote := c.wrote
	c.wrote = false
	found, answered := e.problems(ctx, c.paths)
	if !answered {
		if !wrote {
			return ""
		}
		if e.settings().Check == "" || e.parts.Shell == nil {
			return c.parsed(ctx, files, nil)
		}
		return c.checked(ctx, e)
	}
	for until := time.Now().Add(checkSettle); wrote && len(fresh(found, c.editor)) == 0 && time.Now().Before(until); {
		if !e.world.wait(ctx, checkEvery) {
			return ""
		}
		found, _ = e.problems(ctx, c.paths)
	}
	said := fresh(found, c.editor)
	c.editor = tally(found)
	return joinLines(problemWords("the editor reports", said), c.parsed(ctx, files, e.parts.Edits.OpenDocs()))
}

// parsed is what our own parsers find in the files that were written, but for
// those that an editor reports on.
func (c *checks) parsed(ctx context.Context, files tools.Files, reported []string) string {
	var said []tools.Diagnostic
	for _, p := range c.paths {
		if slices.Contains(reported, p) {
			continue
		}
		found := syntaxOf(ctx, files, p)
		if len(c.syntax[p]) == 0 { // else it was broken before, and what a parser makes of the rest is a guess
			said = append(said, found...)
		}
		c.syntax[p] = tally(found)
	}
	return problemWords("a check of the syntax finds", said)
}

func joinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// syntaxOf checks one file; one that can't be read has nothing to find.
func syntaxOf(ctx context.Context, files tools.Files, p string) []tools.Diagnostic {
	f, err := files.Read(ctx, p)
	if err != nil {
		return nil
	}
	found, _ := tools.Syntax(p, f.Data)
	return found
}

func (c *checks) checked(ctx context.Context, e *Engine) string {
	lines, ok := e.check(ctx)
	if !ok {
		return ""
	}
	known := c.command
	c.command = tallyLines(lines)
	var said []string
	for _, l := range lines {
		if key := placeless(l); known[key] > 0 {
			known[key]--
		} else {
			said = append(said, clipLine(l))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("After these edits the check %q says what it did not say before:\n%s", e.settings().Check, dataBlock("the check's output", firstLines(said)))
}

// problemWords lists problems for the model, and says who found them.
func problemWords(who string, said []tools.Diagnostic) string {
	if len(said) == 0 {
		return ""
	}
	var lines []string
	for _, d := range said {
		l := fmt.Sprintf("%s:%d:%d %s: %s", d.Path, d.Line, d.Col, d.Severity, firstLine(d.Message))
		if d.Source != "" {
			l += " [" + d.Source + "]"
		}
		lines = append(lines, clipLine(l))
	}
	return fmt.Sprintf("After these edits %s %s that it did not report before:\n%s", who, counted(len(said), "problem"), dataBlock("problems", firstLines(lines)))
}

func firstLines(list []string) string {
	if more := len(list) - checkShownMax; more > 0 {
		list = append(slices.Clone(list[:checkShownMax]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "\n")
}

func clipLine(s string) string {
	if len(s) <= checkLineMax {
		return s
	}
	return strings.ToValidUTF8(s[:checkLineMax], "") + "…"
}

// problemKey names a problem without its place: edits above move it.
func problemKey(d tools.Diagnostic) string {
	return d.Path + "\x00" + d.Severity + "\x00" + d.Source + "\x00" + d.Message
}

func tally(list []tools.Diagnostic) map[string]int {
	out := map[string]int{}
	for _, d := range list {
		out[problemKey(d)]++
	}
	return out
}

// fresh gives the problems beyond those that are known, in order.
func fresh(list []tools.Diagnostic, known map[string]int) []tools.Diagnostic {
	left := map[string]int{}
	for k, n := range known {
		left[k] = n
	}
	var out []tools.Diagnostic
	for _, d := range list {
		if k := problemKey(d); left[k] > 0 {
			left[k]--
		} else {
			out = append(out, d)
		}
	}
	return out
}

var numbers = regexp.MustCompile(`\d+`)

// placeless is a line of a check's output without its numbers: places, times.
func placeless(line string) string { return numbers.ReplaceAllString(line, "0") }

func tallyLines(lines []string) map[string]int {
	out := map[string]int{}
	for _, l := range lines {
		out[placeless(l)]++
	}
	return out
}

// check runs the configured check command, as any command that the person
// permitted: sandboxed, without network. ok is false where there is none. A
// check that succeeds says nothing, whatever it writes.
func (e *Engine) check(ctx context.Context) (lines []string, ok bool) {
	line := e.settings().Check
	if line == "" || e.parts.Shell == nil {
		return nil, false
	}
	res, err := e.parts.Shell.Run(ctx, tools.Command{Line: line, Dir: e.parts.Root, Timeout: checkCommandMax, Output: func(string) {},
		Opens: e.parts.Permissions.Policy().Opens(line), Edited: e.openInEditor})
	switch {
	case ctx.Err() != nil:
		return nil, false
	case err != nil:
		e.logf("the check %q could not be run: %v", line, err)
		return nil, false
	case res.ExitCode == 0:
		return nil, true
	}
	for l := range strings.SplitSeq(res.Output, "\n") {
		if l = strings.TrimRight(l, " \t\r"); l != "" {
			lines = append(lines, l)
		}
	}
	if res.TimedOut {
		lines = append(lines, fmt.Sprintf("it was not over within %s", checkCommandMax))
	}
	return lines, true
}

// problems asks the editors for errors and warnings in the open documents,
// those at the named paths first. answered is false where none can say.
func (e *Engine) problems(ctx context.Context, first []string) (found []tools.Diagnostic, answered bool) {
	docs := e.parts.Edits.OpenDocs()
	slices.SortStableFunc(docs, func(a, b string) int {
		return boolInt(slices.Contains(first, b)) - boolInt(slices.Contains(first, a))
	})
	docs = docs[:min(len(docs), checkedDocsMax)]
	slices.Sort(docs)
	for _, p := range docs {
		list, ok := e.problemsOf(ctx, p)
		answered = answered || ok
		for _, d := range list {
			if d.Severity == "error" || d.Severity == "warning" {
				found = append(found, d)
			}
		}
	}
	return found, answered
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lspDiagnostic is what an editor answers, as LSP has it.
type lspDiagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity"`
	Source   string          `json:"source"`
	Message  json.RawMessage `json:"message"` // text, or since LSP 3.18 markup
}

var severities = map[int]string{0: "error", 1: "error", 2: "warning", 3: "info", 4: "hint"}

// problemsOf asks about one document whoever can answer.
func (e *Engine) problemsOf(ctx context.Context, p string) (found []tools.Diagnostic, answered bool) {
	e.each(func(c Client) {
		if answered || !slices.Contains(c.Caps().EditorOps, OpDiagnostics) {
			return
		}
		ctx, cancel := context.WithTimeout(ctx, checkAskMax)
		defer cancel()
		answer, err := c.Editor(ctx, EditorParams{Op: OpDiagnostics, URI: e.uri(p)})
		var list []lspDiagnostic
		if err != nil || string(answer) == "null" || json.Unmarshal(answer, &list) != nil {
			return
		}
		answered = true
		column := e.columns(c, p)
		for _, d := range list {
			found = append(found, tools.Diagnostic{Path: p, Line: d.Range.Start.Line + 1, Col: column(d.Range.Start),
				Severity: severities[d.Severity], Source: d.Source, Message: d.words()})
		}
	})
	return found, answered
}

// columns turns a client's positions in a file into columns as the model reads
// them, in characters from 1, whichever units the client counts in.
func (e *Engine) columns(c Client, p string) func(Position) int {
	data, err := e.parts.SourceText(p)
	if err != nil {
		return func(at Position) int { return at.Character + 1 }
	}
	index := text.NewIndex(string(data))
	return func(at Position) int {
		off := index.Offset(text.Position{Line: at.Line, Col: at.Character}, text.Encoding(c.Caps().Encoding))
		return index.Position(off, text.UTF32).Col + 1
	}
}

func (d lspDiagnostic) words() string {
	var s string
	if json.Unmarshal(d.Message, &s) == nil {
		return s
	}
	var markup struct{ Value string }
	_ = json.Unmarshal(d.Message, &markup) // neither: a problem without words
	return markup.Value
}

// Diagnostics implements tools.Diagnoser: what the editor's language servers
// report now, of a file, of all open documents below a folder, or of all.
func (e *Engine) Diagnostics(ctx context.Context, below string) ([]tools.Diagnostic, error) {
	below = path.Clean("/" + e.relative(below))[1:]
	var out []tools.Diagnostic
	asked, answered := 0, false
	for _, p := range e.parts.Edits.OpenDocs() {
		if below != "" && p != below && !strings.HasPrefix(p, below+"/") || asked == checkedDocsMax {
			continue
		}
		asked++
		list, ok := e.problemsOf(ctx, p)
		answered = answered || ok
		out = append(out, list...)
	}
	switch {
	case answered:
		return out, nil
	case asked == 0:
		return nil, fmt.Errorf("no document%s is open in an editor, so no language server reports on it; run the project's own check with bash", inFolder(below))
	}
	return nil, fmt.Errorf("no language server is at work in the editor; run the project's own check with bash")
}

func inFolder(p string) string {
	if p == "" {
		return ""
	}
	return " at " + p
}

// tellFeedback notes what the last edits broke.
func (t *timeline) tellFeedback(ctx context.Context, r run.Run) error {
	said := t.e.world.feedback(ctx, t, r)
	if said == "" || ctx.Err() != nil {
		return nil
	}
	return t.record(ctx, cycle.FeedbackTold{RunID: r.ID, TurnID: r.TurnID, Text: said, Time: t.e.now()})
}
