package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// ErrLocked says that somebody else holds a lock and did not release it in time.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive lock on a file. The operating system drops it when the process ends,
// however it ends; the file itself stays, unless its holder calls [Lock.Remove].
type Lock struct {
	File *File
}

// Lock takes the exclusive lock on path, and creates the file if it is missing. It waits at most
// wait for another process, or another holder in this one. Errors: ErrLocked when the time is
// up, the context's error when cancelled.
func (d *FS) Lock(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(wait)
	for {
		f, err := d.openLock(path)
		if err != nil {
			return nil, err
		}
		ok, err := tryLock(f.File)
		if err == nil && !ok {
			err = waitLock(ctx, f.File, deadline)
		}
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if isAt(f.File, path) {
			return &Lock{File: f}, nil
		}
		_ = f.Close() // the holder removed the file while we waited
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// openLock opens a lock file. If it is new, its name is made durable: the file may get a record
// that has to survive.
func (d *FS) openLock(path string) (*File, error) {
	f, err := d.OpenFile(path, os.O_RDWR, FilePerm)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if f, err = d.OpenFile(path, os.O_RDWR|os.O_CREATE, FilePerm); err != nil {
		return nil, err
	}
	if err := d.SyncDir(filepath.Dir(path)); err != nil {
		if ok, _ := tryLock(f.File); ok {
			_ = d.Remove(path) // others assume that the name of an existing file is durable
		}
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// isAt reports whether path still names the open file f.
func isAt(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// waitLock polls: a blocked flock cannot be cancelled, and locks are held for short times.
func waitLock(ctx context.Context, f *os.File, deadline time.Time) error {
	const first, longest = 200 * time.Microsecond, 10 * time.Millisecond
	for pause := first; ; pause = min(pause*3/2, longest) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if ok, err := tryLock(f); err != nil || ok {
			return err
		}
		if time.Now().After(deadline) {
			return ErrLocked
		}
	}
}

// Remove deletes the lock file and releases the lock. Processes that wait for the lock notice
// that the file has lost its name, and open the path again. On Windows, where an open file
// cannot be deleted, the file is emptied and stays.
func (l *Lock) Remove() error {
	path := l.File.Name()
	err := l.File.fs.Remove(path)
	switch {
	case err == nil:
		err = l.File.fs.SyncDir(filepath.Dir(path))
	case runtime.GOOS == "windows":
		err = l.File.Truncate(0)
	}
	return errors.Join(err, l.Unlock())
}

// Unlock releases the lock.
func (l *Lock) Unlock() error {
	err := unlock(l.File.File)
	return errors.Join(err, l.File.Close())
}
