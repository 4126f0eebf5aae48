package gitrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitlock"
)

// gcLocks are the locks that a git gc takes and keeps open for as long as it needs them.
// One that was killed leaves them, and no later one gets past them.
var gcLocks = []string{"gc.pid.lock", "objects/info/commit-graph.lock", "objects/info/commit-graphs/commit-graph-chain.lock"}

// sweepGCLocks removes the locks of collections that were killed.
func sweepGCLocks(r *gitstore.Repo) error {
	found := map[string]fs.FileInfo{}
	for _, name := range gcLocks {
		NoteOld(found, filepath.Join(r.GitDir(), filepath.FromSlash(name)))
	}
	open := OpenFiles()
	if len(open) == 0 {
		return nil // it is not known who is alive
	}
	return RemoveLeft(r, found, open)
}

// NoteOld adds a lock of git's that may have been left: a living git opens those of a
// collection in the moment in which it makes them, and sets its refs at once.
func NoteOld(found map[string]fs.FileInfo, path string) {
	const old = 10 * time.Second
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() && st.Mode().Perm() != gitlock.Perm && time.Since(st.ModTime()) > old {
		found[path] = st
	}
}

// RemoveLeft removes those of the files that are still what they were and that nobody has open.
func RemoveLeft(r *gitstore.Repo, files map[string]fs.FileInfo, open []fs.FileInfo) (err error) {
	for path, then := range files {
		now, serr := os.Lstat(path)
		if serr != nil || !os.SameFile(now, then) || now.Size() != then.Size() || !now.ModTime().Equal(then.ModTime()) ||
			slices.ContainsFunc(open, func(st fs.FileInfo) bool { return os.SameFile(st, now) }) {
			continue
		}
		_ = os.Chmod(path, 0o600) // Windows keeps what is read-only
		err = errors.Join(err, r.FS().Remove(path))
	}
	return err
}

// InTheWay finds in what git says a lock of this repository at which it stopped.
func InTheWay(r *gitstore.Repo, said string) *gitlock.HeldError {
	saysLocked := regexp.MustCompile(`(?m)^(?:error|fatal): .*Unable to create '([^'\n]+\.lock)': File exists`)
	for _, found := range saysLocked.FindAllStringSubmatch(said, -1) {
		if rel, err := filepath.Rel(r.GitDir(), found[1]); err == nil && filepath.IsLocal(rel) {
			return &gitlock.HeldError{Path: found[1]}
		}
	}
	return nil
}
