package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/internal/model"
)

// A file that was read again in a later turn is in the prompt once, as it is
// now; the plan says what replaced the older read, and keeps what the newer one
// does not cover.
func TestReadAgainSupersedes(t *testing.T) {
	reads := map[string]string{
		"read one":    `{"path":"a.go"}`,
		"read again":  `{"path":"./a.go","limit":50}`,
		"read part":   `{"path":"b.go","offset":1,"limit":2}`,
		"read rest":   `{"path":"b.go","offset":2,"limit":2}`,
		"read absent": `{"path":"none.go"}`,
	}
	g := newRig(t, func(_ int, req model.Request) (string, []model.Call) {
		last := req.Messages[len(req.Messages)-1]
		lines := strings.Split(strings.TrimSpace(last.Text), "\n")
		if args := reads[lines[len(lines)-1]]; last.Role != model.RoleTool && args != "" {
			return "I look", []model.Call{call(len(req.Messages), "read", args)}
		}
		return "done", nil
	})
	g.write("a.go", "package a // first\n")
	g.write("b.go", "one\ntwo\nthree\nfour\n")
	g.turn("", "read one")
	g.write("a.go", "package a // second\n")
	g.turn("", "read again")
	g.turn("", "read part")
	g.turn("", "read rest")
	g.turn("", "read absent")
	g.turn("", "and now?")

	prompt := g.lastPrompt()
	if strings.Contains(prompt, "// first") || strings.Count(prompt, "// second") == 0 {
		t.Errorf("the prompt should hold a.go as it was read last:\n%s", prompt)
	}
	plans := g.plans()
	last := plans[len(plans)-1].Plan
	superseded := 0
	for _, it := range last.Excluded {
		if it.Reason == contextplan.ReasonSuperseded && strings.HasPrefix(it.ID, "result:") {
			superseded++
		}
	}
	if superseded != 1 {
		t.Errorf("%d results are superseded, want only the first read of a.go: %+v", superseded, last.Excluded)
	}
	// Within the turn that read it again, nothing left: its second request
	// begins with its first.
	for i := 1; i < len(g.requests); i++ {
		if plans[i].TurnID == plans[i-1].TurnID && !strings.HasPrefix(encode(t, g.requests[i]), encode(t, g.requests[i-1])) {
			t.Errorf("request %d does not begin with the one before", i+1)
		}
	}
}

func TestMovedLines(t *testing.T) {
	var was strings.Builder
	for i := range 10 {
		fmt.Fprintf(&was, "%d\n", i+1)
	}
	for _, c := range []struct {
		name, now  string
		start, end int
		want       string
		at         int
	}{
		{"unchanged", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", 3, 4, "3\n4\n", 3},
		{"lines before", "0\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", 3, 4, "3\n4\n", 5},
		{"lines right before stay out", "1\n2\nx\n3\n4\n5\n6\n7\n8\n9\n10\n", 3, 4, "3\n4\n", 4},
		{"lines right after stay out", "1\n2\n3\n4\nx\n5\n6\n7\n8\n9\n10\n", 3, 4, "3\n4\n", 3},
		{"lines within", "1\n2\n3\nx\n4\n5\n6\n7\n8\n9\n10\n", 3, 4, "3\nx\n4\n", 3},
		{"replaced", "1\n2\nx\ny\nz\n5\n6\n7\n8\n9\n10\n", 3, 4, "x\ny\nz\n", 3},
		{"gone", "1\n2\n5\n6\n7\n8\n9\n10\n", 3, 4, "", 0},
		{"to the end", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n", 9, 99, "9\n10\n11\n", 9},
		{"past the end", "1\n", 11, 12, "", 0},
		{"deleted", "", 1, 2, "", 0},
	} {
		got, at, ok := movedLines(was.String(), c.now, c.start, c.end)
		if got != c.want || ok != (c.want != "") || ok && at != c.at {
			t.Errorf("%s: %q at line %d (%v), want %q at line %d", c.name, got, at, ok, c.want, c.at)
		}
	}
	if got, at, ok := movedLines("", "new\nfile\n", 2, 2); got != "file\n" || at != 2 || !ok {
		t.Errorf("a file of the branch alone: %q %d %v", got, at, ok)
	}
}

// What a fork is shown of a file that it has changed is its own text.
func TestForkSeesItsOwnEvidence(t *testing.T) {
	g := newRig(t, editor)
	g.write("a.go", "package a\n\nfunc ThePoint() int { return 1 }\n")
	g.turn("", "where is ThePoint of a.go?")
	b := g.fork("", "", "try")
	g.turn(b.BranchID, "set 1 to 7")
	g.turn(b.BranchID, "what does ThePoint of a.go return?")
	plans := []planRecord{}
	for _, p := range g.plansOf(b.BranchID) {
		if p.BranchID == b.BranchID {
			plans = append(plans, p)
		}
	}
	last := plans[len(plans)-1]
	list, err := g.engine.parts.Store.Get(t.Context(), "evidence", last.RetrievalSetID+"@"+b.BranchID)
	if err != nil {
		t.Fatalf("no evidence of the branch's own: %v", err)
	}
	if !strings.Contains(string(list.Body), "return 7") || strings.Contains(string(list.Body), "return 1") {
		t.Errorf("the fork's evidence is not the fork's text: %s", list.Body)
	}
	if !slices.ContainsFunc(last.Plan.Included, func(it contextplan.Item) bool { return it.Section == contextplan.Retrieval }) {
		t.Error("the plan holds no evidence")
	}
}
