package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tape/internal/gitstore"
)

// before is what a ref has to continue: what it was when it was last seen, with two
// exceptions. A fork that was merged since then may have been pushed anew, by somebody who
// had less of it, with tags of its own. And a tape may have been purged, which its history
// has a record of.
func (a *acceptance) before(ctx context.Context, in incoming) (gitstore.Hash, error) {
	isTag, isFork := strings.HasPrefix(in.Ref, tagPrefix), strings.HasPrefix(in.Ref, forkPrefix)
	if in.Old.IsZero() || !isTag && !isFork && !strings.HasPrefix(in.Ref, branchPrefix) {
		return in.Old, nil
	}
	old, err := a.s.git.Peel(in.Old)
	if err != nil {
		return in.Old, corruptObject(in.Old, err)
	}
	if !isTag {
		if has, err := a.s.contains(in.New, old); has || err != nil {
			return in.Old, nil //nolint:nilerr // what is missing is told by the check
		}
	}
	if isTag || isFork {
		if merged, err := a.isMerged(old); err != nil || merged {
			return gitstore.ZeroHash, err
		}
	}
	if isTag {
		slug, _, _ := strings.Cut(strings.TrimPrefix(in.Ref, tagPrefix), "/")
		if a.purged[slug] {
			return gitstore.ZeroHash, nil
		}
		return in.Old, nil
	}
	return a.beforePurge(ctx, in)
}

// isMerged reports whether a commit of a fork is part of what it is a fork of.
func (a *acceptance) isMerged(h gitstore.Hash) (bool, error) {
	name, err := a.s.nameAt(h)
	if err != nil {
		return false, err
	}
	for f := a.s.forkHandle(name); f != nil; f = a.s.forkHandle(f.Parent()) {
		branch := a.s.handle(f.Parent()).branch
		if up := a.s.forkHandle(f.Parent()); up != nil && a.fetched[branch].IsZero() {
			branch = up.branch
		}
		if tip := a.fetched[branch]; !tip.IsZero() {
			if has, err := a.s.contains(tip, h); err != nil || has {
				return has, err
			}
		}
	}
	return false, nil
}

// beforePurge lets a branch be another one that was purged, if that is wanted.
func (a *acceptance) beforePurge(ctx context.Context, in incoming) (gitstore.Hash, error) {
	t, err := a.s.tapeAt(in.Ref, in.New)
	if err != nil {
		return in.Old, nil //nolint:nilerr // the check says what is wrong
	}
	ids, ok, err := t.checkPurged(ctx, in.Old, in.New)
	switch {
	case err != nil || !ok:
		return in.Old, nil //nolint:nilerr // then it is a history that was rewritten
	case !a.o.Purges:
		return in.Old, conflict("tape pull --purge takes it out here, too, for good",
			"%s of %q were purged at %s of what had to go", countEntries(int64(len(ids))), t.name, a.remote)
	}
	if a.purged == nil {
		a.purged = map[string]bool{}
	}
	a.purged[t.slug] = true
	return gitstore.ZeroHash, nil
}

// follow does here what a purge has done at the remote, and refuses what a purge here has
// taken out.
func (a *acceptance) follow(ctx context.Context, in incoming) error {
	if !strings.HasPrefix(in.Ref, branchPrefix) && !strings.HasPrefix(in.Ref, forkPrefix) {
		return nil
	}
	head, err := a.s.git.Ref(in.Ref)
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t, err := a.s.tapeOfBranch(in.Ref)
	if err != nil {
		return err
	}
	old := a.accepted[in.Ref]
	switch {
	case a.purged[t.slug]:
		base, err := a.s.commonCommit(head, old)
		if errors.Is(err, ErrConflict) {
			return nil // it was followed with the tape, of which it is a fork
		}
		if err != nil {
			return err
		}
		if has, err := a.s.contains(in.New, base); err != nil || has {
			return err // what was taken out never was here
		}
		done, err := t.followPurge(ctx, base, in.New, PurgeOptions{Derived: a.o.Derived})
		for _, left := range done.Left {
			a.s.warn(left)
		}
		return err
	case old.IsZero():
		was, err := t.wasPurged(ctx, head, in.New)
		if err == nil && was {
			err = conflict(fmt.Sprintf("replace it there: git -C %s push --no-verify --force-with-lease=%s:%s %s %s; and its tags likewise",
				shellWord(a.s.dir), shellWord(t.Branch()), in.New, shellWord(a.remote), shellWord(t.Branch())),
				"%s still has of %q what was purged here", a.remote, t.name)
		}
		return err
	}
	return nil
}
