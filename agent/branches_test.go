package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// editor is a model that does what the last message says: "set N" makes a.go
// return N, "run" runs a command, "read" reads, anything else is answered.
func editor(_ int, req model.Request) (string, []model.Call) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == model.RoleTool {
		return "done: " + firstLine(last.Text), nil
	}
	lines := strings.Split(strings.TrimSpace(last.Text), "\n")
	var n, m int
	switch ask := lines[len(lines)-1]; {
	case ask == "run":
		return "", []model.Call{call(1, "bash", `{"command":"echo x > made"}`)}
	case ask == "read":
		return "", []model.Call{call(1, "read", `{"path":"a.go"}`)}
	default:
		if k, _ := fmt.Sscanf(ask, "set %d to %d", &n, &m); k == 2 {
			return "", []model.Call{call(1, "edit", fmt.Sprintf(`{"path":"a.go","edits":[{"oldText":"return %d","newText":"return %d"}]}`, n, m))}
		}
	}
	return "answer to " + lines[len(lines)-1], nil
}

func (g *rig) turn(branch, input string) *SubmitResult {
	g.t.Helper()
	res := g.submit(SubmitParams{Input: input, BranchID: branch})
	if out := g.ended(res.TurnID); out.Type != "result" {
		g.t.Fatalf("%s: %s", input, out.Error)
	}
	return res
}

func (g *rig) fork(from, turn, name string) *BranchInfo {
	g.t.Helper()
	b, err := g.engine.BranchFork(context.Background(), &BranchForkParams{SessionRef: SessionRef{BranchID: from}, FromTurnID: turn, Name: name})
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

func (g *rig) file(name string) string {
	g.t.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

func (g *rig) lastPrompt() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return textOf(g.requests[len(g.requests)-1])
}

// A fork begins with its parent's history up to a turn, pins and TTLs as they
// stood there, and goes its own way from then on; so it is after a restart.
func TestForkHistory(t *testing.T) {
	g := newRig(t, editor)
	ctx := context.Background()
	first := g.turn("", "first question")
	if _, err := g.engine.Pin(ctx, &PinParams{URI: "b.go"}); err != nil {
		t.Fatal(err)
	}
	second := g.turn("", "second question")
	if _, err := g.engine.Unpin(ctx, &PinParams{URI: "b.go"}); err != nil {
		t.Fatal(err)
	}
	g.turn("", "third question")

	b := g.fork("", second.TurnID, "try")
	if b.Turns != 2 || b.Parent != "main" || b.ForkTurn != second.TurnID {
		t.Fatalf("the fork is %+v", b)
	}
	early := g.fork("", first.TurnID, "early")
	g.turn(early.BranchID, "early question")
	if p := g.lastPrompt(); strings.Contains(p, "second question") || strings.Contains(p, "func B()") || !strings.Contains(p, "first question") {
		t.Errorf("the early fork sees %s", p)
	}
	own := g.turn("try", "own question") // by name
	_ = own
	check := func(when string) {
		p := g.lastPrompt()
		for _, want := range []string{"first question", "second question", "own question", "func B()"} {
			if !strings.Contains(p, want) {
				t.Errorf("%s the fork's prompt lacks %q", when, want)
			}
		}
		if strings.Contains(p, "third question") || strings.Contains(p, "early question") {
			t.Errorf("%s the fork's prompt holds what was said elsewhere", when)
		}
	}
	check("at first,")
	deeper := g.fork(b.BranchID, "", "deeper")
	g.restart()
	g.open(editor)
	g.turn(deeper.BranchID, "last question")
	check("a fork of a fork, after a restart:")
	g.turn("main", "main goes on")
	if p := g.lastPrompt(); strings.Contains(p, "own question") || !strings.Contains(p, "third question") || strings.Contains(p, "func B()") {
		t.Errorf("main's prompt is %s", p)
	}
	c, err := g.engine.Cycles(ctx, &CyclesParams{SessionRef: SessionRef{BranchID: deeper.BranchID}})
	if err != nil || len(c.Cycles) != 4 || c.State != "idle" || len(c.Anomalies) != 0 {
		t.Errorf("%d cycles, %s, %v, %v", len(c.Cycles), c.State, c.Anomalies, err)
	}
}

// A follow-up that waits, or was promoted as the fork's turn ended, stays with
// the parent.
func TestForkLeavesTheQueue(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		if n == 1 {
			entered <- struct{}{}
			<-release
		}
		return editor(n, req)
	})
	first := g.submit(SubmitParams{Input: "first question"})
	<-entered
	next := g.submit(SubmitParams{Input: "next question", Delivery: "followUp"})
	if _, err := g.engine.BranchFork(context.Background(), &BranchForkParams{FromTurnID: first.TurnID}); !isCode(err, CodeInvalidState) {
		t.Errorf("a fork from a turn that runs: %v", err)
	}
	close(release)
	g.ended(first.TurnID)
	g.ended(next.TurnID)
	b := g.fork("", first.TurnID, "")
	g.turn(b.BranchID, "other question")
	if p := g.lastPrompt(); strings.Contains(p, "next question") || !strings.Contains(p, "answer to first question") {
		t.Errorf("the fork's prompt is %s", p)
	}
	out, err := g.engine.Outcome(context.Background(), &TurnParams{SessionRef: SessionRef{BranchID: b.BranchID}, TurnID: first.TurnID})
	if err != nil || out.Response == nil {
		t.Errorf("the fork's last inherited turn has lost its response: %v", err)
	}
}

