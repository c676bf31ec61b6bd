package agent

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwappedLinks: a folder is replaced by a link that leads out, again and
// again, while files below it are read and written: nothing outside is read or
// changed.
func TestSwappedLinks(t *testing.T) {
	g := newGround(t)
	g.put(g.in+"/swap/canary.txt", "mine\n")
	outside := g.state(true)
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
	if now := g.state(true); now != outside {
		t.Errorf("outside was changed:\n%s", now)
	}
	if reached == 0 {
		t.Error("the file itself was never reached: nothing was tried")
	}
}
