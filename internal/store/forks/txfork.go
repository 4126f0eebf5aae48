package forks

import (
	"context"
	"tape/internal/store/commits"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/threeway"
)

// TxFork is a fork that is begun, written and merged within one Tx. It has commits, but no branch and
// no working tree. Imports keep the work of subagents in such forks.
type TxFork struct {
	tx      *writer.Tx
	t       *workspace.Tape
	commits *commits.Chain
	lines   [][]byte // not committed yet
}

// InTx begins a fork after the Tx's last entry. ErrConflict if an open fork of the tape has the name.
func InTx(ctx context.Context, tx *writer.Tx, name string) (*TxFork, error) {
	t, err := forkNamed(tx.Tape(), name)
	if err != nil {
		return nil, err
	}
	b, head, err := tx.Builder(ctx)
	if err != nil {
		return nil, err
	}
	id := tx.LastID()
	tree := b.Tree()
	start, err := putStart(ctx, t, tx.Objects(), startCommit{parent: head, tree: tree, anchor: b.Anchor, last: id, format: b.Format}, id, tx.Dates())
	return &TxFork{tx: tx, t: t, commits: commits.Continue(t, tx.Objects(), b, start, id).Dated(tx.Dates())}, err
}

// Append adds an entry to the fork; an anchor opens a phase.
func (f *TxFork) Append(ctx context.Context, d layout.Draft) error {
	d, err := f.tx.MarkAbsent(ctx, d, f.tx.Attached()...)
	if err != nil {
		return err
	}
	line, err := writer.Encode(f.t, f.commits.Last+int64(len(f.lines))+1, d)
	if err == nil {
		f.lines = append(f.lines, line[:len(line)-1])
	}
	return err
}

// Merge appends the fork's entries to the tape, as Tape.Merge does. A fork without entries adds
// nothing.
func (f *TxFork) Merge(ctx context.Context) error {
	tx := f.tx
	if len(f.lines) == 0 {
		return nil
	}
	f.commits.From(tx.Attached())
	if err := f.commits.Checkpoint(ctx, f.lines); err != nil {
		return err
	}
	if err := tx.Checkpoint(ctx); err != nil {
		return err
	}
	root := snapshot.RootName(tx.Tape())
	origin := threeway.Origin{Tape: root, Fork: f.t.Name()[len(root)+1:]}
	lines := make([][]byte, len(f.lines))
	for i, line := range f.lines {
		var err error
		if lines[i], err = threeway.Renumber(nil, line, tx.LastID()+int64(i)+1, origin); err != nil {
			return err
		}
	}
	return tx.Merge(ctx, f.t, f.commits.Hash, lines)
}
