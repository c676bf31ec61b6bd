package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

// ErrNotFound is what a look-up of something that is not stored returns.
var ErrNotFound = errors.New("not stored")

// schemaVersion is written into the file; another version's file is refused
// with words, never converted in place.
const schemaVersion = 1

// Tables of large rows have row ids: in a tree ordered by their keys, each comparison would
// read a row that fills pages.
const schema = `
CREATE TABLE IF NOT EXISTS events (
  id      INTEGER PRIMARY KEY,
  session TEXT NOT NULL,
  branch  TEXT NOT NULL,
  type    TEXT NOT NULL,
  body    BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS events_of ON events (session, branch, id);
CREATE TABLE IF NOT EXISTS artifacts (
  kind    TEXT NOT NULL,
  id      TEXT NOT NULL,
  session TEXT NOT NULL,
  branch  TEXT NOT NULL,
  turn    TEXT NOT NULL,
  run     TEXT NOT NULL,
  body    BLOB NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS artifacts_of ON artifacts (session, kind, turn);
CREATE TABLE IF NOT EXISTS blobs (
  hash TEXT PRIMARY KEY,
  data BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS scratch (
  ref     TEXT PRIMARY KEY,
  session TEXT NOT NULL,
  data    BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (
  id      TEXT PRIMARY KEY,
  title   TEXT NOT NULL,
  branch  TEXT NOT NULL,
  model   TEXT NOT NULL,
  mode    TEXT NOT NULL,
  created INTEGER NOT NULL,
  used    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS branches (
  session TEXT NOT NULL,
  id      TEXT NOT NULL,
  name    TEXT NOT NULL,
  parent  TEXT NOT NULL,
  turn    TEXT NOT NULL,
  PRIMARY KEY (session, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settings (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) WITHOUT ROWID;
`

// busyTimeoutMS is how long a writer waits for another process's write.
const busyTimeoutMS = 5000

// Store is one workspace's file. It is safe for concurrent use; writes are
// serialised.
type Store struct {
	db   *sql.DB
	path string
}

// Open opens or makes the file. It fails with words that say what to do when
// the file is damaged, of another version, or can't be written.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the state folder can't be made: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the state file can't be opened: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	f.Close()
	dsn := (&url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeoutMS), "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)",
	}, "_txlock": {"immediate"}}.Encode()}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // one writer; reads are short
	s := &Store{db: db, path: path}
	if err := s.prepare(ctx); err != nil {
		db.Close()
		return nil, fmt.Errorf("the state file %s can't be used: %w; move it away to begin anew", path, err)
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	var version int
	if err := s.db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version != 0 && version != schemaVersion {
		return fmt.Errorf("it has format %d and this program reads format %d", version, schemaVersion)
	}
	if version == schemaVersion {
		return nil
	}
	if _, err := s.db.ExecContext(ctx, schema); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	return err
}

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Close flushes and closes the file.
func (s *Store) Close() error { return s.db.Close() }

// Setting reads a workspace-wide value; "" if there is none.
func (s *Store) Setting(ctx context.Context, name string) (string, error) {
	var v string
	err := s.db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", name).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, err
}

// SetSetting writes a workspace-wide value.
func (s *Store) SetSetting(ctx context.Context, name, value string) error {
	_, err := s.db.ExecContext(ctx, "INSERT INTO settings VALUES (?, ?) ON CONFLICT(name) DO UPDATE SET value = excluded.value", name, value)
	return err
}
