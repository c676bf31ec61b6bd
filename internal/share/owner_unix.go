//go:build unix

package share

import (
	"io/fs"
	"os"
	"syscall"
)

func isOurs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
