//go:build unix

package rpc

import (
	"os"
	"syscall"
)

// pollable opens a descriptor anew so that Close ends a Read that waits. A
// terminal is left as it is: it is shared with the shell.
func pollable(f *os.File, name string) *os.File {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 || info.Mode().IsRegular() {
		return f
	}
	fd := f.Fd()
	if syscall.SetNonblock(int(fd), true) != nil {
		return f
	}
	return os.NewFile(fd, name)
}
