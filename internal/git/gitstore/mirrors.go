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

func isMirror(name string) bool {
	return strings.HasPrefix(name, remoteRefs) || strings.HasPrefix(name, FetchedPrefix)
}

// RemoteRefs returns the prefix of the refs that mirror what was fetched from a remote and accepted. Only
// tape writes there; a user's git fetch does not.
func RemoteRefs(name string) string { return remoteRefs + name + "/" }

// FetchedRefs returns the prefix of the refs that were fetched and are not yet checked.
func FetchedRefs(name string) string { return FetchedPrefix + name + "/" }

// RecoverMirrors removes leftovers of crashes among the refs that mirror remotes, because git would stop at
// them, and returns their paths: locks of our dead processes, and refs that hold no object id or name a
// missing object. Such refs occur because a git that fetches for us syncs neither refs nor the names of
// packs. What they held can be fetched again.
func (r *Repo) RecoverMirrors(ctx context.Context) (removed []string, err error) {
	removeDead := r.clearDead(&removed)
	err = r.locks.Guarded(ctx, r.refGuard(), func() error {
		if err := removeDead(r.packedPath() + ".lock"); err != nil { // a fetch that deletes refs takes it
			return err
		}
		for _, prefix := range []string{FetchedPrefix, remoteRefs} {
			if err := gitlock.EachLockIn(r.RefPath(prefix), removeDead); err != nil {
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

func (r *Repo) damagedUnder(prefix string) (names []string) {
	_ = eachFile(r.gitDir, prefix, func(_, name string) error {
		if CheckRefName(name) == nil && r.isDamaged(name) {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// isDamaged reports whether a loose ref holds no object id, or names a missing object. A file that cannot be
// read does not count.
func (r *Repo) isDamaged(name string) bool {
	h, target, err := readLoose(r.RefPath(name))
	if err == nil && target == "" {
		_, err = r.Peel(h)
		return errors.Is(err, ErrNotFound)
	}
	return errors.Is(err, ErrDamagedRef)
}
