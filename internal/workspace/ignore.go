package workspace

import (
	"bytes"
	"os"
	"path"
	"strings"

	"github.com/denormal/go-gitignore"
)

// ignores answers by the ignore files of one name in all folders of a tree. The
// nearest file that has something to say about a path decides, as in git; what
// lies in an ignored folder is ignored, whatever is said of it.
//
// It belongs to one goroutine.
type ignores struct {
	root  *os.Root
	name  string
	files map[string]gitignore.GitIgnore // by folder; nil where there is none
	dirs  map[string]bool                // folder → ignored
}

// maxIgnoreBytes bounds an ignore file that is read.
const maxIgnoreBytes = 1 << 20

func newIgnores(root *os.Root, name string) *ignores {
	return &ignores{root: root, name: name, files: map[string]gitignore.GitIgnore{}, dirs: map[string]bool{}}
}

// ignored is for a file, by its path relative to the root.
func (g *ignores) ignored(p string) bool {
	dir, _ := path.Split(p)
	dir = strings.TrimSuffix(dir, "/")
	return g.ignoredDir(dir) || g.match(p, dir, false)
}

// ignoredDir is for a folder; "" is the root.
func (g *ignores) ignoredDir(dir string) bool {
	if dir == "" || dir == "." {
		return false
	}
	if v, ok := g.dirs[dir]; ok {
		return v
	}
	parent := path.Dir(dir)
	if parent == "." {
		parent = ""
	}
	v := g.ignoredDir(parent) || g.match(dir, parent, true)
	g.dirs[dir] = v
	return v
}

// match asks the ignore files from the path's own folder up to the root.
func (g *ignores) match(p, dir string, isDir bool) bool {
	for {
		if f := g.file(dir); f != nil {
			rel := strings.TrimPrefix(strings.TrimPrefix(p, dir), "/")
			if said, ignore := ask(f, rel, isDir); said {
				return ignore
			}
		}
		if dir == "" {
			return false
		}
		dir = path.Dir(dir)
		if dir == "." {
			dir = ""
		}
	}
}

// ask survives patterns that the library trips over: they then say nothing.
func ask(f gitignore.GitIgnore, rel string, isDir bool) (said, ignore bool) {
	defer func() {
		if recover() != nil {
			said, ignore = false, false
		}
	}()
	if m := f.Relative(rel, isDir); m != nil {
		return true, m.Ignore()
	}
	return false, false
}

func (g *ignores) file(dir string) gitignore.GitIgnore {
	if f, ok := g.files[dir]; ok {
		return f
	}
	g.files[dir] = nil
	p := path.Join(dir, g.name)
	if fi, err := g.root.Lstat(p); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxIgnoreBytes {
		return nil
	}
	b, err := g.root.ReadFile(p)
	if err != nil {
		return nil
	}
	g.files[dir] = parseIgnore(b, "/"+dir)
	return g.files[dir]
}

func parseIgnore(b []byte, base string) (f gitignore.GitIgnore) {
	defer func() {
		if recover() != nil {
			f = nil
		}
	}()
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return gitignore.New(bytes.NewReader(b), base, func(gitignore.Error) bool { return true })
}
