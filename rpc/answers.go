package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// Limits of the documents that answers become.
const (
	answersOpen   = 64 // cycles of this client that are followed at a time
	answersKept   = 50 // files; the oldest give way
	answersEvery  = 500 * time.Millisecond
	promptMax     = 1 << 20 // bytes of an instruction that is sent by saving it
	showAnswer    = 30 * time.Second
	answersFolder = "answers"
	promptsFolder = "prompts"
)

// promptHead opens the document in which an instruction is written.
const promptHead = "<!-- Write what the agent should do, and save. It is sent when this file is saved. -->\n"

// answers gives a client without a panel what it would show: each cycle that
// the client began becomes a read-only Markdown file in the cache folder, kept
// up to date while it runs and opened when it is done.
type answers struct {
	p    *peer
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	started bool
	owned   []agent.SubmitResult // cycles that are not shown yet, in order
	prompts map[string]*commandArgs
}

func newAnswers(p *peer) *answers {
	return &answers{p: p, wake: make(chan struct{}, 1), prompts: map[string]*commandArgs{}}
}

// own follows the cycle of a message that this client sent.
func (a *answers) own(r *agent.SubmitResult) {
	if a.p.custom() || r.CycleID == "" || r.Response != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.ContainsFunc(a.owned, func(o agent.SubmitResult) bool { return o.CycleID == r.CycleID }) {
		a.owned = append(a.owned, *r)
		a.owned = a.owned[max(0, len(a.owned)-answersOpen):]
	}
	if !a.started {
		a.started = true
		a.p.s.background(a.follow)
	}
	a.poke()
}

// changed is called at every delta.
func (a *answers) changed() {
	if !a.p.custom() {
		a.poke()
	}
}

func (a *answers) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// follow keeps the files of owned cycles up to date.
func (a *answers) follow() {
	ctx := a.p.s.ctx
	for {
		select {
		case <-a.wake:
		case <-ctx.Done():
			return
		}
		a.mu.Lock()
		owned := slices.Clone(a.owned)
		a.mu.Unlock()
		for _, o := range owned {
			done, err := a.update(ctx, o)
			if err != nil && ctx.Err() == nil {
				a.p.s.log.Warn("an answer can't be shown", "cycle", o.CycleID, "error", err)
			}
			if done {
				a.mu.Lock()
				a.owned = slices.DeleteFunc(a.owned, func(x agent.SubmitResult) bool { return x.CycleID == o.CycleID })
				a.mu.Unlock()
			}
		}
		select {
		case <-time.After(answersEvery):
		case <-ctx.Done():
			return
		}
	}
}

// update writes a cycle's file, and shows it when the cycle is closed.
func (a *answers) update(ctx context.Context, o agent.SubmitResult) (done bool, err error) {
	e, err := a.p.s.gate.wait(ctx)
	if err != nil {
		return true, err
	}
	r, err := e.Cycles(ctx, &agent.CyclesParams{SessionRef: agent.SessionRef{SessionID: o.SessionID, BranchID: o.BranchID}})
	if err != nil {
		return true, err
	}
	for _, text := range slices.Backward(r.Cycles) {
		var c cycle.RequestCycle
		if err := json.Unmarshal(text, &c); err != nil {
			return true, err
		}
		if c.ID != o.CycleID {
			continue
		}
		meta := r.Meta.Cycles[c.ID]
		answer := answerText(c, meta)
		if c.Status == cycle.CycleActive {
			if a.p.s.opts.CacheDir != "" {
				_, err = a.write(c.ID, answer)
			}
			return false, err
		}
		a.show(c.ID, answer)
		return true, nil
	}
	return false, nil // not promoted yet
}

// response shows a state command's whole answer.
func (a *answers) response(r *agent.SubmitResult) {
	if r.Response != nil {
		a.show(nameOr(r.TurnID, "response"), r.Response.Content+"\n")
	}
}

