package disk

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// deferred holds the paths that an FS still has to sync.
type deferred struct {
	mu          sync.Mutex
	files, dirs map[string]bool
}

// Deferred returns an FS like d that syncs nothing before [FS.SyncAll]. Use it for a folder that
// is built in one place, moved into another, and useless to anybody before it is complete: a
// file that is written three times is then synced once.
func (d *FS) Deferred() *FS {
	if !canSyncLater {
		return d
	}
	out := &FS{later: &deferred{files: map[string]bool{}, dirs: map[string]bool{}}}
	if d != nil {
		out.Fault = d.Fault
	}
	return out
}

// SyncAll syncs what a [FS.Deferred] put off, and skips what was removed since. On any other FS it does
// nothing.
func (d *FS) SyncAll() error {
	if d == nil || d.later == nil {
		return nil
	}
	l := d.later
	l.mu.Lock()
	files, dirs := l.files, l.dirs
	l.files, l.dirs = map[string]bool{}, map[string]bool{}
	l.mu.Unlock()
	return errors.Join(eachOf(files, d.syncFile), eachOf(dirs, d.syncDirNow))
}

// eachOf calls fn for eight paths at a time, so that the disk can sync several together.
func eachOf(paths map[string]bool, fn func(path string) error) error {
	var group errgroup.Group
	group.SetLimit(8)
	for path := range paths {
		group.Go(func() error { return fn(path) })
	}
	return group.Wait()
}

func (d *FS) syncFile(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := d.fault(OpSync, path); err != nil {
		return err
	}
	return f.Sync()
}

func (d *FS) syncDirNow(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.fault(OpSyncDir, path); err != nil {
		return err
	}
	return syncDir(path)
}

// postpone notes a file, or a folder whose names changed, for SyncAll. It returns false if d does not defer.
func (d *FS) postpone(dir bool, path string) bool {
	if d == nil || d.later == nil {
		return false
	}
	d.later.mu.Lock()
	defer d.later.mu.Unlock()
	if dir {
		d.later.dirs[path] = true
	} else {
		d.later.files[path] = true
	}
	return true
}

func (d *FS) renamed(from, to string) {
	if d == nil || d.later == nil {
		return
	}
	l := d.later
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files[from] {
		delete(l.files, from)
		l.files[to] = true
		return
	}
	for _, paths := range []map[string]bool{l.files, l.dirs} {
		for path := range paths {
			if rest, ok := strings.CutPrefix(path, from); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
				delete(paths, path)
				paths[to+rest] = true
			}
		}
	}
}
