package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Builder commits everything up to here, and returns a builder that continues from that commit, and the commit.
func (tx *Tx) Builder(ctx context.Context) (*resolve.Builder, gitstore.Hash, error) {
	if err := errors.Join(tx.Checkpoint(ctx), tx.kind.loadBase()); err != nil {
		return nil, tx.w.Head, err
	}
	b, err := tx.b.Clone()
	return b, tx.commits.Hash, err
}

// Merge appends lines of the fork f, which have their final ids, and commits them with head as second parent.
func (tx *Tx) Merge(ctx context.Context, f *workspace.Tape, head gitstore.Hash, lines [][]byte, more ...layout.Trailer) error {
	if err := tx.kind.loadBase(); err != nil {
		return err
	}
	// A merge has the artifacts of its lines and no others, so that anybody can compute it from its
	// parents.
	tx.wanted = map[string]bool{}
	defer func() { tx.wanted = nil }()
	var phases []openedPhase
	for _, line := range lines {
		p, err := tx.addStored(ctx, line, head)
		if err != nil {
			return err
		}
		if p != nil {
			phases = append(phases, *p)
		}
	}
	c, err := tx.commit(ctx, MergeSubject(f, len(lines)), []gitstore.Hash{head}, append([]layout.Trailer{workspace.ForkTrailer(f)}, more...)...)
	if err != nil {
		return err
	}
	for _, p := range phases {
		if _, err := tx.tagLast(ctx, c, p); err != nil {
			return err
		}
	}
	return nil
}

// MergeSubject returns the subject of a merge commit.
func MergeSubject(f *workspace.Tape, entries int) string {
	name := f.ForkName()
	if name == "" {
		name = f.Name()
	}
	return fmt.Sprintf("merge: %s (%s)", layout.OneLine(name), layout.CountEntries(int64(entries)))
}

// addStored adds a line from the commit theirs as it is. An anchor opens a phase, which is returned.
func (tx *Tx) addStored(ctx context.Context, line []byte, theirs gitstore.Hash) (*openedPhase, error) {
	e, err := jsonl.Parse(line)
	if err != nil {
		return nil, err
	}
	if want := tx.w.rec.LastID + 1; e.ID != want {
		return nil, fmt.Errorf("an entry has id %d, but %d is next", e.ID, want)
	}
	// max_line is not checked: the line met it before the merge added meta.origin.
	line = append(slices.Clip(line), '\n')
	if err := tx.addStoredArtifacts(ctx, e, theirs); err != nil {
		return nil, err
	}
	if e.Kind != layout.KindAnchor {
		return nil, tx.add(ctx, e.Kind, line)
	}
	name := jsonl.GetString(e.Payload, "name")
	err = tx.openPhase(name, line)
	return &openedPhase{tx.w.rec.Seq, name, tx.w.rec.Folder, tx.w.rec.LastID, line}, err
}
