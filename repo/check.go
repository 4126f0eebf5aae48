package repo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// What a hook asks before git moves a ref, or makes a commit.

// RefUpdate moves a ref from one object to another: ids as hex digits, zeros for none.
type RefUpdate struct{ Ref, Old, New string }

// CheckUpdates refuses, with ErrConflict, to move refs of a repository if that would break
// what the format promises: history of tapes and forks is only added to, tapes are not
// deleted, tags of handoffs name the commits that their phases came with and stay there,
// archives hold tapes. They are looked at together: a purged tape comes with other tags. Other
// refs are not its business. The errors are those of the refs, in their order, nil for each
// that may be moved. gitDir may be a bare repository that is no workspace.
func CheckUpdates(ctx context.Context, gitDir string, updates []RefUpdate) []error {
	out := make([]error, len(updates))
	s, err := openBare(gitDir)
	c := &updateCheck{s: s, updates: updates, heads: map[string]gitstore.Hash{}, incoming: s.newIncomingCheck(), purges: map[string]remade{}}
	for _, u := range updates {
		if h, err := gitstore.ParseHash(u.New); err == nil && !h.IsZero() {
			c.heads[u.Ref] = h
		}
	}
	for i, u := range updates {
		if out[i] = classify(err); err == nil {
			out[i] = c.check(ctx, u)
		}
	}
	return out
}

// updateCheck looks at refs that move together.
type updateCheck struct {
	s        *Store
	updates  []RefUpdate
	heads    map[string]gitstore.Hash // what refs shall be
	incoming *incomingCheck           // of what is new
	purges   map[string]remade        // that were looked at, by slug
}

func (c *updateCheck) check(ctx context.Context, u RefUpdate) error {
	ref := u.Ref
	from, err1 := parseObject(u.Old)
	to, err2 := parseObject(u.New)
	if err := errors.Join(err1, err2); err != nil || from == to {
		return err
	}
	branch := strings.TrimPrefix(ref, "refs/heads/")
	switch {
	case strings.HasPrefix(ref, tagPrefix):
		if from.IsZero() {
			return c.newTag(ctx, ref, to)
		}
		return c.tagUpdate(ctx, ref, from, to)
	case strings.HasPrefix(ref, archivePrefix):
		if to.IsZero() {
			return nil
		}
		n, err := parseIncoming(ref)
		if err != nil {
			return notTaken(ref, err)
		}
		return c.s.checkGrowth(ctx, branchPrefix+n.slug, gitstore.ZeroHash, to)
	case !to.IsZero() && (strings.HasPrefix(ref, branchPrefix) || strings.HasPrefix(ref, forkPrefix)):
		return c.s.checkGrowth(ctx, ref, from, to)
	case strings.HasPrefix(ref, branchPrefix):
		return conflict("who owns the repository can delete it there", "%s is the history of a tape, which is not deleted", branch)
	default:
		return nil
	}
}

// newTag refuses a tag that nobody who pulls would take.
func (c *updateCheck) newTag(ctx context.Context, ref string, h gitstore.Hash) error {
	n, err := parseIncoming(ref)
	if err == nil {
		err = c.knowOwner(n.slug, h)
	}
	if err == nil {
		err = c.incoming.tag(ctx, n, h)
	}
	return notTaken(ref, err)
}

// knowOwner finds the branch that a tag is of, which was looked at when it came, or is now.
func (c *updateCheck) knowOwner(slug string, tag gitstore.Hash) error {
	if c.incoming.tapes[slug] != nil {
		return nil
	}
	at, err := c.s.git.Peel(tag)
	if err != nil {
		return nil //nolint:nilerr // it is no tag: that is said of it
	}
	name, err := c.s.nameAt(at)
	if err != nil {
		return err
	}
	t := c.s.named(name, at)
	head, ok := c.heads[t.branch]
	if !ok {
		if head, err = c.s.git.Ref(t.branch); err != nil {
			return nil //nolint:nilerr // of a fork that was merged: then its own history is looked at
		}
	}
	if t.slug == slug {
		c.incoming.tapes[slug] = newFirstChain(head, t)
	}
	return nil
}

// notTaken makes a conflict of a refusal.
func notTaken(ref string, err error) error {
	if errors.Is(err, ErrRefused) {
		return conflict("tags in anchor/ are made by tape handoff, archives by tape reset --archive: give it another name", "%s: %v", shortRef(ref), err)
	}
	return err
}

// tagUpdate refuses to move or delete the tag of a handoff. That of a fork goes with the
// fork, and that of a tape which was purged with its commit, or with the name of its phase.
func (c *updateCheck) tagUpdate(ctx context.Context, ref string, from, to gitstore.Hash) error {
	s := c.s
	refused := conflict("tags of handoffs stay for good", "the tag %s is there already, and would be moved or deleted", shortTag(ref))
	old, err := s.git.Peel(from)
	if err != nil {
		return refused
	}
	name, err := s.nameAt(old)
	if err != nil {
		return err
	}
	t := s.named(name, old)
	if to.IsZero() && t.IsFork() {
		return nil
	}
	head, ok := c.heads[t.branch]
	if !ok {
		if head, err = t.head(); err != nil {
			return refused
		}
	}
	purged, ok, err := c.purged(ctx, t, old, head)
	if err != nil || !ok {
		return cmp.Or(err, refused)
	}
	if to.IsZero() {
		v, err := s.commitView(purged)
		if err != nil {
			return err
		}
		folder := ref[strings.LastIndexByte(ref, '/')+1:]
		if slices.ContainsFunc(v.list, func(p phase) bool { return p.folder == folder }) {
			return refused
		}
		return nil
	}
	if next, err := s.git.Peel(to); err != nil || next != purged {
		return refused
	}
	return nil
}

