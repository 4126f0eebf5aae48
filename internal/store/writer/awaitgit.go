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

// Git looks at the files of a working tree, and later writes those that a merge or a
// checkout changes, without a second look. What is appended in between is gone. It holds
// index.lock all the while.

// gitPatience is how old index.lock may be to be waited for. One that a killed git has left
// must not keep anybody from recording for good.
const gitPatience = 5 * time.Second

// awaitGit waits while git changes the working tree.
func (w *Writer) awaitGit(ctx context.Context) error {
	if w.Wt.Dir == "" || os.Getenv("GIT_INDEX_FILE") != "" {
		return nil // called by a hook: git waits for us, and writes no file
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

// stillThere reports whether an open file is the one that has the name, and has a line.
// Nothing is opened for that: an error there would say nothing of the line.
func stillThere(f *os.File, path string, line []byte, at int64) (bool, error) {
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
	if _, err := f.ReadAt(got, at); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(got, line), nil
}
