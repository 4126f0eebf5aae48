package gitrun

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
)

// gcLocks are the locks that git gc holds open while it works. If it is killed they stay, and no
// later gc gets past them.
var gcLocks = []string{gitlock.GCPid + ".lock", "objects/info/commit-graph.lock", "objects/info/commit-graphs/commit-graph-chain.lock", "MERGE_RR.lock"}

const (
	oldLock      = 10 * time.Second
	oldTemporary = 24 * time.Hour
)

// sweepGC removes the locks and temporary files that killed gcs have left, if the system tells which files are open.
func sweepGC(r *gitstore.Repo) error {
	found := map[string]fs.FileInfo{}
	for _, name := range gcLocks {
		AddStaleLock(found, filepath.Join(r.GitDir(), filepath.FromSlash(name)))
	}
	err := eachTemporary(r, func(path string, st fs.FileInfo) {
		if isStale(st, oldTemporary) {
			found[path] = st
		}
	})
	open := OpenFiles()
	if len(open) == 0 || err != nil {
		return err // unknown who is alive
	}
	return errors.Join(RemoveStale(r, found, open), removeDeadPid(r))
}

// removeDeadPid removes gc.pid if it names a process that is not a git any more: git gc would refuse
// to run for half a day. The guard must be held.
func removeDeadPid(r *gitstore.Repo) (err error) {
	path := filepath.Join(r.GitDir(), gitlock.GCPid)
	if pid := gitlock.ReadGCPid(r.GitDir()); pid == 0 || gitlock.IsGitAlive(pid) {
		return nil
	}
	l, err := r.Locks().Lock(path)
	if err != nil {
		return nil //nolint:nilerr // another git gc is starting
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	if pid := gitlock.ReadGCPid(r.GitDir()); pid == 0 || gitlock.IsGitAlive(pid) {
		return nil
	}
	return r.FS().Remove(path)
}

// isStale reports whether a file is old enough to be that of a killed git, and not our lock.
func isStale(st fs.FileInfo, age time.Duration) bool {
	return st.Mode().IsRegular() && st.Mode().Perm() != gitlock.Perm && time.Since(st.ModTime()) > age
}

// RecoverLocks removes the locks that killed processes of ours have left, and returns their
// paths. In earlier versions git gc locked refs, and left those locks when it was killed. So where
// a gc has run, old locks go too, if nobody has them open and no git works in the repository.
func RecoverLocks(ctx context.Context, r *gitstore.Repo) ([]string, error) {
	removed, err := r.RecoverLocks(ctx)
	if err != nil {
		return removed, err
	}
	if _, err := os.Lstat(guard(r)); err != nil {
		return removed, nil //nolint:nilerr // no gc has run here
	}
	found := map[string]fs.FileInfo{}
	if err := eachLock(r, func(path string, st fs.FileInfo) {
		if isStale(st, oldLock) {
			found[path] = st
		}
	}); err != nil || len(found) == 0 {
		return removed, err
	}
	open := OpenFiles()
	if len(open) == 0 || isUsedByGit(r) {
		return removed, nil
	}
	err = RemoveStale(r, found, open)
	for path := range found {
		if _, serr := os.Lstat(path); errors.Is(serr, fs.ErrNotExist) {
			removed = append(removed, path)
		}
	}
	slices.Sort(removed)
	return removed, err
}

// eachLock calls fn for the locks on gc.pid, refs, HEADs and reflogs that exist.
func eachLock(r *gitstore.Repo, fn func(path string, st fs.FileInfo)) error {
	visit := func(path string) error {
		if st, err := os.Lstat(path); err == nil {
			fn(path, st)
		}
		return nil
	}
	_ = visit(filepath.Join(r.GitDir(), gitlock.GCPid+".lock"))
	for _, dir := range r.HeadDirs() {
		_ = visit(filepath.Join(dir, "logs", "HEAD.lock"))
	}
	return errors.Join(r.EachRefLock(visit), gitlock.EachLockIn(filepath.Join(r.GitDir(), "logs", "refs"), visit))
}

// isUsedByGit reports whether a git process may be working in the repository, even one that has
// no lock open at the moment. A process whose folder cannot be read counts.
func isUsedByGit(r *gitstore.Repo) bool {
	dirs := []string{r.GitDir()}
	trees, _ := r.Worktrees()
	for _, w := range trees {
		dirs = append(dirs, w.Dir)
	}
	for i, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs[i] = real
		}
	}
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		proc := filepath.Dir(name)
		if comm, err := os.ReadFile(name); err != nil || !gitlock.IsGit(comm) {
			continue
		}
		cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(proc, "environ"))
		isIn := func(dir string) bool { return cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator)) }
		if errors.Is(err, fs.ErrPermission) || slices.ContainsFunc(dirs, isIn) || bytes.Contains(append(args, env...), []byte(r.GitDir())) {
			return true
		}
	}
	return false
}

// AddStaleLock adds a lock file to found if it is so old that a killed git has probably left it. A
// living git keeps the locks of gc open, and holds locks on refs only briefly.
func AddStaleLock(found map[string]fs.FileInfo, path string) {
	if st, err := os.Lstat(path); err == nil && isStale(st, oldLock) {
		found[path] = st
	}
}

// RemoveStale removes those of the files that have not changed and that nobody has open.
func RemoveStale(r *gitstore.Repo, files map[string]fs.FileInfo, open []fs.FileInfo) (err error) {
	for path, then := range files {
		now, serr := os.Lstat(path)
		if serr != nil || !os.SameFile(now, then) || now.Size() != then.Size() || !now.ModTime().Equal(then.ModTime()) ||
			slices.ContainsFunc(open, func(st fs.FileInfo) bool { return os.SameFile(st, now) }) {
			continue
		}
		_ = os.Chmod(path, 0o600) // Windows cannot remove a read-only file
		err = errors.Join(err, r.FS().Remove(path))
	}
	return err
}

// LockNamedIn returns the lock of this repository that git names in an error message, or nil.
func LockNamedIn(r *gitstore.Repo, said string) *gitlock.HeldError {
	saysLocked := regexp.MustCompile(`(?m)^(?:error|fatal): .*Unable to create '([^'\n]+\.lock)': File exists`)
	for _, found := range saysLocked.FindAllStringSubmatch(said, -1) {
		if rel, err := filepath.Rel(r.GitDir(), found[1]); err == nil && filepath.IsLocal(rel) {
			return &gitlock.HeldError{Path: found[1]}
		}
	}
	return nil
}