// show opens text as a document, or as a message where no document can be opened.
func (a *answers) show(name, text string) {
	if a.p.custom() {
		return
	}
	ctx, cancel := context.WithTimeout(a.p.s.ctx, showAnswer)
	defer cancel()
	var err error = agent.ErrUnsupported
	if a.p.s.opts.CacheDir != "" {
		var path string
		if path, err = a.write(name, text); err == nil {
			err = a.p.ShowDocument(ctx, string(uri.File(path)), false)
		}
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	if !errors.Is(err, agent.ErrUnsupported) {
		a.p.s.log.Warn("an answer could not be opened as a document", "error", err)
	}
	if a.p.prompts.wait(ctx) == nil {
		a.p.showMessage(messageInfo, text)
	}
}

// write replaces a read-only file at once, so that no reader sees half of it.
func (a *answers) write(name, text string) (path string, err error) {
	dir := filepath.Join(a.p.s.opts.CacheDir, answersFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, fileName(name)+".md")
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return path, nil
	}
	tmp, err := os.CreateTemp(dir, ".answer-*")
	if err != nil {
		return "", err
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Chmod(0o400), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	prune(dir)
	return path, nil
}

// prune removes the oldest files beyond answersKept.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= answersKept {
		return
	}
	age := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			age[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(x, y os.DirEntry) int {
		if c := age[x.Name()].Compare(age[y.Name()]); c != 0 {
			return c
		}
		return strings.Compare(x.Name(), y.Name())
	})
	for _, e := range entries[:len(entries)-answersKept] {
		_ = os.Remove(filepath.Join(dir, e.Name())) // another one tries again
	}
}

// fileName makes a name of an id.
func fileName(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, id)
	return nameOr(safe[:min(len(safe), 100)], "answer")
}

// prompt opens a document in which the person writes an instruction.
func (a *answers) prompt(args *commandArgs) {
	ctx, cancel := context.WithTimeout(a.p.s.ctx, showAnswer)
	defer cancel()
	path, err := a.newPrompt(args)
	if err == nil {
		err = a.p.ShowDocument(ctx, string(uri.File(path)), true)
	}
	if err != nil && ctx.Err() == nil {
		a.p.showMessage(messageError, "The document for the instruction can't be opened: "+err.Error())
	}
}

func (a *answers) newPrompt(args *commandArgs) (string, error) {
	dir := filepath.Join(a.p.s.opts.CacheDir, promptsFolder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "instruction-*.md")
	if err != nil {
		return "", err
	}
	text := promptHead
	if args.Focus != nil && args.Focus.URI != "" {
		text += "<!-- It is about " + describeFocus(args.Focus) + ". -->\n"
	}
	if _, err := f.WriteString(text + "\n"); err != nil {
		return "", errors.Join(err, f.Close())
	}
	a.mu.Lock()
	a.prompts[f.Name()] = args
	a.mu.Unlock()
	prune(dir)
	return f.Name(), f.Close()
}

func describeFocus(f *agent.Focus) string {
	name := f.URI
	if u, err := uri.Parse(f.URI); err == nil && u.IsFile() {
		name = u.FsPath()
	}
	if f.Range == nil {
		return name
	}
	if f.Range.Start.Line == f.Range.End.Line {
		return fmt.Sprintf("%s, line %d", name, f.Range.Start.Line+1)
	}
	return fmt.Sprintf("%s, lines %d to %d", name, f.Range.Start.Line+1, f.Range.End.Line+1)
}

// promptSaved sends an instruction whose document was saved.
func (s *Server) promptSaved(name string) {
	u, err := uri.Parse(name)
	if err != nil || !u.IsFile() {
		return
	}
	path := filepath.Clean(u.FsPath())
	a := s.peer.answers
	a.mu.Lock()
	args := a.prompts[path]
	a.mu.Unlock()
	if args == nil {
		return
	}
	s.background(func() {
		text, err := readPrompt(path)
		if err != nil || text == "" {
			return // nothing is written yet
		}
		a.mu.Lock()
		again := a.prompts[path] == nil
		delete(a.prompts, path)
		a.mu.Unlock()
		if again {
			return
		}
		r, err := s.submit(s.ctx, &agent.SubmitParams{
			Input: text, SessionID: args.SessionID, BranchID: args.BranchID, Delivery: args.Delivery, Mode: args.Mode,
			Attachments: args.Attachments, Focus: args.Focus, Source: s.peer.caps.Client,
		})
		if err != nil {
			a.mu.Lock()
			a.prompts[path] = args // saving it again tries again
			a.mu.Unlock()
			s.peer.showMessage(messageError, "The instruction was not sent: "+err.Error())
			return
		}
		a.response(r)
	})
}

// readPrompt is what the person wrote: all but the comments that we put on top.
func readPrompt(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Size() > promptMax {
		return "", fmt.Errorf("%s has more than %d bytes", path, promptMax)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	text := string(data)
	for strings.HasPrefix(text, "<!-- ") {
		_, text, _ = strings.Cut(text, "-->")
		text = strings.TrimLeft(text, "\r\n")
	}
	return strings.TrimSpace(text), nil
}
