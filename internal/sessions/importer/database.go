package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/sessions/dbcopy"
	"tape/internal/sessions/importer/record"
)

// walSuffix ends the name of SQLite's write-ahead log, which has the changes that are not in the database file yet.
const walSuffix = "-wal"

// Databases returns the existing databases in which a program keeps sessions. getenv is as for [Discover].
func Databases(f *record.Format, getenv func(string) string) (out []record.DatabaseFile) {
	if f.Files.Database == nil {
		return nil
	}
	for _, kept := range f.Files.Database.All(record.Where{Home: getenv("HOME"), Getenv: getenv}) {
		if st, err := os.Stat(kept.Path); err == nil && st.Mode().IsRegular() {
			out = append(out, kept)
		}
	}
	return out
}

// InDatabase is a session in a database.
type InDatabase struct {
	Path    string
	Changed time.Time // zero if it is not known
}

// Sessions returns the sessions in a database, without those of subagents, which are parts of others. f.Files.Database
// must be set.
func Sessions(ctx context.Context, f *record.Format, path string) (out []InDatabase, err error) {
	db, err := dbcopy.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	list, err := f.Files.Database.Sessions(ctx, db.DB)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, f.Title, err)
	}
	for _, s := range list {
		if s.ID == "" || s.ID != filepath.Base(s.ID) {
			continue // it cannot be part of a path
		}
		changed, _ := time.Parse(time.RFC3339, s.Changed) // "" is not a date
		out = append(out, InDatabase{Path: filepath.Join(path, s.ID), Changed: changed})
	}
	return out, nil
}

// DatabaseOf returns the format and the path of a database, given its own path or that of its write-ahead log. For any
// other file, f is nil.
func (l Formats) DatabaseOf(file string) (f *record.Format, path string) {
	path = strings.TrimSuffix(file, walSuffix)
	for _, f := range l.orAll() {
		if f.Files.Database != nil && filepath.Base(path) == f.Files.Database.File {
			return f, path
		}
	}
	return nil, ""
}

// inDatabase splits the path of a session in a database into the database and the session's id. For any other path, f
// is nil.
func (l Formats) inDatabase(path string) (f *record.Format, db, id string) {
	if f, db = l.DatabaseOf(filepath.Dir(path)); f == nil {
		return nil, "", ""
	}
	return f, db, filepath.Base(path)
}

// databaseSessions returns the sessions of the database that a path names, or the one session that it names. ok is
// false if the path names neither.
func (l Formats) databaseSessions(ctx context.Context, path string) (out []File, ok bool, err error) {
	if f, db, _ := l.inDatabase(path); f != nil && isFile(db) {
		return []File{{Name: path}}, true, nil
	}
	f, db := l.DatabaseOf(path)
	if f == nil || db != path || !isFile(db) {
		return nil, false, nil
	}
	list, err := Sessions(ctx, f, db)
	for _, s := range list {
		out = append(out, File{Name: s.Path})
	}
	return out, true, err
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// Stat returns the size of a transcript in bytes, and when it was last written to. For a session in a database, last
// is when the database was written to, and size is a number that changes with it.
func Stat(path string) (size int64, last time.Time, err error) {
	f, db, _ := Formats(nil).inDatabase(path)
	if f == nil || !isFile(db) {
		st, err := os.Stat(path)
		if err != nil {
			return 0, last, err
		}
		return st.Size(), st.ModTime(), nil
	}
	if _, last, err = dbcopy.Stamp(db); err != nil {
		return 0, last, err
	}
	return last.UnixNano(), last, nil
}

// databaseCopy keeps the copy of the database that was opened last.
type databaseCopy struct {
	path string
	db   *dbcopy.DB
}

// open returns a copy of a database: the last one, if it is of this database, which has not changed since.
func (c *databaseCopy) open(ctx context.Context, path string) (*dbcopy.DB, error) {
	if c.db != nil && c.path == path && c.db.Fresh(path) {
		return c.db, nil
	}
	c.close()
	db, err := dbcopy.Open(ctx, path)
	if err == nil {
		c.path, c.db = path, db
	}
	return db, err
}

// close removes the copy. An error is ignored, because the copy is in a temporary folder.
func (c *databaseCopy) close() {
	if c.db != nil {
		_ = c.db.Close()
		c.db = nil
	}
}

// openSession opens a session in a database. ok is false if the path does not name one. copied keeps the database's
// copy for the next call; if it is nil, the copy is not kept.
func openSession(path string, copied *databaseCopy) (src record.Source, closer io.Closer, ok bool, err error) {
	f, name, id := Formats(nil).inDatabase(path)
	if f == nil || !isFile(name) {
		return src, nil, false, nil
	}
	if copied == nil {
		copied = &databaseCopy{}
		defer copied.close()
	}
	ctx := context.Background()
	db, err := copied.open(ctx, name)
	if err != nil {
		return src, nil, true, err
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return src, nil, true, err
	}
	text, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		_ = w.CloseWithError(f.Files.Database.Write(ctx, db.DB, abs, id, w)) // it never fails
		close(written)
	}()
	src, closer, err = temporary(path, text)
	_ = text.Close() // it never fails
	<-written
	if err != nil {
		err = fmt.Errorf("read %s of %s: %w", name, f.Title, err)
	}
	return src, closer, true, err
}
