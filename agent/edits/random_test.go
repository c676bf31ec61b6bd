package edits_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/text"
	"github.com/agent-lsp/agent-lsp/tools"
)

// A random test makes randomHistories histories of ledgerSteps steps, 100,000
// in all, unless -rapid.checks or -short says otherwise.
const (
	randomHistories = 1000
	ledgerSteps     = 100
)

var token = regexp.MustCompile(`«.»`)

// sim drives a ledger, an editor, a person and crashes at random. Everything
// that the person types holds a character that is nowhere else: a token, which
// is theirs from the moment they type it (or bring it back by their editor's
// undo) until they delete it, or accept a hunk that takes it out. A token that
// they deleted may come back in a text of the agent's, who had read it before:
// that doesn't make it theirs again.
type sim struct {
	*rig
	t     *rapid.T
	n     int
	typed map[string]map[string]bool // by file: tokens that must still be somewhere
	names []string
	log   []string
	turn  int
	alone bool // the person keeps out of it
}

func (s *sim) int(n int, what string) int { return rapid.IntRange(0, n).Draw(s.t, what) }

func (s *sim) say(format string, args ...any) { s.log = append(s.log, fmt.Sprintf(format, args...)) }

func (s *sim) fresh() string { s.n++; return fmt.Sprintf("«%c»", 0x4E00+s.n) }
func (s *sim) agents() string {
	s.n++
	return "a" + strconv.Itoa(s.n) + "."
}

// shown is what the person sees of a file.
func (s *sim) shown(name string) (string, bool) {
	if b, ok := s.editor.Text(s.abs(name)); ok {
		return b, true
	}
	b, err := os.ReadFile(s.abs(name))
	return string(b), err == nil
}

// mutate changes lines of a text at random.
func (s *sim) mutate(old string, tok func() string) string {
	lines := text.Lines(old)
	for range 1 + s.int(2, "edits") {
		i := s.int(len(lines), "line")
		switch op := s.int(3, "op"); {
		case op == 0 || len(lines) == 0:
			lines = append(lines[:i:i], append([]string{tok() + "\n"}, lines[i:]...)...)
		case i == len(lines):
		case op == 1:
			lines = append(lines[:i:i], lines[i+1:]...)
		case op == 2:
			lines[i] = tok() + "\n"
		default:
			lines[i] = strings.TrimSuffix(lines[i], "\n") + tok() + "\n"
		}
	}
	return strings.Join(lines, "")
}

// person lets the person change a file, where they see it.
func (s *sim) person(name string) {
	old, exists := s.shown(name)
	_, open := s.editor.Text(s.abs(name))
	now := s.mutate(old, s.fresh)
	s.say("the person: %s → %q", name, now)
	for _, t := range token.FindAllString(old, -1) { // what goes, goes by their hand
		if !strings.Contains(now, t) {
			delete(s.typed[name], t)
		}
	}
	if open {
		if err := s.editor.Edit(s.abs(name), text.Diff(old, now)); err != nil {
			s.t.Fatal(err)
		}
	} else {
		s.write(name, now)
		if !exists || s.int(1, "told") == 0 {
			s.l.DiskChanged([]string{name})
		}
	}
	s.types(name, old, now)
}

// types makes the tokens that a change brings into a text the person's.
func (s *sim) types(name, old, now string) {
	for _, t := range token.FindAllString(now, -1) {
		if !strings.Contains(old, t) {
			s.typed[name][t] = true
		}
	}
}

func (s *sim) step() {
	steps.Add(1)
	ctx := context.Background()
	name := s.names[s.int(len(s.names)-1, "file")]
	abs := s.abs(name)
	if s.int(9, "new turn") == 0 {
		s.turn++
	}
	turn := "t" + strconv.Itoa(s.turn)
	switch op := s.int(17, "action"); op {
	case 0, 1, 2, 3:
		s.agent(ctx, name, turn)
	case 4, 5, 6, 7:
		s.person(name)
	case 8:
		s.editor.Open(abs)
		s.say("open %s", name)
	case 9:
		if _, ok := s.editor.Text(abs); ok {
			s.say("save %s", name)
			if err := s.editor.Save(abs); err != nil {
				s.t.Fatal(err)
			}
		}
	case 10:
		if _, ok := s.editor.Text(abs); ok {
			if s.int(1, "save") == 0 {
				_ = s.editor.Save(abs)
			} else {
				s.lost(name)
			}
			s.say("close %s", name)
			s.editor.Close(abs)
		}
	case 11, 12:
		s.decide(ctx, name, turn)
	case 13:
		s.say("undo reject")
		_, _ = s.l.UndoReject(ctx) // there may be none
	case 14:
		s.restore(ctx, turn)
	case 15:
		b, _ := s.editor.Text(abs)
		redo := s.int(1, "redo") == 1
		s.say("editor undo/redo %s", name)
		if redo && s.editor.Redo(abs) || !redo && s.editor.Undo(abs) {
			now, _ := s.editor.Text(abs)
			for _, t := range token.FindAllString(b, -1) {
				if !strings.Contains(now, t) {
					delete(s.typed[name], t)
				}
			}
			s.types(name, b, now)
		}
	case 16:
		s.crash(true)
	case 17:
		if s.int(3, "both") == 0 {
			s.crash(false)
		}
	}
	s.check()
}

