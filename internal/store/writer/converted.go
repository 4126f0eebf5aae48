package writer

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Unconvert puts back the line ends of the committed files in a tape's working tree that git has written with
// others, and keeps git from converting files of this repository from now on. Other differences stay. It writes
// nothing, and takes no lock, if there are no such files.
func Unconvert(ctx context.Context, t *workspace.Tape) error {
	head, err := t.Head()
	if err != nil {
		return err
	}
	wt, _, err := t.Worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	if err == nil {
		var found []gitindex.Change
		if found, err = convertedFiles(ctx, t, wt, head); err != nil || len(found) == 0 {
			return err
		}
		err = t.Store().Git().Config().KeepBytes(ctx)
	}
	if err == nil {
		err = LockedUnrepaired(ctx, t, func(w *Writer) error {
			found, err := convertedFiles(ctx, t, w.Wt, w.Head)
			if err != nil || w.Wt.Dir == "" {
				return err
			}
			files := aside.Of(t, w.Wt.Dir, w.Head)
			for _, c := range found {
				if err := files.Unconvert(filepath.Join(w.Wt.Dir, filepath.FromSlash(c.Path))); err != nil {
					return err
				}
			}
			return updateIndex(ctx, t.Store(), w.Wt, found)
		})
	}
	return layout.Wrap(err, "put back the line ends of tape %q, which git has changed", t.Name())
}

// convertedFiles returns the committed files whose line ends differ in the working tree.
func convertedFiles(ctx context.Context, t *workspace.Tape, wt gitstore.Worktree, head gitstore.Hash) (out []gitindex.Change, err error) {
	committed, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return nil, err
	}
	look := func(dir string, entries []gitstore.TreeEntry) {
		for _, e := range entries {
			path := filepath.Join(wt.Dir, dir, e.Name)
			st, err := os.Lstat(path)
			if err != nil || !st.Mode().IsRegular() || e.IsDir() {
				continue
			}
			size, err := t.Store().Git().BlobSize(e.Hash)
			if err != nil || st.Size() <= size {
				continue
			}
			data, err := os.ReadFile(path)
			blob, blobErr := t.Store().Git().Blob(e.Hash)
			if _, ok := layout.Unconverted(data, blob); ok && errors.Join(err, blobErr) == nil {
				out = append(out, gitindex.Change{Path: filepath.ToSlash(filepath.Join(dir, e.Name)), Hash: e.Hash, Mode: e.Mode, Size: size})
			}
		}
	}
	look("", committed.Root)
	for _, p := range committed.List {
		files, err1 := committed.Tree(p)
		artifacts, err2 := committed.CommittedArtifacts(p)
		if err := errors.Join(err1, err2, ctx.Err()); err != nil {
			return nil, err
		}
		look(filepath.Join(layout.AnchorsDir, p.Folder), files)
		look(filepath.Join(layout.AnchorsDir, p.Folder, layout.ArtifactsDir), artifacts)
	}
	return out, nil
}
