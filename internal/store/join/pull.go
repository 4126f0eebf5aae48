package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/forks"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/projects"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// How a tape is combined with the same tape at a remote, as it was last fetched:
//
//  1. The tape is not here: its branch is created. The same goes for a fork, unless it was merged or
//     discarded here.
//  2. The tape has everything that the remote has: nothing to do.
//  3. The remote continues the tape: the branch is fast-forwarded.
//  4. Both have entries of their own: one commit with two parents. Published entries come first and
//     keep their ids; entries that are only here follow with new ids, phases and tags.
//  5. The two have nothing in common: the remote's tape is taken if ours has only its first anchor and
//     no forks. If both are the same session of an agent, imported on two machines, published entries come
//     first, and those follow whose sources only we have. Otherwise it is refused.
//
// In cases 3 to 5, uncommitted entries are committed first. Where the remote has a tag, ours is set to it.

// Join combines a tape or fork with what was last fetched of it from a remote. A tape that is not here
// is created; it gets a working tree when it is first written to.
//
// If the histories cannot be combined, the status is RefRejected and has the error: an ErrConflict, which
// may be a *RewrittenError. The history here is then not changed, except that uncommitted entries may have
// been committed. Any other error is returned.
func Join(ctx context.Context, s *workspace.Store, remote, name string) (status layout.RefStatus, err error) {
	err = WithMergesCompleted(ctx, func() error {
		status, err = join(ctx, s, remote, name)
		return err
	})
	return status, err
}

func join(ctx context.Context, s *workspace.Store, remote, name string) (layout.RefStatus, error) {
	p := &pull{s: s, remote: remote, t: s.Handle(name)}
	p.status = layout.RefStatus{Tape: name, Status: layout.RefUpToDate}
	var err error
	if p.theirs, err = p.published(p.t.Ref()); errors.Is(err, gitstore.ErrNotFound) {
		if f := s.ForkHandle(name); f != nil {
			p.t = f
			p.theirs, err = p.published(f.Ref())
		}
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return p.status, layout.NotFound("", "%s has no tape %q, as it was last fetched", remote, name).Try(layout.FetchAgain)
	}
	p.status.Ref = p.t.Ref()
	if err == nil {
		err = p.run(ctx)
	}
	if errors.Is(err, layout.ErrConflict) {
		p.status.Status, p.status.Err = layout.RefRejected, err
		return p.status, nil
	}
	return p.status, layout.Wrap(err, "pull %q from %s", name, remote)
}

// pull combines one tape with a remote's.
type pull struct {
	s      *workspace.Store
	remote string
	t      *workspace.Tape
	theirs gitstore.Hash
	status layout.RefStatus
}

func (p *pull) published(branch string) (gitstore.Hash, error) {
	return p.s.Git().Ref(layout.AcceptedRefs(p.remote) + layout.InnerRef(branch))
}

func (p *pull) run(ctx context.Context) error {
	head, err := p.s.Git().Ref(p.t.Ref())
	if errors.Is(err, gitstore.ErrNotFound) {
		return p.create(ctx)
	}
	if err != nil {
		return err
	}
	if p.t.IsFork() && snapshot.StartOf(p.t, head) != snapshot.StartOf(p.t, p.theirs) {
		return layout.Conflict("", "there is another fork %q at %s, which began with something else", p.t.Name(), p.remote).Try(layout.MergeOrDiscard, p.t.ForkName())
	}
	rel, err := lineage.Relate(p.s, head, p.theirs)
	if err != nil {
		return err
	}
	rec, err := journal.PeekOf(p.t)
	if err != nil {
		return err
	}
	// Taking the lock completes a pull that was interrupted after it moved the branch.
	if !journal.CheckingOut(rec, head) && (rel == lineage.Equal || rel == lineage.Ahead) {
		return adoptTags(ctx, p.t, p.remote, head)
	}
	return writer.Locked(ctx, p.t, func(w *writer.Writer) error { return p.join(ctx, w) })
}

