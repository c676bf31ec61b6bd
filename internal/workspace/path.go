package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Access is what somebody wants to do with a path.
type Access int

// The accesses.
const (
	AccessRead Access = iota
	AccessWrite
)

// The reasons of a PathError that callers go by.
const (
	ReasonNotFound  = "not found"
	ReasonOutside   = "outside the workspace"
	ReasonSecret    = "a secret-looking file"
	ReasonGit       = "inside .git"
	ReasonSettings  = "settings of an editor or of this program"
	ReasonDeceptive = "a name with hidden or look-alike characters"
	ReasonFolder    = "a folder"
	ReasonNotFolder = "below a file"
	ReasonSpecial   = "not a regular file"
	ReasonReadOnly  = "read-only"
	ReasonTooLarge  = "too large"
	ReasonBinary    = "a binary file"
	ReasonExists    = "already there"
	ReasonBadPath   = "not a path"
)

// PathError refuses a path. Permission says that the person may allow it.
type PathError struct {
	Path       string
	Reason     string
	Hint       string
	Permission bool
}

func (e *PathError) Error() string {
	s := e.Path + ": " + e.Reason
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// pathBytesMax bounds a path that is looked at.
const pathBytesMax = 4096

// Place is a path that was resolved: links followed, ".." gone.
type Place struct {
	Path string // as it is shown: relative to the first root with slashes, absolute elsewhere
	Abs  string // canonical
	root *root  // nil outside of all roots
	rel  string // in root, "." for the root itself
}

// Inside says whether the place is in a root.
func (p Place) Inside() bool { return p.root != nil }

// Resolve finds the place of a path: relative to the first root, absolute, or
// a file URI. It asks for no permission and needs no file to be there. What is
// opened afterwards is the place, by descriptors below its root: a link that
// is swapped in meanwhile leads nowhere.
func (w *Workspace) Resolve(path string) (Place, error) {
	raw := path
	if strings.HasPrefix(path, "file:") {
		p, err := URIPath(path)
		if err != nil {
			return Place{}, &PathError{Path: raw, Reason: ReasonBadPath, Hint: err.Error()}
		}
		path = p
	}
	if len(path) > pathBytesMax || strings.ContainsRune(path, 0) {
		return Place{}, &PathError{Path: fmt.Sprintf("%.80q", raw), Reason: ReasonBadPath, Hint: "it is too long or holds a zero byte"}
	}
	roots := w.list()
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		if len(roots) == 0 {
			return Place{}, &PathError{Path: raw, Reason: ReasonOutside, Hint: "no folder is open"}
		}
		abs = filepath.Join(roots[0].dir, abs)
	}
	abs, err := canonical(filepath.Clean(abs))
	if err != nil {
		return Place{}, &PathError{Path: raw, Reason: ReasonBadPath, Hint: reason(err)}
	}
	p := Place{Path: filepath.ToSlash(abs), Abs: abs}
	for i, r := range roots {
		rel, err := filepath.Rel(r.dir, abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		p.root, p.rel = r, rel
		if i == 0 {
			p.Path = filepath.ToSlash(rel)
		}
		break
	}
	return p, nil
}

// danglingMax bounds the links in a row that lead to nothing yet.
const danglingMax = 40

// canonical follows the links of the part of a path that exists, and a link that
// leads to nothing yet to where that would be.
func canonical(abs string) (string, error) {
	rest, dangling := "", 0
	for p := abs; ; {
		real, err := filepath.EvalSymlinks(p)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !notFolder(err) {
			return "", err
		}
		up := filepath.Dir(p)
		if up == p {
			return abs, nil
		}
		if to, err := os.Readlink(p); err == nil && dangling < danglingMax {
			dangling++
			if !filepath.IsAbs(to) {
				if real, err := filepath.EvalSymlinks(up); err == nil {
					up = real
				}
				to = filepath.Join(up, to)
			}
			p = filepath.Clean(to)
			continue
		}
		rest = filepath.Join(filepath.Base(p), rest)
		p = up
	}
}

// May says whether the place may be read or written without asking; if not,
// the error says why, and whether the person could permit it.
func (w *Workspace) May(p Place, a Access) error {
	if w.permitted(p.Abs, a) {
		return nil
	}
	refuse := func(reason, hint string) error {
		return &PathError{Path: p.Path, Reason: reason, Hint: hint, Permission: true}
	}
	if !p.Inside() {
		return refuse(ReasonOutside, "only the workspace's folders are open to the agent")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(p.rel), "/") {
		if text.GitFolder(part) {
			return refuse(ReasonGit, "use git's own commands")
		}
	}
	if IsSecret(p.Path) {
		return refuse(ReasonSecret, "it may hold credentials")
	}
	if a == AccessWrite && text.Deceptive(p.rel) {
		return refuse(ReasonDeceptive, "it shows something else than it is")
	}
	if a == AccessWrite && isSettings(p.rel) {
		return refuse(ReasonSettings, "what they say is run or trusted")
	}
	return nil
}

// isSettings says whether a path is settings, or below a folder of them.
func isSettings(rel string) bool {
	dir, base := path.Split(filepath.ToSlash(rel))
	for part := range strings.SplitSeq(dir, "/") {
		if text.SettingsFolder(part) {
			return true
		}
	}
	return text.SettingsFile(base)
}

// Permit lets a path through that May would refuse, and all below it. It
// lasts as long as the Workspace.
func (w *Workspace) Permit(path string, a Access) error {
	p, err := w.Resolve(path)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.permits[permit{p.Abs, a}] = true
	return nil
}

type permit struct {
	abs    string
	access Access
}

func (w *Workspace) permitted(abs string, a Access) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.permits {
		if (p.access == a || p.access == AccessWrite) && (abs == p.abs || strings.HasPrefix(abs, p.abs+string(filepath.Separator))) {
			return true
		}
	}
	return false
}

// URIPath gives the path of a file URI.
func URIPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("the URI %.80q can't be read", uri)
	}
	if u.Scheme != "file" || u.Path == "" || u.Host != "" && u.Host != "localhost" {
		return "", fmt.Errorf("the URI %.80q is no file on this machine", uri)
	}
	p := u.Path
	if runtime.GOOS == "windows" && len(p) > 2 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	return filepath.FromSlash(p), nil
}

// PathURI is the file URI of an absolute path.
func PathURI(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}

// reason is the system's word for an error, without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err.Error()
	}
	return err.Error()
}
