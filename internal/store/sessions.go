package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Session is a session's row.
type Session struct {
	ID, Title, Branch, Model, Mode string
	Created, Used                  time.Time
}

// Branch is a branch's row.
type Branch struct {
	Session, ID, Name, Parent, Turn string
}

// PutSession makes or replaces a session's row.
func (s *Store) PutSession(ctx context.Context, x Session) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(id) DO UPDATE SET title=excluded.title, branch=excluded.branch, model=excluded.model, mode=excluded.mode, used=excluded.used`,
		x.ID, x.Title, x.Branch, x.Model, x.Mode, x.Created.UnixMilli(), x.Used.UnixMilli())
	if err != nil {
		return fmt.Errorf("session %s can't be stored: %w", x.ID, err)
	}
	return nil
}

// Session reads a session's row.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	x, err := scanSession(s.db.QueryRowContext(ctx, sessionCols+" WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return x, fmt.Errorf("session %s: %w", id, ErrNotFound)
	}
	return x, err
}

// Sessions lists all sessions, latest used first.
func (s *Store) Sessions(ctx context.Context) ([]Session, error) {
	rows, err := s.db.QueryContext(ctx, sessionCols+" ORDER BY used DESC, id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Session
	for rows.Next() {
		x, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, rows.Err()
}

const sessionCols = "SELECT id, title, branch, model, mode, created, used FROM sessions"

func scanSession(row interface{ Scan(...any) error }) (Session, error) {
	var x Session
	var created, used int64
	err := row.Scan(&x.ID, &x.Title, &x.Branch, &x.Model, &x.Mode, &created, &used)
	x.Created, x.Used = time.UnixMilli(created), time.UnixMilli(used)
	return x, err
}

// DeleteSession removes a session and all that only it needs.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, table := range []string{"events", "artifacts", "scratch", "branches"} {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE session = ?", id); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", id); err != nil {
		return err
	}
	return tx.Commit()
}

// PutBranch makes or replaces a branch's row.
func (s *Store) PutBranch(ctx context.Context, b Branch) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR REPLACE INTO branches VALUES (?, ?, ?, ?, ?)", b.Session, b.ID, b.Name, b.Parent, b.Turn)
	return err
}

// Branches lists a session's branches in order of id.
func (s *Store) Branches(ctx context.Context, session string) ([]Branch, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT session, id, name, parent, turn FROM branches WHERE session = ? ORDER BY id", session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Branch
	for rows.Next() {
		var b Branch
		if err := rows.Scan(&b.Session, &b.ID, &b.Name, &b.Parent, &b.Turn); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, rows.Err()
}
