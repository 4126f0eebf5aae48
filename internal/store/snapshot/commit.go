package snapshot

import (
	"strconv"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// AtCommit returns the snapshot of a commit. The last few are cached, because one call needs the same ones
// several times.
func AtCommit(s *workspace.Store, h gitstore.Hash) (*Snapshot, error) {
	if v, ok := s.Memo(h).(*Snapshot); ok {
		return v, nil
	}
	c, err := s.Git().Commit(h)
	if err != nil {
		return nil, layout.CorruptObject(h, err)
	}
	if err := layout.CheckFormat(c, h.String()); err != nil {
		return nil, err
	}
	v := &Snapshot{Git: s.Git(), Commit: h, RootTree: c.Tree}
	v.format, _ = strconv.Atoi(c.Trailer(layout.TrailerFormat))
	if v.Root, err = s.Git().Tree(c.Tree); err != nil {
		return nil, layout.CorruptObject(h, err)
	}
	anchors, ok := layout.FindEntry(v.Root, layout.AnchorsDir)
	if !ok || !anchors.IsDir() {
		return nil, &layout.CorruptError{File: h.String(), Msg: "the commit has no folder " + layout.AnchorsDir}
	}
	entries, err := s.Git().Tree(anchors.Hash)
	if err != nil {
		return nil, layout.CorruptObject(h, err)
	}
	for _, e := range entries {
		seq, _, ok := layout.ParseFolder(e.Name)
		if !ok || !e.IsDir() {
			return nil, &layout.CorruptError{File: v.Where(layout.Phase{}, e.Name), Msg: "not the folder of a phase"}
		}
		v.List = append(v.List, layout.Phase{Seq: seq, Folder: e.Name, Tree: e.Hash})
	}
	layout.SortPhases(v.List)
	if err = v.CheckPhases(); err == nil {
		s.Keep(h, v)
	}
	return v, err
}

// Tree returns the files of a phase in git.
func (v *Snapshot) Tree(p layout.Phase) ([]gitstore.TreeEntry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lastTree == p.Tree {
		return v.entries, nil
	}
	entries, err := v.Git.Tree(p.Tree)
	if err != nil {
		return nil, layout.CorruptObject(v.Commit, err)
	}
	v.lastTree, v.entries = p.Tree, entries
	return entries, nil
}

func (v *Snapshot) committed(p layout.Phase) ([layout.ClassCount][]layout.Segment, error) {
	entries, err := v.Tree(p)
	if err != nil {
		return [layout.ClassCount][]layout.Segment{}, err
	}
	var found []layout.Segment
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		if e.Name == layout.ArtifactsDir && e.IsDir() {
			continue
		}
		if e.Mode != gitstore.ModeFile {
			return [layout.ClassCount][]layout.Segment{}, &layout.CorruptError{File: v.Where(p, e.Name), Msg: "not a plain file"}
		}
		if ok {
			found = append(found, layout.Segment{Class: c, N: n, Size: -1, Hash: e.Hash})
		} else if e.Name != layout.AnchorFile {
			return [layout.ClassCount][]layout.Segment{}, &layout.CorruptError{File: v.Where(p, e.Name), Msg: "not a file of a phase"}
		}
	}
	return layout.GroupSegments(found, v.Where(p, ""))
}
