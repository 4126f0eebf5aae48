package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked says that somebody else holds a lock and did not let go in time.
var ErrLocked = errors.New("locked by another process")

// Lock is an exclusive hold on a lock file. The operating system drops it when the
// process ends, however it ends; the file itself stays.
type Lock struct {
	File *File
}

// Lock takes the exclusive lock on path, creating the file if need be, and waits
// for at most wait while another process or another holder in this one has it.
// It returns ErrLocked when the time is up and the context's error when cancelled.
func (d *FS) Lock(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	f, err := d.OpenFile(path, os.O_RDWR, FilePerm)
	if errors.Is(err, os.ErrNotExist) {
		f, err = d.OpenFile(path, os.O_RDWR|os.O_CREATE, FilePerm)
	}
	if err != nil {
		return nil, err
	}
	ok, err := tryLock(f.File)
	if err == nil && !ok {
		err = waitLock(ctx, f.File, wait)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return &Lock{File: f}, nil
}

// waitLock polls: a blocked flock cannot be cancelled, and the holds are short.
func waitLock(ctx context.Context, f *os.File, wait time.Duration) error {
	const first, longest = 200 * time.Microsecond, 10 * time.Millisecond
	deadline := time.Now().Add(wait)
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

// Unlock lets go.
func (l *Lock) Unlock() error {
	err := unlock(l.File.File)
	return errors.Join(err, l.File.Close())
}
