package tools

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// gitWriters are git's commands that write its settings; they were judged as
// what they are.
var gitWriters = []string{"config", "remote", "init", "clone", "branch", "checkout", "switch", "push", "pull", "fetch", "submodule", "worktree",
	"sparse-checkout", "maintenance", "lfs", "subtree", "flow"}

// Opens gives which guarded paths a command line that was permitted may change,
// or read where they are secret: those that it names, since it was judged with
// them, and those that a rule allows. Paths are absolute, links resolved.
func (p Policy) Opens(line string) func(abs string, write bool) bool {
	j := bashJudge{p: p, script: ParseShell(line)}
	j.bases = p.bases(j.script.Changes)
	var reads, writes []string
	name := func(list *[]string, word string) {
		places, known := j.places(word)
		if !known {
			return
		}
		for _, abs := range places {
			if p.Resolve != nil {
				abs = p.Resolve(abs)
			}
			*list = append(*list, path.Clean(abs))
		}
	}
	git := false
	for _, c := range j.script.Commands {
		at := commandAt(c.Words)
		looks := at < len(c.Words) && slices.Contains(readers, path.Base(c.Words[at].Text))
		for i, w := range c.Words {
			if i <= at || w.Kind != WordLiteral {
				continue
			}
			word := w.Text
			if _, value, ok := strings.Cut(word, "="); ok {
				word = value
			}
			name(&reads, word)
			if !looks {
				name(&writes, word)
			}
			git = git || path.Base(c.Words[at].Text) == "git" && slices.Contains(gitWriters, w.Text)
		}
	}
	for _, w := range j.script.Writes {
		name(&writes, w)
		name(&reads, w)
	}
	for _, r := range j.script.Reads {
		name(&reads, r)
	}
	locate := LocateIn(p.Roots)
	return func(abs string, write bool) bool {
		abs = filepath.ToSlash(abs)
		tool, named := "read", reads
		if write {
			tool, named = "write", writes
		}
		if slices.ContainsFunc(named, func(n string) bool { return names(n, abs) }) {
			return true
		}
		base := path.Base(abs)
		if git && write && strings.HasPrefix(base, "config") && strings.Contains(abs, "/.git/") {
			return true
		}
		if text.SettingsFolder(base) || base == "hooks" {
			abs += "/any" // a rule opens a folder if it allows all that is in it
		}
		return p.decideTarget(tool, locate(abs)).Verdict == Allow
	}
}

// names says whether a path in a command line is a guarded one, something in it,
// or the folder of settings or secrets that it is in. The folder that everything
// is in names nothing.
func names(n, abs string) bool {
	return n == abs || strings.HasPrefix(n, abs+"/") || strings.HasPrefix(abs, n+"/") && (text.Guarded(n) || SecretPath(n))
}
