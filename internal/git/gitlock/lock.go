// Package gitlock takes the locks that git takes on its files, so that git and tape exclude each
// other, and removes those that killed processes of tape have left.
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

// Perm is the mode of our lock files. It tells us which locks our killed processes have left, so
// that we may remove them.
//
// Git locks a file F by creating F.lock with O_EXCL, writes the new content there
// and renames it over F. We do the same, so git and we exclude each other. What git
// lacks is an answer to kill -9: the lock stays, and whoever finds it cannot know
// whether its maker still lives. For our locks two facts decide that:
//
//  1. Everything done under such a lock is done while holding a guard: an flock on a
//     file of its own under .git (refs.lock for refs and HEADs, one per worktree for the
//     index). The operating system drops it with the process. So whoever holds the
//     guard knows that no living process of ours holds any lock that the guard covers.
//  2. Our locks are created with mode 0400, in the one open(2) that creates them.
//     The mode becomes 0600 only after the rename, when the file is no longer a lock, so
//     at no moment does a lock of ours have another mode.
//     Git, libgit2, JGit, dulwich and gitoxide create theirs writable (0666 or 0600
//     less the umask), and core.sharedRepository never takes the owner's w away.
//
// So whoever holds the guard and sees F.lock with mode 0400 knows: it is ours, and its
// process is dead. We remove it; F still has its old value, since only a rename changes F.
// A lock of any other mode is somebody else's, and stays, however old (gitrun.RecoverLocks
// removes those that a git gc of earlier versions left). On a file system that does not
// keep modes the comparison fails, and we wait as git does: when in doubt we do not steal.
//
// This needs an flock that works between all processes that write here. On a network file
// system whose locks exclude only processes of one machine, two machines could take each
// other's locks for dead.
//
// On Windows a file without write permission has the read-only attribute, which is also
// set at creation; the same holds.
const Perm fs.FileMode = 0o400

// OwnDir is our folder inside .git.
const OwnDir = "tape"

// ErrBusy says that somebody else held a lock for longer than the caller wanted to wait.
var ErrBusy = errors.New("busy")

// ErrStale is an ErrBusy about a lock so old that a killed git has probably left it.
var ErrStale = fmt.Errorf("%w", ErrBusy)

// staleAfter is the age at which a foreign lock is reported as ErrStale.
const staleAfter = 20 * time.Second

// HeldError says that somebody else has a lock file. [Locks.Guarded] waits and tries again.
type HeldError struct{ Path string }

func (e *HeldError) Error() string { return "the lock " + e.Path + " is held" }

// Locks says how locks are taken.
type Locks struct {
	FS   *disk.FS      // nil: the operating system
	Wait time.Duration // at most, for a lock that somebody else holds
	// Check, if set, may refuse a file that is about to be locked and written.
	Check func(target string) error
	// Dirs returns the folders of the repository, .git first, and its working trees: where a git could be working that has
	// left a lock for a moment only. If nil, no lock of somebody else is ever taken away.
	Dirs func() []string
}

// Guarded runs fn while holding the guard, and again as long as fn returns a *HeldError, for at
// most k.Wait. Between the tries it releases the guard, so that our writers of other refs
// go on.
func (k Locks) Guarded(ctx context.Context, guard string, fn func() error) error {
	const first, longest = time.Millisecond, 50 * time.Millisecond
	deadline := time.Now().Add(k.Wait)
	var looked time.Time
	for pause := first; ; pause = min(pause*2, longest) {
		err := k.GuardedOnce(ctx, guard, max(0, time.Until(deadline)), fn)
		var held *HeldError
		if !errors.As(err, &held) {
			return err
		}
		if time.Since(looked) > time.Second {
			looked = time.Now()
			away := false
			err := k.GuardedOnce(ctx, guard, max(0, time.Until(deadline)), func() error { away = k.takeAway(held.Path); return nil })
			if err != nil {
				return err
			}
			if away {
				continue
			}
			// Somebody who has had it for longer than we would wait goes on having it.
			if st, err := os.Lstat(held.Path); err == nil && time.Since(st.ModTime()) > max(k.Wait, staleAfter) {
				deadline = looked
			}
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

// GuardedOnce runs fn once while holding the guard, which it waits for at most wait.
func (k Locks) GuardedOnce(ctx context.Context, guard string, wait time.Duration, fn func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.Check != nil {
		if err := k.Check(guard); err != nil {
			return err
		}
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

// Busy returns the ErrBusy or ErrStale that a caller gets about a lock that stayed.
func (e *HeldError) Busy() error {
	st, err := os.Lstat(e.Path)
	if err != nil {
		return fmt.Errorf("%w: %s was held by another git process until just now; try again", ErrBusy, e.Path)
	}
	age := time.Since(st.ModTime()).Round(time.Second)
	if age < staleAfter {
		return fmt.Errorf("%w: another git process holds %s", ErrBusy, e.Path)
	}
	return fmt.Errorf("%w: %s has been there for %s; a git process probably died and left it", ErrStale, e.Path, age)
}

// File is a lock that we hold: the file target+".lock".
type File struct {
	fs           *disk.FS
	path, target string
	file         *disk.File // nil once closed
}

// Lock takes git's lock on target, and removes a lock that a killed process of ours left there. The
// guard must be held. Errors: a *HeldError if somebody else holds the lock.
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
		retry := false
		switch {
		case errors.Is(err, fs.ErrExist) && IsDead(l.path):
			err, retry = k.FS.Remove(l.path), true
		case errors.Is(err, fs.ErrExist):
			return nil, &HeldError{Path: l.path}
		case errors.Is(err, fs.ErrNotExist):
			// The folder is missing; git may remove the empty one again while we create it.
			err, retry = k.FS.MkdirAll(filepath.Dir(target)), true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) || !retry || try >= 10 {
			return nil, fmt.Errorf("create lock: %w", err)
		}
	}
}

// IsDead reports whether a lock was left by a killed process of ours. The answer is right only
// while the caller holds the guard; [Perm] says why.
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

// Publish renames the lock over its target: at this moment the change happens. A caller that
// needs the new name to be durable syncs the folder.
func (l *File) Publish() error {
	if runtime.GOOS == "windows" {
		return l.publishWindows()
	}
	if err := l.fs.Rename(l.path, l.target); err != nil {
		return err
	}
	f := l.file
	l.file, l.path = nil, ""
	// Through the open file: the name may belong to another file by now.
	return errors.Join(f.Chmod(disk.FilePerm), f.Close())
}

// publishWindows is Publish for a system that cannot rename an open file nor replace a
// read-only one, and where a reader can be in the way for a moment.
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

// Detach closes the lock but leaves its file, which the caller has to remove.
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

// EachLockIn calls fn for each lock file in a folder and those below it.
func EachLockIn(dir string, fn func(path string) error) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".lock") || d.IsDir() {
			return nil // git may remove a folder meanwhile
		}
		return fn(path)
	})
}
