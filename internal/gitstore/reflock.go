package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tape/internal/disk"
)

// How we lock, and why a lock of ours that outlived its process may be removed.
//
// Git locks a file F by creating F.lock with O_EXCL, writes the new content there
// and renames it over F. We do the same, so git and we exclude each other. What git
// lacks is an answer to kill -9: the lock stays, and whoever finds it cannot know
// whether its maker still lives. For locks of ours that is decided by two facts:
//
//  1. Everything done under such a lock is done while holding a guard: an flock on a
//     file of its own under .git (refs.lock for refs and HEADs, one a worktree for the
//     index). The operating system drops it with the process. So whoever holds the
//     guard knows that no living process of ours has any lock the guard covers.
//  2. Our locks are created with mode 0400, in the one open(2) that makes them exist.
//     There is no moment at which a lock of ours looks otherwise, whatever its content:
//     the mode is turned into 0600 only after the rename, when it is a lock no more.
//     Git, libgit2, JGit, dulwich and gitoxide create theirs writable (0666 or 0600
//     less the umask), and core.sharedRepository never takes the owner's w away.
//
// Holding the guard and seeing F.lock with mode 0400 therefore means: ours, and dead.
// It is removed, and F holds its old value, since F changes by rename alone. A lock of
// any other mode is somebody else's and never touched, however old. Where a file
// system does not keep modes, or shows others than it was given, the comparison
// fails and we wait like git does: the argument errs towards not stealing.
//
// What it rests on: flock working between all processes that write here. On a network
// file system that gives each machine locks of its own, two machines of ours could take
// each other's lock for dead.
//
// Windows: a file without write permission has the read-only attribute, which is also
// set at creation; the argument is the same.
const lockPerm fs.FileMode = 0o400

// guardDir is our folder inside .git.
const guardDir = "tape"

// staleAfter is the age from which a message about somebody else's lock says how to
// get rid of it.
const staleAfter = time.Minute

// heldError says that somebody else has a lock file. [Repo.guarded] waits and tries again.
type heldError struct{ path string }

func (e *heldError) Error() string { return "the lock " + e.path + " is held" }

// guarded runs fn while holding the guard, and again as long as fn reports a lock held
// by somebody else, for at most r.wait. The guard is not held while waiting, so that
// our other writers, of other refs, go on.
func (r *Repo) guarded(ctx context.Context, guard string, fn func() error) error {
	const first, longest = time.Millisecond, 50 * time.Millisecond
	deadline := time.Now().Add(r.wait)
	for pause := first; ; pause = min(pause*2, longest) {
		err := r.guardedOnce(ctx, guard, max(0, time.Until(deadline)), fn)
		var held *heldError
		if !errors.As(err, &held) {
			return err
		}
		if time.Now().After(deadline) {
			return held.busy()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (r *Repo) guardedOnce(ctx context.Context, guard string, wait time.Duration, fn func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	lock, err := r.fs.Lock(ctx, guard, wait)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.fs.MkdirAll(filepath.Dir(guard)); err == nil {
			lock, err = r.fs.Lock(ctx, guard, wait)
		}
	}
	if errors.Is(err, disk.ErrLocked) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	return fn()
}

func (r *Repo) refGuard() string { return filepath.Join(r.gitDir, guardDir, "refs.lock") }

// busy turns a lock that did not go away into the error for the caller.
func (e *heldError) busy() error {
	st, err := os.Lstat(e.path)
	if err != nil {
		return fmt.Errorf("%w: %s was held by another git process until just now; try again", ErrBusy, e.path)
	}
	age := time.Since(st.ModTime()).Round(time.Second)
	if age < staleAfter {
		return fmt.Errorf("%w: another git process holds %s", ErrBusy, e.path)
	}
	return fmt.Errorf("%w: %s has been there for %s; a git process probably died and left it: if no git runs here, remove that file",
		ErrBusy, e.path, age)
}

// lockFile is a lock that we hold: the file target+".lock".
type lockFile struct {
	r            *Repo
	path, target string
	file         *disk.File // nil once closed
}

// lock takes git's lock on target, clearing a dead one of ours. The guard must be held.
// Somebody else's lock gives a *heldError.
func (r *Repo) lock(target string) (*lockFile, error) {
	l := &lockFile{r: r, path: target + ".lock", target: target}
	for try := 0; ; try++ {
		f, err := r.fs.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, lockPerm)
		if err == nil {
			l.file = f
			return l, nil
		}
		again := false
		switch {
		case errors.Is(err, fs.ErrExist) && isDeadLock(l.path):
			err, again = r.fs.Remove(l.path), true
		case errors.Is(err, fs.ErrExist):
			return nil, &heldError{path: l.path}
		case errors.Is(err, fs.ErrNotExist):
			// The folder is missing, or git removes it because it is empty, perhaps
			// while we create it: then once more.
			err, again = r.fs.MkdirAll(filepath.Dir(target)), true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || !again || try >= 10 {
			return nil, fmt.Errorf("create lock: %w", err)
		}
	}
}

// isDeadLock tells a lock left by a dead process of ours from all others. It is true
// only for who holds the guard; see the top of this file.
func isDeadLock(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	if runtime.GOOS == "windows" {
		return st.Mode().Perm()&0o200 == 0
	}
	return st.Mode().Perm() == lockPerm
}

// write puts the new content into the lock and makes it durable.
func (l *lockFile) write(data []byte) error {
	if _, err := l.file.Write(data); err != nil {
		return err
	}
	return l.file.Sync()
}

// publish renames the lock over its target: the moment at which the change happens.
// The new name is made durable by the caller, if it has to be.
func (l *lockFile) publish() error {
	if runtime.GOOS == "windows" {
		return l.publishWindows()
	}
	if err := l.r.fs.Rename(l.path, l.target); err != nil {
		return err
	}
	f := l.file
	l.file, l.path = nil, ""
	// Through the open file, not the name: that may be another's by now.
	return errors.Join(f.Chmod(disk.FilePerm), f.Close())
}

// publishWindows does the same where an open file cannot be renamed, a read-only one
// not replaced, and a reader can be in the way for a moment.
func (l *lockFile) publishWindows() error {
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		_ = os.Chmod(l.target, disk.FilePerm)
		if err = l.r.fs.Rename(l.path, l.target); err == nil {
			break
		}
		if try >= 50 || !errors.Is(err, fs.ErrPermission) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	l.path = ""
	_ = os.Chmod(l.target, disk.FilePerm)
	return nil
}

// release gives the lock up; after publish it does nothing.
func (l *lockFile) release() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
		l.file = nil
	}
	if l.path != "" {
		err = errors.Join(err, l.r.fs.Remove(l.path))
		l.path = ""
	}
	return err
}

