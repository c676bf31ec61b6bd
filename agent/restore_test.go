package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/agent/edits"
)

func (g *rig) restoreTo(p RestoreParams) *RestoreResult {
	g.t.Helper()
	r, err := g.engine.CheckpointRestore(context.Background(), &p)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

func (g *rig) branchNow() string {
	g.t.Helper()
	l, err := g.engine.BranchList(context.Background(), &SessionRef{})
	if err != nil {
		g.t.Fatal(err)
	}
	return l.Current
}

// TestRestore: a turn's files, its conversation or both go back, are shown
// beforehand, and come again; so it is after a restart.
func TestRestore(t *testing.T) {
	g := newRig(t, editor)
	g.turn("", "first question")
	two := g.turn("", "set 1 to 2")
	g.turn("", "set 2 to 3")
	const now, before = "return 3", "return 1"
	holds := func(what, text string) {
		t.Helper()
		if !strings.Contains(g.file("a.go"), text) {
			t.Errorf("%s: a.go is %q", what, g.file("a.go"))
		}
	}

	dry := g.restoreTo(RestoreParams{TurnID: two.TurnID, What: RestoreBoth, DryRun: true})
	if len(dry.Restored) != 1 || dry.Restored[0] != (CheckpointFile{Path: "a.go", Added: 1, Removed: 1}) || dry.Turns != 2 || dry.RestoreID != "" || dry.BranchID != "" {
		t.Errorf("preview: %+v", dry)
	}
	holds("after a preview", now)

	files := g.restoreTo(RestoreParams{TurnID: two.TurnID})
	holds("files", before)
	if files.BranchID != "" || g.branchNow() != "main" {
		t.Error("restoring files touched the conversation")
	}
	if r := g.restoreTo(RestoreParams{Redo: files.RestoreID}); len(r.Restored) != 1 {
		t.Errorf("redo: %+v", r)
	}
	holds("redone", now)

	talk := g.restoreTo(RestoreParams{TurnID: two.TurnID, What: RestoreConversation})
	holds("conversation", now)
	if talk.Turns != 2 || talk.BranchID == "" || g.branchNow() != talk.BranchID {
		t.Errorf("conversation: %+v", talk)
	}
	g.turn("", "set 3 to 4")
	holds("a restored conversation works in the person's tree", "return 4")
	if p := g.lastPrompt(); !strings.Contains(p, "first question") || strings.Contains(p, "set 1 to 2") {
		t.Errorf("the model is told of what was left behind, or not of what came before:\n%s", p)
	}
	if r := g.restoreTo(RestoreParams{Redo: talk.RestoreID}); r.BranchID != "main" || g.branchNow() != "main" {
		t.Errorf("redo of the conversation: %+v", r)
	}

	both := g.restoreTo(RestoreParams{TurnID: two.TurnID, What: RestoreBoth})
	holds("both", before)
	g.restart()
	g.open(editor)
	if g.branchNow() != both.BranchID {
		t.Error("after a restart the conversation is elsewhere")
	}
	if r := g.restoreTo(RestoreParams{Redo: both.RestoreID}); len(r.Restored) != 1 || g.branchNow() != "main" {
		t.Errorf("redo of both: %+v", r)
	}
	holds("both redone", "return 4")
}

// TestRestoreToTheBeginning: before its first turn a conversation is empty.
func TestRestoreToTheBeginning(t *testing.T) {
	g := newRig(t, editor)
	one := g.turn("", "first question")
	g.restoreTo(RestoreParams{TurnID: one.TurnID, What: RestoreConversation})
	g.turn("", "set 1 to 2")
	if p := g.lastPrompt(); strings.Contains(p, "first question") {
		t.Errorf("the model is told of the turn that was left:\n%s", p)
	}
	if !strings.Contains(g.file("a.go"), "return 2") {
		t.Error("the edit went elsewhere")
	}
	list, err := g.engine.BranchList(context.Background(), &SessionRef{})
	if err != nil || len(list.Branches) != 2 || list.Branches[1].Turns != 1 {
		t.Errorf("branches: %+v, %v", list, err)
	}
}

// TestUndoCommand: /undo and what may stand behind it.
func TestUndoCommand(t *testing.T) {
	g := newRig(t, editor)
	say := func(input, want string) {
		t.Helper()
		r := g.submit(SubmitParams{Input: input}).Response
		if r == nil || !strings.Contains(r.Content, want) {
			t.Errorf("%s: %+v, want %q", input, r, want)
		}
	}
	g.turn("", "set 1 to 2")
	say("/undo nothing", `doesn't know "nothing"`)
	say("/undo preview", "would restore a.go (+1 −1)")
	say("/undo redo", "no restore of files is left")
	say("/undo", "restored a.go (+1 −1)")
	if !strings.Contains(g.file("a.go"), "return 1") {
		t.Errorf("a.go is %q", g.file("a.go"))
	}
	say("/undo redo", "restored a.go (+1 −1)")
	say("/undo reject", "there is no reject to undo")
	if _, err := g.engine.EditsResolve(context.Background(), &ResolveParams{All: true, Decision: "reject"}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(g.file("a.go"), "return 1") {
		t.Errorf("a.go is %q", g.file("a.go"))
	}
	say("/undo reject", "1 rejected hunk back for review")
	if !strings.Contains(g.file("a.go"), "return 2") {
		t.Errorf("a.go is %q", g.file("a.go"))
	}
	if h, _ := g.engine.Edits(context.Background(), &EditsParams{}); len(h.Hunks) != 1 {
		t.Errorf("hunks: %+v", h)
	}
	r := g.submit(SubmitParams{Input: "/undo conversation"})
	if r.BranchID == "main" || r.BranchID != g.branchNow() || !strings.Contains(r.Response.Content, "the conversation goes on from before its last 1 turn") {
		t.Errorf("/undo conversation: %+v, %+v", r, r.Response)
	}
	g.write("a.go", "package a\n\n// by hand\n")
	say("/undo", "left alone a.go: it was changed after the agent's last edit")
}

// TestRootsAndRenames: a folder that the person adds is the workspace's, and a
// file that they rename keeps its review.
func TestRootsAndRenames(t *testing.T) {
	g := newRig(t, editor)
	second := t.TempDir()
	other := filepath.Join(second, "c.go")
	if err := os.WriteFile(other, []byte("package c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	files := g.engine.parts.Edits.Files(edits.Scope{})
	if _, err := files.Read(context.Background(), other); err == nil {
		t.Error("a file outside was read")
	}
	g.engine.SetRoots([]string{second})
	if _, err := files.Read(context.Background(), other); err != nil {
		t.Errorf("a file of an added folder: %v", err)
	}
	if _, err := files.Read(context.Background(), "a.go"); err != nil {
		t.Errorf("the first folder is gone: %v", err)
	}
	g.engine.SetRoots([]string{g.dir})
	if _, err := files.Read(context.Background(), other); err == nil {
		t.Error("a file of a removed folder was read")
	}

	g.turn("", "set 1 to 2")
	if err := os.Rename(filepath.Join(g.dir, "a.go"), filepath.Join(g.dir, "z.go")); err != nil {
		t.Fatal(err)
	}
	g.engine.DidRename(g.engine.uri("a.go"), g.engine.uri("z.go"))
	h, err := g.engine.Edits(context.Background(), &EditsParams{})
	if err != nil || len(h.Hunks) != 1 || h.Hunks[0].Path != "z.go" {
		t.Errorf("hunks after a rename: %+v, %v", h, err)
	}
}

// TestHeldHunksOutliveTheirTurn: what nobody has decided when a turn ends stays
// proposed, over the next turn and a restart: nothing is written, nothing is
// dropped, the agent goes on from its own text, and is told what was decided.
func TestHeldHunksOutliveTheirTurn(t *testing.T) {
	for _, mode := range []string{"ask", "hold"} {
		g := newRig(t, editor)
		ctx := context.Background()
		res := g.submit(SubmitParams{Input: "set 1 to 2", Edits: mode})
		g.ended(res.TurnID)
		held := func(when string) string {
			t.Helper()
			h, err := g.engine.Edits(ctx, &EditsParams{})
			if err != nil || len(h.Hunks) != 1 || !h.Hunks[0].Held || !strings.Contains(h.Hunks[0].NewText, "return 2") {
				t.Fatalf("%s, %s: %+v, %v", mode, when, h, err)
			}
			if !strings.Contains(g.file("a.go"), "return 1") {
				t.Fatalf("%s, %s: it was written", mode, when)
			}
			return h.Hunks[0].HunkID
		}
		held("at the end of its turn")
		g.turn("", "something else")
		held("after the next turn")
		g.restart()
		g.open(editor)
		id := held("after a restart")
		g.turn("", "read")
		if p := g.lastPrompt(); !strings.Contains(p, "return 2") {
			t.Errorf("%s: the agent doesn't see its own text:\n%s", mode, p)
		}
		if _, err := g.engine.EditsResolve(ctx, &ResolveParams{HunkIDs: []string{id}, Decision: "accept"}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(g.file("a.go"), "return 2") {
			t.Errorf("%s: accepted, and not written", mode)
		}
		g.turn("", "and now")
		if p := g.lastPrompt(); !strings.Contains(p, "hunk of a.go at line 3: accept") {
			t.Errorf("%s: the model isn't told:\n%s", mode, p)
		}
	}
}
