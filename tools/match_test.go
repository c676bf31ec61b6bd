package tools

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
	"znkr.io/diff/textdiff"
)

// drawLines draws a text of lines that are all different, so that every run of
// lines stands at one place only.
func drawLines(t *rapid.T, label string) []string {
	n := rapid.IntRange(1, 14).Draw(t, label+" lines")
	lines := make([]string, n)
	for i := range lines {
		indent := strings.Repeat("\t", rapid.IntRange(0, 3).Draw(t, "indent"))
		lines[i] = fmt.Sprintf("%s%s %02d;", indent, rapid.SampledFrom([]string{"call(x)", "if y {", "return nil", "ä := β"}).Draw(t, "word"), i)
	}
	return lines
}

func drawEOL(t *rapid.T) string { return rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "eol") }

// TestEditChangesItsRegionOnly: wherever the old text is a run of lines, what
// is before and after stays byte for byte, whatever the line endings, with and
// without a final newline, when blanks or indentation differ.
func TestEditChangesItsRegionOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawLines(t, "file")
		e := drawEOL(t)
		raw := strings.Join(lines, e)
		final := rapid.Bool().Draw(t, "final newline")
		if final {
			raw += e
		}
		from := rapid.IntRange(0, len(lines)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(lines)).Draw(t, "to")
		part := append([]string(nil), lines[from:to]...)
		switch rapid.SampledFrom([]string{"exact", "blanks", "indent"}).Draw(t, "how") {
		case "blanks":
			part[rapid.IntRange(0, len(part)-1).Draw(t, "line")] += "  "
		case "indent":
			for i := range part {
				part[i] = "\t" + part[i]
			}
		}
		fresh := fmt.Sprintf("fresh %d", rapid.IntRange(0, 9).Draw(t, "fresh"))
		out, _, err := editPair{OldText: strings.Join(part, "\n"), NewText: fresh}.apply(raw)
		if err != nil {
			t.Fatalf("%q in %q: %v", part, raw, err)
		}
		before := strings.Join(lines[:from], e)
		if from > 0 {
			before += e
		}
		after := strings.Join(lines[to:], e)
		if to < len(lines) {
			after = e + after
		}
		if final {
			after += e
		}
		middle, ok := strings.CutPrefix(out, before)
		middle, ok2 := strings.CutSuffix(middle, after)
		if !ok || !ok2 || strings.TrimLeft(middle, "\t") != fresh {
			t.Fatalf("%q with %q → %q\ngot %q", raw, part, fresh, out)
		}
	})
}

// TestReindentFollowsTheFile: code that is moved as a block goes in as a block.
func TestReindentFollowsTheFile(t *testing.T) {
	for _, tc := range []struct{ name, model, file, text, want string }{
		{"deeper", "a\n  b", "  a\n    b", "a\n  c\n    d", "  a\n    c\n      d"},
		{"shallower", "    a\n      b", "a\n  b", "    a\n      c", "a\n  c"},
		{"spaces to tabs", "a\n    b", "\ta\n\t\tb", "a\n    b\n        c\n", "\ta\n\t\tb\n\t\t\tc\n"},
		{"tabs to spaces", "\ta\n\t\tb", "  a\n    b", "\ta\n\t\tb\n\t\t\tc", "  a\n    b\n      c"},
		{"back out", "    a\n        b", "\t\ta\n\t\t\tb", "    a\nc", "\t\ta\n\tc"},
		{"blank lines stay", "a", "  a", "a\n\nb", "  a\n\n  b"},
		{"nothing to do", "a", "a", "a\n b", "a\n b"},
	} {
		re, ok := learnIndent(strings.Split(tc.model, "\n"), strings.Split(tc.file, "\n"))
		if got := re.apply(tc.text); !ok || got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
	if _, ok := learnIndent([]string{"a", "b"}, []string{"a", " b"}); ok {
		t.Error("one indent of the model's that is two of the file's was learned")
	}
}

// TestPatchIsTheDiff: the diff between two texts turns one into the other,
// with right line numbers and with none.
func TestPatchIsTheDiff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawLines(t, "a")
		b := append([]string(nil), a...)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(b)).Draw(t, "at")
			switch {
			case rapid.Bool().Draw(t, "insert") || at == len(b):
				b = append(b[:at:at], append([]string{fmt.Sprintf("new %d", len(b))}, b[at:]...)...)
			default:
				b = append(b[:at:at], b[at+1:]...)
			}
		}
		text := func(lines []string, label string) string {
			s := strings.Join(lines, "\n")
			if s != "" && rapid.Bool().Draw(t, label) {
				s += "\n"
			}
			return s
		}
		before, after := text(a, "a ends"), text(b, "b ends")
		if before == after || before == "" {
			return
		}
		diff := textdiff.Unified(before, after)
		if rapid.Bool().Draw(t, "numbers off") {
			diff = hunkLine.ReplaceAllString(diff, "@@ @@")
		}
		in := editIn{Path: "x", Diff: diff}
		got, _, err := in.apply(before)
		if err != nil || got != after {
			t.Fatalf("%v\nbefore %q\nafter  %q\ngot    %q\n%s", err, before, after, got, diff)
		}
		crlf := strings.ReplaceAll(before, "\n", "\r\n")
		got, _, err = in.apply(crlf)
		if err != nil || strings.ReplaceAll(got, "\r\n", "\n") != after || strings.Count(got, "\n") != strings.Count(got, "\r\n") && strings.Contains(crlf, "\n") {
			t.Fatalf("with CRLF: %v\ngot %q\nwant %q", err, got, after)
		}
	})
}

