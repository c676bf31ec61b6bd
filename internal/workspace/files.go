package workspace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Limits of what is read.
const (
	ReadBytesMax   = 64 << 20 // of one file
	ListEntriesMax = 20_000   // of one folder
)

// Workspace is the files below some roots, and the editor's buffers over them.
// It is safe for concurrent use.
type Workspace struct {
	mu      sync.Mutex
	roots   []*root
	permits map[permit]bool
	docs    map[string]*Doc // by canonical path
}

type root struct {
	dir string // canonical
	fd  *os.Root
}

// Open opens the folders; the first is the one that relative paths start from.
func Open(roots []string) (*Workspace, error) {
	w := &Workspace{permits: map[permit]bool{}, docs: map[string]*Doc{}}
	if err := w.SetRoots(roots); err != nil {
		return nil, err
	}
	return w, nil
}

// SetRoots replaces the folders. Folders that stay are not reopened. On an
// error nothing changes.
func (w *Workspace) SetRoots(dirs []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var now, opened []*root
	for _, d := range dirs {
		abs, err := filepath.Abs(d)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		var r *root
		if err == nil {
			if i := slices.IndexFunc(w.roots, func(r *root) bool { return r.dir == abs }); i >= 0 {
				r = w.roots[i]
			} else {
				var fd *os.Root
				if fd, err = os.OpenRoot(abs); err == nil {
					r = &root{abs, fd}
					opened = append(opened, r)
				}
			}
		}
		if err != nil {
			for _, r := range opened {
				_ = r.fd.Close()
			}
			return fmt.Errorf("open the folder %s: %s", d, reason(err))
		}
		if !slices.Contains(now, r) {
			now = append(now, r)
		}
	}
	for _, r := range w.roots {
		if !slices.Contains(now, r) {
			_ = r.fd.Close()
		}
	}
	w.roots = now
	return nil
}

// Close releases the folders.
func (w *Workspace) Close() error { return w.SetRoots(nil) }

// Roots gives the folders, links resolved.
func (w *Workspace) Roots() []string {
	var out []string
	for _, r := range w.list() {
		out = append(out, r.dir)
	}
	return out
}

func (w *Workspace) list() []*root {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots
}

// DiskFile is a file as it is on disk.
type DiskFile struct {
	Data []byte
	Mode fs.FileMode // permission bits
	Hash string      // of Data
}

// ReadDisk reads a file from the disk, whatever a buffer over it holds. The
// error is a *PathError; a file that isn't there has ReasonNotFound.
func (w *Workspace) ReadDisk(p Place) (DiskFile, error) {
	dir, name, done, err := p.open()
	if err != nil {
		return DiskFile{}, p.fail(err)
	}
	defer done()
	f, err := dir.OpenFile(name, openFlags, 0)
	if err != nil {
		return DiskFile{}, p.fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return DiskFile{}, p.fail(err)
	}
	if err := p.regular(info); err != nil {
		return DiskFile{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, ReadBytesMax+1))
	if err != nil {
		return DiskFile{}, p.fail(err)
	}
	if len(data) > ReadBytesMax {
		return DiskFile{}, p.tooLarge(int64(len(data)), ReadBytesMax)
	}
	return DiskFile{data, info.Mode().Perm(), text.Hash(data)}, nil
}

// regular refuses what is no ordinary file of a size that can be read.
func (p Place) regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return &PathError{Path: p.Path, Reason: ReasonFolder}
	case !info.Mode().IsRegular():
		return &PathError{Path: p.Path, Reason: ReasonSpecial, Hint: "a device, pipe or socket"}
	case info.Size() > ReadBytesMax:
		return p.tooLarge(info.Size(), ReadBytesMax)
	}
	return nil
}

func (p Place) tooLarge(n, limit int64) error {
	return &PathError{Path: p.Path, Reason: ReasonTooLarge, Hint: fmt.Sprintf("%d MB, the limit is %d MB", (n+1<<20-1)>>20, limit>>20)}
}

// open gives the folder to work in and the name there. Below a root everything
// goes through the root's descriptor.
func (p Place) open() (dir *os.Root, name string, done func(), err error) {
	if p.root != nil {
		return p.root.fd, p.rel, func() {}, nil
	}
	d, err := os.OpenRoot(filepath.Dir(p.Abs))
	if err != nil {
		return nil, "", nil, err
	}
	return d, filepath.Base(p.Abs), func() { _ = d.Close() }, nil
}

// fail puts a system's error into words.
func (p Place) fail(err error) error {
	var pe *PathError
	switch {
	case errors.As(err, &pe):
		return pe
	case errors.Is(err, fs.ErrNotExist) || notFolder(err):
		return &PathError{Path: p.Path, Reason: ReasonNotFound}
	case errors.Is(err, fs.ErrPermission):
		return &PathError{Path: p.Path, Reason: "not permitted by the system", Hint: "its permissions are in the way"}
	case strings.Contains(err.Error(), "escapes from parent"):
		return &PathError{Path: p.Path, Reason: ReasonOutside, Hint: "a link in it was changed while it was looked at", Permission: true}
	}
	return &PathError{Path: p.Path, Reason: reason(err)}
}

// Info is an entry of a folder.
type Info struct {
	Path  string
	Dir   bool
	Size  int64
	Link  bool // Path is a link's own
	MTime time.Time
	Mode  fs.FileMode
}

