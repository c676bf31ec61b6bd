package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// Kind names what an artifact is.
type Kind string

// The kinds of artifacts.
const (
	KindRetrieval Kind = "retrieval" // RetrievalSet, by its id
	KindEvidence  Kind = "evidence"  // the text of a RetrievalSet's items as they were, by the set's id
	KindPlan      Kind = "plan"      // ContextPlan with its inputs, by its id
	KindRound     Kind = "round"     // raw request and reply, by run and call
	KindAttached  Kind = "attached"  // what a message brought along as it was, by the message's id
)

// Artifact is a stored JSON document with the ids that it belongs to.
type Artifact struct {
	Kind                       Kind
	ID                         string
	Session, Branch, Turn, Run string
	Body                       []byte
}

// Put stores an artifact. Its id stands for its content, so what is there
// already stays.
func (s *Store) Put(ctx context.Context, a Artifact) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR IGNORE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)",
		a.Kind, a.ID, a.Session, a.Branch, a.Turn, a.Run, a.Body)
	if err != nil {
		return fmt.Errorf("%s %s can't be stored: %w", a.Kind, a.ID, err)
	}
	return nil
}

// Replace stores an artifact over what is there under its id.
func (s *Store) Replace(ctx context.Context, a Artifact) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR REPLACE INTO artifacts VALUES (?, ?, ?, ?, ?, ?, ?)",
		a.Kind, a.ID, a.Session, a.Branch, a.Turn, a.Run, a.Body)
	if err != nil {
		return fmt.Errorf("%s %s can't be stored: %w", a.Kind, a.ID, err)
	}
	return nil
}

// Get reads an artifact. An id may be cut to a unique prefix of at least 6 characters.
func (s *Store) Get(ctx context.Context, kind Kind, id string) (Artifact, error) {
	const minPrefix = 6
	a := Artifact{Kind: kind}
	scan := func(row *sql.Row) error {
		return row.Scan(&a.ID, &a.Session, &a.Branch, &a.Turn, &a.Run, &a.Body)
	}
	const cols = "SELECT id, session, branch, turn, run, body FROM artifacts WHERE kind = ? AND "
	err := scan(s.db.QueryRowContext(ctx, cols+"id = ?", kind, id))
	if errors.Is(err, sql.ErrNoRows) && len(id) >= minPrefix {
		err = scan(s.db.QueryRowContext(ctx, cols+"id >= ? AND id < ? ORDER BY id LIMIT 1", kind, id, id+"\x7f"))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("%s %s: %w", kind, id, ErrNotFound)
	}
	return a, err
}

// OfTurn lists a turn's artifacts of a kind in order of id.
func (s *Store) OfTurn(ctx context.Context, session string, kind Kind, turn string) ([]Artifact, error) {
	rows, err := s.db.QueryContext(ctx,
		"SELECT id, branch, run, body FROM artifacts WHERE session = ? AND kind = ? AND turn = ? ORDER BY id", session, kind, turn)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Artifact
	for rows.Next() {
		a := Artifact{Kind: kind, Session: session, Turn: turn}
		if err := rows.Scan(&a.ID, &a.Branch, &a.Run, &a.Body); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, rows.Err()
}

// PutBlob stores bytes under their SHA-256 and returns it.
func (s *Store) PutBlob(ctx context.Context, data []byte) (hash string, err error) {
	hashes, err := s.PutBlobs(ctx, [][]byte{data})
	if err != nil {
		return "", err
	}
	return hashes[0], nil
}

// PutBlobs stores many at once, in one transaction, and returns their hashes
// in order.
func (s *Store) PutBlobs(ctx context.Context, list [][]byte) ([]string, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("snapshots can't be stored: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	put, err := tx.PrepareContext(ctx, "INSERT OR IGNORE INTO blobs VALUES (?, ?)")
	if err != nil {
		return nil, fmt.Errorf("snapshots can't be stored: %w", err)
	}
	defer put.Close()
	out := make([]string, len(list))
	for i, data := range list {
		sum := sha256.Sum256(data)
		out[i] = hex.EncodeToString(sum[:])
		if data == nil {
			data = []byte{}
		}
		if _, err := put.ExecContext(ctx, out[i], data); err != nil {
			return nil, fmt.Errorf("snapshots can't be stored: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("snapshots can't be stored: %w", err)
	}
	return out, nil
}

// Blob reads bytes by their hash.
func (s *Store) Blob(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	err := s.db.QueryRowContext(ctx, "SELECT data FROM blobs WHERE hash = ?", hash).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("snapshot %s: %w", hash, ErrNotFound)
	}
	return data, err
}

// Archive stores large content under a ref.
func (s *Store) Archive(ctx context.Context, session, ref string, data []byte) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR IGNORE INTO scratch VALUES (?, ?, ?)", ref, session, data)
	if err != nil {
		return fmt.Errorf("ref:%s can't be archived: %w", ref, err)
	}
	return nil
}

// Rewrite stores content under a ref over what is there.
func (s *Store) Rewrite(ctx context.Context, session, ref string, data []byte) error {
	_, err := s.db.ExecContext(ctx, "INSERT OR REPLACE INTO scratch VALUES (?, ?, ?)", ref, session, data)
	if err != nil {
		return fmt.Errorf("ref:%s can't be archived: %w", ref, err)
	}
	return nil
}

// Archived reads archived content.
func (s *Store) Archived(ctx context.Context, ref string) ([]byte, error) {
	var data []byte
	err := s.db.QueryRowContext(ctx, "SELECT data FROM scratch WHERE ref = ?", ref).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("ref:%s: %w", ref, ErrNotFound)
	}
	return data, err
}
