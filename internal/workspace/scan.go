package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Limits of a scan. What is beyond them is left out; Scanner.Skipped counts it.
const (
	MaxFileBytes = 1 << 20 // larger files are data
	MaxFiles     = 500_000
	maxDepth     = 64 // of folders, and of repositories inside repositories
	readStep     = 4 << 10
)

// IgnoreFile holds patterns in .gitignore's language for what the agent should not
// look at; it may stand in any folder.
const IgnoreFile = ".agent-lsp-ignore"

// Entry is a file of the folder.
type Entry struct {
	Path    string // relative to the root, with slashes
	Size    int64  // bytes
	ModTime int64  // nanoseconds since 1970
}

// Scanner enumerates and reads one folder. Its methods may be called from
// several goroutines.
type Scanner struct {
	dir  string
	root *os.Root
	git  bool

	once    sync.Once
	ignored bool // by a repository around it: then its rules can't say what is in here
}

// NewScanner opens the folder. Close releases it.
func NewScanner(dir string) (*Scanner, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", dir, err)
	}
	return &Scanner{dir: abs, root: root, git: true}, nil
}

// Close releases the folder.
func (s *Scanner) Close() error { return s.root.Close() }

// Root is the folder's absolute path, links resolved.
func (s *Scanner) Root() string { return s.dir }

// Scan lists the files that may be looked at, sorted by path. With paths (files or
// folders, relative to the root) it looks only at these.
func (s *Scanner) Scan(ctx context.Context, paths []string) ([]Entry, error) {
	for i, p := range paths {
		p = path.Clean(filepath.ToSlash(p))
		if p == "." {
			paths = nil
			break
		}
		if !fs.ValidPath(p) {
			return nil, fmt.Errorf("scan %s: %q is not a path inside the folder", s.dir, paths[i])
		}
	}
	names, err := s.list(ctx, paths)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	names = slices.Compact(names)
	own := newIgnores(s.root, IgnoreFile)
	out := make([]Entry, 0, len(names))
	for i, n := range names {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if len(out) == MaxFiles {
			break
		}
		if !Lookable(n) || own.ignored(n) {
			continue
		}
		fi, err := s.root.Lstat(n)
		if err != nil || !fi.Mode().IsRegular() || fi.Size() > MaxFileBytes {
			continue
		}
		out = append(out, Entry{n, fi.Size(), fi.ModTime().UnixNano()})
	}
	return out, nil
}

// list gives candidates by the ignore rules, unsorted, from git where it can.
func (s *Scanner) list(ctx context.Context, paths []string) ([]string, error) {
	if s.git && !s.isIgnored(ctx) {
		names, err := s.gitFiles(ctx, "", paths, 0)
		if err == nil || ctx.Err() != nil {
			return names, err
		}
	}
	return s.walk(ctx, paths)
}

// isIgnored tells whether the folder itself is ignored by a repository around
// it, such as a copy below node_modules or a cache. Git would list nothing.
func (s *Scanner) isIgnored(ctx context.Context) bool {
	s.once.Do(func() {
		cmd := exec.CommandContext(ctx, "git", "-C", s.dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull, "check-ignore", "-q", ".")
		cmd.Env = gitEnv()
		s.ignored = cmd.Run() == nil
	})
	return s.ignored
}

// gitEnv is the environment of a git that obeys nobody's variables.
func gitEnv() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "GIT_") {
			env = append(env, e)
		}
	}
	return append(env, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
}

// gitFiles asks git for tracked and untracked files that are not ignored, in a
// folder below the root. Repositories inside are asked for theirs.
func (s *Scanner) gitFiles(ctx context.Context, dir string, paths []string, depth int) ([]string, error) {
	if depth > maxDepth {
		return nil, nil
	}
	args := []string{"-C", filepath.Join(s.dir, filepath.FromSlash(dir)), "--literal-pathspecs",
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"ls-files", "-co", "--exclude-standard", "-z", "--"}
	cmd := exec.CommandContext(ctx, "git", append(args, paths...)...)
	cmd.Env = gitEnv()
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", s.dir, err)
	}
	var out []string
	for b := range bytes.SplitSeq(raw, []byte{0}) {
		n := path.Join(dir, string(b))
		if len(b) == 0 || !fs.ValidPath(n) {
			continue
		}
		if fi, err := s.root.Lstat(n); err == nil && fi.IsDir() { // a submodule, or a clone lying about
			inner, err := s.gitFiles(ctx, n, nil, depth+1)
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			out = append(out, inner...)
			continue
		}
		out = append(out, n)
	}
	return out, nil
}

// walk reads the folders itself.
func (s *Scanner) walk(ctx context.Context, paths []string) ([]string, error) {
	ign := newIgnores(s.root, ".gitignore")
	var out []string
	if len(paths) == 0 {
		paths = []string{"."}
	}
	for _, start := range paths {
		if start != "." && ign.ignored(start) {
			continue
		}
		err := fs.WalkDir(s.root.FS(), start, func(p string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				if d != nil && d.IsDir() {
					return fs.SkipDir // unreadable: the rest is still worth having
				}
				return nil
			case len(out) >= MaxFiles:
				return fs.SkipAll
			case d.IsDir():
				if p != "." && (d.Name() == ".git" || strings.Count(p, "/") >= maxDepth || ign.ignoredDir(p)) {
					return fs.SkipDir
				}
			case d.Type().IsRegular() && !ign.ignored(p):
				out = append(out, p)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("walk %s: %w", s.dir, err)
		}
	}
	return out, nil
}

// ErrNotLookable says that a file is secret or otherwise not for the agent's eyes.
var ErrNotLookable = errors.New("the file is secret or not text")

// Read gives a file's bytes, up to MaxFileBytes. It refuses what Scan would not list
// by its name, and whatever is not a regular file inside the folder.
func (s *Scanner) Read(p string) ([]byte, error) {
	if !Lookable(p) {
		return nil, fmt.Errorf("read %s: %w", p, ErrNotLookable)
	}
	fi, err := s.root.Lstat(p)
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("read %s: not a regular file", p)
	}
	if err != nil {
		return nil, err
	}
	f, err := s.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 0, min(fi.Size(), MaxFileBytes)+1) // one more, so that the end is met without growing
	for len(b) <= MaxFileBytes {
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) { // it has grown since
			b = slices.Grow(b, readStep)
		}
	}
	return nil, fmt.Errorf("read %s: larger than %d bytes", p, MaxFileBytes)
}

// Lookable says whether a path may be looked at at all, going by its name: not
// git's own, not secret, not of a kind that holds no text.
func Lookable(p string) bool {
	if IsSecret(p) || binaryExt[strings.ToLower(path.Ext(p))] {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

var binaryExt = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range strings.Fields(`7z a apk avi avif bin bmp br bz2 class dat db dll dmg doc docx dylib ear eot exe flac gif gz
		ico icns iso jar jpeg jpg lib lz4 lzma m4a mkv mo mov mp3 mp4 mpeg mpg nupkg o obj odt ogg otf parquet pdb pdf png ppt pptx
		psd pyc pyd pyo rar rdb rlib so sqlite sqlite3 swf tar tgz tif tiff ttf war wasm wav webm webp whl woff woff2 xls xlsx xz
		zip zst`) {
		m["."+e] = true
	}
	return m
}()
