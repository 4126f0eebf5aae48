package snapshot

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Lister lists the files of a tree for git's index.
type Lister struct {
	S      *workspace.Store
	Out    []gitindex.Change                      // the listed files
	Sparse string                                 // if set, files that are missing in this folder get skip-worktree
	Known  map[gitstore.Hash][]gitstore.TreeEntry // trees that need not be read from git, see KnownTrees

	NoSizes bool // leave out the sizes of files
}

// Tree adds the files below a tree. prefix is its path with a slash at the end, "" for the root.
func (l *Lister) Tree(tree gitstore.Hash, prefix string) error {
	entries, ok := l.Known[tree]
	if !ok {
		var err error
		if entries, err = l.S.Git().Tree(tree); err != nil {
			return err
		}
	}
	for _, e := range entries {
		path := prefix + e.Name
		if e.IsDir() {
			if err := l.Tree(e.Hash, path+"/"); err != nil {
				return err
			}
			continue
		}
		change := gitindex.Change{Path: path, Hash: e.Hash, Mode: e.Mode}
		var err error
		if l.Sparse != "" {
			_, err = os.Lstat(filepath.Join(l.Sparse, filepath.FromSlash(path)))
			change.Skip = err != nil
		}
		if !change.Skip && !l.NoSizes {
			if change.Size, err = l.S.Git().BlobSize(e.Hash); err != nil {
				return err
			}
		}
		l.Out = append(l.Out, change)
	}
	return nil
}

// KnownTrees returns the trees of phases by hash, built from the git index of a fork's parent; fork is a full ref.
// The fork shares most of them, and reading each from git would take time in proportion to the tape's length. A
// wrong index does no harm, because then the hashes do not match.
func KnownTrees(s *workspace.Store, fork string) map[gitstore.Hash][]gitstore.TreeEntry {
	slug, _, _ := strings.Cut(strings.TrimPrefix(fork, layout.ForkPrefix), "/")
	wt, err := s.Git().WorktreeOf(layout.BranchPrefix + slug)
	if err != nil {
		wt = gitstore.Worktree{Dir: s.Dir(), GitDir: s.Git().GitDir()}
	}
	all, err := gitindex.Read(wt)
	if err != nil {
		return nil
	}
	trees := map[gitstore.Hash][]gitstore.TreeEntry{}
	for i := 0; i < len(all); {
		folder := path.Dir(all[i].Path)
		var entries []gitstore.TreeEntry
		for ; i < len(all) && path.Dir(all[i].Path) == folder; i++ {
			entries = append(entries, gitstore.TreeEntry{Name: path.Base(all[i].Path), Mode: all[i].Mode, Hash: all[i].Hash})
		}
		trees[gitstore.HashObject(gitstore.KindTree, gitstore.EncodeTree(entries))] = entries
	}
	return trees
}
