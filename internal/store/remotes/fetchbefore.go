package remotes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/audit"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// before returns the commit that a fetched ref must continue: its accepted commit, or zero in two cases. A
// merged fork may have been pushed again, with fewer entries or other tags. And a tape may have been purged,
// as its new history records. ErrConflict if published entries were put elsewhere, or a purge is not to be
// repeated here.
func (a *acceptance) before(ctx context.Context, in layout.Incoming) (gitstore.Hash, error) {
	isTag, isFork := strings.HasPrefix(in.Ref, layout.TagPrefix), strings.HasPrefix(in.Ref, layout.ForkPrefix)
	if in.Old.IsZero() || !isTag && !isFork && !strings.HasPrefix(in.Ref, layout.BranchPrefix) {
		return in.Old, nil
	}
	old, err := a.s.Git().Peel(in.Old)
	if err != nil {
		return in.Old, layout.CorruptObject(in.Old, err)
	}
	if !isTag {
		if at, err := lineage.CommonCommit(a.s, in.New, old); err == nil && at == old {
			return in.Old, nil
		}
		if has, err := lineage.Contains(a.s, in.New, old); err != nil {
			return in.Old, nil //nolint:nilerr // the check reports what is missing
		} else if has {
			return in.Old, layout.Conflict("", "history was rewritten: somebody has used git to put published entries after others").Try(layout.AcceptRewritten)
		}
	}
	if isTag || isFork {
		if merged, err := a.isMerged(old); err != nil || merged {
			return gitstore.ZeroHash, err
		}
	}
	if !isTag {
		return a.beforePurge(ctx, in)
	}
	if !a.purged[snapshot.SlugOf(in.Ref)].IsZero() {
		return gitstore.ZeroHash, nil
	}
	return in.Old, nil
}

// isMerged reports whether an ancestor of a fork, as it was fetched, contains the fork's commit h.
func (a *acceptance) isMerged(h gitstore.Hash) (bool, error) {
	name, err := a.s.NameAt(h)
	if err != nil {
		return false, err
	}
	for f := a.s.ForkHandle(name); f != nil; f = a.s.ForkHandle(f.Parent()) {
		for _, branch := range branchesOf(a.s, f.Parent()) {
			if a.fetched[branch].IsZero() {
				continue
			}
			if has, err := lineage.Contains(a.s, a.fetched[branch], h); err != nil || has {
				return has, err
			}
			break
		}
	}
	return false, nil
}

// isOfRefused reports whether a ref belongs to a refused tape or fork: the tag of a handoff in it, or a
// fork of it at any depth.
func (a *acceptance) isOfRefused(in layout.Incoming) bool {
	if len(a.refused) == 0 || strings.HasPrefix(in.Ref, layout.BranchPrefix) || strings.HasPrefix(in.Ref, layout.ArchivePrefix) {
		return false // accepted or refused on its own
	}
	if a.check.Small(in.New, in.Ref, audit.LargeCommit, "") != nil {
		return false // Check reports it
	}
	at, err := a.s.Git().Peel(in.New)
	if err == nil {
		_, err = a.check.Commit(at)
	}
	if err != nil {
		return false
	}
	name, err := a.s.NameAt(at)
	for ok := err == nil && name != ""; ok; name, _, ok = layout.CutFork(name) {
		if a.refused[layout.TapeSlug(name)] {
			return true
		}
	}
	return false
}

// isLeftOver reports whether a ref is a useless tag: of a handoff in a fork that was merged, or in a tape
// or fork that the remote does not have.
func (a *acceptance) isLeftOver(in layout.Incoming) bool {
	at, err := a.s.Git().Peel(in.New)
	if err != nil || !strings.HasPrefix(in.Ref, layout.TagPrefix) {
		return false
	}
	if merged, err := a.isMerged(at); err == nil && merged {
		return true
	}
	name, err := a.s.NameAt(at)
	return err == nil && in.Old.IsZero() && layout.TapeSlug(name) == snapshot.SlugOf(in.Ref) &&
		!slices.ContainsFunc(branchesOf(a.s, name), func(branch string) bool { return !a.fetched[branch].IsZero() })
}

// beforePurge lets a purged history replace a branch if purges are to be repeated. Entries that others added
// to the old history after the purge are not in the new one; those that are here are kept.
func (a *acceptance) beforePurge(ctx context.Context, in layout.Incoming) (gitstore.Hash, error) {
	t, err := snapshot.TapeAt(a.s, in.Ref, in.New)
	if err != nil {
		return in.Old, nil //nolint:nilerr // the check reports what is wrong
	}
	made, ok, err := rewrite.RecordedPurge(ctx, a.s, in.Old, in.New)
	if err != nil || !ok {
		return in.Old, nil //nolint:nilerr // the check reports a rewritten history
	}
	if !a.o.Purges {
		a.refused[t.Slug()] = true
		return in.Old, layout.Conflict("", "%q was purged at %s: %s changed", t.Name(), a.remote, layout.CountEntries(made.Entries())).Try(layout.PullPurge)
	}
	if err := a.askPurge(ctx, t, in, made); err != nil {
		a.refused[t.Slug()] = true
		return in.Old, layout.Conflict("", "%q was purged at %s, and stays here: %v", t.Name(), a.remote, err).Try(layout.PullPurge)
	}
	a.purged[t.Slug()] = in.Old
	return gitstore.ZeroHash, nil
}

