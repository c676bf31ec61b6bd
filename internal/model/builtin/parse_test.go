package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// brief writes an intent in one line, for the table.
func brief(it intent) string {
	var f []string
	add := func(name, v string) {
		if v != "" {
			f = append(f, fmt.Sprintf("%s=%q", name, v))
		}
	}
	add("form", it.form)
	if it.kind == kindAsk || it.kind == kindUnknown || it.kind == kindRename || it.kind == kindDelete {
		add("subject", it.subject)
	}
	add("old", it.old)
	add("new", it.new)
	add("text", it.text)
	add("paths", strings.Join(it.paths, " "))
	if it.from > 0 {
		add("at", fmt.Sprintf("%d-%d", it.from, it.to))
	}
	if it.every {
		f = append(f, "every")
	}
	if it.literal {
		f = append(f, "literal")
	}
	return strings.TrimSpace(string(it.kind) + " " + strings.Join(f, " "))
}

// TestParse walks testdata/parse.txt: a message on a line that begins with
// ">", then its intents, one a line. -update rewrites the intents; only commit
// what you understand.
func TestParse(t *testing.T) {
	const file = "testdata/parse.txt"
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, l := range strings.Split(strings.TrimRight(string(raw), "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "#"), l == "":
			out.WriteString(l + "\n")
		case strings.HasPrefix(l, "> "):
			out.WriteString(l + "\n")
			message := strings.ReplaceAll(l[2:], `\n`, "\n")
			for _, it := range parse(message) {
				out.WriteString("  " + brief(it) + "\n")
			}
		}
	}
	if out.String() == string(raw) {
		return
	}
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(string(raw), "\n")
	for i, l := range strings.Split(out.String(), "\n") {
		if i >= len(want) || want[i] != l {
			t.Fatalf("testdata/parse.txt:%d:\n got %s\nwant %s\n(run with -args -update, read the difference)", i+1, l, at(want, i))
		}
	}
	t.Fatal("testdata/parse.txt has lines too many")
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "(nothing)"
}

func TestNarrowing(t *testing.T) {
	yes := []string{"only the client side, please", "not in tests", "skip the tests", "just in transport.go", "in client.go please",
		"without the bundle", "the server side", "I meant the client", "focus on h2_bundle.go", "stop", "except vendor/", "only server.go", "not the http2 one"}
	no := []string{"where is the idle timeout applied?", "rename a to b", "run the tests", "what about X?", "skip the tests and rename a to b",
		"in which file is Transport defined?", "replace \"only\" with \"just\" in a.go", "list the files"}
	for _, s := range yes {
		if !isNarrowing(s) {
			t.Errorf("%q is a word on the request before it", s)
		}
	}
	for _, s := range no {
		if isNarrowing(s) {
			t.Errorf("%q is a request of its own", s)
		}
	}
}

func TestStemsMeet(t *testing.T) {
	for _, group := range [][]string{
		{"cookie", "cookies"}, {"parse", "parsed", "parsing", "parses"}, {"query", "queries"}, {"match", "matches", "matched", "matching"},
		{"stop", "stopped", "stopping"}, {"close", "closed", "closes", "closing"}, {"retry", "retries", "retried"}, {"header", "headers"},
		{"redirect", "redirects", "redirected"}, {"cache", "caching", "cached"}, {"commit", "committed", "committing"},
	} {
		for _, w := range group[1:] {
			if stem(w) != stem(group[0]) {
				t.Errorf("stem(%s) = %s, stem(%s) = %s", w, stem(w), group[0], stem(group[0]))
			}
		}
	}
}

func TestParts(t *testing.T) {
	for in, want := range map[string]string{
		"tryPutIdleConn": "try put idle conn", "HTTPServer": "http server", "parse_range": "parse range", "URLs": "urls",
		"http2Transport": "http 2 transport", "maxNestLev": "max nest lev", "keep-alive": "keep alive", "": "", "éÀ": "é à",
	} {
		if got := strings.Join(parts(in), " "); got != want {
			t.Errorf("parts(%q) = %q, want %q", in, got, want)
		}
	}
}

// BenchmarkParseLong: a message of the greatest length, made of joints, must
// not take time out of proportion (wordsMax and jointsMax see to that).
func BenchmarkParseLong(b *testing.B) {
	for _, piece := range []string{"x and run ", "where is a? and where ", "\n- where ", "'a "} {
		b.Run(strings.TrimSpace(piece), func(b *testing.B) {
			message := strings.Repeat(piece, inputMax/len(piece))
			for b.Loop() {
				parse(message)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	raw, err := os.ReadFile("testdata/parse.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, l := range strings.Split(string(raw), "\n") {
		if strings.HasPrefix(l, "> ") {
			f.Add(strings.ReplaceAll(l[2:], `\n`, "\n"))
		}
	}
	f.Add("delete\x01 lines 'with' \x0299\x02")
	f.Fuzz(func(t *testing.T, s string) {
		first := parse(s)
		if len(first) == 0 || len(first) > tasksMax {
			t.Fatalf("%d intents", len(first))
		}
		second := parse(s)
		for i := range first {
			if brief(first[i]) != brief(second[i]) {
				t.Fatalf("not deterministic: %s and %s", brief(first[i]), brief(second[i]))
			}
		}
		isNarrowing(s)
		readSteers([]string{s})
	})
}

// A test run that a crash of the agent cut off says nothing about the tests.
func TestCutOffTestsHaveNotFailed(t *testing.T) {
	got := testReport("go test ./...", result{failed: true, text: cutOff + " while this call ran; whether it took effect is not known"})
	if strings.Contains(got, "fail") || !strings.Contains(got, "did not come to their end") {
		t.Error(got)
	}
}
