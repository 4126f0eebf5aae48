package upkeep

import (
	"context"
	"errors"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/forks"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// forkTags removes tags of closed forks that stayed because closing was interrupted after the branch was
// deleted. Tags of forks that exist only at a remote stay.
func (c *collector) forkTags(ctx context.Context) error {
	tags, err := c.s.Git().Refs(layout.TagPrefix)
	if err != nil {
		return err
	}
	seen := map[string]bool{} // by slug
	for _, tag := range tags {
		slug, _, _ := strings.Cut(strings.TrimPrefix(tag.Name, layout.TagPrefix), "/")
		if seen[slug] {
			continue
		}
		seen[slug] = true
		if _, err := c.s.Git().Ref(layout.BranchPrefix + slug); err == nil {
			continue
		}
		at, err := c.s.Git().Peel(tag.Hash)
		if err != nil {
			continue // verify reports it
		}
		name, err := c.s.NameAt(at)
		if err != nil {
			continue
		}
		if f := c.s.ForkHandle(name); f != nil && f.Slug() == slug {
			if err := dropTagsOfClosed(ctx, f, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropTagsOfClosed removes the tags of a fork if it is closed; at is the commit of one of them.
func dropTagsOfClosed(ctx context.Context, t *workspace.Tape, at gitstore.Hash) error {
	return writer.LockedUnrepaired(ctx, t, func(*writer.Writer) error { // under the lock, nobody can create the fork again meanwhile
		if _, err := t.Store().Git().Ref(t.Ref()); !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
		closed, err := forks.ClosedHere(ctx, t, at, true)
		if errors.Is(err, layout.ErrConflict) {
			return nil // its parent is not here
		}
		if err != nil || !closed {
			return err
		}
		return commits.PruneTags(ctx, t, nil)
	})
}
