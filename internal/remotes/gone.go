package remotes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/gitstore"
	"tape/internal/join"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

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
