package main

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// TestScreenShowsEveryRowOnce: however a tree grows, in terminals of all
// sizes, each settled row ends up on the terminal once, in order and whole,
// and of the live ones nothing is left in between.
func TestScreenShowsEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns, rows := rapid.IntRange(20, 60).Draw(t, "columns"), rapid.IntRange(4, 12).Draw(t, "rows")
		term := newVT(columns, rows)
		s := screen{out: writer(term.write), size: func() (int, int) { return columns, rows }, mark: "…"}
		var sc scroll
		var tree []cycle.TextLine
		settled := 0
		for step := range rapid.IntRange(1, 25).Draw(t, "frames") {
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				tree = append(tree, cycle.TextLine{Key: fmt.Sprint(len(tree))})
			}
			for i := settled; i < len(tree); i++ { // what still changes changes
				tree[i].Text = fmt.Sprintf("row %d at %d %s", i, step, strings.Repeat("x", rapid.IntRange(0, columns-20).Draw(t, "long")))
			}
			for settled < len(tree) && rapid.Bool().Draw(t, "settle") {
				tree[settled].Settled = true
				settled++
			}
			fresh, rest := sc.take(tree)
			footer := rapid.SliceOfN(rapid.StringMatching(`[a-z ]{0,70}`), 0, 3).Draw(t, "footer")
			s.draw(fresh, append(rest, footer...))
			if got := strings.Split(term.text(), "\n"); len(got) < settled {
				t.Fatalf("%d rows are settled, the terminal shows\n%s", settled, term.text())
			}
			for i, l := range tree[:settled] {
				if got := strings.Split(term.text(), "\n")[i]; got != strings.TrimRight(l.Text, " ") {
					t.Fatalf("frame %d: row %d is %q, want %q\n%s", step, i, got, l.Text, term.text())
				}
			}
			if live := len(term.lines) - settled; live > rows {
				t.Fatalf("%d live rows on a terminal of %d", live, rows)
			}
		}
		for i := range tree {
			tree[i].Settled = true
		}
		fresh, rest := sc.take(tree)
		s.draw(fresh, rest)
		want := ""
		for _, l := range tree {
			want += strings.TrimRight(l.Text, " ") + "\n"
		}
		if got := strings.TrimRight(term.text(), "\n"); got != strings.TrimRight(want, "\n") {
			t.Fatalf("at the end the terminal shows\n%s\nwant\n%s", got, want)
		}
	})
}

type writer func(string)

// Write implements io.Writer.
func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// TestScreenWritesNothingTwice: a frame that is the same as the one before
// costs no byte, so nothing can flicker.
func TestScreenWritesNothingTwice(t *testing.T) {
	written := 0
	s := screen{out: writer(func(x string) { written += len(x) }), size: func() (int, int) { return 80, 24 }}
	s.draw([]string{"done"}, []string{"live", "footer"})
	before := written
	s.draw(nil, []string{"live", "footer"})
	if written != before || before == 0 {
		t.Errorf("%d bytes, then %d", before, written)
	}
}

func TestCutKeepsColours(t *testing.T) {
	for _, c := range []struct {
		in, want string
		columns  int
	}{
		{"short", "short", 10},
		{"exactly ten", "exactly t…", 10},
		{"\x1b[31mred text\x1b[0m", "\x1b[31mred text\x1b[0m", 8},
		{"\x1b[31mred text\x1b[0m", "\x1b[31mred …\x1b[0m", 5},
		{"日本語の行", "日本…", 5},
		{"a\nb", "a b", 10},
	} {
		if got := cutANSI(c.in, c.columns, "…"); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.in, c.columns, got, c.want)
		}
	}
}

func TestTyping(t *testing.T) {
	for keys, want := range map[string]string{
		"hello\r": "hello", "hex\x7fllo\r": "hello", "one two\x17three\r": "one three", "wrong\x15right\r": "right",
		"é日\x7f\r": "é", "\x7f\x17\x15x\r": "x", "a\tb\x00c\r": "abc", " \r": "",
	} {
		var line typing
		got, ended := "", false
		for _, k := range keys {
			if l, whole := line.key(k); whole {
				got, ended = l, true
			}
		}
		if !ended || got != want || line.text != "" {
			t.Errorf("%q types %q (ended %v), want %q", keys, got, ended, want)
		}
	}
}

func TestKeysPassOverSequences(t *testing.T) {
	var got strings.Builder
	readKeys(strings.NewReader("a\x1b[A\x1b[1;5Cb\x1bOHc\n"), func(r rune) { got.WriteRune(r) })
	if got.String() != "abc\r" {
		t.Errorf("got %q", got.String())
	}
}