// RecoverLocks removes the locks that killed processes of ours left behind, on refs, the
// indexes of worktrees and the configuration, and returns their paths. A writer clears
// what is in its own way; this is for housekeeping, so that git does not stumble over a
// lock on something that we do not write again.
func (r *Repo) RecoverLocks(ctx context.Context) ([]string, error) {
	var removed []string
	clear := func(path string) error {
		if !isDeadLock(path) {
			return nil
		}
		removed = append(removed, path)
		return r.fs.Remove(path)
	}
	err := r.guarded(ctx, r.refGuard(), func() error { return r.eachRefLock(clear) })
	if err != nil {
		return removed, fmt.Errorf("recover locks: %w", err)
	}
	dead := map[string]string{} // the guard of each
	look := func(target, guard string) {
		if lock := target + ".lock"; isDeadLock(lock) {
			dead[lock] = guard
		}
	}
	look(r.configPath(), r.configGuard())
	look(r.attributesPath(), r.configGuard())
	for _, dir := range r.headDirs() {
		look(indexPath(Worktree{GitDir: dir}), indexGuard(Worktree{GitDir: dir}))
	}
	if len(dead) == 0 {
		return removed, nil
	}
	// Whoever removes a worktree meanwhile must not get a guard's folder back.
	err = r.guarded(ctx, r.worktreeGuard(), func() error {
		for lock, guard := range dead {
			if !isDeadLock(lock) {
				continue
			}
			if err := r.guarded(ctx, guard, func() error { return clear(lock) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return removed, fmt.Errorf("recover locks: %w", err)
	}
	return removed, nil
}

// eachRefLock calls fn for all files that may be locks on refs and HEADs.
func (r *Repo) eachRefLock(fn func(path string) error) error {
	paths := []string{r.packedPath() + ".lock"}
	for _, dir := range r.headDirs() {
		paths = append(paths, filepath.Join(dir, "HEAD.lock"))
	}
	for _, path := range paths {
		if err := fn(path); err != nil {
			return err
		}
	}
	return eachLockIn(filepath.Join(r.gitDir, "refs"), fn)
}

func eachLockIn(dir string, fn func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".lock") || d.IsDir() {
			return nil // a folder that git removes meanwhile is no reason to stop
		}
		return fn(path)
	})
}
