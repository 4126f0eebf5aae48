package repo

import (
	"iter"
	"slices"

	"tape/internal/gitstore"
)

// ancestor is a commit in the history of another one, or that one itself.
type ancestor struct {
	hash gitstore.Hash
	gitstore.Commit
}

// merged are the parents of a commit besides the one that it continues.
func (c ancestor) merged() []gitstore.Hash { return c.Parents[min(1, len(c.Parents)):] }

// byFirstParents yields a commit and those before it, the newest first, without what they
// have merged. After an error, which comes with the hash of the commit, it ends.
func (s *Store) byFirstParents(from gitstore.Hash) iter.Seq2[ancestor, error] {
	return func(yield func(ancestor, error) bool) {
		for next := from; !next.IsZero(); {
			at := ancestor{hash: next}
			var err error
			if at.Commit, err = s.git.Commit(next); err != nil {
				yield(at, corruptObject(next, err))
				return
			}
			if !yield(at, nil) || len(at.Parents) == 0 {
				return
			}
			next = at.Parents[0]
		}
	}
}

// ancestors yields commits and all that can be reached from them, each once. After an
// error it ends.
func (s *Store) ancestors(from ...gitstore.Hash) iter.Seq2[ancestor, error] {
	return func(yield func(ancestor, error) bool) {
		seen := map[gitstore.Hash]bool{}
		for todo := slices.Clone(from); len(todo) > 0; {
			at := ancestor{hash: todo[len(todo)-1]}
			todo = todo[:len(todo)-1]
			if seen[at.hash] {
				continue
			}
			seen[at.hash] = true
			var err error
			if at.Commit, err = s.git.Commit(at.hash); err != nil {
				yield(at, corruptObject(at.hash, err))
				return
			}
			if !yield(at, nil) {
				return
			}
			todo = append(todo, at.Parents...)
		}
	}
}

// contains reports whether a commit is another, or has it in its history.
func (s *Store) contains(h, other gitstore.Hash) (bool, error) {
	if h == other {
		return true, nil
	}
	for c, err := range s.ancestors(h) {
		if err != nil {
			return false, err
		}
		if slices.Contains(c.Parents, other) {
			return true, nil
		}
	}
	return false, nil
}

// descends reports whether a commit is another one or follows it by first parents.
func (s *Store) descends(h gitstore.Hash, ancestor string) (bool, error) {
	if h.String() == ancestor {
		return true, nil
	}
	for c, err := range s.byFirstParents(h) {
		if err != nil {
			return false, err
		}
		if c.hash.String() == ancestor {
			return true, nil
		}
	}
	return false, nil
}

// firstCommit is the oldest of those before a commit, by first parents.
func (s *Store) firstCommit(h gitstore.Hash) (gitstore.Hash, error) {
	for c, err := range s.byFirstParents(h) {
		if err != nil {
			return c.hash, err
		}
		h = c.hash
	}
	return h, nil
}

// commonCommit is the newest commit that two have in common by first parents. It takes as
// long as the longer way to it, not as long as the history.
func (s *Store) commonCommit(a, b gitstore.Hash) (gitstore.Hash, error) {
	var sides [2]func() (ancestor, error, bool)
	for i, from := range [2]gitstore.Hash{a, b} {
		next, stop := iter.Pull2(s.byFirstParents(from))
		defer stop()
		sides[i] = next
	}
	seen := map[gitstore.Hash]bool{}
	for more := true; more; {
		more = false
		for _, next := range sides {
			c, err, ok := next()
			switch {
			case err != nil:
				return gitstore.ZeroHash, err
			case !ok:
				continue
			case seen[c.hash]:
				return c.hash, nil
			}
			seen[c.hash], more = true, true
		}
	}
	return gitstore.ZeroHash, conflict("git reset --keep HEAD^ takes the merge back", "what was merged has nothing in common with the tape")
}

// nameAt is the tape or fork that a commit says it is of; "" if none does.
func (s *Store) nameAt(h gitstore.Hash) (string, error) {
	for c, err := range s.byFirstParents(h) {
		if err != nil {
			return "", err
		}
		if name := decodeTrailer(c.Trailer(trailerName)); name != "" {
			return name, nil
		}
	}
	return "", nil
}
