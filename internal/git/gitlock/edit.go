package gitlock

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"tape/internal/git/disk"
)

// Edit changes one of git's own files while holding git's lock on it. edit gets the old content,
// nil if the file is missing, and may run more than once. If it returns the old content, nothing
// is written; if it returns no content, the file is removed. Errors: ErrBusy; those of edit.
func (k Locks) Edit(ctx context.Context, guard, path string, edit func(old []byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // as git does: it locks and replaces the file behind a link
	}
	old, mode, err := readWithMode(path)
	if err != nil {
		return err
	}
	if next, err := edit(old); err != nil || bytes.Equal(old, next) && mode != Perm {
		return err
	}
	return k.Guarded(ctx, guard, func() (err error) {
		if err := repairMode(path); err != nil {
			return err
		}
		l, err := k.Lock(path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Release()) }()
		old, mode, err := readWithMode(path)
		if err != nil {
			return err
		}
		next, err := edit(old)
		if err != nil || bytes.Equal(old, next) {
			return err
		}
		if len(next) == 0 {
			err = k.FS.Remove(path)
		} else {
			err = l.replace(next, mode)
		}
		if err != nil {
			return err
		}
		return k.FS.SyncDir(filepath.Dir(path))
	})
}

// repairMode repairs the mode of a file whose writer, one of our processes, was killed right
// after it published the file. Git copies a file's mode to the lock that replaces it, so a lock
// beside such a file has our mode, but may belong to a living git. The guard must be held.
func repairMode(path string) error {
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != Perm {
		return nil // a missing file will be created
	}
	if err := os.Chmod(path, disk.FilePerm); err != nil {
		return err
	}
	if _, err := os.Lstat(path + ".lock"); err == nil {
		return &HeldError{Path: path + ".lock"}
	}
	return nil
}

// readWithMode returns a file's content and mode; nil and disk.FilePerm if it is missing.
func readWithMode(path string) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, disk.FilePerm, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	raw, err := io.ReadAll(f)
	return raw, st.Mode().Perm(), err
}

// replace publishes new content and restores the file's mode. It sets the mode through an open
// file, because after the rename somebody else may replace the file.
func (l *File) replace(content []byte, mode fs.FileMode) error {
	if err := l.Write(content); err != nil {
		return err
	}
	if runtime.GOOS == "windows" || mode == disk.FilePerm {
		return l.Publish()
	}
	f, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := l.Publish(); err != nil {
		return err
	}
	return f.Chmod(mode)
}
