package tools

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// A guard stands around one command for what is dangerous inside the workspace,
// where commands may write and read anything else: git's hooks and settings, the
// settings of editors and of this program, and files that look like secrets.
// Permission to run a command is judged by what its line names. What the line
// doesn't name, the guard keeps as it is, whatever the command really does:
//
//   - Where the system can, the command sees guarded files read-only and secret
//     ones not at all (mounts on Linux, the profile on macOS).
//   - Everywhere, the guarded files are compared afterwards, when nothing that the
//     command started is left, and what was changed or made is put back.
//
// No placeholder is put where there is nothing yet: it would be seen by
// everybody. What a command makes there is found by the comparison.

// Limits of a guard. What lies beyond is not guarded, and the command's note
// says so.
const (
	guardEntriesMax = 20_000   // folder entries that are looked at, the shallow ones first
	guardDepthMax   = 8        // folders deep
	guardPathsMax   = 512      // guarded paths
	guardFilesMax   = 4096     // files that are kept
	guardBytesMax   = 16 << 20 // bytes that are kept
)

// guardedPath is a file or folder that a guard is about, relative to its root.
type guardedPath struct {
	rel    string
	secret bool // can't be read either
}

// guard is around one command in one root.
type guard struct {
	root    string
	folder  *os.Root
	opens   func(abs string, write bool) bool // what the command's line was permitted
	edited  func(abs string) bool             // what the person has open in an editor
	paths   []guardedPath
	kept    map[string]guardState  // by path, as it was before
	parents map[string]fs.FileInfo // the folders that they lie in
	cut     bool                   // there is more than the limits allow
	others  othersOpen
}

// othersOpen is what commands that run at the same time were permitted.
type othersOpen struct {
	mu    sync.Mutex
	opens []func(abs string, write bool) bool
}

// newGuard looks at a root as it is before a command.
func newGuard(root string, opens func(string, bool) bool, edited func(string) bool) (*guard, error) {
	root = ResolveLinks(root)
	folder, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	g := &guard{root: root, folder: folder, opens: opens, edited: edited, kept: map[string]guardState{}, parents: map[string]fs.FileInfo{}}
	var found []guardedPath
	found, g.cut = findGuarded(root)
	left := guardBudget{guardFilesMax, guardBytesMax}
	for _, p := range g.committed(found) {
		if g.open(p, opens) {
			continue
		}
		g.paths = append(g.paths, p)
		if p.secret {
			continue
		}
		if state, whole := readGuarded(folder, p.rel, &left); whole {
			g.kept[p.rel] = state
		} else {
			g.cut = true
		}
		if info, err := folder.Stat(path.Dir(p.rel)); err == nil {
			g.parents[p.rel] = info
		}
	}
	return g, nil
}

func (g *guard) close() { g.folder.Close() }

// open says whether a command may do as it likes with a path.
func (g *guard) open(p guardedPath, opens func(string, bool) bool) bool {
	return opens != nil && opens(filepath.Join(g.root, filepath.FromSlash(p.rel)), !p.secret)
}

// list gives the absolute paths that can't be written, or neither written nor
// read.
func (g *guard) list(secret bool) (out []string) {
	for _, p := range g.paths {
		if p.secret == secret {
			out = append(out, filepath.Join(g.root, filepath.FromSlash(p.rel)))
		}
	}
	return out
}

// findGuarded looks for guarded paths, the shallow ones first. Links are
// guarded as links, and what they lead to in the root as itself.
func findGuarded(root string) (found []guardedPath, cut bool) {
	add := func(p guardedPath) {
		if len(found) == guardPathsMax {
			cut = true
		} else if !slices.Contains(found, p) {
			found = append(found, p)
		}
	}
	entries := 0
	work := []string{"."}
	for len(work) > 0 {
		dir := work[0]
		work = work[1:]
		list, _ := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir))) // what can't be read by us can't by the command
		for _, e := range list {
			if entries++; entries > guardEntriesMax {
				return found, true
			}
			name := e.Name()
			rel := path.Join(dir, name)
			link := e.Type()&fs.ModeSymlink != 0
			switch {
			case text.GitFolder(name) && e.IsDir():
				gitGuarded(root, rel, 0, add)
			case text.GitFolder(name), text.SettingsFolder(name), text.SettingsFile(name):
				add(guardedPath{rel: rel})
				if to, ok := leadsTo(root, rel, link); ok {
					add(guardedPath{rel: to})
				}
			case e.IsDir():
				// In node_modules there are thousands of folders, and nobody's settings.
				if name != "node_modules" && strings.Count(rel, "/") < guardDepthMax {
					work = append(work, rel)
				}
			case SecretPath(rel):
				if e.Type().IsRegular() {
					add(guardedPath{rel: rel, secret: true})
				} else if to, ok := leadsTo(root, rel, link); ok {
					add(guardedPath{rel: to, secret: true})
				}
			}
		}
	}
	return found, cut
}

