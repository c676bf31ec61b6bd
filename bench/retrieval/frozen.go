package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/rag"
)

// Ranking can be worked on without indexing the same trees again and again: a run
// with -frozen keeps each case's index, and the next one opens that and reads files
// from git. Delete the folder after any change to what is indexed.

// frozenSource is a tree that is only in git.
type frozenSource struct {
	dir    string
	files  []rag.File
	commit string
	cat    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
}

func (s *frozenSource) Root() string { return s.dir }

func (s *frozenSource) Files(context.Context, []string) ([]rag.File, error) { return s.files, nil }

func (s *frozenSource) Read(p string) ([]byte, error) {
	if s.cat == nil {
		s.cat = exec.Command("git", "-C", s.dir, "cat-file", "--batch")
		var err error
		if s.in, err = s.cat.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := s.cat.StdoutPipe()
		if err != nil {
			return nil, err
		}
		s.out = bufio.NewReader(out)
		if err := s.cat.Start(); err != nil {
			return nil, err
		}
	}
	fmt.Fprintf(s.in, "%s:%s\n", s.commit, p)
	head, err := s.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	f := strings.Fields(head)
	if len(f) != 3 {
		return nil, fs.ErrNotExist
	}
	n, err := strconv.Atoi(f[2])
	if err != nil {
		return nil, err
	}
	b := make([]byte, n+1)
	if _, err := io.ReadFull(s.out, b); err != nil {
		return nil, err
	}
	return b[:n], nil
}

func (s *frozenSource) close() {
	if s.cat != nil {
		s.in.Close()
		_ = s.cat.Wait()
	}
}

// thaw opens a case that an earlier run froze.
func thaw(dir string, t *tree, c Case) (*rag.Index, *frozenSource, error) {
	f, err := os.Open(filepath.Join(dir, "files"))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	s := &frozenSource{dir: t.dir, commit: c.Parent}
	if err := gob.NewDecoder(bufio.NewReader(f)).Decode(&s.files); err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(filepath.Join(t.dir, ".git", "HEAD"), []byte(c.Parent+"\n"), 0o644); err != nil {
		return nil, nil, err
	}
	x, err := rag.Open(filepath.Join(dir, "index"), s, rag.Options{})
	return x, s, err
}

// freeze copies a closed index, with the list of the files it holds.
func freeze(dir, index string, files []rag.File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	err := filepath.WalkDir(index, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(index, p)
		to := filepath.Join(dir, "index", rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		if filepath.Ext(p) == ".zap" { // never written again
			_ = os.Remove(to)
			return os.Link(p, to)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "files"))
	if err != nil {
		return err
	}
	defer f.Close()
	return gob.NewEncoder(f).Encode(files)
}
