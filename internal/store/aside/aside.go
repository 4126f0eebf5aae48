// Package aside removes and replaces files in working trees. Nothing else does: `make lint` forbids it.
//
// What a working tree has may be nowhere else: entries that are not committed, and files that somebody put there. So a
// file is removed or overwritten only if git has its bytes, read back from git, at the same path of a commit that the
// caller names, or if the new content begins with them. Any other file is moved to .git/tape/torn, and [Tree.Tell] says
// where.
package aside

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Tree is a working tree in which files are removed and replaced.
type Tree struct {
	s       *workspace.Store
	slug    string // begins the name of the folder under torn
	dir     string
	commits []gitstore.Hash
	roots   map[gitstore.Hash]gitstore.Hash        // the trees of commits; zero if a commit cannot be read
	trees   map[gitstore.Hash][]gitstore.TreeEntry // read already
	kept    string                                 // the folder under torn; "" until something is moved there
	names   []string                               // what was moved, relative to dir
}

// Of returns the working tree of a tape in dir. commits are those that the caller knows to stay reachable.
func Of(t *workspace.Tape, dir string, commits ...gitstore.Hash) *Tree {
	known := slices.DeleteFunc(commits, gitstore.Hash.IsZero)
	return &Tree{s: t.Store(), slug: t.Slug(), dir: dir, commits: known, roots: map[gitstore.Hash]gitstore.Hash{}, trees: map[gitstore.Hash][]gitstore.TreeEntry{}}
}

// OfGit returns the folder .git, for a repair that moves damaged files of git's away. A slug has no plus sign.
func OfGit(s *workspace.Store) *Tree { return &Tree{s: s, slug: "+git", dir: s.Git().GitDir()} }

func (t *Tree) fs() *disk.FS { return t.s.FS() }

// Kept returns the folder to which files were moved, "" if none were.
func (t *Tree) Kept() string { return t.kept }

// Tell warns of what was moved to another folder, once.
func (t *Tree) Tell() {
	switch len(t.names) {
	case 0:
		return
	case 1:
		t.s.Warn(fmt.Sprintf("%s is not in git; it was moved to %s", filepath.Join(t.dir, t.names[0]), t.kept))
	default:
		t.s.Warn(fmt.Sprintf("%s and %d more are not in git; they were moved to %s", filepath.Join(t.dir, t.names[0]), len(t.names)-1, t.kept))
	}
	t.names = nil
}

// Remove removes a file or folder, which may be missing. What git does not have is moved away.
func (t *Tree) Remove(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.IsDir():
		return t.removeFolder(path)
	case !st.Mode().IsRegular():
		return t.Keep(path)
	}
	data, err := os.ReadFile(path)
	if err != nil || !t.inGit(path, data) {
		return t.Keep(path)
	}
	return t.fs().Remove(path)
}

func (t *Tree) removeFolder(path string) error {
	names, err := workspace.DirNames(path)
	if err != nil {
		return err
	}
	if len(names) > 0 && !t.isFolder(path) {
		return t.Keep(path)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := t.Remove(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return t.fs().Remove(path)
}

// Replace writes a file, durably and by a rename. What was there is moved away unless git or the new content has it.
func (t *Tree) Replace(path string, data []byte) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.fs().WriteFile(path, data)
	case err != nil:
		return err
	case !st.Mode().IsRegular():
		err = t.Keep(path)
	default:
		var was []byte
		if was, err = os.ReadFile(path); err != nil {
			err = t.Keep(path)
		} else if !bytes.HasPrefix(data, was) && !t.inGit(path, was) {
			err = t.copy(path, was)
		}
	}
	if err != nil {
		return err
	}
	return t.fs().WriteFile(path, data)
}

// Unconvert puts the committed line ends back into a file that has them changed, and keeps what was added to it.
func (t *Tree) Unconvert(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for _, h := range t.commits {
		e, ok := t.find(h, path)
		if !ok || e.IsDir() {
			continue
		}
		blob, err := t.s.Git().Blob(e.Hash)
		if err != nil {
			return err
		}
		if back, ok := layout.Unconverted(data, blob); ok {
			return t.fs().WriteFile(path, back)
		}
	}
	return nil
}

// ReplaceBy moves a file that was written elsewhere on the same disk to a place in the working tree, like Replace.
func (t *Tree) ReplaceBy(path, file string) error {
	if _, err := os.Lstat(path); err == nil {
		if err := t.Remove(path); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return t.fs().Rename(file, path)
}

// Cut cuts a file back to size bytes, and copies the rest of it away. It returns the copy's path.
func (t *Tree) Cut(path string, size int64) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) <= size {
		return "", err
	}
	to, err := t.place(path)
	if err == nil {
		err = t.fs().WriteFile(to, data[size:])
	}
	if err == nil {
		err = t.fs().Truncate(path, size)
	}
	return to, err
}

