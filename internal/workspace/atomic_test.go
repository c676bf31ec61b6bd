package workspace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func hashOf(t *testing.T, w *Workspace, p Place) string {
	t.Helper()
	f, err := w.ReadDisk(p)
	if err != nil {
		t.Fatal(err)
	}
	return f.Hash
}

func place(t *testing.T, w *Workspace, path string) Place {
	t.Helper()
	p, err := w.Resolve(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWriteDisk(t *testing.T) {
	w, in, out := ground(t)
	a := place(t, w, "a.txt")
	var changed *ChangedError
	if err := w.WriteDisk(a, []byte("x"), NoFile, 0); !errors.As(err, &changed) {
		t.Errorf("made over a file that is there: %v", err)
	}
	if err := w.WriteDisk(a, []byte("x"), "0000", 0); !errors.As(err, &changed) {
		t.Errorf("written over other bytes: %v", err)
	}
	if err := w.WriteDisk(place(t, w, "gone.txt"), []byte("x"), "0000", 0); !errors.As(err, &changed) || changed.Now != NoFile {
		t.Errorf("written over nothing: %v", err)
	}
	if err := os.Chmod(in+"/a.txt", 0o751); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteDisk(a, []byte("new"), hashOf(t, w, a), 0o600); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(in + "/a.txt"); fi.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", fi.Mode())
	}
	n := place(t, w, "deep/er/new.sh")
	if err := w.WriteDisk(n, []byte("#!"), NoFile, 0o755); err != nil {
		t.Fatal(err)
	}
	if fi, _ := os.Stat(in + "/deep/er/new.sh"); fi.Mode().Perm() != 0o755 {
		t.Errorf("mode of a new file %v", fi.Mode())
	}
	// A hard link: the other name keeps the old bytes.
	if err := os.Link(out+"/canary.txt", in+"/hard.txt"); err != nil {
		t.Fatal(err)
	}
	h := place(t, w, "hard.txt")
	if err := w.WriteDisk(h, []byte("mine"), hashOf(t, w, h), 0); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(out + "/canary.txt"); string(b) != "canary\n" {
		t.Errorf("a hard link led outside: %q", b)
	}
	// A link inside is written through.
	if err := os.Symlink("a.txt", in+"/link"); err != nil {
		t.Fatal(err)
	}
	l := place(t, w, "link")
	if err := w.WriteDisk(l, []byte("via"), hashOf(t, w, l), 0); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(in + "/a.txt"); string(b) != "via" {
		t.Errorf("behind the link is %q", b)
	}
	if fi, _ := os.Lstat(in + "/link"); fi.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if err := os.Chmod(in+"/a.txt", 0o444); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteDisk(a, []byte("x"), hashOf(t, w, a), 0); reasonOf(err) != ReasonReadOnly {
		t.Errorf("a read-only file: %v", err)
	}
	if err := w.RemoveDisk(a, "0000"); !errors.As(err, &changed) {
		t.Errorf("other bytes were deleted: %v", err)
	}
	if err := w.RemoveDisk(n, hashOf(t, w, n)); err != nil {
		t.Fatal(err)
	}
	if err := w.RemoveDisk(n, "0000"); !errors.As(err, &changed) || changed.Now != NoFile {
		t.Errorf("deleted twice: %v", err)
	}
	if err := w.WriteDisk(place(t, w, "sub"), []byte("x"), NoFile, 0); err == nil {
		t.Error("a folder was replaced")
	}
	long := place(t, w, strings.Repeat("n", 255))
	if err := w.WriteDisk(long, []byte("x"), NoFile, 0); err != nil {
		t.Errorf("a name of 255 bytes: %v", err)
	}
	left, _ := filepath.Glob(in + "/.agent-lsp-*")
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestStaleTempIsSwept(t *testing.T) {
	w, in, _ := ground(t)
	a := place(t, w, "a.txt")
	temp := filepath.Join(in, tempName("a.txt", 0))
	put(t, temp, "torn")
	if err := w.WriteDisk(a, []byte("1"), hashOf(t, w, a), 0); err != nil { // another name
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * tempStaleAfter)
	if err := os.Chtimes(temp, old, old); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteDisk(a, []byte("2"), hashOf(t, w, a), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the stale file is still there: %v", err)
	}
	put(t, temp, "torn")
	w.SweepTemp(a)
	if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not swept: %v", err)
	}
}

// killedWrites is how many processes TestKilledWrites kills.
const killedWrites = 40

// TestKilledWrites kills a process that writes a file again and again, each
// time whole and of one letter, at random moments. Whatever is there afterwards
// must be whole.
func TestKilledWrites(t *testing.T) {
	if dir := os.Getenv("AGENT_LSP_TEST_WRITE"); dir != "" {
		writeForEver(dir)
		return
	}
	n := killedWrites
	if testing.Short() {
		n = 8
	}
	_, in, _ := ground(t)
	file := filepath.Join(in, "torn.txt")
	put(t, file, strings.Repeat("a", 1000))
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewSource(seed))
	seen := map[byte]bool{}
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWrites$")
		cmd.Env = append(os.Environ(), "AGENT_LSP_TEST_WRITE="+in)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it has begun
			t.Fatal(err)
		}
		time.Sleep(time.Duration(r.Intn(20_000)) * time.Microsecond) // the moment of death is the test's input
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 || len(b)%1000 != 0 || bytes.Count(b, b[:1]) != len(b) || len(b) != 1000*int(b[0]-'a'+1) {
			t.Fatalf("torn: %d bytes, from %q to %q", len(b), b[0], b[len(b)-1])
		}
		seen[b[0]] = true
		w, err := Open([]string{in})
		if err != nil {
			t.Fatal(err)
		}
		w.SweepTemp(place(t, w, "torn.txt"))
		w.Close()
		if left, _ := filepath.Glob(in + "/.agent-lsp-*"); len(left) > 0 {
			t.Fatalf("left behind: %v", left)
		}
	}
	t.Logf("%d kills, %d different contents found", n, len(seen))
}

// writeForEver writes a file until it is killed.
func writeForEver(dir string) {
	w, err := Open([]string{dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p, err := w.Resolve("torn.txt")
	if err != nil {
		os.Exit(1)
	}
	for i := 0; ; i++ {
		f, err := w.ReadDisk(p)
		if err == nil {
			c := byte(i%26) + 'a'
			err = w.WriteDisk(p, bytes.Repeat([]byte{c}, 1000*(int(c-'a')+1)), f.Hash, 0)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if i == 0 {
			fmt.Println("writing")
		}
	}
}
