package lineage

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// Merged returns the commits that a commit merged: its parents without the first.
func Merged(c workspace.Ancestor) []gitstore.Hash { return c.Parents[min(1, len(c.Parents)):] }

// Ancestors yields commits and all their ancestors, each once, until an error.
func Ancestors(s *workspace.Store, from ...gitstore.Hash) iter.Seq2[workspace.Ancestor, error] {
	return func(yield func(workspace.Ancestor, error) bool) {
		seen := map[gitstore.Hash]bool{}
		for todo := slices.Clone(from); len(todo) > 0; {
			current := workspace.Ancestor{Hash: todo[len(todo)-1]}
			todo = todo[:len(todo)-1]
			if seen[current.Hash] {
				continue
			}
			seen[current.Hash] = true
			var err error
			if current.Commit, err = s.Git().Commit(current.Hash); err != nil {
				yield(current, layout.CorruptObject(current.Hash, err))
				return
			}
			if !yield(current, nil) {
				return
			}
			todo = append(todo, current.Parents...)
		}
	}
}

// Contains reports whether other is h or one of its ancestors.
func Contains(s *workspace.Store, h, other gitstore.Hash) (bool, error) {
	if h == other {
		return true, nil
	}
	for c, err := range Ancestors(s, h) {
		if err != nil {
			return false, err
		}
		if slices.Contains(c.Parents, other) {
			return true, nil
		}
	}
	return false, nil
}

// Descends reports whether ancestor, a commit's id in hex, is h or in its chain of first parents.
func Descends(s *workspace.Store, h gitstore.Hash, ancestor string) (bool, error) {
	if h.String() == ancestor {
		return true, nil
	}
	for c, err := range s.ByFirstParents(h) {
		if err != nil || c.Hash.String() == ancestor {
			return err == nil, err
		}
	}
	return false, nil
}

// FirstCommit returns the oldest commit in the chain of first parents.
func FirstCommit(s *workspace.Store, h gitstore.Hash) (gitstore.Hash, error) {
	for c, err := range s.ByFirstParents(h) {
		if err != nil {
			return c.Hash, err
		}
		h = c.Hash
	}
	return h, nil
}

// CommonCommit returns the newest commit that two chains of first parents share. Its cost depends on the
// distance to that commit, not on the history. Errors: ErrConflict if they share none.
func CommonCommit(s *workspace.Store, a, b gitstore.Hash) (gitstore.Hash, error) {
	var sides [2]func() (workspace.Ancestor, error, bool)
	for i, from := range [2]gitstore.Hash{a, b} {
		next, stop := iter.Pull2(s.ByFirstParents(from))
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
			case seen[c.Hash]:
				return c.Hash, nil
			}
			seen[c.Hash], more = true, true
		}
	}
	return gitstore.ZeroHash, layout.Conflict("", "the merged branch has nothing in common with the tape")
}

// FirstParents returns a commit and those before it by first parents, newest first.
func FirstParents(ctx context.Context, s *workspace.Store, h gitstore.Hash) ([]gitstore.Hash, error) {
	var out []gitstore.Hash
	for c, err := range s.ByFirstParents(h) {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		out = append(out, c.Hash)
	}
	return out, nil
}

// TagTargets maps the folders of phases to the commits that their tags name.
func TagTargets(t *workspace.Tape) (map[string]gitstore.Hash, error) {
	prefix := layout.TagPrefix + t.Slug() + "/"
	tags, err := t.Store().Git().Refs(prefix)
	if err != nil {
		return nil, layout.Classify(err)
	}
	out := make(map[string]gitstore.Hash, len(tags))
	for _, tag := range tags {
		commit, err := t.Store().Git().Peel(tag.Hash)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // verify restores the tag
		}
		if err != nil {
			return nil, &layout.CorruptError{File: tag.Name, Msg: err.Error(), Fix: "delete the tag, and the next command creates it again: git tag -d " + layout.ShellWord(layout.ShortTag(tag.Name))}
		}
		out[strings.TrimPrefix(tag.Name, prefix)] = commit
	}
	return out, nil
}
