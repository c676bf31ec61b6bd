package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// What a starting engine looks for, wherever it is in the file, has an index
// of its own: a start costs the same for a long history as for a short one.
const (
	startTypes = "type IN ('" + cycle.TypeRunStop + "', 'agent-lsp/run-queued', 'agent-lsp/run-cut-off', 'agent-lsp/control-done')"
	startIndex = "CREATE INDEX IF NOT EXISTS events_start ON events (type, session, branch, id) WHERE " + startTypes
)

// BranchRef names a branch of a session.
type BranchRef struct{ Session, Branch string }

// Unfinished lists the branches, in order of their sessions, on which the log
// shows a run as active, or one that a crash cut off as the latest.
func (s *Store) Unfinished(ctx context.Context) ([]BranchRef, error) {
	if _, err := s.db.ExecContext(ctx, startIndex); err != nil {
		return nil, fmt.Errorf("the event log can't be searched: %w", err)
	}
	rows, err := s.db.QueryContext(ctx, `
		WITH last AS (SELECT session, branch, type, max(id) AS id FROM events WHERE `+startTypes+` GROUP BY type, session, branch)
		SELECT queued.session, queued.branch FROM last AS queued
		LEFT JOIN last AS stopped ON stopped.type = 'run-stop' AND stopped.session = queued.session AND stopped.branch = queued.branch
		LEFT JOIN last AS cut ON cut.type = 'agent-lsp/run-cut-off' AND cut.session = queued.session AND cut.branch = queued.branch
		WHERE queued.type = 'agent-lsp/run-queued' AND (queued.id > coalesce(stopped.id, 0) OR coalesce(cut.id, 0) > queued.id)
		ORDER BY queued.id`)
	if err != nil {
		return nil, fmt.Errorf("the event log can't be searched: %w", err)
	}
	defer rows.Close()
	var out []BranchRef
	for rows.Next() {
		var b BranchRef
		if err := rows.Scan(&b.Session, &b.Branch); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, rows.Err()
}

// ControlsSince lists the controls that were carried out after a time, oldest
// first, at most limit of the latest.
func (s *Store) ControlsSince(ctx context.Context, after time.Time, limit int) ([]cycle.ControlDone, error) {
	if _, err := s.db.ExecContext(ctx, startIndex); err != nil {
		return nil, fmt.Errorf("the event log can't be searched: %w", err)
	}
	rows, err := s.db.QueryContext(ctx, "SELECT body FROM events WHERE "+startTypes+" AND type = 'agent-lsp/control-done' ORDER BY id DESC LIMIT ?", limit)
	if err != nil {
		return nil, fmt.Errorf("the event log can't be searched: %w", err)
	}
	defer rows.Close()
	var out []cycle.ControlDone
	for rows.Next() {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return nil, err
		}
		var c cycle.ControlDone
		if err := json.Unmarshal(body, &c); err != nil {
			return nil, fmt.Errorf("a control in the log can't be read: %w", err)
		}
		if c.Time.After(after) {
			out = append([]cycle.ControlDone{c}, out...)
		}
	}
	return out, rows.Err()
}
