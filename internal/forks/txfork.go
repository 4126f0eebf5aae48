package forks

import (
	"bytes"
	"context"
	"slices"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/resolve"
	"tape/internal/snapshot"
	"tape/internal/threeway"
	"tape/internal/workspace"
	"tape/internal/writer"
)

// TxFork is a fork that is begun, filled and merged within one Tx: it has commits, but
// never a branch or a working tree. It is how an import keeps what an agent's helpers did
// beside what the agent did.
type TxFork struct {
	tx    *writer.Tx
	t     *workspace.Tape
	b     *resolve.Builder
	start gitstore.Hash
	first int64 // the id behind the base
	last  int64
	lines [][]byte
}

// InTx begins a fork behind the Tx's last entry. The name must not be that of another
// fork of the tape that is open.
func InTx(ctx context.Context, tx *writer.Tx, name string) (*TxFork, error) {
	t, err := forkNamed(tx.W.T, name)
	if err != nil {
		return nil, err
	}
	if err := tx.Checkpoint(ctx); err != nil {
		return nil, err
	}
	if err := tx.LoadBase(); err != nil {
		return nil, err
	}
	if err := tx.FlushAll(); err != nil {
		return nil, err
	}
	b, err := builder(tx)
	if err != nil {
		return nil, err
	}
	id := tx.W.St.LastID
	f := &TxFork{tx: tx, t: t, b: b, first: id + 1, last: id}
	start, err := putStart(ctx, t, tx.Objects(), startCommit{parent: tx.Base.Parent, tree: b.Tree(), anchor: b.Anchor, last: id}, id)
	f.start = start.Hash
	return f, err
}

// builder makes one that goes on from what the Tx has committed.
func builder(tx *writer.Tx) (*resolve.Builder, error) {
	w := tx.W
	b := &resolve.Builder{Put: tx.Put, Root: slices.Clone(tx.Base.Root), Anchors: slices.Clone(tx.Base.Anchors), Phase: slices.Clone(tx.Base.Phase),
		Seq: w.St.Seq, Folder: w.St.Folder, Anchor: w.St.Anchor}
	b.RootTree = gitstore.HashObject(gitstore.KindTree, gitstore.EncodeTree(b.Root))
	// The files go on while the fork does, and what is committed is not in git yet.
	tails := map[string][]byte{}
	for c, tail := range w.St.Tails {
		if tail.Seg == 0 {
			continue
		}
		file, err := tx.Tail(layout.Class(c))
		if err != nil {
			return nil, err
		}
		tails[layout.SegmentName(layout.Class(c), tail.Seg)] = bytes.Clone(file.Data)
	}
	b.Load = func(name string, _ gitstore.Hash) ([]byte, error) { return tails[name], nil }
	return b, nil
}

// Append adds an entry to the fork; an anchor opens a phase of it.
func (f *TxFork) Append(d layout.Draft) error {
	line, err := writer.Encode(f.t, f.last+1, d)
	if err != nil {
		return err
	}
	line = line[:len(line)-1]
	if err := f.b.AddLine(line); err != nil {
		return err
	}
	f.last++
	f.lines = append(f.lines, line)
	return nil
}

// Merge appends the fork's entries to the tape, as Tape.Merge does. There is nothing to
// merge of a fork without entries.
func (f *TxFork) Merge(ctx context.Context) error {
	tx := f.tx
	if len(f.lines) == 0 {
		return nil
	}
	head, err := writer.PutCommit(ctx, f.t, tx.Objects(), &gitstore.Commit{Tree: f.b.Tree(), Parents: []gitstore.Hash{f.start},
		Message: f.t.Message(writer.CheckpointSubject(int64(len(f.lines))), f.b.Anchor, f.first, f.last)})
	if err != nil {
		return err
	}
	if err := tx.Checkpoint(ctx); err != nil {
		return err
	}
	origin := threeway.Origin{Tape: snapshot.RootName(tx.W.T), Fork: f.t.Name()[len(snapshot.RootName(tx.W.T))+1:]}
	lines := make([][]byte, len(f.lines))
	for i, line := range f.lines {
		if lines[i], err = threeway.Renumber(nil, line, tx.W.St.LastID+int64(i)+1, origin); err != nil {
			return err
		}
	}
	return tx.Merge(ctx, f.t, head, lines)
}
