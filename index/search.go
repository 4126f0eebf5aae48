package index

import (
	"context"
	"errors"
	"fmt"
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
	const tries = 5
	for try := 1; ; try++ {
		var res *Result
		err := join.Settled(ctx, func() (err error) {
			if s.How != Words {
				res, err = find.InFiles(ctx, s)
			} else {
				res, err = x.inIndex(ctx, s)
			}
			return err
		})
		if err == nil {
			return res, nil
		}
		left := still(s.Tapes)
		// A working tree that is taken away while it is read looks damaged, but only once.
		again := len(left) < len(s.Tapes) || errors.Is(err, repo.ErrCorrupt) && try < tries
		if len(left) == 0 || !again {
			return nil, err
		}
		s.Tapes = left
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

func (x *Index) inIndex(ctx context.Context, s Search) (*Result, error) {
	const tries = 3
	for try := 1; ; try++ {
		res, err := x.searchWords(ctx, s)
		if !store.IsDamage(err) || try == tries || ctx.Err() != nil || len(still(s.Tapes)) < len(s.Tapes) {
			return res, classify(err)
		}
		if err := x.mend(ctx, s.Tapes, err, try > 1); err != nil {
			return nil, err
		}
	}
}

func (x *Index) searchWords(ctx context.Context, s Search) (*Result, error) {
	targets, err := store.WithParents(ctx, x.store, s.Tapes)
	if err != nil {
		return nil, err
	}
	if _, err := x.ready(ctx, targets); err != nil {
		return nil, err
	}
	return find.InIndex(ctx, x.db, targets, s)
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
