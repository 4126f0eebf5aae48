package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Unsynced returns an FS like d that syncs nothing. Use it for a folder that is built in one place, moved into
// another, and useless to anybody before it is complete: [FS.SyncTree] syncs it then. On Windows it is d.
func (d *FS) Unsynced() *FS {
	if !canSyncLater {
		return d
	}
	out := &FS{unsynced: true}
	if d != nil {
		out.Fault = d.Fault
	}
	return out
}

// SyncTree syncs all files and folders in a folder, eight at a time, so that the disk can sync several together.
func (d *FS) SyncTree(dir string) error {
	if !canSyncLater {
		return nil
	}
	var group errgroup.Group
	group.SetLimit(8)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			group.Go(func() error { return d.SyncDir(path) })
		case e.Type().IsRegular():
			group.Go(func() error { return d.syncFile(path) })
		}
		return nil
	})
	return errors.Join(err, group.Wait())
}

func (d *FS) syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := d.fault(OpSync, path); err != nil {
		return errors.Join(err, f.Close())
	}
	return errors.Join(f.Sync(), f.Close())
}
