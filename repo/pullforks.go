package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// closedHere reports whether a fork's commit was merged into something that it is a fork
// of, or the fork was closed with nothing to merge; with discards, or discarded.
func (t *Tape) closedHere(ctx context.Context, at gitstore.Hash, discards bool) (bool, error) {
	known := false
	for name, ok := t.Parent(), true; ok; name, _, ok = cutFork(name) {
		up, err := t.store.Tape(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		known = true
		if closed, err := up.hasClosed(at, discards); err != nil || closed {
			return closed, err
		}
	}
	if !known {
		return false, conflict("pull it, too: without --tape everything is pulled", "%q, which %q is a fork of, is not here", t.Parent(), t.name)
	}
	return false, nil
}

// hasClosed is closedHere for one of what a fork may be merged into.
func (t *Tape) hasClosed(at gitstore.Hash, discards bool) (bool, error) {
	head, err := t.head()
	if err != nil {
		return false, err
	}
	if has, err := t.store.contains(head, at); err != nil || has {
		return has, err
	}
	log, err := t.store.git.Reflog(t.branch)
	if err != nil {
		return false, err
	}
	for _, e := range log {
		if !strings.HasPrefix(e.Message, nothingMessage) && !(discards && strings.HasPrefix(e.Message, discardMessage)) {
			continue
		}
		if has, err := t.store.contains(e.New, at); err != nil && !errors.Is(err, ErrCorrupt) || has {
			return has, err // what git has pruned says nothing
		}
	}
	return false, nil
}

// CloseGone closes a fork that a remote had and no longer has, and reports whether it did:
// only where all of it is merged, into whatever it is a fork of. Else it stays, and is looked
// at again by the next one. The status is that of Fetch.
func (s *Store) CloseGone(ctx context.Context, remote string, gone RefStatus) (closed bool, err error) {
	t, err := s.Tape(ctx, gone.Tape)
	if err == nil && t.branch == gone.Ref {
		closed, err = t.closeMerged(ctx)
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("close fork %q: %w", gone.Tape, classify(err))
	}
	if err == nil && !closed {
		return false, nil
	}
	name := acceptedRefs(remote) + innerRef(gone.Ref)
	old, err := s.git.Ref(name)
	if errors.Is(err, gitstore.ErrNotFound) {
		return closed, nil
	}
	if err == nil {
		err = s.git.UpdateRef(ctx, gitstore.RefUpdate{Name: name, Old: old, Message: "tape: pull"})
	}
	return closed, classify(err)
}

// closeMerged closes a fork that is merged whole into something that it is a fork of, by
// whomever.
func (t *Tape) closeMerged(ctx context.Context) (closed bool, err error) {
	at, err := t.head()
	if err != nil {
		return false, err
	}
	into, err := t.target(ctx)
	if err != nil {
		return false, err
	}
	for name, ok := t.Parent(), true; ok; name, _, ok = cutFork(name) {
		up, err := t.store.Tape(ctx, name)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		if has, err := up.hasClosed(at, false); err != nil {
			return false, err
		} else if has {
			into = up
			break
		}
	}
	err = into.locked(ctx, func(w *writer) error {
		return t.locked(ctx, func(fw *writer) error {
			children, err := t.Forks(ctx)
			if err != nil || len(children) > 0 || fw.uncommitted() > 0 || fw.checkClosable() != nil {
				return err
			}
			ours, err := t.store.commitView(w.head)
			if err != nil {
				return err
			}
			m, err := into.sidesOf(side{head: w.head, view: ours}, fw.head, t.name)
			if errors.Is(err, ErrConflict) {
				return nil
			}
			if err != nil {
				return err
			}
			if lines, err := m.lines(ctx); err != nil || len(lines) > 0 {
				return err
			}
			closed = true
			return fw.closeMerged(ctx, w.head)
		})
	})
	return closed, err
}

// JoinArchives makes the archives of a remote, as they were last fetched, this
// workspace's, too: of some tapes, or of all. Those that are here stay.
func (s *Store) JoinArchives(ctx context.Context, remote string, names []string) ([]RefStatus, error) {
	accepted, err := s.knownRefs(acceptedRefs(remote) + archiveDir)
	if err != nil {
		return nil, err
	}
	var out []RefStatus
	var updates []gitstore.RefUpdate
	for short, h := range accepted {
		ref := archivePrefix + strings.TrimPrefix(short, "refs/")
		name, err := s.nameAt(h)
		if err != nil {
			return nil, err
		}
		if _, err := s.git.Ref(ref); err == nil || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		updates = append(updates, gitstore.RefUpdate{Name: ref, New: h, Message: "tape: pull from " + remote})
		status := RefStatus{Tape: name, Ref: ref, Status: RefNew}
		if status.Entries, err = s.lastOf(h); err != nil {
			return nil, err
		}
		out = append(out, status)
	}
	slices.SortFunc(out, func(a, b RefStatus) int { return strings.Compare(a.Ref, b.Ref) })
	return out, classify(s.git.UpdateRefs(ctx, updates))
}