// lost takes out of the model what may have been in an unsaved buffer only,
// which the person, or a crash, threw away.
func (s *sim) lost(name string) {
	for t := range s.typed[name] {
		if !strings.Contains(s.disk(name), t) {
			delete(s.typed[name], t)
		}
	}
}

func (s *sim) agent(ctx context.Context, name, turn string) {
	mode := edits.ModeReview
	if s.int(3, "mode") == 0 {
		mode = edits.ModeAsk
	}
	fs := s.files(turn, mode)
	f, err := fs.Read(ctx, name)
	c := tools.Change{Path: name, CallID: "c"}
	switch {
	case err != nil:
		c.New = []byte(s.mutate("", s.agents))
	case s.int(11, "delete") == 0:
		c.Base = f.Data
	default:
		c.Base = append([]byte{}, f.Data...)
		c.New = []byte(s.mutate(string(f.Data), s.agents))
	}
	if !s.alone && s.int(4, "meanwhile") == 0 { // the person changes it before the edit comes
		s.person(name)
	}
	if s.int(4, "race") == 0 { // or while the editor is asked
		once := false
		s.editor.Before = func(path string) {
			if !once && path == name {
				once = true
				old, _ := s.editor.Text(s.abs(name))
				tok := s.fresh()
				_ = s.editor.Edit(s.abs(name), []text.Edit{{Start: len(old), End: len(old), New: tok + "\n"}})
				s.typed[name][tok] = true
			}
		}
	}
	_, err = fs.Change(ctx, c)
	s.editor.Before = nil
	s.say("agent %s %s %s: %q (%v)", turn, mode, name, c.New, err)
	var stale *tools.StaleError
	var pe *tools.PathError
	if err != nil && !errors.As(err, &stale) && !errors.As(err, &pe) {
		s.t.Fatal(err)
	}
}

func (s *sim) decide(ctx context.Context, name, turn string) {
	q := edits.ResolveRequest{Decision: edits.Accept}
	if s.int(1, "reject") == 1 {
		q.Decision = edits.Reject
	}
	hunks := s.l.Hunks(edits.Filter{})
	switch s.int(3, "which") {
	case 0:
		q.All = true
	case 1:
		q.Path = name
	case 2:
		q.TurnID = turn
	case 3:
		if len(hunks) == 0 {
			return
		}
		q.HunkIDs = []string{hunks[s.int(len(hunks)-1, "hunk")].HunkID}
	}
	before := map[string]map[string]bool{}
	for _, n := range s.names {
		before[n] = s.held(n)
	}
	res, err := s.l.Resolve(ctx, q)
	s.say("%s %+v: %v %v", q.Decision, q, res, err)
	if err != nil {
		s.t.Fatal(err)
	}
	if q.Decision == edits.Accept { // they saw that these go
		for _, n := range s.names {
			after := s.held(n)
			for t := range before[n] {
				if !after[t] {
					delete(s.typed[n], t)
				}
			}
		}
	}
}

func (s *sim) restore(ctx context.Context, turn string) {
	c := s.l.Checkpoints("")
	if len(c) == 0 {
		return
	}
	id := c[s.int(len(c)-1, "checkpoint")].TurnID
	res, err := s.l.RestoreTurn(ctx, id)
	s.say("restore %s: %+v %v", id, res, err)
	if err == nil && s.int(1, "redo") == 0 {
		back, err := s.l.RedoRestore(ctx, res.OpID)
		s.say("redo: %+v %v", back, err)
	}
}

// crash ends the server, and the editor as well unless it lives on.
func (s *sim) crash(editorLives bool) {
	s.say("crash, editor lives: %v", editorLives)
	for _, n := range s.names {
		if _, ok := s.editor.Text(s.abs(n)); ok && !editorLives {
			s.lost(n)
		}
	}
	if !editorLives {
		s.editor.Crash()
	}
	s.start()
}

// held is the tokens that are somewhere: before the person's eyes or in what
// rejecting brings back.
func (s *sim) held(name string) map[string]bool {
	out := map[string]bool{}
	all, _ := s.shown(name)
	if f, ok := s.l.State(name); ok {
		all += f.Person()
	}
	for _, t := range token.FindAllString(all, -1) {
		out[t] = true
	}
	return out
}

