package rag

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Bleve's analysis queue lives as long as the process.
		goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

// memory is a Source without a disk.
type memory struct {
	root string

	mu    sync.Mutex
	files map[string]string
	time  map[string]int64
	clock int64
	fail  map[string]bool // files that cannot be read
}

func newMemory(files map[string]string) *memory {
	m := &memory{files: map[string]string{}, time: map[string]int64{}, fail: map[string]bool{}}
	for p, s := range files {
		m.put(p, s)
	}
	return m
}

func (m *memory) put(p, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	m.files[p], m.time[p] = text, m.clock
}

func (m *memory) remove(p string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, p)
}

func (m *memory) Root() string {
	if m.root == "" {
		return filepath.Join(os.TempDir(), "no-such-folder")
	}
	return m.root
}

func (m *memory) Files(ctx context.Context, paths []string) ([]File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []File
	for p, s := range m.files {
		if len(paths) == 0 || slices.ContainsFunc(paths, func(q string) bool { return p == q || strings.HasPrefix(p, q+"/") }) {
			out = append(out, File{p, int64(len(s)), m.time[p]})
		}
	}
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return out, ctx.Err()
}

func (m *memory) Read(p string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.files[p]
	if !ok || m.fail[p] {
		return nil, &fs.PathError{Op: "read", Path: p, Err: fs.ErrNotExist}
	}
	return []byte(s), nil
}

// openIndex opens an index in dir ("" makes one) and closes it with the test.
func openIndex(t testing.TB, dir string, src Source) *Index {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	x, err := Open(dir, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// indexed opens an index that holds all of src.
func indexed(t testing.TB, src Source) *Index {
	t.Helper()
	x := openIndex(t, "", src)
	if err := x.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	return x
}

func search(t testing.TB, x *Index, text string) Set {
	t.Helper()
	s, err := x.Search(context.Background(), Query{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func itemPaths(s Set) []string {
	var out []string
	for _, it := range s.Items {
		if !slices.Contains(out, it.Path) {
			out = append(out, it.Path)
		}
	}
	return out
}
