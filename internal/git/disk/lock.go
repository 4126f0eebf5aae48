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

// ErrLocked says that somebody else holds a lock and did not let go in time.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive hold on a lock file. The operating system drops it when the
// process ends, however it ends; the file itself stays, unless its holder calls [Lock.Remove].
type Lock struct {
	File *File
}

// Lock takes the exclusive lock on path, creating the file if need be, and waits
// for at most wait while another process or another holder in this one has it.
// It returns ErrLocked when the time is up and the context's error when cancelled.
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
		if isStill(f.File, path) {
			return &Lock{File: f}, nil
		}
		_ = f.Close() // its holder removed the file while we waited for it
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// openLock opens a lock file. A new one's name is made durable: the file may hold a
// record that has to survive.
func (d *FS) openLock(path string) (*File, error) {
	f, err := d.OpenFile(path, os.O_RDWR, FilePerm)
	if !errors.Is(err, os.ErrNotExist) {
		return f, err
	}
	if f, err = d.OpenFile(path, os.O_RDWR|os.O_CREATE, FilePerm); err != nil {
		return nil, err
	}
	if err := d.SyncDir(filepath.Dir(path)); err != nil {
		if ours, _ := tryLock(f.File); ours {
			_ = d.Remove(path) // who finds it there takes its name for durable
		}
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// isStill reports whether an open file is the one that has the name.
func isStill(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

// waitLock polls: a blocked flock cannot be cancelled, and the holds are short.
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

// Remove deletes the lock file and lets go. Nobody who waits for it is misled: who gets
// the lock of a file that has lost its name tries again with the one that has it. Where
// the system does not let an open file be deleted (Windows), it is emptied and stays.
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

// Unlock lets go.
func (l *Lock) Unlock() error {
	err := unlock(l.File.File)
	return errors.Join(err, l.File.Close())
}
