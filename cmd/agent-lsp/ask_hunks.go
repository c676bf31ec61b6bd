package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

// fileEdits is what the question changed in one file, and what became of it.
type fileEdits struct {
	Path   string       `json:"path"`
	Hunks  []agent.Hunk `json:"hunks"`
	Status string       `json:"status"` // pending, accepted, rejected, mixed, conflict
}

// decided is what became of hunks, by their ids.
type decided map[string]string

// The fates of a hunk.
const (
	fatePending  = "pending"
	fateAccepted = "accepted"
	fateRejected = "rejected"
	fateConflict = "conflict"
	fateMixed    = "mixed"
)

// byFile groups hunks by their files, in the order of the hunks.
func byFile(hunks []agent.Hunk, fates decided) []fileEdits {
	out := []fileEdits{}
	for _, h := range hunks {
		if n := len(out); n == 0 || out[n-1].Path != h.Path {
			out = append(out, fileEdits{Path: h.Path})
		}
		last := &out[len(out)-1]
		last.Hunks = append(last.Hunks, h)
		last.Status = joinFates(last.Status, fates.of(h))
	}
	return out
}

func (d decided) of(h agent.Hunk) string {
	if fate, ok := d[h.HunkID]; ok {
		return fate
	}
	if h.Status == fateConflict {
		return fateConflict
	}
	return fatePending
}

// joinFates is the fate of a file: what still needs the person tells most.
func joinFates(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case a == fateConflict || b == fateConflict:
		return fateConflict
	case a == fatePending || b == fatePending:
		return fatePending
	}
	return fateMixed
}

// fileDiff is the unified diff of hunks of one file. now is the file's text as
// it is on the disk: with the new texts in it, or with the old ones where
// hunks are held.
func fileDiff(now string, hunks []agent.Hunk) string {
	if len(hunks) == 0 {
		return ""
	}
	path := hunks[0].Path
	switch hunks[0].File {
	case "created":
		diff, _, _ := text.Unified("", path, "", hunks[0].NewText)
		return diff
	case "deleted":
		diff, _, _ := text.Unified(path, "", hunks[0].BaseText, "")
		return diff
	}
	other, ok := otherSide(now, hunks)
	before, after := other, now
	if hunks[0].Held {
		before, after = now, other
	}
	if !ok { // the file has moved on meanwhile: the hunks alone still tell
		before, after = "", ""
		for _, h := range hunks {
			before, after = before+h.BaseText, after+h.NewText
		}
	}
	diff, _, _ := text.Unified(path, path, before, after)
	return diff
}

// otherSide puts the other texts of hunks into a file. ok is false when the
// file isn't what the hunks are about.
func otherSide(now string, hunks []agent.Hunk) (other string, ok bool) {
	index := text.NewIndex(now)
	var list []text.Edit
	for _, h := range hunks {
		is, was := h.NewText, h.BaseText
		if h.Held {
			is, was = was, is
		}
		span := index.Span(text.Range{
			Start: text.Position{Line: h.Range.Start.Line, Col: h.Range.Start.Character},
			End:   text.Position{Line: h.Range.End.Line, Col: h.Range.End.Character},
		}, text.UTF16)
		if now[span.Start:span.End] != is {
			return "", false
		}
		list = append(list, text.Edit{Start: span.Start, End: span.End, New: was})
	}
	slices.SortFunc(list, func(a, b text.Edit) int { return a.Start - b.Start })
	other, err := text.Apply(now, list)
	return other, err == nil
}

// onDisk reads a file of the workspace, "" when it isn't there.
func onDisk(root, path string) string {
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		return ""
	}
	return string(data)
}

// countHunks says how many hunks in how many files.
func countHunks(hunks []agent.Hunk) string {
	files := map[string]bool{}
	for _, h := range hunks {
		files[h.Path] = true
	}
	return plural(len(hunks), "hunk") + " in " + plural(len(files), "file")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// place is where a hunk is, as people say it.
func place(h agent.Hunk) string {
	if h.File != "" {
		return h.Path + " (" + h.File + ")"
	}
	return fmt.Sprintf("%s:%d", h.Path, h.Range.Start.Line+1)
}

// oneOf is the hunk with that id, as it is now.
func oneOf(hunks []agent.Hunk, id string) (agent.Hunk, bool) {
	i := slices.IndexFunc(hunks, func(h agent.Hunk) bool { return h.HunkID == id })
	if i < 0 {
		return agent.Hunk{}, false
	}
	return hunks[i], true
}

// firstRow is the first line of a text.
func firstRow(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
