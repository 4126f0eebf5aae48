package lineage

import (
	"errors"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Relation says how two commits are related.
type Relation int

// The relations of ours to theirs.
const (
	Equal     Relation = iota
	Ahead              // ours continues theirs
	Behind             // theirs continues ours, or has merged it
	Diverged           // each has something that the other lacks
	Unrelated          // they have nothing in common
)

// Relate compares two commits.
func Relate(s *workspace.Store, ours, theirs gitstore.Hash) (Relation, error) {
	if ours == theirs {
		return Equal, nil
	}
	common, err := CommonCommit(s, ours, theirs)
	switch {
	case errors.Is(err, layout.ErrConflict):
		return Unrelated, nil
	case err != nil:
		return Diverged, err
	case common == theirs:
		return Ahead, nil
	case common == ours:
		return Behind, nil
	}
	// By first parents, each has commits that the other lacks. If theirs has merged ours, theirs counts as ahead.
	// If ours has merged theirs, they have still diverged: the entries of theirs must come first.
	if has, err := Contains(s, theirs, ours); err != nil || has {
		return Behind, err
	}
	return Diverged, nil
}