func infoOf(path string, fi fs.FileInfo) Info {
	return Info{Path: path, Dir: fi.IsDir(), Size: fi.Size(), Link: fi.Mode()&fs.ModeSymlink != 0, MTime: fi.ModTime(), Mode: fi.Mode()}
}

// Stat looks at a place on disk.
func (w *Workspace) Stat(p Place) (Info, error) {
	dir, name, done, err := p.open()
	if err != nil {
		return Info{}, p.fail(err)
	}
	defer done()
	fi, err := dir.Stat(name)
	if err != nil {
		return Info{}, p.fail(err)
	}
	return infoOf(p.Path, fi), nil
}

// ListDir gives the entries of a folder by name, up to ListEntriesMax.
func (w *Workspace) ListDir(p Place) (entries []Info, more bool, err error) {
	dir, name, done, err := p.open()
	if err != nil {
		return nil, false, p.fail(err)
	}
	defer done()
	f, err := dir.OpenFile(name, openFlags, 0)
	if err != nil {
		return nil, false, p.fail(err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.IsDir() {
		if err == nil {
			err = &PathError{Path: p.Path, Reason: "not a folder"}
		}
		return nil, false, p.fail(err)
	}
	list, err := f.ReadDir(ListEntriesMax + 1)
	if err != nil && err != io.EOF {
		return nil, false, p.fail(err)
	}
	if len(list) > ListEntriesMax {
		list, more = list[:ListEntriesMax], true
	}
	for _, d := range list {
		fi, err := d.Info()
		if err != nil {
			continue // gone in between
		}
		entries = append(entries, infoOf(path.Join(p.Path, d.Name()), fi))
	}
	slices.SortFunc(entries, func(a, b Info) int { return strings.Compare(a.Path, b.Path) })
	return entries, more, nil
}

// Walk gives the files below a folder that the ignore rules leave, in path
// order; secret-looking ones are left out. It stops when fn returns false.
func (w *Workspace) Walk(ctx context.Context, p Place, fn func(Info) bool) error {
	if p.root == nil {
		return w.May(p, AccessRead)
	}
	fi, err := p.root.fd.Stat(p.rel)
	if err != nil {
		return p.fail(err)
	}
	if !fi.IsDir() {
		fn(infoOf(p.Path, fi))
		return nil
	}
	s := &Scanner{dir: p.root.dir, root: p.root.fd, git: true}
	var below []string
	if p.rel != "." {
		below = []string{filepath.ToSlash(p.rel)}
	}
	names, err := s.list(ctx, below)
	if err != nil {
		return err
	}
	slices.Sort(names)
	own := newIgnores(p.root.fd, IgnoreFile)
	first := len(w.list()) > 0 && w.list()[0] == p.root
	for i, n := range slices.Compact(names) {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if IsSecret(n) || own.ignored(n) {
			continue
		}
		fi, err := p.root.fd.Lstat(n)
		if err != nil || !fi.Mode().IsRegular() {
			continue
		}
		shown := n
		if !first {
			shown = path.Join(filepath.ToSlash(p.root.dir), n)
		}
		if !fn(infoOf(shown, fi)) {
			return nil
		}
	}
	return nil
}

// binaryLook is how many bytes decide whether a file is text, as git does.
const binaryLook = 8000

// IsBinary says whether bytes are no text: a zero byte near the beginning.
func IsBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), binaryLook)], 0) >= 0
}

// Form is how a file keeps its text beyond plain bytes: the mark that it begins
// with. It is "" for nearly all, whose bytes are the text.
type Form string

// The forms with a mark.
const (
	FormUTF8     Form = "\ufeff"
	FormUTF16    Form = "\xff\xfe"
	FormUTF16Big Form = "\xfe\xff"
)

// SplitForm gives a file's text without its mark, in UTF-8 if it is UTF-16. What
// would not come back byte for byte is left as it is.
func SplitForm(data []byte) (Form, string) {
	if rest, ok := bytes.CutPrefix(data, []byte(FormUTF8)); ok {
		return FormUTF8, string(rest)
	}
	for _, f := range []Form{FormUTF16, FormUTF16Big} {
		rest, ok := bytes.CutPrefix(data, []byte(f))
		if !ok || len(rest)%2 != 0 {
			continue
		}
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = f.order().Uint16(rest[2*i:])
		}
		if s := string(utf16.Decode(units)); bytes.Equal(f.Join(s), data) {
			return f, s
		}
	}
	return "", string(data)
}

// Join is SplitForm's way back.
func (f Form) Join(s string) []byte {
	if f != FormUTF16 && f != FormUTF16Big {
		return []byte(string(f) + s)
	}
	out := []byte(f)
	for _, u := range utf16.Encode([]rune(s)) {
		out = f.order().AppendUint16(out, u)
	}
	return out
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (f Form) order() byteOrder {
	if f == FormUTF16Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Encoding names a text's encoding for messages: "utf-8", "utf-8 with BOM",
// "utf-16", "binary", or "unknown 8-bit".
func Encoding(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return "utf-16"
	case IsBinary(data):
		return "binary"
	case bytes.HasPrefix(data, []byte(FormUTF8)):
		return "utf-8 with BOM"
	case utf8.Valid(data):
		return "utf-8"
	}
	return "unknown 8-bit"
}
