// Package dbcopy reads SQLite databases of other programs, which may be writing to them, and which anybody may have made.
//
// Even to read a database, SQLite creates files beside it and takes locks, for which the other program would wait. So a
// copy is read, and the original is only opened as a file. It has to be a plain file in its place: a link could lead to
// another project's database. Its size is limited, and so are the time and the memory of each question. Its views,
// triggers and virtual tables never run: questions are asked of plain tables only.
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
	db    *sql.DB
	conn  *sql.Conn // the only one, because its limits are its own
	path  string    // of the original
	dir   string
	stamp string
	slow  bool // a question took too long: there are no more
}

// tries is how often a copy is tried if the database changes meanwhile.
const tries = 20

// Open copies a database to a temporary folder and opens the copy. Close it, which removes the folder. tables are
// those that will be asked; each that exists has to be a plain table.
//
// It returns ErrNotFound if there is no file, ErrBusy if the database changes all the time, and ErrInvalid if the file is
// damaged, too large, not an SQLite database or not a plain file, or if a table is not a plain one.
func Open(ctx context.Context, path string, tables ...string) (d *DB, err error) {
	dir, err := os.MkdirTemp("", "tape-db-*")
	if err != nil {
		return nil, err
	}
	d = &DB{path: path, dir: dir}
	defer func() {
		if err != nil {
			_ = d.Close() // the error says more
		}
	}()
	copied := filepath.Join(dir, "copy.db")
	if d.stamp, err = consistent(ctx, path, copied); err != nil {
		return d, err
	}
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(copied), RawQuery: options}
	if d.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return d, err
	}
	if err := d.connect(ctx); err != nil {
		return d, err
	}
	for _, table := range tables {
		if err := d.checkTable(ctx, table); err != nil {
			return d, err
		}
	}
	return d, nil
}

// Close removes the copy.
func (d *DB) Close() error {
	var err error
	if d.conn != nil {
		err = d.conn.Close()
	}
	if d.db != nil {
		err = errors.Join(err, d.db.Close())
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
		st, err := plain(name)
		if err != nil {
			return "", last, err
		}
		if st == nil && name == path {
			return "", last, layout.NotFound("", "there is no file %s", path)
		}
		if st == nil {
			stamp += "- "
			continue
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
		if err := checkSize(from); err != nil {
			return "", err
		}
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
	if st, err := plain(path + journal); err != nil || st != nil && st.Size() > 0 {
		return nil, err
	}
	out := []byte("db")
	for _, part := range []struct {
		name string
		size int64
	}{{path, header}, {path + wal, logHeader}} {
		f, err := open(part.name)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		head, err := io.ReadAll(io.LimitReader(f, part.size))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if part.name == path && len(head) > 0 && !bytes.HasPrefix(head, []byte(magic)) {
			return nil, notDatabase(path, nil)
		}
		out = append(append(out, head...), byte(len(head)))
	}
	return out, nil
}

// magic is how a database begins. An empty file is a database, too.
const magic = "SQLite format 3\x00"

// notDatabase returns the error for a file that SQLite cannot read.
func notDatabase(path string, cause error) error {
	return &layout.Error{Class: layout.ErrInvalid, Msg: path + " is damaged, or not an SQLite database", Cause: cause}
}

// copyFile copies a file. If there is none, it removes an earlier copy.
func copyFile(from, to string) (err error) {
	in, err := open(from)
	if err != nil {
		return err
	}
	if in == nil {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxSize+1)) // it may have grown
	return errors.Join(err, out.Close())
}
