package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/writer"
)

// checkDisposable refuses to remove a working tree that contains anything not in git.
func checkDisposable(ctx context.Context, w *writer.Writer, wt gitstore.Worktree) error {
	for _, name := range []string{"locked", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply", "index.lock"} {
		if _, err := os.Lstat(filepath.Join(wt.GitDir, name)); err == nil {
			return fmt.Errorf("git has an unfinished operation there, or has locked the working tree: %s", filepath.Join(wt.GitDir, name))
		}
	}
	if err := w.Begin(ctx); err != nil {
		return err
	}
	if w.Wt.Dir != wt.Dir {
		return errors.New("it was moved meanwhile")
	}
	if n := w.Uncommitted(); n > 0 {
		return fmt.Errorf("%s not committed", journal.AreEntries(n))
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	l := snapshot.Lister{S: w.T.Store(), NoSizes: true}
	if err := l.Tree(v.RootTree, ""); err != nil {
		return layout.CorruptObject(w.Head, err)
	}
	committed := make(map[string]gitstore.Hash, len(l.Out))
	for _, f := range l.Out {
		committed[f.Path] = f.Hash
	}
	if err := checkStaged(w, committed); err != nil {
		return err
	}
	return checkSameFiles(ctx, w.Wt.Dir, committed)
}

// checkStaged checks that git's index matches the commit. Files missing from the working tree must be
// marked as absent on purpose.
func checkStaged(w *writer.Writer, committed map[string]gitstore.Hash) error {
	staged, err := gitindex.Read(w.Wt)
	if err != nil {
		return err
	}
	for _, e := range staged {
		if h, ok := committed[e.Path]; !ok || h != e.Hash || e.Stage != 0 {
			return fmt.Errorf("%s is staged", e.Path)
		}
		if e.SkipWorktree {
			continue
		}
		if _, err := os.Lstat(filepath.Join(w.Wt.Dir, filepath.FromSlash(e.Path))); err != nil {
			return fmt.Errorf("%s was removed", e.Path)
		}
	}
	if len(staged) != len(committed) {
		return errors.New("files were removed from git's index")
	}
	return nil
}

// checkSameFiles checks that each file of a working tree is as committed, byte for byte.
func checkSameFiles(ctx context.Context, dir string, committed map[string]gitstore.Hash) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == layout.GitDirName || d.IsDir() {
			return err
		}
		name = filepath.ToSlash(name)
		h, ok := committed[name]
		if !ok {
			return fmt.Errorf("%s is not committed", name)
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a plain file", name)
		}
		data, err := os.ReadFile(path)
		if err == nil && gitstore.HashObject(gitstore.KindBlob, data) != h {
			err = fmt.Errorf("%s is not as it was committed", name)
		}
		return err
	})
}
