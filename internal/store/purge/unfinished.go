package purge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// While a purge is under way, refs record what is left to do. Each points to a commit whose message lists it.
// First, purgeMoving lists what is masked, and pairs of old and new commits; these are its parents, so that the
// repository keeps them. Then purgeDropping lists the old objects to remove.
const (
	purgeRefs     = "refs/tape/purge/"
	purgeMoving   = purgeRefs + "moving"
	purgeDropping = purgeRefs + "dropping"
)

const purgeLock = "purge.lock"

// unfinished is what these refs record.
type unfinished struct {
	tape      string             // the purged tape, with its forks and archives
	elsewhere bool               // the purge follows one made elsewhere, and adds no record
	prints    []string           // fingerprints of what is masked
	whole     []string           // digests of entries that are masked whole
	pairs     [][2]gitstore.Hash // old and new commits
	gone      []gitstore.Hash    // objects to remove
}

const (
	asElsewhere = "as elsewhere"
	printLine   = "secret "
	wholeLine   = "whole "
)

// IsPurging reports whether a purge is under way, or was interrupted.
func IsPurging(s *workspace.Store) (bool, error) {
	refs, err := s.Git().Refs(purgeRefs)
	return len(refs) > 0, err
}

// readUnfinished reads what is left to do of an interrupted purge; tape is "" if there is none.
func readUnfinished(s *workspace.Store) (u unfinished, err error) {
	refs, err := s.Git().Refs(purgeRefs)
	if err != nil {
		return u, err
	}
	for _, ref := range refs {
		c, err := s.Git().Commit(ref.Hash)
		if err != nil {
			return u, layout.CorruptObject(ref.Hash, err)
		}
		if u.tape = layout.DecodeTrailer(c.Trailer(layout.TrailerName)); u.tape == "" {
			return u, &layout.CorruptError{File: ref.Name, Msg: "it does not name the tape that was being purged", Fix: "delete it with git update-ref -d, and purge again"}
		}
		for line := range strings.Lines(c.Message) {
			line = strings.TrimSuffix(line, "\n")
			word, value, isPair := strings.Cut(line, " ")
			old, err := gitstore.ParseHash(word)
			next, nextErr := gitstore.ParseHash(value)
			switch {
			case line == asElsewhere:
				u.elsewhere = true
			case word+" " == printLine:
				u.prints = append(u.prints, value)
			case word+" " == wholeLine:
				u.whole = append(u.whole, value)
			case err != nil:
			case isPair && nextErr == nil:
				u.pairs = append(u.pairs, [2]gitstore.Hash{old, next})
			case !isPair:
				u.gone = append(u.gone, old)
			}
		}
	}
	return u, nil
}

// setUnfinished records u in one of these refs.
func (p *purge) setUnfinished(ctx context.Context, ref string, u unfinished) error {
	batch := p.s.Git().NewBatch()
	defer batch.Discard()
	c := gitstore.Commit{Tree: batch.Put(gitstore.KindTree, nil)}
	var message strings.Builder
	message.WriteString("a purge is not finished\n\n")
	if p.followsOther() {
		message.WriteString(asElsewhere + "\n")
	}
	for _, fp := range u.prints {
		message.WriteString(printLine + fp + "\n")
	}
	for _, text := range u.whole {
		message.WriteString(wholeLine + text + "\n")
	}
	for _, pair := range u.pairs {
		fmt.Fprintf(&message, "%s %s\n", pair[0], pair[1])
		for _, h := range pair {
			if !slices.Contains(c.Parents, h) {
				c.Parents = append(c.Parents, h)
			}
		}
	}
	for _, h := range u.gone {
		message.WriteString(h.String() + "\n")
	}
	c.Message = message.String() + "\n" + layout.TrailerName + ": " + layout.EncodeTrailer(p.root) + "\n"
	var err error
	if c.Author, c.Committer, err = p.s.Git().Identity(p.s.Now()); err != nil {
		return err
	}
	h := batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(c))
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return errors.Join(p.setPurgeRef(ctx, ref, h), batch.Finish(ctx))
}

// followsOther reports whether this repeats a purge that was made elsewhere.
func (p *purge) followsOther() bool {
	return p.follow != nil || p.interrupted != nil && p.interrupted.elsewhere
}

// setPurgeRef sets a ref. A zero h deletes it.
func (p *purge) setPurgeRef(ctx context.Context, ref string, h gitstore.Hash) error {
	now, err := p.s.Git().Ref(ref)
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) || now == h {
		return err
	}
	return p.s.Git().UpdateRef(ctx, gitstore.RefUpdate{Name: ref, Old: now, New: h, Message: "tape: purge"})
}

// FinishPurge finishes an interrupted purge of any tape. It does nothing if there is none: a purge that was
// interrupted before its new history was stored leaves nothing to finish. Some of the refs may have moved
// already, so call this before comparing histories. Entries recorded since then are purged, too. derived is
// PurgeOptions.Derived, or nil. The store's warnings say what could not be cleared.
//
// Errors: ErrBusy; ErrConflict if git is in the middle of something; ErrCorrupt if the purged tape is
// unknown.
func FinishPurge(ctx context.Context, s *workspace.Store, derived func(ctx context.Context) error) error {
	if is, err := IsPurging(s); err != nil || !is {
		return layout.Classify(err)
	}
	p := newPurge(s, nil, PurgeOptions{Derived: derived})
	return p.aloneWarning(ctx, "finish a purge", func() error { return nil }, workspace.FetchLock, purgeLock)
}

// finishFirst finishes an interrupted purge, if there is one. It passes on the options that do not say what
// to purge.
func (p *purge) finishFirst(ctx context.Context) error {
	interrupted, err := readUnfinished(p.s)
	if err != nil || interrupted.tape == "" {
		return err
	}
	p.s.Warn("finishing a purge that was interrupted")
	first := newPurge(p.s, p.s.Handle(interrupted.tape), PurgeOptions{Derived: p.o.Derived, Step: p.o.Step, Find: p.o.Find})
	first.interrupted = &interrupted
	err = first.do(ctx)
	p.out.Left, p.out.Removed = first.out.Left, first.out.Removed
	p.out.Finished = interrupted.tape == p.root
	return err
}
