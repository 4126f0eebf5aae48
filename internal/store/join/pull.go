package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/forks"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/tags"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Bringing together what a tape has here and at a remote, as it was last fetched. There are
// these cases:
//
//  1. The tape is not here: its branch is made. So is a fork's, unless it was merged or
//     discarded here.
//  2. The tape has all that the remote has: nothing to do.
//  3. The remote continues the tape: the branch moves forward.
//  4. Both have something of their own: one commit with two parents, what is published
//     first. Its entries keep their ids, those that are only here follow, renumbered, and
//     so do their phases and tags.
//  5. The two have nothing in common: the remote's is taken if there is nothing here yet
//     but the anchor that opens a tape; else it is refused.
//
// What is not committed is committed first, in the cases 3 and 4. Tags are those of the
// remote where it has them.

// Join brings a tape or fork together with what was last fetched of it from a remote. A
// tape that is not here is made; it gets a working tree when it is first written to.
//
// The error, also in the status, is a *RewrittenError or ErrConflict where the histories
// cannot be brought together; nothing is changed then.
func Join(ctx context.Context, s *workspace.Store, remote, name string) (status layout.RefStatus, err error) {
	err = Settled(ctx, func() error {
		status, err = join(ctx, s, remote, name)
		return err
	})
	return status, err
}

func join(ctx context.Context, s *workspace.Store, remote, name string) (layout.RefStatus, error) {
	j := &joining{s: s, remote: remote, t: s.Handle(name)}
	j.status = layout.RefStatus{Tape: name, Status: layout.RefUpToDate}
	var err error
	if j.theirs, err = j.published(j.t.Ref()); errors.Is(err, gitstore.ErrNotFound) {
		if f := s.ForkHandle(name); f != nil {
			j.t = f
			j.theirs, err = j.published(f.Ref())
		}
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return j.status, layout.NotFound("", "%s has no tape %q, as far as is known", remote, name).Try(layout.FetchAgain)
	}
	j.status.Ref = j.t.Ref()
	if err == nil {
		err = j.run(ctx)
	}
	if errors.Is(err, layout.ErrConflict) {
		j.status.Status, j.status.Err = layout.RefRejected, err
		return j.status, nil
	}
	return j.status, layout.Wrap(err, "pull %q from %s", name, remote)
}

// joining is one tape being brought together with a remote's.
type joining struct {
	s      *workspace.Store
	remote string
	t      *workspace.Tape
	theirs gitstore.Hash
	status layout.RefStatus
}

func (j *joining) published(branch string) (gitstore.Hash, error) {
	return j.s.Git().Ref(layout.AcceptedRefs(j.remote) + layout.InnerRef(branch))
}

func (j *joining) run(ctx context.Context) error {
	head, err := j.s.Git().Ref(j.t.Ref())
	if errors.Is(err, gitstore.ErrNotFound) {
		return j.create(ctx)
	}
	if err != nil {
		return err
	}
	if j.t.IsFork() && snapshot.StartOf(j.t, head) != snapshot.StartOf(j.t, j.theirs) {
		return layout.Conflict("", "there is another fork %q at %s, that began with something else", j.t.Name(), j.remote).Try(layout.MergeOrDiscard, j.t.ForkName())
	}
	rel, err := lineage.Relate(j.s, head, j.theirs)
	if err != nil {
		return err
	}
	if rel == lineage.Equal || rel == lineage.Ahead {
		return takeTags(ctx, j.t, j.remote, head)
	}
	return writer.Locked(ctx, j.t, func(w *writer.Writer) error { return j.join(ctx, w) })
}

// create makes the branch of a tape or fork that is not here (case 1).
func (j *joining) create(ctx context.Context) error {
	t := j.t
	if t.IsFork() {
		if gone, err := forks.ClosedHere(ctx, t, j.theirs, true); err != nil || gone {
			return err
		}
	} else if err := writer.CheckNoFork(t); err != nil {
		return err
	}
	if owner, err := snapshot.TapeAt(j.s, t.Ref(), j.theirs); err != nil || owner.Name() != t.Name() {
		return errors.Join(err, layout.Conflict("give one of them another name", "the branch %s is of another tape there", t.Branch()))
	}
	_, who, err := j.s.Git().Identity(j.s.Now())
	if err != nil {
		return err
	}
	if err := tags.Prune(ctx, t, nil); err != nil { // of one of that name that is gone
		return err
	}
	// Tags without a tape harm nobody if this is cut off, a tape without its tags is broken.
	if err := errors.Join(takeTags(ctx, t, j.remote, j.theirs), tags.OfNew(ctx, t, j.theirs)); err != nil {
		return err
	}
	err = j.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: t.Ref(), New: j.theirs, Message: "tape: pull from " + j.remote, Who: who})
	if err != nil {
		return err
	}
	j.status.Status = layout.RefNew
	j.status.Entries, err = Gained(j.s, t.Ref(), gitstore.ZeroHash, j.theirs)
	return err
}

