package repo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitrun"
	"tape/internal/gitstore/transport"
)

// FetchOptions say what is fetched. Nil means everything, quietly.
type FetchOptions struct {
	RemoteOptions
	Tapes []string // names of tapes and forks; none: all
	// Purges follows purges that were made elsewhere, see [Tape.Purge]: what was taken out of
	// a tape there is taken out here, too. Without it such a tape is rejected. Derived is
	// that of PurgeOptions.
	Purges  bool
	Derived func(ctx context.Context) error
}

// fetchLock is that of a fetch.
const fetchLock = "fetch.lock"

// Fetch brings what a remote has into refs of their own (refs/tape/remotes/NAME/), and
// returns what became of each branch that moved. No tape changes. What cannot be let in is
// rejected, and the refs say what they said before.
//
// Errors: ErrNotFound without such a remote; gitstore's, for what a transport can meet
// with.
func (s *Store) Fetch(ctx context.Context, remote string, o *FetchOptions) ([]RefStatus, error) {
	if o == nil {
		o = &FetchOptions{}
	}
	if err := gitrun.CheckGit(); err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", remote, classify(err))
	}
	unlock, err := s.lockPrivate(ctx, fetchLock)
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", remote, err)
	}
	defer func() { _ = unlock() }()
	out, err := s.fetch(ctx, remote, o)
	// A git that nobody waits for any more may be at it: its tape was killed.
	const first, longest = 10 * time.Millisecond, time.Second
	began := time.Now()
	for pause := first; isBeside(err) && time.Since(began) < s.wait; pause = min(2*pause, longest) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		out, err = s.fetch(ctx, remote, o)
	}
	if err != nil {
		return out, fmt.Errorf("fetch from %s: %w", remote, classify(err))
	}
	return out, nil
}

// isBeside reports whether a fetch failed because of another one at the same time.
func isBeside(err error) bool {
	return errors.Is(err, gitstore.ErrConflict) || errors.Is(err, gitstore.ErrBusy)
}

