package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// world is the random test's model: what the person typed and has not deleted
// themselves or consented to lose. Everything they type holds a token «n» that
// is nowhere else, so that a missing character is a missing token.
//
// A token is the person's from the moment they see it until one of these:
//
//   - they delete it;
//   - they accept a hunk that takes it out. (Where the agent moved it, another
//     hunk still shows it: there it is the agent's copy, theirs again once they
//     accept that hunk too.)
//   - it had been deleted by them, a reject brought it back with the base text
//     of its hunk, and they undo that reject: they are where they were when
//     they had deleted it. (It may survive in the base text for a while. That
//     is the hunk's business: what they type next decides by which lines it is
//     merged, and nothing that they deleted is owed to them.)
type world struct {
	t     *rapid.T
	f     File
	line  Timeline
	n     int             // of tokens and ids
	typed map[string]bool // tokens that must be in the person's text
	given map[string]bool // tokens that they consented to lose, and that an agent's text may still show
	group string
	back  map[string]bool // tokens that the reject of group brought back, which they had deleted
	log   []string
}

var token = regexp.MustCompile(`«.»`)

func tokens(s string) map[string]bool {
	out := map[string]bool{}
	for _, t := range token.FindAllString(s, -1) {
		out[t] = true
	}
	return out
}

// fresh makes a token that no deletion can make of others: one character of
// its own.
func (w *world) fresh() string { w.n++; return fmt.Sprintf("«%c»", 0x4E00+w.n) }

func (w *world) id() string { w.n++; return fmt.Sprintf("h%d", w.n) }
func (w *world) ref() Ref   { w.n++; return Ref{EditID: fmt.Sprintf("e%d", w.n)} }

func (w *world) int(n int, what string) int { return rapid.IntRange(0, n).Draw(w.t, what) }

