package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
)

// WithMergesCompleted calls f. While f reports an incomplete merge by git, it completes the merge and calls f again.
// It does the same with files whose line ends git has changed.
func WithMergesCompleted(ctx context.Context, f func() error) error {
	for {
		err := f()
		if converted := (*workspace.ConvertedError)(nil); errors.As(err, &converted) {
			if err := writer.Unconvert(ctx, converted.Tape); err != nil {
				return err
			}
			continue
		}
		var incomplete *workspace.IncompleteMergeError
		if !errors.As(err, &incomplete) {
			return err
		}
		if err := Complete(ctx, incomplete.Tape); err != nil {
			return err
		}
	}
}

// Mendable reports whether an error is one after which WithMergesCompleted calls again.
func Mendable(err error) bool {
	var incomplete *workspace.IncompleteMergeError
	var converted *workspace.ConvertedError
	return errors.As(err, &incomplete) || errors.As(err, &converted)
}

// Complete finishes a merge into the tape that git made, if the newest commit is an incomplete one.
// Otherwise it does nothing.
func Complete(ctx context.Context, t *workspace.Tape) error {
	head, err := t.Head()
	if err != nil {
		return err
	}
	err = snapshot.CheckMergeComplete(t, head)
	if incomplete := (*workspace.IncompleteMergeError)(nil); !errors.As(err, &incomplete) {
		return err
	}
	err = writer.LockedUnrepaired(ctx, t, func(w *writer.Writer) error { return complete(ctx, w) })
	return layout.Wrap(err, "complete the merge into %q", t.Name())
}

// complete finishes git's merge and appends the uncommitted entries, renumbered. The completing
// commit depends on git's merge alone, so two people who complete the same merge do not diverge.
func complete(ctx context.Context, w *writer.Writer) error {
	t, s := w.T, w.T.Store()
	batch := s.Git().NewBatch()
	defer batch.Discard()
	m, err := resolve.Resolve(ctx, t, w.Head, batch.Put)
	if err != nil {
		return err
	}
	if !m.Raw {
		s.NoteMergeComplete(w.Head)
		return nil
	}
	uncommitted, err := uncommittedLines(w, m.Good)
	if err != nil {
		return err
	}
	p, err := planCompletion(t, batch, m, w.Head)
	if err != nil {
		return err
	}
	for i, line := range uncommitted {
		if uncommitted[i], err = resolve.Numbered(t, line, p.Last+int64(i)+1); err != nil {
			return err
		}
	}
	kept, err := uncommittedArtifacts(w, batch, uncommitted)
	if err != nil {
		return err
	}
	p.From(kept)
	if err := p.Checkpoint(ctx, uncommitted); err != nil {
		return err
	}
	return moveTo(ctx, w, batch, p.Plan)
}

// planCompletion begins a plan with the commit that completes git's merge.
func planCompletion(t *workspace.Tape, batch *gitstore.Batch, m *resolve.Resolution, at gitstore.Hash) (*commits.Chain, error) {
	first, err := m.Good.LastID()
	if err != nil {
		return nil, err
	}
	head, err := t.Store().Git().Commit(at)
	if err != nil {
		return nil, layout.CorruptObject(at, err)
	}
	last := first + m.B.Added
	next := commits.Plan{Subject: fmt.Sprintf("complete: %s (%s)", layout.OneLine(head.Subject()), layout.CountEntries(m.B.Added))}
	tree := m.B.Tree()
	next.Hash = batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(gitstore.Commit{
		Tree: tree, Parents: []gitstore.Hash{at}, Author: head.Committer, Committer: head.Committer,
		Message: t.Message(next.Subject, m.B.Anchor, first+1, last, m.B.Format, layout.Trailer{Key: layout.TrailerCompletes, Value: at.String()})}))
	return commits.Continue(t, batch, m.B, next, last), nil
}

// uncommittedLines are the entries that were not committed when git merged. Git's index says what
// is checked out, because somebody may have moved only the branch.
func uncommittedLines(w *writer.Writer, good *snapshot.Snapshot) ([][]byte, error) {
	if w.Wt.Dir == "" {
		return nil, nil
	}
	lines, err := linesAfterIndex(w, good)
	if w.Interrupted(good.Commit) {
		// An interrupted write was never acknowledged.
		lines = slices.DeleteFunc(lines, func(line []byte) bool {
			id, err := jsonl.ParseID(line)
			return err == nil && id > w.LastID()
		})
	}
	return lines, err
}
