// Package store is the database of an index: its file, its tables, the rows and words of entries, and how
// they are brought up to date with the tapes.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"tape/index/internal/fts5"
)

// DB is an open database with its prepared statements. Statements run without a context, because cancelling
// one would leave no connection to roll back on.
type DB struct {
	Most int64 // how many entries one transaction may add; 0 for any number
	View View  // how entries are seen

	pool      *sql.DB
	conn      *sql.Conn
	stmts     map[string]statement
	listed    bool                   // About was called for several tapes
	parsed    map[string]parsedAbout // by branch, see About
	unsettled map[int64]bool         // numbers of tapes, see settle
	kinds     map[int64]string       // of labels, see kindOf
	labels    map[labelKey]int64     // their numbers, see labelOf
	scratch   string                 // folder for temporary files, if the index is being built
}

// Open opens an existing database file; "" is a new one in memory.
func Open(path string, pragmas ...string) (*DB, error) {
	dsn := ":memory:"
	if path != "" {
		q := url.Values{"mode": {"rw"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", BusyWait.Milliseconds())}}
		for _, p := range pragmas {
			q.Add("_pragma", p)
		}
		dsn = (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
	}
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	d := &DB{pool: pool, stmts: map[string]statement{}, unsettled: map[int64]bool{}, kinds: map[int64]string{}, labels: map[labelKey]int64{}}
	if d.conn, err = pool.Conn(context.Background()); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

// Close closes the database.
func (d *DB) Close() error {
	errs := make([]error, 0, len(d.stmts)+2)
	for _, s := range d.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.conn.Close(), d.pool.Close())...)
}

// Words opens the table of words.
func (d *DB) Words() (*fts5.Index, error) { return fts5.Open(pages{d}) }

// statement is a prepared statement, which stays open as long as the database.
type statement struct{ *sql.Stmt }

// stmt prepares a statement once.
func (d *DB) stmt(query string) (statement, error) {
	if s, ok := d.stmts[query]; ok {
		return s, nil
	}
	prepared, err := d.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return statement{}, err
	}
	d.stmts[query] = statement{prepared}
	return d.stmts[query], nil
}

func (d *DB) exec(query string, args ...any) error {
	s, err := d.stmt(query)
	if err == nil {
		_, err = s.ExecContext(context.Background(), args...)
	}
	return err
}

// Script runs statements that are not prepared.
func (d *DB) Script(text string) error {
	_, err := d.conn.ExecContext(context.Background(), text)
	return err
}

// row reads one row into dest, and reports whether there is one.
func (d *DB) row(query string, args []any, dest ...any) (bool, error) {
	s, err := d.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(context.Background(), args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, unreadable(err)
}

// rows reads each row into dest and calls f.
func (d *DB) rows(query string, args, dest []any, f func() error) (err error) {
	s, err := d.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return unreadable(err)
		}
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Reading runs f in a transaction that sees one state of the index. Most pages are read once, so SQLite keeps few: to reuse
// memory is faster than to get more from the system.
func (d *DB) Reading(f func() error) error { return d.within("PRAGMA cache_size = 128; BEGIN", f) }

func (d *DB) writing(f func() error) error {
	return d.within("PRAGMA cache_size = -2000; BEGIN IMMEDIATE", f)
}

func (d *DB) within(begin string, f func() error) error {
	if err := d.Script(begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = d.Script("COMMIT")
	}
	if err != nil {
		clear(d.kinds) // labels may be gone, and others get their numbers
		clear(d.labels)
		return errors.Join(err, d.Script("ROLLBACK"))
	}
	return nil
}
