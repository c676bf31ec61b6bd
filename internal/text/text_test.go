package text

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// aText draws texts with few different lines, so that diffs have something to
// find, with and without a last line end, CRLF, and bytes that are no UTF-8.
func aText(t *rapid.T, name string) string {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "  d\r\n", "é𝒳\n", "\xff\n", "a longer line of text\n"})
	s := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, name), "")
	if rapid.Bool().Draw(t, name+" cut") {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// someEdits draws a right list of edits of a text.
func someEdits(t *rapid.T, s, name string) []Edit {
	var out []Edit
	at := 0
	for range rapid.IntRange(0, 4).Draw(t, name) {
		start := rapid.IntRange(at, len(s)).Draw(t, "start")
		end := rapid.IntRange(start, min(start+6, len(s))).Draw(t, "end")
		out = append(out, Edit{start, end, rapid.SampledFrom([]string{"", "x", "y\n", "zz"}).Draw(t, "new")})
		at = end
	}
	return out
}

func mustApply(t interface{ Fatalf(string, ...any) }, s string, e []Edit) string {
	out, err := Apply(s, e)
	if err != nil {
		t.Fatalf("apply %+v to %q: %v", e, s, err)
	}
	return out
}

func TestDiffThenApplyGivesTheOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := aText(t, "a"), aText(t, "b")
		edits := Diff(a, b)
		if got := mustApply(t, a, edits); got != b {
			t.Fatalf("%+v of %q gives %q, not %q", edits, a, got, b)
		}
		for i, e := range edits {
			if !AtLineStart(a, e.Start) || e.End != len(a) && !AtLineStart(a, e.End) {
				t.Fatalf("edit %+v of %q is not of whole lines", e, a)
			}
			if i > 0 && e.Start <= edits[i-1].End {
				t.Fatalf("edits %+v touch", edits)
			}
			if got := mustApply(t, a, []Edit{Trim(a, e)}); got != mustApply(t, a, []Edit{e}) {
				t.Fatalf("trimming %+v of %q changes what it does", e, a)
			}
		}
	})
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got := mustApply(t, a, Diff(a, b)); got != b {
			t.Fatalf("%q", got)
		}
		Unified("x", "x", a, b)
		if m, _, ok := Merge(a, b, b); !ok || m != b {
			t.Fatalf("merging the same change gives %q", m)
		}
	})
}

func TestInvertGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := aText(t, "a")
		e := someEdits(t, a, "edits")
		if got := mustApply(t, mustApply(t, a, e), Invert(a, e)); got != a {
			t.Fatalf("%q comes back as %q", a, got)
		}
	})
}

func TestComposeIsOneStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := aText(t, "a")
		e := someEdits(t, a, "first")
		b := mustApply(t, a, e)
		f := someEdits(t, b, "second")
		want := mustApply(t, b, f)
		both := Compose(a, e, f)
		if got := mustApply(t, a, both); got != want {
			t.Fatalf("%+v then %+v of %q: %+v gives %q, not %q", e, f, a, both, got, want)
		}
	})
}

func TestRebaseEitherOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := aText(t, "a")
		e, f := someEdits(t, a, "e"), someEdits(t, a, "f")
		f2, c1 := Rebase(e, f)
		e2, c2 := Rebase(f, e)
		if (c1 == nil) != (c2 == nil) {
			t.Fatalf("%+v over %+v conflicts, the other way round doesn't", f, e)
		}
		if c1 != nil {
			return
		}
		one := mustApply(t, mustApply(t, a, e), f2)
		two := mustApply(t, mustApply(t, a, f), e2)
		if one != two {
			t.Fatalf("%+v and %+v of %q: %q or %q", e, f, a, one, two)
		}
	})
}

func TestRebaseTouching(t *testing.T) {
	over := []Edit{{2, 4, "xx"}}
	for _, c := range []struct {
		e        Edit
		conflict bool
	}{
		{Edit{0, 1, "-"}, false}, {Edit{0, 2, "-"}, true}, {Edit{2, 2, "-"}, true}, {Edit{3, 3, "-"}, true},
		{Edit{4, 4, "-"}, true}, {Edit{4, 5, "-"}, true}, {Edit{5, 6, "-"}, false}, {Edit{2, 4, "yy"}, true}, {Edit{2, 4, "xx"}, false},
	} {
		if _, conflicts := Rebase(over, []Edit{c.e}); (conflicts != nil) != c.conflict {
			t.Errorf("%+v over %+v: conflicts %v, want %v", c.e, over, conflicts, c.conflict)
		}
	}
}

