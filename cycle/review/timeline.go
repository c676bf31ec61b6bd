package review

import "github.com/agent-lsp/agent-lsp/internal/text"

// Limits of a timeline; the oldest states go first.
const (
	TimelineStatesMax = 32
	TimelineBytesMax  = 8 << 20
)

// Timeline remembers the states that a file went through, so that an undo or
// redo in the person's editor, which arrives as just another edit, leads back
// to the very state that had that text, with its hunks. It is only ever taken
// back
//
//   - over one operation (an agent's edit, a reject), from the text right after
//     it to the text right before it, or forth again;
//   - over edits of the person's own.
//
// In both cases all that the person had typed in between is gone by their own
// hand, so nothing is lost by it. The zero Timeline is empty and ready.
type Timeline struct {
	states []moment
	at     int  // the moment that the file is at, or was before the person's latest edits
	exact  bool // the file is at states[at], with nothing after it
}

type moment struct {
	file  File
	shown string
	op    bool // an operation leads here from the moment before
}

// Reset forgets everything: after an accept there is no way back.
func (t *Timeline) Reset() { *t = Timeline{} }

// Empty says that there is nothing to go back to.
func (t *Timeline) Empty() bool { return len(t.states) == 0 }

// Op records that an operation turned pre into post.
func (t *Timeline) Op(pre, post File) {
	t.before(pre)
	t.states = append(t.states, moment{post, post.Shown(), true})
	t.at, t.exact = len(t.states)-1, true
	t.shrink()
}

// User is f.User(edits), unless the edits lead back to a state that was there
// before: then it is that.
func (t *Timeline) User(f File, edits []text.Edit) (File, error) {
	shown := f.Shown()
	now, err := text.Apply(shown, edits)
	if err != nil || now == shown {
		return f, err
	}
	if i := t.find(now); i >= 0 {
		t.at, t.exact = i, true
		return t.states[i].file, nil
	}
	out, err := f.User(edits)
	if err != nil {
		return f, err
	}
	if f.Pending() > 0 && f.shown {
		t.before(f)
	}
	t.exact = false
	t.shrink()
	return out, nil
}

// UserDelete is f.UserDelete(); the state comes back with the file.
func (t *Timeline) UserDelete(f File) File {
	t.before(f)
	t.exact = false
	t.shrink()
	return f.UserDelete()
}

// UserCreate is f.UserCreate(s), unless the file was there with this text
// before: then it is that state.
func (t *Timeline) UserCreate(f File, s string) File {
	if i := t.find(s); i >= 0 {
		t.at, t.exact = i, true
		return t.states[i].file
	}
	t.exact = false
	return f.UserCreate(s)
}

// before makes f the last moment.
func (t *Timeline) before(f File) {
	if !t.exact || len(t.states) == 0 {
		if len(t.states) > 0 {
			t.states = t.states[:t.at+1]
		}
		t.states = append(t.states, moment{f, f.Shown(), false})
		t.at = len(t.states) - 1
	}
	t.states = t.states[:t.at+1]
	t.exact = true
}

// find looks for the moment that an edit to this text leads to, or -1.
func (t *Timeline) find(shown string) int {
	is := func(i int) bool {
		return i >= 0 && i < len(t.states) && t.states[i].shown == shown && t.states[i].file.shown
	}
	if len(t.states) == 0 {
		return -1
	}
	if t.exact { // one operation back or forth
		for _, i := range [...]int{t.at - 1, t.at + 1} {
			if is(i) {
				return i
			}
		}
	}
	for i := t.at; i >= 0; i-- { // back over the person's own edits
		if is(i) {
			return i
		}
		if t.states[i].op {
			break
		}
	}
	for i := t.at + 1; t.exact && i < len(t.states) && !t.states[i].op; i++ { // and forth
		if is(i) {
			return i
		}
	}
	return -1
}

func (t *Timeline) shrink() {
	n := 0
	for _, m := range t.states {
		n += len(m.shown)
	}
	drop := 0
	for drop < t.at && (len(t.states)-drop > TimelineStatesMax || n > TimelineBytesMax) {
		n -= len(t.states[drop].shown)
		drop++
	}
	t.states = append([]moment(nil), t.states[drop:]...)
	t.at -= drop
}
