package tools

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// guardState is what a guarded path holds: a file is itself, "."; a folder is
// the files below it.
type guardState map[string]guardFile

type guardFile struct {
	mode fs.FileMode
	link string
	data []byte
}

func (f guardFile) same(as guardFile) bool {
	return f.mode == as.mode && f.link == as.link && bytes.Equal(f.data, as.data)
}

func (s guardState) same(as guardState) bool {
	if len(s) != len(as) {
		return false
	}
	for name, f := range s {
		if other, ok := as[name]; !ok || !f.same(other) {
			return false
		}
	}
	return true
}

// guardBudget is how much may still be kept.
type guardBudget struct{ files, bytes int }

// readGuarded gives what a path holds. whole is false when the budget was not
// enough for all of it.
func readGuarded(folder *os.Root, rel string, left *guardBudget) (state guardState, whole bool) {
	state, whole = guardState{}, true
	if to, err := folder.Readlink(rel); err == nil { // WalkDir would follow it
		return guardState{".": {mode: fs.ModeSymlink, link: to}}, true
	}
	_ = fs.WalkDir(folder.FS(), rel, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // what is gone meanwhile isn't there
		}
		f := guardFile{mode: d.Type()}
		info, err := d.Info()
		switch {
		case err != nil:
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			f.link, _ = folder.Readlink(p)
		case d.Type().IsRegular():
			if left.files--; left.files < 0 || info.Size() > int64(left.bytes) {
				whole = false
				return nil
			}
			if f.data, err = folder.ReadFile(p); err != nil {
				return nil
			}
			f.mode = info.Mode()
			left.bytes -= len(f.data)
		}
		name := "."
		if p != rel {
			name = p[len(rel)+1:]
		}
		state[name] = f
		return nil
	})
	return state, whole
}

// compare puts back what is not as it was. It must be called when nothing that
// the command started is left. seen says that the command saw the guarded paths
// read-only. Each line of the answer is one path, in words.
func (g *guard) compare(seen bool, keep string) (putBack []string) {
	found, _ := findGuarded(g.root)
	made := map[string]guardState{}
	left := guardBudget{guardFilesMax, guardBytesMax}
	for _, p := range found {
		if p.secret || slices.Contains(g.paths, p) || g.cut && !strings.HasPrefix(p.rel, ".") || g.permitted(p) {
			continue // below a limit nobody knows whether it is new
		}
		if state, _ := readGuarded(g.folder, p.rel, &left); len(state) > 0 {
			made[p.rel] = state
		}
	}
	away := &putAway{parent: keep}
	for _, p := range g.paths {
		if p.secret || g.untouched(p, seen) || g.othersOpened(p) {
			continue
		}
		was, known := g.kept[p.rel]
		budget := guardBudget{guardFilesMax, guardBytesMax}
		is, whole := readGuarded(g.folder, p.rel, &budget)
		if !known || !whole || is.same(was) || len(is) == 0 && moved(was, made) || harmless(p.rel, was, is) {
			continue
		}
		putBack = append(putBack, g.restore(p.rel, was, is, away)...)
	}
	for _, rel := range slices.Sorted(maps.Keys(made)) {
		if g.isKept(made[rel]) || harmless(rel, nil, made[rel]) {
			continue // moved here with its folder, or a new repository without anything that runs
		}
		putBack = append(putBack, g.restore(rel, nil, made[rel], away)...)
	}
	return putBack
}

// permitted says whether a path that wasn't there was permitted, to this command
// or to one beside it.
func (g *guard) permitted(p guardedPath) bool { return g.open(p, g.opens) || g.othersOpened(p) }

func (g *guard) othersOpened(p guardedPath) bool {
	g.others.mu.Lock()
	defer g.others.mu.Unlock()
	return slices.ContainsFunc(g.others.opens, func(o func(string, bool) bool) bool { return g.open(p, o) })
}

// untouched says that the command can't have changed a path: it saw it
// read-only, and the folder around it is still the same, so that it wasn't moved
// aside. Whoever changed it then was somebody else.
func (g *guard) untouched(p guardedPath, seen bool) bool {
	was := g.parents[p.rel]
	if !seen || was == nil {
		return false
	}
	is, err := g.folder.Stat(path.Dir(p.rel))
	return err == nil && os.SameFile(was, is)
}

func moved(was guardState, made map[string]guardState) bool {
	for _, s := range made {
		if s.same(was) {
			return true
		}
	}
	return false
}

func (g *guard) isKept(s guardState) bool {
	for _, k := range g.kept {
		if len(k) > 0 && k.same(s) {
			return true
		}
	}
	return false
}

