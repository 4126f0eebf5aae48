package repo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/gitstore"
)

// Where a tape's working tree is, is for git to say. But git lets a user check out
// something else although there are entries that are not committed, as they may be in
// files that git does not know yet. Such entries must neither be forgotten nor be taken
// for those of the tape that is checked out now. The last writer's note tells.

// worktree returns where the tape is checked out, ErrNotFound of gitstore if nowhere.
// One that was moved or copied along with the workspace is found, too; stale tells that
// git's links to it have to be mended.
func (t *Tape) worktree() (wt gitstore.Worktree, stale bool, err error) {
	git := t.store.git
	wt, err = git.WorktreeOf(t.branch)
	if !errors.Is(err, gitstore.ErrNotFound) {
		return wt, false, err
	}
	if moved, ok := git.MovedWorktree(t.branch, t.treeDir()); ok {
		return moved, true, nil
	}
	return wt, false, err
}

// treeDir is where the working tree of a tape is that git has checked out nowhere else.
func (t *Tape) treeDir() string {
	if t.IsFork() {
		return filepath.Join(t.store.dir, forksDir, filepath.FromSlash(strings.TrimPrefix(t.branch, forkPrefix)))
	}
	return filepath.Join(t.store.dir, tapesDir, t.slug)
}

// home is how a note names a working tree: relative to the workspace, so that it can be
// moved.
func (s *Store) home(dir string) string {
	if rel, err := filepath.Rel(s.dir, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}

// folder is the inverse of home.
func (s *Store) folder(home string) string {
	if dir := filepath.FromSlash(home); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.dir, filepath.FromSlash(home))
}

// open is how many entries a note knows of that are not committed, 0 if the branch has
// moved since.
func (st state) open(head gitstore.Hash) int64 {
	if st.Undo != nil && !st.Undo.Checkout || st.Head != head.String() {
		return 0
	}
	return max(0, st.LastID-st.Committed)
}

// checkHome refuses to go on without entries that are somewhere else, and to take
// another tape's for this one's. dir is the working tree, "" if there is none.
func (t *Tape) checkHome(note state, head gitstore.Hash, dir string) error {
	s := t.store
	if dir != "" && note.Home == s.home(dir) {
		return nil
	}
	if n := note.open(head); n > 0 && note.Home != "" {
		was := s.folder(note.Home)
		if _, err := os.Stat(filepath.Join(was, anchorsDir)); err == nil {
			return conflict("check it out there again: git -C "+shellWord(was)+" checkout "+shellWord(t.Branch()),
				"%s not committed, in %s, where git has something else checked out now", areEntries(n), was)
		}
		s.warn(fmt.Sprintf("%s gone with the folder %s: not committed, though acknowledged", areEntries(n), was))
	}
	if dir == "" {
		return nil
	}
	return t.checkStrangers(dir)
}

func areEntries(n int64) string {
	if n == 1 {
		return "an entry is"
	}
	return fmt.Sprintf("%d entries are", n)
}

// checkStrangers looks for another tape that has entries in a working tree.
func (t *Tape) checkStrangers(dir string) error {
	s := t.store
	names, err := dirNames(filepath.Dir(t.lockPath()))
	if err != nil {
		return nil // no tape was ever written to
	}
	for _, slug := range names {
		if slug == t.slug {
			continue
		}
		note, ok := peekNote(s.privatePath(locksDir, slug))
		if !ok || note.Home != s.home(dir) || note.Branch == t.branch {
			continue
		}
		head, err := s.git.Ref(note.Branch)
		if err != nil {
			continue
		}
		if n := note.open(head); n > 0 {
			branch := strings.TrimPrefix(note.Branch, "refs/heads/")
			return conflict("check that tape out there again, and commit: git -C "+shellWord(dir)+" checkout "+shellWord(branch)+
				" && tape commit", "in %s, %s not committed that belong to the tape on branch %s", dir, areEntries(n), branch)
		}
	}
	return nil
}
