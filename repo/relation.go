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

// contains reports whether a commit is another, or has it in its history.
func (s *Store) contains(h, other gitstore.Hash) (bool, error) {
	seen := map[gitstore.Hash]bool{h: true}
	for todo := []gitstore.Hash{h}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if at == other {
			return true, nil
		}
		c, err := s.git.Commit(at)
		if err != nil {
			return false, corruptObject(at, err)
		}
		for _, p := range c.Parents {
			if !seen[p] {
				seen[p] = true
				todo = append(todo, p)
			}
		}
	}
	return false, nil
}