// askPurge asks once for each tape with its forks whether its purge is repeated here.
func (a *acceptance) askPurge(ctx context.Context, t *workspace.Tape, in layout.Incoming, made rewrite.Replaced) error {
	root := snapshot.RootName(t)
	answer, known := a.asked[root]
	if known || a.o.AskPurge == nil {
		return answer
	}
	there := PurgeThere{Tape: t.Name(), Remote: a.remote, By: made.By}
	before, err := snapshot.AtCommit(a.s, in.Old)
	if err != nil {
		return err
	}
	for e, err := range before.After(ctx, nil, t.Name()) {
		if err != nil {
			return err
		}
		if whole, changed := made.IsWhole(e.ID); changed {
			there.Entries = append(there.Entries, TakenAway{ID: e.ID, Kind: e.Kind, Role: e.Role(), Author: e.Author(), Whole: whole})
		}
	}
	a.asked[root] = a.o.AskPurge(ctx, there)
	return a.asked[root]
}

// follow repeats here a purge that was made at the remote, and refuses what was purged here.
func (a *acceptance) follow(ctx context.Context, in layout.Incoming) error {
	if strings.HasPrefix(in.Ref, layout.TagPrefix) {
		return nil
	}
	head, err := a.s.Git().Ref(in.Ref)
	if errors.Is(err, gitstore.ErrNotFound) || strings.HasPrefix(in.Ref, layout.ArchivePrefix) {
		return a.notPurged(ctx, in)
	}
	if err != nil {
		return err
	}
	t, err := a.s.TapeOfBranch(in.Ref)
	if err != nil {
		return err
	}
	old := a.accepted[in.Ref]
	switch {
	case !a.purged[t.Slug()].IsZero():
		base, err := lineage.CommonCommit(a.s, head, a.purged[t.Slug()])
		if errors.Is(err, layout.ErrConflict) {
			return nil // a fork, which was purged together with its tape
		}
		if err != nil {
			return err
		}
		if has, err := lineage.Contains(a.s, in.New, base); err != nil || has {
			return err // our history has nothing that was purged
		}
		err = purge.FollowPurge(ctx, t, base, in.New, purge.PurgeOptions{Derived: a.o.Derived})
		a.followed = err == nil // otherwise it would be tried again forever
		return err
	case old.IsZero():
		return notReplaced(ctx, t, a.remote, head, in.New)
	}
	return nil
}

// notReplaced refuses a remote's unpurged history of a tape that was purged here. If the remote has no
// entries of its own, the hint says how to replace its history.
func notReplaced(ctx context.Context, t *workspace.Tape, remote string, head, theirs gitstore.Hash) error {
	records, was, err := rewrite.WasPurged(ctx, t.Store(), head, theirs)
	if err != nil || !was {
		return err
	}
	all, err := rewrite.CheckPurged(ctx, t.Store(), nil, theirs, head)
	if err != nil {
		return err
	}
	if !all {
		return layout.Conflict("", "%s still has what was purged of %q here, and entries that somebody has pushed since", remote, t.Name()).
			Try(layout.PurgeInClone, append([]string{t.Store().Dir(), remote, t.Name()}, records.Again()...)...)
	}
	branch, tags := layout.ShellWord(t.Branch()), layout.ShellWord("+"+layout.TagPrefix+t.Slug()+"/*:"+layout.TagPrefix+t.Slug()+"/*")
	git := "git -C " + layout.ShellWord(t.Store().Dir()) + " push --no-verify "
	return layout.Conflict(fmt.Sprintf("replace it there: %s--force-with-lease=%s:%s %s %s && %s%s %s", git, branch, theirs, layout.ShellWord(remote), branch, git, layout.ShellWord(remote), tags),
		"%s still has what was purged of %q here", remote, t.Name())
}

// notPurged refuses an archive, or a fork that is not here, if its history was purged here.
func (a *acceptance) notPurged(ctx context.Context, in layout.Incoming) error {
	name, err := a.s.NameAt(in.New)
	if err != nil {
		return err
	}
	for ok := name != ""; ok; name, _, ok = layout.CutFork(name) {
		t, err := a.s.Tape(ctx, name)
		if errors.Is(err, layout.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		head, err := t.Head()
		if err != nil {
			return err
		}
		_, was, err := rewrite.WasPurged(ctx, t.Store(), head, in.New)
		if err == nil && was {
			err = layout.Conflict(fmt.Sprintf("delete it there: git -C %s push --no-verify --force-with-lease=%s:%s %s :%s",
				layout.ShellWord(a.s.Dir()), layout.ShellWord(in.Ref), in.New, layout.ShellWord(a.remote), layout.ShellWord(in.Ref)),
				"%s still has what was purged of %q here", a.remote, t.Name())
		}
		return err
	}
	return nil
}
