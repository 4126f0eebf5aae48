package forks

import (
	"context"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	"tape/internal/text/threeway"
)

// TxFork is a fork begun, filled and merged within one Tx: commits without a branch or
// working tree, in which an import keeps what an agent's helpers did.
type TxFork struct {
	tx      *writer.Tx
	t       *workspace.Tape
	commits *writer.Commits
	lines   [][]byte // behind those
}

// InTx begins a fork behind the Tx's last entry. The name must not be that of another
// fork of the tape that is open.
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
	start, err := putStart(ctx, t, tx.Objects(), startCommit{parent: head, tree: tree, anchor: b.Anchor, last: id, format: b.Format}, id)
	return &TxFork{tx: tx, t: t, commits: writer.Continue(t, tx.Objects(), b, start, id)}, err
}

// Append adds an entry to the fork; an anchor opens a phase of it.
func (f *TxFork) Append(ctx context.Context, d layout.Draft) error {
	d, err := f.tx.Absent(ctx, d, f.tx.Attached()...)
	if err != nil {
		return err
	}
	line, err := writer.Encode(f.t, f.commits.Last+int64(len(f.lines))+1, d)
	if err == nil {
		f.lines = append(f.lines, line[:len(line)-1])
	}
	return err
}

// Merge appends the fork's entries to the tape, as Tape.Merge does. There is nothing to
// merge of a fork without entries.
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
