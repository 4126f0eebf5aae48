package remotes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/audit"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"time"
)

// FetchOptions say what to fetch. Nil means everything, quietly.
type FetchOptions struct {
	Progress io.Writer // gets git's progress for a terminal; nil to be quiet and ask nothing
	Tapes    []string  // names of tapes and forks; empty for all
	// Purges repeats here the purges that were made at the remote, see repo.Tape.Purge. Without it, a
	// tape purged there is rejected. Derived is passed on as PurgeOptions.Derived.
	Purges  bool
	Derived func(ctx context.Context) error
	// AskPurge is called before a purge is repeated, which takes texts away for good; its error keeps them. nil: yes.
	AskPurge func(ctx context.Context, there PurgeThere) error

	clone bool // the clone itself reports a remote without tapes
}

// PurgeThere is a purge that was made at a remote.
type PurgeThere struct {
	Tape, Remote string
	By           []string // the names of those who purged
	Entries      []TakenAway
}

// TakenAway is an entry that a purge changes.
type TakenAway struct {
	ID     int64
	Kind   string
	Role   string
	Author string // "": the entry names none
	Whole  bool   // all of its text, or a part that was not said to be a secret, may go
}

// Fetch fetches what a remote has into refs of their own, see repo.Store.Fetch.
func Fetch(ctx context.Context, s *workspace.Store, remote string, o *FetchOptions) ([]layout.RefStatus, error) {
	if o == nil {
		o = &FetchOptions{}
	}
	if err := gitrun.CheckGit(); err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", remote, layout.Classify(err))
	}
	unlock, err := s.LockPrivate(ctx, workspace.FetchLock)
	if err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", remote, err)
	}
	defer func() { _ = unlock() }()
	out, err := fetch(ctx, s, remote, o)
	// The git process of a killed tape command may still be running.
	const first, longest = 10 * time.Millisecond, time.Second
	began := time.Now()
	for pause := first; isContended(err) && time.Since(began) < s.Wait(); pause = min(2*pause, longest) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
		out, err = fetch(ctx, s, remote, o)
	}
	return out, layout.Wrap(err, "fetch from %s", remote)
}

// isContended reports whether a fetch failed because another process changed or locked the same refs.
func isContended(err error) bool {
	return errors.Is(err, gitstore.ErrConflict) || errors.Is(err, gitstore.ErrBusy)
}

// fetch is Fetch without the lock and without retries.
func fetch(ctx context.Context, s *workspace.Store, remote string, o *FetchOptions) (out []layout.RefStatus, err error) {
	if err := checkRemote(s, remote); err != nil {
		return nil, err
	}
	specs, err := fetchSpecs(s, remote, o.Tapes)
	if err != nil {
		return nil, err
	}
	with := transport.Options{Progress: o.Progress}
	if with.Without, err = forgottenRefs(ctx, s, remote, o.Tapes, with); err != nil {
		return nil, err
	}
	_, err = transport.Fetch(ctx, s.Git(), remote, specs, with)
	if errors.Is(err, gitstore.ErrNotFound) && len(o.Tapes) > 0 {
		// A named tape does not exist, or no longer: fetch everything to find out which.
		if specs, err = fetchSpecs(s, remote, nil); err == nil {
			_, err = transport.Fetch(ctx, s.Git(), remote, specs, with)
		}
	}
	for _, name := range o.Tapes {
		if err == nil {
			err = checkFetched(s, remote, name)
		}
	}
	if err == nil && !o.clone { // before refs are removed: the connection may have been lost
		err = warnNoTapes(ctx, s, remote, with)
	}
	if err == nil {
		out, err = accept(ctx, s, remote, o)
	}
	return out, err
}

// warnNoTapes warns of a remote that has branches, but no tapes.
func warnNoTapes(ctx context.Context, s *workspace.Store, remote string, o transport.Options) error {
	known, err := KnownRefs(s, layout.FetchedRefs(remote))
	if err != nil || len(known) > 0 {
		return err
	}
	others, err := otherBranches(ctx, s, remote, o)
	if err == nil && others != "" {
		s.Warn(remote + ": " + others + "; tape push shares yours there")
	}
	return err
}

// otherBranches describes the branches of a remote without tapes; "" if it is empty. If there is no
// repository at all, it returns an error.
func otherBranches(ctx context.Context, s *workspace.Store, remote string, o transport.Options) (string, error) {
	refs, _, err := transport.LsRemote(ctx, s.Git(), remote, []string{"refs/heads/"}, o)
	switch {
	case err != nil || len(refs) == 0:
		return "", err
	case len(refs) == 1:
		return "its only branch is not a tape", nil
	}
	return fmt.Sprintf("none of its %d branches is a tape", len(refs)), nil
}

