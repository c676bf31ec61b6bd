package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-lsp/agent-lsp/agent"
)

func hunkAt(from, to int, base, text string) agent.Hunk {
	return agent.Hunk{HunkID: base, Path: "a.txt", BaseText: base, NewText: text, Status: "pending",
		Range: agent.Range{Start: agent.Position{Line: from}, End: agent.Position{Line: to}}}
}

// TestFileDiff: the diff of a file's hunks, written already or only proposed.
func TestFileDiff(t *testing.T) {
	want := "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,5 @@\n-one\n+1\n two\n three\n-four\n+4\n+4½\n"
	written := []agent.Hunk{hunkAt(0, 1, "one\n", "1\n"), hunkAt(3, 5, "four\n", "4\n4½\n")}
	if d := cmp.Diff(want, fileDiff("1\ntwo\nthree\n4\n4½\n", written)); d != "" {
		t.Errorf("written (-want +got):\n%s", d)
	}
	held := []agent.Hunk{hunkAt(0, 1, "one\n", "1\n"), hunkAt(3, 4, "four\n", "4\n4½\n")}
	held[0].Held, held[1].Held = true, true
	if d := cmp.Diff(want, fileDiff("one\ntwo\nthree\nfour\n", held)); d != "" {
		t.Errorf("held (-want +got):\n%s", d)
	}
	moved := fileDiff("something else\n", written)
	if !strings.Contains(moved, "-one\n") || !strings.Contains(moved, "+4½\n") {
		t.Errorf("of a file that moved on:\n%s", moved)
	}
	created := []agent.Hunk{{Path: "n.txt", NewText: "new\n", File: "created"}}
	if got := fileDiff("", created); !strings.HasPrefix(got, "--- /dev/null\n+++ b/n.txt\n") || !strings.Contains(got, "+new\n") {
		t.Errorf("created:\n%s", got)
	}
	deleted := []agent.Hunk{{Path: "o.txt", BaseText: "old\n", File: "deleted"}}
	if got := fileDiff("", deleted); !strings.HasPrefix(got, "--- a/o.txt\n+++ /dev/null\n") || !strings.Contains(got, "-old\n") {
		t.Errorf("deleted:\n%s", got)
	}
}

func TestFates(t *testing.T) {
	a, b, c := hunkAt(0, 1, "a", "A"), hunkAt(1, 2, "b", "B"), hunkAt(2, 3, "c", "C")
	hunks := []agent.Hunk{a, b, c}
	for want, fates := range map[string]decided{
		"pending":  {"a": "accepted"},
		"accepted": {"a": "accepted", "b": "accepted", "c": "accepted"},
		"rejected": {"a": "rejected", "b": "rejected", "c": "rejected"},
		"mixed":    {"a": "accepted", "b": "rejected", "c": "accepted"},
		"conflict": {"a": "accepted", "b": "conflict"},
	} {
		files := byFile(hunks, fates)
		if len(files) != 1 || files[0].Status != want || len(files[0].Hunks) != 3 {
			t.Errorf("%v: %+v, want %s", fates, files, want)
		}
	}
}

// TestRulesOf reads rules as the server words them.
func TestRulesOf(t *testing.T) {
	p := agent.PermissionParams{Options: []agent.PermissionOption{
		{ID: "1", Kind: "allow_once", Name: "Allow once"},
		{ID: "2", Kind: "allow_always", Name: "Always allow bash(go build *) = allow\nbash(rm x) = allow"},
	}}
	if d := cmp.Diff([]string{"bash(go build *)", "bash(rm x)"}, rulesOf(p)); d != "" {
		t.Error(d)
	}
	if got := optionOf(p, "allow_always"); got != "2" {
		t.Errorf("option %q", got)
	}
}

// TestDiffIsSafe: no text of a file steers the terminal.
func TestDiffIsSafe(t *testing.T) {
	for _, row := range (palette{}).diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\x1b[2J\x07\n+\tok\r\n") {
		if strings.ContainsAny(row, "\x1b\x07\r\t") {
			t.Errorf("%q", row)
		}
	}
}