// A fork's edits are in its own working copy, across restarts; commands, which
// would reach past it, don't run; adopting lands the edits as pending hunks.
func TestForkIsIsolatedUntilAdopted(t *testing.T) {
	g := newRig(t, editor)
	ctx := context.Background()
	g.turn("", "hello, what is here?")
	was := g.file("a.go")
	g.fork("", "", "two")
	g.fork("", "", "three")
	g.turn("two", "set 1 to 2")
	g.turn("three", "set 1 to 3")
	inTwo := g.fork("two", "", "two and more")
	g.turn(inTwo.BranchID, "set 2 to 22")
	if g.file("a.go") != was {
		t.Fatal("the person's file has changed")
	}
	if h, _ := g.engine.Edits(ctx, &EditsParams{}); len(h.Hunks) != 0 {
		t.Errorf("%d hunks of a fork wait in the person's files", len(h.Hunks))
	}
	g.turn("two", "run")
	if p := g.lastPrompt(); !strings.Contains(encodeJSON(t, g.requests[len(g.requests)-1].Messages), "working copy of its own") {
		t.Errorf("a command on a fork: %s", p)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "made")); err == nil {
		t.Error("a command of a fork ran in the person's files")
	}
	g.restart()
	g.open(editor)
	for _, x := range []struct{ branch, want string }{{"two", "return 2 "}, {"three", "return 3 "}, {inTwo.BranchID, "return 22 "}, {"main", "return 1 "}} {
		g.turn(x.branch, "read")
		if last := encodeJSON(t, g.requests[len(g.requests)-1].Messages); !strings.Contains(last[strings.LastIndex(last, `"tool"`):], x.want) {
			t.Errorf("branch %s does not read %q", x.branch, x.want)
		}
	}
	side, err := g.engine.BranchCompare(ctx, &BranchCompareParams{A: "two", B: "three"})
	if err != nil {
		t.Fatal(err)
	}
	if len(side.A.Diffs) != 1 || !strings.Contains(side.A.Diffs[0].Diff, "+func A() int { return 2 }") || !strings.Contains(side.B.Diffs[0].Diff, "+func A() int { return 3 }") {
		t.Errorf("the diffs are %+v and %+v", side.A.Diffs, side.B.Diffs)
	}
	if side.Plans == nil || side.A.Outcome == nil || len(side.A.Calls) != 1 || len(side.B.Usage) != 2 || !slices.Contains(side.Shared, "a.go:3-3") {
		t.Errorf("the comparison lacks something: %+v", side)
	}
	text := CompareText(side)
	for _, want := range []string{
		"          two                                   three\n", "did       read 1  ", "changed   1 files, +1 −1                        1 files, +1 −1\n",
		"said      answer to ", "\nPlan ", "two: a.go\n--- ", "three: a.go\n--- ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the comparison for people lacks %q:\n%s", want, text)
		}
	}
	got, err := g.engine.BranchAdopt(ctx, &SessionRef{BranchID: "three"})
	if err != nil || len(got.Files) != 1 || got.Files[0].Hunks != 1 || got.Files[0].Skipped != "" {
		t.Fatalf("%+v, %v", got, err)
	}
	h, _ := g.engine.Edits(ctx, &EditsParams{})
	if len(h.Hunks) != 1 || !strings.Contains(h.Hunks[0].NewText, "return 3") || !strings.Contains(g.file("a.go"), "return 3") {
		t.Errorf("adopted, the hunks are %+v, the file %s", h.Hunks, g.file("a.go"))
	}
	got, err = g.engine.BranchAdopt(ctx, &SessionRef{BranchID: "two"}) // the same line: it can't be moved over
	if err != nil || len(got.Files) != 1 || got.Files[0].Skipped == "" {
		t.Errorf("a conflict is adopted: %+v, %v", got, err)
	}
	if _, err := g.engine.BranchAdopt(ctx, &SessionRef{BranchID: "main"}); !isCode(err, CodeBadRequest) {
		t.Errorf("adopting main: %v", err)
	}
}

