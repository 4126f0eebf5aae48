package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
		if at, err := a.s.commonCommit(in.New, old); err == nil && at == old {
			return in.Old, nil
		}
		if has, err := a.s.contains(in.New, old); err != nil {
			return in.Old, nil //nolint:nilerr // what is missing is told by the check
		} else if has {
			return in.Old, conflict(takeAsItIs, "history was rewritten: by git, somebody has merged what was published behind something else")
		}
	}
	if isTag || isFork {
		if merged, err := a.isMerged(old); err != nil || merged {
			return gitstore.ZeroHash, err
		}
	}
	if isTag {
		slug, _, _ := strings.Cut(strings.TrimPrefix(in.Ref, tagPrefix), "/")
		if !a.purged[slug].IsZero() {
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

// isOfMerged reports whether a ref is the tag of a handoff in a fork that was merged: it has
// gone with the fork, and is of no use where somebody has pushed it again.
func (a *acceptance) isOfMerged(in incoming) bool {
	if !strings.HasPrefix(in.Ref, tagPrefix) {
		return false
	}
	at, err := a.s.git.Peel(in.New)
	if err != nil {
		return false
	}
	merged, err := a.isMerged(at)
	return err == nil && merged
}

// isOfRefused reports whether a ref is of a tape or fork of which nothing is used: the tag of
// a handoff in it, a fork of it, or what is of that.
func (a *acceptance) isOfRefused(in incoming) bool {
	if len(a.refused) == 0 || strings.HasPrefix(in.Ref, branchPrefix) {
		return false
	}
	if n, _, err := cutIncoming(in.Ref); err == nil && n.kind == kindArchive {
		return false // it stands for itself
	}
	if a.check.small(in.New, in.Ref, largeCommit, "") != nil {
		return false // which is told of it
	}
	at, err := a.s.git.Peel(in.New)
	if err == nil {
		_, err = a.check.commit(at)
	}
	if err != nil {
		return false
	}
	name, err := a.s.nameAt(at)
	for ok := err == nil && name != ""; ok; name, _, ok = cutFork(name) {
		if a.refused[tapeSlug(name)] {
			return true
		}
	}
	return false
}

// isOfNone reports whether a ref is the tag of a handoff in a tape or fork that the remote
// does not have: it is of no use without.
func (a *acceptance) isOfNone(in incoming) bool {
	slug, ok := strings.CutPrefix(in.Ref, tagPrefix)
	if !ok || !in.Old.IsZero() {
		return false
	}
	slug, _, _ = strings.Cut(slug, "/")
	at, err := a.s.git.Peel(in.New)
	if err != nil {
		return false
	}
	name, err := a.s.nameAt(at)
	if err != nil || tapeSlug(name) != slug {
		return false
	}
	branches := []string{a.s.handle(name).branch}
	if f := a.s.forkHandle(name); f != nil {
		branches = append(branches, f.branch)
	}
	return !slices.ContainsFunc(branches, func(branch string) bool { return !a.fetched[branch].IsZero() })
}

// beforePurge lets a branch be another one that was purged, if that is wanted. What was
// added to the old history since then is not in the new one: it is ours still, if we have
// it.
func (a *acceptance) beforePurge(ctx context.Context, in incoming) (gitstore.Hash, error) {
	t, err := a.s.tapeAt(in.Ref, in.New)
	if err != nil {
		return in.Old, nil //nolint:nilerr // the check says what is wrong
	}
	made, claimed, err := t.purgedFrom(ctx, in.Old, in.New)
	switch {
	case err != nil || made.old.IsZero() && !claimed:
		return in.Old, nil //nolint:nilerr // then it is a history that was rewritten
	case made.old.IsZero():
		a.refused[t.slug] = true
		return in.Old, conflict("it may have been purged by another version of tape: use that one, or clone it again into another workspace, and compare",
			"%q was purged at %s, as a record there says, but the same purge gives something else here", t.name, a.remote)
	case !a.o.Purges:
		a.refused[t.slug] = true
		return in.Old, conflict("tape pull --purge takes it out here, too, for good",
			"%q was purged at %s: %s changed", t.name, a.remote, countEntries(int64(len(made.ids))))
	}
	if a.purged == nil {
		a.purged = map[string]gitstore.Hash{}
	}
	a.purged[t.slug] = made.old
	return gitstore.ZeroHash, nil
}

// purgedFrom finds what of a history became another one by the purges that it records: its
// newest commit, or one that a purge replaced. Claimed says that there is a record of such a
// purge, whether it holds or not.
func (t *Tape) purgedFrom(ctx context.Context, old, next gitstore.Hash) (made remade, claimed bool, err error) {
	was, err1 := t.store.firstParents(ctx, old)
	is, err2 := t.store.firstParents(ctx, next)
	if err := errors.Join(err1, err2); err != nil {
		return made, false, err
	}
	candidates := []gitstore.Hash{old}
	for _, h := range is {
		c, err := t.store.git.Commit(h)
		if err != nil {
			return made, false, corruptObject(h, err)
		}
		if replaced, err := gitstore.ParseHash(c.Trailer(trailerReplaces)); err == nil && slices.Contains(was, replaced) {
			candidates, claimed = append(candidates, replaced), true
		}
	}
	for _, h := range candidates {
		if made, ok, err := t.store.checkPurged(ctx, nil, h, next); err != nil || ok {
			return made, claimed, err
		}
	}
	return remade{}, claimed, nil
}

// follow does here what a purge has done at the remote, and refuses what a purge here has
// taken out.
func (a *acceptance) follow(ctx context.Context, in incoming) error {
	if strings.HasPrefix(in.Ref, tagPrefix) {
		return nil
	}
	head, err := a.s.git.Ref(in.Ref)
	if errors.Is(err, gitstore.ErrNotFound) || strings.HasPrefix(in.Ref, archivePrefix) {
		return a.notPurged(ctx, in)
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
	case !a.purged[t.slug].IsZero():
		base, err := a.s.commonCommit(head, a.purged[t.slug])
		if errors.Is(err, ErrConflict) {
			return nil // it was followed with the tape, of which it is a fork
		}
		if err != nil {
			return err
		}
		if has, err := a.s.contains(in.New, base); err != nil || has {
			return err // what was taken out never was here
		}
		err = followPurge(ctx, t, base, in.New, PurgeOptions{Derived: a.o.Derived})
		a.followed = err == nil // else the same would be tried again without end
		return err
	case old.IsZero():
		return t.notReplaced(ctx, a.remote, head, in.New)
	}
	return nil
}

// notReplaced refuses what a remote has of a tape if that was purged here. Where the remote
// has nothing else, the hint replaces it.
func (t *Tape) notReplaced(ctx context.Context, remote string, head, theirs gitstore.Hash) error {
	was, err := t.store.wasPurged(ctx, head, theirs)
	if err != nil || !was {
		return err
	}
	_, all, err := t.store.checkPurged(ctx, nil, theirs, head)
	if err != nil {
		return err
	}
	if !all {
		here, err := t.store.firstParents(ctx, head)
		if err != nil {
			return err
		}
		what, err := t.store.purgeAgain(ctx, here)
		if err != nil {
			return err
		}
		return conflict(fmt.Sprintf("purge the same in a fresh clone of it: tape clone \"$(git -C %s remote get-url %s)\" fresh && tape --workspace fresh --tape %s purge %s --yes\n"+
			"then run the commands that this prints, and tape pull here", shellWord(t.store.dir), shellWord(remote), shellWord(t.name), what),
			"%s still has of %q what was purged here, and entries that somebody has pushed since", remote, t.name)
	}
	branch, tags := shellWord(t.Branch()), shellWord("+"+tagPrefix+t.slug+"/*:"+tagPrefix+t.slug+"/*")
	git := "git -C " + shellWord(t.store.dir) + " push --no-verify "
	return conflict(fmt.Sprintf("replace it there: %s--force-with-lease=%s:%s %s %s && %s%s %s", git, branch, theirs, shellWord(remote), branch, git, shellWord(remote), tags),
		"%s still has of %q what was purged here", remote, t.name)
}

// notPurged refuses a fork that is not here, or an archive, of a history that was purged here.
func (a *acceptance) notPurged(ctx context.Context, in incoming) error {
	name, err := a.s.nameAt(in.New)
	if err != nil {
		return err
	}
	for ok := name != ""; ok; name, _, ok = cutFork(name) {
		t, err := a.s.Tape(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		head, err := t.head()
		if err != nil {
			return err
		}
		was, err := t.store.wasPurged(ctx, head, in.New)
		if err == nil && was {
			err = conflict(fmt.Sprintf("delete it there: git -C %s push --no-verify --force-with-lease=%s:%s %s :%s",
				shellWord(a.s.dir), shellWord(in.Ref), in.New, shellWord(a.remote), shellWord(in.Ref)),
				"%s still has of %q what was purged here", a.remote, t.name)
		}
		return err
	}
	return nil
}
