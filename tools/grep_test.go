package tools

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// oneFile is a workspace of one file, for grep's own work.
type oneFile struct{ Files }

func (f oneFile) Read(context.Context, string) (File, error) {
	return File{Path: "f", Data: []byte(grepText)}, nil
}

var grepText string

func TestRequiredLiteral(t *testing.T) {
	for pattern, want := range map[string]string{
		"foo": "foo", "(?i)FOO": "foo/i", "foo|bar": "", "a.*needle.*b": "needle", "(abc)+d": "abc", "x{2,}yy": "yy", "(?:abc)?de": "de", "[a-c]xy": "xy",
		"a": "", "(?i)straße": "", "^import$": "import", "": "", "(": "",
	} {
		l := requiredLiteral(pattern)
		got := string(l.text)
		if l.fold {
			got += "/i"
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
	}
}

// FuzzGrep: what is found fast is what trying every line finds.
func FuzzGrep(f *testing.F) {
	f.Add("needle\nNEEDLE\r\nx", "needle", true)
	f.Add("\u212aelvin\nkelvin", "KELVIN", true)
	f.Add("a\n\nb", "^$", false)
	f.Add("foo\nbar", "(?s)o.b", false)
	f.Add("x\r\ny", "x$", false)
	f.Add("ab\nab", `\Aab`, false)
	f.Fuzz(func(t *testing.T, text, pattern string, fold bool) {
		s, err := newGrep(grepIn{Pattern: pattern, IgnoreCase: fold})
		if err != nil || isBinary([]byte(text)) {
			return
		}
		grepText = text
		got := s.file(context.Background(), oneFile{}, "f").lines
		prefix := ""
		if fold {
			prefix = "(?i)"
		}
		re := regexp.MustCompile(prefix + pattern)
		decoded, _ := decodeText([]byte(text))
		var want []int
		for i, l := range splitLines(strings.ReplaceAll(decoded, "\r\n", "\n")).lines {
			if re.MatchString(l) && len(want) <= s.limit {
				want = append(want, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in %q: lines %v, want %v", prefix+pattern, text, got, want)
		}
	})
}
