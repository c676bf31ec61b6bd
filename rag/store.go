package rag

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// store is what an index keeps on disk: the inverted index, the manifest, the
// history, and the lock that says whose they are.
type store struct {
	dir     string // "" when everything is in memory
	lex     *lexical
	man     *manifest
	lock    *flock.Flock
	private bool   // dir is ours alone and goes with us
	note    string // what the person should know about this opening
}

const (
	lockName      = "lock"
	engineName    = "bleve"
	privatePrefix = "private-"
)

// openStore always gives a working store. It falls back from the shared one to a
// private one (another process writes the shared one) to memory (nothing can be
// written), and says so in note. What is corrupt or outdated is deleted.
func openStore(dir string) (*store, map[string]*entry, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return memoryStore(fmt.Sprintf("the index is kept in memory: %v", err))
	}
	lock := flock.New(filepath.Join(dir, lockName))
	held, err := lock.TryLock()
	if err != nil {
		return memoryStore(fmt.Sprintf("the index is kept in memory: %v", err))
	}
	if !held {
		return privateStore(dir)
	}
	removeStalePrivate(dir)
	s, files, err := openIn(dir)
	if err != nil {
		_ = lock.Unlock()
		return memoryStore(fmt.Sprintf("the index is kept in memory: %v", err))
	}
	s.lock = lock
	return s, files, nil
}

func openIn(dir string) (*store, map[string]*entry, error) {
	s, files, err := tryOpen(dir)
	if err == nil {
		return s, files, nil
	}
	if rerr := removeIndex(dir); rerr != nil {
		return nil, nil, errors.Join(err, rerr)
	}
	s, files, rerr := tryOpen(dir)
	if rerr != nil {
		return nil, nil, rerr
	}
	s.note = fmt.Sprintf("the index is rebuilt: %v", err)
	return s, files, nil
}

func tryOpen(dir string) (*store, map[string]*entry, error) {
	s := &store{dir: dir}
	man, files, err := openManifest(dir)
	if err != nil {
		return nil, nil, err
	}
	lex, fresh, err := openLexical(filepath.Join(dir, engineName))
	if err == nil && fresh && len(files) > 0 {
		_ = lex.close()
		err = errors.New("its files were deleted")
	}
	if err != nil {
		_ = man.close()
		return nil, nil, err
	}
	s.man, s.lex = man, lex
	return s, files, nil
}

func removeIndex(dir string) error {
	return errors.Join(os.RemoveAll(filepath.Join(dir, engineName)), os.RemoveAll(filepath.Join(dir, manifestName)))
}

func memoryStore(note string) (*store, map[string]*entry, error) {
	lex, _, err := openLexical("")
	if err != nil {
		return nil, nil, err
	}
	return &store{lex: lex, note: note}, map[string]*entry{}, nil
}

// privateStore serves a second process on the same folder: its own index,
// gone when it closes. It costs one more indexing, and nobody waits for anybody.
func privateStore(shared string) (*store, map[string]*entry, error) {
	const note = "another agent-lsp keeps this folder's index; this one uses a private copy"
	dir, err := os.MkdirTemp(shared, privatePrefix)
	if err != nil {
		return memoryStore(note + " in memory")
	}
	lock := flock.New(filepath.Join(dir, lockName))
	if ok, err := lock.TryLock(); err != nil || !ok {
		_ = os.RemoveAll(dir)
		return memoryStore(note + " in memory")
	}
	s, files, err := tryOpen(dir)
	if err != nil {
		_ = lock.Unlock()
		_ = os.RemoveAll(dir)
		return memoryStore(note + " in memory")
	}
	s.lock, s.private, s.note = lock, true, note
	return s, files, nil
}

// removeStalePrivate clears up after processes that died without closing.
func removeStalePrivate(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, privatePrefix+"*"))
	for _, n := range names {
		l := flock.New(filepath.Join(n, lockName))
		if ok, err := l.TryLock(); err == nil && ok {
			_ = os.RemoveAll(n)
			_ = l.Unlock()
		}
	}
}

func (s *store) close() error {
	err := errors.Join(s.lex.close(), s.man.close())
	if s.private {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Unlock())
	}
	return err
}