// CutAway is Cut for what [Tree.Tell] tells of.
func (t *Tree) CutAway(path string, size int64) error {
	to, err := t.Cut(path, size)
	if to != "" && err == nil {
		t.noted(path)
	}
	return err
}

// Undo removes what follows the first size bytes of a file that the caller itself has written and nobody has been told
// of; with size 0, the file.
func (t *Tree) Undo(path string, size int64) error {
	if size > 0 {
		return t.fs().Truncate(path, size)
	}
	return t.fs().Remove(path)
}

// UndoFolder removes a folder that the caller itself has made and nobody has been told of.
func (t *Tree) UndoFolder(path string) error { return t.fs().RemoveAll(path) }

// Keep moves a file or folder away, whatever it is. It may be missing.
func (t *Tree) Keep(path string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to, err := t.place(path)
	if err != nil {
		return err
	}
	if err := t.fs().Rename(path, to); err != nil {
		return &layout.Error{Class: err, Cause: err, Msg: path + " is not in git, and cannot be moved to " + to, Way: layout.Words("move it away, and try again")}
	}
	t.noted(path)
	return errors.Join(t.fs().SyncDir(filepath.Dir(to)), t.fs().SyncDir(filepath.Dir(path)))
}

// copy keeps the content of a file that stays where it is until it is replaced.
func (t *Tree) copy(path string, data []byte) error {
	to, err := t.place(path)
	if err == nil {
		err = t.fs().WriteFile(to, data)
	}
	if err == nil {
		t.noted(path)
	}
	return err
}

func (t *Tree) noted(path string) { t.names = append(t.names, t.rel(path)) }

// place makes the folder to which a file is moved, and returns the file's new path.
func (t *Tree) place(path string) (string, error) {
	if t.kept == "" {
		t.kept = t.s.PrivatePath(layout.TornDirName, t.slug+"~"+t.s.Now().UTC().Format("20060102T150405.000000000Z"))
	}
	to := filepath.Join(t.kept, t.rel(path))
	for n := 2; ; n++ {
		if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) {
			break
		}
		to = fmt.Sprintf("%s.%d", filepath.Join(t.kept, t.rel(path)), n)
	}
	return to, t.fs().MkdirAll(filepath.Dir(to))
}

// rel returns the path of a file in the working tree, relative to it.
func (t *Tree) rel(path string) string {
	if rel, err := filepath.Rel(t.dir, path); err == nil && filepath.IsLocal(rel) && rel != "." {
		return rel
	}
	return filepath.Base(path)
}

// inGit reports whether a commit has a file of this path that begins with data. The file is read from git: that there is
// an object of its name does not mean that it can be read.
func (t *Tree) inGit(path string, data []byte) bool {
	for _, h := range t.commits {
		e, ok := t.find(h, path)
		if !ok || e.IsDir() {
			continue
		}
		blob, err := t.s.Git().Blob(e.Hash)
		if err == nil && bytes.HasPrefix(blob, data) && gitstore.HashObject(gitstore.KindBlob, blob) == e.Hash {
			return true
		}
	}
	return false
}

// isFolder reports whether a commit has a folder of this path.
func (t *Tree) isFolder(path string) bool {
	if filepath.Clean(path) == filepath.Clean(t.dir) {
		return true
	}
	return slices.ContainsFunc(t.commits, func(h gitstore.Hash) bool {
		e, ok := t.find(h, path)
		return ok && e.IsDir()
	})
}

// find returns what a commit has at a path of the working tree.
func (t *Tree) find(h gitstore.Hash, file string) (e gitstore.TreeEntry, ok bool) {
	root, ok := t.roots[h]
	if !ok {
		if c, err := t.s.Git().Commit(h); err == nil {
			root = c.Tree
		}
		t.roots[h] = root
	}
	e = gitstore.TreeEntry{Mode: gitstore.ModeDir, Hash: root}
	for name := range strings.SplitSeq(path.Clean(filepath.ToSlash(t.rel(file))), "/") {
		if !e.IsDir() {
			return e, false
		}
		if e, ok = layout.FindEntry(t.tree(e.Hash), name); !ok {
			return e, false
		}
	}
	return e, true
}

// tree reads a tree; a damaged one is empty.
func (t *Tree) tree(h gitstore.Hash) []gitstore.TreeEntry {
	entries, ok := t.trees[h]
	if !ok {
		entries, _ = t.s.Git().Tree(h)
		t.trees[h] = entries
	}
	return entries
}
