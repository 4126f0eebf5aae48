package workspace

import (
	"fmt"
	"iter"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Ancestor is a commit in the history of another, or that commit itself.
type Ancestor struct {
	Hash gitstore.Hash
	gitstore.Commit
}

// ByFirstParents yields a commit and its ancestors by first parents, newest first. It ends after an error,
// which comes with the commit's hash.
func (s *Store) ByFirstParents(from gitstore.Hash) iter.Seq2[Ancestor, error] {
	return func(yield func(Ancestor, error) bool) {
		for next := from; !next.IsZero(); {
			ancestor := Ancestor{Hash: next}
			var err error
			if ancestor.Commit, err = s.git.Commit(next); err != nil {
				yield(ancestor, layout.CorruptObject(next, err))
				return
			}
			if !yield(ancestor, nil) || len(ancestor.Parents) == 0 {
				return
			}
			next = ancestor.Parents[0]
		}
	}
}

// NameAt returns the name of the tape or fork that the nearest commit by first parents records; "" if none
// records a name.
func (s *Store) NameAt(h gitstore.Hash) (string, error) {
	for c, err := range s.ByFirstParents(h) {
		if err != nil {
			return "", err
		}
		if name := layout.DecodeTrailer(c.Trailer(layout.TrailerName)); name != "" {
			return name, nil
		}
	}
	return "", nil
}

// IncompleteMergeError says that the newest commit of a tape is a merge made by git, which has to be completed
// before the tape can be read or written.
type IncompleteMergeError struct{ Tape *Tape }

// ConvertedError says that git wrote a file with other line ends than the committed ones, as a reader's core.autocrlf
// or attributes ask for. The committed content has to be put back before the tape can be read or written.
type ConvertedError struct {
	Tape *Tape
	File string
}

func (e *ConvertedError) Error() string { return "git has changed the line ends of " + e.File }

// NoteMergeComplete remembers that a merge commit made by git needs no completion.
func (s *Store) NoteMergeComplete(h gitstore.Hash) {
	s.seen.Lock()
	defer s.seen.Unlock()
	s.seen.merges[h] = true
}

// MergeComplete reports whether NoteMergeComplete was called for a commit.
func (s *Store) MergeComplete(h gitstore.Hash) bool {
	s.seen.Lock()
	defer s.seen.Unlock()
	return s.seen.merges[h]
}

func (e *IncompleteMergeError) Error() string {
	return fmt.Sprintf("git has merged into %q", e.Tape.name)
}
