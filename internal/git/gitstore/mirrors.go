package gitstore

import (
	"context"
	"errors"
	"strings"

	"tape/internal/git/gitlock"
)

// remoteRefs and FetchedPrefix are the prefixes of refs that mirror remotes.
const (
	remoteRefs    = "refs/tape/remotes/"
	FetchedPrefix = "refs/tape/fetched/"
)

// isMirror reports whether a ref mirrors a remote, in a namespace of our own.
func isMirror(name string) bool {
	return strings.HasPrefix(name, remoteRefs) || strings.HasPrefix(name, FetchedPrefix)
}

// RemoteRefs returns the prefix of the refs that hold what a remote has, as far as it was fetched and
// accepted. Nothing else writes there; git's own fetch does not.
func RemoteRefs(name string) string { return remoteRefs + name + "/" }

// FetchedRefs returns the prefix for what was fetched and not yet checked.
func FetchedRefs(name string) string { return FetchedPrefix + name + "/" }

// RecoverMirrors removes what crashes left among the refs that mirror remotes, at which git would
// stop, and returns the paths: locks of dead processes of ours, and refs that are empty or name a
// missing object. When git fetches for us, it syncs neither these refs nor the names of packs; what
// they held can be fetched again.
func (r *Repo) RecoverMirrors(ctx context.Context) (removed []string, err error) {
	clear := r.clearDead(&removed)
	err = r.locks.Guarded(ctx, r.refGuard(), func() error {
		if err := clear(r.packedPath() + ".lock"); err != nil { // a fetch deletes refs too
			return err
		}
		for _, prefix := range []string{FetchedPrefix, remoteRefs} {
			if err := gitlock.EachLockIn(r.RefPath(prefix), clear); err != nil {
				return err
			}
			for _, name := range r.damagedUnder(prefix) {
				if err := r.removeLoose(name, func() bool { return r.isDamaged(name) }); err != nil {
					return err
				}
				removed = append(removed, r.RefPath(name))
			}
		}
		return nil
	})
	return removed, Wrap(err, "recover refs of remotes")
}

// damagedUnder returns the refs with a prefix whose own file is damaged.
func (r *Repo) damagedUnder(prefix string) (names []string) {
	_ = eachFile(r.gitDir, prefix, func(_, name string) error {
		if CheckRefName(name) == nil && r.isDamaged(name) {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// isDamaged reports whether the file of a ref is unreadable, or names a missing object.
func (r *Repo) isDamaged(name string) bool {
	h, target, err := readLoose(r.RefPath(name))
	if err == nil && target == "" {
		_, err = r.Peel(h)
		return errors.Is(err, ErrNotFound)
	}
	return errors.Is(err, ErrDamagedRef)
}
