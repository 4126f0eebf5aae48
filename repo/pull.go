package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/gitstore"
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
func (s *Store) Join(ctx context.Context, remote, name string) (RefStatus, error) {
	j := &joining{s: s, remote: remote, t: s.handle(name)}
	j.status = RefStatus{Tape: name, Status: RefUpToDate}
	var err error
	if j.theirs, err = j.published(j.t.branch); errors.Is(err, gitstore.ErrNotFound) {
		if f := s.forkHandle(name); f != nil {
			j.t = f
			j.theirs, err = j.published(f.branch)
		}
	}
	if errors.Is(err, gitstore.ErrNotFound) {
		return j.status, notFound("tape fetch asks it again", "%s has no tape %q, as far as is known", remote, name)
	}
	j.status.Ref = j.t.branch
	if err == nil {
		err = j.run(ctx)
	}
	if errors.Is(err, ErrConflict) {
		j.status.Status, j.status.Err = RefRejected, err
		return j.status, nil
	}
	if err != nil {
		return j.status, fmt.Errorf("pull %q from %s: %w", name, remote, classify(err))
	}
	return j.status, nil
}

// joining is one tape being brought together with a remote's.
type joining struct {
	s      *Store
	remote string
	t      *Tape
	theirs gitstore.Hash
	status RefStatus
}

func (j *joining) published(branch string) (gitstore.Hash, error) {
	return j.s.git.Ref(acceptedRefs(j.remote) + innerRef(branch))
}

func (j *joining) run(ctx context.Context) error {
	head, err := j.s.git.Ref(j.t.branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		return j.create(ctx)
	}
	if err != nil {
		return err
	}
	if j.t.IsFork() && j.t.start(head) != j.t.start(j.theirs) {
		return conflict("merge or discard one of them: here tape merge "+shellWord(j.t.fork)+", or tape discard "+shellWord(j.t.fork)+", then pull again",
			"there is another fork %q at %s, that began with something else", j.t.name, j.remote)
	}
	rel, err := j.s.relate(head, j.theirs)
	if err != nil {
		return err
	}
	if rel == equal || rel == ahead {
		return j.t.takeTags(ctx, j.remote, head)
	}
	return j.t.locked(ctx, func(w *writer) error { return j.join(ctx, w) })
}

// create makes the branch of a tape or fork that is not here (case 1).
func (j *joining) create(ctx context.Context) error {
	t := j.t
	if t.IsFork() {
		if gone, err := t.closedHere(ctx, j.theirs, true); err != nil || gone {
			return err
		}
	} else if err := t.checkNoFork(); err != nil {
		return err
	}
	if owner, err := j.s.tapeAt(t.branch, j.theirs); err != nil || owner.name != t.name {
		return errors.Join(err, conflict("give one of them another name", "the branch %s is of another tape there", t.Branch()))
	}
	_, who, err := j.s.git.Identity(j.s.now())
	if err != nil {
		return err
	}
	if err := t.pruneTags(ctx, nil); err != nil { // of one of that name that is gone
		return err
	}
	// Tags without a tape harm nobody if this is cut off, a tape without its tags is broken.
	if err := t.takeTags(ctx, j.remote, j.theirs); err != nil {
		return err
	}
	err = j.s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: t.branch, New: j.theirs, Message: "tape: pull from " + j.remote, Who: who})
	if err != nil {
		return err
	}
	j.status.Status = RefNew
	j.status.Entries, err = j.s.gained(t.branch, gitstore.ZeroHash, j.theirs)
	return err
}

// join is the rest of the cases, with the tape locked.
func (j *joining) join(ctx context.Context, w *writer) error {
	s := j.s
	rel, err := s.relate(w.head, j.theirs)
	if err != nil {
		return err
	}
	if rel == behindIt || rel == apart {
		if err := w.commitAll(ctx); err != nil {
			return err
		}
		if rel, err = s.relate(w.head, j.theirs); err != nil {
			return err
		}
	}
	switch rel {
	case equal, ahead:
		return j.t.takeTags(ctx, j.remote, w.head)
	case strange:
		if err := j.strange(ctx, w); err != nil {
			return err
		}
		return j.forward(ctx, w, 0)
	case behindIt:
		return j.forward(ctx, w, w.st.LastID)
	}
	theirs, err := j.completed(ctx)
	if err != nil {
		return err
	}
	merged, err := w.onto(ctx, theirs, ontoOptions{name: j.t.name, remote: j.remote})
	j.status.Status, j.status.Entries = RefMerged, int64(merged.Entries)
	return err
}

