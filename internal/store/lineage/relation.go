package lineage

import (
	"errors"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Relation is how two commits stand to each other.
type Relation int

// What two commits may be to each other.
const (
	Equal     Relation = iota
	Ahead              // ours continues theirs
	Behind             // theirs continues ours
	Diverged           // each has something that the other lacks
	Unrelated          // they have nothing in common
)

// Relate compares two commits whose histories are here.
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
	// By first parents each has something of its own. Theirs may have merged ours; where ours
	// has merged theirs, theirs has to come first still.
	if has, err := Contains(s, theirs, ours); err != nil || has {
		return Behind, err
	}
	return Diverged, nil
}