// purged is what purges have made of a commit of a tape. They are made again for the newest
// commit of what moves, which tells it of those before it as well.
func (c *updateCheck) purged(ctx context.Context, t *Tape, old, head gitstore.Hash) (gitstore.Hash, bool, error) {
	if _, known := c.purges[t.slug]; !known {
		newest, name := old, ""
		for _, u := range c.updates {
			isOf := u.Ref == t.branch || strings.HasPrefix(u.Ref, tagPrefix+t.slug+"/") && u.Ref > name && name != t.branch
			if h, err := gitstore.ParseHash(u.Old); isOf && err == nil && !h.IsZero() {
				if h, err = c.s.git.Peel(h); err == nil {
					newest, name = h, u.Ref
				}
			}
		}
		made, _, err := c.s.checkPurged(ctx, nil, newest, head)
		if err != nil {
			return gitstore.ZeroHash, false, err
		}
		c.purges[t.slug] = made
	}
	if r := c.purges[t.slug].r; r != nil && r.done[old] {
		return r.to(old), r.to(old) != old, nil
	}
	made, ok, err := c.s.checkPurged(ctx, nil, old, head)
	return made.next, ok, err
}

func parseObject(hex string) (gitstore.Hash, error) {
	h, err := gitstore.ParseHash(hex)
	if err != nil {
		return h, invalid("give all 40 digits", "%q is not the id of an object: %v", hex, err)
	}
	return h, nil
}

// checkGrowth checks that a branch's new commit continues the old one (zero: none).
func (s *Store) checkGrowth(ctx context.Context, ref string, from, to gitstore.Hash) error {
	branch := strings.TrimPrefix(ref, "refs/heads/")
	t, err := s.tapeAt(ref, to)
	if err != nil {
		return err
	}
	a := s.newAudit(policy{compare: true})
	chain, at, err := a.chain(ctx, to, from)
	if errors.Is(err, errRewritten) {
		if _, ok, err := s.checkPurged(ctx, nil, from, to); err != nil {
			return err
		} else if ok {
			return s.checkGrowth(ctx, ref, gitstore.ZeroHash, to)
		}
		return conflict("tape pull joins what both have; nothing is pushed by force",
			"%s does not continue %s: history was rewritten, or the other side has more", branch, short(from))
	}
	if err != nil {
		return err
	}
	return notAdded(ctx, branch, a.walk(ctx, t, chain, at, 0))
}

// tapeAt is the handle of a branch as a commit would leave it.
func (s *Store) tapeAt(ref string, h gitstore.Hash) (*Tape, error) {
	if strings.HasPrefix(ref, forkPrefix) {
		name, err := s.nameOfFork(ref, h)
		if err != nil {
			return nil, err
		}
		return s.forkHandle(name), nil
	}
	v, err := s.commitView(h)
	if err != nil {
		return nil, err
	}
	info, err := v.tapeInfo()
	if err != nil {
		return nil, err
	}
	if t := s.handle(info.Name); t.branch == ref {
		return t, nil
	}
	return nil, conflict("a tape's branch is named after it", "the commit is of the tape %q, whose branch is %s",
		info.Name, strings.TrimPrefix(branchOf(info.Name, ref), "refs/heads/"))
}

// notAdded makes a conflict of what an audit has found.
func notAdded(ctx context.Context, branch string, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil || err == nil {
		return ctxErr
	}
	return conflict("entries are only added: bring back what was recorded", "%s: %v", branch, err)
}

// CheckTree refuses, with ErrConflict, a commit that is about to be made on a branch, if
// its tree does not only add to its parent's ("" if it has none). Branches that are not a
// tape's or a fork's are not its business.
func (s *Store) CheckTree(ctx context.Context, branch, parent, tree string) error {
	ref := "refs/heads/" + strings.TrimPrefix(branch, "refs/heads/")
	if !strings.HasPrefix(ref, branchPrefix) && !strings.HasPrefix(ref, forkPrefix) || parent == "" {
		return nil
	}
	t, err := s.tapeOfBranch(ref)
	if err != nil {
		return err
	}
	from, err := parseObject(parent)
	if err != nil {
		return err
	}
	to, err := parseObject(tree)
	if err != nil {
		return err
	}
	if _, err := s.commitView(from); err != nil {
		return err
	}
	a := s.newAudit(policy{})
	before, err := a.load(from, nil)
	if err == nil {
		_, err = a.stepTree(to, before, "")
	}
	return notAdded(ctx, t.Branch(), err)
}