func (s *sim) fail(format string, args ...any) {
	s.t.Helper()
	log := s.log[max(0, len(s.log)-14):]
	s.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(log, "\n"))
}

func (s *sim) check() {
	if errs := s.editor.Wait(); errs != nil {
		s.fail("notifications: %v", errs)
	}
	for _, name := range s.names {
		// Reading takes in what nobody told of.
		_, err := s.files("x", edits.ModeReview).Read(context.Background(), name)
		var pe *tools.PathError
		if err != nil && !errors.As(err, &pe) {
			s.fail("%s: %v", name, err)
		}
		shown, exists := s.shown(name)
		if f, ok := s.l.State(name); ok {
			if err := f.Check(); err != nil {
				s.fail("%s: %v", name, err)
			}
			_, open := s.editor.Text(s.abs(name))
			under := open && !f.ShownExists() && s.disk(name) == "<none>" // a buffer over a deleted file
			if !under && (f.ShownExists() != exists || f.Shown() != shown) {
				s.fail("%s: the ledger thinks (%v) %q, there is (%v) %q", name, f.ShownExists(), f.Shown(), exists, shown)
			}
		}
		held := s.held(name)
		for t := range s.typed[name] {
			if !held[t] {
				s.fail("%s: the person's %s is missing from %q", name, t, shown)
			}
		}
	}
	lines := map[string]bool{}
	for _, h := range s.l.Hunks(edits.Filter{}) {
		if lines[h.HunkID] {
			s.fail("the id %s is there twice", h.HunkID)
		}
		lines[h.HunkID] = true
		shown, _ := s.shown(h.Path)
		want := h.NewText
		if h.Held {
			want = h.BaseText
		}
		index := text.NewIndex(shown)
		for _, enc := range []text.Encoding{text.UTF8, text.UTF16, text.UTF32} {
			span := index.Span(h.At.In(enc), enc)
			if h.File == "" && shown[span.Start:span.End] != want {
				s.fail("%s: at %v (%s) is %q, hunk %s says %q", h.Path, h.At.In(enc), enc, shown[span.Start:span.End], h.HunkID, want)
			}
		}
	}
}

// emptied clears a folder for the next history.
func emptied(t *testing.T, dir string) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRandomLedger(t *testing.T) {
	dir := memoryDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRigIn(t, emptied(t, dir), map[string]string{"a.txt": "one\ntwo\nthree\nfour\n", "b.txt": "five\nsix\n"})
		defer r.close()
		s := &sim{rig: r, t: rt, typed: map[string]map[string]bool{}, names: []string{"a.txt", "b.txt", "new.txt"}}
		r.editor.Late = rapid.Bool().Draw(rt, "late")
		for _, n := range s.names {
			s.typed[n] = map[string]bool{}
		}
		for range ledgerSteps {
			s.step()
		}
	})
}

// TestRandomCrash cuts the log at every event of a random history that ends
// in one operation: as if the program had died right after, or right before,
// the text was touched.
func TestRandomCrash(t *testing.T) {
	dir := memoryDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRigIn(t, emptied(t, dir), map[string]string{"a.txt": "one\ntwo\nthree\nfour\n"})
		defer r.close()
		s := &sim{rig: r, t: rt, typed: map[string]map[string]bool{"a.txt": {}}, names: []string{"a.txt"}}
		for range 6 {
			steps.Add(1)
			switch s.int(3, "do") {
			case 0, 1:
				s.agent(context.Background(), "a.txt", "t1")
			case 2:
				s.person("a.txt")
			case 3:
				s.decide(context.Background(), "a.txt", "t1")
			}
		}
		// The next operation dies somewhere on its way.
		dies := errors.New("died")
		left := s.int(2, "events")
		r.store.Fail = func(cycle.Event) error {
			if left--; left < 0 {
				return dies
			}
			return nil
		}
		before := r.disk("a.txt")
		if s.int(1, "what") == 0 {
			_, _ = s.files("t2", edits.ModeReview).Change(context.Background(), tools.Change{Path: "a.txt", Base: []byte(before), New: []byte(s.mutate(before, s.agents))})
		} else {
			_, _ = s.l.Resolve(context.Background(), edits.ResolveRequest{All: true, Decision: edits.Reject})
		}
		after := r.disk("a.txt")
		r.store.Fail = nil
		if left < 0 && s.int(1, "not yet written") == 0 {
			r.write("a.txt", before)
		}
		if s.int(2, "and the person") == 0 {
			s.person("a.txt")
		}
		at := r.disk("a.txt")
		s.start()
		s.check()
		now := r.disk("a.txt")
		if at == before || at == after {
			if now != before && now != after && now != at {
				s.fail("between: %q, neither %q nor %q", now, before, after)
			}
		} else if now != at {
			s.fail("the person's %q became %q", at, now)
		}
	})
}
