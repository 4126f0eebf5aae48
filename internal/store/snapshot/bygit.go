package snapshot

import (
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// CheckMergeComplete returns *IncompleteMergeError if the commit is a merge by git that has to be completed.
func CheckMergeComplete(t *workspace.Tape, head gitstore.Hash) error {
	if t.Store().MergeComplete(head) {
		return nil
	}
	stretch, _, err := ByGit(t.Store(), head)
	if err == nil && len(stretch) > 0 {
		err = &workspace.IncompleteMergeError{Tape: t}
	}
	return err
}

// OwnMerge reports whether tape made a merge: its trailers say so and are correct. (The message may have
// been copied from another commit.)
func OwnMerge(s *workspace.Store, h gitstore.Hash, c gitstore.Commit) bool {
	if c.Trailer(layout.TrailerFormat) == "" || c.Trailer(layout.TrailerFork) == "" {
		return false
	}
	first, err1 := LastOf(s, c.Parents[0])
	v, err2 := AtCommit(s, h)
	if err1 != nil || err2 != nil {
		return false
	}
	last, err := v.LastID()
	return err == nil && c.Trailer(layout.TrailerEntries) == layout.EntriesTrailer(first+1, last)
}

// ByGit returns the newest commits that tape did not make, by first parents, newest first, and the commit
// before them. If no merge is among them, they need no completion: then it returns none, and head.
func ByGit(s *workspace.Store, head gitstore.Hash) (stretch []gitstore.Hash, before gitstore.Hash, err error) {
	merges := 0
	for c, err := range s.ByFirstParents(head) {
		if err != nil {
			return nil, c.Hash, err
		}
		if len(c.Parents) == 0 || len(c.Parents) == 1 && c.Trailer(layout.TrailerFormat) != "" || len(c.Parents) > 1 && OwnMerge(s, c.Hash, c.Commit) {
			before = c.Hash
			break
		}
		if len(c.Parents) > 1 {
			merges++
		}
		stretch = append(stretch, c.Hash)
	}
	if merges == 0 {
		return nil, head, nil
	}
	return stretch, before, nil
}
