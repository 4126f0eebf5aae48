package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"tape/internal/store/workspace"

	"tape/index/internal/store"
)

// openCurrent opens the index file if it is an index of this version; otherwise x.db is nil.
func (x *Index) openCurrent() error {
	path := x.path
	st, err := os.Stat(path)
	if x.db != nil && err == nil && os.SameFile(st, x.file) {
		return nil
	}
	if err := x.Close(); err != nil {
		return err
	}
	for {
		state, err := x.view.StateOf(path)
		if err != nil || state != store.Fresh {
			return err
		}
		if st, err = os.Stat(path); err != nil {
			return nil //nolint:nilerr // it was just removed
		}
		d, err := store.Open(path)
		if err == nil {
			d.View = x.view
			x.db, x.file = d, st
			return nil
		}
		// If a build has just replaced the file, try again.
		if now, statErr := os.Stat(path); statErr == nil && os.SameFile(now, st) {
			return err
		}
	}
}

// setAside warns if the index file is damaged or not made by tape, and renames it in the latter case.
func (x *Index) setAside() error {
	path := x.path
	state, err := x.view.StateOf(path)
	switch {
	case err != nil:
		return err
	case state == store.Damaged:
		(*workspace.Store)(x.store).Warn("the index was damaged, and is rebuilt")
	case state == store.Foreign:
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
		(*workspace.Store)(x.store).Warn(fmt.Sprintf("%s was not made by tape; it was renamed to %s", filepath.Base(path), filepath.Base(aside)))
	}
	return nil
}

// manyEntries limits how many entries are added in place, to the file that other processes read. With more,
// SQLite would write before the end of the transaction, and keep readers out for too long.
const manyEntries = 20_000

// build makes a new index of tapes, and returns how many entries it added. With extend, it adds missing
// entries to a copy of the old index. The caller holds the lock.
func (x *Index) build(ctx context.Context, tapes []*store.Target, extend bool) (int64, error) {
	dir, err := (*workspace.Store)(x.store).ScratchDir()
	if err = errors.Join(err, (*workspace.Store)(x.store).Exclude(), x.Close()); err != nil {
		return 0, err
	}
	added, err := x.view.Build(ctx, x.path, dir, extend, tapes, x.progress)
	if err != nil {
		return 0, err
	}
	return added, x.openCurrent()
}
