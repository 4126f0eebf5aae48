package gitstore

import (
	"context"
	"errors"
	"strings"

	"tape/internal/git/gitlock"
)

// remoteRefs and FetchedPrefix begin the names of the refs that mirror remotes.
const (
	remoteRefs    = "refs/tape/remotes/"
	FetchedPrefix = "refs/tape/fetched/"
)

// isMirror reports whether a ref only mirrors a remote, in a namespace of our own.
func isMirror(name string) bool {
	return strings.HasPrefix(name, remoteRefs) || strings.HasPrefix(name, FetchedPrefix)
}

// RemoteRefs begins the names of the refs that hold what a remote has, as far as it is
// known here and was found good. Nothing else writes there, and git's own fetch does not.
func RemoteRefs(name string) string { return remoteRefs + name + "/" }

// FetchedRefs is RemoteRefs for what was fetched and nobody has looked at yet.
func FetchedRefs(name string) string { return FetchedPrefix + name + "/" }

// RecoverMirrors removes what crashes have left of the refs that mirror remotes, and returns
// the paths: git stops at it. These are locks of ours whose process is dead, and refs of
// which nothing is left, or not the object that they name. Git syncs neither them nor the
// names of packs when it fetches for us, and what they held can be fetched again.
func (r *Repo) RecoverMirrors(ctx context.Context) (removed []string, err error) {
	clear := r.clearDead(&removed)
	err = r.locks.Guarded(ctx, r.refGuard(), func() error {
		if err := clear(r.packedPath() + ".lock"); err != nil { // who fetches deletes refs, too
			return err
		}
		for _, prefix := range []string{FetchedPrefix, remoteRefs} {
			if err := gitlock.EachIn(r.RefPath(prefix), clear); err != nil {
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

// damagedUnder lists the refs below a prefix that have a file of their own, which is of no use.
func (r *Repo) damagedUnder(prefix string) (names []string) {
	_ = eachFile(r.gitDir, prefix, func(_, name string) error {
		if CheckRefName(name) == nil && r.isDamaged(name) {
			names = append(names, name)
		}
		return nil
	})
	return names
}

// isDamaged reports whether the file of a ref holds nothing, or names an object that is missing.
func (r *Repo) isDamaged(name string) bool {
	h, target, err := readLoose(r.RefPath(name))
	if err == nil && target == "" {
		_, err = r.Peel(h)
		return errors.Is(err, ErrNotFound)
	}
	return errors.Is(err, ErrDamagedRef)
}
