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
	err = t.lockedAsIs(ctx, func(w *writer) error {
		w.head = head
		w.st, _ = readState(w.lock.File)
		if w.wt, _, err = t.worktree(); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		return w.complete(ctx)
	})
	if err != nil {
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
	p, err := t.planCompletion(batch, m, w.head)
	if err != nil {
		return err
	}
	for i, line := range loose {
		if loose[i], err = t.numbered(line, p.last+int64(i)+1); err != nil {
			return err
		}
	}
	if err := p.addLoose(ctx, loose); err != nil {
		return err
	}
	return p.move(ctx, w)
}

// planCompletion begins a plan with the commit that completes what git has made of a branch.
func (t *Tape) planCompletion(batch *gitstore.Batch, m *made, at gitstore.Hash) (*plan, error) {
	first, err := m.good.lastID()
	if err != nil {
		return nil, err
	}
	head, err := t.store.git.Commit(at)
	if err != nil {
		return nil, corruptObject(at, err)
	}
	p := &plan{t: t, batch: batch, b: m.b, last: first + m.b.added}
	p.next.subject = fmt.Sprintf("complete: %s (%s)", oneLine(head.Subject()), countEntries(p.last-first))
	p.next.hash = batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{
		Tree: m.b.tree(), Parents: []gitstore.Hash{at}, Author: head.Committer, Committer: head.Committer,
		Message: t.message(p.next.subject, m.b.anchor, first+1, p.last, trailer{trailerDone, at.String()})}))
	return p, nil
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
	p, err := t.planCompletion(batch, m, h)
	if err != nil {
		return h, err
	}
	return p.next.hash, nil
}

// looseLines are the entries of the working tree that were not committed when git merged.
// Git's index tells what it has checked out there, which need not be the merge: somebody
// may have moved the branch alone.
func (w *writer) looseLines(good *snapshot) ([][]byte, error) {
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
