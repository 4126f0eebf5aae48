package repo

import (
	"errors"
	"strconv"

	"tape/internal/gitstore"
)

// commitView returns the snapshot of a commit. The last few are kept: one call looks at the
// same ones again and again.
func (s *Store) commitView(h gitstore.Hash) (*snapshot, error) {
	if v, ok := s.Memo(h).(*snapshot); ok {
		return v, nil
	}
	v, err := s.readCommit(h)
	if err == nil {
		s.Keep(h, v)
	}
	return v, err
}

func (s *Store) readCommit(h gitstore.Hash) (*snapshot, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return nil, corruptObject(h, err)
	}
	if n, err := strconv.Atoi(c.Trailer(trailerFormat)); err == nil && n > FormatVersion {
		return nil, &CorruptError{File: "commit " + h.String(), Msg: newerFormat(n), Fix: "install a newer tape"}
	}
	return s.treeView(h, c.Tree)
}

// treeView reads a tape from a tree; h stands for it in messages.
func (s *Store) treeView(h, tree gitstore.Hash) (*snapshot, error) {
	v := &snapshot{git: s.git, commit: h, rootTree: tree}
	var err error
	if v.root, err = s.git.Tree(tree); err != nil {
		return nil, corruptObject(h, err)
	}
	anchors, ok := findEntry(v.root, anchorsDir)
	if !ok || !anchors.IsDir() {
		return nil, &CorruptError{File: h.String(), Msg: "the commit has no folder " + anchorsDir}
	}
	entries, err := s.git.Tree(anchors.Hash)
	if err != nil {
		return nil, corruptObject(h, err)
	}
	for _, e := range entries {
		seq, _, ok := parseFolder(e.Name)
		if !ok || !e.IsDir() {
			return nil, &CorruptError{File: v.where(phase{}, e.Name), Msg: "not the folder of a phase"}
		}
		v.list = append(v.list, phase{seq: seq, folder: e.Name, tree: e.Hash})
	}
	sortPhases(v.list)
	return v, v.checkPhases()
}

// corruptObject turns a missing or damaged object into ErrCorrupt: what a ref or a
// commit names has to be there.
func corruptObject(h gitstore.Hash, err error) error {
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return &CorruptError{File: "commit " + h.String(), Msg: err.Error(),
		Fix: "git fsck --full tells what else is missing; fetch the tape again from a copy"}
}

func (v *snapshot) tree(p phase) ([]gitstore.TreeEntry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lastTree == p.tree {
		return v.entries, nil
	}
	entries, err := v.git.Tree(p.tree)
	if err != nil {
		return nil, corruptObject(v.commit, err)
	}
	v.lastTree, v.entries = p.tree, entries
	return entries, nil
}

// committed returns the files that a phase has in git.
func (v *snapshot) committed(p phase) ([classCount][]segment, error) {
	entries, err := v.tree(p)
	if err != nil {
		return [classCount][]segment{}, err
	}
	var found []segment
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if e.Mode != gitstore.ModeFile {
			return [classCount][]segment{}, &CorruptError{File: v.where(p, e.Name), Msg: "not a plain file"}
		}
		if ok {
			found = append(found, segment{class: c, n: n, size: -1, hash: e.Hash})
		} else if e.Name != anchorFile {
			return [classCount][]segment{}, &CorruptError{File: v.where(p, e.Name), Msg: "not a file of a phase"}
		}
	}
	return groupSegments(found, v.where(p, ""))
}
