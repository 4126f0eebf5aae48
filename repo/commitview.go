package repo

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"

	"tape/internal/gitstore"
)

// commitView reads a tape from a commit.
type commitView struct {
	git    *gitstore.Repo
	commit gitstore.Hash
	// rootTree names the commit's tree, root is what it has.
	rootTree gitstore.Hash
	root     []gitstore.TreeEntry
	list     []phase

	// The tree that was read last: a phase's files are looked at one after another.
	mu      sync.Mutex
	last    gitstore.Hash
	entries []gitstore.TreeEntry
}

// commitView returns the view of a commit. The last few are kept: one call looks at the
// same ones again and again.
func (s *Store) commitView(h gitstore.Hash) (*commitView, error) {
	if v, ok := s.Memo(h).(*commitView); ok {
		return v, nil
	}
	v, err := s.readCommit(h)
	if err == nil {
		s.Keep(h, v)
	}
	return v, err
}

func (s *Store) readCommit(h gitstore.Hash) (*commitView, error) {
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
func (s *Store) treeView(h, tree gitstore.Hash) (*commitView, error) {
	v := &commitView{git: s.git, commit: h, rootTree: tree}
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
	return v, checkPhases(v, v.list)
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

func checkPhases(v view, list []phase) error {
	if len(list) == 0 {
		return &CorruptError{File: v.where(phase{}, ""), Msg: "the tape has no phase"}
	}
	for i, p := range list {
		if p.seq != i+1 {
			return &CorruptError{File: v.where(p, ""), Msg: fmt.Sprintf("phase %03d is missing", i+1),
				Fix: "bring back what was committed with: git restore -- " + anchorsDir}
		}
	}
	return nil
}

func (v *commitView) phases() []phase { return v.list }
func (v *commitView) open(phase) bool { return false }

func (v *commitView) where(p phase, file string) string {
	return v.file(filepath.ToSlash(filepath.Join(anchorsDir, p.folder, file)))
}

// file names a file of the commit in messages.
func (v *commitView) file(path string) string {
	return v.commit.String()[:12] + ":" + path
}

func (v *commitView) anchorLine(p phase) ([]byte, error) {
	return v.content(p, segment{size: -1, class: -1})
}

func (v *commitView) tree(p phase) ([]gitstore.TreeEntry, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == p.tree {
		return v.entries, nil
	}
	entries, err := v.git.Tree(p.tree)
	if err != nil {
		return nil, corruptObject(v.commit, err)
	}
	v.last, v.entries = p.tree, entries
	return entries, nil
}

func (v *commitView) segments(p phase) ([classCount][]segment, error) {
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

func (v *commitView) content(p phase, s segment) ([]byte, error) {
	h := s.hash
	if h.IsZero() {
		entries, err := v.tree(p)
		if err != nil {
			return nil, err
		}
		e, ok := findEntry(entries, anchorFile)
		if !ok {
			return nil, &CorruptError{File: v.where(p, anchorFile), Msg: "the file is missing"}
		}
		h = e.Hash
	}
	raw, err := v.git.Blob(h)
	if err != nil {
		return nil, corruptObject(v.commit, err)
	}
	return raw, nil
}

// check has nothing to do: a commit is what was recorded.
func (v *commitView) check(phase, string, []byte) error { return nil }

func (v *commitView) beginning(p phase, s segment, _ int) ([]byte, error) { return v.content(p, s) }