func (s *Store) fetch(ctx context.Context, remote string, o *FetchOptions) ([]RefStatus, error) {
	if _, err := s.findRemote(remote); err != nil {
		return nil, err
	}
	specs, err := s.fetchSpecs(remote, o.Tapes)
	if err != nil {
		return nil, err
	}
	_, err = transport.Fetch(ctx, s.git, remote, specs, o.transport())
	if errors.Is(err, gitstore.ErrNotFound) && len(o.Tapes) > 0 {
		// Something that was named is not there, or is no more: all that there is tells.
		if specs, err = s.fetchSpecs(remote, nil); err == nil {
			_, err = transport.Fetch(ctx, s.git, remote, specs, o.transport())
		}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range o.Tapes {
		if err := s.checkFetched(remote, name); err != nil {
			return nil, err
		}
	}
	if err := s.tellNoTapes(ctx, remote, o.RemoteOptions); err != nil {
		return nil, err
	}
	return s.accept(ctx, remote, o)
}

// tellNoTapes warns of a remote that has no tapes, and is not empty.
func (s *Store) tellNoTapes(ctx context.Context, remote string, o RemoteOptions) error {
	known, err := s.knownRefs(fetchedRefs(remote))
	if err != nil || len(known) > 0 {
		return err
	}
	others, err := s.otherBranches(ctx, remote, o)
	if err == nil && others != "" {
		s.warn(remote + ": " + others + "; tape push shares yours there")
	}
	return err
}

// otherBranches says what a remote without tapes has; "" if it is empty. What is no
// repository at all is an error here, if not before.
func (s *Store) otherBranches(ctx context.Context, remote string, o RemoteOptions) (string, error) {
	refs, _, err := transport.LsRemote(ctx, s.git, remote, []string{"refs/heads/"}, o.transport())
	switch {
	case err != nil || len(refs) == 0:
		return "", err
	case len(refs) == 1:
		return "its only branch is no tape", nil
	}
	return fmt.Sprintf("none of its %d branches is a tape", len(refs)), nil
}

// checkFetched reports a tape or fork that a remote does not have, nor had before.
func (s *Store) checkFetched(remote, name string) error {
	branches := []string{s.handle(name).branch}
	if f := s.forkHandle(name); f != nil {
		branches = append(branches, f.branch)
	}
	for _, branch := range branches {
		for _, prefix := range []string{fetchedRefs(remote), acceptedRefs(remote)} {
			if _, err := s.git.Ref(prefix + innerRef(branch)); !errors.Is(err, gitstore.ErrNotFound) {
				return err
			}
		}
	}
	return notFound("without --tape all of its tapes are fetched", "%s has no tape %q", remote, name)
}

// fetchSpecs says which refs of a remote are fetched, and into which.
func (s *Store) fetchSpecs(remote string, tapes []string) ([]transport.RefSpec, error) {
	sources := []string{branchPrefix + "*", forkPrefix + "*", tagPrefix + "*", archivePrefix + "*"}
	if len(tapes) > 0 {
		sources = nil
	}
	for _, name := range tapes {
		if err := checkName("a tape", name); err != nil {
			return nil, err
		}
		if parent, _, ok := cutFork(name); ok && s.forkHandle(name) != nil {
			f := s.forkHandle(name)
			if _, err := s.git.Ref(s.handle(name).branch); err != nil {
				sources = append(sources, f.branch, tagPrefix+f.slug+"/*")
				name = parent // what it is a fork of goes with it
			}
		}
		t := s.handle(name)
		sources = append(sources, t.branch, tagPrefix+t.slug+"/*", forkPrefix+t.slug+"/*", archivePrefix+t.slug+"/*")
	}
	slices.Sort(sources)
	sources = slices.Compact(sources)
	specs := make([]transport.RefSpec, len(sources))
	for i, src := range sources {
		specs[i] = transport.RefSpec{Src: src, Dst: fetchedRefs(remote) + innerRef(src)}
	}
	return specs, nil
}

// accept looks at what was fetched and not accepted yet, and takes over what is good. What
// the remote no longer has is forgotten.
func (s *Store) accept(ctx context.Context, remote string, o *FetchOptions) ([]RefStatus, error) {
	if !o.Purges { // which removes objects
		defer s.git.KeepObjects()()
	}
	fetched, err1 := s.knownRefs(fetchedRefs(remote))
	accepted, err2 := s.knownRefs(acceptedRefs(remote))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if maps.Equal(fetched, accepted) {
		return nil, nil
	}
	a := &acceptance{s: s, remote: remote, o: o, fetched: fetched, accepted: accepted,
		bad: checkNames(slices.Collect(maps.Keys(fetched))), refused: map[string]bool{}, check: s.newIncomingCheck()}
	for ref, h := range accepted {
		if _, ok := fetched[ref]; ok {
			continue
		}
		if strings.HasPrefix(ref, forkPrefix) {
			a.out = append(a.out, RefStatus{Tape: s.remoteName(incoming{Ref: ref, New: h}), Ref: ref, Status: RefDeleted})
			if _, err := s.git.Ref(ref); err == nil {
				continue // CloseGone forgets it
			}
		}
		a.set(ref, h, gitstore.ZeroHash)
	}
	refs := slices.Collect(maps.Keys(fetched))
	sortRefs(refs)
	var err error
	for _, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if fetched[ref] != accepted[ref] {
			err = a.look(ctx, ref)
		} else if strings.HasPrefix(ref, branchPrefix) || strings.HasPrefix(ref, forkPrefix) { // what others are checked against
			err = a.check.check(ctx, incoming{Ref: ref, Old: accepted[ref], New: fetched[ref]})
		}
		if err != nil {
			return nil, err
		}
		if a.followed {
			break // what was fetched may be gone, too: again
		}
	}
	// First what refuses is forgotten, then the rest is taken over: cut off in between, it
	// is looked at again.
	if err := s.git.UpdateRefs(ctx, a.forget); err != nil {
		return nil, err
	}
	if err := s.git.UpdateRefs(ctx, a.updates); err != nil || !a.followed {
		return a.out, err
	}
	rest, err := s.fetch(ctx, remote, o)
	return append(a.out, rest...), err
}

// acceptance is one look at what a remote has.
type acceptance struct {
	s                 *Store
	remote            string
	o                 *FetchOptions
	purged            map[string]gitstore.Hash // slugs of tapes and forks that were purged there, and what became what they have
	followed          bool                     // the same was done here: objects are gone
	fetched, accepted map[string]gitstore.Hash
	bad               map[string]error // names that cannot be used
	check             *incomingCheck
	updates, forget   []gitstore.RefUpdate
	refused           map[string]bool // slugs of tapes and forks of which nothing is used
	out               []RefStatus
}

