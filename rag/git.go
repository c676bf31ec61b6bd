package rag

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Limits of what is read of a history.
const (
	historyCommits  = 4000      // messages and names of files
	historyDiffs    = 2000      // of these, the newest, with what they changed
	maxMessageBytes = 3000      // of one commit
	maxCommitFiles  = 60        // a commit of more files says nothing about any of them
	maxDiffBytes    = 200 << 10 // of one commit
	maxDiffTerms    = 200       // distinct terms of one file in one commit
	gitLineBytes    = 1 << 20
)

// gitCommand runs git so that nothing a repository's own configuration says can
// start a program: no hooks, no external diff, no text conversion, no signatures
// to verify, no file system monitor.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	safe := []string{"-C", dir, "--no-pager", "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false",
		"-c", "log.showSignature=false", "-c", "diff.external=", "-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false", "-c", "color.ui=false"}
	c := exec.CommandContext(ctx, "git", append(safe, args...)...)
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GIT_") {
			c.Env = append(c.Env, e)
		}
	}
	c.Env = append(c.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return c
}

var errNoGit = errors.New("no git history here")

// gitAncestors lists HEAD's ancestors, newest first, and the prefix of dir in
// its repository. Merges are left out: they repeat what their parents say.
func gitAncestors(ctx context.Context, dir string) (ids []string, prefix string, err error) {
	out, err := gitCommand(ctx, dir, "rev-parse", "--show-prefix").Output()
	if err != nil {
		return nil, "", errNoGit
	}
	prefix = strings.TrimSuffix(string(out), "\n")
	args := []string{"rev-list", "--no-merges", "-n", strconv.Itoa(historyCommits), "HEAD"}
	if prefix != "" {
		args = append(args, "--", ".")
	}
	out, err = gitCommand(ctx, dir, args...).Output()
	if err != nil {
		return nil, prefix, errNoGit
	}
	return strings.Fields(string(out)), prefix, nil
}

// rawCommit is a commit as git tells it. Paths are relative to the folder.
type rawCommit struct {
	id      string
	time    int64
	message string
	files   []rawChange
}

type rawChange struct {
	path    string
	from    string // the old path when the commit moved the file
	added   bool
	changed string // the lines that went or came, and the functions git names around them
}