// lines changes some lines at random; tok makes the new text.
func (w *world) lines(s string, tok func() string) string {
	lines := text.Lines(s)
	for range 1 + w.int(2, "edits") {
		i := w.int(len(lines), "line")
		switch op := w.int(4, "op"); {
		case op == 0 || len(lines) == 0:
			lines = append(lines[:i:i], append([]string{tok() + "\n"}, lines[i:]...)...)
		case i == len(lines):
		case op == 1:
			lines = append(lines[:i:i], lines[i+1:]...)
		case op == 2:
			lines[i] = tok() + "\n"
		case op == 3:
			lines[i] = strings.TrimSuffix(lines[i], "\n") + tok() + "\n"
		case op == 4 && i == len(lines)-1:
			lines[i] = strings.TrimSuffix(lines[i], "\n")
		}
	}
	for i := range lines[:max(len(lines)-1, 0)] {
		if !strings.HasSuffix(lines[i], "\n") {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// keys makes edits as an editor sends them: at any character, but for those
// inside tokens, whose halves could meet again.
func (w *world) keys(s string) []text.Edit {
	bounds := []int{}
	inside := false
	for i, r := range s {
		if !inside {
			bounds = append(bounds, i)
		}
		inside = r == '«' || inside && r != '»'
	}
	bounds = append(bounds, len(s))
	var out []text.Edit
	at := 0
	for range 1 + w.int(1, "edits") {
		if at >= len(bounds) {
			break
		}
		i := at + w.int(len(bounds)-1-at, "from")
		j := i
		if w.int(2, "delete") == 0 {
			j = min(i+w.int(12, "length"), len(bounds)-1)
		}
		now := ""
		switch w.int(4, "type") {
		case 0:
			now = w.fresh()
		case 1:
			now = "\n"
		case 2:
			now = "\n" + w.fresh()
		case 3:
			now = w.fresh() + "\n"
		}
		out = append(out, text.Edit{Start: bounds[i], End: bounds[j], New: now})
		at = j + 1
	}
	return out
}

func (w *world) step() {
	steps.Add(1)
	before := w.f
	match := func(h *Hunk) bool { return true }
	pick := func() {
		var ids []string
		for _, v := range w.f.Hunks() {
			ids = append(ids, v.ID)
		}
		if len(ids) > 0 && w.int(3, "all") > 0 {
			id := ids[w.int(len(ids)-1, "hunk")]
			match = func(h *Hunk) bool { return h.Answers(id) }
		}
	}
	var err error
	byPerson, consent := false, map[string]bool{}
	held := w.int(3, "held") == 0
	tokA := func() string { w.n++; return fmt.Sprintf("a%d.", w.n) }
	op := w.int(13, "action")
	switch op {
	case 0, 1, 2:
		if !w.f.agent {
			w.f, err = w.f.Create(w.lines("", tokA), w.ref(), held, w.id)
		} else {
			w.f, err = w.f.Agent(w.lines(w.f.Current(), tokA), w.ref(), held, w.id)
		}
		w.line.Op(before, w.f)
	case 3, 4, 5, 6:
		byPerson = true
		w.f, err = w.line.User(w.f, w.keys(w.f.Shown()))
	case 7:
		byPerson = true
		w.f, err = w.line.User(w.f, text.Diff(w.f.Shown(), w.lines(w.f.Shown(), w.fresh)))
	case 8:
		pick()
		var done []Decided
		w.f, done = w.f.Accept(match)
		for _, d := range done {
			for t := range tokens(d.Hunk.rejected()) {
				consent[t] = true
			}
		}
		w.line.Reset()
	case 9:
		pick()
		w.group, w.back = w.id(), map[string]bool{}
		w.f, _ = w.f.Reject(match, w.group)
		for t := range tokens(w.f.Shown()) {
			if !w.typed[t] {
				w.back[t] = true
			}
		}
		w.line.Op(before, w.f)
	case 10:
		if w.group != "" {
			w.f, _ = w.f.UndoReject(w.group)
			for t := range w.back {
				if !tokens(w.f.Shown())[t] {
					delete(w.typed, t)
				}
			}
			w.line.Op(before, w.f)
		}
	case 11: // undo or redo in the editor
		byPerson = true
		if i := w.line.at - 1 + 2*w.int(1, "redo"); i >= 0 && i < len(w.line.states) && w.f.shown {
			w.f, err = w.line.User(w.f, text.Diff(w.f.Shown(), w.line.states[i].shown))
		}
	case 12:
		if w.int(3, "really") == 0 && w.f.agent {
			w.f, err = w.f.Delete(w.ref(), held, w.id)
			w.line.Op(before, w.f)
		}
	case 13:
		byPerson = true
		if w.int(5, "really") == 0 && w.f.shown {
			w.f = w.line.UserDelete(w.f)
		} else if !w.f.shown {
			w.f = w.line.UserCreate(w.f, w.lines("", w.fresh))
		}
	}
	if err == ErrUndecided {
		return
	}
	w.log = append(w.log, fmt.Sprintf("--- action %d\n%s", op, dump(w.f)))
	if len(w.log) > 6 {
		w.log = w.log[1:]
	}
	w.check(before, err, byPerson, consent)
}

// pending says whether an agent's undecided text has a token.
func (w *world) pending(t string) bool {
	return slices.ContainsFunc(w.f.Hunks(), func(v View) bool { return tokens(v.Agent)[t] })
}

func (w *world) check(before File, err error, byPerson bool, consent map[string]bool) {
	fail := func(format string, args ...any) {
		w.t.Helper()
		w.t.Fatalf("%s\nbefore:\n%s\nlast steps:\n%s", fmt.Sprintf(format, args...), dump(before), strings.Join(w.log, ""))
	}
	if err != nil {
		fail("error: %v", err)
	}
	if err := w.f.Check(); err != nil {
		fail("%v", err)
	}
	person, shown := tokens(w.f.Person()), tokens(w.f.Shown())
	was := tokens(before.Shown())
	for t := range w.typed {
		switch {
		case byPerson && was[t] && !shown[t], byPerson && !w.f.shown: // they deleted it
			delete(w.typed, t)
		case person[t]:
		case consent[t]:
			delete(w.typed, t)
			w.given[t] = true
		default:
			fail("the person's %s is missing", t)
		}
	}
	for t := range shown { // what they have before their eyes is theirs
		switch {
		case person[t]:
			w.typed[t] = true
			delete(w.given, t)
		case !w.given[t] || !w.pending(t):
			fail("the person's %s is shown, but rejecting would lose it", t)
		}
	}
	if all, _ := w.f.Reject(func(*Hunk) bool { return true }, "x"); all.Shown() != w.f.Person() || all.Pending() != 0 {
		fail("rejecting all gives\n%q, the person's text is\n%q", all.Shown(), w.f.Person())
	}
	if out, done := w.f.Reject(func(*Hunk) bool { return true }, "x"); len(done) > 0 {
		if back, _ := out.UndoReject("x"); back.Shown() != w.f.Shown() || back.Person() != w.f.Person() || back.Current() != w.f.Current() {
			fail("undoing the reject of everything gives\n%s", dump(back))
		}
	}
	if all, _ := w.f.Accept(func(*Hunk) bool { return true }); all.Shown() != w.f.Current() || all.Pending() != 0 {
		fail("accepting all gives\n%q, the agent sees\n%q", all.Shown(), w.f.Current())
	}
	for _, v := range w.f.Hunks() {
		if got := w.f.Shown()[v.Span.Start:v.Span.End]; got != v.Shown {
			fail("hunk %s is said to be at %v, where there is %q", v.ID, v.Span, got)
		}
	}
	if back, err := Decode(w.f.Encode()); err != nil || !back.Equal(w.f) {
		fail("the state does not survive its encoding: %v", err)
	}
}

// stepsPerFile is how long a file's random history is.
const stepsPerFile = 100

func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, typed: map[string]bool{}, given: map[string]bool{}}
		w.f = New(w.lines("one\ntwo\nthree\nfour\nfive\nsix\n", w.fresh))
		for range stepsPerFile {
			w.step()
		}
	})
}
