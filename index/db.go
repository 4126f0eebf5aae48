package index

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tape/index/internal/fts5"
)

// db is one open database with the statements that were prepared on it.
type db struct {
	pool  *sql.DB
	conn  *sql.Conn
	stmts map[string]statement
	in    context.Context // for statements: a cancelled one would leave nothing to roll back with

	path    string // of a scratch file
	most    int64  // entries that one transaction may take up, 0: any number
	scratch string // folder for files on the way, of an index that is being built
}

// How a database is opened.
type mode string

const (
	writing  mode = "rw"
	creating mode = "rwc"
)

// busyWait is how long a statement waits for another process's transaction, in ms.
const busyWait = 10_000

// openDB opens a database file; "" is one in memory.
func openDB(path string, m mode, pragmas ...string) (*db, error) {
	dsn := ":memory:"
	if path != "" {
		q := url.Values{"mode": {string(m)}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyWait)}}
		for _, p := range pragmas {
			q.Add("_pragma", p)
		}
		dsn = (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}).String()
	}
	pool, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	d := &db{pool: pool, stmts: map[string]statement{}, in: context.Background()}
	if d.conn, err = pool.Conn(d.in); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return d, nil
}

func (d *db) close() error {
	errs := make([]error, 0, len(d.stmts)+2)
	for _, s := range d.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, d.conn.Close(), d.pool.Close())...)
}

// statement is open as long as its database.
type statement struct{ *sql.Stmt }

// stmt prepares a statement once.
func (d *db) stmt(query string) (statement, error) {
	if s, ok := d.stmts[query]; ok {
		return s, nil
	}
	prepared, err := d.conn.PrepareContext(d.in, query)
	if err != nil {
		return statement{}, err
	}
	d.stmts[query] = statement{prepared}
	return d.stmts[query], nil
}

func (d *db) exec(query string, args ...any) error {
	s, err := d.stmt(query)
	if err != nil {
		return err
	}
	_, err = s.ExecContext(d.in, args...)
	return err
}

// row reads one row into dest, and reports whether there is one.
func (d *db) row(query string, args []any, dest ...any) (bool, error) {
	s, err := d.stmt(query)
	if err != nil {
		return false, err
	}
	err = s.QueryRowContext(d.in, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, unreadable(err)
}

// unreadable tells a value that is not of its column's type, which only damage can be.
func unreadable(err error) error {
	if err == nil || code(err) != 0 {
		return err
	}
	return fmt.Errorf("%w: %w", errStrange, err)
}

// rows calls f for every row; scan reads it.
func (d *db) rows(query string, args []any, f func(scan func(dest ...any) error) error) (err error) {
	s, err := d.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(d.in, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		scan := func(dest ...any) error { return unreadable(rows.Scan(dest...)) }
		if err := f(scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// within runs f in a transaction. Begin says which kind.
func (d *db) within(begin string, f func() error) error {
	if _, err := d.conn.ExecContext(d.in, begin); err != nil {
		return err
	}
	if err := f(); err != nil {
		_, back := d.conn.ExecContext(d.in, "ROLLBACK")
		return errors.Join(err, back)
	}
	if _, err := d.conn.ExecContext(d.in, "COMMIT"); err != nil {
		_, back := d.conn.ExecContext(d.in, "ROLLBACK")
		return errors.Join(err, back)
	}
	return nil
}

// What a file at the index's place is.
type found int

const (
	absent  found = iota
	current       // an index of this version
	outdated
	damaged
	foreign // somebody else's
)

// look tells by the header, without opening a database, what a file is. SQLite's file
// format has its magic at 0, user_version at 60 and application_id at 68.
func look(path string) (found, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return absent, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return foreign, err
	}
	var head [100]byte
	n, err := io.ReadFull(f, head[:])
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return damaged, nil // an empty file is nobody's
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return absent, err
	case string(head[:16]) != "SQLite format 3\x00" || binary.BigEndian.Uint32(head[68:]) != applicationID:
		return foreign, nil
	case binary.BigEndian.Uint32(head[60:]) != schemaVersion:
		return outdated, nil
	}
	return current, nil
}

// isDamage reports whether an error says that the database is not what it was.
func isDamage(err error) bool {
	if errors.Is(err, fts5.ErrDamaged) || errors.Is(err, errStrange) {
		return true
	}
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT:
		return true
	}
	return false
}

// errStrange says that the index contradicts the tape, or itself.
var errStrange = errors.New("the index does not fit the tape")

// isUnwritable reports whether an error says that nothing can be written here.
func isUnwritable(err error) bool {
	if errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err) {
		return true
	}
	switch code(err) {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

func isBusy(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// code is SQLite's primary result code, 0 for other errors.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