// checkFetched returns ErrNotFound for a tape or fork that a remote does not have, and did not have before.
func checkFetched(s *workspace.Store, remote, name string) error {
	for _, branch := range branchesOf(s, name) {
		for _, prefix := range []string{layout.FetchedRefs(remote), layout.AcceptedRefs(remote)} {
			if _, err := s.Git().Ref(prefix + layout.InnerRef(branch)); !errors.Is(err, gitstore.ErrNotFound) {
				return err
			}
		}
	}
	return layout.NotFound("", "%s has no tape %q", remote, name).Try(layout.FetchAll)
}

// branchesOf lists the branches that a name may stand for: the tape's, then the fork's if it can be a fork.
func branchesOf(s *workspace.Store, name string) []string {
	if f := s.ForkHandle(name); f != nil {
		return []string{s.Handle(name).Ref(), f.Ref()}
	}
	return []string{s.Handle(name).Ref()}
}

// fetchSpecs lists which refs of a remote to fetch, and into which refs.
func fetchSpecs(s *workspace.Store, remote string, tapes []string) ([]transport.RefSpec, error) {
	sources := []string{layout.BranchPrefix + "*", layout.ForkPrefix + "*", layout.TagPrefix + "*", layout.ArchivePrefix + "*"}
	if len(tapes) > 0 {
		sources = nil
	}
	for _, name := range tapes {
		if err := layout.CheckName("a tape", name); err != nil {
			return nil, err
		}
		if f := s.ForkHandle(name); f != nil {
			if _, err := s.Git().Ref(s.Handle(name).Ref()); err != nil {
				sources = append(sources, f.Ref(), layout.TagPrefix+f.Slug()+"/*")
				name = f.Parent() // its parent is fetched, too
			}
		}
		t := s.Handle(name)
		sources = append(sources, t.Ref(), layout.TagPrefix+t.Slug()+"/*", layout.ForkPrefix+t.Slug()+"/*", layout.ArchivePrefix+t.Slug()+"/*")
	}
	sources = append(sources, layout.ForgottenPrefix+"*")
	slices.Sort(sources)
	sources = slices.Compact(sources)
	specs := make([]transport.RefSpec, len(sources))
	for i, src := range sources {
		specs[i] = transport.RefSpec{Src: src, Dst: layout.FetchedRefs(remote) + layout.InnerRef(src)}
	}
	return specs, nil
}

// accept checks the fetched refs that differ from the accepted ones, and accepts those that pass. It removes
// accepted refs that the remote no longer has, but leaves those of forks that are open here to CloseGone.
func accept(ctx context.Context, s *workspace.Store, remote string, o *FetchOptions) ([]layout.RefStatus, error) {
	if !o.Purges { // repeating a purge removes objects
		defer s.Git().KeepObjects()()
	}
	fetched, err1 := KnownRefs(s, layout.FetchedRefs(remote))
	accepted, err2 := KnownRefs(s, layout.AcceptedRefs(remote))
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if maps.Equal(fetched, accepted) {
		return nil, nil
	}
	a := &acceptance{s: s, remote: remote, o: o, fetched: fetched, accepted: accepted,
		bad: audit.CheckNames(slices.Collect(maps.Keys(fetched))), refused: map[string]bool{}, asked: map[string]error{}, purged: map[string]gitstore.Hash{}, check: audit.NewIncomingCheck(s)}
	for ref, h := range accepted {
		if _, ok := fetched[ref]; ok {
			continue
		}
		if strings.HasPrefix(ref, layout.ForkPrefix) {
			a.out = append(a.out, layout.RefStatus{Tape: snapshot.RemoteName(s, layout.Incoming{Ref: ref, New: h}), Ref: ref, Status: layout.RefDeleted})
			if _, err := s.Git().Ref(ref); err == nil {
				continue // CloseGone removes it
			}
		}
		a.set(ref, h, gitstore.ZeroHash)
	}
	var err error
	for _, ref := range slices.SortedFunc(maps.Keys(fetched), layout.CompareRefs) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if strings.HasPrefix(ref, layout.ForgottenPrefix) {
			a.acceptForgotten(ref)
		} else if fetched[ref] != accepted[ref] {
			err = a.acceptRef(ctx, ref)
		} else if strings.HasPrefix(ref, layout.BranchPrefix) || strings.HasPrefix(ref, layout.ForkPrefix) { // other refs are checked against it
			err = a.check.Check(ctx, layout.Incoming{Ref: ref, Old: accepted[ref], New: fetched[ref]})
		}
		if err != nil {
			return nil, err
		}
		if a.followed {
			break // the purge may have removed fetched objects: fetch again
		}
	}
	// Remove refused refs before accepting the rest. If this is interrupted, the next fetch checks them
	// again.
	if err := s.Git().UpdateRefs(ctx, a.drops); err != nil {
		return nil, err
	}
	if err := s.Git().UpdateRefs(ctx, a.updates); err != nil || !a.followed {
		return a.out, err
	}
	rest, err := fetch(ctx, s, remote, o)
	return append(a.out, rest...), err
}

