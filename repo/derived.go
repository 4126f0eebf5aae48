package repo

import (
	"context"
	"path/filepath"
)

// IndexFile is where the derived index of the workspace is.
func (s *Store) IndexFile() string { return filepath.Join(s.dir, indexFile) }

// ScratchDir is the folder, on the same disk, for files that are not yet what they are
// to be. It is made if need be.
func (s *Store) ScratchDir() (string, error) {
	dir := s.privatePath("tmp")
	return dir, classify(s.fs.MkdirAll(dir))
}

// LockIndex takes the lock of those who write the index, and waits for it as for any
// other lock. ErrBusy when somebody kept it for too long.
func (s *Store) LockIndex(ctx context.Context) (unlock func() error, err error) {
	return s.lockPrivate(ctx, "index.lock")
}

// lockPrivate takes a lock of the whole workspace.
func (s *Store) lockPrivate(ctx context.Context, name string) (unlock func() error, err error) {
	if err := s.fs.MkdirAll(s.privatePath()); err != nil {
		return nil, classify(err)
	}
	l, err := s.fs.Lock(ctx, s.privatePath(name), s.wait)
	if err != nil {
		return nil, classify(err)
	}
	return l.Unlock, nil
}

// Warn tells the workspace's user something, as Options.Warn says.
func (s *Store) Warn(message string) { s.warn(message) }
