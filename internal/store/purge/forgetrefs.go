package purge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// find finds all refs of the tape and its forks, including remote-tracking refs, and the commits that they
// lead to.
func (f *forget) find(ctx context.Context) error {
	f.slugs, f.gone, f.logs, f.refs = map[string]bool{layout.TapeSlug(f.root): true}, map[gitstore.Hash]bool{}, map[string]bool{}, nil
	for _, slug := range f.note.Slugs {
		f.slugs[slug] = true
	}
	for _, text := range f.note.Gone { // an interrupted call may have removed the refs that lead to them
		if h, err := gitstore.ParseHash(text); err == nil {
			f.gone[h] = true
		}
	}
	all, err := f.s.Git().Refs("refs/")
	if err != nil {
		return err
	}
	for more := true; more; {
		more = false
		for _, ref := range all {
			remote, shared := sharedName(ref.Name)
			if f.logs[ref.Name] || !f.isOf(shared) {
				continue
			}
			f.logs[ref.Name] = true
			f.refs = append(f.refs, ref)
			if remote != "" && !slices.Contains(f.note.Remotes, remote) {
				f.note.Remotes = append(f.note.Remotes, remote)
			}
			more = f.addFork(shared, ref.Hash) || more // whose own forks and tags are named after it
		}
	}
	for _, ref := range f.refs {
		h, err := f.s.Git().Peel(ref.Hash)
		if err == nil {
			err = f.addHistory(ctx, h)
		}
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return layout.Classify(err)
		}
	}
	return eachReflog(f.s, func(ref, _, log string) error {
		if !f.logs[ref] {
			return nil
		}
		for line := range strings.Lines(log) {
			for _, h := range loggedCommits(line) {
				if err := f.addHistory(ctx, h); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// isOf reports whether a ref belongs to the tape or one of its forks. ref is a name that sharedName returned.
func (f *forget) isOf(ref string) bool {
	prefix, rest := layout.CutRef(ref)
	switch prefix {
	case layout.BranchPrefix:
		return rest == layout.TapeSlug(f.root)
	case layout.ForkPrefix, layout.TagPrefix, layout.ArchivePrefix:
		slug, _, _ := strings.Cut(rest, "/")
		return f.slugs[slug]
	}
	return false
}

// addFork adds the slug of a fork, and reports whether it is new. It ignores refs of other kinds.
func (f *forget) addFork(ref string, h gitstore.Hash) (added bool) {
	if !strings.HasPrefix(ref, layout.ForkPrefix) {
		return false
	}
	name, err := f.s.NameOfFork(ref, h)
	if err != nil {
		return false // damaged; its tags are left to tape gc
	}
	slug := layout.TapeSlug(name)
	added = !f.slugs[slug]
	f.slugs[slug] = true
	return added
}

// addHistory adds a commit and its ancestors, but stops at commits that name another tape: if somebody made
// this tape from another one with git, it begins with that one's commits.
func (f *forget) addHistory(ctx context.Context, h gitstore.Hash) error {
	for todo := []gitstore.Hash{h}; len(todo) > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if f.gone[h] {
			continue
		}
		c, err := f.s.Git().Commit(h)
		if errors.Is(err, gitstore.ErrNotFound) {
			continue // dropped by now
		}
		if err != nil {
			return layout.CorruptObject(h, err)
		}
		name := layout.DecodeTrailer(c.Trailer(layout.TrailerName))
		if name != "" && name != f.root && !strings.HasPrefix(name, f.root+"/") {
			continue
		}
		f.gone[h] = true
		todo = append(todo, c.Parents...)
	}
	return nil
}

// leads reports whether a commit is the tape's or descends from one of its commits. It passes by damaged commits,
// which verify reports.
func (f *forget) leads(h gitstore.Hash) bool {
	seen := map[gitstore.Hash]bool{}
	for todo := []gitstore.Hash{h}; len(todo) > 0; {
		h := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if f.gone[h] {
			return true
		}
		if c, err := f.s.Git().Commit(h); err == nil && !seen[h] {
			seen[h] = true
			todo = append(todo, c.Parents...)
		}
	}
	return false
}

// sharedName returns a local ref's own name. For a remote-tracking ref, it returns the remote and the ref's
// name there; both are "" if the ref is not one of tape's.
func sharedName(ref string) (remote, shared string) {
	for _, prefix := range layout.RemoteRefs() {
		rest, ok := strings.CutPrefix(ref, strings.TrimSuffix(prefix, "/")+"/")
		if !ok {
			continue
		}
		for _, shared := range layout.SharedPrefixes() {
			inner := layout.InnerRef(shared)
			if prefix == "refs/remotes/" { // git's own: branches without heads/
				inner = strings.TrimPrefix(shared, "refs/heads/")
			}
			if i := strings.Index(rest, "/"+inner); i > 0 {
				return rest[:i], shared + rest[i+1+len(inner):]
			}
		}
		return "", ""
	}
	return "", ref
}
