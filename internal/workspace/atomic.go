package workspace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Limits of writing.
const (
	tempTries      = 10          // names for the new file before it takes its place
	tempStaleAfter = time.Minute // one that is older was left by a process that died
	defaultMode    = 0o644
)

// NoFile stands for the hash of a file that must not be there.
const NoFile = ""

// ChangedError says that a file is not what it should have been; nothing was
// written.
type ChangedError struct {
	Path string
	Now  string // hash of what is there, NoFile when nothing is
}

func (e *ChangedError) Error() string {
	if e.Now == NoFile {
		return e.Path + ": it is gone meanwhile; nothing was written"
	}
	return e.Path + ": it was changed by something else meanwhile; nothing was written"
}

// WriteDisk replaces a file as a whole: whoever looks, and whatever dies, sees
// the old bytes or the new ones, never something between. The file must hold
// the bytes that expect is the hash of (NoFile: must not exist), otherwise the
// error is a *ChangedError. The mode of a file that exists is kept; a new one
// gets mode, and 0 is 0644. Missing folders are made. A link is written
// through (Place has followed it); a hard link is cut from its other names,
// which keep the old bytes.
func (w *Workspace) WriteDisk(p Place, data []byte, expect string, mode fs.FileMode) error {
	dir, name, done, err := p.openForWrite()
	if err != nil {
		return p.fail(err)
	}
	defer done()
	old, err := dir.Lstat(name)
	switch {
	case err == nil && expect == NoFile:
		return &ChangedError{p.Path, "there"}
	case err == nil:
		if err := p.regular(old); err != nil {
			return err
		}
		if old.Mode().Perm()&0o200 == 0 {
			return &PathError{Path: p.Path, Reason: ReasonReadOnly, Hint: "make it writable first"}
		}
		mode = old.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return p.fail(err)
	case expect != NoFile:
		return &ChangedError{p.Path, NoFile}
	case mode == 0:
		mode = defaultMode
	}
	temp, f, err := createTemp(dir, name)
	if err != nil {
		return p.fail(err)
	}
	if err := fill(f, data, mode, old); err != nil {
		_ = dir.Remove(temp)
		return p.fail(err)
	}
	if err := p.expect(dir, name, expect); err != nil {
		_ = dir.Remove(temp)
		return err
	}
	if expect == NoFile {
		// A link, unlike a rename, fails when something is there by now.
		err = dir.Link(temp, name)
		_ = dir.Remove(temp)
		if errors.Is(err, fs.ErrExist) {
			return &ChangedError{p.Path, "there"}
		}
	} else if err = dir.Rename(temp, name); err != nil {
		_ = dir.Remove(temp)
	}
	if err != nil {
		return p.fail(err)
	}
	return syncDir(dir)
}

// RemoveDisk deletes a file that holds the bytes that expect is the hash of.
func (w *Workspace) RemoveDisk(p Place, expect string) error {
	dir, name, done, err := p.openForWrite()
	if err != nil {
		return p.fail(err)
	}
	defer done()
	if err := p.expect(dir, name, expect); err != nil {
		return err
	}
	if err := dir.Remove(name); err != nil {
		return p.fail(err)
	}
	return syncDir(dir)
}

// SweepTemp removes what a write to the place left behind when its process
// died.
func (w *Workspace) SweepTemp(p Place) {
	if p.root == nil {
		return
	}
	dir, err := p.root.fd.OpenRoot(filepath.Dir(p.rel))
	if err != nil {
		return
	}
	defer dir.Close()
	for i := range tempTries {
		_ = dir.Remove(tempName(filepath.Base(p.rel), i))
	}
}

// openForWrite gives the folder that holds the place, making it if need be.
func (p Place) openForWrite() (dir *os.Root, name string, done func(), err error) {
	if p.root == nil {
		return p.open()
	}
	sub := filepath.Dir(p.rel)
	if p.rel == "." {
		return nil, "", nil, &PathError{Path: p.Path, Reason: ReasonFolder}
	}
	if sub != "." {
		err := p.root.fd.MkdirAll(sub, 0o755)
		if errors.Is(err, fs.ErrExist) || notFolder(err) {
			return nil, "", nil, &PathError{Path: p.Path, Reason: ReasonNotFolder, Hint: "a folder of this path is a file"}
		}
		if err != nil {
			return nil, "", nil, err
		}
	}
	dir, err = p.root.fd.OpenRoot(sub)
	if err != nil {
		return nil, "", nil, err
	}
	return dir, filepath.Base(p.rel), func() { _ = dir.Close() }, nil
}

// expect compares what is there with a hash.
func (p Place) expect(dir *os.Root, name, hash string) error {
	f, err := dir.OpenFile(name, openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if hash == NoFile {
			return nil
		}
		return &ChangedError{p.Path, NoFile}
	}
	if err != nil {
		return p.fail(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return p.fail(err)
	}
	if err := p.regular(info); err != nil {
		return err
	}
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil || n == 0 {
			break
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	if now := text.Hash(data); now != hash {
		return &ChangedError{p.Path, now}
	}
	return nil
}

// tempName is the new file's name until it takes its place: short, so that it
// fits wherever name fits.
func tempName(name string, try int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return fmt.Sprintf(".agent-lsp-%016x-%d.tmp", h.Sum64(), try)
}

func createTemp(dir *os.Root, name string) (string, *os.File, error) {
	var last error
	for try := range tempTries {
		temp := tempName(name, try)
		f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return temp, f, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", nil, err
		}
		last = err
		if fi, err := dir.Lstat(temp); err == nil && time.Since(fi.ModTime()) > tempStaleAfter {
			_ = dir.Remove(temp)
		}
	}
	return "", nil, last
}

// fill writes, closes and makes durable.
func fill(f *os.File, data []byte, mode fs.FileMode, old fs.FileInfo) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil && old != nil {
		keepOwner(f, old)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// syncDir makes a rename durable. Where folders can't be synced the rename is
// made all the same, so that is no error.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return nil
	}
	_ = d.Sync()
	return d.Close()
}
