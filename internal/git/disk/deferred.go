package disk

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// deferred is what an FS has not made durable yet.
type deferred struct {
	mu          sync.Mutex
	files, dirs map[string]bool
}

// Deferred returns an FS that works as d does, and makes nothing durable before
// [FS.SyncAll]: for a folder that is made beside its place, and is of no use to anybody
// before it is whole. Then a file that is written three times is synced once.
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

// SyncAll makes durable what was put off; for other FSs than those of [FS.Deferred] it has
// nothing to do. What is there no more is passed over.
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

// eachOf calls fn for a few paths at a time: several can go to the disk together.
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

// put notes a file, or a folder with changed names; false if it has to be synced now.
func (d *FS) put(dir bool, path string) bool {
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

func (d *FS) moved(from, to string) {
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