// create creates the branch of a tape or fork that is not here (case 1).
func (p *pull) create(ctx context.Context) error {
	t := p.t
	if t.IsFork() {
		if gone, err := forks.ClosedHere(ctx, t, p.theirs, true); err != nil || gone {
			return err
		}
	} else if err := writer.CheckNoFork(t); err != nil {
		return err
	}
	if err := projects.CheckForgotten(t); err != nil {
		return err
	}
	if owner, err := snapshot.TapeAt(p.s, t.Ref(), p.theirs); errors.Is(err, layout.ErrConflict) || err == nil && owner.Name() != t.Name() {
		return layout.Conflict("give one of them another name", "the branch %s is of another tape there", t.Branch())
	} else if err != nil {
		return err
	}
	who := p.s.Git().Committer(p.s.Now())
	if err := commits.PruneTags(ctx, t, nil); err != nil { // left by a former tape of that name
		return err
	}
	// The tags come first: if this is interrupted, tags without a tape do no harm, but a tape without its
	// tags is broken.
	if err := errors.Join(adoptTags(ctx, t, p.remote, p.theirs), commits.TagNew(ctx, t, p.theirs)); err != nil {
		return err
	}
	err := p.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: t.Ref(), New: p.theirs, Message: "tape: pull from " + p.remote, Who: who})
	if err != nil {
		return err
	}
	p.status.Status = layout.RefNew
	p.status.Entries, err = Gained(p.s, t.Ref(), gitstore.ZeroHash, p.theirs)
	return err
}

// join handles the other cases, with the tape locked.
func (p *pull) join(ctx context.Context, w *writer.Writer) error {
	s := p.s
	rel, err := lineage.Relate(s, w.Head, p.theirs)
	if err != nil {
		return err
	}
	if rel == lineage.Behind || rel == lineage.Diverged {
		if err := w.CheckpointAll(ctx); err != nil {
			return err
		}
		if rel, err = lineage.Relate(s, w.Head, p.theirs); err != nil {
			return err
		}
	}
	switch rel {
	case lineage.Equal, lineage.Ahead:
		return adoptTags(ctx, p.t, p.remote, w.Head)
	case lineage.Unrelated:
		if err := p.checkUnrelated(ctx, w); err != nil {
			if is, uniteErr := p.sameSession(ctx, w); is || uniteErr != nil {
				return uniteErr
			}
			return err
		}
		return p.fastForward(ctx, w, 0)
	case lineage.Behind:
		return p.fastForward(ctx, w, w.LastID())
	}
	theirs, err := p.completeTheirs(ctx)
	defer theirs.Objects.Discard()
	if err != nil {
		return err
	}
	merged, err := onto(ctx, w, theirs.Hash, ontoOptions{name: p.t.Name(), remote: p.remote})
	p.status.Status, p.status.Entries = layout.RefMerged, int64(merged.Merged)
	return errors.Join(err, theirs.Objects.Finish(ctx))
}

// checkUnrelated accepts a tape that has nothing in common with ours only if ours has just its first anchor
// and no forks (case 5).
func (p *pull) checkUnrelated(ctx context.Context, w *writer.Writer) error {
	forks, err := p.t.Forks(ctx)
	if err != nil {
		return err
	}
	if w.LastID() == 1 && len(forks) == 0 && !p.t.IsFork() {
		return nil
	}
	out := layout.Conflict("", "%q was begun both here and at %s, and the two have nothing in common", p.t.Name(), p.remote)
	if archives, err := snapshot.Archives(ctx, p.t); err == nil && len(archives) > 0 {
		out = out.Try(layout.RestoreLatest, p.t.Name())
	}
	if len(forks) > 0 {
		out = out.Try(layout.CloseForks)
	}
	return out.Try(layout.PutAfterTheirs, p.t.Name(), p.t.Slug()+".jsonl")
}

// fastForward moves the tape to what the remote has (cases 3 and 5); entries after the given id are new.
func (p *pull) fastForward(ctx context.Context, w *writer.Writer, after int64) error {
	p.status.Status = layout.RefFastForward
	next, err := p.completeTheirs(ctx)
	defer next.Objects.Discard()
	if err != nil {
		return err
	}
	last, err := snapshot.LastOf(p.s, next.Hash)
	if err != nil {
		return err
	}
	p.status.Entries = last - after
	next.Subject = fmt.Sprintf("pull: %s (%s)", p.remote, layout.CountEntries(p.status.Entries))
	return moveToPulled(ctx, w, next, p.remote)
}

// completeTheirs returns the remote's commit. If that is an incomplete merge by git, it stores and returns
// the commit that completes the merge.
func (p *pull) completeTheirs(ctx context.Context) (commits.Plan, error) {
	at := commits.Plan{Hash: p.theirs}
	if stretch, _, err := snapshot.ByGit(p.s, at.Hash); err != nil || len(stretch) == 0 {
		return at, err
	}
	batch := p.s.Git().NewBatch()
	m, err := resolve.Resolve(ctx, p.t, at.Hash, batch.Put)
	if err != nil || !m.Raw {
		batch.Discard()
		return at, err
	}
	plan, err := planCompletion(p.t, batch, m, at.Hash)
	if err != nil {
		batch.Discard()
		return at, err
	}
	return plan.Plan, batch.Flush(ctx)
}

