package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// withoutWatches runs this program again where the system grants no watch at all: in a
// user namespace of its own, whose limit is 0 and which nothing outside notices.
func withoutWatches(args ...string) (string, error) {
	c := exec.Command("/proc/self/exe", append(args, "-no-watches")...)
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	c.Stderr = os.Stderr
	out, err := c.Output()
	return string(out), err
}

// takeWatches sets the limits of this namespace to 0.
func takeWatches() error {
	for _, name := range []string{"watches", "instances"} {
		if err := os.WriteFile("/proc/sys/user/max_inotify_"+name, []byte("0\n"), 0); err != nil {
			return fmt.Errorf("take the watches away: %w", err)
		}
	}
	return nil
}
