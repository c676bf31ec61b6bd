//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// notFolder says that a part of a path is a file where a folder should be.
func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// keepOwner gives a new file its predecessor's owner, where that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	now, err := f.Stat()
	if err != nil {
		return
	}
	if st, ok := now.Sys().(*syscall.Stat_t); ok && (st.Uid != was.Uid || st.Gid != was.Gid) {
		_ = f.Chown(int(was.Uid), int(was.Gid)) // only the superuser may; the file's content matters more
	}
}