// moveToPulled moves the branch to a commit whose phases get the remote's tags.
func moveToPulled(ctx context.Context, w *writer.Writer, next commits.Plan, remote string) error {
	v, err := snapshot.AtCommit(w.T.Store(), next.Hash)
	if err != nil {
		return err
	}
	if next.Tags, err = tagsToAdopt(w.T, remote, v.List); err != nil {
		return err
	}
	next.Clean = true
	return w.MoveTo(ctx, next, w.Head)
}

// adoptTags sets the tags of a tape's phases as the remote has them: published tags never move, but ours
// may have been created again.
func adoptTags(ctx context.Context, t *workspace.Tape, remote string, head gitstore.Hash) error {
	v, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return err
	}
	tags, err := tagsToAdopt(t, remote, v.List)
	if err != nil || len(tags) == 0 {
		return err
	}
	who := t.Store().Git().Committer(t.Store().Now())
	updates := make([]gitstore.RefUpdate, len(tags))
	for i, tag := range tags {
		old, err := t.Store().Git().Ref(tag.Name)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		updates[i] = gitstore.RefUpdate{Name: tag.Name, Old: old, New: tag.Hash, Message: "tape: pull", Who: who}
	}
	return t.Store().Git().UpdateRefs(ctx, updates)
}

// tagsToAdopt lists the published tags of phases that are missing or different here.
func tagsToAdopt(t *workspace.Tape, remote string, list []layout.Phase) ([]gitstore.Ref, error) {
	prefix := layout.AcceptedRefs(remote) + layout.InnerRef(layout.TagPrefix+t.Slug()+"/")
	published, err1 := t.Store().Git().Refs(prefix)
	here, err2 := t.Store().Git().Refs(layout.TagPrefix + t.Slug() + "/")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	has := make(map[string]gitstore.Hash, len(here))
	for _, tag := range here {
		has[tag.Name] = tag.Hash
	}
	folders := make(map[string]bool, len(list))
	for _, p := range list {
		folders[p.Folder] = true
	}
	var out []gitstore.Ref
	for _, tag := range published {
		folder := strings.TrimPrefix(tag.Name, prefix)
		if ref := t.TagRef(folder); folders[folder] && has[ref] != tag.Hash {
			out = append(out, gitstore.Ref{Name: ref, Hash: tag.Hash})
		}
	}
	return slices.Clip(out), nil
}

// Gained counts the entries that the commit next adds to old. If old is zero, these are all entries, or for
// a fork those after its base.
func Gained(s *workspace.Store, ref string, old, next gitstore.Hash) (int64, error) {
	last, err := snapshot.LastOf(s, next)
	if err != nil {
		return 0, err
	}
	if old.IsZero() && strings.HasPrefix(ref, layout.ForkPrefix) {
		t, err := snapshot.TapeAt(s, ref, next)
		if err != nil {
			return 0, err
		}
		b, err := snapshot.BaseOf(t, next)
		return last - b.ID, err
	}
	if old.IsZero() {
		return last, nil
	}
	before, err := snapshot.LastOf(s, old)
	return last - before, err
}

// CloseMerged closes a fork whose entries an ancestor already contains, whoever merged it. A fork with
// uncommitted entries, or checked out by somebody else, stays. As after a merge here, its own forks stay open.
func CloseMerged(ctx context.Context, t *workspace.Tape) (closed bool, err error) {
	at, err := t.Head()
	if err != nil {
		return false, err
	}
	into, err := Target(ctx, t)
	if err != nil {
		return false, err
	}
	for up, err := range forks.Ancestors(ctx, t) {
		if err != nil {
			return false, err
		}
		if has, err := forks.HasClosed(up, at, false); err != nil {
			return false, err
		} else if has {
			into = up
			break
		}
	}
	err = writer.Locked(ctx, into, func(w *writer.Writer) error {
		return writer.Locked(ctx, t, func(fw *writer.Writer) error {
			if fw.Uncommitted() > 0 || forks.CheckClosable(fw) != nil {
				return nil
			}
			ours, err := snapshot.AtCommit(t.Store(), w.Head)
			if err != nil {
				return err
			}
			m, err := resolve.InputsOf(into, resolve.Side{Head: w.Head, View: ours}, fw.Head, t.Name())
			if errors.Is(err, layout.ErrConflict) {
				return nil
			}
			if err != nil {
				return err
			}
			if lines, err := m.Lines(ctx); err != nil || len(lines) > 0 {
				return err
			}
			closed = true
			return closeInto(ctx, fw, w.Head)
		})
	})
	return closed, err
}
