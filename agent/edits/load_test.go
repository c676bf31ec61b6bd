package edits_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/agent/edits"
	"github.com/agent-lsp/agent-lsp/cycle"
)

// dieAfter makes the store fail after n more events, as a crash would.
func (r *rig) dieAfter(n int) {
	r.store.Fail = func(cycle.Event) error {
		if n--; n < 0 {
			return errors.New("died")
		}
		return nil
	}
}

// TestLoad: what a restart makes of every state that a crash can leave.
func TestLoad(t *testing.T) {
	const edited = "a\nB\nc\nd\ne\nf\n"
	one := `f:1-2 "b\n"→"B\n" pending`
	propose := func(r *rig) { _, _ = r.change("t1", edits.ModeReview, "f", "b\n", "B\n") }
	reject := func(r *rig) {
		_, _ = r.l.Resolve(context.Background(), edits.ResolveRequest{All: true, Decision: edits.Reject})
	}
	for _, c := range []struct {
		name        string
		do          func(r *rig)
		disk, hunks string
	}{
		{"recorded and written", func(r *rig) { propose(r) }, edited, one},
		{"written, and not recorded as such", func(r *rig) { r.dieAfter(1); propose(r) }, edited, one},
		{"recorded, not written", func(r *rig) { r.dieAfter(1); propose(r); r.write("f", abc) }, abc, ""},
		{"not recorded", func(r *rig) { r.dieAfter(0); propose(r) }, abc, ""},
		{"recorded, not written, and the person typed", func(r *rig) {
			r.dieAfter(1)
			propose(r)
			r.write("f", abc+"g\n")
		}, abc + "g\n", ""},
		{"written, not recorded as such, and the person typed", func(r *rig) {
			r.dieAfter(1)
			propose(r)
			r.write("f", edited+"g\n")
		}, edited + "g\n", one},
		{"reject recorded, not written", func(r *rig) { propose(r); r.dieAfter(1); reject(r); r.write("f", edited) }, abc, ""},
		{"reject written, not recorded as such", func(r *rig) { propose(r); r.dieAfter(1); reject(r) }, abc, ""},
		{"reject not recorded", func(r *rig) { propose(r); r.dieAfter(0); reject(r) }, edited, one},
		{"reject recorded, not written, and the person typed", func(r *rig) {
			propose(r)
			r.dieAfter(1)
			reject(r)
			r.write("f", "0\n"+edited)
		}, "0\n" + edited, `f:2-3 "b\n"→"B\n" pending`},
		{"the person typed", func(r *rig) { propose(r); r.write("f", "0\n"+edited) }, "0\n" + edited, `f:2-3 "b\n"→"B\n" pending`},
		{"the person typed inside", func(r *rig) { propose(r); r.write("f", "a\nB2\nc\nd\ne\nf\n") }, "a\nB2\nc\nd\ne\nf\n", `f:1-2 "b\n"→"B2\n" conflict`},
		{"git restored the file", func(r *rig) { propose(r); r.write("f", abc) }, abc, one + " held"},
		{"the person deleted the file", func(r *rig) { propose(r); _ = os.Remove(r.abs("f")) }, "<none>", ""},
		{"ask", func(r *rig) { _, _ = r.change("t1", edits.ModeAsk, "f", "b\n", "B\n") }, abc, one + " held"},
		{"ask, and the person typed", func(r *rig) {
			_, _ = r.change("t1", edits.ModeAsk, "f", "b\n", "B\n")
			r.write("f", "0\n"+abc)
		}, "0\n" + abc, `f:2-3 "b\n"→"B\n" pending held`},
		{"a lost buffer", func(r *rig) {
			r.editor.Open(r.abs("f"))
			r.typeAfter("f", "f\n", "g\n") // dirty: the edit is not saved
			propose(r)
			r.editor.Crash()
		}, abc, `f:1-2 "b\n"→"B\n" pending`},
		{"a live buffer", func(r *rig) {
			r.editor.Open(r.abs("f"))
			r.typeAfter("f", "f\n", "g\n")
			propose(r)
			r.typeAfter("f", "B", "B")
		}, abc, `f:1-2 "b\n"→"BB\n" conflict`},
		{"in the live buffer, and not recorded as such", func(r *rig) {
			r.editor.Open(r.abs("f"))
			r.l.SetEditor(noSaver{r.editor})
			r.dieAfter(1)
			propose(r)
		}, abc, one},
		{"recorded, and nothing came to the live buffer", func(r *rig) {
			r.editor.Open(r.abs("f"))
			r.typeAfter("f", "f\n", "g\n")
			r.dieAfter(1)
			r.editor.Refuse = errors.New("died")
			propose(r)
		}, abc, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, map[string]string{"f": abc})
			c.do(r)
			r.store.Fail = nil
			r.start()
			r.eq("hunks", r.hunks(), c.hunks)
			r.eq("disk", r.disk("f"), c.disk)
			n := r.store.Len()
			r.start()
			if _, err := r.files("t", edits.ModeReview).Read(context.Background(), "f"); err != nil && c.disk != "<none>" {
				t.Error(err)
			}
			if r.store.Len() != n {
				t.Error("a second restart found something left to do")
			}
		})
	}
}

