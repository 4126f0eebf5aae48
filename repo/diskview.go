package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// inGit reports whether a file that is not there was left in git. (Of a phase that git
// has, the tree is known.)
func (v *snapshot) inGit(p phase, err error) bool {
	return v.under != nil && !p.tree.IsZero() && errors.Is(err, fs.ErrNotExist)
}

// gone finds a phase in the commit, if the working tree was taken away since the look (by
// a gc, a reset, or because the fork was closed): the commit has what it had.
func (v *snapshot) gone(p phase, err error) (c *snapshot, was phase, ok bool) {
	if !errors.Is(err, fs.ErrNotExist) || v.head == nil {
		return nil, was, false
	}
	if st, ok := peekNote(v.notePath); !ok || st.Undo == nil || !st.Undo.Checkout {
		if _, err := os.Lstat(filepath.Join(v.dir, anchorsDir)); err == nil {
			return nil, was, false
		}
	}
	if c, err = v.head(); err != nil {
		return nil, was, false
	}
	was, ok = c.phase(p.seq, p.folder)
	return c, was, ok
}

// fromCommit returns what git has of a file that is not on disk: because it was left in git,
// or because the working tree is gone.
func (v *snapshot) fromCommit(p phase, s segment, err error) ([]byte, bool) {
	c, was := v.under, p
	if !v.inGit(p, err) {
		var ok bool
		if c, was, ok = v.gone(p, err); !ok {
			return nil, false
		}
	}
	data, err := c.blob(was, segment{class: s.class, n: s.n})
	if err != nil || int64(len(data)) < s.size {
		return nil, false
	}
	if s.size >= 0 {
		data = data[:s.size]
	}
	return data, true
}

// ends returns the files of a phase, the last one of each class with its size: one that has
// a next one is sealed, and never changes. What is no file of a phase (an editor's backup,
// say) is left to tape verify.
func (v *snapshot) ends(p phase) ([classCount][]segment, error) {
	list, err := v.named(p)
	if err != nil {
		return list, err
	}
	for _, files := range list {
		if n := len(files); n > 0 {
			if files[n-1].size, err = v.size(p, files[n-1]); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// named returns the files of a phase without their sizes. Those that were left in git
// have the hash that they have there.
func (v *snapshot) named(p phase) ([classCount][]segment, error) {
	found, err := filesIn(v.path(p, ""))
	if err != nil && !v.inGit(p, err) {
		if c, was, ok := v.gone(p, err); ok {
			return c.committed(was)
		}
		return [classCount][]segment{}, err
	}
	if v.under != nil && !p.tree.IsZero() {
		committed, err := v.under.tree(p)
		if err != nil {
			return [classCount][]segment{}, err
		}
		have := make(map[segment]bool, len(found))
		for _, s := range found {
			have[s] = true
		}
		for _, e := range committed {
			c, n, ok := parseSegment(e.Name)
			if s := (segment{class: c, n: n, size: -1}); ok && !have[s] {
				s.hash = e.Hash
				found = append(found, s)
			}
		}
	}
	return groupSegments(found, v.path(p, ""))
}

// filesIn lists the files of a phase's folder.
func filesIn(dir string) ([]segment, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	var found []segment
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name())
		if !ok {
			continue
		}
		if !e.Type().IsRegular() {
			return nil, &CorruptError{File: filepath.Join(dir, e.Name()), Msg: "not a plain file"}
		}
		found = append(found, segment{class: c, n: n, size: -1})
	}
	return found, nil
}

func sizeOf(path string) (int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// listPhases returns the phase folders of a working tree, in order.
func listPhases(worktree string) ([]phase, error) {
	names, err := dirNames(filepath.Join(worktree, anchorsDir))
	if err != nil {
		return nil, err
	}
	out := make([]phase, 0, len(names))
	for _, name := range names {
		if seq, _, ok := parseFolder(name); ok {
			out = append(out, phase{seq: seq, folder: name})
		}
	}
	sortPhases(out)
	return out, nil
}

func dirNames(dir string) ([]string, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}
