package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/agent-lsp/agent-lsp/tools"
)

// askCmd is the terminal client. It speaks the same protocol as the editors,
// to a server of its own.
type askCmd struct {
	Question []string `arg:"" optional:"" help:"What you want. Without it, it is read from standard input; with --continue or --session, what pends is reviewed."`

	Dir      string   `type:"path" help:"The folder to work in; the current one when left out."`
	Session  string   `help:"Go on in this session; a new one when left out."`
	Continue bool     `short:"c" help:"Go on in the folder's latest session."`
	Model    string   `short:"m" help:"Use this model: provider/name or an alias."`
	Scope    []string `help:"Keep to this path or glob; may be given several times."`
	FollowUp bool     `help:"What you type while it works waits for its turn, instead of steering what is under way."`

	Yes     bool     `short:"y" help:"Accept all hunks. Commands still need --allow."`
	NoEdits bool     `help:"Write nothing: hunks are only shown."`
	Allow   []string `placeholder:"RULE" help:"Permit what a rule says, such as 'bash(go test *)'; may be given several times."`

	Plan    bool `help:"Show the whole context plan."`
	JSON    bool `name:"json" help:"Print one JSON object and nothing else on standard output."`
	NoColor bool `help:"No colours. NO_COLOR in the environment does the same."`
	ASCII   bool `name:"ascii" help:"Plain ASCII instead of glyphs."`
}

// Exit codes of ask beside 0.
const (
	exitFailed      = 1   // the run failed
	exitUsage       = 2   // the command line is wrong
	exitInterrupted = 130 // the person stopped it
)

// usageError is a mistake in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// Run asks, shows what happens, and lets the person decide.
func (c askCmd) Run(_ context.Context, s streams) error {
	a, err := newAsk(c, s)
	if err == nil {
		defer a.close()
		err = a.run()
	}
	var usage usageError
	var exit exitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit):
		return exit
	case errors.As(err, &usage):
		fmt.Fprintln(s.err, "agent-lsp:", err)
		fmt.Fprintln(s.err, "agent-lsp ask --help says more")
		return exitError(exitUsage)
	}
	a.say(err.Error())
	return exitError(exitFailed)
}

// check finds what is wrong with the command line, and gives the folder and
// the question. An empty question is a review of what pends.
func (c askCmd) check(in io.Reader) (dir, question string, err error) {
	dir = c.Dir
	if dir == "" {
		if dir, err = workingDir(); err != nil {
			return "", "", err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", usageError(fmt.Sprintf("the folder %s can't be used: %v", c.Dir, err))
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", usageError(fmt.Sprintf("%s is no folder; --dir names the folder to work in", dir))
	}
	switch {
	case c.Yes && c.NoEdits:
		return "", "", usageError("--yes accepts the hunks and --no-edits writes none: give one of them")
	case c.Session != "" && c.Continue:
		return "", "", usageError("--session names a session and --continue takes the latest: give one of them")
	}
	for _, rule := range c.Allow {
		if _, err := tools.NewRule(strings.TrimSuffix(strings.TrimSpace(rule), "= allow"), "allow", tools.SourceUser); err != nil {
			return "", "", usageError("--allow: " + err.Error())
		}
	}
	question = strings.Join(c.Question, " ")
	if question == "-" || question == "" && !terminalReader(in) {
		data, err := io.ReadAll(io.LimitReader(in, questionMax+1))
		if err != nil {
			return "", "", fmt.Errorf("the question can't be read from standard input: %w", err)
		}
		if len(data) > questionMax {
			return "", "", usageError(fmt.Sprintf("the question on standard input has more than %d bytes; put it into a file and name the file", questionMax))
		}
		question = string(data)
	}
	if strings.TrimSpace(question) == "" && c.Session == "" && !c.Continue {
		return "", "", usageError(`ask needs a question, as in: agent-lsp ask "where are cookies parsed?"`)
	}
	return dir, strings.TrimSpace(question), nil
}

// questionMax bounds a question that comes from standard input.
const questionMax = 8 << 20

// settings are the command line as an editor would send it.
func (c askCmd) settings() map[string]any {
	out := map[string]any{}
	if c.Model != "" {
		out["model"] = c.Model
	}
	return out
}

func terminalReader(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// allow is the rules that go with each message: they hold for its run alone,
// also where another window's server runs it.
func (c askCmd) allow() []string {
	var rules []string
	for _, r := range c.Allow {
		rules = append(rules, strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(r), "= allow")))
	}
	return rules
}
