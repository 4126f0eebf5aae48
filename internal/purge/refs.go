package purge

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// purgeHeads are the commits by which history is kept.
type purgeHeads struct {
	own      []gitstore.Hash // of the tape, its forks and archives, and of other refs to such commits
	archives []gitstore.Hash // those of own that archives name
	logged   []gitstore.Hash // that the reflogs of these know of
	others   []gitstore.Hash // of other refs and reflogs, which may go on from them
	tracking []gitstore.Ref  // what remotes have
	tags     []gitstore.Ref  // annotated tags
}

// isOwn reports whether a ref is a branch or an archive of the tape or one of its forks.
func (p *purge) isOwn(ref string) bool {
	return slices.ContainsFunc(p.members, func(t *workspace.Tape) bool {
		return ref == t.Ref() || strings.HasPrefix(ref, layout.ArchivePrefix+t.Slug()+"/")
	})
}

// isOfFamily reports whether a commit was made on the tape or one of its forks, as it says
// itself: somebody may keep it by a branch or tag of his own.
func (p *purge) isOfFamily(h gitstore.Hash) bool {
	name, err := p.s.NameAt(h)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(p.members, func(t *workspace.Tape) bool { return t.Name() == name }) {
		return true
	}
	if !strings.HasPrefix(name, snapshot.RootName(p.t)+"/") {
		return false
	}
	_, err = p.s.Git().Ref(p.s.Handle(name).Ref()) // a tape may have such a name as well
	return errors.Is(err, gitstore.ErrNotFound)
}

// heads finds what keeps history in the repository.
func (p *purge) heads() (purgeHeads, error) {
	var out purgeHeads
	refs, err := p.s.Git().Refs("refs/")
	if err != nil {
		return out, err
	}
	for _, ref := range refs {
		commit, err := p.s.Git().Peel(ref.Hash)
		if err != nil {
			continue // damaged, or of a blob: verify tells
		}
		if commit != ref.Hash {
			out.tags = append(out.tags, ref)
		}
		switch {
		case layout.IsTracking(ref.Name):
			out.tracking = append(out.tracking, ref)
		case ref.Name == layout.StashRef, strings.HasPrefix(ref.Name, purgeRefs):
		case p.isOwn(ref.Name), p.isOfFamily(commit):
			out.own = append(out.own, commit)
			if strings.HasPrefix(ref.Name, layout.ArchivePrefix) {
				out.archives = append(out.archives, commit)
			}
		default:
			out.others = append(out.others, commit)
		}
	}
	err = eachReflog(p.s, func(ref, _, log string) error {
		if layout.IsTracking(ref) || ref == layout.StashRef {
			return nil
		}
		for line := range strings.Lines(log) {
			for _, h := range loggedCommits(line) {
				if p.isOwn(ref) {
					out.logged = append(out.logged, h)
				} else {
					out.others = append(out.others, h)
				}
			}
		}
		return nil
	})
	for _, dir := range gitDirs(p.s) {
		if branch, h, err := p.s.Git().Head(dir); err == nil && branch == "" && !h.IsZero() {
			out.others = append(out.others, h) // checked out without a branch
		}
	}
	return out, err
}

// gitDirs are the git folders of the repository and of its linked working trees.
func gitDirs(s *workspace.Store) []string {
	out := []string{s.Git().GitDir()}
	linked, _ := filepath.Glob(filepath.Join(s.Git().GitDir(), "worktrees", "*"))
	return append(out, linked...)
}

// eachReflog calls fn for all reflogs, with the ref that each is of; HEAD is none.
func eachReflog(s *workspace.Store, fn func(ref, path, log string) error) error {
	for _, dir := range gitDirs(s) {
		logs := filepath.Join(dir, "logs")
		err := filepath.WalkDir(logs, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil || d.IsDir() {
				return err
			}
			ref, err := filepath.Rel(logs, path)
			if err != nil {
				return err
			}
			log, err := os.ReadFile(path)
			if err != nil {
				return nil //nolint:nilerr // it is gone since
			}
			return fn(filepath.ToSlash(ref), path, string(log))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loggedCommits are the commits that a line of a reflog names: the old, and the new.
func loggedCommits(line string) []gitstore.Hash {
	const digits = 40
	var out []gitstore.Hash
	for from := 0; from < 2*(digits+1) && len(line) > from+digits && line[from+digits] == ' '; from += digits + 1 {
		h, err := gitstore.ParseHash(line[from : from+digits])
		if err == nil && !h.IsZero() {
			out = append(out, h)
		}
	}
	return out
}

// remotes finds which tracking refs still lead to what was rewritten.
func (p *purge) remotes(ctx context.Context, tracking []gitstore.Ref) ([]PurgedRemote, error) {
	var out []PurgedRemote
	clean := map[gitstore.Hash]bool{}
	for _, ref := range tracking {
		commit, err := p.s.Git().Peel(ref.Hash)
		if err != nil {
			continue
		}
		has, err := p.leadsToOld(ctx, commit, clean)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // part of it is missing: fetch brings it
		}
		if has {
			remote, name := remoteRef(ref.Name)
			if !slices.ContainsFunc(out, func(r PurgedRemote) bool { return r.Remote == remote && r.Ref == name }) {
				out = append(out, PurgedRemote{Remote: remote, Ref: name, Commit: commit.String()})
			}
		}
	}
	return out, nil
}

// remoteRef tells the remote of a tracking ref, and what the ref is called there.
func remoteRef(ref string) (remote, name string) {
	for _, prefix := range layout.RemoteRefs() {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			remote, name, _ = strings.Cut(rest, "/")
		}
	}
	return remote, strings.TrimPrefix(name, "heads/")
}

// leadsToOld reports whether a commit, or one before it, was rewritten. Clean are those
// that are known not to be.
func (p *purge) leadsToOld(ctx context.Context, h gitstore.Hash, clean map[gitstore.Hash]bool) (bool, error) {
	seen := map[gitstore.Hash]bool{}
	for stack := []gitstore.Hash{h}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if p.r.To(at) != at {
			return true, nil
		}
		if clean[at] || seen[at] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		c, err := p.s.Git().Commit(at)
		if err != nil {
			return false, err
		}
		seen[at] = true
		stack = append(stack, c.Parents...)
	}
	maps.Copy(clean, seen)
	return false, nil
}
