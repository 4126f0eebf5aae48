package dbcopy

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/store/layout"
)

// TestPlainFiles: a database, its log or its journal that is not a plain file in its place is refused, before anything
// is copied.
func TestPlainFiles(t *testing.T) {
	_, secret := create(t, "wal")
	for what, make := range map[string]func(path string) error{
		"a link":                 func(path string) error { return os.Symlink(secret, path) },
		"a link to nothing":      func(path string) error { return os.Symlink(secret+".none", path) },
		"a hard link":            func(path string) error { return os.Link(secret, path) },
		"a log that is a link":   func(path string) error { return errors.Join(empty(path), os.Symlink(secret+wal, path+wal)) },
		"a journal is a link":    func(path string) error { return errors.Join(empty(path), os.Symlink(secret, path+journal)) },
		"a folder":               func(path string) error { return os.Mkdir(path, 0o700) },
		"a log that is a folder": func(path string) error { return errors.Join(empty(path), os.Mkdir(path+wal, 0o700)) },
		"a file of 5 GiB":        func(path string) error { return errors.Join(empty(path), os.Truncate(path, 5<<30)) },
		"a log of 5 GiB": func(path string) error {
			return errors.Join(empty(path), empty(path+wal), os.Truncate(path+wal, 5<<30))
		},
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.db")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), path, "pairs"); !errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want ErrInvalid with the path", err)
			}
			if _, _, err := Stamp(path); err == nil && !strings.HasSuffix(what, "GiB") {
				t.Error("it has a stamp")
			}
		})
	}
}

func empty(path string) error { return os.WriteFile(path, nil, 0o600) }

// forever is a statement that counts and never has a row.
const forever = `WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a, a AS b FROM c WHERE a < 0`

// hostile returns a database that was made by statements.
func hostile(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoPrograms: what a database's maker wrote as a statement never runs; the refusal says where it is.
func TestNoPrograms(t *testing.T) {
	tables := []string{"sessions", "messages"}
	for what, c := range map[string]struct {
		statements []string
		want       string // in the error; "" for none
	}{
		"a view that counts for ever": {[]string{"CREATE VIEW sessions AS " + forever}, `"sessions" in it is a view`},
		"a view of other case":        {[]string{"CREATE VIEW Messages AS " + forever}, `"messages" in it is a view`},
		"a virtual table":             {[]string{"CREATE VIRTUAL TABLE messages USING fts5(a)"}, `is a virtual table`},
		"a computed column":           {[]string{"CREATE TABLE sessions (id TEXT, title TEXT AS (hex(zeroblob(30000000))))"}, `column "title" in table "sessions" are computed`},
		"a stored one":                {[]string{"CREATE TABLE sessions (id TEXT, title TEXT AS (upper(id)) STORED)"}, `are computed`},
		"a trigger on a plain table":  {[]string{"CREATE TABLE sessions (id TEXT)", "CREATE TABLE t (a)", "CREATE TRIGGER g AFTER INSERT ON sessions BEGIN DELETE FROM t; END"}, ""},
		"a view beside":               {[]string{"CREATE TABLE sessions (id TEXT)", "CREATE VIEW other AS " + forever}, ""},
		"a type that lies": {[]string{"CREATE TABLE sessions (id TEXT)", "PRAGMA writable_schema=ON",
			"UPDATE sqlite_schema SET rootpage = 0, sql = 'CREATE VIEW sessions AS " + forever + "'"}, "damaged"},
		"a name that lies": {[]string{"CREATE TABLE sessions (id TEXT)", "CREATE VIEW v AS SELECT 1", "PRAGMA writable_schema=ON",
			"UPDATE sqlite_schema SET sql = replace(sql, 'sessions', 'x')", "UPDATE sqlite_schema SET sql = 'CREATE VIEW sessions AS " + forever + "' WHERE name = 'v'"}, "damaged"},
	} {
		t.Run(what, func(t *testing.T) {
			d, err := Open(t.Context(), hostile(t, c.statements...), tables...)
			if err == nil {
				defer d.Close()
			}
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (!errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want ErrInvalid with %q", err, c.want)
			}
		})
	}
}

// TestHugeSchema: time is over also while a schema is read that has very many tables.
func TestHugeSchema(t *testing.T) {
	path := hostile(t, "CREATE TABLE sessions (id TEXT)", "PRAGMA synchronous=OFF", "PRAGMA writable_schema=ON", `WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c WHERE a < 60000)
		INSERT INTO sqlite_schema SELECT 'table', 'x' || a, 'x' || a, 2, 'CREATE TABLE x' || a || ' (a, b, c)' FROM c`)
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	if _, err := Open(ctx, path, "sessions"); !errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("error %v, want ErrInvalid for its time", err)
	}
}

// TestLimits: a question that never ends does when its time is over, and so do all after it. Values and answers that are
// too large are refused.
func TestLimits(t *testing.T) {
	path := hostile(t, "CREATE TABLE big (a BLOB)", "INSERT INTO big VALUES (zeroblob(70000000))", "CREATE TABLE many (a BLOB)", "INSERT INTO many VALUES (zeroblob(40000000))")
	d, err := Open(t.Context(), path, "big", "many")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.conn.ExecContext(t.Context(), "PRAGMA temp.max_page_count = 20000"); err != nil {
		t.Fatal(err)
	}
	ignore := func([]string, []any) error { return nil }
	for _, c := range []struct{ question, want string }{
		{"SELECT a FROM big", "a value of more than"},
		{"SELECT m.a FROM many m, (WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a FROM c)", "too much"},
	} {
		if err := d.Ask(t.Context(), ignore, c.question); !errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want ErrInvalid with %q", c.question, err, c.want)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	for _, question := range []string{"SELECT 1 UNION ALL SELECT a FROM (" + forever + ")", "SELECT 1"} {
		if err := d.Ask(ctx, ignore, question); !errors.Is(err, layout.ErrInvalid) || !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("%s: error %v, want ErrInvalid for its time", question, err)
		}
	}
}
