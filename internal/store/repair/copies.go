package repair

import (
	"context"
	"errors"
	"path"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
)

// copies removes the refs that programs which synchronize folders have made as copies of others. If one has a history
// that the other lacks, because both machines went on, that becomes an archive of its tape.
func (g *gitMender) copies(ctx context.Context) error {
	for _, prefix := range []string{layout.BranchPrefix, layout.ForkPrefix} {
		refs, _, err := g.git.ReadableRefs(prefix)
		if err != nil {
			return err
		}
		for _, ref := range refs {
			of := g.s.CopyOf(ref)
			if of == "" {
				continue
			}
			if err := g.takeCopy(ctx, ref, of); err != nil {
				return err
			}
		}
	}
	tags, _, err := g.git.ReadableRefs(layout.TagPrefix)
	for _, ref := range tags {
		of := g.s.NamedAsCopyOf(ref.Name)
		if of == "" {
			continue
		}
		if !g.sameCommit(of, ref) { // perhaps no branch has its commit
			g.say("the tag %s looks like a copy of %s, but has another commit, so it stays; to remove it: %s tag -d %s", layout.ShortTag(ref.Name), layout.ShortTag(of),
				gitstore.GitCommand(g.git.GitDir()), layout.ShortTag(ref.Name))
			continue
		}
		if err := g.git.UpdateRef(ctx, gitstore.RefUpdate{Name: ref.Name, Old: ref.Hash, Message: "tape: repair"}); err != nil {
			return err
		}
		g.say("the tag %s was a copy", layout.ShortTag(ref.Name))
	}
	return err
}

// sameCommit reports whether a tag, and the one with the name of, are of the same commit.
func (g *gitMender) sameCommit(of string, ref gitstore.Ref) bool {
	first, err1 := g.git.Ref(of)
	was, err2 := g.git.Peel(first)
	now, err3 := g.git.Peel(ref.Hash)
	return errors.Join(err1, err2, err3) == nil && was == now
}

// takeCopy removes one copy of a branch.
func (g *gitMender) takeCopy(ctx context.Context, ref gitstore.Ref, of string) error {
	head, err := g.git.Ref(of)
	if err != nil {
		return nil //nolint:nilerr // the branch is mended first; the next repair takes the copy
	}
	what := "which has all of it"
	if has, err := lineage.Contains(g.s, head, ref.Hash); err != nil || !has {
		now := g.s.Now().UTC()
		slug, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(of, layout.BranchPrefix), layout.ForkPrefix), "/")
		archive := layout.ArchivePrefix + slug + "/" + now.Format("20060102T150405.000000Z")
		err := g.git.UpdateRef(ctx, gitstore.RefUpdate{Name: archive, New: ref.Hash, Message: "tape: repair", Who: g.git.Committer(now)})
		if err != nil {
			return err
		}
		what = "which lacks some of it: the archive " + path.Base(archive) + " has that"
	}
	if err := g.git.UpdateRef(ctx, gitstore.RefUpdate{Name: ref.Name, Old: ref.Hash, Message: "tape: repair"}); err != nil {
		return err
	}
	g.say("%s was a copy of %s, %s", short(ref.Name), short(of), what)
	return nil
}
