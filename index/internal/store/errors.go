package store

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"tape/index/internal/fts5"
	"tape/internal/store/layout"
)

// ErrInconsistent means that the index contradicts the tape, or itself.
var ErrInconsistent = errors.New("the index contradicts the tape")

// ErrTooMany means that there is more to add than DB.Most.
var ErrTooMany = errors.New("too many entries for one transaction")

// BusyWait is how long a statement waits for another process's transaction.
const BusyWait = 10 * time.Second

// IsDamage reports whether an error means that the database is damaged.
func IsDamage(err error) bool {
	return errors.Is(err, fts5.ErrDamaged) || errors.Is(err, ErrInconsistent) || hasCode(err, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB,
		sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_FORMAT)
}

// IsUnwritable reports whether an error means that nothing can be written here.
func IsUnwritable(err error) bool {
	return layout.Unwritable(err) || errors.Is(err, syscall.ENOSPC) || hasCode(err,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
}

// IsBusy reports whether another process has locked the database for too long.
func IsBusy(err error) bool { return hasCode(err, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) }

// hasCode reports whether an error is SQLite's, with one of the primary result codes if any are given.
func hasCode(err error, codes ...int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (len(codes) == 0 || slices.Contains(codes, e.Code()&0xff))
}

// unreadable marks values that do not have their column's type, which only damage can cause.
func unreadable(err error) error {
	if err == nil || hasCode(err) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrInconsistent, err)
}
