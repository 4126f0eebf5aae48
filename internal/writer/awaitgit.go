package writer

import (
	"bytes"
	"context"
	"os"
	"time"
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
		since, locked := w.T.Store().Git().IndexLocked(w.Wt)
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

// stands reports whether a line that was just written is still there, once git is done.
func (w *Writer) stands(ctx context.Context, path string, line []byte, at int64) bool {
	if w.awaitGit(ctx) != nil {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	got := make([]byte, len(line))
	_, err = f.ReadAt(got, at)
	return err == nil && bytes.Equal(got, line)
}
