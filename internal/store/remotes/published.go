package remotes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
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
	slices.SortFunc(refs, layout.CompareRefs)
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
	// What a fork is of before the fork.
	slices.SortStableFunc(todo, func(a, b layout.RefStatus) int { return strings.Count(a.Tape, "/") - strings.Count(b.Tape, "/") })
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
	return a == b || s.ForkHandle(a).IsForkOf(b) || s.ForkHandle(b).IsForkOf(a)
}

// CloseGone closes a fork that a remote had and no longer has, and reports whether it did:
// only where all of it is merged, into whatever it is a fork of. Else it stays, and is looked
// at again by the next one. The status is that of Fetch.
func CloseGone(ctx context.Context, s *workspace.Store, remote string, gone layout.RefStatus) (closed bool, err error) {
	t, err := s.Tape(ctx, gone.Tape)
	if err == nil && t.Ref() == gone.Ref {
		closed, err = join.CloseMerged(ctx, t)
	}
	if err != nil && !errors.Is(err, layout.ErrNotFound) {
		return false, fmt.Errorf("close fork %q: %w", gone.Tape, layout.Classify(err))
	}
	if err == nil && !closed {
		return false, nil
	}
	name := layout.AcceptedRefs(remote) + layout.InnerRef(gone.Ref)
	old, err := s.Git().Ref(name)
	if errors.Is(err, gitstore.ErrNotFound) {
		return closed, nil
	}
	if err == nil {
		err = s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: name, Old: old, Message: "tape: pull"})
	}
	return closed, layout.Classify(err)
}

// JoinArchives makes the archives of a remote, as they were last fetched, this
// workspace's, too: of some tapes, or of all. Those that are here stay.
func JoinArchives(ctx context.Context, s *workspace.Store, remote string, names []string) ([]layout.RefStatus, error) {
	accepted, err := KnownRefs(s, layout.AcceptedRefs(remote))
	if err != nil {
		return nil, err
	}
	var out []layout.RefStatus
	var updates []gitstore.RefUpdate
	for ref, h := range accepted {
		if !strings.HasPrefix(ref, layout.ArchivePrefix) {
			continue
		}
		name, err := s.NameAt(h)
		if err != nil {
			return nil, err
		}
		if _, err := s.Git().Ref(ref); err == nil || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		updates = append(updates, gitstore.RefUpdate{Name: ref, New: h, Message: "tape: pull from " + remote})
		status := layout.RefStatus{Tape: name, Ref: ref, Status: layout.RefNew}
		if status.Entries, err = snapshot.LastOf(s, h); err != nil {
			return nil, err
		}
		out = append(out, status)
	}
	slices.SortFunc(out, func(a, b layout.RefStatus) int { return strings.Compare(a.Ref, b.Ref) })
	return out, layout.Classify(s.Git().UpdateRefs(ctx, updates))
}
