package index

import (
	"context"
	"errors"
	"fmt"
	"tape/internal/store/about"
	"tape/internal/store/join"
	"tape/internal/store/workspace"

	"tape/index/internal/find"
	"tape/index/internal/store"
	"tape/repo"
)

type (
	// Search is a query: a text, tapes, and filters.
	Search = find.Search
	// How says how to read the text of a Search.
	How = find.How
	// Result is what a search found.
	Result = find.Result
	// Hit is an entry that matches.
	Hit = find.Hit
	// Survey is what the words of a search are worth.
	Survey = find.Survey
)

// The ways to read the text of a Search.
const (
	Words     = find.Words     // the query language
	Substring = find.Substring // exactly these characters
	Regexp    = find.Regexp    // an RE2 regular expression
)

// Search finds entries. A search for words first brings the index up to date with the tapes. If one of several
// tapes disappears meanwhile, such as a fork that is merged, it is left out. Errors: ErrNotFound if none of the
// named tapes exists, or no tape has the query's anchors; ErrInvalid; ErrBusy, as from Sync.
func (x *Index) Search(ctx context.Context, s Search) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.How != Words && !x.view.Plain() {
		return nil, fmt.Errorf("%w: in entries that are shown masked, only a search for words is possible", repo.ErrInvalid)
	}
	named, err := x.named(ctx, s.Tapes)
	if err != nil {
		return nil, err
	}
	var res *Result
	err = x.retryGone(ctx, named, func(tapes []*repo.Tape) (err error) {
		if s.How == Words {
			return x.inIndex(ctx, tapes, func(targets []*store.Target, has store.Has) error {
				res, err = find.InIndex(ctx, x.db, targets, has, s, x.seen)
				return err
			})
		}
		if tapes == nil {
			all, err := (*workspace.Store)(x.store).TapesAndForks(ctx)
			if err != nil {
				return err
			}
			for _, t := range all {
				tapes = append(tapes, (*repo.Tape)(t))
			}
		}
		res, err = find.InFiles(ctx, tapes, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// named returns the tapes with these names, without those that no longer exist, or ErrNotFound if none exists. If
// names is nil, it returns nil, which means all tapes.
func (x *Index) named(ctx context.Context, names []string) ([]*repo.Tape, error) {
	if names == nil {
		return nil, nil
	}
	tapes := make([]*repo.Tape, 0, len(names))
	var gone error
	for _, name := range names {
		t, err := x.store.Tape(ctx, name)
		switch {
		case errors.Is(err, repo.ErrNotFound):
			gone = err
		case err != nil:
			return nil, err
		default:
			tapes = append(tapes, t)
		}
	}
	if len(tapes) > 0 {
		gone = nil
	}
	return tapes, gone
}

// About returns what tapes are about, by branch; nil means all tapes and open forks. It first brings the
// index up to date with them. Tapes that disappear meanwhile are left out. For a fork, only its own entries
// are considered.
func (x *Index) About(ctx context.Context, tapes []*repo.Tape) (out map[string]about.Tape, err error) {
	err = x.retryGone(ctx, tapes, func(tapes []*repo.Tape) error {
		return x.inIndex(ctx, tapes, func(targets []*store.Target, _ store.Has) error {
			out, err = x.db.About(targets)
			return err
		})
	})
	return out, err
}

// retryGone calls f with tapes (nil for all), and again with the remaining ones if some have disappeared. Of all tapes,
// those that are damaged are left out, and named.
func (x *Index) retryGone(ctx context.Context, tapes []*repo.Tape, f func([]*repo.Tape) error) error {
	const tries = 5
	for try, all := 1, tapes == nil; ; try++ {
		err := join.WithMergesCompleted(ctx, func() error { return f(tapes) })
		if err == nil {
			return nil
		}
		left := existing(tapes)
		// A working tree that is removed while it is read looks damaged, but not in a second try.
		again := len(left) < len(tapes) || (errors.Is(err, repo.ErrCorrupt) || tapes == nil && errors.Is(err, repo.ErrNotFound)) && try < tries
		if tapes == nil && all && !again && isOfOne(err) {
			all = false
			good, goodErr := x.undamaged(ctx)
			if goodErr != nil || len(good) == 0 {
				return errors.Join(err, goodErr)
			}
			tapes = good
			continue
		}
		if len(left) == 0 && tapes != nil || !again {
			return err
		}
		tapes = left
	}
}

// isOfOne reports whether an error is about one tape, and other tapes may be read all the same: it is damaged, or its
// entries are where something else is checked out.
func isOfOne(err error) bool {
	return errors.Is(err, repo.ErrCorrupt) || errors.Is(err, repo.ErrConflict)
}

// undamaged returns the tapes and open forks that can be read, and leaves the others out.
func (x *Index) undamaged(ctx context.Context) (out []*repo.Tape, err error) {
	all, err := (*workspace.Store)(x.store).TapesAndForks(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		err := x.readAll(ctx, (*repo.Tape)(t))
		switch {
		case err == nil:
			out = append(out, (*repo.Tape)(t))
		case isOfOne(err):
			(*workspace.Store)(x.store).LeaveOut(t, err)
		case !errors.Is(err, repo.ErrNotFound):
			return nil, err
		}
	}
	return out, nil
}

// readAll reads a tape, and brings the index up to date with it.
func (x *Index) readAll(ctx context.Context, t *repo.Tape) error {
	for _, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil {
			return err
		}
	}
	targets, err := store.WithParents(ctx, x.store, []*repo.Tape{t})
	if err == nil {
		_, err = x.ready(ctx, targets, false)
	}
	return err
}

// existing returns the tapes that still exist.
func existing(tapes []*repo.Tape) (out []*repo.Tape) {
	for _, t := range tapes {
		if _, err := (*workspace.Tape)(t).Head(); !errors.Is(err, repo.ErrNotFound) {
			out = append(out, t)
		}
	}
	return out
}

// inIndex brings the index up to date with the tapes, then calls f with the tapes and their rows in the index. It
// rebuilds a damaged index.
func (x *Index) inIndex(ctx context.Context, tapes []*repo.Tape, f func([]*store.Target, store.Has) error) error {
	const tries = 3
	for try := 1; ; try++ {
		err := x.upToDate(ctx, tapes, f)
		if !store.IsDamage(err) || try == tries || ctx.Err() != nil || len(existing(tapes)) < len(tapes) {
			return classify(err)
		}
		if err := x.recover(ctx, tapes, err, try > 1); err != nil {
			return err
		}
	}
}

// upToDate brings the index up to date, and calls f in a transaction that sees one state of the index. Whether
// the index is fresh already, as it usually is, is checked in the same transaction.
func (x *Index) upToDate(ctx context.Context, tapes []*repo.Tape, f func([]*store.Target, store.Has) error) error {
	var targets []*store.Target
	if !x.memory {
		if err := x.openCurrent(); err != nil {
			return err
		}
	}
	if x.db != nil {
		stale := 0
		err := x.db.Reading(func() (err error) {
			var has store.Has
			if targets, has, err = x.lookUp(ctx, tapes); err == nil {
				stale, err = x.db.Stale(ctx, targets, has, false)
			}
			if err == nil && stale == 0 && tapes == nil {
				stale = max(0, len(has)-len(targets)) // they are gone, and count no more
			}
			if err == nil && stale == 0 {
				err = f(targets, has)
			}
			return err
		})
		switch {
		case err == nil && stale == 0:
			return nil
		case err != nil && !store.IsUnwritable(err):
			return err
		}
	}
	if targets == nil {
		var err error
		if targets, err = x.targets(ctx, tapes); err != nil {
			return err
		}
	}
	if _, err := x.ready(ctx, targets, tapes == nil); err != nil {
		return err
	}
	return x.db.Reading(func() error {
		has, err := x.db.Has(targets)
		if err == nil {
			err = f(targets, has)
		}
		return err
	})
}

// lookUp returns targets for the tapes, and their rows in the index. If tapes is nil, which means all tapes, it
// asks the index first, so that the tapes can be listed without opening each.
func (x *Index) lookUp(ctx context.Context, tapes []*repo.Tape) (targets []*store.Target, has store.Has, err error) {
	if tapes == nil {
		if has, err = x.db.HasAll(); err == nil {
			targets, err = store.All(ctx, x.store, has)
		}
		return targets, has, err
	}
	if targets, err = store.WithParents(ctx, x.store, tapes); err == nil {
		has, err = x.db.Has(targets)
	}
	return targets, has, err
}

func (x *Index) targets(ctx context.Context, tapes []*repo.Tape) ([]*store.Target, error) {
	if tapes == nil {
		return store.All(ctx, x.store, nil)
	}
	return store.WithParents(ctx, x.store, tapes)
}

// recover handles a damaged index. If the index only contradicts a tape, the tape may just have been reset: then
// the index is not rebuilt the first time, but only read again.
func (x *Index) recover(ctx context.Context, tapes []*repo.Tape, why error, again bool) error {
	if !again && errors.Is(why, store.ErrInconsistent) {
		return nil
	}
	(*workspace.Store)(x.store).Warn(fmt.Sprintf("the index was damaged, and is rebuilt: %v", why))
	if x.memory {
		return x.Close()
	}
	targets, err := x.targets(ctx, tapes)
	if err != nil {
		return err
	}
	_, err = x.locked(ctx, func() (int64, error) { return x.build(ctx, targets, false) })
	if store.IsUnwritable(err) {
		_, err = x.inMemory(ctx, targets, err)
	}
	return err
}
