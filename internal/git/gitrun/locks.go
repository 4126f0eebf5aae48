package gitrun

import (
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
	oldLock      = gitlock.OldLock
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
	open := gitlock.OpenFiles()
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

// RecoverLocks removes the locks that killed processes have left, and returns their paths: ours, and old ones of others
// that nobody has open while no git works in the repository.
func RecoverLocks(ctx context.Context, r *gitstore.Repo) ([]string, error) {
	removed, err := r.RecoverLocks(ctx)
	if err != nil {
		return removed, err
	}
	found := map[string]fs.FileInfo{}
	if err := eachLock(r, func(path string, st fs.FileInfo) {
		if isStale(st, oldLock) {
			found[path] = st
		}
	}); err != nil || len(found) == 0 {
		return removed, err
	}
	open := gitlock.OpenFiles()
	if len(open) == 0 || gitlock.UsedByGit(r.Dirs()) {
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

// eachLock calls fn for the locks on gc.pid, refs, HEADs, reflogs, indexes and settings that exist.
func eachLock(r *gitstore.Repo, fn func(path string, st fs.FileInfo)) error {
	visit := func(path string) error {
		if st, err := os.Lstat(path); err == nil {
			fn(path, st)
		}
		return nil
	}
	_ = visit(filepath.Join(r.GitDir(), gitlock.GCPid+".lock"))
	for _, dir := range r.HeadDirs() {
		for _, name := range []string{"logs/HEAD.lock", "index.lock", "config.lock", "config.worktree.lock"} {
			_ = visit(filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	return errors.Join(r.EachRefLock(visit), gitlock.EachLockIn(filepath.Join(r.GitDir(), "logs", "refs"), visit))
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

// ErrDamaged says that git cannot read something of the repository.
var ErrDamaged = errors.New("the repository is damaged")

// SaysDamaged reports whether git complains in an error message about this repository's own objects or refs, not about those
// of a remote.
func SaysDamaged(r *gitstore.Repo, said string) bool {
	own := regexp.MustCompile(`(?m)^(?:error|fatal): (?:.*(?:object file .* is empty|is corrupt|object corrupt or missing|bad object |unable to read |Could not read |` +
		`invalid sha1 pointer|missing blob object|inflate: |packfile .* (?:cannot be accessed|does not match index)|index file .* is |reference broken|unexpected line in |unterminated line in |packed refname is |bad tree object|unable to (?:unpack|mmap) ).*)$`)
	found := own.FindString(said)
	return found != "" && !strings.Contains(found, "Could not read from remote repository")
}

// SaysSettings reports whether git stopped because it cannot read its settings.
func SaysSettings(said string) bool {
	return regexp.MustCompile(`(?m)^fatal: (?:.*(?:bad config |bad \w+ config value|bad zlib compression level|missing value for '|reading the configuration files)|exceeded maximum include depth)`).MatchString(said)
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
