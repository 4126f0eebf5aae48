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

// open is how many uncommitted entries a note knows of, 0 if the branch has moved since.
func (st Record) open(head gitstore.Hash) int64 {
	if st.Undo != nil && !st.Undo.Checkout || st.Head != head.String() {
		return 0
	}
	return max(0, st.LastID-st.Committed)
}

// CheckHome refuses to go on without entries that are somewhere else, and to take
// another tape's for this one's. dir is the working tree, "" if there is none.
func CheckHome(t *workspace.Tape, note Record, head gitstore.Hash, dir string) error {
	s := t.Store()
	if dir != "" && note.Home == s.RelDir(dir) {
		return nil
	}
	if n := note.open(head); n > 0 && note.Home != "" {
		was := s.AbsDir(note.Home)
		if _, err := os.Stat(filepath.Join(was, layout.AnchorsDir)); err == nil {
			return layout.Conflict("check it out there again: git -C "+layout.ShellWord(was)+" checkout "+layout.ShellWord(t.Branch()),
				"%s not committed, in %s, where git has something else checked out now", AreEntries(n), was)
		}
		return &layout.CorruptError{File: was, Msg: "the folder is gone, and with it " + layout.Entries(note.Committed+1, note.LastID) + ", acknowledged but not committed"}
	}
	if dir == "" {
		return nil
	}
	return checkStrangers(t, dir)
}

// Quiet looks at the workspace once for what tapes may have beside the commit of their
// branch, a working tree or a change under way, and tells of each whether it has neither.
func Quiet(s *workspace.Store) (func(t *workspace.Tape, head gitstore.Hash) bool, error) {
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
		note, ok, err := Peek(LockPath(t)) // of an error tells who looks
		return err == nil && ok && note.Undo == nil && note.open(head) == 0
	}, nil
}

// AreEntries begins a sentence about a number of entries.
func AreEntries(n int64) string {
	if n == 1 {
		return "an entry is"
	}
	return fmt.Sprintf("%d entries are", n)
}

// checkStrangers looks for another tape that has entries in a working tree.
func checkStrangers(t *workspace.Tape, dir string) error {
	s := t.Store()
	names, err := workspace.DirNames(filepath.Dir(LockPath(t)))
	if err != nil {
		return nil // no tape was ever written to
	}
	for _, slug := range names {
		if slug == t.Slug() {
			continue
		}
		note, _, err := Peek(s.PrivatePath(locksDir, slug))
		if err != nil {
			return err
		}
		if note.Home != s.RelDir(dir) || note.Branch == t.Ref() {
			continue
		}
		head, err := s.Git().Ref(note.Branch)
		if err != nil {
			continue
		}
		if n := note.open(head); n > 0 {
			branch := strings.TrimPrefix(note.Branch, "refs/heads/")
			return layout.Conflict("", "in %s, %s not committed that belong to the tape on branch %s", dir, AreEntries(n), branch).Try(layout.CheckOutAndCommit, dir, branch)
		}
	}
	return nil
}

// CheckTapeFile refuses a working tree whose tape.json is damaged, or of a format that
// this program does not know. One that is just being written is not looked at.
func CheckTapeFile(worktree string, u *Undo) error {
	if u != nil && u.Checkout {
		return nil
	}
	path := filepath.Join(worktree, layout.TapeFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &layout.CorruptError{File: path, Msg: "the file is missing"}
	}
	if err != nil {
		return err
	}
	_, err = layout.DecodeTapeInfo(raw, path)
	return err
}
