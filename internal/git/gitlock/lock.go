// Package gitlock takes the locks that git takes on its files, so that git and we exclude each
// other, and gets past those that killed processes of ours have left.
package gitlock

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

	"tape/internal/git/disk"
)

// Perm is the mode of our locks. How we lock, and why a lock of ours that outlived its process may be removed.
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
// any other mode is somebody else's and not touched here, however old (gitrun.RecoverLocks
// gets past those that a git gc of earlier versions left). Where a file
// system does not keep modes, or shows others than it was given, the comparison
// fails and we wait like git does: the argument errs towards not stealing.
//
// It rests on flock working between all processes that write here. Where a network file
// system has locks for each machine, two could take each other's for dead.
//
// Windows: a file without write permission has the read-only attribute, which is also
// set at creation; the argument is the same.
const Perm fs.FileMode = 0o400

// OwnDir is our folder inside .git.
const OwnDir = "tape"

// ErrBusy says that a lock was not to be had in time.
var ErrBusy = errors.New("busy")

// ErrLeft is an ErrBusy: the lock is so old that a process of git's has probably left it.
var ErrLeft = fmt.Errorf("%w", ErrBusy)

// staleAfter is from when on a foreign lock is ErrLeft.
const staleAfter = 20 * time.Second

// HeldError says that somebody else has a lock file. [Locks.Guarded] waits and tries again.
type HeldError struct{ Path string }

func (e *HeldError) Error() string { return "the lock " + e.Path + " is held" }

// Locks says how locks are taken.
type Locks struct {
	FS   *disk.FS      // nil: the operating system
	Wait time.Duration // for a lock that somebody else holds
	// Check may refuse a file that is about to be locked, and written. Nil: none is.
	Check func(target string) error
}

// Guarded runs fn while holding the guard, and again as long as fn reports a lock held
// by somebody else, for at most the time to wait. The guard is not held while waiting, so that
// our other writers, of other refs, go on.
func (k Locks) Guarded(ctx context.Context, guard string, fn func() error) error {
	const first, longest = time.Millisecond, 50 * time.Millisecond
	deadline := time.Now().Add(k.Wait)
	for pause := first; ; pause = min(pause*2, longest) {
		err := k.GuardedOnce(ctx, guard, max(0, time.Until(deadline)), fn)
		var held *HeldError
		if !errors.As(err, &held) {
			return err
		}
		if time.Now().After(deadline) {
			return held.Busy()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// GuardedOnce runs fn once while holding the guard, for which it waits.
func (k Locks) GuardedOnce(ctx context.Context, guard string, wait time.Duration, fn func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	lock, err := k.FS.Lock(ctx, guard, wait)
	if errors.Is(err, fs.ErrNotExist) {
		if err = k.FS.MkdirAll(filepath.Dir(guard)); err == nil {
			lock, err = k.FS.Lock(ctx, guard, wait)
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

// Busy turns a lock that did not go away into the error for the caller.
func (e *HeldError) Busy() error {
	st, err := os.Lstat(e.Path)
	if err != nil {
		return fmt.Errorf("%w: %s was held by another git process until just now; try again", ErrBusy, e.Path)
	}
	age := time.Since(st.ModTime()).Round(time.Second)
	if age < staleAfter {
		return fmt.Errorf("%w: another git process holds %s", ErrBusy, e.Path)
	}
	return fmt.Errorf("%w: %s has been there for %s; a git process probably died and left it", ErrLeft, e.Path, age)
}

// File is a lock that we hold: the file target+".lock".
type File struct {
	fs           *disk.FS
	path, target string
	file         *disk.File // nil once closed
}

// Lock takes git's lock on target, clearing a dead one of ours. The guard must be held.
// Somebody else's lock gives a *HeldError.
func (k Locks) Lock(target string) (*File, error) {
	if k.Check != nil {
		if err := k.Check(target); err != nil {
			return nil, err
		}
	}
	l := &File{fs: k.FS, path: target + ".lock", target: target}
	for try := 0; ; try++ {
		f, err := k.FS.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Perm)
		if err == nil {
			l.file = f
			return l, nil
		}
		again := false
		switch {
		case errors.Is(err, fs.ErrExist) && IsDead(l.path):
			err, again = k.FS.Remove(l.path), true
		case errors.Is(err, fs.ErrExist):
			return nil, &HeldError{Path: l.path}
		case errors.Is(err, fs.ErrNotExist):
			// Missing, or git removes the empty folder, perhaps while we create it: then once more.
			err, again = k.FS.MkdirAll(filepath.Dir(target)), true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || !again || try >= 10 {
			return nil, fmt.Errorf("create lock: %w", err)
		}
	}
}

// IsDead tells a lock left by a dead process of ours from all others. It is true
// only for who holds the guard; see the top of this file.
func IsDead(path string) bool {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() {
		return false
	}
	if runtime.GOOS == "windows" {
		return st.Mode().Perm()&0o200 == 0
	}
	return st.Mode().Perm() == Perm
}

// Write puts the new content into the lock and makes it durable.
func (l *File) Write(data []byte) error {
	if _, err := l.file.Write(data); err != nil {
		return err
	}
	return l.file.Sync()
}

// Publish renames the lock over its target: the moment at which the change happens.
// The new name is made durable by the caller, if it has to be.
func (l *File) Publish() error {
	if runtime.GOOS == "windows" {
		return l.publishWindows()
	}
	if err := l.fs.Rename(l.path, l.target); err != nil {
		return err
	}
	f := l.file
	l.file, l.path = nil, ""
	// Through the open file, not the name: that may be another's by now.
	return errors.Join(f.Chmod(disk.FilePerm), f.Close())
}

// publishWindows does the same where an open file cannot be renamed, a read-only one
// not replaced, and a reader can be in the way for a moment.
func (l *File) publishWindows() error {
	err := l.file.Close()
	l.file = nil
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		_ = os.Chmod(l.target, disk.FilePerm)
		if err = l.fs.Rename(l.path, l.target); err == nil {
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

// Detach closes the lock and lets it stand; it is the caller's to remove.
func (l *File) Detach() (path string, err error) {
	err = l.file.Close()
	path, l.path, l.file = l.path, "", nil
	return path, err
}

// Release gives the lock up; after Publish it does nothing.
func (l *File) Release() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
		l.file = nil
	}
	if l.path != "" {
		err = errors.Join(err, l.fs.Remove(l.path))
		l.path = ""
	}
	return err
}

// EachIn calls fn for what may be locks in a folder and those below it.
func EachIn(dir string, fn func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".lock") || d.IsDir() {
			return nil // a folder that git removes meanwhile is no reason to stop
		}
		return fn(path)
	})
}