func (a *acceptance) set(ref string, old, next gitstore.Hash) {
	a.updates = append(a.updates, gitstore.RefUpdate{Name: acceptedRefs(a.remote) + innerRef(ref), Old: old, New: next, Message: "tape: fetch"})
}

// leaveOut forgets what was fetched of a ref.
func (a *acceptance) leaveOut(in incoming) {
	a.forget = append(a.forget, gitstore.RefUpdate{Name: fetchedRefs(a.remote) + innerRef(in.Ref), Old: in.New})
}

// look decides about one ref.
func (a *acceptance) look(ctx context.Context, ref string) error {
	in := incoming{Ref: ref, Old: a.accepted[ref], New: a.fetched[ref]}
	err := a.bad[ref]
	if err == nil {
		if a.isOfRefused(in) { // nothing of it is to be named here: it may be what was purged
			a.leaveOut(in)
			return nil
		}
		if in.Old, err = a.before(ctx, in); err == nil {
			err = a.check.check(ctx, in)
		}
		if err == nil {
			err = a.follow(ctx, in)
		}
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil && (a.isOfMerged(in) || a.isOfNone(in)) {
		a.leaveOut(in)
		return nil
	}
	status := RefStatus{Tape: a.nameOf(ref), Ref: ref, Status: RefFastForward}
	isTag := strings.HasPrefix(ref, tagPrefix)
	switch {
	case err != nil:
		status.Status, status.Err = RefRejected, err
		a.leaveOut(in)
		if slug, ok := strings.CutPrefix(ref, branchPrefix); ok && in.Old.IsZero() {
			a.refused[slug] = true
		}
		a.out = append(a.out, status)
		return nil
	case a.accepted[ref].IsZero():
		status.Status = RefNew
	}
	old := a.accepted[ref]
	if !old.IsZero() { // a purge may have dropped it
		if old, err = a.s.git.Ref(acceptedRefs(a.remote) + innerRef(ref)); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
	}
	a.set(ref, old, in.New)
	if isTag {
		return nil
	}
	status.Tape = a.s.remoteName(in)
	if in.Old.IsZero() && !old.IsZero() && a.check.known[old] {
		in.Old = old
	}
	status.Entries, err = a.s.gained(ref, in.Old, in.New)
	a.out = append(a.out, status)
	return err
}

// nameOf is what the tape of a ref is called here, or was when it was let in; its slug if it
// is new: what it says of itself is not looked at yet.
func (a *acceptance) nameOf(ref string) string {
	slug := slugOf(ref)
	for _, branch := range []string{ref, branchPrefix + slug} {
		if t, err := a.s.tapeOfBranch(branch); err == nil {
			return t.name
		}
		if h := a.accepted[branch]; !h.IsZero() {
			return a.s.remoteName(incoming{Ref: branch, New: h})
		}
	}
	return slug
}

// gained counts the entries that a commit has and another, or what a fork began with, has
// not.
func (s *Store) gained(ref string, old, next gitstore.Hash) (int64, error) {
	last, err := s.lastOf(next)
	if err != nil {
		return 0, err
	}
	if old.IsZero() && strings.HasPrefix(ref, forkPrefix) {
		t, err := s.tapeAt(ref, next)
		if err != nil {
			return 0, err
		}
		b, err := t.base(next)
		return last - b.id, err
	}
	if old.IsZero() {
		return last, nil
	}
	before, err := s.lastOf(old)
	return last - before, err
}

// remoteName is what the tape or fork of a remote's ref is called; its slug where that
// cannot be told.
func (s *Store) remoteName(in incoming) string {
	if strings.HasPrefix(in.Ref, branchPrefix) || strings.HasPrefix(in.Ref, forkPrefix) {
		if t, err := s.tapeAt(in.Ref, in.New); err == nil {
			return t.name
		}
	}
	return slugOf(in.Ref)
}

// slugOf is what a ref calls the tape that it is of.
func slugOf(ref string) string {
	short := ref
	for _, prefix := range []string{branchPrefix, forkPrefix, tagPrefix, archivePrefix} {
		short = strings.TrimPrefix(short, prefix)
	}
	if strings.HasPrefix(ref, tagPrefix) || strings.HasPrefix(ref, archivePrefix) {
		short, _, _ = strings.Cut(short, "/")
	}
	return short
}
