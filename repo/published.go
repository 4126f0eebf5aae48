package repo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// Published lists the tapes and forks that a remote has, as far as it was fetched and let
// in, tapes first: the ones that Join has nothing to do for, and the others. Given names
// of tapes or forks, it lists those, their forks, and what they are forks of.
func (s *Store) Published(ctx context.Context, remote string, names []string) (done, todo []RefStatus, err error) {
	accepted, err1 := s.knownRefs(acceptedRefs(remote))
	fetched, err2 := s.knownRefs(fetchedRefs(remote))
	here, err3 := s.git.Refs("refs/")
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
		if folder, ok := strings.CutPrefix(ref, tagPrefix); !ok {
			refs = append(refs, ref)
		} else if local[ref] != h {
			slug, _, _ := strings.Cut(folder, "/")
			tagsDiffer[slug] = true
		}
	}
	sortRefs(refs)
	defer func() { // what a fork is of before the fork
		slices.SortStableFunc(todo, func(a, b RefStatus) int { return strings.Count(a.Tape, "/") - strings.Count(b.Tape, "/") })
	}()
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		if _, ok := fetched[ref]; !ok || strings.HasPrefix(ref, archivePrefix) {
			continue // gone, or on request
		}
		status := RefStatus{Tape: s.remoteName(incoming{Ref: ref, New: accepted[ref]}), Ref: ref, Status: RefUpToDate}
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return s.goTogether(status.Tape, name) }) {
			continue
		}
		if local[ref] == accepted[ref] && !tagsDiffer[tapeSlug(status.Tape)] {
			done = append(done, status)
		} else {
			todo = append(todo, status)
		}
	}
	return done, todo, nil
}

// TapeOf is the tape that a fork is of, or that a fork of which it is one; of a tape, itself.
func (s *Store) TapeOf(name string) string {
	if f := s.forkHandle(name); f != nil {
		if _, err := s.git.Ref(s.handle(name).branch); err != nil {
			return f.rootName()
		}
	}
	return name
}

// goTogether reports whether two names are the same, or one is a fork of the other.
func (s *Store) goTogether(a, b string) bool {
	forkOf := func(a, b string) bool {
		f := s.forkHandle(a)
		return f != nil && f.isForkOf(b)
	}
	return a == b || forkOf(a, b) || forkOf(b, a)
}