// acceptance is one check of what a remote has.
type acceptance struct {
	s                 *workspace.Store
	remote            string
	o                 *FetchOptions
	purged            map[string]gitstore.Hash // by slug of a tape or fork purged at the remote: its accepted commit before the purge
	followed          bool                     // a purge was repeated here, which removed objects
	fetched, accepted map[string]gitstore.Hash
	bad               map[string]error // by ref: why its name cannot be used
	check             *audit.IncomingCheck
	updates, drops    []gitstore.RefUpdate // changes of accepted refs; deletions of fetched refs
	asked             map[string]error     // answers about purges, by the name of the tape
	refused           map[string]bool      // slugs of tapes and forks that are refused entirely
	out               []layout.RefStatus
}

func (a *acceptance) set(ref string, old, next gitstore.Hash) {
	a.updates = append(a.updates, gitstore.RefUpdate{Name: layout.AcceptedRefs(a.remote) + layout.InnerRef(ref), Old: old, New: next, Message: "tape: fetch"})
}

// drop makes accept delete the fetched ref of a refused or useless ref.
func (a *acceptance) drop(in layout.Incoming) {
	a.drops = append(a.drops, gitstore.RefUpdate{Name: layout.FetchedRefs(a.remote) + layout.InnerRef(in.Ref), Old: in.New})
}

// acceptRef accepts or drops one fetched ref.
func (a *acceptance) acceptRef(ctx context.Context, ref string) error {
	in := layout.Incoming{Ref: ref, Old: a.accepted[ref], New: a.fetched[ref]}
	err := a.bad[ref]
	if err == nil {
		if a.isOfRefused(in) { // not reported by itself: it may contain what was purged
			a.drop(in)
			return nil
		}
		if in.Old, err = a.before(ctx, in); err == nil {
			err = a.check.Check(ctx, in)
		}
		if err == nil {
			err = a.follow(ctx, in)
		}
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil && a.isLeftOver(in) {
		a.drop(in)
		return nil
	}
	if err != nil {
		a.drop(in)
		if slug, ok := strings.CutPrefix(ref, layout.BranchPrefix); ok && in.Old.IsZero() {
			a.refused[slug] = true
		}
		a.out = append(a.out, layout.RefStatus{Tape: a.nameOf(ref), Ref: ref, Status: layout.RefRejected, Err: err})
		return nil
	}
	old, status := a.accepted[ref], layout.RefStatus{Tape: snapshot.RemoteName(a.s, in), Ref: ref, Status: layout.RefNew}
	if !old.IsZero() { // a purge may have removed the accepted ref
		status.Status = layout.RefFastForward
		if old, err = a.s.Git().Ref(layout.AcceptedRefs(a.remote) + layout.InnerRef(ref)); err != nil && !errors.Is(err, gitstore.ErrNotFound) {
			return err
		}
	}
	a.set(ref, old, in.New)
	if strings.HasPrefix(ref, layout.TagPrefix) {
		return nil
	}
	if in.Old.IsZero() && !old.IsZero() && a.check.Known[old] {
		in.Old = old
	}
	status.Entries, err = join.Gained(a.s, ref, in.Old, in.New)
	a.out = append(a.out, status)
	return err
}

// nameOf is the name that the tape of a ref has or had here. If the tape is new, it is the slug, because
// the name in the tape itself was not checked yet.
func (a *acceptance) nameOf(ref string) string {
	slug := snapshot.SlugOf(ref)
	for _, branch := range []string{ref, layout.BranchPrefix + slug} {
		if t, err := a.s.TapeOfBranch(branch); err == nil {
			return t.Name()
		}
		if h := a.accepted[branch]; !h.IsZero() {
			return snapshot.RemoteName(a.s, layout.Incoming{Ref: branch, New: h})
		}
	}
	return slug
}
