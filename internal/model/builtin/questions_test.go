package builtin

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

var update = flag.Bool("update", false, "rewrite golden files")

var showQuestions = flag.String("questions", "", "print the answers that miss, of the set t or h")

// The bars under which a change to the ranking is a regression: the share of
// the table that is answered with a right citation, and with a right first one.
const (
	barCited = 0.82
	barFirst = 0.55
	// conversationMax leaves room in the window for the prompt, the tools'
	// schemas and the retrieved evidence.
	conversationMax = 16000
)

// TestQuestions asks the table over Go's own packages: an answer is right when
// it cites a line of the expected file that holds the expected text.
func TestQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("reads much of GOROOT")
	}
	table, err := os.ReadFile("testdata/questions.txt")
	if err != nil {
		t.Fatal(err)
	}
	shops := map[string]*shop{}
	tokens, most := 0, 0
	cited, first, total := map[string]int{}, map[string]int{}, map[string]int{}
	for _, row := range strings.Split(string(table), "\n") {
		f := strings.SplitN(row, " | ", 4)
		if len(f) != 4 || strings.HasPrefix(row, "#") {
			continue
		}
		s := shops[f[0]]
		if s == nil {
			s = loadShop(t, filepath.Join(runtime.GOROOT(), "src", filepath.FromSlash(f[0])))
			shops[f[0]] = s
		}
		said := s.converse(t, []model.Message{{Role: model.RoleSystem, Text: "You are agent-lsp."}, user(f[2])}, s.tools())
		text := said[len(said)-1].Text
		u := usage(model.Request{Messages: said}, 0)
		tokens, most = tokens+u.Input, max(most, u.Input)
		where := matchedCitation(text, f[3], s)
		total[f[1]]++
		if where >= 0 {
			cited[f[1]]++
		}
		if where == 0 {
			first[f[1]]++
		}
		if *showQuestions == f[1] && where != 0 {
			t.Logf("%d %s: %s\n%s", where, f[0], f[2], text)
		}
	}
	all, allCited, allFirst := 0, 0, 0
	for _, set := range sortedKeys(total) {
		t.Logf("set %s: %d questions, %d cited right, %d with the first citation right", set, total[set], cited[set], first[set])
		all, allCited, allFirst = all+total[set], allCited+cited[set], allFirst+first[set]
	}
	t.Logf("a whole conversation takes %d tokens in the mean, %d at most", tokens/max(1, all), most)
	if most > conversationMax {
		t.Errorf("a conversation of %d tokens, more than %d: it does not fit beside the prompt", most, conversationMax)
	}
	if float64(allCited) < barCited*float64(all) || float64(allFirst) < barFirst*float64(all) {
		t.Errorf("of %d questions %d are cited right and %d first; the bars are %.2f and %.2f", all, allCited, allFirst, barCited, barFirst)
	}
}

var citationLine = regexp.MustCompile("(?m)^- (\\S+):(\\d+) — `(.*)`")

// matchedCitation is the index of the first right citation, -1 if there is
// none. The quoted text must stand at the cited line of the corpus.
func matchedCitation(answer, expected string, s *shop) int {
	for i, m := range citationLine.FindAllStringSubmatch(answer, -1) {
		var n int
		for _, r := range m[2] {
			n = n*10 + int(r-'0')
		}
		lines := s.lines(m[1])
		if n < 1 || n > len(lines) {
			return -1
		}
		for _, alt := range strings.Split(expected, " || ") {
			file, re, _ := strings.Cut(alt, " ~ ")
			if m[1] == file && regexp.MustCompile(re).MatchString(lines[n-1]) {
				return i
			}
		}
	}
	return -1
}
