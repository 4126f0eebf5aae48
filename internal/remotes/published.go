package remotes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// Published lists the tapes and forks that a remote has, as far as it was fetched and let
// in, tapes first: the ones that Join has nothing to do for, and the others. Given names
// of tapes or forks, it lists those, their forks, and what they are forks of.
func Published(ctx context.Context, s *workspace.Store, remote string, names []string) (done, todo []layout.RefStatus, err error) {
	accepted, err1 := KnownRefs(s, layout.AcceptedRefs(remote))
	fetched, err2 := KnownRefs(s, layout.FetchedRefs(remote))
	here, err3 := s.Git().Refs("refs/")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, nil, err
	}
	local := make(map[string]gitstore.Hash, len(here))
	for _, ref := range here {
		local[ref.Name] = ref.Hash
	}
	var refs []string
	tagsDiffer := map[string]bool{} // by slug
	for ref, h := range accepted {
		if folder, ok := strings.CutPrefix(ref, layout.TagPrefix); !ok {
			refs = append(refs, ref)
		} else if local[ref] != h {
			slug, _, _ := strings.Cut(folder, "/")
			tagsDiffer[slug] = true
		}
	}
	layout.SortRefs(refs)
	defer func() { // what a fork is of before the fork
		slices.SortStableFunc(todo, func(a, b layout.RefStatus) int { return strings.Count(a.Tape, "/") - strings.Count(b.Tape, "/") })
	}()
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if _, ok := fetched[ref]; !ok || strings.HasPrefix(ref, layout.ArchivePrefix) {
			continue // gone, or on request
		}
		status := layout.RefStatus{Tape: snapshot.RemoteName(s, layout.Incoming{Ref: ref, New: accepted[ref]}), Ref: ref, Status: layout.RefUpToDate}
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return goTogether(s, status.Tape, name) }) {
			continue
		}
		if local[ref] == accepted[ref] && !tagsDiffer[layout.TapeSlug(status.Tape)] {
			done = append(done, status)
		} else {
			todo = append(todo, status)
		}
	}
	return done, todo, nil
}

// TapeOf is the tape that a fork is of, or that a fork of which it is one; of a tape, itself.
func TapeOf(s *workspace.Store, name string) string {
	if f := s.ForkHandle(name); f != nil {
		if _, err := s.Git().Ref(s.Handle(name).Ref()); err != nil {
			return snapshot.RootName(f)
		}
	}
	return name
}

// goTogether reports whether two names are the same, or one is a fork of the other.
func goTogether(s *workspace.Store, a, b string) bool {
	forkOf := func(a, b string) bool {
		f := s.ForkHandle(a)
		return f != nil && f.IsForkOf(b)
	}
	return a == b || forkOf(a, b) || forkOf(b, a)
}
