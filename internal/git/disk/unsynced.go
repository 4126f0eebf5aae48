package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// Unsynced returns an FS like d that syncs nothing. Use it to build a folder that nobody looks at before it is
// complete; sync the folder with [FS.SyncTree] before it is moved into its place. On Windows Unsynced returns d.
func (d *FS) Unsynced() *FS {
	if !canSyncLater {
		return d
	}
	out := &FS{unsynced: true}
	if d != nil {
		out.Fault, out.shared = d.Fault, d.shared
	}
	return out
}

// SyncTree syncs a folder and all files and folders in it, eight at a time, so that the disk can sync several together.
// On Windows it does nothing.
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