// strange accepts a tape that has nothing in common with ours only where ours is empty.
func (j *joining) strange(ctx context.Context, w *writer) error {
	forks, err := j.t.Forks(ctx)
	if err != nil {
		return err
	}
	if w.st.LastID == 1 && len(forks) == 0 && !j.t.IsFork() {
		return nil
	}
	name, file := shellWord(j.t.name), shellWord(j.t.slug+".jsonl")
	hint := fmt.Sprintf("to have yours behind theirs (or, with another name in the last line, beside it):\n"+
		"tape --tape %[1]s export > %[2]s\ntape --tape %[1]s reset --archive\ntape pull --tape %[1]s\ntape --tape %[1]s import bub %[2]s", name, file)
	if len(forks) > 0 {
		hint = "first merge or discard its forks\n" + hint
	}
	if archives, err := j.t.Archives(ctx); err == nil && len(archives) > 0 {
		hint = "if it was reset here: tape --tape " + name + " restore latest brings back what it was, then tape pull\n" + hint
	}
	return conflict(hint, "%q was begun both here and at %s, and the two have nothing in common", j.t.name, j.remote)
}

// forward goes on with what the remote has, behind an entry (case 3).
func (j *joining) forward(ctx context.Context, w *writer, after int64) error {
	var next plannedCommit
	var err error
	j.status.Status = RefFastForward
	if next.hash, err = j.completed(ctx); err != nil {
		return err
	}
	last, err := j.s.lastOf(next.hash)
	if err != nil {
		return err
	}
	j.status.Entries = last - after
	next.subject = fmt.Sprintf("pull: %s (%s)", j.remote, countEntries(j.status.Entries))
	return w.pulled(ctx, next, j.remote)
}

// completed is the remote's commit. If git made it, what completes it is stored.
func (j *joining) completed(ctx context.Context) (gitstore.Hash, error) {
	batch := j.s.git.NewBatch()
	defer batch.Discard()
	h, err := j.t.completed(ctx, batch, j.theirs)
	if err == nil {
		err = batch.Flush(ctx)
	}
	return h, err
}

// pulled brings the branch to a commit, whose phases have the tags that a remote has.
func (w *writer) pulled(ctx context.Context, next plannedCommit, remote string) error {
	v, err := w.t.store.commitView(next.hash)
	if err != nil {
		return err
	}
	if next.tags, err = w.t.tagsToTake(remote, v.list); err != nil {
		return err
	}
	return w.replaceFrom(ctx, w.head.String(), next, w.head, w.wt, w.wt.Dir != "")
}

// takeTags sets the tags of a tape's phases to what a remote has them at: those that were
// published do not move, ours may have been made again.
func (t *Tape) takeTags(ctx context.Context, remote string, head gitstore.Hash) error {
	published, err := t.store.git.Refs(acceptedRefs(remote) + innerRef(tagPrefix+t.slug+"/"))
	if err != nil || len(published) == 0 {
		return err
	}
	v, err := t.store.commitView(head)
	if err != nil {
		return err
	}
	tags, err := t.tagsToTake(remote, v.list)
	if err != nil || len(tags) == 0 {
		return err
	}
	_, who, err := t.store.git.Identity(t.store.now())
	if err != nil {
		return err
	}
	updates := make([]gitstore.RefUpdate, len(tags))
	for i, tag := range tags {
		old, err := t.store.git.Ref(tag.Name)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		updates[i] = gitstore.RefUpdate{Name: tag.Name, Old: old, New: tag.Hash, Message: "tape: pull", Who: who}
	}
	return t.store.git.UpdateRefs(ctx, updates)
}

// tagsToTake lists the tags of phases that are published and not the same here.
func (t *Tape) tagsToTake(remote string, list []phase) ([]gitstore.Ref, error) {
	prefix := acceptedRefs(remote) + innerRef(tagPrefix+t.slug+"/")
	published, err1 := t.store.git.Refs(prefix)
	here, err2 := t.store.git.Refs(tagPrefix + t.slug + "/")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	has := make(map[string]gitstore.Hash, len(here))
	for _, tag := range here {
		has[tag.Name] = tag.Hash
	}
	folders := make(map[string]bool, len(list))
	for _, p := range list {
		folders[p.folder] = true
	}
	var out []gitstore.Ref
	for _, tag := range published {
		folder := strings.TrimPrefix(tag.Name, prefix)
		if ref := t.tagRef(folder); folders[folder] && has[ref] != tag.Hash {
			out = append(out, gitstore.Ref{Name: ref, Hash: tag.Hash})
		}
	}
	return slices.Clip(out), nil
}
