package snapshot

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// inGit reports whether a missing file of a sparse working tree is in git. (Phase.Tree is set only for
// phases that git has.)
func (v *Snapshot) inGit(p layout.Phase, err error) bool {
	return v.Under != nil && !p.Tree.IsZero() && errors.Is(err, fs.ErrNotExist)
}

// gone returns a phase from the commit if the working tree was removed meanwhile: by a gc, a reset, or because
// the fork was closed. The commit has the same files. err is the error of the read that failed.
func (v *Snapshot) gone(p layout.Phase, err error) (c *Snapshot, was layout.Phase, ok bool) {
	if !errors.Is(err, fs.ErrNotExist) || v.head == nil {
		return nil, was, false
	}
	if st, _, err := journal.Peek(v.recPath); err != nil || !st.Undo.Rewrites() {
		if _, err := os.Lstat(filepath.Join(v.Dir, layout.AnchorsDir)); err == nil {
			return nil, was, false
		}
	}
	if c, err = v.head(); err != nil {
		return nil, was, false
	}
	was, ok = c.Phase(p.Seq, p.Folder)
	return c, was, ok
}

// fromCommit returns from git the content of a file that is missing on disk because the working tree is sparse
// or was removed. err is the error of the read that failed.
func (v *Snapshot) fromCommit(p layout.Phase, s layout.Segment, err error) ([]byte, bool) {
	c, was := v.Under, p
	if !v.inGit(p, err) {
		var ok bool
		if c, was, ok = v.gone(p, err); !ok {
			return nil, false
		}
	}
	data, err := c.Blob(was, layout.Segment{Class: s.Class, N: s.N})
	if err != nil || int64(len(data)) < s.Size {
		return nil, false
	}
	if s.Size >= 0 {
		data = data[:s.Size]
	}
	return data, true
}

// Ends returns the files of a phase, with the size of each class's last one; the others are sealed. Other
// files in the folder are left to tape verify.
func (v *Snapshot) Ends(p layout.Phase) ([layout.ClassCount][]layout.Segment, error) {
	list, err := v.list(p)
	if err != nil {
		return list, err
	}
	for _, files := range list {
		if n := len(files); n > 0 {
			if files[n-1].Size, err = v.size(p, files[n-1]); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// list returns a phase's files without sizes. Files that are only in git have a hash.
func (v *Snapshot) list(p layout.Phase) ([layout.ClassCount][]layout.Segment, error) {
	found, err := FilesIn(v.Path(p, ""))
	if err != nil && !v.inGit(p, err) {
		if c, was, ok := v.gone(p, err); ok {
			return c.committed(was)
		}
		return [layout.ClassCount][]layout.Segment{}, err
	}
	if v.Under != nil && !p.Tree.IsZero() {
		committed, err := v.Under.Tree(p)
		if err != nil {
			return [layout.ClassCount][]layout.Segment{}, err
		}
		have := make(map[layout.Segment]bool, len(found))
		for _, s := range found {
			have[s] = true
		}
		for _, e := range committed {
			c, n, ok := layout.ParseSegment(e.Name)
			if s := (layout.Segment{Class: c, N: n, Size: -1}); ok && !have[s] {
				s.Hash = e.Hash
				found = append(found, s)
			}
		}
	}
	return layout.GroupSegments(found, v.Path(p, ""))
}

// FilesIn returns the files of entries in a phase's folder.
func FilesIn(dir string) (found []layout.Segment, err error) {
	if err := workspace.CheckNoLink(dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name())
		if !ok {
			continue
		}
		if !e.Type().IsRegular() {
			return nil, layout.NotPlain(filepath.Join(dir, e.Name()))
		}
		found = append(found, layout.Segment{Class: c, N: n, Size: -1})
	}
	return found, nil
}

// SizeOf returns the size of a file in bytes.
func SizeOf(path string) (int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// ListPhases returns the phases in a working tree, in order.
func ListPhases(worktree string) ([]layout.Phase, error) {
	dir := filepath.Join(worktree, layout.AnchorsDir)
	names, err := workspace.DirNames(dir)
	if err := cmp.Or(workspace.CheckNoLink(dir), err); err != nil {
		return nil, err
	}
	out := make([]layout.Phase, 0, len(names))
	for _, name := range names {
		// Programs that synchronize folders make copies such as "002_work 2" and "002_work (Ada's conflicted copy)".
		if seq, slug, ok := layout.ParseFolder(name); ok && slug == layout.Slugify(slug, layout.SlugLimit) {
			out = append(out, layout.Phase{Seq: seq, Folder: name})
		}
	}
	layout.SortPhases(out)
	return out, nil
}
