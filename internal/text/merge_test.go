package text

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what git merge-file says into testdata/merge")

// TestMergeLikeGit holds Merge against git merge-file, whose answers are in
// testdata/merge: each archive has base, ours and theirs, and either merged or
// an empty conflict.
func TestMergeLikeGit(t *testing.T) {
	files, err := filepath.Glob("testdata/merge/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]string{}
			for _, f := range a.Files {
				in[f.Name] = unmark(string(f.Data))
			}
			if *update {
				writeGitsWord(t, path, a, in)
				return
			}
			want, clean := in["merged"]
			got, chunks, ok := Merge(in["base"], in["ours"], in["theirs"])
			if ok != clean || ok && got != want {
				t.Errorf("merged (clean %v) %q, git says (clean %v) %q\n%+v", ok, got, clean, want, chunks)
			}
			var all strings.Builder
			for _, c := range chunks {
				all.WriteString(c.Text + c.Ours)
			}
			if !clean && len(all.String()) < len(in["ours"])/2 {
				t.Errorf("the chunks leave something out: %+v", chunks)
			}
		})
	}
}

// unmark takes the marks "\" (no line end here) out of an archive's file.
func unmark(s string) string { return strings.ReplaceAll(s, "\\\n", "") }

func writeGitsWord(t *testing.T, path string, a *txtar.Archive, in map[string]string) {
	dir := t.TempDir()
	for _, n := range []string{"ours", "base", "theirs"} {
		if err := os.WriteFile(filepath.Join(dir, n), []byte(in[n]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
	cmd.Dir = dir
	out, err := cmd.Output()
	res := txtar.File{Name: "merged", Data: out}
	if err != nil {
		res = txtar.File{Name: "conflict"}
	} else if n := len(out); n > 0 && out[n-1] != '\n' {
		res.Data = append(out, "\\\n"...)
	}
	a.Files = append(a.Files[:3:3], res)
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestMergeAgainstGit runs git itself on random changes of a real text, where
// there is a git: at most one in fifty may differ (git's diff now and then
// finds another, equally short way).
func TestMergeAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	src, err := os.ReadFile("merge.go")
	if err != nil {
		t.Fatal(err)
	}
	base := string(src)
	dir := t.TempDir()
	differs, conflicts := 0, 0
	const cases = 100
	for seed := range cases {
		ours, theirs := scramble(base, seed), scramble(base, seed+1000)
		for n, s := range map[string]string{"ours": ours, "base": base, "theirs": theirs} {
			if err := os.WriteFile(filepath.Join(dir, n), []byte(s), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "merge-file", "-p", "ours", "base", "theirs")
		cmd.Dir = dir
		out, err := cmd.Output()
		got, _, ok := Merge(base, ours, theirs)
		if !ok {
			conflicts++
		}
		if ok != (err == nil) || ok && got != string(out) {
			differs++
		}
	}
	t.Logf("%d merges, %d conflicts, %d differ from git", cases, conflicts, differs)
	if differs > cases/50 || conflicts == 0 || conflicts == cases {
		t.Errorf("%d of %d differ from git, %d conflicts", differs, cases, conflicts)
	}
}