// TestLargeState: states that are stored packed come back.
func TestLargeState(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	r := newRig(t, map[string]string{"f": b.String()})
	r.mustChange("t1", edits.ModeReview, "f", "line 7000\n", "LINE\n")
	r.start()
	r.eq("hunks", r.hunks(), `f:7000-7001 "line 7000\n"→"LINE\n" pending`)
	if n := r.store.Size(); n > b.Len() {
		t.Errorf("two states of %d bytes take %d", b.Len(), n)
	}
}

// TestLostBuffer: the hunks of a buffer that was lost unsaved are there when
// the file is opened again, held back, and can still be accepted.
func TestLostBuffer(t *testing.T) {
	r := newRig(t, map[string]string{"f": abc})
	r.editor.Open(r.abs("f"))
	saver := r.editor
	r.l.SetEditor(noSaver{saver})
	r.mustChange("t1", edits.ModeReview, "f", "b\n", "B\n")
	r.eq("disk", r.disk("f"), abc)
	r.editor.Crash()
	r.start()
	r.editor.Open(r.abs("f"))
	r.eq("hunks", r.hunks(), `f:1-2 "b\n"→"B\n" pending held`)
	r.eq("buffer", r.buffer("f"), abc)
	r.resolve(edits.ResolveRequest{All: true, Decision: edits.Accept})
	r.eq("buffer", r.buffer("f"), "a\nB\nc\nd\ne\nf\n")
}

// TestSavedWhenToldInParts: an edit of several places, of which the editor tells
// one by one, is saved once all of it is there.
func TestSavedWhenToldInParts(t *testing.T) {
	r := newRig(t, map[string]string{"f": abc})
	r.editor.Parts, r.editor.Late = true, true
	r.editor.Open(r.abs("f"))
	r.mustChange("t1", edits.ModeReview, "f", "b\nc\nd\n", "B\nc\nD\n")
	r.eq("buffer", r.buffer("f"), "a\nB\nc\nD\ne\nf\n")
	r.eq("disk", r.disk("f"), "a\nB\nc\nD\ne\nf\n")
	r.eq("hunks", r.hunks(), `f:1-2 "b\n"→"B\n" pending; f:3-4 "d\n"→"D\n" pending`)
}

// noSaver hides that an editor can save.
type noSaver struct{ edits.Editor }

// TestLoadIsTheLiveState: after any operations on files that are not open, a
// ledger that loads the log is the one that wrote it.
func TestLoadIsTheLiveState(t *testing.T) {
	dir := memoryDir(t)
	rapid.Check(t, func(rt *rapid.T) {
		r := newRigIn(t, emptied(t, dir), map[string]string{"a.txt": "one\ntwo\nthree\nfour\n", "b.txt": "five\nsix\n"})
		defer r.close()
		s := &sim{rig: r, t: rt, typed: map[string]map[string]bool{}, names: []string{"a.txt", "b.txt", "new.txt"}, alone: true}
		for _, n := range s.names {
			s.typed[n] = map[string]bool{}
		}
		ctx := context.Background()
		for range 10 {
			name := s.names[s.int(2, "file")]
			switch s.int(6, "action") {
			case 0, 1, 2, 3:
				s.agent(ctx, name, "t1")
			case 4:
				s.decide(ctx, name, "t1")
			case 5:
				_, _ = s.l.UndoReject(ctx) // there may be none
			case 6:
				s.restore(ctx, "t1")
			}
			s.check()
		}
		want, verdicts := s.hunks(), s.l.Verdicts(0)
		r.start()
		if got := s.hunks(); got != want {
			s.fail("loaded %s, live was %s", got, want)
		}
		if got := r.l.Verdicts(0); len(got) != len(verdicts) {
			s.fail("%d verdicts were loaded, there were %d", len(got), len(verdicts))
		}
	})
}
