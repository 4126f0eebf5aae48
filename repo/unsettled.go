package repo

import (
	"fmt"

	"tape/internal/gitstore"
)

// Unsettled is the error of a tape whose newest commit git has made by a merge: it has to be
// completed before the tape can be read or written.
type Unsettled struct{ Tape *Tape }

func (e *Unsettled) Error() string { return fmt.Sprintf("git has merged into %q", e.Tape.name) }

// noteSettled remembers that a commit counts as it is, though git has made it.
func (s *Store) noteSettled(h gitstore.Hash) { s.settled.Store(h, true) }

// checkSettled returns *Unsettled if git has made the commit by a merge, unless it is known
// to count as it is.
func (t *Tape) checkSettled(head gitstore.Hash) error {
	if _, ok := t.store.settled.Load(head); ok {
		return nil
	}
	stretch, _, err := t.store.byGit(head)
	if err == nil && len(stretch) > 0 {
		err = &Unsettled{t}
	}
	return err
}
