// Package dbcopy reads SQLite databases of other programs, which may be writing to them.
//
// Even to read a database, SQLite creates files beside it and takes locks, for which the other program would wait. So a
// copy is read, and the original is only opened as a file.
package dbcopy

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"tape/internal/store/layout"
)

// The ends of the names of files beside a database: the write-ahead log, and the rollback journal.
const (
	wal     = "-wal"
	journal = "-journal"
)

// DB is a copy of a database.
type DB struct {
	*sql.DB
	dir   string
	stamp string
}

// tries is how often a copy is tried if the database changes meanwhile.
const tries = 20

// Open copies a database to a temporary folder and opens the copy. Close it, which removes the folder.
//
// It returns ErrNotFound if there is no file, ErrBusy if the database changes all the time, and ErrInvalid if the file is
// damaged or not an SQLite database.
func Open(ctx context.Context, path string) (d *DB, err error) {
	dir, err := os.MkdirTemp("", "tape-db-*")
	if err != nil {
		return nil, err
	}
	d = &DB{dir: dir}
	defer func() {
		if err != nil {
			_ = d.Close() // the error says more
		}
	}()
	copied := filepath.Join(dir, "copy.db")
	if d.stamp, err = consistent(ctx, path, copied); err != nil {
		return d, err
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(copied)}
	if d.DB, err = sql.Open("sqlite", dsn.String()); err != nil {
		return d, err
	}
	d.SetMaxOpenConns(1)
	var tables int
	err = d.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables)
	if err != nil && ctx.Err() == nil {
		err = &layout.Error{Class: layout.ErrInvalid, Msg: path + " is damaged, or not an SQLite database", Cause: err}
	}
	return d, err
}

// Close removes the copy.
func (d *DB) Close() error {
	var err error
	if d.DB != nil {
		err = d.DB.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Fresh reports whether the original is as it was when it was copied.
func (d *DB) Fresh(path string) bool {
	stamp, _, err := Stamp(path)
	return err == nil && stamp == d.stamp
}

// Stamp returns a text that changes with each change of a database, and the time of the last change.
func Stamp(path string) (stamp string, last time.Time, err error) {
	for _, name := range []string{path, path + wal, path + journal} {
		st, err := os.Stat(name)
		if name != path && errors.Is(err, fs.ErrNotExist) {
			stamp += "- "
			continue
		}
		if err != nil {
			return "", last, err
		}
		stamp += fmt.Sprintf("%d %d ", st.Size(), st.ModTime().UnixNano())
		if st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return stamp, last, nil
}

// consistent copies a database and its log. Frames that are appended to the log meanwhile do no harm: SQLite ignores
// incomplete ones. A checkpoint may move frames to the database meanwhile; they stay in the log until it is restarted,
// which its header shows.
func consistent(ctx context.Context, from, to string) (stamp string, err error) {
	for range tries {
		before, err := state(from)
		if err != nil {
			return "", err
		}
		if stamp, _, err = Stamp(from); err != nil {
			return "", err
		}
		if err := errors.Join(copyFile(from, to), copyFile(from+wal, to+wal)); err != nil {
			return "", err
		}
		after, err := state(from)
		if err != nil {
			return "", err
		}
		if before != nil && bytes.Equal(before, after) {
			return stamp, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return "", &layout.Error{Class: layout.ErrBusy, Msg: from + " is written to all the time; try again later"}
}

// The sizes of the headers of a database and of its log, in bytes.
const (
	header    = 100
	logHeader = 32
)

// state returns the headers of a database and of its log. If they change, copies of the two files may not fit together.
// Without a log, each transaction changes a counter in the database's header. state is nil while such a transaction goes
// on.
func state(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, layout.NotFound("", "there is no file %s", path)
	case err != nil:
		return nil, err
	case !st.Mode().IsRegular():
		return nil, layout.Invalid("", "%s is not a file", path)
	}
	if st, err := os.Stat(path + journal); err == nil && st.Size() > 0 {
		return nil, nil
	}
	out := []byte("db")
	for _, part := range []struct {
		name string
		size int64
	}{{path, header}, {path + wal, logHeader}} {
		f, err := os.Open(part.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		head, err := io.ReadAll(io.LimitReader(f, part.size))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out = append(append(out, head...), byte(len(head)))
	}
	return out, nil
}

// copyFile copies a file. If there is none, it removes an earlier copy.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
