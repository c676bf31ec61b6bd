package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/rag"
)

// A small room holds the spans, a larger one what they are a part of, never both.
func TestEvidenceGrowsWithTheRoom(t *testing.T) {
	var lines []string
	for n := range 900 {
		lines = append(lines, fmt.Sprintf("line %d of a file", n+1))
	}
	files := map[string][]string{"short.go": lines[:100], "long.go": lines, "tiny.go": lines[:9]}
	read := func(p string, start, end int) (string, int, bool) {
		all := files[p]
		if start < 1 || start > len(all) {
			return "", 0, false
		}
		return strings.Join(all[start-1:min(end, len(all))], "\n") + "\n", start, true
	}
	items := []rag.Item{
		{Path: "short.go", StartLine: 41, EndLine: 50, Score: 1, Around: &rag.Lines{StartLine: 31, EndLine: 70}},
		{Path: "long.go", StartLine: 11, EndLine: 20, Score: .6, Around: &rag.Lines{StartLine: 1, EndLine: 40}},
		{Path: "short.go", StartLine: 61, EndLine: 66, Score: .5, Around: &rag.Lines{StartLine: 31, EndLine: 70}},
		{Path: "long.go", StartLine: 890, EndLine: 900, Score: .3, Around: &rag.Lines{StartLine: 861, EndLine: 900}},
		{Path: "tiny.go", StartLine: 1, EndLine: 2, Score: .2, Around: &rag.Lines{StartLine: 1, EndLine: 9}},
		{Path: "gone.go", StartLine: 1, EndLine: 10, Score: .4},
	}
	tokens := func(s string) int { return len(s) / 4 }
	for _, x := range []struct {
		room int
		want string
	}{
		{60, "short.go:61-66"},
		{180, "short.go:41-50 long.go:11-20 tiny.go:1-2"},
		{300, "short.go:41-50 long.go:11-20 short.go:61-66 long.go:890-900"},
		{560, "long.go:11-20 long.go:890-900 short.go:31-70 tiny.go:1-9"},
		{5000, "short.go:1-100 long.go:1-40 long.go:861-900 tiny.go:1-9"},
	} {
		in := contextplan.Input{Budget: contextplan.Budget{ContextWindow: x.room}, Candidates: EvidenceCandidates(items, read, tokens)}
		plan, err := contextplan.Build(in)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, it := range plan.Included {
			got = append(got, strings.TrimPrefix(it.ID, "retrieval:"))
		}
		if s := strings.Join(got, " "); s != x.want {
			t.Errorf("%d tokens: %q, want %q", x.room, s, x.want)
		}
	}
	for _, s := range evidenceSnippets(items, read) {
		if want := hashOf(strings.TrimSuffix(s.text, "\n")); s.item.ContentHash != want {
			t.Errorf("%s:%d-%d has the hash of another text", s.item.Path, s.item.StartLine, s.item.EndLine)
		}
	}
}

// Ranges of lines are what cutting the file at its line feeds would give.
func TestLinesOnce(t *testing.T) {
	for _, body := range []string{"", "\n", "a", "a\n", "a\nb", "a\n\nb\r\nc\n", "\n\n"} {
		e := &Engine{}
		e.parts.SourceText = func(string) ([]byte, error) { return []byte(body), nil }
		all := strings.SplitAfter(body, "\n")
		read := e.linesOnce()
		for start := range len(all) + 3 {
			for end := start; end < len(all)+3; end++ {
				want, ok := "", start >= 1 && start <= len(all)
				if ok {
					want = strings.Join(all[start-1:min(end, len(all))], "")
				}
				if got, found := read("f", start, end); got != want || found != ok {
					t.Errorf("%q, lines %d to %d: %q, %v; want %q, %v", body, start, end, got, found, want, ok)
				}
			}
		}
	}
}

// Line numbers stand in a column, however many digits they have.
func TestEvidenceText(t *testing.T) {
	s := snippet{item: rag.Item{Path: "a.go", StartLine: 999_999, EndLine: 1_000_001}, text: "one\n\nthree\n"}
	const want = "<data source=\"a.go:999999-1000001\">\n999999\tone\n1000000\t\n1000001\tthree\n</data>"
	if got := evidenceText(s); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s.item.StartLine, s.text = 7, "x"
	if got, want := evidenceText(s), "\n     7\tx\n"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
}
