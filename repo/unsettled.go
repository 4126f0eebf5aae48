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

// ownMerge reports whether a merge is this program's. Its trailers say so, if they fit: a
// message may have been copied from another one.
func (s *Store) ownMerge(h gitstore.Hash, c gitstore.Commit) bool {
	if c.Trailer(trailerFormat) == "" || c.Trailer(trailerFork) == "" {
		return false
	}
	first, err1 := s.lastOf(c.Parents[0])
	v, err2 := s.commitView(h)
	if err1 != nil || err2 != nil {
		return false
	}
	last, err := v.lastID()
	return err == nil && c.Trailer(trailerEntries) == entriesTrailer(first+1, last)
}

// byGit lists the newest commits that are not this program's, down by first parents, and
// the one before them. Without a merge among them there are none: the newest of all counts.
func (s *Store) byGit(head gitstore.Hash) (stretch []gitstore.Hash, before gitstore.Hash, err error) {
	merges := 0
	for c, err := range s.byFirstParents(head) {
		if err != nil {
			return nil, c.hash, err
		}
		if len(c.Parents) == 0 || len(c.Parents) == 1 && c.Trailer(trailerFormat) != "" || len(c.Parents) > 1 && s.ownMerge(c.hash, c.Commit) {
			before = c.hash
			break
		}
		if len(c.Parents) > 1 {
			merges++
		}
		stretch = append(stretch, c.hash)
	}
	if merges == 0 {
		return nil, head, nil
	}
	return stretch, before, nil
}

// merging reports whether git is in the middle of a merge in a working tree.
func (t *Tape) merging(wt gitstore.Worktree) bool {
	heads, err := t.store.git.MergeHeads(wt)
	return err != nil || len(heads) > 0
}
