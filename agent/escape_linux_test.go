package agent

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// sandboxHere asks the kernel itself, past all code of ours.
func sandboxHere(t *testing.T) sandbox {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	mount := exec.Command("mount", "-t", "tmpfs", "none", t.TempDir())
	mount.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		mount.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		mount.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		mount.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return sandbox{landlock: errno == 0 && abi > 0, mounts: mount.Run() == nil}
}

// TestSwappedLinks: a folder is replaced by a link that leads out, again and
// again, while files below it are read and written: nothing outside is read or
// changed.
func TestSwappedLinks(t *testing.T) {
	g := newGround(t)
	g.put(g.in+"/swap/canary.txt", "mine\n")
	before := g.state(outside)
	if err := os.Symlink(g.out, g.in+"/swap.link"); err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Add(1)
	go func() {
		defer swapping.Done()
		for {
			select {
			case <-end:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, g.in+"/swap", unix.AT_FDCWD, g.in+"/swap.link", unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	reached := 0
	for i := range 400 {
		res, _ := g.try("read", "swap/canary.txt")
		if strings.Contains(res.Text, canary) {
			t.Fatalf("after %d tries the file outside was read", i)
		}
		if strings.Contains(res.Text, "mine") {
			reached++
		}
		g.try("write", fmt.Sprintf("swap/new%d.txt", i))
	}
	close(end)
	swapping.Wait()
	if now := g.state(outside); now != before {
		t.Errorf("outside was changed:\n%s", now)
	}
	if reached == 0 {
		t.Error("the file itself was never reached: nothing was tried")
	}
}
