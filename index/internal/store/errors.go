package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tape/index/internal/fts5"
)

// ErrStrange says that the index contradicts the tape, or itself.
var ErrStrange = errors.New("the index does not fit the tape")

// ErrMany says that there is more to take up than DB.Most.
var ErrMany = errors.New("too many entries for one transaction")

// BusyWait is how long a statement waits for another process's transaction.
const BusyWait = 10 * time.Second

// IsDamage reports whether an error says that the database is not what it was.
func IsDamage(err error) bool {
	if errors.Is(err, fts5.ErrDamaged) || errors.Is(err, ErrStrange) {
		return true
	}
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT:
		return true
	}
	return false
}

// IsUnwritable reports whether an error says that nothing can be written here.
func IsUnwritable(err error) bool {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) {
		return true
	}
	switch code(err) {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR:
		return true
	}
	return false
}

// IsBusy reports whether another process has the database for too long.
func IsBusy(err error) bool {
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

// unreadable tells a value that is not of its column's type, which only damage can be.
func unreadable(err error) error {
	if err == nil || code(err) != 0 {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStrange, err)
}
