package workspace

import (
	"fmt"
	"tape/internal/gitstore"
)

// Unsettled is the error of a tape whose newest commit git has made by a merge: it has to be
// completed before the tape can be read or written.
type Unsettled struct{ Tape *Tape }

func (e *Unsettled) Error() string { return fmt.Sprintf("git has merged into %q", e.Tape.name) }

// NoteSettled remembers that a commit counts as it is, though git has made it.
func (s *Store) NoteSettled(h gitstore.Hash) { s.Settled.Store(h, true) }

// Merging reports whether git is in the middle of a merge in a working tree.
func (t *Tape) Merging(wt gitstore.Worktree) bool {
	heads, err := t.store.git.MergeHeads(wt)
	return err != nil || len(heads) > 0
}
