package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"tape/internal/git/gitlock"
)

// errNotDir is the system's error when a parent of a path is a plain file.
const errNotDir = syscall.ENOTDIR

// UpdateRef changes one ref if it still has the value u.Old, durably. It is the program's only writer of
// single refs and follows git's protocol, so that git may update, pack and collect the same refs
// meanwhile; gitlock.Perm explains how it survives being killed.
//
// Errors: ErrConflict if the ref has another value; ErrBusy if a lock was not free in time; the
// context's error. After any other error the ref has the value Old, or New if only the sync failed.
//
// It does not check that the object u.New exists: its writer has synced it before.
func (r *Repo) UpdateRef(ctx context.Context, u RefUpdate) error {
	if err := u.check(); err != nil {
		return err
	}
	return Wrap(r.locks.Guarded(ctx, r.refGuard(), func() error { return r.updateGuarded(u) }), "update %s", u.Name)
}

func (u RefUpdate) check() error {
	if err := CheckRefName(u.Name); err != nil {
		return err
	}
	if u.Old.IsZero() && u.New.IsZero() {
		return fmt.Errorf("update %s: neither an old nor a new value", u.Name)
	}
	return nil
}

func (r *Repo) updateGuarded(u RefUpdate) (err error) {
	path := r.RefPath(u.Name)
	l, err := r.locks.Lock(path)
	if err != nil {
		var held *gitlock.HeldError
		if conflict := r.checkAvailable(u.Name); !errors.As(err, &held) && conflict != nil {
			return conflict
		}
		return err
	}
	defer func() {
		err = errors.Join(err, l.Release())
		if u.New.IsZero() && err == nil {
			r.removeEmptyParents(u.Name)
		}
	}()

	current, target, err := r.readRef(u.Name)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return err
	case target != "":
		return fmt.Errorf("it is a symbolic ref to %s", target)
	}
	if current != u.Old {
		return fmt.Errorf("%w: it holds %s, not %s", ErrConflict, describeHash(current), describeHash(u.Old))
	}
	if current == u.New {
		return nil
	}
	if u.New.IsZero() {
		return r.deleteLocked(u)
	}
	if current.IsZero() {
		if err := r.checkAvailable(u.Name); err != nil {
			return err
		}
	}
	if err := l.Write([]byte(u.New.String() + "\n")); err != nil {
		return err
	}
	if err := r.clearEmptyDir(path); err != nil {
		return err
	}
	if err := r.logUpdate(u); err != nil {
		return err
	}
	if err := l.Publish(); err != nil {
		return err
	}
	err = r.fs.SyncDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		// Git has packed the ref meanwhile, and removed the empty folder. The value is in
		// packed-refs, which git syncs if core.fsync says so.
		return nil
	}
	return err
}

func describeHash(h Hash) string {
	if h.IsZero() {
		return "nothing"
	}
	return h.String()
}

// deleteLocked deletes a ref whose lock is held. The packed value is removed before the file, so that a
// crash in between does not bring back an older value. The lock on packed-refs is held until both are
// gone, so that git does not pack the ref in between. The reflog is removed first: a ref without a
// log is fine, a log without a ref is not.
func (r *Repo) deleteLocked(u RefUpdate) (err error) {
	packed, err := r.locks.Lock(r.packedPath())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, packed.Release()) }()
	if err := r.logDeletion(u); err != nil {
		return err
	}
	if err := r.removePacked(u.Name); err != nil {
		return err
	}
	path := r.RefPath(u.Name)
	if st, serr := os.Lstat(path); serr == nil && !st.IsDir() {
		if err := r.fs.Remove(path); err != nil {
			return err
		}
		return r.fs.SyncDir(filepath.Dir(path))
	}
	return nil
}

// checkAvailable refuses a new name that clashes with an existing ref: refs/heads/a and
// refs/heads/a/b cannot both be files. Files below the name are left to clearEmptyDir.
func (r *Repo) checkAvailable(name string) error {
	for above := path.Dir(name); above != "refs"; above = path.Dir(above) {
		_, _, err := r.readRef(above)
		if err == nil {
			return fmt.Errorf("%s exists, so %s cannot", above, name)
		}
		if !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	var below string
	err := r.packedRefs(name+"/", nil, func(child string, _ Hash) { below = child })
	if err == nil && below != "" {
		err = fmt.Errorf("%s exists, so %s cannot", below, name)
	}
	return err
}

// clearEmptyDir removes empty folders, left by deleted refs, at the path of a new ref's file, and our dead
// locks in them. Anything else in there is a ref, or somebody's lock on one, and gives an error.
func (r *Repo) clearEmptyDir(path string) error {
	if st, err := os.Lstat(path); err != nil || !st.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		if IsAbsent(err) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		child := filepath.Join(path, e.Name())
		switch {
		case e.IsDir():
			err = r.clearEmptyDir(child)
		case strings.HasSuffix(child, ".lock") && gitlock.IsDead(child):
			err = r.fs.Remove(child)
		case strings.HasSuffix(child, ".lock"):
			err = &gitlock.HeldError{Path: child}
		default:
			err = fmt.Errorf("%s exists and is in the way", child)
		}
		if err != nil {
			return err
		}
	}
	return r.fs.Remove(path)
}

// removeEmptyParents removes the empty folders above a deleted ref as git does, below refs/<kind>. It
// stops at the first that is not empty, or is in use.
func (r *Repo) removeEmptyParents(name string) {
	for _, root := range []string{r.gitDir, filepath.Join(r.gitDir, "logs")} {
		for parts := strings.Split(name, "/"); len(parts) > 3; parts = parts[:len(parts)-1] {
			dir := filepath.Join(root, filepath.Join(parts[:len(parts)-1]...))
			if r.fs.Remove(dir) != nil {
				break
			}
		}
	}
}
