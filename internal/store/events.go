package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Append writes events at the end of a branch's log, all or none.
func (s *Store) Append(ctx context.Context, session, branch string, events ...cycle.Event) error {
	if len(events) == 0 {
		return nil
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("the event log can't be written: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, e := range events {
		body, err := encode(e)
		if err != nil {
			return fmt.Errorf("event %s can't be encoded: %w", e.Type(), err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO events (session, branch, type, body) VALUES (?, ?, ?, ?)", session, branch, e.Type(), body); err != nil {
			return fmt.Errorf("the event log can't be written: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("the event log can't be written: %w", err)
	}
	return nil
}

// encode writes an event as it will be read: raw JSON in it, such as a call's
// arguments, must not come back with other bytes than a model sent, so nothing
// is escaped for HTML.
func encode(e cycle.Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Stored is an event with its place in the file.
type Stored struct {
	ID    int64
	Event cycle.Event
}

// pageRows bounds what one read holds in memory, and how long it keeps others waiting.
const pageRows = 2000

// Events reads a branch's log from its beginning. An event that can't be read
// ends the iteration with an error that names it.
func (s *Store) Events(ctx context.Context, session, branch string) iter.Seq2[Stored, error] {
	return func(yield func(Stored, error) bool) {
		after := int64(0)
		for {
			page, err := s.page(ctx, session, branch, after)
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.ID
			}
			if err != nil {
				yield(Stored{}, err)
				return
			}
			if len(page) < pageRows {
				return
			}
		}
	}
}

func (s *Store) page(ctx context.Context, session, branch string, after int64) ([]Stored, error) {
	rows, err := s.db.QueryContext(ctx,
		"SELECT id, type, body FROM events WHERE session = ? AND branch = ? AND id > ? ORDER BY id LIMIT ?", session, branch, after, pageRows)
	if err != nil {
		return nil, fmt.Errorf("the event log can't be read: %w", err)
	}
	defer rows.Close()
	var out []Stored
	for rows.Next() {
		var id int64
		var kind string
		var body []byte
		if err := rows.Scan(&id, &kind, &body); err != nil {
			return out, fmt.Errorf("the event log can't be read: %w", err)
		}
		e, err := cycle.Decode(kind, body)
		if err != nil {
			return out, fmt.Errorf("event %d of session %s can't be read: %w", id, session, err)
		}
		out = append(out, Stored{ID: id, Event: e})
	}
	return out, rows.Err()
}

// Count is how many events of a kind a branch has.
func (s *Store) Count(ctx context.Context, session, branch, kind string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM events WHERE session = ? AND branch = ? AND type = ?", session, branch, kind).Scan(&n)
	return n, err
}

// RunRef names a run and where its log is.
type RunRef struct{ Session, Branch, Run string }

// FindRun finds a run by its id, or by the beginning of one; "" is the latest.
func (s *Store) FindRun(ctx context.Context, id string) (RunRef, error) {
	rows, err := s.db.QueryContext(ctx, `
		SELECT session, branch, run FROM (SELECT id, session, branch, json_extract(CAST(body AS TEXT), '$.runId') AS run FROM events WHERE type = 'agent-lsp/run-queued')
		WHERE substr(run, 1, length(?1)) = ?1 ORDER BY run = ?1 DESC, id DESC LIMIT 2`, id)
	if err != nil {
		return RunRef{}, fmt.Errorf("the event log can't be searched: %w", err)
	}
	defer rows.Close()
	var found []RunRef
	for rows.Next() {
		var r RunRef
		if err := rows.Scan(&r.Session, &r.Branch, &r.Run); err != nil {
			return RunRef{}, err
		}
		found = append(found, r)
	}
	switch {
	case rows.Err() != nil:
		return RunRef{}, rows.Err()
	case len(found) == 0:
		return RunRef{}, fmt.Errorf("run %q: %w", id, ErrNotFound)
	case id != "" && len(found) > 1 && found[0].Run != id && found[1].Run != found[0].Run:
		return RunRef{}, fmt.Errorf("run %q is the beginning of several: %w", id, ErrNotFound)
	}
	return found[0], nil
}