// Messages go to the current branch; runs on two branches are active at once.
func TestBranchSwitch(t *testing.T) {
	entered, release := make(chan struct{}, 8), make(chan struct{})
	g := newRig(t, func(n int, req model.Request) (string, []model.Call) {
		if n == 2 || n == 3 {
			entered <- struct{}{}
			<-release
		}
		return editor(n, req)
	})
	ctx := context.Background()
	g.turn("", "first question")
	if res := g.submit(SubmitParams{Input: "/branch side"}).Response; !res.Success || !strings.Contains(res.Content, "* side") {
		t.Fatalf("/branch: %+v", res)
	}
	a := g.submit(SubmitParams{Input: "question on the side"})
	b := g.submit(SubmitParams{Input: "question on main", BranchID: "main"})
	<-entered
	<-entered
	list, err := g.engine.BranchList(ctx, &SessionRef{})
	if err != nil || len(list.Branches) != 2 || list.Branches[0].BranchID != "main" || !list.Branches[0].Active || !list.Branches[1].Active {
		t.Errorf("%+v, %v", list, err)
	}
	if a.BranchID == "main" || b.BranchID != "main" || list.Current != a.BranchID {
		t.Errorf("messages went to %s and %s, current is %s", a.BranchID, b.BranchID, list.Current)
	}
	if _, err := g.engine.BranchAdopt(ctx, &SessionRef{BranchID: "side"}); !isCode(err, CodeInvalidState) {
		t.Errorf("adopting a branch that runs: %v", err)
	}
	close(release)
	g.ended(a.TurnID)
	g.ended(b.TurnID)
	if list, err = g.engine.BranchSwitch(ctx, &SessionRef{BranchID: "main"}); err != nil || list.Current != "main" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []BranchForkParams{{Name: "side"}, {Name: "a\nb"}, {FromTurnID: "nowhere"}, {SessionRef: SessionRef{BranchID: "nowhere"}}} {
		if _, err := g.engine.BranchFork(ctx, &bad); err == nil {
			t.Errorf("%+v is a fork", bad)
		}
	}
	if _, err := g.engine.BranchSwitch(ctx, &SessionRef{BranchID: "nowhere"}); !isCode(err, CodeNotFound) {
		t.Errorf("switching to nowhere: %v", err)
	}
}

// A TTL counts the turns that end, on each branch for itself; a fork goes on
// counting from where it stood.
func TestTTLCountsTurns(t *testing.T) {
	g := newRig(t, editor)
	ctx := context.Background()
	first := g.turn("", "first question")
	reply := ""
	tl, err := g.engine.timeline(ctx, "", "")
	if err != nil {
		t.Fatal(err)
	}
	tl.view(func() { reply = tl.script.entries[len(tl.script.entries)-1].id })
	two := 2
	if _, err := g.engine.TTL(ctx, &PinParams{MessageID: reply, TTL: &two}); err != nil {
		t.Fatal(err)
	}
	const said = "answer to first question"
	has := func(branch, when string, want bool) {
		t.Helper()
		g.turn(branch, "question")
		if got := strings.Contains(g.lastPrompt(), said); got != want {
			t.Errorf("%s: the reply is in the prompt: %v, want %v", when, got, want)
		}
	}
	has("main", "one turn later", true)
	early, late := g.fork("main", first.TurnID, "early"), g.fork("main", "", "late")
	has("main", "two turns later", true)
	has("main", "three turns later", false)
	has(late.BranchID, "two turns later, on a fork in between", true)
	has(late.BranchID, "three turns later, on a fork in between", false)
	for range 4 {
		has(early.BranchID, "on a fork from before it was set", true)
	}
}