func TestMoveOffset(t *testing.T) {
	edits := []Edit{{2, 4, "xyz"}, {6, 6, "++"}}
	for _, c := range []struct{ in, out, after int }{{0, 0, 0}, {2, 2, 2}, {3, 5, 5}, {4, 5, 5}, {5, 6, 6}, {6, 7, 9}, {7, 10, 10}} {
		if got := MoveOffset(c.in, edits, false); got != c.out {
			t.Errorf("offset %d moves to %d, want %d", c.in, got, c.out)
		}
		if got := MoveOffset(c.in, edits, true); got != c.after {
			t.Errorf("offset %d moves behind to %d, want %d", c.in, got, c.after)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, e := range [][]Edit{{{-1, 0, ""}}, {{0, 4, ""}}, {{2, 1, ""}}, {{1, 2, ""}, {0, 1, ""}}, {{0, 2, ""}, {1, 3, ""}}} {
		if _, err := Apply("abc", e); err == nil {
			t.Errorf("%+v was applied", e)
		}
	}
}

func TestSpans(t *testing.T) {
	for _, c := range []struct {
		a, b              Span
		touches, overlaps bool
	}{
		{Span{0, 2}, Span{2, 4}, true, false}, {Span{0, 3}, Span{2, 4}, true, true}, {Span{0, 1}, Span{2, 4}, false, false},
		{Span{2, 2}, Span{2, 4}, true, false}, {Span{3, 3}, Span{2, 4}, true, true}, {Span{3, 3}, Span{3, 3}, true, false},
	} {
		if c.a.Touches(c.b) != c.touches || c.b.Touches(c.a) != c.touches || c.a.Overlaps(c.b) != c.overlaps || c.b.Overlaps(c.a) != c.overlaps {
			t.Errorf("%v and %v: touches %v, overlaps %v", c.a, c.b, c.a.Touches(c.b), c.a.Overlaps(c.b))
		}
	}
}

func TestLines(t *testing.T) {
	for s, want := range map[string]int{"": 0, "a": 1, "a\n": 1, "a\nb": 2, "\n\n": 2, "a\r\nb\r\n": 2} {
		if got := Lines(s); len(got) != want || strings.Join(got, "") != s || CountLines(s) != want {
			t.Errorf("%q: %q, %d", s, got, CountLines(s))
		}
	}
}

func TestPositions(t *testing.T) {
	s := "añ𝒳b\r\n\xffx\n"
	x := NewIndex(s)
	for _, c := range []struct {
		off                int
		line, c8, c16, c32 int
	}{
		{0, 0, 0, 0, 0}, {1, 0, 1, 1, 1}, {3, 0, 3, 2, 2}, {7, 0, 7, 4, 3}, {8, 0, 8, 5, 4},
		{9, 0, 8, 5, 4}, // between \r and \n
		{10, 1, 0, 0, 0}, {11, 1, 1, 1, 1}, {12, 1, 2, 2, 2}, {13, 2, 0, 0, 0},
	} {
		for enc, col := range map[Encoding]int{UTF8: c.c8, UTF16: c.c16, UTF32: c.c32} {
			if got := x.Position(c.off, enc); got != (Position{c.line, col}) {
				t.Errorf("offset %d in %s: %v, want %d:%d", c.off, enc, got, c.line, col)
			}
		}
	}
	for _, c := range []struct {
		p   Position
		enc Encoding
		off int
	}{
		{Position{0, 3}, UTF16, 3},   // inside a pair
		{Position{0, 99}, UTF16, 8},  // behind the line, before its end
		{Position{1, 99}, UTF16, 12}, //
		{Position{9, 0}, UTF16, 13},  // behind the text
		{Position{-1, 5}, UTF16, 0},  //
		{Position{0, 2}, UTF8, 1},    // inside ñ
		{Position{0, 5}, UTF8, 3},    // inside 𝒳
		{Position{1, 1}, UTF8, 11},   //
		{Position{0, -4}, UTF32, 0},  //
	} {
		if got := x.Offset(c.p, c.enc); got != c.off {
			t.Errorf("%v in %s: offset %d, want %d", c.p, c.enc, got, c.off)
		}
	}
}

func TestPositionsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := aText(t, "s")
		x := NewIndex(s)
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			last := Position{-1, 0}
			for i := range s { // every character's beginning
				if s[i] == '\n' && i > 0 && s[i-1] == '\r' {
					continue // inside a line's end
				}
				p := x.Position(i, enc)
				if !last.Less(p) {
					t.Fatalf("%s: %v comes after %v", enc, p, last)
				}
				last = p
				if back := x.Offset(p, enc); back != i {
					t.Fatalf("%q %s: %d is %v is %d", s, enc, i, p, back)
				}
			}
		}
	})
}

func FuzzPosition(f *testing.F) {
	f.Add("a\r\n𝒳", 1, 1)
	f.Fuzz(func(t *testing.T, s string, line, col int) {
		x := NewIndex(s)
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			off := x.Offset(Position{line, col}, enc)
			if off < 0 || off > len(s) {
				t.Fatalf("offset %d of %d", off, len(s))
			}
			x.Position(col, enc)
		}
	})
}

func TestUnified(t *testing.T) {
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16"
	b := "1\ntwo\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"
	want := `--- a/x
+++ b/x
@@ -1,5 +1,5 @@
 1
-2
+two
 3
 4
 5
@@ -13,4 +13,4 @@
 13
 14
 15
-16
\ No newline at end of file
+16
`
	if got, add, del := Unified("x", "x", a, b); got != want || add != 2 || del != 2 {
		t.Errorf("+%d -%d\n%s", add, del, got)
	}
	if got, _, _ := Unified("", "x", "", "a\nb\n"); got != "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n" {
		t.Errorf("created:\n%s", got)
	}
	if got, _, _ := Unified("x", "x", a, a); got != "" {
		t.Errorf("no change:\n%s", got)
	}
}

func BenchmarkDiff(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("line %d of a file with some text in it\n", i))
	}
	old := strings.Join(lines, "")
	for range 300 {
		lines[r.Intn(len(lines))] = fmt.Sprintf("changed %d\n", r.Int())
	}
	now := strings.Join(lines, "")
	b.SetBytes(int64(len(old)))
	for b.Loop() {
		Diff(old, now)
	}
}

// scramble changes a few lines of a text.
func scramble(s string, seed int) string {
	r := rand.New(rand.NewSource(int64(seed)))
	lines := Lines(s)
	for range 1 + seed%10 {
		i := r.Intn(len(lines))
		switch r.Intn(3) {
		case 0:
			lines[i] = fmt.Sprintf("changed %d\n", r.Int())
		case 1:
			lines = append(lines[:i:i], append([]string{fmt.Sprintf("new %d\n", r.Int()), "and\n"}, lines[i:]...)...)
		case 2:
			lines = append(lines[:i:i], lines[i+1:]...)
		}
	}
	return strings.Join(lines, "")
}