// restore makes a path hold again what it held, file by file: first what is
// there now, so that nothing stands in the way of what is missing.
func (g *guard) restore(rel string, was, is guardState, away *putAway) (said []string) {
	for _, name := range slices.Sorted(maps.Keys(is)) {
		before, there := was[name]
		if p := path.Join(rel, name); !there || !before.same(is[name]) {
			said = append(said, g.undo(p, is[name], before, there, away)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, left := is[name]; left {
			continue
		}
		p := path.Join(rel, name)
		if err := g.write(p, was[name], true); err != nil {
			said = append(said, p+" was removed and could NOT be put back: "+err.Error())
			continue
		}
		said = append(said, p+" was removed, and has been put back")
	}
	return said
}

// undo takes back what became of one file, and keeps a copy of it. What the
// person has open is theirs.
func (g *guard) undo(p string, now, before guardFile, there bool, away *putAway) []string {
	if g.edited != nil && g.edited(filepath.Join(g.root, filepath.FromSlash(p))) {
		return nil
	}
	what, done := "made", "taken away again"
	if there {
		what, done = "changed", "put back as it was"
	}
	where, err := away.take(g.folder, p, now)
	if err == nil {
		err = g.write(p, before, there)
	}
	if err != nil {
		return []string{fmt.Sprintf("%s was %s and could NOT be %s: %v", p, what, done, err)}
	}
	return []string{fmt.Sprintf("%s was %s, and has been %s; what was written is kept in %s", p, what, done, where)}
}

// write makes one file what it was, or takes it away.
func (g *guard) write(p string, f guardFile, there bool) error {
	if err := g.clear(p); err != nil {
		return err
	}
	if !there {
		// A folder that it leaves empty goes with it, up to the guarded one.
		for dir := path.Dir(p); dir != "." && text.Guarded(dir); dir = path.Dir(dir) {
			if g.folder.Remove(dir) != nil {
				break
			}
		}
		return nil
	}
	if err := g.folder.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	if f.link != "" {
		return g.folder.Symlink(f.link, p)
	}
	if !f.mode.IsRegular() {
		return nil
	}
	if err := g.folder.WriteFile(p, f.data, f.mode.Perm()); err != nil {
		return err
	}
	return g.folder.Chmod(p, f.mode.Perm()) // whatever the umask is
}

// clear takes away what stands at a path, and links and files that stand where
// its folders should be.
func (g *guard) clear(p string) error {
	for i, c := range p {
		if c != '/' {
			continue
		}
		if info, err := g.folder.Lstat(p[:i]); err == nil && !info.IsDir() {
			return g.folder.Remove(p[:i])
		}
	}
	return g.folder.RemoveAll(p)
}

// putAway is the folder for what commands wrote where they must not. It is no
// folder that a command may write in.
type putAway struct{ parent, dir string }

// putAwayMax is how many such folders are kept.
const putAwayMax = 64

func (a *putAway) take(folder *os.Root, p string, f guardFile) (string, error) {
	if a.dir == "" {
		if err := os.MkdirAll(a.parent, 0o700); err != nil {
			return "", err
		}
		a.prune()
		var err error
		if a.dir, err = os.MkdirTemp(a.parent, "put-away-"); err != nil {
			return "", err
		}
	}
	to := filepath.Join(a.dir, filepath.FromSlash(p))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return "", err
	}
	if f.link != "" || !f.mode.IsRegular() {
		return to, os.WriteFile(to, []byte(cmp.Or(f.link, f.mode.Type().String())+"\n"), 0o600)
	}
	from, err := folder.Open(p)
	if err != nil {
		return "", err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, from)
	return to, cmp.Or(err, out.Close())
}

// prune makes room for one more folder: the oldest go.
func (a *putAway) prune() {
	list, err := os.ReadDir(a.parent)
	if err != nil || len(list) < putAwayMax {
		return
	}
	age := func(e os.DirEntry) int64 {
		if info, err := e.Info(); err == nil {
			return info.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(list, func(x, y os.DirEntry) int { return cmp.Compare(age(x), age(y)) })
	for _, e := range list[:len(list)-putAwayMax+1] {
		_ = os.RemoveAll(filepath.Join(a.parent, e.Name()))
	}
}

// harmless says whether what was added is nothing that runs: a new repository
// with sample hooks, or settings of git's that name remotes and branches.
func harmless(rel string, was, is guardState) bool {
	git := strings.HasPrefix(rel, ".git/") || strings.Contains(rel, "/.git/")
	switch base := path.Base(rel); {
	case !git:
		return false
	case base == "hooks":
		for name, f := range is {
			if old, there := was[name]; !strings.HasSuffix(name, ".sample") && !(there && old.same(f)) {
				return false
			}
		}
		for name := range was {
			if _, there := is[name]; !there {
				return false
			}
		}
		return true
	case base == "config":
		f, there := is["."]
		return there && f.mode.IsRegular() && harmlessGit(was["."].data, f.data)
	}
	return false
}

// harmlessKeys of git's settings neither run nor rewrite anything.
var harmlessKeys = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range strings.Fields(`core.repositoryformatversion core.filemode core.bare core.logallrefupdates core.ignorecase core.precomposeunicode
		core.symlinks remote.url remote.fetch remote.pushurl branch.remote branch.merge branch.rebase submodule.url submodule.active
		extensions.objectformat extensions.refstorage user.name user.email`) {
		m[k] = true
	}
	return m
}()

// harmlessGit says whether every line that is in one git configuration and not
// in the other is a section or one of the harmless keys. Nothing may have gone.
func harmlessGit(was, is []byte) bool {
	known := gitLines(was)
	for line, n := range gitLines(is) {
		section, key, _ := strings.Cut(line, "\x00")
		key, value, _ := strings.Cut(key, "=")
		key = strings.ToLower(strings.TrimSpace(key))
		if n > known[line] && !(harmlessKeys[section+"."+key] && !strings.ContainsAny(value, "\\") && !strings.Contains(value, "::")) {
			return false
		}
		known[line] -= n
	}
	for _, n := range known {
		if n > 0 {
			return false
		}
	}
	return true
}

// gitSection is the one form of a section's line that is taken for nothing else.
var gitSection = regexp.MustCompile(`^\[([A-Za-z0-9-]+)( "[^"\\\]]*")?\]$`)

// gitLines counts the settings of a git configuration, each with its section's
// name before it. A line that isn't plainly one of either counts as a setting of
// no section, which isn't harmless.
func gitLines(config []byte) map[string]int {
	out := map[string]int{}
	section := ""
	for line := range strings.Lines(string(config)) {
		line = strings.TrimSpace(line)
		switch m := gitSection.FindStringSubmatch(line); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case m != nil:
			section = strings.ToLower(m[1])
		case line[0] == '[':
			section = ""
			out["\x00"+line]++
		default:
			out[section+"\x00"+line]++
		}
	}
	return out
}
