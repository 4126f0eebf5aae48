package repo

import (
	"errors"

	"tape/internal/gitstore"
)

// How two commits stand to each other.
type relation int

const (
	equal    relation = iota
	ahead             // ours continues theirs
	behindIt          // theirs continues ours
	apart             // each has something that the other lacks
	strange           // they have nothing in common
)

// relate compares two commits whose histories are here.
func (s *Store) relate(ours, theirs gitstore.Hash) (relation, error) {
	if ours == theirs {
		return equal, nil
	}
	common, err := s.commonCommit(ours, theirs)
	switch {
	case errors.Is(err, ErrConflict):
		return strange, nil
	case err != nil:
		return apart, err
	case common == theirs:
		return ahead, nil
	case common == ours:
		return behindIt, nil
	}
	// By first parents each has something of its own. Theirs may have merged ours; where ours
	// has merged theirs, theirs has to come first still.
	if has, err := s.contains(theirs, ours); err != nil || has {
		return behindIt, err
	}
	return apart, nil
}
