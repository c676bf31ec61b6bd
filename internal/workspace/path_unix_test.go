//go:build unix

package workspace

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestSpecialFiles(t *testing.T) {
	w, in, _ := ground(t)
	if err := syscall.Mkfifo(filepath.Join(in, "pipe"), 0o644); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.look("pipe")
		done <- err
	}()
	select {
	case err := <-done:
		if reasonOf(err) != ReasonSpecial {
			t.Errorf("a pipe: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("reading a pipe waits for a writer")
	}
	p, err := w.Resolve("pipe")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteDisk(p, []byte("x"), NoFile, 0); err == nil {
		t.Error("a pipe was replaced")
	}
}
