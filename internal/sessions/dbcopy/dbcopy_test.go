package dbcopy

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"tape/internal/store/layout"
)

// create makes a database with a journal mode, and returns it and its path.
func create(t *testing.T, mode string) (*sql.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")&_pragma=wal_autocheckpoint(3)&_pragma=busy_timeout(10000)")
	if err == nil {
		_, err = db.Exec(`CREATE TABLE pairs (a INTEGER, b TEXT)`)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db, path
}

// TestWhileWritten: a copy is consistent while another program writes to the database, moves the log into it and
// restarts the log.
func TestWhileWritten(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		t.Run(mode, func(t *testing.T) {
			db, path := create(t, mode)
			ctx, stop := context.WithCancel(t.Context())
			var writing sync.WaitGroup
			writing.Go(func() {
				for ctx.Err() == nil {
					if _, err := db.Exec(`INSERT INTO pairs VALUES (1, hex(randomblob(500))), (-1, hex(randomblob(500)))`); err != nil {
						t.Error(err)
						return
					}
				}
			})
			defer writing.Wait()
			defer stop()
			for range 5 {
				d, err := Open(t.Context(), path)
				if errors.Is(err, layout.ErrBusy) {
					continue // better no copy than an inconsistent one
				}
				if err != nil {
					t.Fatal(err)
				}
				var sum int
				err = d.conn.QueryRowContext(t.Context(), `SELECT COALESCE(SUM(a), 0) FROM pairs`).Scan(&sum)
				if err != nil || sum != 0 || d.Close() != nil {
					t.Fatalf("the copy has half of a transaction: the sum is %d, want 0; %v", sum, err)
				}
			}
		})
	}
}

// TestCloses: nothing is left in the temporary folder, not even after an error. Fresh notices a change.
func TestCloses(t *testing.T) {
	db, path := create(t, "wal")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	d, err := Open(t.Context(), path)
	if err != nil || !d.Fresh(path) {
		t.Fatal("an unchanged database is not fresh:", err)
	}
	if _, err := db.Exec(`INSERT INTO pairs VALUES (0, '')`); err != nil || d.Fresh(path) {
		t.Error("a changed database is fresh:", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	broken := filepath.Join(t.TempDir(), "b.db")
	if err := os.WriteFile(broken, []byte("no database, but a text that is long enough to be taken for one, perhaps, by somebody who only counts."), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), broken); !errors.Is(err, layout.ErrInvalid) {
		t.Errorf("a damaged file: error %v, want ErrInvalid", err)
	}
	if _, err := Open(t.Context(), filepath.Join(tmp, "none.db")); !errors.Is(err, layout.ErrNotFound) {
		t.Errorf("a missing file: error %v, want ErrNotFound", err)
	}
	if list, err := os.ReadDir(tmp); err != nil || len(list) > 0 {
		t.Errorf("the temporary folder still has %v, %v", list, err)
	}
}
