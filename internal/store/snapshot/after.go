package snapshot

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// After yields the entries of a snapshot that come after those of base, which the snapshot must continue (nil:
// all entries). It reads nothing before the files in which base ends. Entries get the name tape.
func (v *Snapshot) After(ctx context.Context, base *Snapshot, tape string) iter.Seq2[layout.Entry, error] {
	return layout.Seq(func(yield func(layout.Entry) bool) error {
		w := &Walk{V: v, Tape: tape, Last: len(v.List) - 1}
		if base != nil {
			end, err := base.Mark()
			if err != nil {
				return err
			}
			w.First, w.From = end.Seq-1, end.Place()
		}
		return w.Read(ctx, yield)
	})
}

// Continues reports whether a snapshot has everything that base has, byte for byte, and perhaps more after it.
// It reads only what differs.
func (v *Snapshot) Continues(base *Snapshot) (bool, error) {
	if len(v.List) < len(base.List) {
		return false, nil
	}
	for i, was := range base.List {
		now := v.List[i]
		if now.Folder != was.Folder {
			return false, nil
		}
		if now.Tree == was.Tree {
			continue
		}
		if i < len(base.List)-1 {
			return false, nil // a closed phase cannot change
		}
		if ok, err := v.continuesPhase(base, was, now); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func (v *Snapshot) continuesPhase(base *Snapshot, was, now layout.Phase) (bool, error) {
	old, err := base.Tree(was)
	if err != nil {
		return false, err
	}
	entries, err := v.Tree(now)
	if err != nil {
		return false, err
	}
	have := make(map[string]gitstore.Hash, len(entries))
	for _, e := range entries {
		have[e.Name] = e.Hash
	}
	for _, e := range old {
		h, ok := have[e.Name]
		if !ok {
			return false, nil
		}
		if h == e.Hash || e.Name == layout.ArtifactsDir {
			continue
		}
		data, err1 := v.Git.Blob(h)
		prefix, err2 := v.Git.Blob(e.Hash)
		if err := errors.Join(err1, err2); err != nil {
			return false, layout.CorruptObject(v.Commit, err)
		}
		if !bytes.HasPrefix(data, prefix) {
			return false, nil
		}
	}
	return v.hasArtifactsOf(old, entries)
}

func (v *Snapshot) hasArtifactsOf(was, now []gitstore.TreeEntry) (bool, error) {
	had, err1 := ArtifactsOf(v.Git, was)
	has, err2 := ArtifactsOf(v.Git, now)
	if err := errors.Join(err1, err2); err != nil {
		return false, layout.CorruptObject(v.Commit, err)
	}
	names := make(map[gitstore.TreeEntry]bool, len(has))
	for _, e := range has {
		names[e] = true
	}
	return !slices.ContainsFunc(had, func(e gitstore.TreeEntry) bool { return !names[e] }), nil
}

// Begins returns the parent of a fork, and a mark at the end of the entries that both share. ok is false for
// a tape, and for a fork whose parent is gone or does not have these entries any more: then all entries are
// the fork's own.
func Begins(ctx context.Context, t *workspace.Tape) (parent *workspace.Tape, m ReadMark, ok bool, err error) {
	if !t.IsFork() {
		return nil, m, false, nil
	}
	defer func() { err = layout.Wrap(err, "read fork %q", t.Name()) }()
	head, err := t.Head()
	if err != nil {
		return nil, m, false, err
	}
	b, err := BaseOf(t, head)
	if err != nil {
		return nil, m, false, err
	}
	parent, err = t.Store().Tape(ctx, t.Parent())
	if errors.Is(err, layout.ErrNotFound) {
		return nil, m, false, nil
	}
	if err != nil {
		return nil, m, false, err
	}
	parentHead, err1 := parent.Head()
	base, err2 := AtCommit(t.Store(), b.Start)
	if err := errors.Join(err1, err2); err != nil {
		return nil, m, false, err
	}
	now, err := AtCommit(t.Store(), parentHead)
	if err != nil {
		return nil, m, false, err
	}
	if ok, err := now.Continues(base); err != nil || !ok {
		return nil, m, false, err
	}
	m, err = base.Mark()
	return parent, m, err == nil, err
}

// Mark returns a mark of the snapshot's end.
func (v *Snapshot) Mark() (ReadMark, error) {
	m, _, err := EndOf(v, v.LastPhase())
	return m, err
}
