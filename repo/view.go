package repo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"tape/internal/gitstore"
)

// phase is one folder under anchors/.
type phase struct {
	seq    int
	folder string
	tree   gitstore.Hash // in a commit; zero in a working tree
}

// segment is one file of a phase.
type segment struct {
	class class
	n     int   // 1, 2, 3 …
	size  int64 // bytes that belong to the view; -1: all there are
	hash  gitstore.Hash
}

func (s segment) name() string { return segmentName(s.class, s.n) }

// view is a consistent look at a tape: a commit, or the working tree at one moment.
type view interface {
	phases() []phase
	// anchorLine returns the content of the phase's anchor.json.
	anchorLine(p phase) ([]byte, error)
	// segments returns the files of a phase, each class in order.
	segments(p phase) ([classCount][]segment, error)
	// content returns a file's bytes.
	content(p phase, s segment) ([]byte, error)
	// beginning returns the first bytes of a file, n or a little more if it has them.
	beginning(p phase, s segment, n int) ([]byte, error)
	// check refuses content that is not what was recorded.
	check(p phase, file string, data []byte) error
	// where names a file in messages.
	where(p phase, file string) string
	// open reports whether the phase may still be growing.
	open(p phase) bool
}

func sortPhases(ps []phase) {
	slices.SortFunc(ps, func(a, b phase) int { return cmp.Compare(a.seq, b.seq) })
}

// groupSegments sorts the files of a phase by class and number, and refuses gaps.
func groupSegments(found []segment, where string) ([classCount][]segment, error) {
	var out [classCount][]segment
	slices.SortFunc(found, func(a, b segment) int { return cmp.Compare(a.n, b.n) })
	for _, s := range found {
		out[s.class] = append(out[s.class], s)
		if len(out[s.class]) != s.n {
			return out, &CorruptError{File: where, Msg: fmt.Sprintf("%s is missing", segmentName(s.class, len(out[s.class])))}
		}
	}
	return out, nil
}

// commitView reads a tape from a commit.
type commitView struct {
	git    *gitstore.Repo
	commit gitstore.Hash
	root   []gitstore.TreeEntry
	list   []phase

	// The tree that was read last: a phase's files are looked at one after another.
	mu      sync.Mutex
	last    gitstore.Hash
	entries []gitstore.TreeEntry
}

func (s *Store) commitView(h gitstore.Hash) (*commitView, error) {
	c, err := s.git.Commit(h)
	if err != nil {
		return nil, corruptObject(h, err)
	}
	if n, err := strconv.Atoi(c.Trailer(trailerFormat)); err == nil && n > FormatVersion {
		return nil, &CorruptError{File: "commit " + h.String(), Msg: newerFormat(n), Fix: "install a newer tape"}
	}
	v := &commitView{git: s.git, commit: h}
	if v.root, err = s.git.Tree(c.Tree); err != nil {
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
	return v.commit.String()[:12] + ":" + filepath.ToSlash(filepath.Join(anchorsDir, p.folder, file))
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

// diskView reads a tape from its working tree, as it was at one moment.
type diskView struct {
	dir  string // the working tree
	list []phase
	// last holds the files of the last phase, with the sizes they had.
	last [classCount][]segment

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
	raw, err := os.ReadFile(v.path(p, anchorFile))
	return raw, v.missing(p, anchorFile, err)
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
	return namedSegments(v.path(p, ""))
}

func (v *diskView) content(p phase, s segment) ([]byte, error) {
	path := v.path(p, s.name())
	if s.size < 0 {
		raw, err := os.ReadFile(path)
		return raw, v.missing(p, s.name(), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, v.missing(p, s.name(), err)
	}
	defer f.Close()
	raw := make([]byte, s.size)
	if n, err := f.ReadAt(raw, 0); int64(n) < s.size {
		return nil, &CorruptError{File: path, Msg: fmt.Sprintf("the file was cut short while it was read: %v", err)}
	}
	return raw, nil
}

func (v *diskView) beginning(p phase, s segment, n int) ([]byte, error) {
	f, err := os.Open(v.path(p, s.name()))
	if err != nil {
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

// listSegments returns the files of a phase's folder with their present sizes. What
// is no file of a phase (an editor's backup, say) is left to tape verify.
func listSegments(dir string) ([classCount][]segment, error) {
	list, err := namedSegments(dir)
	if err != nil {
		return list, err
	}
	for _, files := range list {
		for i := range files {
			if files[i].size, err = sizeOf(filepath.Join(dir, files[i].name())); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

// openSegments does with a look at the last file of each class: one that has a next one
// is sealed, and never changes. The size of such a one is -1.
func openSegments(dir string) ([classCount][]segment, error) {
	list, err := namedSegments(dir)
	if err != nil {
		return list, err
	}
	for _, files := range list {
		if n := len(files); n > 0 {
			if files[n-1].size, err = sizeOf(filepath.Join(dir, files[n-1].name())); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

func namedSegments(dir string) ([classCount][]segment, error) {
	entries, err := readDir(dir)
	if err != nil {
		return [classCount][]segment{}, err
	}
	var found []segment
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name())
		if !ok {
			continue
		}
		if !e.Type().IsRegular() {
			return [classCount][]segment{}, &CorruptError{File: filepath.Join(dir, e.Name()), Msg: "not a plain file"}
		}
		found = append(found, segment{class: c, n: n, size: -1})
	}
	return groupSegments(found, dir)
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

// size is how many bytes a file of the open phase has.
func (v *diskView) size(p phase, s segment) (int64, error) {
	if s.size >= 0 {
		return s.size, nil
	}
	return sizeOf(v.path(p, s.name()))
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
