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

// openCurrent opens the index by its name, if it is of this version; else db is nil.
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
		state, err := x.as.Look(path)
		if err != nil || state != store.Fresh {
			return err
		}
		if st, err = os.Stat(path); err != nil {
			return nil //nolint:nilerr // it is gone: as if it had never been there
		}
		d, err := store.Open(path)
		if err == nil {
			d.As = x.as
			x.db, x.file = d, st
			return nil
		}
		// Just now, a build may have taken it away, and put another one in its place.
		if now, statErr := os.Stat(path); statErr == nil && os.SameFile(now, st) {
			return err
		}
	}
}

// makeRoom says what is wrong with the file; what is not ours is kept under another name.
func (x *Index) makeRoom() error {
	path := x.path
	state, err := x.as.Look(path)
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

// manyEntries is how many entries are caught up with in the file that others read. More of
// them would keep readers out for too long, once SQLite has to write before the end.
const manyEntries = 20_000

// build makes a new index of tapes, or with extend a copy of the old one that has
// everything of them. The caller holds the lock.
func (x *Index) build(ctx context.Context, tapes []*store.Target, extend bool) (int64, error) {
	dir, err := (*workspace.Store)(x.store).ScratchDir()
	if err = errors.Join(err, (*workspace.Store)(x.store).Exclude(), x.Close()); err != nil {
		return 0, err
	}
	added, err := x.as.Build(ctx, x.path, dir, extend, tapes, x.progress)
	if err != nil {
		return 0, err
	}
	return added, x.openCurrent()
}
