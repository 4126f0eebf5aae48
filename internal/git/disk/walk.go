package disk

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Walk calls see for root and for everything below it, in the order of names. Links are followed, for people link
// the folders of their agents to another disk, or share them between machines (kenn-io/agentsview#30,
// anthropics/claude-code#46342): st is what a link leads to, path has the link's name. Each folder is visited once, however many links lead to it, so loops end. What is
// gone, such as the target of a link, is left out; another error that prevents reading is passed to see, without a st.
//
// An error of see ends the walk, except that [fs.SkipDir] for a folder leaves that folder out, and [fs.SkipAll] ends the
// walk without an error.
func Walk(root string, see func(path string, st fs.FileInfo, err error) error) error {
	real, err := filepath.EvalSymlinks(root)
	switch {
	case err == nil:
		err = (&walker{see: see, been: map[string]bool{}}).visit(root, real)
	case os.IsNotExist(err):
		return nil
	default:
		err = see(root, nil, err)
	}
	if err == fs.SkipAll || err == fs.SkipDir { //nolint:errorlint // they are not wrapped, as in path/filepath
		return nil
	}
	return err
}

type walker struct {
	see  func(string, fs.FileInfo, error) error
	been map[string]bool // real paths of folders
}

// visit visits a file or folder; real is its path without links.
func (w *walker) visit(path, real string) error {
	st, err := os.Lstat(real)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return w.see(path, nil, err)
	}
	if st.IsDir() {
		if w.been[real] {
			return nil
		}
		w.been[real] = true
	}
	if err := w.see(path, st, nil); err != nil || !st.IsDir() {
		return err
	}
	list, err := os.ReadDir(real)
	if err != nil {
		if err := w.see(path, nil, err); err != nil {
			return err
		}
	}
	for _, e := range list {
		name, target := filepath.Join(path, e.Name()), filepath.Join(real, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			if target, err = filepath.EvalSymlinks(target); err != nil {
				continue // it leads nowhere, or to itself
			}
		}
		if err := w.visit(name, target); err != nil && err != fs.SkipDir { //nolint:errorlint // as above
			return err
		}
	}
	return nil
}
