package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

// Settled calls f, and again each time that a merge which git made has to be completed first.
func Settled(ctx context.Context, f func() error) error {
	for {
		err := f()
		var unsettled *workspace.Unsettled
		if !errors.As(err, &unsettled) {
			return err
		}
		if err := Complete(ctx, unsettled.Tape); err != nil {
			return err
		}
	}
}

// Complete completes a merge that git made of the tape, if its newest commit is one, and
// notes in the store that the commit counts as it is otherwise.
func Complete(ctx context.Context, t *workspace.Tape) error {
	head, err := t.Head()
	if err != nil {
		return err
	}
	err = snapshot.CheckSettled(t, head)
	if unsettled := (*workspace.Unsettled)(nil); !errors.As(err, &unsettled) {
		return err
	}
	err = writer.LockedAsIs(ctx, t, func(w *writer.Writer) error { return complete(ctx, w) })
	return layout.Wrap(err, "complete the merge into %q", t.Name())
}

// complete completes what git has made of the branch. What is not committed follows,
// renumbered. The commit that does it is the same wherever it is made: two who complete
// the same merge have not gone apart.
func complete(ctx context.Context, w *writer.Writer) error {
	t, s := w.T, w.T.Store()
	batch := s.Git().NewBatch()
	defer batch.Discard()
	m, err := resolve.Resolve(ctx, t, w.Head, batch.Put)
	if err != nil {
		return err
	}
	if !m.Raw {
		s.NoteSettled(w.Head)
		return nil
	}
	loose, err := looseLines(w, m.Good)
	if err != nil {
		return err
	}
	p, err := planCompletion(t, batch, m, w.Head)
	if err != nil {
		return err
	}
	for i, line := range loose {
		if loose[i], err = resolve.Numbered(t, line, p.Last+int64(i)+1); err != nil {
			return err
		}
	}
	kept, err := looseArtifacts(w, batch, loose)
	if err != nil {
		return err
	}
	p.From(kept)
	if err := p.Checkpoint(ctx, loose); err != nil {
		return err
	}
	return moveTo(ctx, w, batch, p.Plan)
}

// planCompletion begins a plan with the commit that completes what git has made of a branch.
func planCompletion(t *workspace.Tape, batch *gitstore.Batch, m *resolve.Resolution, at gitstore.Hash) (*writer.Commits, error) {
	first, err := m.Good.LastID()
	if err != nil {
		return nil, err
	}
	head, err := t.Store().Git().Commit(at)
	if err != nil {
		return nil, layout.CorruptObject(at, err)
	}
	last := first + m.B.Added
	next := writer.Plan{Subject: fmt.Sprintf("complete: %s (%s)", layout.OneLine(head.Subject()), layout.CountEntries(m.B.Added))}
	tree := m.B.Tree()
	next.Hash = batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{
		Tree: tree, Parents: []gitstore.Hash{at}, Author: head.Committer, Committer: head.Committer,
		Message: t.Message(next.Subject, m.B.Anchor, first+1, last, m.B.Format, layout.Trailer{Key: layout.TrailerDone, Value: at.String()})}))
	return writer.Continue(t, batch, m.B, next, last), nil
}

// looseLines are the entries that were not committed when git merged. Git's index tells
// what is checked out, since somebody may have moved the branch alone.
func looseLines(w *writer.Writer, good *snapshot.Snapshot) ([][]byte, error) {
	if w.Wt.Dir == "" {
		return nil, nil
	}
	loose, err := linesBehindIndex(w, good)
	if w.Interrupted(good.Commit) {
		// What a change wrote that was cut off was never acknowledged.
		loose = slices.DeleteFunc(loose, func(line []byte) bool {
			id, err := jsonl.ParseID(line)
			return err == nil && id > w.LastID()
		})
	}
	return loose, err
}
