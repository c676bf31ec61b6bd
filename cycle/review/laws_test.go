package review

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// TestIDsAreStable: whatever the person does around a hunk it keeps its id, and
// one that is absorbed is still found by the id that it had.
func TestIDsAreStable(t *testing.T) {
	n := 0
	id := func() string { n++; return fmt.Sprint("h", n) }
	f := New("1\n2\n3\n4\n5\n6\n")
	f, err := f.Agent("1\nB\n3\n4\nE\n6\n", Ref{EditID: "e1"}, false, id)
	if err != nil {
		t.Fatal(err)
	}
	ids := func() string {
		var out []string
		for _, h := range f.Hunks() {
			out = append(out, strings.Join(append([]string{h.ID}, h.Merged...), "+"))
		}
		return strings.Join(out, " ")
	}
	for _, s := range []struct{ shown, want string }{
		{"0\n1\nB\n3\n4\nE\n6\n", "h1 h2"},
		{"0\nB\n3\nnew\n4\nE\n6\n", "h1 h2"},
		{"0\nBB\n3\nnew\n4\nE\n", "h1 h2"},
		{"0\nB3new4E\n", "h1+h2"}, // joined into one line
	} {
		f = f.UserText(s.shown)
		if f.Shown() != s.shown || ids() != s.want {
			t.Errorf("%q: the hunks are %s, want %s\n%s", s.shown, ids(), s.want, dump(f))
		}
	}
	f, done := f.Reject(func(h *Hunk) bool { return h.Answers("h2") }, "g")
	if len(done) != 1 || done[0].Hunk.ID != "h1" || f.Pending() != 0 {
		t.Errorf("rejecting by an absorbed id: %+v\n%s", done, dump(f))
	}
}

// TestTimeline: the undo of an application is the state before it, and what was
// accepted is not undone by the way.
func TestTimeline(t *testing.T) {
	var line Timeline
	id := func() string { return "h" }
	edit := func(f File, now string) File {
		out, err := line.User(f, text.Diff(f.Shown(), now))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	f0 := New("a\nb\n")
	f1, err := f0.Agent("a\nB\n", Ref{EditID: "e"}, false, id)
	if err != nil {
		t.Fatal(err)
	}
	line.Op(f0, f1)
	f2 := edit(f1, "a\nB typed\n")
	if f2.Hunks()[0].Conflict != true {
		t.Error("typing inside is no conflict")
	}
	if f := edit(f2, "a\nB\n"); !f.Equal(f1) {
		t.Errorf("undo of typing gives\n%s", dump(f))
	}
	if f := edit(f1, "a\nb\n"); !f.Equal(f0) {
		t.Errorf("undo of the application gives\n%s", dump(f))
	}
	if f := edit(f0, "a\nB\n"); !f.Equal(f1) {
		t.Errorf("redo of the application gives\n%s", dump(f))
	}
	f3, _ := f1.Accept(func(*Hunk) bool { return true })
	line.Reset()
	if f := edit(f3, "a\nb\n"); f.Pending() != 0 || f.Person() != "a\nb\n" {
		t.Errorf("after accepting, going back is an edit like any other, not\n%s", dump(f))
	}
	// What the person wrote is not lost by an undo that only looks like one:
	// the agent deletes their line, and they type another with the text that
	// was there before they wrote it.
	line.Reset()
	g0 := New("q\n")
	g1 := edit(g0, "mine\nq\n")
	g2, err := g1.Agent("", Ref{EditID: "e"}, false, id)
	if err != nil {
		t.Fatal(err)
	}
	line.Op(g1, g2)
	if g3 := edit(g2, "q\n"); !strings.Contains(g3.Person(), "mine\n") {
		t.Errorf("lost a line:\n%s", dump(g3))
	}
}

func TestCodec(t *testing.T) {
	f := New("a\xff\nb\r\n")
	f, err := f.Agent("a\xfe\n\x00", Ref{EditID: "e", SessionID: "s", TurnID: "t", CallID: "c"}, true, func() string { return "h1" })
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []File{{}, New(""), New("x"), f} {
		data := f.Encode()
		back, err := Decode(data)
		if err != nil || !back.Equal(f) || string(back.Encode()) != string(data) {
			t.Errorf("%q comes back as %q (%v)", data, back.Encode(), err)
		}
	}
	for _, bad := range []string{"", "x", "{}", "{}\n", `{"v":2,"tail":0}` + "\n", `{"v":1,"tail":3}` + "\nab", `{"v":1,"tail":-1}` + "\n", `{"v":1,"tail":1}` + "\nx"} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	x, _ := New("a\nb\n").Agent("a\nB\nc\n", Ref{EditID: "e"}, false, func() string { return "h1" })
	y, _ := x.Reject(func(*Hunk) bool { return true }, "g")
	f.Add(x.Encode())
	f.Add(y.Encode())
	f.Add(File{}.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		again, err := Decode(s.Encode())
		if err != nil || !again.Equal(s) {
			t.Fatalf("%q: %v", data, err)
		}
		// Whatever was read can be worked with.
		s, _ = s.Reject(func(h *Hunk) bool { return len(h.ID)%2 == 0 }, "x")
		s, _ = s.Accept(func(*Hunk) bool { return true })
		s, _ = s.UndoReject("x")
		_ = s.UserText("z\n").Person()
	})
}

// FuzzUser feeds the person's edits at any place, in any bytes.
func FuzzUser(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nB\nc\nd\n", 2, 3, "x\n")
	f.Add("a\r\nb", "", 0, 1, "\r\n")
	f.Fuzz(func(t *testing.T, base, agent string, from, to int, now string) {
		n := 0
		s, err := New(base).Agent(agent, Ref{EditID: "e"}, false, func() string { n++; return fmt.Sprint("h", n) })
		if err != nil {
			t.Fatal(err)
		}
		e := []text.Edit{{Start: from, End: to, New: now}}
		want, err := text.Apply(s.Shown(), e)
		if err != nil {
			return
		}
		s, err = s.User(e)
		if err != nil {
			t.Fatal(err)
		}
		if s.Shown() != want {
			t.Fatalf("shown is %q, want %q\n%s", s.Shown(), want, dump(s))
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkTyping(b *testing.B) {
	lines := strings.Repeat("some line of ordinary length in a file\n", 5000)
	n := 0
	f, err := New(lines).Agent(strings.ReplaceAll(lines, "ordinary length in a file\nsome", "ordinary\nlength"), Ref{EditID: "e"}, false, func() string { n++; return fmt.Sprint("h", n) })
	if err != nil {
		b.Fatal(err)
	}
	at := len(f.Shown()) / 2
	b.ReportMetric(float64(f.Pending()), "hunks")
	for b.Loop() {
		if f, err = f.User([]text.Edit{{Start: at, End: at, New: "x"}}); err != nil {
			b.Fatal(err)
		}
	}
}
