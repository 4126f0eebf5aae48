package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// diskView reads a tape from its working tree, as it was at one moment.
type diskView struct {
	dir  string // the working tree
	list []phase
	// last holds the files of the last phase, with the sizes they had.
	last [classCount][]segment
	// under is what a sparse working tree, a fork's, has left in git; else nil.
	under       *commitView
	closedInGit bool // of closed phases, what is in git counts

	head     func() (*commitView, error) // the branch's commit, read when needed
	note     state                       // the last writer's, if it is of the same commit
	notePath string
	sealed   func() map[string]string // what files were sealed as, see seals
}

func (v *diskView) phases() []phase   { return v.list }
func (v *diskView) open(p phase) bool { return p.seq == len(v.list) }

func (v *diskView) path(p phase, file string) string {
	return filepath.Join(v.dir, anchorsDir, p.folder, file)
}

func (v *diskView) where(p phase, file string) string { return v.path(p, file) }

func (v *diskView) anchorLine(p phase) ([]byte, error) {
	if v.closedInGit {
		return v.under.anchorLine(p)
	}
	raw, err := os.ReadFile(v.path(p, anchorFile))
	if v.inGit(p, err) {
		return v.under.anchorLine(p)
	}
	if c, was, ok := v.gone(p, err); ok {
		return c.anchorLine(was)
	}
	return raw, v.missing(p, anchorFile, err)
}

// gone finds a phase in the commit, if the working tree was taken away since the look (by
// a gc, a reset, or because the fork was closed): the commit has what it had.
func (v *diskView) gone(p phase, err error) (c *commitView, was phase, ok bool) {
	if !errors.Is(err, fs.ErrNotExist) || v.head == nil {
		return nil, was, false
	}
	if st, ok := peekNote(v.notePath); !ok || st.Undo == nil || !st.Undo.Checkout {
		if _, err := os.Lstat(filepath.Join(v.dir, anchorsDir)); err == nil {
			return nil, was, false
		}
	}
	c, err = v.head()
	if err != nil || p.seq > len(c.list) || c.list[p.seq-1].folder != p.folder {
		return nil, was, false
	}
	return c, c.list[p.seq-1], true
}

// fromCommit returns a file of a working tree that is gone.
func (v *diskView) fromCommit(p phase, s segment, err error) ([]byte, bool) {
	c, was, ok := v.gone(p, err)
	if !ok {
		return nil, false
	}
	entries, err := c.tree(was)
	if err != nil {
		return nil, false
	}
	e, ok := findEntry(entries, s.name())
	if !ok {
		return nil, false
	}
	data, err := c.git.Blob(e.Hash)
	if err != nil || int64(len(data)) < s.size {
		return nil, false
	}
	if s.size >= 0 {
		data = data[:s.size]
	}
	return data, true
}

// inGit reports whether a file that is not there was left in git. (Of a phase that git
// has, the tree is known.)
func (v *diskView) inGit(p phase, err error) bool {
	return v.under != nil && !p.tree.IsZero() && errors.Is(err, fs.ErrNotExist)
}

// missing makes a file that has to be there, and is not, a damage.
func (v *diskView) missing(p phase, file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &CorruptError{File: v.path(p, file), Msg: "the file is missing", Fix: v.restoreHint(p)}
	}
	return err
}

func (v *diskView) restoreHint(p phase) string {
	return "bring back what was committed with: git -C " + shellWord(v.dir) + " restore -- " + shellWord(anchorsDir+"/"+p.folder)
}

func (v *diskView) segments(p phase) ([classCount][]segment, error) {
	if v.open(p) {
		return v.last, nil
	}
	if v.closedInGit {
		return v.under.segments(p)
	}
	return v.named(p)
}

func (v *diskView) content(p phase, s segment) ([]byte, error) {
	if !s.hash.IsZero() {
		return v.blob(s)
	}
	path := v.path(p, s.name())
	f, err := os.Open(path)
	if err != nil {
		if raw, ok := v.fromCommit(p, s, err); ok {
			return raw, nil
		}
		return nil, v.missing(p, s.name(), err)
	}
	defer f.Close()
	if s.size < 0 {
		return io.ReadAll(f)
	}
	raw := make([]byte, s.size)
	if n, err := f.ReadAt(raw, 0); int64(n) < s.size {
		return nil, &CorruptError{File: path, Msg: fmt.Sprintf("the file was cut short while it was read: %v", err)}
	}
	return raw, nil
}

// inCommit is the commit that files are in which the working tree has not.
func (v *diskView) inCommit() (*commitView, error) {
	if v.under != nil {
		return v.under, nil
	}
	return v.head()
}

// blob returns a file that git has.
func (v *diskView) blob(s segment) ([]byte, error) {
	c, err := v.inCommit()
	if err != nil {
		return nil, err
	}
	raw, err := c.git.Blob(s.hash)
	if err != nil {
		return nil, corruptObject(c.commit, err)
	}
	return raw, nil
}

func (v *diskView) beginning(p phase, s segment, n int) ([]byte, error) {
	if !s.hash.IsZero() {
		return v.blob(s)
	}
	f, err := os.Open(v.path(p, s.name()))
	if err != nil {
		if raw, ok := v.fromCommit(p, s, err); ok {
			return raw, nil
		}
		return nil, v.missing(p, s.name(), err)
	}
	defer f.Close()
	buf := make([]byte, n)
	read, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:read], nil
}

// listed returns the files of a phase with their present sizes. What is no file of a
// phase (an editor's backup, say) is left to tape verify.
func (v *diskView) listed(p phase) ([classCount][]segment, error) {
	list, err := v.named(p)
	if err != nil {
		return list, err
	}
	for _, files := range list {
		for i := range files {
			if files[i].size, err = v.size(p, files[i]); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// ends does with a look at the last file of each class: one that has a next one is
// sealed, and never changes. The size of such a one is -1.
func (v *diskView) ends(p phase) ([classCount][]segment, error) {
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
func (v *diskView) named(p phase) ([classCount][]segment, error) {
	found, err := filesIn(v.path(p, ""))
	if v.under == nil || p.tree.IsZero() {
		if c, was, ok := v.gone(p, err); ok {
			return c.segments(was)
		}
		if err != nil {
			return [classCount][]segment{}, err
		}
		return groupSegments(found, v.path(p, ""))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return [classCount][]segment{}, err
	}
	committed, err := v.under.tree(p)
	if err != nil {
		return [classCount][]segment{}, err
	}
	var have [classCount]map[int]bool
	for _, s := range found {
		if have[s.class] == nil {
			have[s.class] = map[int]bool{}
		}
		have[s.class][s.n] = true
	}
	for _, e := range committed {
		if c, n, ok := parseSegment(e.Name); ok && !have[c][n] {
			found = append(found, segment{class: c, n: n, size: -1, hash: e.Hash})
		}
	}
	return groupSegments(found, v.path(p, ""))
}

// filesIn lists the files of a phase's folder.
func filesIn(dir string) ([]segment, error) {
	entries, err := readDir(dir)
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

func readDir(dir string) ([]fs.DirEntry, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

func sizeOf(path string) (int64, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// size is how many bytes a file has.
func (v *diskView) size(p phase, s segment) (int64, error) {
	if s.size >= 0 {
		return s.size, nil
	}
	if !s.hash.IsZero() {
		c, err := v.inCommit()
		if err != nil {
			return 0, err
		}
		return c.git.BlobSize(s.hash)
	}
	size, err := sizeOf(v.path(p, s.name()))
	if raw, ok := v.fromCommit(p, s, err); ok {
		return int64(len(raw)), nil
	}
	return size, err
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
