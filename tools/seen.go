package tools

import (
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// SeenBytesMax bounds what a Seen remembers; the files read longest ago go
// first, and count as not read.
const SeenBytesMax = 32 << 20

// Seen remembers each file as the model last saw it, so that a `write` is
// computed from what the model knew and not from what the person typed since.
// One per run or branch; safe for concurrent use; a nil *Seen remembers
// nothing.
type Seen struct {
	mu    sync.Mutex
	files map[string][]byte
	order []string // oldest first
	bytes int
}

// NewSeen gives an empty memory.
func NewSeen() *Seen { return &Seen{files: map[string][]byte{}} }

// Saw notes a file's bytes as the model has now seen or written them.
func (s *Seen) Saw(path string, data []byte) {
	if s == nil || len(data) > SeenBytesMax {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(path)
	s.files[path], s.order = data, append(s.order, path)
	for s.bytes += len(data); s.bytes > SeenBytesMax; {
		s.forget(s.order[0])
	}
}

// Last gives a file's bytes as the model last saw them.
func (s *Seen) Last(path string) ([]byte, bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[path]
	return data, ok
}

func (s *Seen) forget(path string) {
	old, ok := s.files[path]
	if !ok {
		return
	}
	s.bytes -= len(old)
	delete(s.files, path)
	for i, p := range s.order {
		if p == path {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			return
		}
	}
}

// key is one name for a file however a model spells its path.
func (e Env) key(p string) string {
	p = path.Clean(filepath.ToSlash(p))
	if rest, ok := strings.CutPrefix(p, filepath.ToSlash(e.Root)+"/"); ok && e.Root != "" {
		return rest
	}
	return p
}
