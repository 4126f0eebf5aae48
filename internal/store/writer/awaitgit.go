package writer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"tape/internal/git/gitworktree"
)

// Git reads the files of a working tree, and later writes those that a merge or checkout changes, without
// reading them again. An append in between is lost. Git holds index.lock during all of that.

// gitPatience is the age at which writers stop waiting for an index.lock: a lock left by a killed git must not
// block recording forever.
const gitPatience = 5 * time.Second

// awaitGit waits while git changes the working tree.
func (w *Writer) awaitGit(ctx context.Context) error {
	if w.Wt.Dir == "" || os.Getenv("GIT_INDEX_FILE") != "" {
		return nil // no working tree, or called by a hook, during which git waits and writes no file
	}
	for {
		since, locked := gitworktree.IndexLocked(w.Wt)
		if !locked || time.Since(since) > gitPatience {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// stillThere reports whether path still names the open file f, and f has the line at an offset. It does not open
// the file again, because an error in opening it would say nothing about the line.
func stillThere(f *os.File, path string, line []byte, offset int64) (bool, error) {
	named, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held, err := f.Stat()
	if err != nil || !os.SameFile(held, named) {
		return false, err
	}
	got := make([]byte, len(line))
	if _, err := f.ReadAt(got, offset); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(got, line), nil
}