// leadsTo gives where a link leads, if that is in the root.
func leadsTo(root, rel string, link bool) (string, bool) {
	if !link {
		return "", false
	}
	to, err := filepath.Rel(root, ResolveLinks(filepath.Join(root, filepath.FromSlash(rel))))
	if err != nil || !filepath.IsLocal(to) || to == "." {
		return "", false
	}
	if _, err := os.Lstat(filepath.Join(root, to)); err != nil {
		return "", false
	}
	return filepath.ToSlash(to), true
}

// gitGuarded adds what git runs, or is told what to run by, in one git folder
// and in those of its submodules.
func gitGuarded(root, rel string, depth int, add func(guardedPath)) {
	for _, name := range []string{"hooks", "config", "config.worktree"} {
		p := path.Join(rel, name)
		if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(p))); err == nil {
			add(guardedPath{rel: p})
			if to, ok := leadsTo(root, p, info.Mode()&fs.ModeSymlink != 0); ok {
				add(guardedPath{rel: to})
			}
		}
	}
	var below func(dir string, depth int)
	below = func(dir string, depth int) {
		list, _ := os.ReadDir(filepath.Join(root, filepath.FromSlash(dir)))
		if depth > guardDepthMax || len(list) > guardPathsMax {
			return
		}
		for _, e := range list {
			if !e.IsDir() {
				continue
			}
			sub := path.Join(dir, e.Name()) // a submodule's name may hold slashes
			if _, err := os.Lstat(filepath.Join(root, filepath.FromSlash(sub), "HEAD")); err == nil {
				gitGuarded(root, sub, depth+1, add)
			} else {
				below(sub, depth+1)
			}
		}
	}
	below(path.Join(rel, "modules"), depth)
}

// indexMax bounds the git index that is looked into.
const indexMax = 64 << 20

// committed leaves out secret-looking files that git knows: they are in every
// copy of the repository, and tests need the keys among their data. Environment
// files stay guarded: too many are committed by mistake.
func (g *guard) committed(found []guardedPath) []guardedPath {
	if !slices.ContainsFunc(found, func(p guardedPath) bool { return p.secret }) {
		return found
	}
	index := gitIndex(g.root)
	return slices.DeleteFunc(found, func(p guardedPath) bool { return p.secret && !text.EnvironmentPath(p.rel) && inGitIndex(index, p.rel) })
}

// gitIndex gives the index of the repository at root, nil where there is none.
func gitIndex(root string) []byte {
	dir := filepath.Join(root, ".git")
	if b, err := os.ReadFile(dir); err == nil { // a linked worktree
		to, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
		if !ok {
			return nil
		}
		if dir = to; !filepath.IsAbs(dir) {
			dir = filepath.Join(root, dir)
		}
	}
	name := filepath.Join(dir, "index")
	if info, err := os.Stat(name); err != nil || info.Size() > indexMax {
		return nil
	}
	b, _ := os.ReadFile(name)
	return b
}

// inGitIndex says whether the index has an entry for a path: behind two bytes of
// flags, which hold the length of a path shorter than 4095, it stands with a
// zero byte after it. Version 4 shortens paths; there the answer is no.
func inGitIndex(index []byte, rel string) bool {
	const lengthMax = 0xfff
	if len(rel) >= lengthMax {
		return false
	}
	entry := append([]byte(rel), 0)
	for rest := index; ; {
		at := bytes.Index(rest, entry)
		if at < 0 {
			return false
		}
		if at >= 2 && (int(rest[at-2])<<8|int(rest[at-1]))&lengthMax == len(rel) {
			return true
		}
		rest = rest[at+1:]
	}
}
