package gitstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// gcLocks are the locks that a git gc takes and keeps open for as long as it needs them.
// One that was killed leaves them, and no later one gets past them.
var gcLocks = []string{"gc.pid.lock", "objects/info/commit-graph.lock", "objects/info/commit-graphs/commit-graph-chain.lock"}

// sweepGCLocks removes the locks of collections that were killed.
func (r *Repo) sweepGCLocks() error {
	const old = 10 * time.Second // a living one opens them in the moment in which it makes them
	var err error
	for _, name := range gcLocks {
		path := filepath.Join(r.gitDir, filepath.FromSlash(name))
		then, serr := os.Lstat(path)
		if serr != nil || !then.Mode().IsRegular() || time.Since(then.ModTime()) < old {
			continue
		}
		open := openFiles()
		if len(open) == 0 || slices.ContainsFunc(open, func(st fs.FileInfo) bool { return os.SameFile(st, then) }) {
			continue
		}
		if now, serr := os.Lstat(path); serr != nil || !os.SameFile(now, then) || !now.ModTime().Equal(then.ModTime()) {
			continue
		}
		if rerr := r.fs.Remove(path); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

var saysLocked = regexp.MustCompile(`(?m)^(?:error|fatal): .*Unable to create '([^'\n]+\.lock)': File exists`)

// inTheWay finds in what git says a lock of this repository at which it stopped.
func (r *Repo) inTheWay(said string) *heldError {
	for _, found := range saysLocked.FindAllStringSubmatch(said, -1) {
		if rel, err := filepath.Rel(r.gitDir, found[1]); err == nil && filepath.IsLocal(rel) {
			return &heldError{path: found[1]}
		}
	}
	return nil
}
