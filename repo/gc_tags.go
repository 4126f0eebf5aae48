package repo

import (
	"context"
	"errors"
	"strings"

	"tape/internal/gitstore"
)

// forkTags takes away the tags of forks that were closed, where that was cut off between
// the branch and these. Those of a fork that is only at a remote stay.
func (c *collector) forkTags(ctx context.Context) error {
	tags, err := c.s.git.Refs(tagPrefix)
	if err != nil {
		return err
	}
	seen := map[string]bool{} // by slug
	for _, tag := range tags {
		slug, _, _ := strings.Cut(strings.TrimPrefix(tag.Name, tagPrefix), "/")
		if seen[slug] {
			continue
		}
		seen[slug] = true
		if _, err := c.s.git.Ref(branchPrefix + slug); err == nil {
			continue
		}
		at, err := c.s.git.Peel(tag.Hash)
		if err != nil {
			continue // verify tells of it
		}
		name, err := c.s.nameAt(at)
		if err != nil {
			continue
		}
		if f := c.s.forkHandle(name); f != nil && f.slug == slug {
			if err := f.dropLeftTags(ctx, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropLeftTags takes the tags of a fork away if it is closed; at is the commit of one.
func (t *Tape) dropLeftTags(ctx context.Context, at gitstore.Hash) error {
	lock, err := t.lockFile(ctx) // somebody may be about to make it anew
	if err != nil {
		return err
	}
	_, err = t.store.git.Ref(t.branch)
	if errors.Is(err, gitstore.ErrNotFound) {
		var closed bool
		closed, err = t.closedHere(ctx, at, true)
		if errors.Is(err, ErrConflict) {
			err = nil // what it is a fork of is not here
		}
		if closed && err == nil {
			err = t.pruneTags(ctx, nil)
		}
	}
	return errors.Join(err, lock.Unlock())
}
