package llmtest

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseScript(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want Script
		err  string
	}{
		"text":       {"-- 0 --\none\ntwo\n", Script{Steps: []string{"one\ntwo"}}, ""},
		"directives": {"about\nloop\nwhen-system: be brief\n-- 0 --\nx\n", Script{Steps: []string{"x"}, Loop: true, WhenSystem: "be brief"}, ""},
		"range":      {"-- 0-1 --\n{n} of {n1}\n-- 2 --\nend\n", Script{Steps: []string{"0 of 1", "1 of 2", "end"}}, ""},
		"call": {"-- 0 --\nhi\n@call read {\"path\":\"a:b,c\", \"n\":[1,2]}\n",
			Script{Steps: []string{"hi\n<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a:b,c\", \"n\": [1, 2]}}\n</tool_call>"}}, ""},
		"think":       {"-- 0 --\n@think hm\nyes\n", Script{Steps: []string{"<think>\nhm\n</think>\n\nyes"}}, ""},
		"repeat":      {"-- 0 --\n@repeat 2 n {i}\n", Script{Steps: []string{"n 1\nn 2"}}, ""},
		"babble":      {"-- 0 --\n{\"\n@babble\n", Script{Steps: []string{"{\"\f"}}, ""},
		"empty":       {"only words\n", Script{}, "no section"},
		"gap":         {"-- 1 --\nx\n", Script{}, "step 0"},
		"no number":   {"-- x --\nx\n", Script{}, `section "x"`},
		"bad JSON":    {"-- 0 --\n@call read {\n", Script{}, "no JSON"},
		"endless":     {"-- 0-99999 --\nx\n", Script{}, "at most"},
		"bad repeat":  {"-- 0 --\n@repeat many x\n", Script{}, "@repeat wants a count"},
		"range turns": {"-- 0 --\na\n-- 1-0 --\nx\n", Script{}, "must come next"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseScript([]byte(c.file))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDefaultScripts(t *testing.T) {
	if err := DefaultScripts().check(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"hello", "reasoning", "slow", "call", "two", "fix", "bash-sleep", "loop", "reads"} {
		if _, ok := DefaultScripts()[name]; !ok {
			t.Errorf("no script %s", name)
		}
	}
}

func TestLoadScriptsNamesTheFile(t *testing.T) {
	_, err := LoadScripts(fstest.MapFS{"d/bad.txtar": {Data: []byte("x")}}, "d")
	if err == nil || !strings.Contains(err.Error(), "d/bad.txtar") {
		t.Errorf("error %v names no file", err)
	}
}

func TestCheck(t *testing.T) {
	for name, s := range map[string]Scripts{
		"name":  {"Bad Name": Texts("text")},
		"steps": {"a": {}},
		"short": {"a": Texts("x")},
		"quote": {"a": {Steps: []string{"text"}, WhenSystem: `say "hi"`}},
	} {
		if _, err := modelBytes(s); err == nil {
			t.Errorf("%s: no error for %v", name, s)
		}
	}
}

// Whatever the texts are, each is cut into tokens that nothing else uses and
// that give the text again.
func TestCutIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.OneOf(
			rapid.StringN(2, 40, 200),
			rapid.StringMatching(`(the|text|tool|path|func|error)( the| a)?`),
			rapid.StringMatching(`[ab]{2,12}`),
		), 1, 12).Draw(t, "texts")
		s := Scripts{}
		for i, text := range texts {
			text = strings.ReplaceAll(text, "\f", "")
			if len(text) < 2 {
				text += "xy"
			}
			s["s"+string(rune('a'+i))] = Texts(text)
		}
		v, entry := vocabularyOf(s)
		for text, name := range entry {
			var got strings.Builder
			current := v.id["<|script:"+name+"|>"]
			for next, ok := v.successor[current]; ok; next, ok = v.successor[current] {
				got.WriteString(v.tokens[next])
				current = next
			}
			if got.String() != byteLevel(text) {
				t.Fatalf("%q is said as %q", text, got.String())
			}
			if !v.last[current] {
				t.Fatalf("%q does not end", text)
			}
		}
	})
}

func FuzzParseScript(f *testing.F) {
	f.Add("loop\n-- 0 --\n@call read {\"path\": \"x\"}\n@think y\n@repeat 3 z\n@babble\n")
	f.Fuzz(func(t *testing.T, file string) {
		s, err := ParseScript([]byte(file))
		if err == nil && (len(s.Steps) == 0 || len(s.Steps) > MaxSteps) {
			t.Errorf("%d steps without an error", len(s.Steps))
		}
	})
}
