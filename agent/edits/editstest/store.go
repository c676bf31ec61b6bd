package editstest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Store is a journal and a blob store in memory. Events go through their
// stored form, as they would on disk.
type Store struct {
	// Fail is asked before each event is recorded; its error is returned.
	Fail func(e cycle.Event) error

	mu    sync.Mutex
	log   []record
	blobs map[string][]byte
}

type record struct {
	kind string
	data []byte
}

// NewStore makes an empty store.
func NewStore() *Store { return &Store{blobs: map[string][]byte{}} }

// Record is edits.Journal.
func (s *Store) Record(_ context.Context, e cycle.Event) error {
	if s.Fail != nil {
		if err := s.Fail(e); err != nil {
			return err
		}
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, record{e.Type(), data})
	return nil
}

// Events is all that was recorded.
func (s *Store) Events() ([]cycle.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []cycle.Event
	for _, r := range s.log {
		e, err := cycle.Decode(r.kind, r.data)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// Len is the number of events.
func (s *Store) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.log)
}

// Cut forgets all events after the first n: what a crash would lose that came
// before they were durable.
func (s *Store) Cut(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = s.log[:n]
}

// Size is the number of bytes of all blobs.
func (s *Store) Size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, b := range s.blobs {
		n += len(b)
	}
	return n
}

// Put is edits.Blobs.
func (s *Store) Put(data []byte) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := text.Hash(data)
	if _, ok := s.blobs[h]; !ok {
		s.blobs[h] = append([]byte(nil), data...)
	}
	return h, nil
}

// Get is edits.Blobs.
func (s *Store) Get(hash string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b, ok := s.blobs[hash]; ok {
		return b, nil
	}
	return nil, fmt.Errorf("no blob %q", hash)
}
