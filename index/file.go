package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// openFile opens the index if it is one of this version. Otherwise db stays nil.
func (x *Index) openFile() error {
	path := x.store.IndexFile()
	what, err := look(path)
	if err != nil || what != current {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return nil //nolint:nilerr // it is gone: as if it had never been there
	}
	d, err := openDB(path, writing)
	if err != nil {
		if _, gone := os.Lstat(path); errors.Is(gone, fs.ErrNotExist) {
			return nil // just now, by a build
		}
		return err
	}
	x.db, x.file = d, st
	return nil
}

// isCurrent reports whether the open database is the file that has the name.
func (x *Index) isCurrent() bool {
	if x.db == nil {
		return false
	}
	st, err := os.Stat(x.store.IndexFile())
	return err == nil && os.SameFile(st, x.file)
}

// makeRoom says what is wrong with the file in the index's place. What is not ours is
// kept under another name.
func (x *Index) makeRoom() error {
	path := x.store.IndexFile()
	what, err := look(path)
	switch {
	case err != nil:
		return err
	case what == damaged:
		x.store.Warn("the index was damaged, and is built anew")
	case what == foreign:
		aside := path + ".foreign"
		for n := 2; ; n++ {
			if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
				break
			}
			aside = path + ".foreign-" + strconv.Itoa(n)
		}
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		x.store.Warn(fmt.Sprintf("%s was not made by this program, and is now %s", filepath.Base(path), filepath.Base(aside)))
	}
	return nil
}

// scratchPattern names the files that an index is built in.
const scratchPattern = "index-*.db"

// build makes a new index of tapes. The caller holds the lock.
func (x *Index) build(ctx context.Context, tapes []*target) (int64, error) {
	return x.replaceFile(func(path string) (int64, error) {
		return fillFile(path, func(d *db) (int64, error) { return d.fillNew(ctx, tapes, x.progress) })
	})
}

// manyEntries is how many entries are caught up with in the file that others read. More of
// them would keep readers out for too long, once SQLite has to write before the end.
const manyEntries = 20_000

var errMany = errors.New("too many entries for one transaction")

// extend catches up in a copy of the index. The caller holds the lock.
func (x *Index) extend(ctx context.Context, tapes []*target) (int64, error) {
	return x.replaceFile(func(path string) (int64, error) {
		if err := copyFile(x.store.IndexFile(), path); err != nil {
			return 0, err
		}
		return fillFile(path, func(d *db) (int64, error) { return d.catchUp(ctx, tapes, x.progress) })
	})
}

// replaceFile puts a new index in the place of the old one. Fill makes it, beside that.
func (x *Index) replaceFile(fill func(path string) (int64, error)) (int64, error) {
	dir, err := x.store.ScratchDir()
	if err != nil {
		return 0, err
	}
	if left, err := filepath.Glob(filepath.Join(dir, scratchPattern+"*")); err == nil {
		for _, path := range left { // of builds that were killed
			_ = os.Remove(path)
		}
	}
	f, err := os.CreateTemp(dir, scratchPattern)
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // after the rename there is nothing to remove
	added, err := fill(f.Name())
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close(), x.Close()); err != nil {
		return 0, err
	}
	if err := replace(f.Name(), x.store.IndexFile()); err != nil {
		return 0, err
	}
	return added, x.openFile()
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func fillFile(path string, fill func(*db) (int64, error)) (int64, error) {
	d, err := openDB(path, writing, buildPragmas()...)
	if err != nil {
		return 0, err
	}
	d.scratch = filepath.Dir(path)
	added, err := fill(d)
	return added, errors.Join(err, d.close())
}

// buildPragmas are for a file that nobody else sees, and that is thrown away when
// something goes wrong.
func buildPragmas() []string {
	return []string{"page_size(" + strconv.Itoa(pageSize) + ")", "journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)"}
}

func (d *db) fillNew(ctx context.Context, tapes []*target, progress func(int64)) (int64, error) {
	if _, err := d.conn.ExecContext(d.in, schema()); err != nil {
		return 0, err
	}
	return d.catchUp(ctx, tapes, progress)
}

// replace puts a new index in the place of an old one. The old one goes first, and then
// its journal: that must never be found beside another database.
func replace(from, to string) error {
	for _, old := range []string{to, to + "-journal", to + "-wal", to + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(from, to)
}
