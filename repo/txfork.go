package repo

import (
	"bytes"
	"fmt"
	"slices"

	"tape/internal/gitstore"
	"tape/internal/jsonl"
	"tape/internal/threeway"
)

// TxFork is a fork that is begun, filled and merged within one Tx: it has commits, but
// never a branch or a working tree. It is how an import keeps what an agent's helpers did
// beside what the agent did.
type TxFork struct {
	tx    *Tx
	t     *Tape
	b     *builder
	start gitstore.Hash
	first int64 // the id behind the base
	last  int64
	lines [][]byte
}

// Fork begins a fork behind the Tx's last entry. The name must not be that of another
// fork of the tape that is open.
func (tx *Tx) Fork(name string) (*TxFork, error) {
	t, err := tx.w.t.forkNamed(name)
	if err != nil {
		return nil, err
	}
	if err := tx.Checkpoint(); err != nil {
		return nil, err
	}
	if err := tx.loadBase(); err != nil {
		return nil, err
	}
	if err := tx.flushAll(); err != nil {
		return nil, err
	}
	b, err := tx.builder()
	if err != nil {
		return nil, err
	}
	id := tx.w.st.LastID
	f := &TxFork{tx: tx, t: t, b: b, first: id + 1, last: id}
	start, err := t.putStart(tx.ctx, tx.objects(), startCommit{parent: tx.base.parent, tree: b.tree(), anchor: b.anchor, last: id}, id)
	f.start = start.hash
	return f, err
}

// builder makes one that goes on from what the Tx has committed.
func (tx *Tx) builder() (*builder, error) {
	w := tx.w
	b := &builder{put: tx.put, root: slices.Clone(tx.base.root), anchors: slices.Clone(tx.base.anchors), phase: slices.Clone(tx.base.phase),
		seq: w.st.Seq, folder: w.st.Folder, anchor: w.st.Anchor}
	b.rootTree = gitstore.HashObject(gitstore.KindTree, gitstore.EncodeTree(b.root))
	// The files go on while the fork does, and what is committed is not in git yet.
	tails := map[string][]byte{}
	for c, tail := range w.st.Tails {
		if tail.Seg == 0 {
			continue
		}
		file, err := tx.tail(class(c))
		if err != nil {
			return nil, err
		}
		tails[segmentName(class(c), tail.Seg)] = bytes.Clone(file.data)
	}
	b.load = func(name string, _ gitstore.Hash) ([]byte, error) { return tails[name], nil }
	return b, nil
}

// Append adds an entry to the fork; an anchor opens a phase of it.
func (f *TxFork) Append(d Draft) error {
	line, err := f.t.encode(f.last+1, d)
	if err != nil {
		return err
	}
	line = line[:len(line)-1]
	if err := f.b.addLine(line); err != nil {
		return err
	}
	f.last++
	f.lines = append(f.lines, line)
	return nil
}

// Merge appends the fork's entries to the tape, as Tape.Merge does. There is nothing to
// merge of a fork without entries.
func (f *TxFork) Merge() error {
	tx := f.tx
	if len(f.lines) == 0 {
		return nil
	}
	head, err := f.t.putCommit(tx.ctx, tx.objects(), &gitstore.Commit{Tree: f.b.tree(), Parents: []gitstore.Hash{f.start},
		Message: f.t.message(checkpointSubject(int64(len(f.lines))), f.b.anchor, f.first, f.last)})
	if err != nil {
		return err
	}
	if err := tx.Checkpoint(); err != nil {
		return err
	}
	origin := threeway.Origin{Tape: tx.w.t.rootName(), Fork: f.t.name[len(tx.w.t.rootName())+1:]}
	lines := make([][]byte, len(f.lines))
	for i, line := range f.lines {
		if lines[i], err = threeway.Renumber(nil, line, tx.w.st.LastID+int64(i)+1, origin); err != nil {
			return err
		}
	}
	return tx.merge(f.t, head, lines)
}

// merge appends lines that have their ids, and commits them with a second parent.
func (tx *Tx) merge(f *Tape, head gitstore.Hash, lines [][]byte, more ...trailer) error {
	if err := tx.loadBase(); err != nil {
		return err
	}
	var phases []opened
	for _, line := range lines {
		p, err := tx.addStored(line)
		if err != nil {
			return err
		}
		if p != nil {
			phases = append(phases, *p)
		}
	}
	if err := tx.setPhase(tx.w.st.Folder, tx.base.phase); err != nil {
		return err
	}
	c, err := tx.commitMerge(mergeSubject(f, len(lines)), []gitstore.Hash{head}, append([]trailer{forkTrailer(f)}, more...)...)
	if err != nil {
		return err
	}
	for _, p := range phases {
		if _, err := tx.tagLast(c, p); err != nil {
			return err
		}
	}
	return nil
}

// mergeSubject is the first line of a merge's message.
func mergeSubject(f *Tape, entries int) string {
	name := f.fork
	if name == "" {
		name = f.name
	}
	return fmt.Sprintf("merge: %s (%s)", oneLine(name), countEntries(int64(entries)))
}

// forkTrailer names what a commit has merged.
func forkTrailer(f *Tape) trailer { return trailer{trailerFork, encodeTrailer(f.name)} }

// addStored adds a line as it is; an anchor opens a phase.
func (tx *Tx) addStored(line []byte) (*opened, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return nil, err
	}
	if want := tx.w.st.LastID + 1; e.ID != want {
		return nil, fmt.Errorf("an entry has id %d where %d is next", e.ID, want)
	}
	// It was within the limit before its origin made it longer.
	line = append(slices.Clip(line), '\n')
	if e.Kind != KindAnchor {
		return nil, tx.add(e.Kind, line)
	}
	if err := tx.setPhase(tx.w.st.Folder, tx.base.phase); err != nil {
		return nil, err
	}
	if err := tx.flushAll(); err != nil {
		return nil, err
	}
	if err := tx.openPhase(jsonl.GetString(e.Payload, "name"), line); err != nil {
		return nil, err
	}
	return &opened{tx.w.st.Seq, tx.w.st.Folder, tx.w.st.LastID, line}, nil
}
