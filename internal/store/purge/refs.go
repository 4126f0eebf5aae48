package purge

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/workspace"
)

// purgeHeads are the commits that keep history reachable.
type purgeHeads struct {
	own      []gitstore.Hash // of branches and archives of the tape and its forks, and of other refs to their commits
	archives []gitstore.Hash // those of own that archives name
	logged   []gitstore.Hash // from the reflogs of those branches
	others   []gitstore.Hash // of other refs and reflogs, which may descend from own
	tracking []keptRef       // remote-tracking refs
	tags     []keptRef       // annotated tags
}

// keptRef is a ref with the commit that it keeps reachable.
type keptRef struct {
	gitstore.Ref
	commit gitstore.Hash
}

func (r keptRef) isTag() bool { return r.commit != r.Hash } // an annotated one

// refs lists the refs that keep commits, except those of an unfinished purge.
func (p *purge) refs() ([]keptRef, error) {
	refs, err := p.s.Git().Refs("refs/")
	var out []keptRef
	for _, ref := range refs {
		commit, err := p.s.Git().Peel(ref.Hash)
		if err == nil && !strings.HasPrefix(ref.Name, purgeRefs) { // the others are damaged, which verify reports, or name a blob
			out = append(out, keptRef{ref, commit})
		}
	}
	return out, err
}

// isOwn reports whether a ref is a branch or an archive of the tape or one of its forks.
func (p *purge) isOwn(ref string) bool {
	return slices.ContainsFunc(p.members, func(t *workspace.Tape) bool {
		return ref == t.Ref() || strings.HasPrefix(ref, layout.ArchivePrefix+t.Slug()+"/")
	})
}

// isOfFamily reports whether a commit says that it was made on the tape or one of its forks. A branch or tag of
// somebody's own may keep such a commit.
func (p *purge) isOfFamily(h gitstore.Hash) bool {
	name, err := p.s.NameAt(h)
	switch {
	case err != nil:
		return false
	case slices.ContainsFunc(p.members, func(t *workspace.Tape) bool { return t.Name() == name }):
		return true
	case !strings.HasPrefix(name, p.root+"/"):
		return false
	}
	_, err = p.s.Git().Ref(p.s.Handle(name).Ref()) // a tape may have such a name, too
	return errors.Is(err, gitstore.ErrNotFound)
}

// findHeads finds the commits that keep history in the repository.
func (p *purge) findHeads() error {
	refs, err := p.refs()
	if err != nil {
		return err
	}
	out := &p.heads
	for _, ref := range refs {
		if ref.isTag() {
			out.tags = append(out.tags, ref)
		}
		switch {
		case layout.IsTracking(ref.Name):
			out.tracking = append(out.tracking, ref)
		case ref.Name == layout.StashRef:
		case p.isOwn(ref.Name), p.isOfFamily(ref.commit):
			out.own = append(out.own, ref.commit)
			if strings.HasPrefix(ref.Name, layout.ArchivePrefix) {
				out.archives = append(out.archives, ref.commit)
			}
		default:
			out.others = append(out.others, ref.commit)
		}
	}
	for _, dir := range p.s.Git().HeadDirs() {
		if branch, h, err := p.s.Git().Head(dir); err == nil && branch == "" && !h.IsZero() {
			out.others = append(out.others, h) // checked out without a branch
		}
	}
	return eachReflog(p.s, func(ref, _, log string) error {
		list := &out.others
		switch {
		case layout.IsTracking(ref), ref == layout.StashRef:
			return nil
		case p.isOwn(ref):
			list = &out.logged
		}
		for line := range strings.Lines(log) {
			*list = append(*list, loggedCommits(line)...)
		}
		return nil
	})
}

// findRemotes finds remote-tracking refs that still lead to the old history.
func (p *purge) findRemotes(ctx context.Context) {
	for _, ref := range p.heads.tracking {
		if !p.leadsToOld(ctx, ref.commit) {
			continue
		}
		var remote, name string
		for _, prefix := range layout.RemoteRefs() {
			if rest, ok := strings.CutPrefix(ref.Name, prefix); ok {
				remote, name, _ = strings.Cut(rest, "/")
			}
		}
		name = strings.TrimPrefix(name, "heads/")
		if !slices.ContainsFunc(p.out.Remotes, func(r PurgedRemote) bool { return r.Remote == remote && r.Ref == name }) {
			p.out.Remotes = append(p.out.Remotes, PurgedRemote{Remote: remote, Ref: name, Commit: ref.commit.String()})
		}
	}
}

// leadsToOld reports whether a commit or one of its ancestors was rewritten. It is false if part of the
// history is missing.
func (p *purge) leadsToOld(ctx context.Context, h gitstore.Hash) bool {
	if p.foreign == nil { // masks nothing, but rewrites descendants of rewritten commits
		p.foreign = rewrite.NewRewriter(p.s, rewrite.NewMasker(p.o.Find), gitstore.HashObject)
		p.foreign.Commits, p.foreign.Done = maps.Clone(p.r.Commits), maps.Clone(p.r.Done)
	}
	return p.foreign.History(ctx, h, true) == nil && p.foreign.Changed(h)
}
