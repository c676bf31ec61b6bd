package tools

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

//go:embed bash.md
var bashWords string

// Limits of one command.
const (
	bashTimeout    = 2 * time.Minute
	bashTimeoutMax = 30 * time.Minute
	bashCommandMax = 64 << 10
	bashOutputMax  = 64 << 10
	hiddenShown    = 5  // hidden files that a failing command's result names
	putBackShown   = 20 // guarded files that a result names
)

type bashIn struct {
	Command     string  `json:"command" jsonschema:"what to run, by bash, in the workspace"`
	Timeout     float64 `json:"timeout,omitempty" jsonschema:"seconds, 120 when left out, at most 1800"`
	Description string  `json:"description,omitempty" jsonschema:"what it does, in a few words, for the person"`
}

// Bash runs a command in the workspace.
func Bash() Tool {
	return Typed(Spec{
		Name: "bash", Description: bashWords, Category: CategoryShell, OutputMax: bashOutputMax,
	}, func(in bashIn) string { return in.Command }, runBash)
}

func runBash(ctx context.Context, env Env, in bashIn) Result {
	if err := in.check(); err != nil {
		return Fail("bash: "+err.Error(), "bad arguments")
	}
	if env.Shell == nil {
		r := Fail("bash: no commands can be run here", "no shell")
		r.Detail.Blocked = true
		return r
	}
	timeout := bashTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(min(in.Timeout, bashTimeoutMax.Seconds()) * float64(time.Second))
	}
	res, err := env.Shell.Run(ctx, Command{
		Line: in.Command, Dir: env.Root, Timeout: timeout, Output: env.Output,
		Network: ParseShell(in.Command).Network, Opens: env.opens(in.Command), Edited: env.Edited,
	})
	if err != nil && ctx.Err() == nil && len(res.PutBack) == 0 {
		return failErr("bash", err)
	}
	return bashResult(res, timeout, ctx.Err() != nil)
}

func (in bashIn) check() error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return fmt.Errorf("command is empty")
	case len(in.Command) > bashCommandMax:
		return fmt.Errorf("the command is %d bytes long, the limit is %d; write a script file", len(in.Command), bashCommandMax)
	case strings.ContainsRune(in.Command, 0) || !utf8.ValidString(in.Command):
		return fmt.Errorf("the command holds bytes that are no text")
	case in.Timeout < 0:
		return fmt.Errorf("timeout must not be negative")
	}
	return nil
}

func (e Env) opens(line string) func(string, bool) bool {
	if e.Opens == nil {
		return nil
	}
	return e.Opens(line)
}

// bashResult says how it ended: a failing command is a result for the model to
// look at, with the status error.
func bashResult(res CommandResult, timeout time.Duration, stopped bool) Result {
	code, sandboxed := res.ExitCode, res.Sandboxed
	r := Result{Status: StatusOK, Detail: Detail{ExitCode: &code, Sandboxed: &sandboxed, Sandbox: res.Note, Truncated: res.Truncated}}
	var b strings.Builder
	b.WriteString(strings.ToValidUTF8(res.Output, "\ufffd"))
	if res.Output != "" && !strings.HasSuffix(res.Output, "\n") {
		b.WriteByte('\n')
	}
	switch {
	case stopped:
		r.Status, r.Detail.Summary = StatusCancelled, "cancelled"
		b.WriteString("[cancelled; the command and all that it started were ended]\n")
	case res.TimedOut:
		r.Status, r.Detail.Summary = StatusError, fmt.Sprintf("timed out after %s", timeout)
		fmt.Fprintf(&b, "[timed out after %s; the command and all that it started were ended; give a longer timeout or do less]\n", timeout)
	case code != 0:
		r.Status, r.Detail.Summary = StatusError, fmt.Sprintf("exit %d", code)
		fmt.Fprintf(&b, "[exit %d]\n", code)
	default:
		r.Detail.Summary = "exit 0"
		if res.Output == "" {
			b.WriteString("(no output)\n")
		}
	}
	if !res.Sandboxed && !stopped {
		r.Detail.Summary += ", not sandboxed"
	}
	if res.Note != "" && (r.Status != StatusOK || !res.Sandboxed) {
		fmt.Fprintf(&b, "[%s]\n", res.Note)
	}
	if r.Status == StatusError && missedHidden(res) {
		fmt.Fprintf(&b, "[it could not read %s: secret-looking files are hidden from commands that don't name them]\n", firstNames(res.Hidden))
	}
	if len(res.PutBack) > 0 {
		if r.Status == StatusOK {
			r.Status = StatusError
		}
		r.Detail.PutBack = res.PutBack
		r.Detail.Summary += fmt.Sprintf(", %s put back", count(len(res.PutBack), "guarded file"))
		b.WriteString("[while it ran, files were touched that git, editors or this program obey and that the command doesn't name:\n")
		for _, said := range res.PutBack[:min(len(res.PutBack), putBackShown)] {
			b.WriteString("  " + said + "\n")
		}
		b.WriteString("Don't do it that way. If it has to be, name the file in the command, so that the person is asked.]\n")
	}
	r.Text = b.String()
	return r
}

// missedHidden says whether a command seems to have failed for want of a hidden
// file.
func missedHidden(res CommandResult) bool {
	return len(res.Hidden) > 0 && (strings.Contains(res.Output, "ermission denied") || strings.Contains(res.Output, "EACCES") ||
		slices.ContainsFunc(res.Hidden, func(name string) bool { return strings.Contains(res.Output, path.Base(filepath.ToSlash(name))) }))
}

func firstNames(list []string) string {
	if more := len(list) - hiddenShown; more > 0 {
		return strings.Join(list[:hiddenShown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(list, ", ")
}
