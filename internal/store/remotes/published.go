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

// Published lists the tapes and forks of a remote as they were last fetched and accepted: in done those for
// which Join has nothing to do, in todo the others, parents before their forks. If names is not empty, it lists
// only those tapes and forks, with their forks and ancestors.
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
		if _, ok := fetched[ref]; !ok || strings.HasPrefix(ref, layout.ArchivePrefix) || strings.HasPrefix(ref, layout.ForgottenPrefix) {
			continue // gone, pulled on request only, or no tape
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
	slices.SortStableFunc(todo, func(a, b layout.RefStatus) int { return strings.Count(a.Tape, "/") - strings.Count(b.Tape, "/") })
	return done, todo, nil
}

// TapeOf returns the name of the tape at the root of a fork; for a tape, its own name.
func TapeOf(s *workspace.Store, name string) string {
	if f := s.ForkHandle(name); f != nil {
		if _, err := s.Git().Ref(s.Handle(name).Ref()); err != nil {
			return snapshot.RootName(f)
		}
	}
	return name
}

// goTogether reports whether two names are the same, or one is a fork of the other at any depth.
func goTogether(s *workspace.Store, a, b string) bool {
	return a == b || s.ForkHandle(a).IsForkOf(b) || s.ForkHandle(b).IsForkOf(a)
}

// CloseGone closes a fork that a remote no longer has, if all of it was merged into one of its ancestors,
// and reports whether it did. Otherwise the fork stays, and the next pull tries again. gone is a
// status that Fetch returned.
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

// JoinArchives adds the archives of a remote, as they were last fetched, to this workspace: those of the named
// tapes, or all without names. It returns the added ones, and leaves existing ones as they are.
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
	slices.SortStableFunc(out, func(a, b layout.RefStatus) int { return strings.Compare(a.Ref, b.Ref) })
	return out, layout.Classify(s.Git().UpdateRefs(ctx, updates))
}
