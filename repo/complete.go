package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// Settled calls f, and again each time that a merge which git made has to be completed first.
func Settled(ctx context.Context, f func() error) error {
	for {
		err := f()
		var unsettled *Unsettled
		if !errors.As(err, &unsettled) {
			return err
		}
		if err := unsettled.Tape.Complete(ctx); err != nil {
			return err
		}
	}
}

// Complete completes a merge that git made of the tape, if its newest commit is one, and
// notes in the store that the commit counts as it is otherwise.
func (t *Tape) Complete(ctx context.Context) error {
	head, err := t.head()
	if err != nil {
		return err
	}
	err = t.checkSettled(head)
	if unsettled := (*Unsettled)(nil); !errors.As(err, &unsettled) {
		return err
	}
	lock, err := t.lockFile(ctx)
	if err != nil {
		return fmt.Errorf("complete the merge into %q: %w", t.name, classify(err))
	}
	w := &writer{t: t, lock: lock, head: head}
	w.st, _ = readState(lock.File)
	w.wt, _, err = t.worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	if err == nil {
		err = w.complete(ctx)
	}
	if err := errors.Join(err, lock.Unlock()); err != nil {
		return fmt.Errorf("complete the merge into %q: %w", t.name, classify(err))
	}
	return nil
}

// complete completes what git has made of the branch. What is not committed follows,
// renumbered. The commit that does it is the same wherever it is made: two who complete
// the same merge have not gone apart.
func (w *writer) complete(ctx context.Context) error {
	t, s := w.t, w.t.store
	batch := s.git.NewBatch()
	defer batch.Discard()
	m, err := t.made(ctx, w.head, batch.Put)
	if err != nil {
		return err
	}
	if !m.raw {
		s.noteSettled(w.head)
		return nil
	}
	loose, err := w.looseLines(m.good)
	if err != nil {
		return err
	}
	plan, last, err := t.putCompletion(batch, m, w.head)
	if err != nil {
		return err
	}
	if len(loose) > 0 {
		if plan, err = w.putLoose(ctx, batch, m.b, plan.hash, last, loose); err != nil {
			return err
		}
	}
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return w.replace(ctx, plan, w.head, w.wt, w.wt.Dir != "")
}

// putCompletion stores the commit that completes what git has made of a branch. It returns
// the last entry, too.
func (t *Tape) putCompletion(batch *gitstore.Batch, m *made, at gitstore.Hash) (plan plannedCommit, last int64, err error) {
	first, err := m.good.lastID()
	if err != nil {
		return plan, 0, err
	}
	last = m.b.lastID(first)
	head, err := t.store.git.Commit(at)
	if err != nil {
		return plan, 0, corruptObject(at, err)
	}
	plan.subject = fmt.Sprintf("complete: %s (%s)", oneLine(head.Subject()), countEntries(last-first))
	plan.hash = batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{
		Tree: m.b.tree(), Parents: []gitstore.Hash{at}, Author: head.Committer, Committer: head.Committer,
		Message: t.message(plan.subject, m.b.anchor, first+1, last, trailer{trailerDone, at.String()})}))
	return plan, last, nil
}

// completed is a commit of the tape, or the one that completes it, which is stored.
func (t *Tape) completed(ctx context.Context, batch *gitstore.Batch, h gitstore.Hash) (gitstore.Hash, error) {
	if stretch, _, err := t.store.byGit(h); err != nil || len(stretch) == 0 {
		return h, err
	}
	m, err := t.made(ctx, h, batch.Put)
	if err != nil || !m.raw {
		return h, err
	}
	plan, _, err := t.putCompletion(batch, m, h)
	return plan.hash, err
}

// putLoose stores entries that were not committed yet on top of a commit.
func (w *writer) putLoose(ctx context.Context, batch *gitstore.Batch, b *builder, parent gitstore.Hash, last int64, loose [][]byte) (plannedCommit, error) {
	plan := plannedCommit{subject: checkpointSubject(int64(len(loose)))}
	first := last + 1
	for _, line := range loose {
		last++
		line, err := w.t.numbered(line, last)
		if err != nil {
			return plan, err
		}
		if err := b.addLine(line); err != nil {
			return plan, err
		}
	}
	c := gitstore.Commit{Tree: b.tree(), Parents: []gitstore.Hash{parent}, Message: w.t.message(plan.subject, b.anchor, first, last)}
	var err error
	plan.hash, err = w.t.putCommit(ctx, batch, &c)
	return plan, err
}

// looseLines are the entries of the working tree that were not committed when git merged.
// Git's index tells what it has checked out there, which need not be the merge: somebody
// may have moved the branch alone.
func (w *writer) looseLines(good *commitView) ([][]byte, error) {
	if w.wt.Dir == "" {
		return nil, nil
	}
	loose, err := w.linesBehindIndex(good)
	if w.st.Undo != nil && !w.st.Undo.Checkout && w.st.Head == good.commit.String() {
		// What a change wrote that was cut off was never acknowledged.
		loose = slices.DeleteFunc(loose, func(line []byte) bool {
			id, err := jsonl.ParseID(line)
			return err == nil && id > w.st.LastID
		})
	}
	return loose, err
}