// TestNeverGuesses: two places that both fit are an error, at every level.
func TestNeverGuesses(t *testing.T) {
	block := "func A() {\n\tone()\n\ttwo()\n\tthree()\n\tfour()\n\tfive()\n\tsix()\n\tseven()\n\teight()\n\treturn\n}\n"
	for name, tc := range map[string]struct{ text, old string }{
		"exact":       {"x\ny\nx\n", "x"},
		"overlapping": {"aaa", "aa"},
		"blanks":      {"x  \ny\nx\t\n", "x\n"},
		"indentation": {"  x\n  y\nz\n   x\n   y\n", "x\ny\n"},
		"brackets":    {"\tif x {\n\t\t}\n\t}\n", "  }\n}\n"},
		"similar":     {strings.Replace(block, "five()", "fire()", 1) + strings.Replace(block, "six()", "sex()", 1), block},
	} {
		if out, _, err := (editPair{OldText: tc.old, NewText: "new"}).apply(tc.text); err == nil {
			t.Errorf("%s: it guessed: %q", name, out)
		}
	}
}

// TestSimilarKeepsWhatItDoesNotChange: a place that is only alike is changed in
// the lines that the edit is about; if those are not there, it is refused.
func TestSimilarKeepsWhatItDoesNotChange(t *testing.T) {
	block := "func A() {\n\tone()\n\ttwo()\n\tthree()\n\tfour()\n\tfive()\n\tsix()\n\tseven()\n\teight()\n\treturn\n}\n"
	edited := strings.Replace(block, "five()", "fine()", 1) // by somebody, after block was read
	twin := strings.Replace(edited, "func A", "func B", 1)
	replace := func(in string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(in) }
	for name, tc := range map[string]struct{ text, with, want string }{
		"another line":       {edited, replace(block, "two()", "2()"), replace(edited, "two()", "2()")},
		"two other lines":    {edited, replace(block, "two()", "2()", "eight()", "8()\n\t9()"), replace(edited, "two()", "2()", "eight()", "8()\n\t9()")},
		"an insertion":       {edited, replace(block, "\ttwo()", "\tone()\n\ttwo()"), replace(edited, "\ttwo()", "\tone()\n\ttwo()")},
		"a deletion":         {edited, replace(block, "\ttwo()\n", ""), replace(edited, "\ttwo()\n", "")},
		"indented otherwise": {replace(edited, "\t", "    "), replace(block, "two()", "2()"), replace(edited, "two()", "2()", "\t", "    ")},
		"that very line":     {edited, replace(block, "five()", "5()"), ""},
		"all lines":          {edited, "new\n", ""},
		"a twin elsewhere":   {edited + twin, replace(block, "two()", "2()"), ""},
		"a twin before":      {twin + edited, replace(block, "two()", "2()"), ""},
		"beside it":          {edited, replace(block, "five()\n", "five()\n\thalf()\n"), replace(edited, "fine()\n", "fine()\n\thalf()\n")},
	} {
		out, how, err := (editPair{OldText: block, NewText: tc.with}).apply(tc.text)
		if out != tc.want || (err == nil) != strings.Contains(how, "alike") || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v\n%s", name, how, err, out)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\nb\nc\n", "b", "x", false)
	f.Add("a\r\n  b\r\nc", "b\n", "x\ny\n", false)
	f.Add("\ta\n\t\tb\n", "a\n    b", "c\n    d", true)
	f.Add("aaa", "aa", "b", true)
	f.Fuzz(func(t *testing.T, raw, old, with string, all bool) {
		e := editPair{OldText: old, NewText: with, All: all}
		out, _, err := e.apply(raw)
		if err != nil {
			if out != "" {
				t.Errorf("an error and a text: %q", out)
			}
			return
		}
		if raw == "" {
			return
		}
		u := toUnix(raw)
		places, _ := match(u.text, strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(with, "\r\n", "\n"))
		if len(places) == 0 || len(places) > 1 && !all {
			t.Fatalf("applied at %d places", len(places))
		}
		first, last := places[0], places[len(places)-1]
		if !strings.HasPrefix(out, raw[:u.raw(first.start)]) {
			t.Errorf("%q → %q: what is before line %d changed", raw, out, lineOf(u.text, first.start))
		}
		if len(places) == 1 && out != raw[:u.raw(first.start)]+out[u.raw(first.start):len(out)-len(raw)+u.raw(last.end)]+raw[u.raw(last.end):] {
			t.Errorf("%q → %q: what is after the place changed", raw, out)
		}
	})
}

func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
	f.Add("a\nb", "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n")
	f.Add("", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")
	f.Fuzz(func(t *testing.T, text, diff string) {
		p, err := parsePatch(diff)
		if err != nil {
			return
		}
		places, _, err := p.apply(toUnix(text).text)
		if err != nil {
			return
		}
		end := 0
		for _, m := range places {
			if m.start < end || m.end < m.start || m.end > len(text) {
				t.Fatalf("places out of order: %+v", places)
			}
			end = m.end
		}
	})
}

// FuzzTextForm: any bytes come back as they were.
func FuzzTextForm(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\n", "\xef\xbb\xbfx", "\xff\xfea\x00", "\xfe\xff\x00a", "\xff\xfe\x00\xd8", "caf\xe9", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, form := decodeText(data)
		back, err := form.encode(s)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%q as %s came back as %q, %v", data, form.name, back, err)
		}
		if !utf8.ValidString(s) {
			t.Errorf("%q became no valid text", data)
		}
		u := toUnix(s)
		for at := 0; at <= len(u.text); at++ {
			if u.text[:at] != strings.ReplaceAll(s[:u.raw(at)], "\r\n", "\n") && !strings.HasSuffix(s[:u.raw(at)], "\r") {
				t.Fatalf("offset %d of %q is not %d of %q", at, u.text, u.raw(at), s)
			}
		}
	})
}

var hunkLine = regexp.MustCompile(`(?m)^@@.*@@$`)
