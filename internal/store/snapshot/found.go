package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Find finds out what journal.Decide has to know of a tape. wt is its working tree, Dir "" if there is none.
func Find(t *workspace.Tape, rec journal.Record, head gitstore.Hash, wt gitstore.Worktree) (journal.Found, error) {
	f := rec.Found(head)
	f.Tree = stateOf(t, rec, wt)
	if f.Change != journal.Growth || f.Branch != journal.Elsewhere {
		return f, nil
	}
	has, err := hasSome(t, *rec.Undo, head)
	if has {
		f.Branch = journal.HasSome
	}
	return f, err
}

// treeOf returns a tape's working tree, Dir "" if there is none.
func treeOf(t *workspace.Tape) (gitstore.Worktree, error) {
	wt, _, err := t.Worktree()
	if errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	return wt, err
}

// Now finds a tape's working tree, and decides what the tape is now. It also returns what it has found, from which that follows.
func Now(t *workspace.Tape, rec journal.Record, head gitstore.Hash) (wt gitstore.Worktree, f journal.Found, now journal.Now, err error) {
	if wt, err = treeOf(t); err != nil {
		return wt, f, now, err
	}
	f, err = Find(t, rec, head, wt)
	return wt, f, journal.Decide(f), err
}

func stateOf(t *workspace.Tape, rec journal.Record, wt gitstore.Worktree) journal.Tree {
	switch {
	case wt.Dir == "":
		return journal.NoTree
	case notCheckedOut(t, wt, rec):
		return journal.Unfilled
	case t.Merging(wt):
		return journal.Merging
	}
	return journal.Filled
}

// notCheckedOut reports whether the branch has never had files here: git clone --no-checkout leaves neither them nor an
// index. A partial clone has to check them out, because that brings what they need.
func notCheckedOut(t *workspace.Tape, wt gitstore.Worktree, rec journal.Record) bool {
	if rec.Gen != 0 || rec.Head != "" || t.Store().Git().Partial(layout.DefaultRemote) != nil {
		return false
	}
	for _, path := range []string{wt.IndexPath(), filepath.Join(wt.Dir, layout.TapeFile), filepath.Join(wt.Dir, layout.AnchorsDir)} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// hasSome reports whether a commit has something of the change that u undoes.
func hasSome(t *workspace.Tape, u journal.Undo, head gitstore.Hash) (bool, error) {
	v, err := AtCommit(t.Store(), head)
	if err != nil {
		return false, err
	}
	if len(v.List) < u.Seq {
		return false, nil
	}
	p := v.List[u.Seq-1]
	if len(v.List) > u.Seq || p.Folder != u.Folder {
		return true, nil
	}
	entries, err := v.Tree(p)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		if !ok || n < u.Tails[c].Seg {
			continue
		}
		size, err := t.Store().Git().BlobSize(e.Hash)
		if err != nil {
			return false, layout.CorruptObject(head, err)
		}
		if n > u.Tails[c].Seg || size > u.Tails[c].Size {
			return true, nil
		}
	}
	return false, nil
}
