package importer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/internal/sessions/dbcopy"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// walSuffix ends the name of SQLite's write-ahead log, which has the changes that are not in the database file yet.
const walSuffix = "-wal"

// Databases returns the existing databases in which a program keeps sessions. refused says why others are not read: the
// program keeps them in a project's folder, but a link in that folder leads elsewhere. getenv is as for [Discover].
func Databases(f *record.Format, getenv func(string) string) (out []record.DatabaseFile, refused []error) {
	if f.Files.Database == nil {
		return nil, nil
	}
	for _, kept := range f.Files.Database.All(record.Where{Home: getenv("HOME"), Getenv: getenv}) {
		known := func(other record.DatabaseFile) bool { return other.Path == kept.Path }
		switch {
		case !isFile(kept.Path), slices.ContainsFunc(out, known): // a setting may name the usual folder
		case isElsewhere(kept):
			refused = append(refused, layout.Invalid("import the database itself, by its name", "%s is not read: a link leads out of its project, %s", kept.Path, kept.Dir))
		default:
			out = append(out, kept)
		}
	}
	return out, refused
}

// isElsewhere reports whether links lead from a path in a project's folder to another folder.
func isElsewhere(kept record.DatabaseFile) bool {
	inside, err := filepath.Rel(kept.Dir, filepath.Dir(kept.Path))
	if err != nil || !filepath.IsLocal(inside) {
		return false
	}
	project, err := filepath.EvalSymlinks(kept.Dir)
	folder, err2 := filepath.EvalSymlinks(filepath.Dir(kept.Path))
	return err != nil || err2 != nil || folder != filepath.Join(project, inside)
}

// InDatabase is a session in a database.
type InDatabase struct {
	Path            string
	ID, Parent, Dir string    // as in record.KeptSession
	Changed         time.Time // zero if it is not known
}

// Sessions returns the sessions in a database, see [record.Database.Sessions]. f.Files.Database must be set.
func Sessions(ctx context.Context, f *record.Format, path string) (out []InDatabase, err error) {
	db, err := dbcopy.Open(ctx, path, tables(f)...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if f, err = ofTables(ctx, f, db); err != nil {
		return nil, fmt.Errorf("import %s: %w", path, err)
	}
	list, err := f.Files.Database.Sessions(ctx, asking(f, db))
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, f.Title, err)
	}
	for _, s := range list {
		if s.ID == "" || s.ID != filepath.Base(s.ID) {
			continue // it cannot be part of a path
		}
		if elsewhere := f.Files.Database.Elsewhere; elsewhere != nil && elsewhere(path, s.ID) {
			continue
		}
		changed, _ := time.Parse(time.RFC3339, s.Changed) // "" is not a date
		out = append(out, InDatabase{filepath.Join(path, s.ID), s.ID, s.Parent, s.Dir, changed})
	}
	return out, nil
}

// tables returns the tables that may be asked in a database with the name of a format's: [ofTables] may find that it is
// another format's.
func tables(f *record.Format) (out []string) {
	for _, other := range All() {
		if kept := other.Files.Database; kept != nil && kept.File == f.Files.Database.File {
			out = slices.Concat(out, kept.Tables, kept.OrTables, kept.Later)
		}
	}
	return out
}

// asking returns the function with which a format asks a database.
func asking(f *record.Format, db *dbcopy.DB) record.Ask {
	return func(ctx context.Context, question string, args ...any) (out [][]byte, err error) {
		err = db.Ask(ctx, func(names []string, row []any) error {
			o := record.NewObject(512)
			for i, name := range names {
				o.Raw(name, valueOf(row[i], slices.Contains(f.Files.Database.JSON, name)))
			}
			out = append(out, o.Done())
			return nil
		}, question, args...)
		return out, err
	}
}

// valueOf returns a value of a row as JSON. A text that should be JSON, but is not, stays a text.
func valueOf(v any, isJSON bool) []byte {
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	if s, ok := v.(string); ok {
		if isJSON && jsonl.Valid([]byte(s)) == nil {
			return record.Compact([]byte(s))
		}
		return record.Quote(s)
	}
	raw, err := json.Marshal(v)
	if err != nil { // infinity is a number for SQLite, but not for JSON
		return record.Quote(fmt.Sprint(v))
	}
	return raw
}

// DatabaseOf returns the format and the path of a database, given its own path or that of its write-ahead log. For any
// other file, f is nil.
func (l Formats) DatabaseOf(file string) (f *record.Format, path string) {
	path = strings.TrimSuffix(file, walSuffix)
	for _, f := range l.orAll() {
		if f.Files.Database == nil {
			continue
		}
		if ours, _ := filepath.Match(f.Files.Database.File, filepath.Base(path)); ours {
			return f, path
		}
	}
	return nil, ""
}

// ErrOtherProgram says that a database only has the name of an agent's: it has none of that one's tables.
var ErrOtherProgram = fmt.Errorf("%w: another program's database", ErrUnknownFormat)

// ofTables returns the format of a database by its tables: f, or another one whose databases have such a name, too.
func ofTables(ctx context.Context, f *record.Format, db *dbcopy.DB) (*record.Format, error) {
	has := map[string]bool{}
	err := db.Ask(ctx, func(_ []string, row []any) error {
		has[fmt.Sprint(row[0])] = true
		return nil
	}, `SELECT name FROM sqlite_schema WHERE type = 'table'`)
	if err != nil {
		return nil, err
	}
	lacks := func(name string) bool { return !has[name] }
	err = ErrOtherProgram
	for _, other := range All() {
		kept := other.Files.Database
		if kept == nil || kept.File != f.Files.Database.File {
			continue
		}
		if !slices.ContainsFunc(kept.Tables, lacks) || kept.OrTables != nil && !slices.ContainsFunc(kept.OrTables, lacks) {
			return other, nil
		}
		if slices.ContainsFunc(kept.Tables, func(name string) bool { return has[name] }) {
			err = ErrUnknownFormat
		}
	}
	return nil, err
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
func (c *databaseCopy) open(ctx context.Context, f *record.Format, path string) (*dbcopy.DB, error) {
	if c.db != nil && c.path == path && c.db.Fresh(path) {
		return c.db, nil
	}
	c.close()
	db, err := dbcopy.Open(ctx, path, tables(f)...)
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
	db, err := copied.open(ctx, f, name)
	if err != nil {
		return src, nil, true, err
	}
	if f, err = ofTables(ctx, f, db); err != nil {
		return src, nil, true, fmt.Errorf("import %s: %w", name, err)
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return src, nil, true, err
	}
	text, w := io.Pipe()
	written := make(chan struct{})
	go func() {
		_ = w.CloseWithError(f.Files.Database.Write(ctx, asking(f, db), abs, id, w)) // it never fails
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
