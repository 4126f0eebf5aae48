package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// uncommitted returns the number of uncommitted entries, by the record. It is 0 if the branch has moved since,
// or if a change is under way.
func (st Record) uncommitted(head gitstore.Hash) int64 {
	if st.Undo.Change() == Growth || st.Head != head.String() {
		return 0
	}
	return max(0, st.LastID-st.Committed)
}

// CheckHome returns an error if the tape has uncommitted entries in another working tree, or if another tape
// has some in this one. dir is the working tree, or "". Errors: ErrConflict, ErrCorrupt.
func CheckHome(t *workspace.Tape, rec Record, head gitstore.Hash, dir string) error {
	s := t.Store()
	if dir != "" && rec.Home == s.RelDir(dir) {
		return nil
	}
	if n := rec.uncommitted(head); n > 0 && rec.Home != "" {
		home := s.AbsDir(rec.Home)
		if _, err := os.Stat(filepath.Join(home, layout.AnchorsDir)); err == nil {
			if !s.Git().HasTree(home) {
				return layout.Conflict("", "%s not committed, in %s, which git does not know any more", AreEntries(n), home).Try(layout.RepairTape)
			}
			if dir != "" && s.Git().HasBranch(home, t.Ref()) { // git checkout --ignore-other-worktrees
				return layout.Conflict("check out something else here: git -C "+layout.ShellWord(dir)+" checkout --detach",
					"%s not committed, in %s, and the tape is checked out in %s, too", AreEntries(n), home, dir)
			}
			return layout.Conflict("check it out there again: git -C "+layout.ShellWord(home)+" checkout "+layout.ShellWord(t.Branch()),
				"%s not committed, in %s, where git has something else checked out now", AreEntries(n), home)
		}
		gone := &layout.CorruptError{File: home, Msg: "the folder is gone, and with it " + layout.Entries(rec.Committed+1, rec.LastID) + ", acknowledged but not committed"}
		if _, err := os.Stat(filepath.Join(dir, layout.AnchorsDir)); dir != "" && err == nil {
			gone.Fix = "if it was moved, move it back: git -C " + layout.ShellWord(s.Dir()) + " worktree move " + layout.ShellWord(dir) + " " + layout.ShellWord(home)
		}
		return gone
	}
	if dir == "" {
		return nil
	}
	return checkOthers(t, dir)
}

// CommittedOnly reads once which tapes are checked out and which have a record. It returns a function that
// reports whether all of a tape is on its branch: no working tree, no unfinished change, no uncommitted
// entries.
func CommittedOnly(s *workspace.Store) (func(t *workspace.Tape, head gitstore.Hash) bool, error) {
	locks := map[string]bool{}
	names, err := workspace.DirNames(s.PrivatePath(locksDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, layout.Classify(err)
	}
	for _, slug := range names {
		locks[slug] = true
	}
	trees, err := s.Git().CheckedOut()
	if err != nil {
		return nil, layout.Classify(err)
	}
	return func(t *workspace.Tape, head gitstore.Hash) bool {
		if trees[t.Ref()] {
			return false
		}
		if !locks[t.Slug()] {
			return true
		}
		rec, ok, err := Peek(LockPath(t)) // whoever reads the tape reports an error
		return err == nil && ok && rec.Undo == nil && rec.uncommitted(head) == 0
	}, nil
}

// AreEntries returns "an entry is" or "12 entries are".
func AreEntries(n int64) string {
	if n == 1 {
		return "an entry is"
	}
	return fmt.Sprintf("%d entries are", n)
}

// checkOthers returns an error if another tape has uncommitted entries in a working tree.
func checkOthers(t *workspace.Tape, dir string) error {
	s := t.Store()
	names, err := workspace.DirNames(filepath.Dir(LockPath(t)))
	if err != nil {
		return nil // no tape has ever been written to
	}
	for _, slug := range names {
		if slug == t.Slug() {
			continue
		}
		rec, _, err := Peek(s.PrivatePath(locksDir, slug))
		if err != nil {
			return err
		}
		if rec.Home != s.RelDir(dir) || rec.Branch == t.Ref() {
			continue
		}
		head, err := s.Git().Ref(rec.Branch)
		if err != nil {
			continue
		}
		if n := rec.uncommitted(head); n > 0 {
			branch := strings.TrimPrefix(rec.Branch, "refs/heads/")
			return layout.Conflict("", "the tape on branch %s has %s in %s that are not committed", branch, layout.CountEntries(n), dir).Try(layout.CheckOutAndCommit, dir, branch)
		}
	}
	return nil
}

// CheckTapeFile refuses a working tree whose tape.json is missing, damaged or of a newer format. It skips a
// working tree that is being written.
func CheckTapeFile(worktree string, u *Undo) error {
	if u.Rewrites() {
		return nil
	}
	path := filepath.Join(worktree, layout.TapeFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		missing := &layout.CorruptError{File: path, Msg: "the file is missing"}
		if _, err := os.Lstat(filepath.Join(worktree, layout.AnchorsDir)); errors.Is(err, fs.ErrNotExist) { // git clone --no-checkout
			missing.Msg, missing.Fix = "the file is missing, and all others of the tape: git has not checked them out", "git -C "+layout.ShellWord(worktree)+" reset --hard"
		}
		return missing
	}
	if err != nil {
		return err
	}
	_, err = layout.DecodeTapeInfo(raw, path)
	return err
}