// join is the rest of the cases, with the tape locked.
func (j *joining) join(ctx context.Context, w *writer.Writer) error {
	s := j.s
	rel, err := lineage.Relate(s, w.Head, j.theirs)
	if err != nil {
		return err
	}
	if rel == lineage.Behind || rel == lineage.Diverged {
		if err := w.CheckpointAll(ctx); err != nil {
			return err
		}
		if rel, err = lineage.Relate(s, w.Head, j.theirs); err != nil {
			return err
		}
	}
	switch rel {
	case lineage.Equal, lineage.Ahead:
		return takeTags(ctx, j.t, j.remote, w.Head)
	case lineage.Unrelated:
		if err := j.strange(ctx, w); err != nil {
			return err
		}
		return j.forward(ctx, w, 0)
	case lineage.Behind:
		return j.forward(ctx, w, w.LastID())
	}
	theirs, err := j.completed(ctx)
	defer theirs.Objects.Discard()
	if err != nil {
		return err
	}
	merged, err := onto(ctx, w, theirs.Hash, ontoOptions{name: j.t.Name(), remote: j.remote})
	j.status.Status, j.status.Entries = layout.RefMerged, int64(merged.Merged)
	return errors.Join(err, theirs.Objects.Settle(ctx))
}

// strange accepts a tape that has nothing in common with ours only where ours is empty.
func (j *joining) strange(ctx context.Context, w *writer.Writer) error {
	forks, err := j.t.Forks(ctx)
	if err != nil {
		return err
	}
	if w.LastID() == 1 && len(forks) == 0 && !j.t.IsFork() {
		return nil
	}
	out := layout.Conflict("", "%q was begun both here and at %s, and the two have nothing in common", j.t.Name(), j.remote)
	if archives, err := snapshot.Archives(ctx, j.t); err == nil && len(archives) > 0 {
		out = out.Try(layout.RestoreLatest, j.t.Name())
	}
	if len(forks) > 0 {
		out = out.Try(layout.CloseForks)
	}
	return out.Try(layout.PutBehindTheirs, j.t.Name(), j.t.Slug()+".jsonl")
}

// forward goes on with what the remote has, behind an entry (case 3).
func (j *joining) forward(ctx context.Context, w *writer.Writer, after int64) error {
	j.status.Status = layout.RefFastForward
	next, err := j.completed(ctx)
	defer next.Objects.Discard()
	if err != nil {
		return err
	}
	last, err := snapshot.LastOf(j.s, next.Hash)
	if err != nil {
		return err
	}
	j.status.Entries = last - after
	next.Subject = fmt.Sprintf("pull: %s (%s)", j.remote, layout.CountEntries(j.status.Entries))
	return pulled(ctx, w, next, j.remote)
}

// completed is the remote's commit, or what completes it, stored, if git made it.
func (j *joining) completed(ctx context.Context) (writer.Plan, error) {
	at := writer.Plan{Hash: j.theirs}
	if stretch, _, err := snapshot.ByGit(j.s, at.Hash); err != nil || len(stretch) == 0 {
		return at, err
	}
	batch := j.s.Git().NewBatch()
	m, err := resolve.Resolve(ctx, j.t, at.Hash, batch.Put)
	if err != nil || !m.Raw {
		batch.Discard()
		return at, err
	}
	p, err := planCompletion(j.t, batch, m, at.Hash)
	if err != nil {
		batch.Discard()
		return at, err
	}
	return p.Plan, batch.Flush(ctx)
}

// pulled brings the branch to a commit, whose phases have the tags that a remote has.
func pulled(ctx context.Context, w *writer.Writer, next writer.Plan, remote string) error {
	v, err := snapshot.AtCommit(w.T.Store(), next.Hash)
	if err != nil {
		return err
	}
	if next.Tags, err = tagsToTake(w.T, remote, v.List); err != nil {
		return err
	}
	next.Clean = true
	return w.MoveTo(ctx, next, w.Head)
}

// takeTags sets the tags of a tape's phases to what a remote has them at: those that were
// published do not move, ours may have been made again.
func takeTags(ctx context.Context, t *workspace.Tape, remote string, head gitstore.Hash) error {
	v, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return err
	}
	tags, err := tagsToTake(t, remote, v.List)
	if err != nil || len(tags) == 0 {
		return err
	}
	_, who, err := t.Store().Git().Identity(t.Store().Now())
	if err != nil {
		return err
	}
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

// tagsToTake lists the tags of phases that are published and not the same here.
func tagsToTake(t *workspace.Tape, remote string, list []layout.Phase) ([]gitstore.Ref, error) {
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

// Gained counts entries that a commit has and another, or a fork's base, has not.
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

// CloseMerged closes a fork that something it is a fork of has whole, whoever merged it.
func CloseMerged(ctx context.Context, t *workspace.Tape) (closed bool, err error) {
	at, err := t.Head()
	if err != nil {
		return false, err
	}
	into, err := Target(ctx, t)
	if err != nil {
		return false, err
	}
	for up, err := range forks.Above(ctx, t) {
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
			children, err := t.Forks(ctx)
			if err != nil || len(children) > 0 || fw.Uncommitted() > 0 || forks.CheckClosable(fw) != nil {
				return err
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
