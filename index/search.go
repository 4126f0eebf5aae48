package index

import (
	"context"
	"errors"
	"fmt"
	"tape/internal/about"
	"tape/internal/join"
	"tape/internal/workspace"

	"tape/index/internal/find"
	"tape/index/internal/store"
	"tape/repo"
)

type (
	// Search says what to look for: a text, tapes, and filters.
	Search = find.Search
	// How says how the text of a Search is to be understood.
	How = find.How
	// Result is what a search found.
	Result = find.Result
	// Hit is an entry that matches.
	Hit = find.Hit
)

// The ways to understand the text of a Search.
const (
	Words     = find.Words     // the query language
	Substring = find.Substring // exactly these characters
	Regexp    = find.Regexp    // an RE2 regular expression
)

// Search finds entries. It first brings the index up to date with the tapes. One of several
// tapes may go meanwhile, as a fork does that is merged: then it is left out.
func (x *Index) Search(ctx context.Context, s Search) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var res *Result
	err := whileThere(ctx, s.Tapes, func(tapes []*repo.Tape) (err error) {
		s.Tapes = tapes
		if s.How != Words {
			res, err = find.InFiles(ctx, s)
			return err
		}
		return x.inIndex(ctx, tapes, func(targets []*store.Target) error {
			res, err = find.InIndex(ctx, x.db, targets, s)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// About tells what tapes are about, by branch. It first brings the index up to date with
// them. Those that go meanwhile are left out. Of a fork it tells what its own entries say.
func (x *Index) About(ctx context.Context, tapes []*repo.Tape) (out map[string]about.Tape, err error) {
	err = whileThere(ctx, tapes, func(tapes []*repo.Tape) error {
		return x.inIndex(ctx, tapes, func(targets []*store.Target) error {
			out, err = x.db.About(targets)
			return err
		})
	})
	return out, err
}

// whileThere calls f with tapes, and again with those that are left when some are gone.
func whileThere(ctx context.Context, tapes []*repo.Tape, f func([]*repo.Tape) error) error {
	const tries = 5
	for try := 1; ; try++ {
		err := join.Settled(ctx, func() error { return f(tapes) })
		if err == nil {
			return nil
		}
		left := still(tapes)
		// A working tree that is taken away while it is read looks damaged, but only once.
		again := len(left) < len(tapes) || errors.Is(err, repo.ErrCorrupt) && try < tries
		if len(left) == 0 || !again {
			return err
		}
		tapes = left
	}
}

// still are those of the tapes that are there.
func still(tapes []*repo.Tape) (out []*repo.Tape) {
	for _, t := range tapes {
		if _, err := (*workspace.Tape)(t).Head(); !errors.Is(err, repo.ErrNotFound) {
			out = append(out, t)
		}
	}
	return out
}

// inIndex calls f when the index has everything of the tapes.
func (x *Index) inIndex(ctx context.Context, tapes []*repo.Tape, f func([]*store.Target) error) error {
	const tries = 3
	for try := 1; ; try++ {
		targets, err := store.WithParents(ctx, x.store, tapes)
		if err == nil {
			_, err = x.ready(ctx, targets)
		}
		if err == nil {
			err = f(targets)
		}
		if !store.IsDamage(err) || try == tries || ctx.Err() != nil || len(still(tapes)) < len(tapes) {
			return classify(err)
		}
		if err := x.mend(ctx, tapes, err, try > 1); err != nil {
			return err
		}
	}
}

// mend is for an index that contradicts the tape. It may be that the tape was reset just
// now, so the first time it is only looked at again; then it is built anew.
func (x *Index) mend(ctx context.Context, tapes []*repo.Tape, why error, again bool) error {
	if !again && errors.Is(why, store.ErrStrange) {
		return nil
	}
	(*workspace.Store)(x.store).Warn(fmt.Sprintf("the index was damaged, and is built anew: %v", why))
	if x.memory {
		return x.Close()
	}
	targets, err := store.WithParents(ctx, x.store, tapes)
	if err != nil {
		return err
	}
	_, err = x.locked(ctx, func() (int64, error) { return x.build(ctx, targets, false) })
	if store.IsUnwritable(err) {
		_, err = x.inMemory(ctx, targets, err)
	}
	return err
}