// gitRead tells f about the commits, with or without what they changed.
func gitRead(ctx context.Context, dir string, ids []string, diffs bool, f func(rawCommit)) error {
	if len(ids) == 0 {
		return nil
	}
	args := []string{"log", "--no-walk=unsorted", "--stdin", "-M", "-l200", "--no-ext-diff", "--no-textconv",
		"--no-show-signature", "--relative", "--format=" + "%x01%H%x00%ct%x00%B%x02"}
	if diffs {
		args = append(args, "-p", "-U0", "--src-prefix=a/", "--dst-prefix=b/")
	} else {
		args = append(args, "--name-status")
	}
	cmd := gitCommand(ctx, dir, args...)
	cmd.Stdin = strings.NewReader(strings.Join(ids, "\n") + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	parseLog(out, f)
	_, _ = io.Copy(io.Discard, out)
	return cmd.Wait()
}

// logParser reads the two forms of log that gitRead asks for.
type logParser struct {
	emit    func(rawCommit)
	c       rawCommit
	open    bool // a commit is open
	message bool // its message is being read
	text    strings.Builder
	changed strings.Builder
	budget  int // bytes of diff that this commit may still give
}

func parseLog(r io.Reader, emit func(rawCommit)) {
	p := &logParser{emit: emit}
	br := bufio.NewReaderSize(r, 1<<16)
	for {
		ln, err := readLine(br)
		if err != nil {
			break
		}
		p.line(ln)
	}
	p.endCommit()
}

// readLine reads a line of any length, and keeps no more of it than the limit.
func readLine(br *bufio.Reader) (string, error) {
	var out []byte
	for {
		b, err := br.ReadSlice('\n')
		if len(out) < gitLineBytes {
			out = append(out, b...)
		}
		switch {
		case err == nil:
			return strings.TrimSuffix(string(out), "\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(out) > 0:
			return string(out), nil
		default:
			return "", err
		}
	}
}

const objectIDBytes = 40 // in hexadecimal; SHA-256 repositories have 64

func (p *logParser) line(ln string) {
	if len(ln) > objectIDBytes && ln[0] == '\x01' {
		if head := strings.SplitN(ln[1:], "\x00", 3); len(head) == 3 && len(head[0]) >= objectIDBytes {
			p.endCommit()
			p.open, p.message, p.budget = true, true, maxDiffBytes
			p.c = rawCommit{id: head[0]}
			p.c.time, _ = strconv.ParseInt(head[1], 10, 64)
			p.text.Reset()
			ln = head[2]
		}
	}
	if !p.open {
		return
	}
	if p.message {
		body, _, end := strings.Cut(ln, "\x02")
		if p.text.Len() < maxMessageBytes {
			p.text.WriteString(body)
			p.text.WriteByte('\n')
		}
		if end {
			p.message = false
			p.c.message = p.text.String()
		}
		return
	}
	p.change(ln)
}

func (p *logParser) change(ln string) {
	switch {
	case strings.HasPrefix(ln, "diff --git "):
		p.endFile()
		p.addFile(rawChange{})
	case len(p.c.files) > 0 && p.c.files[len(p.c.files)-1].path == "" && p.header(ln):
	case strings.HasPrefix(ln, "@@ "):
		if _, fn, ok := strings.Cut(ln[3:], "@@ "); ok {
			p.keep(fn)
		}
	case strings.HasPrefix(ln, "+"), strings.HasPrefix(ln, "-"):
		p.keep(ln[1:])
	case len(ln) > 2 && (ln[1] == '\t' || ln[0] == 'R' || ln[0] == 'C'): // name-status
		f := strings.Split(ln, "\t")
		ch := rawChange{path: f[len(f)-1], added: ln[0] == 'A'}
		if len(f) == 3 && ln[0] == 'R' {
			ch.from = f[1]
		}
		p.addFile(ch)
	}
}

// header reads the lines between "diff --git" and the first hunk.
func (p *logParser) header(ln string) bool {
	f := &p.c.files[len(p.c.files)-1]
	switch {
	case strings.HasPrefix(ln, "rename from "):
		f.from = ln[len("rename from "):]
	case strings.HasPrefix(ln, "rename to "):
		f.path = ln[len("rename to "):]
	case strings.HasPrefix(ln, "new file"):
		f.added = true
	case strings.HasPrefix(ln, "--- a/"):
		f.from = strings.TrimSuffix(ln[len("--- a/"):], "\t")
	case strings.HasPrefix(ln, "+++ b/"):
		f.path = strings.TrimSuffix(ln[len("+++ b/"):], "\t")
	case ln == "+++ /dev/null":
		f.path = f.from
	case strings.HasPrefix(ln, "@@ "):
		return false
	}
	if f.path != "" && f.from == f.path {
		f.from = ""
	}
	return true
}

func (p *logParser) addFile(c rawChange) {
	if len(p.c.files) <= maxCommitFiles { // one more, so that the excess shows
		p.c.files = append(p.c.files, c)
	}
}

func (p *logParser) keep(s string) {
	if p.budget -= len(s); p.budget > 0 && len(s) < maxLineBytes {
		p.changed.WriteString(s)
		p.changed.WriteByte('\n')
	}
}

func (p *logParser) endFile() {
	if n := len(p.c.files); n > 0 && p.changed.Len() > 0 {
		p.c.files[n-1].changed = p.changed.String()
	}
	p.changed.Reset()
}

func (p *logParser) endCommit() {
	if !p.open {
		return
	}
	p.endFile()
	p.open = false
	p.emit(p.c)
}
